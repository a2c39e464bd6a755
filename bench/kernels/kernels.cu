// SPDX-License-Identifier: Apache-2.0
// The kernels that the benchmark runs as modules of PTX. kernels.ptx is what nvcc 13.0 makes of it:
//
//     nvcc -arch=sm_80 -O3 -ptx kernels.cu -o kernels.ptx
#include <cstdint>

namespace {

constexpr int kTile = 128, kDepth = 32, kThreads = 256, kPitch = kDepth + 8, kStage = kTile * kPitch;

__device__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}
__device__ void load_matrices(std::uint32_t (&d)[4], const void* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
               : "r"(shared_address(row)));
}
__device__ void multiply(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

}  // namespace

// D = A B^T, all of n rows and columns, row by row: a tile of 128 by 128 for each block, of 64 by 32 for each warp.
extern "C" __global__ void __launch_bounds__(kThreads)
    gemm(const std::uint16_t* a, const std::uint16_t* b, float* d, int n) {
  __shared__ __align__(16) std::uint16_t a_tile[2 * kStage], b_tile[2 * kStage];
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
  const auto fetch = [&](int stage, int k) {
    for (int i = thread; i < kTile * kDepth / 8; i += kThreads) {
      const int r = i / (kDepth / 8), c = i % (kDepth / 8) * 8;
      copy_async(&a_tile[stage * kStage + r * kPitch + c], &a[(row + r) * n + k + c]);
      copy_async(&b_tile[stage * kStage + r * kPitch + c], &b[(column + r) * n + k + c]);
    }
    asm volatile("cp.async.commit_group;");
  };
  float sums[4][4][4] = {};
  fetch(0, 0);
  for (int k = 0; k < n; k += kDepth) {
    const int stage = k / kDepth % 2;
    if (k + kDepth < n) {
      fetch(1 - stage, k + kDepth);
      asm volatile("cp.async.wait_group 1;");
    } else {
      asm volatile("cp.async.wait_group 0;");
    }
    __syncthreads();
    for (int part = 0; part < kDepth; part += 16) {
      std::uint32_t left[4][4], right[2][4];
      for (int i = 0; i < 4; ++i)
        load_matrices(
            left[i], &a_tile[stage * kStage + (warp_row + i * 16 + lane % 16) * kPitch + part + lane / 16 * 8]);
      for (int j = 0; j < 2; ++j)
        load_matrices(right[j],
                      &b_tile[stage * kStage + (warp_column + j * 16 + lane / 16 * 8 + lane % 8) * kPitch +
                              part + lane / 8 % 2 * 8]);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j)
          multiply(sums[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      for (int half = 0; half < 2; ++half) {
        const int r = row + warp_row + i * 16 + half * 8 + lane / 4,
                  c = column + warp_column + j * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(&d[r * n + c]) = make_float2(sums[i][j][2 * half], sums[i][j][2 * half + 1]);
      }
}

// Sums of products of what lies in shared memory.
extern "C" __global__ void __launch_bounds__(kThreads) products(float* d, int n) {
  __shared__ float values[1024];
  for (int i = threadIdx.x; i < 1024; i += kThreads) values[i] = static_cast<float>(i) * 0.001F;
  __syncthreads();
  float sums[4] = {0, 1, 2, 3};
  for (int i = 0; i < n; ++i) {
    const float x = values[(i + threadIdx.x) & 1023];
    const float y = values[(i * 7 + threadIdx.x) & 1023];
    for (int j = 0; j < 4; ++j) sums[j] = fmaf(sums[j], x, y);
  }
  d[blockIdx.x * kThreads + threadIdx.x] = sums[0] + sums[1] + sums[2] + sums[3];
}
