// SPDX-License-Identifier: Apache-2.0
// Happens-before relation of accesses to shared memory (PTX manual, "Memory Consistency Model").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "block/fault.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// Vector clocks of the threads of a block. A thread's clock ticks when it synchronises or fences. Each
/// thread knows the clock of every other thread up to which that thread's actions happen before its own, and
/// likewise the clock up to which they are also proxy-fenced.
class Order {
 public:
  explicit Order(int threads);

  std::uint32_t clock(int thread) const { return clock_[index(thread)]; }
  /// Whether the action of `thread` at that clock happens before the current action of `me`.
  bool before(int thread, std::uint32_t clock, int me) const {
    if (thread == me || clock < barrier_[index(thread)]) return true;
    if (thread / kWarp == me / kWarp && clock < known(me, thread % kWarp)) return true;
    return !of_warps_.empty() && clock < of_warp(me / kWarp)[index(thread)];
  }
  /// Whether a proxy fence follows the action of `thread` at that clock and precedes the last barrier.
  bool fenced(int thread, std::uint32_t clock) const { return clock < fenced_barrier_[index(thread)]; }
  /// Whether a proxy fence follows it and happens before the current action of `me` (PTX manual, "Proxies": a
  /// fence along the path of causality).
  bool fenced(int thread, std::uint32_t clock, int me) const {
    if (fenced(thread, clock)) return true;
    if (fence_known_[index(me)] != 0 && clock < barrier_[index(thread)]) return true;
    return thread / kWarp == me / kWarp && clock < fenced_[index(me * kWarp + thread % kWarp)];
  }
  /// A thread executes a proxy fence, after everything it knows of.
  void fence(int thread);
  /// All threads meet.
  void barrier();
  /// The warps of a mask meet, e.g. at a barrier of some warps.
  void barrier_of(std::uint32_t warps);
  /// Lanes of a warp meet.
  void sync_warp(int warp, std::uint32_t lanes);
  /// A warp synchronises through memory, by an atomic or another strong access: what came before happens before
  /// what follows the next such access of any warp.
  void through_memory(int warp);

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::uint32_t known(int me, int lane) const { return known_[index(me * kWarp + lane)]; }
  const std::uint32_t* of_warp(int warp) const { return &of_warps_[index(warp) * clock_.size()]; }
  std::uint32_t* of_warp(int warp) { return &of_warps_[index(warp) * clock_.size()]; }
  void join_warps(std::uint32_t warps, std::vector<std::uint32_t>& with);

  std::vector<std::uint32_t> clock_, barrier_;  // by thread
  std::vector<std::uint32_t> known_;            // by thread and lane of its warp
  std::vector<std::uint32_t> of_warps_;         // by warp and thread; empty until some warps meet alone
  std::vector<std::uint32_t> in_memory_;        // by thread, likewise
  // Latest proxy-fenced epoch visible to all threads, and to each thread. For other warps the latter is the
  // epoch of the last barrier, if the thread knows of a fence since.
  std::vector<std::uint32_t> fenced_barrier_, fenced_;
  std::vector<std::uint8_t> fence_known_;
  bool any_fence_ = false;  // since the last barrier
};

}  // namespace warpbit::block
#pragma GCC visibility pop
