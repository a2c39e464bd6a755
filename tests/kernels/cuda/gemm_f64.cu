// SPDX-License-Identifier: Apache-2.0
// D = alpha A B + beta C of f64 by mma.sync m8n8k4. A warp for each 8 x 16 of a block's 32 x 16; tiles go
// through shared memory, two elements a load.

namespace kernel {

constexpr int kRows = 32, kColumns = 16, kStep = 16;

__device__ void mma(double2& d, double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d.x), "+d"(d.y)
      : "d"(a), "d"(b));
}

extern "C" __global__ void gemm_f64(const double* a, const double* b, const double* c, double* d, int n, int k,
                                    double alpha, double beta) {
  __shared__ __align__(16) double tile_a[kRows][kStep + 2], tile_b[kStep][kColumns + 2];
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = threadIdx.x;
  double2 sums[2] = {};
  for (int step = 0; step < k; step += kStep) {
    for (int i = t; i < kRows * kStep / 2; i += blockDim.x)
      *reinterpret_cast<double2*>(&tile_a[i / 8][i % 8 * 2]) =
          *reinterpret_cast<const double2*>(a + (row + i / 8) * k + step + i % 8 * 2);
    *reinterpret_cast<double2*>(&tile_b[t / 8][t % 8 * 2]) =
        *reinterpret_cast<const double2*>(b + (step + t / 8) * n + column + t % 8 * 2);
    __syncthreads();
    for (int depth = lane % 4; depth < kStep; depth += 4)
      for (int j = 0; j < 2; ++j)
        mma(sums[j], tile_a[warp * 8 + lane / 4][depth], tile_b[depth][j * 8 + lane / 4]);
    __syncthreads();
  }
  for (int j = 0; j < 2; ++j) {
    const int at = (row + warp * 8 + lane / 4) * n + column + j * 8 + lane % 4 * 2;
    d[at] = alpha * sums[j].x + beta * c[at];
    d[at + 1] = alpha * sums[j].y + beta * c[at + 1];
  }
}

}  // namespace kernel
