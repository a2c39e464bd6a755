// SPDX-License-Identifier: Apache-2.0
// The mathematical functions of f32 that CUDA has, accurate and fast ones, a row of results for each: what nvcc
// makes of them has branches, FMAs, tables in constant or global memory and arrays in local memory (large
// angles).

namespace kernel {

struct Row {
  float* to;
  int columns;

  __device__ void put(float x) {
    *to = x;
    to += columns;
  }
};

__device__ void of_one(Row& row, float x) {
  row.put(sinf(x)), row.put(cosf(x)), row.put(tanf(x)), row.put(sinpif(x)), row.put(expf(x)), row.put(exp2f(x));
  row.put(exp10f(x)), row.put(expm1f(x)), row.put(logf(x)), row.put(log2f(x)), row.put(log10f(x)),
      row.put(log1pf(x));
  row.put(sinhf(x)), row.put(coshf(x)), row.put(tanhf(x)), row.put(asinf(x)), row.put(acosf(x)),
      row.put(atanf(x));
  row.put(asinhf(x)), row.put(acoshf(x)), row.put(atanhf(x)), row.put(erff(x)), row.put(erfcf(x)),
      row.put(erfinvf(x));
  row.put(tgammaf(x)), row.put(lgammaf(x)), row.put(cbrtf(x)), row.put(rcbrtf(x)), row.put(sqrtf(x)),
      row.put(rsqrtf(x));
  row.put(normcdff(x)), row.put(roundf(x)), row.put(rintf(x)), row.put(truncf(x)), row.put(logbf(x)),
      row.put(j0f(x));
  row.put(__sinf(x)), row.put(__cosf(x)), row.put(__expf(x)), row.put(__logf(x)), row.put(__tanf(x));
}

__device__ void of_more(Row& row, float x, float y, float z) {
  int exponent;
  row.put(powf(x, y)), row.put(atan2f(x, y)), row.put(hypotf(x, y)), row.put(fmodf(x, y)),
      row.put(remainderf(x, y));
  row.put(fdimf(x, y)), row.put(x / y), row.put(__fdividef(x, y)), row.put(__powf(x, y)),
      row.put(fmaf(x, y, z));
  row.put(norm3df(x, y, z)), row.put(ldexpf(x, static_cast<int>(z))), row.put(frexpf(x, &exponent));
  row.put(static_cast<float>(exponent)), row.put(nextafterf(x, y)), row.put(copysignf(x, y)),
      row.put(fminf(x, y));
}

extern "C" __global__ void functions_f32(const float* x, const float* y, const float* z, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Row row = {out + i, static_cast<int>(gridDim.x * blockDim.x)};
  of_one(row, x[i]);
  of_more(row, x[i], y[i], z[i]);
}

}  // namespace kernel
