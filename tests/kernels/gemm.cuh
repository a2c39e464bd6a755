// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16 with f32 sums: a tile of 64 x 64 for each block of four warps, two buffers of 64 x 32 of A
// and of 32 x 64 of B, filled by cp.async while the other one is multiplied. All matrices are row-major.
#pragma once

#include "tile.cuh"

namespace kernels {

inline constexpr int kTile = 64, kStep = 32, kThreads = 128;
inline constexpr int kRowOfA = kStep + kPadding / 2, kRowOfB = kTile + kPadding / 2;  // elements
inline constexpr int kElementsOfA = kTile * kRowOfA, kElementsOfB = kStep * kRowOfB;
inline constexpr int kGemmShared = 2 * 2 * (kElementsOfA + kElementsOfB);

/// What a mistake does to the kernel: tests make them one by one.
enum class Mistake { none, no_barrier_before_read, no_barrier_before_overwrite, no_wait, wait_for_less };

WARPBIT_DEVICE void copy_tiles(SharedArray<std::uint16_t> to_a, SharedArray<std::uint16_t> to_b,
                               GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> b, int n,
                               int k) {
  copy_tile(to_a, a, kTile, 2 * kStep, 2 * k);
  copy_tile(to_b, b, kStep, 2 * kTile, 2 * n);
  cp_async_commit_group();
}

/// M and N are the grid's in tiles, K a multiple of kStep.
template <Mistake mistake = Mistake::none>
WARPBIT_KERNEL void gemm(GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> b,
                         GlobalArray<float> d, int k) {
  const int n = static_cast<int>(gridDim.x) * kTile;
  const int row = static_cast<int>(blockIdx.y) * kTile, column = static_cast<int>(blockIdx.x) * kTile;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / 2 * 32, warp_column = warp % 2 * 32;
  const SharedArray<std::uint16_t> buffers_a = shared_array<std::uint16_t>(0, 2 * kElementsOfA);
  const SharedArray<std::uint16_t> buffers_b = shared_array<std::uint16_t>(4 * kElementsOfA, 2 * kElementsOfB);

  Fragment<float, 4> sums[2][4] = {};
  copy_tiles(buffers_a, buffers_b, a + row * k, b + column, n, k);
  const int steps = k / kStep;
  for (int step = 0; step < steps; ++step) {
    const SharedArray<std::uint16_t> tile_a = buffers_a + step % 2 * kElementsOfA;
    const SharedArray<std::uint16_t> tile_b = buffers_b + step % 2 * kElementsOfB;
    if (step + 1 < steps) {
      const int next = (step + 1) * kStep;
      copy_tiles(buffers_a + (step + 1) % 2 * kElementsOfA, buffers_b + (step + 1) % 2 * kElementsOfB,
                 a + (row * k + next), b + (next * n + column), n, k);
      if (mistake != Mistake::no_wait && mistake != Mistake::wait_for_less) cp_async_wait_group<1>();
      if (mistake == Mistake::wait_for_less) cp_async_wait_group<2>();
    } else if (mistake != Mistake::no_wait) {
      cp_async_wait_group<0>();
    }
    if (mistake != Mistake::no_barrier_before_read) __syncthreads();
    for (int depth = 0; depth < kStep; depth += 16) {
      Fragment<std::uint32_t, 4> left[2];
      for (int i = 0; i < 2; ++i)
        left[i] = ldmatrix<4>(tile_a + ((warp_row + 16 * i + lane % 16) * kRowOfA + depth + lane / 16 * 8));
      for (int j = 0; j < 4; j += 2) {
        const Fragment<std::uint32_t, 4> right =
            ldmatrix_trans<4>(tile_b + ((depth + lane % 16) * kRowOfB + warp_column + 8 * j + lane / 16 * 8));
        for (int i = 0; i < 2; ++i) {
          sums[i][j] = mma<m16n8k16, f32, bf16>(left[i], {right[0], right[1]}, sums[i][j]);
          sums[i][j + 1] = mma<m16n8k16, f32, bf16>(left[i], {right[2], right[3]}, sums[i][j + 1]);
        }
      }
    }
    if (mistake != Mistake::no_barrier_before_overwrite) __syncthreads();
  }

  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      store_sums(d + ((row + warp_row + 16 * i) * n + column + warp_column + 8 * j), n, sums[i][j]);
}

}  // namespace kernels
