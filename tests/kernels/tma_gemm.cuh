// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16 with f32 sums, as kernels for Hopper are: a tile of 64 x 64 for each block; two blocks of a cluster have the
// same columns. A warp of its own copies: each block its rows of A, and half of the columns of B into both blocks. A ring of
// stages with a barrier object for what is full and one for what is empty; the tile of D is stored by its tensor map.
#pragma once

#include <cstdint>

#include "warpbit/device.hpp"

namespace kernels {

using namespace warpbit::device;

namespace tma_gemm {

inline constexpr int kTile = 64, kStep = 64, kStages = 3, kBlocks = 2, kConsumers = 128;
inline constexpr unsigned kThreads = kConsumers + 32;
/// Of a tile of A or B in elements; a row or a column has 128 bytes, the span of the swizzle.
inline constexpr int kElements = kTile * kStep, kHalf = kElements / kBlocks;
inline constexpr int kBytes = 2 * 2 * kElements;
/// What each stage's empty object expects: the warps of both blocks.
inline constexpr int kReaders = kBlocks * kConsumers / 32;
/// A stage of A and B each; the sums in their place at last; the objects behind them.
inline constexpr int kObjects = kStages * kBytes, kShared = kObjects + 2 * kStages * 8;
static_assert(4 * kTile * kTile <= kObjects);

/// What a mistake does to the kernel: tests make them one by one.
enum class Mistake {
  none,
  parity_of_step,      ///< from the number of the step instead of the stage's use
  half_of_the_bytes,   ///< expects those of A alone
  empty_not_awaited,   ///< copies into a stage that is still read
  released_early,      ///< before the products of the stage are complete
  no_init_fence,       ///< the other block copies for objects that are not fenced
  no_cluster_barrier,  ///< copies to a block that may not have begun
  ends_early,          ///< while the other block may still copy into its memory
  no_proxy_fence,      ///< before the sums are stored by a copy
  source_reused,       ///< the sums are changed while a copy reads them
  plain_layout,        ///< a descriptor without the swizzle of the map
  one_arrival_short,   ///< the empty objects expect one more than come
};

/// M is the grid's rows and N its columns in tiles, K = steps * kStep. Maps: A and B with K contiguous, boxes of 64 x 64 and
/// 64 x 32; D row-major.
template <Mistake mistake = Mistake::none>
WARPBIT_KERNEL void gemm(const WARPBIT_GRID_CONSTANT TensorMapParameter a,
                         const WARPBIT_GRID_CONSTANT TensorMapParameter b,
                         const WARPBIT_GRID_CONSTANT TensorMapParameter d, int steps) {
  const SharedArray<std::uint16_t> ring = shared_array<std::uint16_t>(0, kObjects / 2);
  const SharedArray<float> tile = shared_array<float>(0, kTile * kTile);
  const SharedArray<Mbarrier> full = shared_array<Mbarrier>(kObjects, kStages);
  const SharedArray<Mbarrier> empty = shared_array<Mbarrier>(kObjects + 8 * kStages, kStages);
  const int rank = static_cast<int>(cluster_ctarank()), thread = static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * kTile, column = static_cast<int>(blockIdx.x) * kTile;

  if (thread == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      mbarrier_init(full + stage, 1);
      mbarrier_init(empty + stage, mistake == Mistake::one_arrival_short ? kReaders + 1 : kReaders);
    }
    if (mistake != Mistake::no_init_fence) fence_mbarrier_init();
  }
  if (mistake == Mistake::no_cluster_barrier)
    __syncthreads();
  else
    cluster_sync();

  AsyncFragment<float, kTile / 2> sums = {};
  if (thread == kConsumers) {
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      const SharedArray<std::uint16_t> to = ring + stage * 2 * kElements;
      if (mistake != Mistake::empty_not_awaited) mbarrier_wait_parity(empty + stage, step / kStages % 2 ^ 1);
      mbarrier_arrive_expect_tx(full + stage, mistake == Mistake::half_of_the_bytes ? kBytes / 2 : kBytes);
      cp_async_bulk_tensor_global_to_shared(to, a, {step * kStep, row}, full + stage);
      cp_async_bulk_tensor_global_to_shared_multicast(to + (kElements + rank * kHalf), b,
                                                      {step * kStep, column + rank * kTile / kBlocks},
                                                      full + stage, (1 << kBlocks) - 1);
    }
  } else if (thread < kConsumers) {
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      const SharedArray<std::uint16_t> from = ring + stage * 2 * kElements;
      mbarrier_wait_parity(full + stage, mistake == Mistake::parity_of_step ? step % 2 : step / kStages % 2);
      wgmma_fence(sums);
      for (int depth = 0; depth < kStep; depth += 16)
        wgmma<m64nNkK<kTile, 16>, f32, bf16>(
            sums, matrix_descriptor(from + depth, 16, 1024, Swizzle::bytes_128),
            matrix_descriptor(from + (kElements + depth), 16, 1024,
                              mistake == Mistake::plain_layout ? Swizzle::none : Swizzle::bytes_128),
            true);
      wgmma_commit_group();
      if (mistake != Mistake::released_early) wgmma_wait_group<0>(sums);
      if (thread % 32 < kBlocks)
        mbarrier_arrive_cluster(mapa(empty + stage, static_cast<unsigned>(thread % 32)));
      if (mistake == Mistake::released_early) wgmma_wait_group<0>(sums);
    }
  }

  __syncthreads();  // all products are complete: the ring is free
  if (thread < kConsumers) {
    const int lane = thread % 32, warp = thread / 32;
    for (int i = 0; i < kTile / 2; ++i)
      tile[(16 * warp + lane / 4 + i / 2 % 2 * 8) * kTile + (i / 4 * 8 + lane % 4 * 2 + i % 2)] = sums[i];
    if (mistake != Mistake::no_proxy_fence) fence_proxy_async();
  }
  __syncthreads();
  if (thread == 0) {
    cp_async_bulk_tensor_shared_to_global(d, {column, row}, tile);
    cp_async_bulk_commit_group();
    if (mistake != Mistake::source_reused) cp_async_bulk_wait_group<0>();
    tile[0] = 0;
    if (mistake == Mistake::source_reused) cp_async_bulk_wait_group<0>();
  }
  if (mistake != Mistake::ends_early) cluster_sync();
}

}  // namespace tma_gemm
}  // namespace kernels
