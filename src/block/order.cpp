// SPDX-License-Identifier: Apache-2.0
#include "block/order.hpp"

#include <algorithm>
#include <array>

namespace warpbit::block {

Order::Order(int threads)
    : clock_(index(threads)),
      barrier_(index(threads)),
      known_(index(threads) * index(kWarp)),
      fenced_barrier_(index(threads)),
      fenced_(known_.size()),
      fence_known_(index(threads)) {}

void Order::fence(int thread) {
  any_fence_ = true;
  fence_known_[index(thread)] = 1;
  for (int lane = 0; lane < kWarp; ++lane) {
    std::uint32_t& fenced = fenced_[index(thread * kWarp + lane)];
    fenced = std::max(fenced, known(thread, lane));
  }
  fenced_[index(thread * kWarp + thread % kWarp)] = ++clock_[index(thread)];
}

void Order::barrier() {
  if (any_fence_) {
    const bool crossed = std::ranges::find(fence_known_, 1) != fence_known_.end();
    const int threads = static_cast<int>(clock_.size());
    for (int me = 0; me < threads; ++me) {
      if (crossed) fenced_barrier_[index(me)] = std::max(fenced_barrier_[index(me)], barrier_[index(me)]);
      for (int lane = 0; lane < kWarp; ++lane) {
        const int other = me / kWarp * kWarp + lane;
        if (other >= threads) break;
        fenced_barrier_[index(other)] =
            std::max(fenced_barrier_[index(other)], fenced_[index(me * kWarp + lane)]);
      }
    }
    std::ranges::fill(fence_known_, std::uint8_t{0});
    any_fence_ = false;
  }
  for (std::size_t i = 0; i < clock_.size(); ++i) barrier_[i] = ++clock_[i];
}

void Order::sync_warp(int warp, std::uint32_t lanes) {
  std::array<std::uint32_t, kWarp> together{}, fenced{};
  std::uint8_t fence_known = 0;
  const auto is_there = [&](int lane) { return (lanes >> lane & 1U) != 0; };
  for (int lane = 0; lane < kWarp; ++lane) {
    if (!is_there(lane)) continue;
    const int thread = warp * kWarp + lane;
    for (int other = 0; other < kWarp; ++other) {
      together[index(other)] = std::max(together[index(other)], known(thread, other));
      fenced[index(other)] = std::max(fenced[index(other)], fenced_[index(thread * kWarp + other)]);
    }
    fence_known |= fence_known_[index(thread)];
    together[index(lane)] = ++clock_[index(thread)];
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    if (!is_there(lane)) continue;
    const std::ptrdiff_t thread = std::ptrdiff_t{warp} * kWarp + lane;
    std::ranges::copy(together, known_.begin() + thread * kWarp);
    std::ranges::copy(fenced, fenced_.begin() + thread * kWarp);
    fence_known_[static_cast<std::size_t>(thread)] = fence_known;
  }
}

void Order::join_warps(std::uint32_t warps, std::vector<std::uint32_t>& with) {
  const auto threads = static_cast<int>(clock_.size());
  if (of_warps_.empty()) of_warps_.resize(index((threads + kWarp - 1) / kWarp) * clock_.size());
  with.resize(clock_.size());
  const auto each = [&](auto&& what) {
    for (int warp = 0; warp * kWarp < threads; ++warp)
      if ((warps >> warp & 1U) != 0) what(warp);
  };
  each([&](int warp) {
    for (std::size_t t = 0; t < with.size(); ++t) with[t] = std::max(with[t], of_warp(warp)[t]);
    for (int t = warp * kWarp; t < std::min((warp + 1) * kWarp, threads); ++t)
      with[index(t)] = ++clock_[index(t)];
  });
  each([&](int warp) { std::ranges::copy(with, of_warp(warp)); });
}

void Order::barrier_of(std::uint32_t warps) {
  std::vector<std::uint32_t> together;
  join_warps(warps, together);
}

void Order::through_memory(int warp) {
  join_warps(std::uint32_t{1} << warp, in_memory_);
}

}  // namespace warpbit::block
