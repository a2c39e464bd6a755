// SPDX-License-Identifier: Apache-2.0
// A block that runs a program: its warps, its shared memory and its barriers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "async/block.hpp"
#include "grid/early_reads.hpp"
#include "grid/freedom.hpp"
#include "grid/global_accesses.hpp"
#include "grid/memory.hpp"
#include "grid/printed.hpp"
#include "grid/products.hpp"
#include "grid/register_pool.hpp"
#include "grid/schedule.hpp"
#include "grid/warp.hpp"
#include "grid/watch.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/state.hpp"

namespace warpbit::grid {

/// x, y, z.
using Extent = std::array<std::uint32_t, 3>;

/// By rule: what a launch does where it is broken.
using Grades = std::array<Grade, kKernelRules>;

/// False answers of a strict launch, and of tests behind which a thread may go on: who gives up earlier is found.
inline constexpr int kEarlyAnswers = 64;

class References;

/// What all blocks of a launch share.
struct Grid {
  const Program& program;
  GlobalMemory& memory;
  Extent blocks = {1, 1, 1}, threads = {1, 1, 1}, cluster = {1, 1, 1};
  bool has_clusters = false;       ///< the launch or the kernel gives their size, be it 1
  std::uint64_t shared_bytes = 0;  ///< static and dynamic
  std::span<const std::byte> parameters = {};
  const References* references = nullptr;  ///< what they stand for
  ExecuteOptions execute = {};
  std::uint64_t step_limit = std::numeric_limits<std::uint64_t>::max();  ///< of a block
  bool check_shared = true;                                              ///< see ptx::Launch
  bool check_global = false;                                             ///< not without the other one
  int early_answers = 0;                                                 ///< that are false before a wait
  Grades grades = {};                                                    ///< of all rules
  block::Messages* messages = nullptr;                                   ///< of flags in global memory
  GlobalAccesses* accesses = nullptr;                                    ///< nullptr: they are not checked
  GlobalAccesses* arrivals = nullptr;            ///< of what bulk copies store, if there are such
  GlobalRaces* races = nullptr;                  ///< between clusters
  LockNests* locks = nullptr;                    ///< the order of locks
  const ptx::Launch* watched = nullptr;          ///< if it is to be profiled or observed
  Executors* executors = nullptr;                ///< of each of Program::freedoms
  Heap* heap = nullptr;                          ///< of malloc
  ptx::Cancel cancel = ptx::Cancel::first_come;  ///< see ptx::Launch
  std::uint64_t cancel_seed = 0;
  /// Takes a cluster that has not begun for one that is running: the index of its first block. Nothing: there is none.
  std::function<std::optional<Extent>(std::uint64_t cluster)> take_cluster = {};
  const std::atomic<bool>* stop = nullptr;  ///< see Stoppable
  int extension = -1;                       ///< of VectorSet; -1: the specification alone
  Schedule* schedule = nullptr;  ///< nullptr: all go on until they wait, in the order of their numbers
};

class Cluster;

using ptx::Finding;
/// Whether two faults are the same mistake, at the same lines of the source, or of the PTX where these are not known.
bool are_same(const Fault& x, const Fault& y);
/// What was found again, in the same block or in another one.
void add(Finding& to, const Finding& one);
/// Gives each finding that shares a line with an earlier one its cause. Those of which a worse one, or the fault of the launch,
/// has both lines, are left out.
void find_causes(std::vector<Finding>& all, const std::optional<Fault>& fault);

/// Shared addresses carry the rank of their block from this bit on, as an H100's do.
inline constexpr int kRankShift = 24;

class Block {
 public:
  /// `rank`: in its cluster.
  Block(const Grid& grid, Cluster& cluster, int rank, Extent index);

  /// Runs until all warps have ended (ended), or none can go on alone (waits), or but by what other clusters do (yields), or
  /// the turn of one is over (pauses), or a fault. `longest`: the most steps of a turn of each warp, see Schedule.
  Outcome run(std::uint64_t longest);
  /// A thread has ended, behind this.
  void ends(const Warp& warp, block::Who who);
  Cluster& cluster() const { return cluster_; }
  int rank() const { return rank_; }
  const std::vector<std::unique_ptr<Warp>>& warps() const { return warps_; }
  /// Where the addresses of its shared memory begin: 0 in a launch without clusters.
  std::uint64_t shared_base() const { return static_cast<std::uint64_t>(rank_) << kRankShift; }
  /// Its shared memory, barrier objects and copies.
  async::Block& async() { return async_; }
  /// Registers that setmaxnreg has given back, by thread of a warp; negative if too few are left.
  Next set_registers(Warp& warp, Path& path, Lanes lanes, int count, bool more);

  const Grid& grid() const { return grid_; }
  Extent index() const { return index_; }
  Memory& memory() { return async_.shared.memory(); }
  std::span<std::byte> shared() { return async_.memory(); }
  std::uint64_t special(ptx::Special special, int warp, int lane) const;

  bool has_fault() const { return fault_.has_value() || stopped_; }
  const std::optional<Fault>& found() const { return fault_; }
  void fault(Warp& warp, const Path& path, Lanes lanes, Error error);
  /// A fault of `accesses`, whose places are those of `who`, and behind which nothing goes on.
  void fault(Fault found);
  /// Whether a launch says anything where a rule is broken.
  bool is_told(KernelRule rule) const { return grid_.grades[static_cast<std::size_t>(rule)] != Grade::silent; }
  /// Does what the grade of the fault's rule says: whether the block goes on. Nothing is none.
  bool allows(block::Found found);
  const std::vector<Finding>& findings() const { return findings_; }
  /// Nothing goes on. The fault of an instruction that needs lanes or warps which are elsewhere; false if there is none.
  bool report_cause();
  bool may_come(Warp& warp, const Path& path) const;
  /// How much its waits tell of the cause, where nothing goes on, to compare with other blocks; -1: nobody waits.
  int tells() const;
  /// The fault of a thread that waits; false if none does. `waiting`: all that wait.
  bool report_deadlock(const std::vector<FaultWaiters>& waiting);
  /// The fault of a thread that does the same for ever; false if none does.
  bool report_endless(const std::vector<FaultWaiters>& waiting);
  /// The lock that a path waits for in a loop.
  std::optional<Lock> awaited_lock(Warp& warp, const Path& path) const;
  /// That of the fault of a thread that does the same for ever.
  const std::optional<Lock>& wanted_lock() const { return wanted_lock_; }
  /// Every path that waits, its place and what it waits for. `alive`: of all warps of the cluster.
  std::vector<FaultWaiters> waiting(std::span<const Lanes> alive) const;
  /// The same for a debugger. `newest`: a warp whose paths at a step that waits do so, too; or nullptr.
  std::vector<ptx::WaitState> waits(const Warp* newest) const;

  // ---- Accesses to shared memory, if they are checked

  bool checks() const { return grid_.check_shared; }
  block::Shared& accesses() { return async_.shared; }
  /// Asynchronous ones of warpgroups, whose registers and tiles are checked, too.
  Products& products();
  const Products* products_if_any() const { return products_.get(); }
  /// Lanes of a warp touch registers of products. False after a fault.
  bool touches(Warp& warp, const Path& path, const Step& step, Lanes lanes);
  /// A lane at a step, by its number in the cluster.
  static block::Who who(const Warp& warp, const Step& step, int lane);
  /// Those of a path at its step, which may wait.
  static block::Who who(const Warp& warp, const Path& path);
  /// The place of a site (Stacks) in faults that are not located yet.
  static block::Place place(std::int32_t site);
  static std::int32_t site_of(block::Place place) { return static_cast<std::int32_t>(place.line) - 1; }
  /// The barrier objects for which its paths wait: where they were initialised and arrived at. Arrivals that nobody waits for.
  void add_awaited(std::vector<FaultSide>& to) const;
  /// Counts a step. True: the warp must not do it now, as the launch has a limit or its turn has (pauses).
  bool must_stop() { return ++steps_ > stop_after_; }
  /// Whether that was its turn. It does the step in another one.
  bool pauses() { return steps_ <= grid_.step_limit && steps_-- != 0; }
  std::uint64_t steps() const { return steps_; }
  bool may_skip(std::uint64_t steps) const { return steps_ + steps <= stop_after_; }
  void skip(std::uint64_t steps) { steps_ += steps; }
  /// A warp has looked often at what others may change: they go first, though the block itself could go on.
  void polls() { polls_ = true; }
  /// Whether one has in its latest turn.
  bool has_polled() const { return polls_; }
  /// A step has changed what others may see.
  void changed() { ++changes_; }
  /// How many have, in the block.
  std::uint64_t own_changes() const { return changes_; }
  /// All changes and events in the cluster.
  std::uint64_t changes() const;
  /// Whether somebody counts.
  bool counts() const { return watch_ && watch_->counting(); }
  /// What the step at hand costs besides what its operands say, if somebody counts.
  void count(const ptx::Counts& cost) {
    if (watch_) watch_->add(cost);
  }
  Watch* watch() { return watch_ ? &*watch_ : nullptr; }
  /// What the step at hand waits for was there by this (grid/timeline.hpp).
  void depend(const block::Actor& by) {
    if (watch_ && watch_->timeline() != nullptr) watch_->timeline()->depend(by);
  }
  /// Ends the launch without a fault.
  void stop() { stopped_ = true; }
  bool has_stopped() const { return stopped_; }
  /// Lanes of a warp, or warps of the block by their bits, meet at a statement without all others.
  struct Narrow {
    block::Place at = {};
    Lanes lanes = 0;
    std::uint32_t warps = 0;  ///< 0: lanes meet
    int barrier = -1;
  };
  void note_meeting(int warp, const Narrow& narrow);
  /// Lanes of a warp go on from a meeting: the first ones of it, or others, which may have come to another statement.
  void note_lanes(int warp, const block::Place& at, Lanes lanes, bool is_first);
  /// Lanes of a warp execute a statement that leaves something open.
  void executed(std::int32_t freedom, const Warp& warp, Lanes lanes) const;
  std::int32_t inferred = -1;  ///< of Program::origins, the first product of tensor memory whose arithmetic is
  Printed printed;             ///< by vprintf
  ptx::Checked checked;
  StoredCauses stored_causes;  ///< of its shared memory
  EarlyReads early_reads;      ///< of global memory

  // ---- Barriers (PTX manual, "bar", "barrier")

  enum class Reduction : std::uint8_t { none, count, all, any };
  struct Arrival {
    int barrier;
    std::uint32_t threads;  ///< 0: all of the block
    bool waits = true, is_aligned = true;
    Reduction reduction = Reduction::none;
    Lanes predicate = 0;
  };
  /// Lanes of a warp arrive. A path that waits goes on behind its step when the barrier is complete.
  Next arrive(Warp& warp, Path& path, Lanes lanes, const Arrival& arrival);
  /// A warp arrives at an instruction of its warpgroup; the last of four executes it for all.
  Next meet_group(Warp& warp, Path& path, const Step& step);
  /// A counter that rises.
  std::uint64_t clock() { return ++clock_; }

 private:
  /// A phase of a barrier. Each instruction counts as it is executed, a warp's second one again: an aligned one a whole warp,
  /// others their lanes, and with the last of a warp's lanes those that it never had.
  struct Barrier {
    struct OfWarp {
      Lanes here = 0;           ///< that have arrived
      Lanes part = 0;           ///< those of them that are counted one by one, since all of the warp had
      Lanes deferred = 0;       ///< that wait, and whose order is taken when the barrier is complete
      int arrivals = 0;         ///< that have not waited
      block::Place at = {};     ///< of the last one
      std::uint32_t clock = 0;  ///< of the warp, before the last one
    };
    std::vector<OfWarp> warps;
    std::uint32_t threads = 0;  ///< 0: all of the block
    std::uint32_t arrived = 0;  ///< threads
    Reduction reduction = Reduction::none;
    std::uint32_t predicates = 0, lanes = 0;  ///< those that hold, and how many there are
    block::Knowledge released = {};           ///< by arrivals whose warps go on
    bool in_use = false;
  };
  std::uint32_t expected(std::uint32_t threads) const;
  Lanes lanes_of(std::size_t warp) const;
  std::uint32_t counted(Barrier::OfWarp& of, std::size_t warp, Lanes lanes, bool is_aligned) const;
  bool complete(const Barrier& barrier) const;
  std::optional<Error> misused(const Arrival& arrival) const;
  void order(const Barrier& barrier, int number);
  bool explain_by_waits(Fault& fault) const;
  bool is_of_object(const Fault& fault, std::int64_t object, int warp) const;
  void explain_by_others(Fault& fault) const;
  bool explain_by_early_wait(Fault& fault) const;
  bool explain_by_early_arrival(Fault& fault) const;
  bool explain_by_missing_arrival(Fault& fault) const;
  bool leads_at_once(const block::Place& from, const block::Place& to) const;
  void explain_by_barriers(Fault& fault) const;
  bool explain_by_count(Fault& fault, const FaultSide& waited, const FaultSide& arrived) const;
  // ---- What came between the sides of a race (grid/between.cpp)
  struct Between {
    std::string came;
    FaultSide side;
    std::string must = {};
  };
  bool explain_by_narrow(Fault& fault) const;
  std::optional<Between> exchange_between(const FaultSide& first, const FaultSide& second,
                                          std::string_view both) const;
  std::optional<Between> masked_between(const FaultSide& first, const FaultSide& second,
                                        std::string_view both) const;
  bool has_met_at(int warp, std::int32_t statement) const;
  std::optional<Between> apart_between(const FaultSide& first, const FaultSide& second,
                                       std::string_view both) const;
  std::optional<Between> waiting_between(const FaultSide& first, const FaultSide& second,
                                         std::string_view both) const;
  std::optional<Between> between(const FaultSide& first, const FaultSide& second, std::string_view both) const;
  bool leads(const block::Place& from, const block::Place& to) const;
  bool is_between(const FaultSide& first, const block::Place& at, const FaultSide& second) const;
  std::uint64_t own_shared_bytes() const;
  Fault located(Fault found) const;
  void explain_by_phase(Fault& fault) const;
  void blame_store(Fault& fault) const;
  void end();
  void release(int number, Barrier& barrier);
  void check_ended(int number, const Barrier& barrier);
  Fault after_end(const Warp& warp, const Path& path, int left, KernelRule rule, std::string seen,
                  std::string accepted) const;
  bool is_one_line(const block::Place& x, const block::Place& y) const;
  bool check_step(const Warp& warp, const Path& path);
  void note_apart();
  void note_arrival(Barrier::OfWarp& of, const Warp& warp, const Path& path, Lanes lanes, int number);
  void note_unawaited(int number, const Barrier& barrier);
  void note_phase(int number, const Barrier& barrier);
  bool is_behind_phase(int number, int thread) const;
  bool check_phase(const Warp& warp, const Path& path, Lanes lanes, int number, std::uint32_t threads);
  void check_barriers();
  void report_missing(Warp& warp, const Path& path);
  Fault missing_warp(Warp& warp, const Path& path) const;
  Fault endless(Warp& warp, const Path& path, const std::vector<FaultWaiters>& waiting) const;
  std::string awaited(const Warp& warp, const Path& path, std::span<const Lanes> alive) const;
  std::string awaited(const Barrier& barrier) const;
  std::vector<int> missing_for(const Warp& warp, const Path& path) const;
  // ---- Deadlocks (grid/deadlock.cpp)
  /// How much a wait tells of the cause.
  enum Tells {
    kNothing,    ///< lanes, all threads, a cluster are waited for
    kTest,       ///< a phase
    kElsewhere,  ///< warps wait at two barriers
    kNobody,     ///< nobody has arrived at an object yet
    kLeftOut,    ///< a phase is waited for whose previous one was not
    kLacks,      ///< something that nobody can bring any more
    kResource,   ///< registers, columns
  };
  struct Told {
    Tells tells = kNothing;
    block::Cause cause = {};
    std::vector<FaultSide> related = {};
  };
  std::vector<int> missing_at(const Barrier& barrier) const;
  std::vector<int> unwaited() const;
  std::vector<FaultSide> arrivals_at(int number) const;
  std::vector<int> astray(const Barrier& barrier, int other) const;
  Told told_of(const Barrier& barrier, int number, block::Cause out) const;
  Told told_of_object(Warp& warp, const Path& path, block::Cause out) const;
  Told told_by(Warp& warp, const Path& path) const;
  std::optional<block::Cause> ended_without(std::int64_t object) const;
  std::optional<Told> telling() const;
  int wanted_registers(const Path& path) const;
  FaultSide end_of(int warp) const;

  const Grid& grid_;
  Cluster& cluster_;
  int rank_;
  Extent index_;
  async::Block async_;
  std::optional<RegisterPool> registers_;  // once there is a setmaxnreg
  std::unique_ptr<Products> products_;     // once there are some
  std::optional<Watch> watch_;
  std::vector<std::unique_ptr<Warp>> warps_;
  std::vector<Warp*> turns_;  // the same, in the order of their turns
  std::array<Barrier, 16> barriers_ = {};
  static constexpr std::size_t kNarrow = 4;
  std::vector<std::array<Narrow, kNarrow>> narrow_;  // by warp, the latest first
  std::vector<std::vector<Narrow>> lanes_;           // by warp: who met at its last bar.warp.sync, by statement
  mutable std::map<std::array<int, 2>, bool> leads_;  // of statements that were asked for
  std::vector<std::int32_t> met_at_;  // the last barrier of all: the statement of each warp; -1: it has ended
  std::array<std::map<int, block::Who>, 16> came_;  // by barrier of all threads: who came last, by warp
  /// Arrivals of a warp that have not waited at a barrier that counts threads.
  struct Arrivals {
    std::uint64_t times = 0;
    block::Place last = {};
    int most = 0;  ///< in a phase that was complete before anybody waited for it; the last of them
    block::Who at_most = {};
  };
  std::array<std::map<int, Arrivals>, 16> arrived_;  // by barrier, by warp
  /// A warp in the last complete phase of a barrier. Its clock: behind that phase if it has waited, else at its arrival.
  struct InPhase {
    block::Who who;
    std::uint32_t clock;
    bool has_waited;
  };
  std::array<std::vector<InPhase>, 16> in_phase_;  // by barrier
  /// Phases of all threads in which warps were at different barriers: of a warp and its place, where the others were.
  std::map<std::pair<int, unsigned>, std::map<int, block::Place>> apart_;
  std::optional<Fault> fault_;
  std::uint64_t changes_ = 0;
  std::optional<Fault> stuck_;    // a read of bytes that were never written, if no write comes
  bool waits_for_write_ = false;  // there was such a read
  std::uint64_t turn_of(std::uint64_t longest);
  bool polls_ = false;
  std::optional<Lock> wanted_lock_;
  std::uint64_t steps_ = 0, stop_after_ = grid_.step_limit, clock_ = 0;
  bool stopped_ = false;
  bool moved_ = false;  // some path has gone on behind a barrier
  std::vector<Finding> findings_;
  std::map<std::array<unsigned, 3>, std::size_t> known_;  // findings, by their rule and statements
  block::Who last_{};                                     // the thread that ended last
  std::vector<block::Who> ended_;                         // the same of each warp
};

/// An error whose place has no other name has that of its statement, and both sides have the lines of theirs.
void name_statement(const Program& program, Fault& fault);
void locate(const Program& program, Fault& fault);

}  // namespace warpbit::grid
