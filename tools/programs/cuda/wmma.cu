// SPDX-License-Identifier: Apache-2.0
// Matrix products by wmma from shared memory that cp.async fills in two stages; and one without tensor cores.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

#include "common.cuh"

using namespace nvcuda;

constexpr int M = 64, N = 48, K = 160, depth = 32, pad = 8;

template <class T>
__global__ void product(const T* a, const T* b, float* c) {
  __shared__ __align__(128) T left[2][32][depth + pad];
  __shared__ __align__(128) T right[2][16][depth + pad];
  const int row = blockIdx.y * 32, column = blockIdx.x * 16, warp = threadIdx.x / 32;
  const auto fetch = [&](int step) {
    const int chunk = 16 / sizeof(T), across = depth / chunk;
    for (int i = threadIdx.x; i < 48 * across; i += blockDim.x) {
      const int r = i / across, k = i % across * chunk;
      const T* from =
          r < 32 ? a + (row + r) * K + step * depth + k : b + (column + r - 32) * K + step * depth + k;
      __pipeline_memcpy_async(r < 32 ? &left[step % 2][r][k] : &right[step % 2][r - 32][k], from, 16);
    }
    __pipeline_commit();
  };
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums;
  wmma::fill_fragment(sums, 0.0f);
  fetch(0);
  for (int step = 0; step < K / depth; ++step) {
    if (step + 1 < K / depth) fetch(step + 1);
    __pipeline_wait_prior(step + 1 < K / depth ? 1 : 0);
    __syncthreads();
    for (int k = 0; k < depth; k += 16) {
      wmma::load_matrix_sync(fa, &left[step % 2][warp * 16][k], depth + pad);
      wmma::load_matrix_sync(fb, &right[step % 2][0][k], depth + pad);
      wmma::mma_sync(sums, fa, fb, sums);
    }
    __syncthreads();
  }
  for (int i = 0; i < sums.num_elements; ++i) sums.x[i] = fmaxf(sums.x[i], 0.0f);
  wmma::store_matrix_sync(c + (row + warp * 16) * N + column, sums, N, wmma::mem_row_major);
}

template <class T>
__global__ void product_plain(const T* a, const T* b, float* c) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += static_cast<float>(a[row * K + k]) * static_cast<float>(b[column * K + k]);
  c[row * N + column] = sum;
}

template <class T>
void run(Numbers& numbers) {
  const T *a = on_gpu(numbers.draw<T>(M * K)), *b = on_gpu(numbers.draw<T>(N * K));
  float *c = on_gpu<float>(M * N), *plain = on_gpu<float>(M * N);
  product<T><<<dim3(N / 16, M / 32), 64>>>(a, b, c);
  product_plain<T><<<dim3(N / 16, M / 16), dim3(16, 16)>>>(a, b, plain);
  report(c, M * N);
  report(plain, M * N);
}

int main() {
  Numbers numbers;
  run<__half>(numbers);
  run<__nv_bfloat16>(numbers);
}
