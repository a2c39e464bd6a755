// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16 with f32 sums: a tile of 64 x 64 for each block, which is one warpgroup. A ring of four
// stages in shared memory, filled by cp.async two steps ahead while the products of the step before are under
// way. A and D are row-major, B is column-major: both factors have K contiguous.
#pragma once

#include <cstdint>

#include "warpbit/device.hpp"

namespace kernels {

using namespace warpbit::device;

namespace wgmma_gemm {

/// A stage holds 64 rows of A and 64 columns of B, of 64 elements of K: 128 bytes, the span of the swizzle.
inline constexpr int kTile = 64, kStep = 64, kStages = 4, kThreads = 128;
inline constexpr int kElements = kTile * kStep, kStageElements = 2 * kElements;
inline constexpr int kShared = 2 * kStages * kStageElements;

/// What a mistake does to the kernel: tests make them one by one.
enum class Mistake {
  none,
  no_fence,           ///< of registers
  no_proxy_fence,     ///< of what cp.async has written
  no_barrier,         ///< behind the copies of all threads
  no_copy_wait,       ///< for the thread's own copies
  one_stage_further,  ///< copies into the stage that the products under way read
  wait_for_less,      ///< reads the sums while the last products are under way
  plain_layout,       ///< copies as if nothing were swizzled: no fault, a wrong D
};

/// Rows of 64 elements out of a matrix with K in a row, each chunk of 16 bytes to where the swizzle has it.
template <Mistake mistake>
WARPBIT_DEVICE void copy_tile(SharedArray<std::uint16_t> to, GlobalArray<const std::uint16_t> from, int k) {
  for (int chunk = static_cast<int>(threadIdx.x); chunk < kElements / 8; chunk += kThreads) {
    const int row = chunk / 8, column = chunk % 8;
    const int swizzled = mistake == Mistake::plain_layout ? column : column ^ (row % 8);
    cp_async_cg(to + (row * kStep + swizzled * 8), from + (row * k + column * 8));
  }
}

/// M and N are the grid's in tiles, K a multiple of kStep.
template <Mistake mistake = Mistake::none>
WARPBIT_KERNEL void gemm(GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> b,
                         GlobalArray<float> d, int k) {
  const int n = static_cast<int>(gridDim.x) * kTile, steps = k / kStep;
  const int row = static_cast<int>(blockIdx.y) * kTile, column = static_cast<int>(blockIdx.x) * kTile;
  const SharedArray<std::uint16_t> ring = shared_array<std::uint16_t>(0, kStages * kStageElements);

  const int ahead = mistake == Mistake::one_stage_further ? 3 : 2;
  for (int step = 0; step < ahead; ++step) {
    if (step < steps) {
      copy_tile<mistake>(ring + step * kStageElements, a + (row * k + step * kStep), k);
      copy_tile<mistake>(ring + (step * kStageElements + kElements), b + (column * k + step * kStep), k);
    }
    cp_async_commit_group();
  }

  AsyncFragment<float, kTile / 2> sums = {};
  for (int step = 0; step < steps; ++step) {
    const SharedArray<std::uint16_t> stage = ring + step % kStages * kStageElements;
    if (mistake != Mistake::no_copy_wait) cp_async_wait_group<1>();
    if (mistake != Mistake::no_proxy_fence) fence_proxy_async();
    // All copies of this step have landed, and all warps have waited for the products of two steps before.
    if (mistake != Mistake::no_barrier) __syncthreads();
    if (const int next = step + ahead; next < steps) {
      const SharedArray<std::uint16_t> to = ring + next % kStages * kStageElements;
      copy_tile<mistake>(to, a + (row * k + next * kStep), k);
      copy_tile<mistake>(to + kElements, b + (column * k + next * kStep), k);
    }
    cp_async_commit_group();

    if (mistake != Mistake::no_fence) wgmma_fence(sums);
    for (int depth = 0; depth < kStep; depth += 16)
      wgmma<m64nNkK<kTile, 16>, f32, bf16>(
          sums, matrix_descriptor(stage + depth, 16, 1024, Swizzle::bytes_128),
          matrix_descriptor(stage + (kElements + depth), 16, 1024, Swizzle::bytes_128), true);
    wgmma_commit_group();
    wgmma_wait_group<1>(sums);
  }
  if (mistake != Mistake::wait_for_less) wgmma_wait_group<0>(sums);

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (int i = 0; i < kTile / 2; ++i) {
    const int at_row = row + 16 * warp + lane / 4 + i / 2 % 2 * 8;
    const int at_column = column + i / 4 * 8 + lane % 4 * 2 + i % 2;
    d[at_row * n + at_column] = sums[i];
  }
}

}  // namespace wgmma_gemm
}  // namespace kernels
