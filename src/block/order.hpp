// SPDX-License-Identifier: Apache-2.0
// Happens-before relation of accesses to shared memory (PTX manual, "Memory Consistency Model").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "block/fault.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// The clock of each actor up to which its actions are known, and up to which they are also proxy-fenced. Actors beyond
/// the end are at 0.
struct Knowledge {
  std::vector<std::uint32_t> known, fenced;
};

/// Vector clocks of the actors of a block or a cluster. Actors are threads, and agents: what a barrier object or a bulk
/// group completes is done by an agent, whose clock counts the phases or groups. A thread's clock ticks when it synchronises
/// or fences. Each thread knows the clock of every other actor up to which that one's actions happen before its own, and
/// likewise the clock up to which they are also proxy-fenced.
class Order {
 public:
  explicit Order(int threads);

  int threads() const { return threads_; }
  /// A new actor that is no thread: its number.
  /// `by_fences`: what it has done is known behind relaxed arrivals and waits, too, since fences of its own order it.
  int add_agent(bool by_fences = false);
  /// Two for what a warpgroup does together, of which a warp that waits knows one alone: what the first has done is known to
  /// those who know both. Who releases one to others releases both.
  int add_pair();
  bool is_agent(int actor) const { return actor >= threads_; }

  std::uint32_t clock(int thread) const { return clock_[index(thread)]; }
  /// Whether it is a thread, and its clock has not ticked since.
  bool is_latest(int actor, std::uint32_t clock) const {
    return !is_agent(actor) && clock == clock_[index(actor)];
  }
  /// Whether the action of an actor at that clock happens before the current action of the thread `me`.
  bool before(int actor, std::uint32_t clock, int me) const {
    if (actor == me || clock < barrier_[index(actor)]) return true;
    if (actor / kWarp == me / kWarp && clock < known(me, actor % kWarp)) return true;
    if (of_warps_.empty()) return false;
    const std::vector<std::uint32_t>& known = of_warp(me / kWarp).known;
    return clock < known[index(actor)] && clock < known[index(second_of(actor))];
  }
  /// Whether a proxy fence follows the action of `thread` at that clock and precedes the last barrier.
  bool fenced(int thread, std::uint32_t clock) const { return clock < fenced_barrier_[index(thread)]; }
  /// Whether a proxy fence follows it and happens before the current action of `me` (PTX manual, "Proxies": a
  /// fence along the path of causality).
  bool fenced(int thread, std::uint32_t clock, int me) const {
    if (fenced(thread, clock)) return true;
    if (fence_known_[index(me)] != 0 && clock < barrier_[index(thread)]) return true;
    if (thread / kWarp == me / kWarp && clock < fenced_[index(me * kWarp + thread % kWarp)]) return true;
    return !of_warps_.empty() && clock < of_warp(me / kWarp).fenced[index(thread)];
  }
  /// Whether anything that one of these threads has done is known to `me`.
  bool knows_of(int first, int count, int me) const;

  /// Lanes of a warp execute a proxy fence, after everything they know of.
  void fence(int warp, std::uint32_t lanes);
  /// All threads meet.
  void barrier();
  /// Warps meet, e.g. at a barrier of some warps.
  void barrier_of(std::span<const int> warps);
  /// Lanes of a warp meet.
  void sync_warp(int warp, std::uint32_t lanes);
  /// From now on these lanes of a warp execute instructions together, apart from its others.
  void path(int warp, std::uint32_t lanes);
  /// Whether two threads of a warp executed instructions together when one had that clock. False if that is too long ago.
  bool were_together(int thread, std::uint32_t clock, int other) const;
  /// A warp synchronises through memory, by an atomic or another strong access: what came before happens before
  /// what follows the next such access of any warp.
  void through_memory(int warp);
  /// What lanes of a warp know is added to `into`, with all that they have done.
  void release(int warp, std::uint32_t lanes, Knowledge& into);
  /// A warp learns it.
  void acquire(int warp, const Knowledge& from);
  /// The same for an arrival and a wait that are .relaxed (PTX manual, "Release and Acquire Patterns"): what came before a fence
  /// of these lanes is released, and the next fence acquires it; of agents what fences of their own order, at once.
  void release_relaxed(int warp, std::uint32_t lanes, Knowledge& into) const;
  void acquire_relaxed(int warp, const Knowledge& from);
  /// Lanes of a warp execute a fence.
  void fence_memory(int warp, std::uint32_t lanes, bool releases, bool acquires);
  /// The clock up to which a warp knows what an agent has done.
  std::uint32_t known_of(int agent, int warp) const {
    return std::max(barrier_[index(agent)], of_warp(warp).known[index(agent)]);
  }
  /// A warp learns what an agent has done before this clock.
  void learn(int warp, int agent, std::uint32_t clock);

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::uint32_t known(int me, int lane) const { return known_[index(me * kWarp + lane)]; }
  const Knowledge& of_warp(int warp) const { return of_warps_[index(warp)]; }
  Knowledge& of_warp(int warp) { return of_warps_[index(warp)]; }
  int second_of(int actor) const {
    return is_agent(actor) && is_pair_[index(actor - threads_)] != 0 ? actor + 1 : actor;
  }
  void need_warps();
  void share_agents();
  void share_fences();

  int threads_;
  std::vector<std::uint32_t> clock_, barrier_;  // by actor
  std::vector<std::uint32_t> known_;            // by thread and lane of its warp
  std::vector<Knowledge> of_warps_;             // empty until some warps meet alone
  /// Of a warp: what the latest fence of some lanes releases, and what the next one acquires.
  struct Fenced {
    Knowledge before, open;
    std::uint32_t lanes = 0;
  };
  std::vector<Fenced> fences_;           // by warp; empty until there is one
  std::vector<std::uint8_t> is_pair_;    // by agent: the first of two
  std::vector<std::uint8_t> by_fences_;  // by agent
  Knowledge in_memory_;
  /// The lanes that a thread executes instructions with, from a clock of its own on.
  struct Path {
    std::uint32_t since = 0, lanes = kAllLanes;
  };
  static constexpr std::size_t kPaths = 8;       // that are remembered
  std::vector<std::array<Path, kPaths>> paths_;  // by thread, the latest first; empty until lanes part
  // Latest proxy-fenced epoch visible to all threads, and to each thread. For other warps the latter is the
  // epoch of the last barrier, if the thread knows of a fence since.
  std::vector<std::uint32_t> fenced_barrier_, fenced_;
  std::vector<std::uint8_t> fence_known_;
  bool any_fence_ = false;  // since the last barrier
};

}  // namespace warpbit::block
#pragma GCC visibility pop
