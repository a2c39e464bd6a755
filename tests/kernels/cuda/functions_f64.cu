// SPDX-License-Identifier: Apache-2.0
// The mathematical functions of f64 that CUDA has, a row of results for each.

namespace kernel {

struct Row {
  double* to;
  int columns;

  __device__ void put(double x) {
    *to = x;
    to += columns;
  }
};

__device__ void of_one(Row& row, double x) {
  row.put(sin(x)), row.put(cos(x)), row.put(exp(x)), row.put(exp2(x)), row.put(log(x)), row.put(log2(x));
  row.put(expm1(x)), row.put(tanh(x)), row.put(atan(x)), row.put(asin(x)), row.put(erf(x)), row.put(erfc(x));
  row.put(cbrt(x)), row.put(sqrt(x)), row.put(1 / x), row.put(rint(x)), row.put(round(x)), row.put(floor(x));
}

__device__ void of_two(Row& row, double x, double y) {
  row.put(pow(x, y)), row.put(atan2(x, y)), row.put(hypot(x, y)), row.put(fmod(x, y)), row.put(x / y);
  row.put(fmin(x, y)), row.put(nextafter(x, y)), row.put(ldexp(x, static_cast<int>(y)));
}

extern "C" __global__ void functions_f64(const double* x, const double* y, double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Row row = {out + i, static_cast<int>(gridDim.x * blockDim.x)};
  of_one(row, x[i]);
  of_two(row, x[i], y[i]);
}

}  // namespace kernel
