// SPDX-License-Identifier: Apache-2.0
#include "grid/timeline.hpp"

#include <algorithm>
#include <array>

#include "grid/cluster.hpp"
#include "grid/steps.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid {
namespace {

using ptx::Awaited, ptx::ReleasedBy, ptx::Wait;

// What a path waits for, if that is more than lanes of its warp, its warpgroup, or its turn.
std::optional<Awaited> awaited_by(const Path& path) {
  if (!path.waits) return std::nullopt;
  switch (path.waits_for) {
    case Waits::test: return Awaited::mbarrier;
    case Waits::cluster: return Awaited::cluster_barrier;
    case Waits::registers: return Awaited::registers;
    case Waits::columns: return Awaited::columns;
    default: return std::nullopt;
  }
}

/// What a step does to groups of asynchronous work.
struct GroupStep {
  enum class Kind : std::uint8_t { begins, commits, waits } kind;
  Awaited of;
  std::uint64_t pending = 0;       ///< groups that a wait leaves
  bool takes_uncommitted = false;  ///< a wait for all that was begun
};

std::optional<GroupStep> group_step(const Program& program, const Step& step) {
  using enum GroupStep::Kind;
  const Run what = steps::what_runs(step);
  const auto pending = static_cast<std::uint64_t>(std::max(step.target, 0));
  if (what == steps::copy_async) return GroupStep{begins, Awaited::copies};
  if (what == steps::commit_group) return GroupStep{commits, Awaited::copies};
  if (what == steps::wait_group) return GroupStep{waits, Awaited::copies, pending, step.target < 0};
  if (what == steps::bulk_commit) return GroupStep{commits, Awaited::bulk_copies};
  if (what == steps::bulk_wait) return GroupStep{waits, Awaited::bulk_copies, pending};
  if (what == steps::bulk) {
    const bool stores =
        program.async.bulks[static_cast<std::size_t>(step.extra)].kind == BulkOperation::Kind::store;
    return stores ? std::optional(GroupStep{begins, Awaited::bulk_copies}) : std::nullopt;
  }
  if (what != steps::tensor && what != steps::control) return std::nullopt;
  const auto& kernel = program.instructions[static_cast<std::size_t>(step.extra)].decoded().kernel;
  if (const auto* const tile = std::get_if<Tile>(&kernel); tile != nullptr && tile->uses_memory())
    return GroupStep{begins, Awaited::products};
  const auto* const of = std::get_if<Control>(&kernel);
  if (of == nullptr) return std::nullopt;
  if (of->control.kind == AsyncControl::Kind::commit_group) return GroupStep{commits, Awaited::products};
  if (of->control.kind == AsyncControl::Kind::wait_group)
    return GroupStep{waits, Awaited::products, of->control.pending};
  return std::nullopt;
}

// What acts where it completes a phase, or a group: a copy or a product that has begun there comes to its end.
ReleasedBy released_by(const ptx::Statement& statement) {
  switch (statement.is->does) {
    case ptx::Does::mbarrier:
    case ptx::Does::barrier:
    case ptx::Does::registers: return ReleasedBy::arrival;
    case ptx::Does::tensor: return ReleasedBy::product;
    case ptx::Does::exit:
    case ptx::Does::ret: return ReleasedBy::end;
    default: return ReleasedBy::copy;
  }
}

// At which statement number what an actor does was complete.
std::uint64_t completed_at(const block::Actor& by) {
  return std::max(by.done, by.number + 1);
}

}  // namespace

TimelineRecorder::TimelineRecorder(const Program& program, const Block& block, int warps)
    : program_(program), block_(block) {
  const Extent at = block.index();
  out_.block = {at[0], at[1], at[2]};
  out_.warps = warps;
}

int TimelineRecorder::line_of(std::int32_t statement) const {
  if (statement < 0) return 0;
  return statement_of(program_.origins[static_cast<std::size_t>(statement)]).position.line;
}

ptx::Release TimelineRecorder::release_of(const block::Actor& by) const {
  const Extent at = block_.cluster().block(static_cast<std::uint64_t>(by.rank))->index();
  ptx::Release out{ReleasedBy::end, {at[0], at[1], at[2]}, by.warp, line_of(by.statement), by.number};
  if (by.statement >= 0)
    out.by = released_by(statement_of(program_.origins[static_cast<std::size_t>(by.statement)]));
  return out;
}

// ---- Groups

block::Actor TimelineRecorder::Groups::wait(std::uint64_t pending) {
  block::Actor out;
  const std::size_t end = committed.size() - std::min<std::uint64_t>(pending, committed.size());
  for (; waited < end; ++waited)
    if (committed[waited].is_known()) out = committed[waited];
  return out;
}

void TimelineRecorder::note_groups(const Step& step, Lanes lanes, const block::Actor& self) {
  const std::optional<GroupStep> what = group_step(program_, step);
  if (!what) return;
  Groups& groups = groups_[{self.warp, what->of}];
  switch (what->kind) {
    case GroupStep::Kind::begins: groups.open = self; break;
    case GroupStep::Kind::commits: groups.commit(); break;
    case GroupStep::Kind::waits:
      if (what->takes_uncommitted) groups.commit();
      if (const block::Actor by = groups.wait(what->pending); by.is_known())
        keep({what->of, self.warp, lanes, line_of(step.statement), false, self.number, self.number, self.number,
              release_of(by)});
  }
}

// Registers and columns of tensor memory that are given back.
void TimelineRecorder::note_gifts(const Step& step, const block::Actor& self) {
  const Run what = steps::what_runs(step);
  if (what == steps::set_registers && step.extra == 0) gave_registers_ = self;
  if (what != steps::tensor_memory) return;
  const auto* const action =
      std::get_if<TensorAction>(&program_.instructions[static_cast<std::size_t>(step.extra)].decoded().kernel);
  const auto* const allocation = action == nullptr ? nullptr : std::get_if<tensor::Allocation>(&action->what);
  if (allocation != nullptr && allocation->kind == tensor::Allocation::Kind::deallocate) gave_columns_ = self;
}

// ---- Waits

void TimelineRecorder::keep(const Wait& wait) {
  if (is_full_) return;
  out_.waits.push_back(wait);
  is_full_ = out_.waits.size() == ptx::Timeline::kMost;
}

void TimelineRecorder::wait(const Warp& warp, const Path& path, const Step& step) {
  const std::optional<Awaited> what = awaited_by(path);
  if (!what || is_full_) return;
  const auto is_known = [&](const Wait& one) {
    return one.warp == warp.number() && one.what == *what && (one.lanes & path.lanes) != 0;
  };
  if (std::ranges::any_of(open_, is_known)) return;
  open_.push_back(
      {*what, warp.number(), path.lanes, line_of(step.statement), true, out_.statements, 0, {}, {}});
}

void TimelineRecorder::depend(const block::Actor& by) {
  if (by.is_known() && (!depends_.is_known() || completed_at(by) >= completed_at(depends_))) depends_ = by;
}

void TimelineRecorder::release(int warp, Lanes lanes, const block::Actor& by) {
  for (Wait& one : open_) {
    if (one.warp != warp || one.what != Awaited::barrier || (one.lanes & lanes) == 0 || one.by) continue;
    if (by.is_known()) one.by = release_of(by);
    one.released = std::max(one.from, completed_at(by));
  }
}

// Lanes go on with this statement, for which they have waited, or behind a barrier.
void TimelineRecorder::close(int warp, const Step& step, Lanes lanes, std::uint64_t number) {
  bool waited = false;
  for (Wait& one : open_) {
    if (one.warp != warp || (one.lanes & lanes) == 0) continue;
    one.to = number;
    if (one.what == Awaited::barrier) continue;
    waited = true;
    if (one.what == Awaited::registers) depends_ = gave_registers_;
    if (one.what == Awaited::columns) depends_ = gave_columns_;
    one.released = number;
    if (!depends_.is_known()) continue;
    one.by = release_of(depends_);
    if (one.what == Awaited::columns) one.by->by = ReleasedBy::arrival;
    one.released = std::clamp(completed_at(depends_), one.from, number);
  }
  std::erase_if(open_, [&](const Wait& one) {
    if (one.to) keep(one);
    return one.to.has_value();
  });
  if (waited || !depends_.is_known()) return;
  const Awaited what =
      steps::what_runs(step) == steps::cluster_wait ? Awaited::cluster_barrier : Awaited::mbarrier;
  const ptx::Release by = release_of(depends_);
  const bool is_own = by.warp == warp && by.block == out_.block && by.by == ReleasedBy::arrival;
  if (!is_own) keep({what, warp, lanes, line_of(step.statement), false, number, number, number, by});
}

// ---- Statements

void TimelineRecorder::extend_runs(int warp, int line) {
  if (is_full_) return;
  if (out_.runs.empty() || out_.runs.back().warp != warp) {
    if (out_.runs.size() == ptx::Timeline::kMost) {
      is_full_ = true;
      return;
    }
    out_.runs.push_back({warp, out_.statements, 0, line, line});
  }
  ++out_.runs.back().count;
  out_.runs.back().last_line = line;
  ++out_.covered;
}

void TimelineRecorder::execute(const Warp& warp, const Path& path, const Step& step, Lanes lanes, bool waits) {
  const int number = warp.number(), line = line_of(step.statement);
  const block::Actor self{block_.rank(), number, step.statement, out_.statements};
  close(number, step, path.lanes, out_.statements);
  if (lanes != 0) note_groups(step, lanes, self), note_gifts(step, self);
  extend_runs(number, line);
  ++out_.statements;
  if (waits && !is_full_ && steps::what_runs(step) == steps::barrier)
    open_.push_back({Awaited::barrier, number, lanes, line, true, out_.statements, 0, {}, {}});
}

ptx::Timeline TimelineRecorder::timeline() const {
  ptx::Timeline out = out_;
  for (Wait one : open_) {
    if (!one.by) one.released = out.statements;
    out.waits.push_back(one);
  }
  return out;
}

}  // namespace warpbit::grid
