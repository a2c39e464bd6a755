// SPDX-License-Identifier: Apache-2.0
// Blocks of a cluster of 2 x 2 add up their numbers in the memory of the first one, exchange them with their neighbours, and
// reduce in global memory.
#pragma once

#include <cstdint>

#include "warpbit/device.hpp"

namespace kernels {

using namespace warpbit::device;

namespace cluster_sum {

inline constexpr int kThreads = 64, kBlocks = 4, kBytes = 4 * kThreads, kShared = (2 + kBlocks) * kBytes + 8;

/// What a mistake does to the kernel: tests make them one by one.
enum class Mistake {
  none,
  too_many_bytes,  ///< are expected
  no_proxy_fence,  ///< between stores and the copy that reads them
  early_load,      ///< of what other threads may not have stored yet
  ends_early,      ///< a block whose memory others still read
  arrives_twice,   ///< at barrier.cluster
  rank_beyond,     ///< of the neighbour
};

/// `in`: kThreads numbers for each block. `out`: for each block those of its neighbour; for each cluster their sum; for each
/// cluster what reductions in bulk have made of what was there; for each block where it is.
template <Mistake mistake = Mistake::none>
WARPBIT_KERNEL void sum(GlobalArray<const std::uint32_t> in, GlobalArray<std::uint32_t> out) {
  const SharedArray<std::uint32_t> mine = shared_array<std::uint32_t>(0, kThreads);
  const SharedArray<std::uint32_t> sums = shared_array<std::uint32_t>(kBytes, kThreads);
  const SharedArray<std::uint32_t> slots = shared_array<std::uint32_t>(2 * kBytes, kBlocks * kThreads);
  const SharedArray<Mbarrier> full = shared_array<Mbarrier>((2 + kBlocks) * kBytes, 1);
  const int rank = static_cast<int>(cluster_ctarank()), thread = static_cast<int>(threadIdx.x);
  const int block = static_cast<int>(blockIdx.x + gridDim.x * blockIdx.y);
  const int blocks = static_cast<int>(gridDim.x * gridDim.y), clusters = blocks / kBlocks;
  const int cluster = static_cast<int>(blockIdx.x / cluster_nctaid().x +
                                       gridDim.x / cluster_nctaid().x * (blockIdx.y / cluster_nctaid().y));

  mine[thread] = in[block * kThreads + thread];
  if (mistake != Mistake::no_proxy_fence) fence_proxy_async();
  if (thread == 0) {
    mbarrier_init(full, 1);
    fence_mbarrier_init();
  }
  if (mistake == Mistake::early_load)
    barrier_cluster_arrive_relaxed();
  else
    barrier_cluster_arrive();
  if (mistake == Mistake::arrives_twice) barrier_cluster_arrive();
  barrier_cluster_wait();

  const int neighbour = mistake == Mistake::rank_beyond ? kBlocks : rank ^ 1;
  out[block * kThreads + thread] = mapa(mine, static_cast<unsigned>(neighbour))[thread];
  if (thread == 0) {
    if (rank == 0)
      mbarrier_arrive_expect_tx(full, kBlocks * kBytes + (mistake == Mistake::too_many_bytes ? 16 : 0));
    cp_async_bulk_shared_to_cluster(mapa(slots + rank * kThreads, 0), mine, kBytes, mapa(full, 0));
    cp_reduce_async_bulk_shared_to_global<Reduction::add>(out + ((blocks + clusters + cluster) * kThreads),
                                                          mine, kBytes);
    cp_async_bulk_commit_group();
    const Index3 at = cluster_ctaid();
    out[(blocks + 2 * clusters) * kThreads + block] =
        static_cast<std::uint32_t>(rank) + 16 * at.x + 256 * at.y + 4096 * at.z;
    cp_async_bulk_wait_group<0>();
  }
  if (rank == 0) {
    mbarrier_wait_parity(full, 0);
    std::uint32_t sum = 0;
    for (int i = 0; i < kBlocks; ++i) sum += slots[i * kThreads + thread];
    sums[thread] = sum;
    fence_proxy_async();
    __syncthreads();
    if (thread == 0) {
      cp_async_bulk_shared_to_global(out + ((blocks + cluster) * kThreads), sums, kBytes);
      cp_async_bulk_commit_group();
      cp_async_bulk_wait_group_read<0>();
    }
  }
  if (mistake != Mistake::ends_early) cluster_sync();
}

}  // namespace cluster_sum
}  // namespace kernels
