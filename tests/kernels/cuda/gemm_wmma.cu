// SPDX-License-Identifier: Apache-2.0
// Products of f16 by wmma.load, wmma.mma and wmma.store as <mma.h> makes them: m16n16k16 with f32 sums out of
// global memory, m8n32k16 with f16 sums out of shared memory, all layouts, and the elements of a fragment
// scaled. Each block of two warps has 32 x 32 of both results.
#include <mma.h>

using namespace nvcuda;

namespace kernel {

// D = 0.75 A B in f32, stored by columns. A is row-major, B column-major.
__device__ void product_f32(const half* a, const half* b, float* d, int rows, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  for (int at = 0; at < k; at += 16) {
    wmma::load_matrix_sync(left, a + at, k);
    wmma::load_matrix_sync(right, b + at, k);
    wmma::mma_sync(sums, left, right, sums);
  }
  for (int i = 0; i < sums.num_elements; ++i) sums.x[i] *= 0.75f;
  wmma::store_matrix_sync(d, sums, rows, wmma::mem_col_major);
}

// E = A B + C in f16 of 8 rows and 32 columns. A is column-major in shared memory, B row-major in the global
// one.
__device__ void product_f16(const half* a, int stride, const half* b, const half* c, half* e, int n, int k) {
  wmma::fragment<wmma::matrix_a, 8, 32, 16, half, wmma::col_major> left;
  wmma::fragment<wmma::matrix_b, 8, 32, 16, half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 8, 32, 16, half> sums;
  wmma::load_matrix_sync(sums, c, n, wmma::mem_row_major);
  for (int at = 0; at < k; at += 16) {
    wmma::load_matrix_sync(left, a + at * stride, stride);
    wmma::load_matrix_sync(right, b + at * n, n);
    wmma::mma_sync(sums, left, right, sums);
  }
  wmma::store_matrix_sync(e, sums, n, wmma::mem_row_major);
}

// A is m x k by rows, B n x k by rows, B2 k x n by rows, C and E m x n by rows, D m x n by columns; k is 64 at
// most.
extern "C" __global__ void gemm_wmma(const half* a, const half* b, const half* b2, const half* c, float* d,
                                     half* e, int m, int n, int k) {
  constexpr int kStride = 16;  // for 8 rows, so that each tile begins at a multiple of 32 bytes
  __shared__ __align__(32) half turned[4][64 * kStride];
  const int row = blockIdx.y * 32, column = blockIdx.x * 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 32 * k; i += blockDim.x)
    turned[i / k / 8][i % k * kStride + i / k % 8] = a[(row + i / k) * k + i % k];
  __syncthreads();

  for (int j = 0; j < 2; ++j) {
    const int to_row = row + 16 * warp, to_column = column + 16 * j;
    product_f32(a + to_row * k, b + to_column * k, d + to_column * m + to_row, m, k);
  }
  for (int i = 16 * warp; i < 16 * warp + 16; i += 8) {
    const int at = (row + i) * n + column;
    product_f16(turned[i / 8], kStride, b2 + column, c + at, e + at, n, k);
  }
}

}  // namespace kernel
