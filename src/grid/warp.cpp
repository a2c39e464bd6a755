// SPDX-License-Identifier: Apache-2.0
#include "grid/warp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "grid/cluster.hpp"
#include "grid/steps.hpp"
#include "threads.hpp"

namespace warpbit::grid {
namespace {

/// Rounds of a loop before the others go first; few of one that waits for them, or where all take turns anyway.
constexpr int kJumpsBack = 2000, kFewJumpsBack = 64;

}  // namespace

Warp::Warp(Block& block, const Program& program, int number, Lanes lanes)
    : block_(block),
      program_(program),
      watch_(block.watch()),
      number_(number),
      first_(block.accesses().first_warp()),
      jumps_back_(block.grid().schedule == nullptr ? kJumpsBack : kFewJumpsBack),
      local_(kLanes),
      allocated_(kLanes),
      local_defined_(kLanes),
      allocated_defined_(kLanes),
      undefined_(*this) {
  stack_.fill(kStack);
  left_by_.fill(kNever);
  const FunctionCode& entry = program.functions[static_cast<std::size_t>(program.entry)];
  registers_.reserve(static_cast<std::uint32_t>(entry.slots), static_cast<std::uint32_t>(entry.predicates));
  constants_.reserve(static_cast<std::uint32_t>(program.constant_slots), 0);
  for (const ConstantSlot& constant : program.constants) {
    const Place place{Place::Kind::constant, static_cast<std::uint8_t>(constant.bits), false, constant.slot};
    Path none;
    for (int lane = 0; lane < kLanes; ++lane) {
      write(none, place, lane,
            constant.special ? block.special(*constant.special, number, lane)
                             : constant.value + (constant.in_shared ? block.shared_base() : 0));
      if (constant.bits == 128) {
        const Place upper{Place::Kind::constant, 64, false, constant.slot + 2};
        write(none, upper, lane, constant.upper);
      }
    }
  }
  Path path;
  path.pc = entry.first_step;
  path.lanes = lanes;
  path.function = program.entry;
  undefined_.enter(path, entry, kAllLanes);
  paths_.push_back(std::move(path));
}

Lanes Warp::alive() const {
  Lanes out = 0;
  for (const Path& path : paths_) out |= path.lanes;
  for (const Path& path : split_) out |= path.lanes;
  return out;
}

bool Warp::ends_from(int pc) const {
  constexpr int kMostJumps = 16;
  for (int jumps = 0; jumps < kMostJumps; ++jumps) {
    const Step& step = program_.steps[static_cast<std::size_t>(pc)];
    const Run what = steps::what_runs(step);
    if (step.guard >= 0) return false;
    if (what == steps::exit || what == steps::go_back) return true;
    if (what != steps::branch) return false;
    pc = step.target;
  }
  return false;
}

// ---- Registers

std::uint64_t Warp::read(const Path& path, const Place& place, int lane) {
  if (place.kind == Place::Kind::predicate) return holds(path, place) >> lane & 1;
  return lane_bits(at(path, place), place.bits, lane);
}
void Warp::write(const Path& path, const Place& place, int lane, std::uint64_t value) {
  if (place.kind == Place::Kind::none) return;
  if (place.kind == Place::Kind::predicate)
    return set(path, place, Lanes{1} << lane, (value & 1) != 0 ? kAllLanes : 0);
  set_lane_bits(at(path, place), place.bits, lane, value);
}

// ---- Control flow

Next Warp::branch(Path& path, Lanes lanes, int step) {
  if (step <= path.pc) {
    path.last_jump_back = path.pc;
    if (++path.jumps_back > (step_at(path.pc).access.polls ? kFewJumpsBack : jumps_back_)) {
      path.jumps_back = 0;
      path.rests = true;
    }
  } else {
    path.last_branch = path.pc;
  }
  if (lanes != path.lanes) {
    Path rest = path;
    rest.lanes &= ~lanes;
    rest.seen = 0;
    ++rest.pc;
    path.lanes = lanes;
    are_together(rest.lanes);
    are_together(lanes);
    split_.push_back(std::move(rest));
  }
  path.pc = step;
  return Next::moved;
}

void Warp::keep(Path& path, Lanes lanes) {
  if (lanes == path.lanes) return;
  const int pc = path.pc;
  branch(path, lanes, pc);
  path.jumps_back = 0;
}

Next Warp::wait_for(Path& path, Lanes lanes, Waits what) {
  keep(path, lanes);
  path.waits = true;
  path.waits_for = what;
  path.waits_since = block_.async().cluster.events();
  return Next::wait;
}

void Warp::wake(std::uint64_t events) {
  for (Path& path : paths_) {
    const bool by_events = path.waits_for == Waits::test || path.waits_for == Waits::turn ||
                           path.waits_for == Waits::cluster || path.waits_for == Waits::registers ||
                           path.waits_for == Waits::columns;
    if (!by_events || path.waits_since == events) continue;
    path.waits_for = Waits::none;
    path.waits = false;
  }
}

Next Warp::end(Path& path, Lanes lanes) {
  keep(path, lanes);
  path.lanes = 0;
  for (Path& other : paths_)  // those that wait for the lanes that have ended
    if (other.waits_for == Waits::none) other.waits = false;
  block_.async().cluster.happened();
  const Step& step = program_.steps[static_cast<std::size_t>(path.pc)];
  for_each_lane(lanes, [&](int lane) { ended_at_[static_cast<std::size_t>(lane)] = site(step); });
  const Step* const by =
      path.last_branch < 0 ? nullptr : &program_.steps[static_cast<std::size_t>(path.last_branch)];
  const bool is_straight =
      by != nullptr && path.calls.empty() && by->target > path.last_branch && ends_from(by->target);
  for_each_lane(lanes,
                [&](int lane) { left_by_[static_cast<std::size_t>(lane)] = is_straight ? site(*by) : -1; });
  block_.ends(*this, Block::who(*this, step, std::countr_zero(lanes)));
  steps::end_copies(*this, step, lanes);
  return Next::end;
}

std::int32_t Warp::left_by() const {
  std::int32_t out = kNever;
  for (const std::int32_t one : left_by_)
    if (one != kNever) out = out == kNever || out == one ? one : -1;
  return out;
}

Next Warp::fault(const Path& path, Lanes lanes, Error error) {
  block_.fault(*this, path, lanes, std::move(error));
  return Next::end;
}

bool Warp::can_skip(int steps) const {
  return watch_ == nullptr && !undefined_.active() && block_.may_skip(static_cast<std::uint64_t>(steps));
}
void Warp::skip(Path& path, int steps) {
  path.pc += steps;
  block_.skip(static_cast<std::uint64_t>(steps));
}

// ---- Paths

void Warp::are_together(Lanes lanes) {
  if (block_.checks()) block_.accesses().order().path(number_in_cluster(), lanes);
}

void Warp::meet(Lanes lanes) {
  if (block_.checks()) block_.accesses().order().meet(number_in_cluster(), lanes);
}

// The new ones among the others; those without lanes leave, those at one place become one.
void Warp::join() {
  for (Path& path : split_) paths_.push_back(std::move(path));
  split_.clear();
  std::erase_if(paths_, [](const Path& path) { return path.lanes == 0; });
  for (std::size_t i = 0; i < paths_.size(); ++i)
    for (std::size_t j = i + 1; j < paths_.size();) {
      if (!paths_[i].is_with(paths_[j]) || paths_[i].waits_for != Waits::none ||
          paths_[j].waits_for != Waits::none) {
        ++j;
        continue;
      }
      paths_[i].lanes |= paths_[j].lanes;
      paths_[i].seen |= paths_[j].seen;
      are_together(paths_[i].lanes);
      paths_[i].waits = false;
      paths_[i].rests = paths_[i].rests && paths_[j].rests;
      paths_.erase(paths_.begin() + static_cast<std::ptrdiff_t>(j));
    }
}

// The deepest call first, then the lowest step.
Path* Warp::choose() {
  Path* out = nullptr;
  for (Path& path : paths_) {
    if (path.waits || path.rests) continue;
    const bool first = out == nullptr || path.calls.size() > out->calls.size() ||
                       (path.calls.size() == out->calls.size() && path.pc < out->pc);
    if (first) out = &path;
  }
  return out;
}

// The lowest step after this path's at which another one is, waiting or not, with which it could join.
int Warp::turn_of_another(const Path& path) const {
  int out = std::numeric_limits<int>::max();
  for (const Path& other : paths_)
    if (&other != &path && other.pc > path.pc && other.frame == path.frame) out = std::min(out, other.pc);
  return out;
}

// Whether a path does its step again: it waits for lanes, or for bytes to be written. Behind a barrier it goes on.
bool Warp::does_again(const Path& path, Next next) const {
  if (next == Next::wait) return path.waits_for != Waits::barrier && path.waits_for != Waits::warpgroup;
  return next == Next::again || (next == Next::end && path.lanes != 0 && !block_.has_fault());
}

Next Warp::run_watched(Path& path, const Step& step, Lanes lanes) {
  const Path before = path;
  watch_->before(*this, before, step, lanes);
  const Next next = lanes == 0 ? Next::step : step.run(*this, path, step, lanes);
  if (does_again(path, next))
    watch_->wait(*this, path, step);
  else if (!watch_->after(*this, before, step, lanes, next == Next::wait))
    return block_.stop(), Next::end;
  return next;
}

// A step of a warp with undefined bits.
Next Warp::run_followed(Path& path, const Step& step, Lanes lanes) {
  undefined_.arrive(path);
  if (step.guard >= 0) {
    if (!undefined_.check_guard(path, step, path.lanes)) return Next::end;
  }
  if (lanes == 0 && watch_ == nullptr) return Next::step;
  if (lanes != 0 && !undefined_.follow(path, step, lanes)) return Next::end;
  const Next next = watch_ != nullptr ? run_watched(path, step, lanes) : step.run(*this, path, step, lanes);
  if (lanes != 0 && !does_again(path, next)) undefined_.commit();
  return next;
}

// The turn of the warp is over, or the launch has taken too many steps.
Next Warp::stop_before_step(const Path& path) {
  if (block_.pauses()) return Next::pause;
  return fault(
      path, path.lanes,
      {Errc::step_limit,
       {},
       fmt::format("the warps of the block have executed {} statements (steps), the limit of this launch",
                   block_.grid().step_limit),
       "end the loop, or raise the limit (--step-limit; in Python and C++ step_limit)"});
}

Lanes Warp::guarded(const Path& path, const Step& step) {
  if (step.guard < 0) return path.lanes;
  const Lanes value = registers_.predicate(path.predicates + static_cast<std::uint32_t>(step.guard));
  return path.lanes & (step.guard_negated ? ~value : value);
}

inline Next Warp::do_step(Path& path, const Step& step) {
  const Lanes lanes = guarded(path, step);
  if (step.changes && lanes != 0) block_.changed();
  return undefined_.active() ? run_followed(path, step, lanes)
         : watch_ != nullptr ? run_watched(path, step, lanes)
         : lanes == 0        ? Next::step
                             : step.run(*this, path, step, lanes);
}

template <bool kInTurns>
Next Warp::run_path(Path& path) {
  const int turn = turn_of_another(path);
  running_stack_ = path.stack;
  while (true) {
    if (block_.must_stop()) return stop_before_step(path);
    const Step& step = step_at(path.pc);
    const Next next = kInTurns && step.access.may_be_late ? overtake(path) : do_step(path, step);
    if (next != Next::step) return next;
    if (++path.pc >= turn) return Next::moved;
  }
}

Outcome Warp::run() {
  while (true) {
    end_if(block_.grid().stop);
    join();
    if (paths_.empty()) return Outcome::ended;
    Path* path = choose();
    if (path == nullptr) {
      bool rested = false;
      for (Path& one : paths_) {
        if (!std::exchange(one.rests, false)) continue;
        rested = true;
        if (one.last_jump_back >= 0 && step_at(one.last_jump_back).access.polls) block_.polls();
      }
      if (rested) repetition_.pass(digest(), block_.changes());
      return rested ? Outcome::yields : Outcome::waits;
    }
    const Next next = block_.grid().schedule == nullptr ? run_path<false>(*path) : run_path<true>(*path);
    if (block_.has_fault()) return Outcome::fault;
    if (next == Next::pause) return Outcome::pauses;
    if (next == Next::wait || (next == Next::end && path->lanes != 0)) path->waits = true;
  }
}

}  // namespace warpbit::grid
