// SPDX-License-Identifier: Apache-2.0
// What the threads of a block wait for, and who may go on. A thread that calls an instruction of several
// threads waits. Once no thread can go on alone, those whose partners have arrived meet.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "block/shared.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

using device::calls::Request, device::calls::Shuffle;

class Meeting {
 public:
  /// Executes the instruction for which the lanes of a warp or a warpgroup have met, from this thread on.
  using Execute = std::function<Found(int first)>;

  /// `shared` stays where it is.
  Meeting(int threads, Shared& shared, Execute execute);

  int threads() const { return static_cast<int>(threads_.size()); }
  int warps() const { return (threads() + kWarp - 1) / kWarp; }
  bool can_run(int i) const { return thread(i).state == State::ready; }
  bool has_ended(int i) const { return thread(i).state == State::ended; }
  bool any_can_run() const;
  bool all_have_ended() const;
  /// Whether a thread waits for what others may do anywhere in the cluster.
  bool waits_elsewhere() const;

  // ---- A thread that runs

  /// Its place, for faults in which it is the other side.
  void is_at(int i, Place at) { thread(i).last = at; }
  Place last(int i) const { return thread(i).last; }
  /// It cannot go on before the request is fulfilled, which lives until then.
  void wait(int i, Request& request);
  /// It cannot go on. The fault, never_written, counts if no other is found: another thread may yet write
  /// there, which is a race.
  void stick(int i, Fault fault);
  void end(int i) { thread(i).state = State::ended; }
  bool waits(int i) const { return thread(i).waits(); }
  /// Of a thread that waits.
  const Request& request(int i) const { return *thread(i).request; }
  /// The lanes of a warp that wait, or wait for what is `condition`.
  std::uint32_t waiting(int warp) const {
    return lanes_that(warp, [](const Thread& t) { return t.waits(); });
  }
  template <class Condition>
  std::uint32_t waiting(int warp, Condition condition) const {
    return lanes_that(warp, [&](const Thread& t) { return t.waits() && condition(*t.request); });
  }

  // ---- Nobody runs

  /// Lets lanes of the warp go on, no thread of which can run; false if none can.
  bool meet(int warp);
  /// Lets all threads go on from a barrier, when none can run or meet; false after a fault.
  bool pass_barrier();
  /// Lets threads go on that wait elsewhere, to look again; `in_vain`: those alone that wait for a phase. Whether there are
  /// any.
  bool look_again(bool in_vain);
  /// The fault of threads that nothing lets go on, if a read of bytes that nobody wrote is the cause.
  void report_stuck() {
    if (!fault_) fault_ = stuck_;
  }
  /// The first fault, also for the caller to set.
  Found& fault() { return fault_; }

 private:
  enum class State { ready, waits, stuck, ended };
  struct Thread {
    State state = State::ready;
    Request* request = nullptr;
    Place last = {};  ///< its last known place

    bool waits() const { return state == State::waits; }
    bool waits_elsewhere() const { return state == State::stuck || (waits() && request->is_elsewhere()); }
    bool waits_like(const Request& other) const { return waits() && request->is_same(other); }
  };
  Thread& thread(int i) { return threads_[static_cast<std::size_t>(i)]; }
  const Thread& thread(int i) const { return threads_[static_cast<std::size_t>(i)]; }
  Thread& lane(int warp, int i) { return thread(warp * kWarp + i); }
  template <class Condition>
  std::uint32_t lanes_that(int warp, Condition condition) const {
    std::uint32_t out = 0;
    for (int i = warp * kWarp; i < std::min((warp + 1) * kWarp, threads()); ++i)
      out |= std::uint32_t{condition(thread(i))} << i % kWarp;
    return out;
  }
  void go_on(int warp, std::uint32_t lanes);
  Who who(int i, Place at) const { return {shared_.first_thread() + i, at}; }
  FaultSide side(int warp, std::vector<int> lanes, Place at) const {
    return {shared_.first_warp() + warp, std::move(lanes), at};
  }
  bool meet_masked(int warp);
  bool meet_instruction(int warp);
  bool meet_active_mask(int warp);
  Found shuffle(int warp, std::uint32_t lanes);
  void vote(int warp, std::uint32_t lanes);
  void diagnose(int warp);
  Fault unmet(int first, const Thread* one, std::string_view here, std::string_view others,
              std::string must) const;
  Fault missing(int warp, int first, std::uint32_t wanted);
  Fault missing_warp(int first, int warp);
  void check_warpgroups();
  void check_barrier();

  std::vector<Thread> threads_;
  Shared& shared_;
  Execute execute_;
  Found fault_, stuck_;
};

}  // namespace warpbit::block
#pragma GCC visibility pop
