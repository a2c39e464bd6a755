// SPDX-License-Identifier: Apache-2.0
// D = A B of f32 as tf32 by mma.sync m16n8k8 and m16n8k4: D with operands rounded by cvt.rna, E with the bits
// as they are. A warp for each 16 x 8; A is row-major, B column-major, both out of shared memory.

namespace kernel {

__device__ unsigned rounded(float x) {
  unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

__device__ void mma_k8(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ void mma_k4(float (&d)[4], unsigned a0, unsigned a1, unsigned b) {
  asm("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a0), "r"(a1), "r"(b));
}

extern "C" __global__ void gemm_tf32(const float* a, const float* b, float* d, float* e, int n, int k) {
  extern __shared__ float rows[];  // 32 of A, then 16 of B, each of k and one more
  const int row = blockIdx.y * 32, column = blockIdx.x * 16, stride = k + 1;
  for (int i = threadIdx.x; i < 48 * k; i += blockDim.x) {
    const int r = i / k, depth = i % k;
    rows[r * stride + depth] = r < 32 ? a[(row + r) * k + depth] : b[(column + r - 32) * k + depth];
  }
  __syncthreads();

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* left = rows + (warp % 2 * 16 + lane / 4) * stride + lane % 4;
  const float* right = rows + (32 + warp / 2 * 8 + lane / 4) * stride + lane % 4;
  float with_rounding[4] = {}, as_they_are[4] = {};
  for (int step = 0; step < k; step += 8) {
    const float x[4] = {left[step], left[step + 8 * stride], left[step + 4], left[step + 8 * stride + 4]};
    const float y[2] = {right[step], right[step + 4]};
    mma_k8(with_rounding, {rounded(x[0]), rounded(x[1]), rounded(x[2]), rounded(x[3])},
           {rounded(y[0]), rounded(y[1])});
    mma_k4(as_they_are, __float_as_uint(x[0]), __float_as_uint(x[1]), __float_as_uint(y[0]));
    mma_k4(as_they_are, __float_as_uint(x[2]), __float_as_uint(x[3]), __float_as_uint(y[1]));
  }
  for (int i = 0; i < 4; ++i) {
    const int at =
        (row + warp % 2 * 16 + lane / 4 + i / 2 * 8) * n + column + warp / 2 * 8 + lane % 4 * 2 + i % 2;
    d[at] = with_rounding[i];
    e[at] = as_they_are[i];
  }
}

}  // namespace kernel
