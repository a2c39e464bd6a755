// SPDX-License-Identifier: Apache-2.0
// Happens-before relation of accesses to shared memory (PTX manual, "Memory Consistency Model").
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "block/fault.hpp"
#include "block/message.hpp"
#include "block/strong.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// Vector clocks of the actors of a block or a cluster. Actors are threads, and agents: what a barrier object or a bulk
/// group completes is done by an agent, whose clock counts the phases or groups. A thread's clock ticks when one of its
/// warp synchronises or fences. Each thread knows the clock of every other actor up to which that one's actions happen before its own, and
/// likewise the clock up to which they are also proxy-fenced.
class Order {
 public:
  explicit Order(int threads);

  int threads() const { return threads_; }
  /// The number of the cluster in its grid, of whose other clusters something is known, too.
  void number(std::uint64_t cluster) { cluster_ = cluster; }
  /// The statements of the program, and how many threads the blocks are numbered by. `fences_are_sc`: all of its fences are
  /// fence.sc (membar is).
  void judge_by(std::span<const StrongUse> uses, int stride, bool fences_are_sc) {
    fences_are_sc_ = fences_are_sc;
    uses_ = uses;
    stride_ = stride;
  }
  /// What does not fit where two strong accesses by threads of the cluster are not ordered.
  Misfit misfit(const StrongSide& before, const StrongSide& now) const;
  /// The same of one by another cluster.
  Misfit misfit_of_clusters(const StrongSide& before, const StrongSide& now) const;
  /// Of strong accesses by lanes of a warp, the earlier one by `who`: whether the flag that nearly orders them is that access, or the
  /// lanes have executed it together.
  bool is_flag_itself(const Flaw& flaw, const Who& who, std::uint32_t clock, int me) const {
    return flaw.write.at == who.at || were_together(who.thread, clock, me);
  }
  /// What is known of the strong accesses of the statement at a place.
  StrongUse use_at(Place at) const { return block::use_at(uses_, at); }
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
  /// Whether it precedes the last barrier, as all of its warp at that clock does: everybody knows it.
  bool before_barrier(int thread, std::uint32_t clock) const { return clock < barrier_[index(thread)]; }
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
  /// The same of a thread of another cluster.
  bool before(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const {
    return !of_warps_.empty() && of_warp(me / kWarp).far.knows(cluster, thread, clock);
  }
  /// The flag by which the warp of `me` knows of it, if other lanes of it have acquired that, and have not met `me` since.
  std::optional<Flaw> told_apart(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const {
    if (apart_.empty()) return std::nullopt;
    const Apart& one = apart_[index(me / kWarp)];
    const bool is_known =
        one.lanes == 0 || (one.lanes >> me % kWarp & 1) != 0 || one.before.knows(cluster, thread, clock);
    return is_known ? std::nullopt : std::optional(one.flag);
  }
  /// Another warp of the block of `me`, by its number in there, that knows of it; -1: there is none.
  int told_to_block(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const;
  /// What is missing, if something nearly orders it before the current action of `me`, or a flag that `me` has read does not since
  /// its write is .relaxed.
  std::optional<Flaw> nearly_before(int actor, std::uint32_t clock, int me) const;
  std::optional<Flaw> nearly_before(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const;
  /// A flag that the block of a thread, of this cluster or another one, had written before the thread's action, and that `me` has read.
  std::optional<Flaw> written_early(int thread, std::uint32_t clock, int me) const {
    return written_early(cluster_.value_or(0), thread, clock, me);
  }
  std::optional<Flaw> written_early(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const;
  /// Whether it would be known behind a fence: `me` has read a flag by a relaxed load.
  bool is_open(int actor, std::uint32_t clock, int me) const;
  bool is_open(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const;
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
  /// Lanes of a warp meet at an instruction that orders no memory, as vote, match and shfl: each has executed by then what stands
  /// before it. That is remembered of a warp that has `used` a barrier object since, or whose lanes have parted.
  void meet(int warp, std::uint32_t lanes) {
    if (!used_.empty() && used_[index(warp)] != 0) remember_meeting(warp, lanes);
    join_apart(warp, lanes);
  }
  void used(int warp);
  /// Whether the thread has met others since it had this clock, of whom one is `me` or has told `me` since.
  bool has_met(int thread, std::uint32_t clock, int me) const;
  /// Whether two lanes of a warp have come one after the other to what the first did at that clock and the other one does now: they
  /// were together, or have met since. That orders no memory.
  bool are_in_turn(int thread, std::uint32_t clock, int now) const {
    return were_together(thread, clock, now) || (thread / kWarp == now / kWarp && has_met(thread, clock, now));
  }
  /// What a strong write by lanes of a warp leaves at its address. An atomic without an order and a fence is no flag.
  Posting post(int warp, std::uint32_t lanes, const Strength& how, bool is_atomic = false);
  /// A strong read by a warp, of the block of this rank, takes what has been left there.
  void take(int warp, int rank, const Message& message, const Strength& how, FlagUse read = {});
  /// Another lane, which executed instructions together with the thread when that had this clock and has told `me` since, as a
  /// thread; -1: none.
  int told_by_lane(int thread, std::uint32_t clock, int me) const;
  /// What lanes of a warp know is added to `into`, with all that they have done.
  void release(int warp, std::uint32_t lanes, Knowledge& into);
  /// A warp learns it.
  void acquire(int warp, const Knowledge& from);
  /// The same for an arrival and a wait that are .relaxed (PTX manual, "Release and Acquire Patterns"): what came before a fence
  /// of these lanes is released, and the next fence acquires it; of agents what fences of their own order, at once.
  /// `reach`: the scope that reaches those who wait.
  void release_relaxed(int warp, std::uint32_t lanes, Knowledge& into, Scope reach = Scope::cta) const;
  void acquire_relaxed(int warp, const Knowledge& from, Scope reach = Scope::cta);
  /// Of it what agents have done.
  Knowledge of_agents(Knowledge from) const;
  /// What lanes of a warp have done and know, which is returned, would be known to those who acquire `into`, were it not for
  /// the flaw.
  Knowledge nearly_release(int warp, std::uint32_t lanes, Knowledge& into, const Flaw& flaw);
  /// A warp learns it, or would if there were what it lacks.
  void nearly_acquire(int warp, const Knowledge& from, const Flaw& flaw);
  /// Lanes of a warp execute a fence.
  void fence_memory(int warp, std::uint32_t lanes, const Strength& how);
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
  void need_fences();
  std::uint32_t tick(int warp);
  void remember_meeting(int warp, std::uint32_t lanes);
  static void share_rows(Clocks& rows, int warp, std::uint32_t lanes);
  Known released(int warp, std::uint32_t lanes);
  Known before_fence(int warp, std::uint32_t lanes, Scope scope) const;
  void take(int warp, const Message& message, const Knowledge& from, const Strength& how, Flaw flaw,
            Scope reach);
  void acquire_by(int warp, std::uint32_t lanes, const Knowledge& from, const Flaw& flag);
  void join_apart(int warp, std::uint32_t lanes) {
    if (!apart_.empty() && (apart_[index(warp)].lanes & lanes) != 0) apart_[index(warp)].lanes |= lanes;
  }
  void share_agents();
  void share_far();
  void share_fences();
  template <class Knows>
  std::optional<Flaw> flaw(int warp, std::uint64_t cluster, int actor, bool is_open, Knows knows) const;
  Far done_by_block(int warp) const;
  void hint(int warp, const Message& message, const Clocks& known, const Far& far, Flaw flaw);
  void hint_of_blocks(int warp, const Message& message, const Strength& how, const FlagUse& read);

  int threads_;
  std::vector<std::uint32_t> clock_, barrier_;  // by actor
  std::vector<std::uint32_t> known_;            // by thread and lane of its warp
  std::vector<Knowledge> of_warps_;             // empty until some warps meet alone
  /// Of a warp: what the latest fence of each lane releases, by the scope that it has at least, and what the next one
  /// acquires, by the scope that it must have; of `unfenced` it nearly does.
  struct Fenced {
    std::array<std::array<Known, kWarp>, kScopes> before;
    std::array<Knowledge, kScopes> open;
    Knowledge unfenced;
    Flaw flag;  ///< the last flag of these, which has no flaw
    /// What flags behind fence.sc have told the warp of other clusters, and before a barrier those of the block: a fence.sc
    /// behind that acquires it, whoever has read the flag. Any two of them have an order (PTX manual, "Fence-SC"), and one that
    /// is behind a read of the flag is not before the one that is in front of its write.
    Far behind_sc, told_sc;
  };
  std::vector<Fenced> fences_;           // by warp; empty until there is one
  std::vector<std::uint8_t> is_pair_;    // by agent: the first of two
  std::vector<std::uint8_t> by_fences_;  // by agent
  /// What a warp has taken: polling, of one flag or in turn of several, takes it once.
  struct Taken {
    struct Last {
      std::uint64_t writes = 0;
      bool acquires = false;
    };
    static constexpr std::size_t kMost = 256;
    std::unordered_map<const Message*, Last> of;  ///< that are polled
    bool acquires = false;
    std::array<Known, 2> latest = {};  ///< lanes at several addresses find there what one instruction has left
  };
  std::vector<Taken> taken_;  // by warp; empty until there is something
  /// Lanes of a warp that have acquired flags of other clusters, or have met such since, and what the others know. Where lanes have
  /// acquired several, each counts as if it had all.
  struct Apart {
    std::uint32_t lanes = 0;
    Far before = {};
    Flaw flag = {};
  };
  std::vector<Apart> apart_;              // by warp; empty where all lanes know the same
  std::optional<std::uint64_t> cluster_;  // in a grid of several
  std::span<const StrongUse> uses_;       // by statement; empty: nothing is known of them
  int stride_ = 0;
  bool fences_are_sc_ = false;
  /// The lanes that a thread executes instructions with, from a clock of its own on.
  struct Path {
    std::uint32_t since = 0, lanes = kAllLanes;
  };
  static constexpr std::size_t kPaths = 8;       // that are remembered
  std::vector<std::array<Path, kPaths>> paths_;  // by thread, the latest first; empty until lanes part
  /// Lanes that have met, from a clock of their own on.
  struct Met {
    std::uint32_t since = 0, lanes = 0;
  };
  static constexpr std::size_t kMeetings = 8;         // that are remembered
  std::vector<std::array<Met, kMeetings>> meetings_;  // by warp, the latest last
  std::vector<std::uint8_t> used_;                    // by warp; both empty until an object is used
  // Latest proxy-fenced epoch visible to all threads, and to each thread. For other warps the latter is the
  // epoch of the last barrier, if the thread knows of a fence since.
  std::vector<std::uint32_t> fenced_barrier_, fenced_;
  std::vector<std::uint8_t> fence_known_;
  bool any_fence_ = false;  // since the last barrier
};

}  // namespace warpbit::block
#pragma GCC visibility pop
