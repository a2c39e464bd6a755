// SPDX-License-Identifier: Apache-2.0
// A warp of a block: its registers, and the paths that its lanes take. Lanes that are at the same step of the same call
// are one path. The path with the deepest call and the lowest step goes first, so that lanes meet again where their ways
// join; a path that jumps back very often lets the others go on (a lane may wait for another one of its warp).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grid/locks.hpp"
#include "grid/program.hpp"
#include "grid/registers.hpp"
#include "grid/undefined.hpp"
#include "warpbit/fault.hpp"

namespace warpbit::grid {

class Block;
class Watch;

/// What a call comes back to.
struct Return {
  int step;
  const Call* call;
  std::uint32_t frame, predicates;
  std::int64_t local;
  int function, stack;
  friend bool operator==(const Return&, const Return&) = default;
};

/// What a path waits for that others do, but for lanes of its warp.
enum class Waits : std::uint8_t {
  none,
  barrier,    ///< one of the block's sixteen
  warpgroup,  ///< the three other warps
  test,       ///< a phase of a barrier object
  turn,       ///< that those go on whose phase of a barrier object is complete
  cluster,    ///< barrier.cluster
  registers,  ///< setmaxnreg
  columns,    ///< of tensor memory
};

/// Lanes that execute an instruction together at several places of the program, the first source of each, and the undefined bits
/// of that.
struct Met {
  Lanes lanes = 0;
  std::array<Lanes, kLanes> mask = {};  ///< as each of them names it, but for lanes that have ended
  std::array<std::uint64_t, kLanes> value = {}, undefined = {},
                                    unknown = {};  ///< of the latter two: undefined.hpp
};

struct Path {
  int pc = 0;
  Lanes lanes = 0;
  int function = 0;
  std::uint32_t frame = 0, predicates = 0;  ///< where the registers of its function begin
  std::int64_t local = 0;                   ///< where its local memory begins
  std::vector<Return> calls = {};
  int stack = 0;  ///< the number of these calls in Program::stacks
  bool waits = false;
  Waits waits_for = Waits::none;
  int barrier = -1;               ///< at which it waits
  std::int64_t awaited = 0;       ///< the barrier object that it tests; how many columns
  std::uint64_t waits_since = 0;  ///< Cluster::events when it began to wait
  bool gives_up = false;          ///< its test may fail now
  int early_answers = 0;          ///< tests that have failed since the last one that did not
  Lanes seen = 0;              ///< lanes whose phase was complete, while their test waits for those of others
  Lanes needs = 0;             ///< lanes without which its step cannot be done, while it waits for them
  Lanes mask = 0;              ///< those that its step's masks name, then; 0 of a step of the whole warp
  Lanes passed = 0;            ///< lanes that were elsewhere meanwhile, and not about to end
  std::int32_t passed_at = 0;  ///< the step at which some of them were
  std::shared_ptr<const Met> met = {};  ///< its lanes have met others, and do their step with what these had
  bool rests = false;                   ///< it has jumped back too often; the others go first
  int jumps_back = 0;
  int last_jump_back = -1;  ///< the step of its last jump back
  int last_branch = -1;     ///< the same forwards
  int overtaken_by =
      -1;  ///< the step at `pc` and others come late: what else is there up to this one is done (overtakes.hpp)

  bool is_with(const Path& other) const {
    return pc == other.pc && frame == other.frame && calls == other.calls && !met && !other.met &&
           overtaken_by == other.overtaken_by;
  }
};

/// Bytes of local memory that a lane has for frames, and as many for alloca.
inline constexpr std::int64_t kLocalBytes = 512 * 1024, kStack = kLocalBytes, kStackEnd = 2 * kLocalBytes;

enum class Outcome : std::uint8_t { ended, waits, yields, pauses, fault };

/// Whether what repeats itself does so for ever: it is where it was, and nothing has changed since. It is compared with one
/// state of the past, as in Brent's algorithm, so a cycle may have any length.
class Repetition {
 public:
  /// `changes`: a count of all that may let it leave the cycle.
  void pass(std::uint64_t state, std::uint64_t changes);
  bool is_endless(std::uint64_t changes) const { return repeats_ && changes == changes_; }

 private:
  std::uint64_t state_ = 0, changes_ = 0, passed_ = 0, until_next_ = 0;
  bool repeats_ = false;
};

class Warp {
 public:
  Warp(Block& block, const Program& program, int number, Lanes lanes);

  /// Runs until all lanes have ended or wait, or paths only jump back.
  Outcome run();
  /// Whether all paths wait, or do the same for ever as long as nothing else changes.
  bool is_stuck() const;
  /// Whether a path is in a loop that nothing leaves, and all others are, too, or wait.
  bool is_endless() const;
  /// Lanes that have not ended.
  Lanes alive() const;
  /// Whether nothing comes for a path but jumps and the end.
  bool is_about_to_end(const Path& path) const { return path.calls.empty() && ends_from(path.pc); }
  /// The site of the branch by which all of its lanes went straight to their end; -1: there is none, or not one alone.
  std::int32_t left_by() const;
  /// The site of the branch by which a lane that has ended went straight to its end, or else of its end.
  std::int32_t left_at(int lane) const {
    const auto at = static_cast<std::size_t>(lane);
    return left_by_[at] >= 0 ? left_by_[at] : ended_at_[at];
  }
  int number() const { return number_; }
  /// Its number among all warps of the cluster, as block::Order counts them.
  int number_in_cluster() const { return first_ + number_; }
  Block& block() { return block_; }
  const Program& program() const { return program_; }
  /// The site (Stacks) of a step of the path that runs.
  std::int32_t site(const Step& step) const { return site(step, running_stack_); }
  std::int32_t site(const Step& step, int stack) const {
    if (step.statement < 0) return step.statement;
    return stack * static_cast<std::int32_t>(program_.origins.size()) + step.statement;
  }
  /// The site at which a lane has ended.
  std::int32_t ended_at(int lane) const { return ended_at_[static_cast<std::size_t>(lane)]; }
  std::vector<Path>& paths() { return paths_; }
  Undefined& undefined() { return undefined_; }
  /// That its lanes hold.
  HeldLocks& locks() { return locks_; }
  /// As many registers as this warp has.
  void reserve_masks(RegisterFile& masks) const { masks.reserve(registers_.slots(), registers_.predicates()); }
  /// Executes a step that only moves bits on the undefined ones instead of the values; those of constants are none.
  void move_masks(RegisterFile& masks, Path& path, const Step& step, Lanes lanes);

  // ---- For steps

  std::uint32_t* at(const Path& path, const Place& place) {
    return place.kind == Place::Kind::constant ? constants_.slot(place.slot)
                                               : registers_.slot(path.frame + place.slot);
  }
  /// The lanes for which a predicate holds.
  Lanes holds(const Path& path, const Place& place) {
    const Lanes value = registers_.predicate(path.predicates + place.slot);
    return place.negated ? ~value : value;
  }
  void set(const Path& path, const Place& place, Lanes lanes, Lanes value) {
    std::uint32_t& to = registers_.predicate(path.predicates + place.slot);
    to = (to & ~lanes) | (value & lanes);
  }
  /// A register of one lane; a predicate is 0 or 1. Of 128 bits, the lower half.
  std::uint64_t read(const Path& path, const Place& place, int lane);
  void write(const Path& path, const Place& place, int lane, std::uint64_t value);

  /// Lanes of the path go to another step, the rest to the one that follows.
  Next branch(Path& path, Lanes lanes, int step);
  /// Lanes of the path call a function of the program; the rest goes on behind the call.
  Next call(Path& path, const Call& call, int function, Lanes lanes);
  /// Lanes of the path return; from the kernel they end.
  Next go_back(Path& path, Lanes lanes);
  Next end(Path& path, Lanes lanes);
  /// Another path, which is joined with the others before the next one is chosen.
  void split(Path path) { split_.push_back(std::move(path)); }
  /// Lanes of the path wait until something happens; then they do the same step again.
  Next wait_for(Path& path, Lanes lanes, Waits what);
  /// Paths that have waited for what happens in the cluster go on.
  void wake(std::uint64_t events);
  /// Only these lanes of the path are at its step any more; the rest is behind it.
  void keep(Path& path, Lanes lanes);
  Next fault(const Path& path, Lanes lanes, Error error);
  /// What a step has written to a place is no value. From now on the warp follows which registers have one.
  void forget(const Path& path, const Place& place, Lanes lanes);
  /// Whether a step may do so many others behind it, too: nobody watches them, and no limit is near.
  bool can_skip(int steps) const;
  /// It has done so.
  void skip(Path& path, int steps);
  /// Bytes of a lane's local memory, from the beginning of all frames; nullptr if there are not as many.
  std::byte* local(int lane, std::int64_t at, std::int64_t bytes);
  /// The bits of such bytes that have been written. Precondition: `local` has returned the bytes.
  std::byte* defined(int lane, std::int64_t at, std::int64_t bytes);
  /// Where a byte of a frame is in a lane's local memory; -1: it is none.
  std::int64_t local_at(int lane, const std::byte* byte) const;
  /// Where the next bytes of alloca are in a lane's local memory: from kStack on.
  std::int64_t& stack(int lane) { return stack_[static_cast<std::size_t>(lane)]; }
  /// Lanes meet at a step that orders no memory (block::Order::meet).
  void meet(Lanes lanes);

 private:
  static constexpr std::int32_t kNever = -2;
  bool ends_from(int pc) const;
  Path* choose();
  void are_together(Lanes lanes);
  int turn_of_another(const Path& path) const;
  void join();
  Next stop_before_step(const Path& path);
  const Step& step_at(int pc) const { return program_.steps[static_cast<std::size_t>(pc)]; }
  Lanes guarded(const Path& path, const Step& step);
  Next do_step(Path& path, const Step& step);
  template <bool kInTurns>
  Next run_path(Path& path);
  bool is_apart(const Path& path, const Step& load, Lanes lanes);
  bool note_overtake(const Path& path, const Step& load, Lanes lanes);
  Next overtake(Path& path);
  Next run_watched(Path& path, const Step& step, Lanes lanes);
  std::uint64_t digest() const;
  /// Where the registers of a function begin that a path calls. Its list of calls has this one; all else is still the caller's.
  std::uint32_t frame_of_callee(const Path& path, int function) const;
  void copy_local(int lane, std::int64_t to, std::int64_t from, std::int64_t bytes);
  bool does_again(const Path& path, Next next) const;
  Next run_followed(Path& path, const Step& step, Lanes lanes);

  Block& block_;
  const Program& program_;
  Watch* watch_;  // of the block, or nullptr
  int number_, first_;
  int jumps_back_;         // rounds of a loop before the other paths go first
  int running_stack_ = 0;  // of the path that runs, or ran last
  RegisterFile registers_, constants_;
  std::array<std::int32_t, kLanes> ended_at_;  // of lanes that have ended, their sites
  std::array<std::int32_t, kLanes> left_by_;   // likewise; -1: by no branch
  std::vector<Path> paths_, split_;
  std::vector<std::vector<std::byte>> local_, allocated_;  // by lane: frames, what alloca has made
  std::vector<std::vector<std::byte>> local_defined_,
      allocated_defined_;  // the same, if checked: bits that are written
  std::array<std::int64_t, kLanes> stack_;
  Undefined undefined_;
  HeldLocks locks_;
  Repetition repetition_;
};

}  // namespace warpbit::grid
