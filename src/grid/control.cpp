// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <utility>

#include "api/checks.hpp"
#include "grid/block.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {

Next need_all(Warp& warp, Path& path, Lanes lanes) {
  path.needs = kAllLanes;
  path.mask = 0;
  const Lanes missing = ~lanes;
  if ((warp.alive() & missing) != 0) return Next::wait;
  const Extent& n = warp.block().grid().threads;
  const std::uint64_t threads = std::uint64_t{n[0]} * n[1] * n[2],
                      first = static_cast<std::uint64_t>(warp.number()) * kLanes;
  const Lanes never = threads - first >= kLanes ? 0 : kAllLanes << (threads - first);
  Fault out = block::fault_of(
      Block::who(warp, path),
      {Errc::lanes_missing,
       {},
       missing == never ? fmt::format("the block has {} threads, so {} {} not there", threads,
                                      block::lanes_text(missing), std::has_single_bit(missing) ? "is" : "are")
                        : fmt::format("{} {} ended", block::lanes_text(missing),
                                      std::has_single_bit(missing) ? "has" : "have"),
       "all lanes of the warp must execute it"});
  out.lanes = block::lanes_of(lanes);
  for (Lanes rest = missing & ~never, together; rest != 0; rest &= ~together) {
    const std::int32_t at = warp.ended_at(std::countr_zero(rest));
    together = 0;
    for_each_lane(rest, [&](int lane) { together |= Lanes{warp.ended_at(lane) == at} << lane; });
    FaultSide& side = out.related.emplace_back(
        block::side_of({warp.number_in_cluster() * kLanes, Block::place(at)}, "here they ended"));
    side.lanes = block::lanes_of(together);
  }
  warp.block().fault(std::move(out));
  return Next::end;
}

Next nothing(Warp&, Path&, const Step&, Lanes) {
  return Next::step;
}

Next branch(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  return warp.branch(path, lanes, step.target);
}

// Lanes of one target are one path; those beyond the table have none.
Next branch_indexed(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<std::int32_t>& table = warp.program().tables[static_cast<std::size_t>(step.extra)];
  const int lane = std::countr_zero(lanes);
  const std::uint64_t index = warp.read(path, step.place[2], lane);
  if (index >= table.size())
    return warp.fault(path, Lanes{1} << lane,
                      {Errc::undefined_operand,
                       {},
                       fmt::format("index {}", index),
                       fmt::format("0 to {}, as the table has {} targets", table.size() - 1, table.size())});
  Lanes same = 0;
  for (int i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0 && warp.read(path, step.place[2], i) == index) same |= Lanes{1} << i;
  if (same != lanes) {  // the others are at this step again, without those that its guard leaves out
    Path others = path;
    others.lanes = path.lanes & ~same;
    warp.split(std::move(others));
    path.lanes = same;
  }
  return warp.branch(path, same, table[static_cast<std::size_t>(index)]);
}

namespace {

// Whether what a call copies is what the function declares.
bool fits(const Call& call, const FunctionCode& callee) {
  const auto fit = [](const std::vector<Call::Copy>& copies, const std::deque<ptx::Variable>& declared) {
    return std::ranges::equal(copies, declared, [](const Call::Copy& copy, const ptx::Variable& one) {
      return one.space == ptx::StateSpace::param && one.bytes == copy.bytes;
    });
  };
  return fit(call.arguments, callee.function->parameters) && fit(call.results, callee.function->returns);
}

}  // namespace

Next call(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Call& call = warp.program().calls[static_cast<std::size_t>(step.extra)];
  if (call.function >= 0) return warp.call(path, call, call.function, lanes);
  // By address (function_address).
  const int lane = std::countr_zero(lanes);
  const std::uint64_t address = warp.read(path, step.place[2], lane);
  const std::uint64_t number = address / 16 - 1;
  const std::vector<std::int32_t>& function_of = warp.program().function_of;
  if (address % 16 != 0 || number >= function_of.size() || function_of[number] < 0)
    return warp.fault(path, Lanes{1} << lane,
                      {Errc::undefined_operand,
                       {},
                       fmt::format("a call of {:#x}", address),
                       "the address of a function that the kernel names"});
  const FunctionCode& callee = warp.program().functions[static_cast<std::size_t>(function_of[number])];
  if (!fits(call, callee))
    return warp.fault(path, Lanes{1} << lane,
                      {Errc::argument_mismatch,
                       {},
                       fmt::format("arguments and results that '{}' does not have", callee.function->name),
                       "as many .param variables as it declares, each as large"});
  Lanes same = 0;
  for (int i = 0; i < kLanes; ++i)
    if ((lanes >> i & 1) != 0 && warp.read(path, step.place[2], i) == address) same |= Lanes{1} << i;
  if (same != lanes) {
    Path others = path;
    others.lanes = path.lanes & ~same;
    warp.split(std::move(others));
    path.lanes = same;
  }
  return warp.call(path, call, function_of[number], same);
}

Next go_back(Warp& warp, Path& path, const Step&, Lanes lanes) {
  return warp.go_back(path, lanes);
}
Next exit(Warp& warp, Path& path, const Step&, Lanes lanes) {
  return warp.end(path, lanes);
}
Next trap(Warp& warp, Path& path, const Step&, Lanes lanes) {
  return warp.fault(path, lanes, {Errc::trap, {}, {}, {}});
}

namespace {

// Lanes that execute a step alone, although others of their warp have passed by, and ended elsewhere.
block::Found left_out(Warp& warp, const Path& path, const Step& step, Lanes lanes, Lanes without) {
  Fault out = block::fault_of(
      Block::who(warp, step, 0),
      {Errc::threads_diverge,
       {},
       fmt::format("lanes {} of warp {} execute it, and lanes {}, which had not ended, did not execute it",
                   ranges(block::lanes_of(lanes)), warp.number(), ranges(block::lanes_of(without))),
       "all lanes of a warp that have not ended must execute what is .aligned (as bar.sync is), or it must be the "
       "form without .aligned (barrier.sync), which counts only the threads that execute it"},
      KernelRule::aligned_by_lanes);
  out.lanes = block::lanes_of(lanes);
  const Step& there = warp.program().steps[static_cast<std::size_t>(path.passed_at)];
  out.other = block::side_of_warp(Block::who(warp, there, 0), "here they were meanwhile");
  out.other->lanes = block::lanes_of(without);
  return out;
}

}  // namespace

// Lanes that are about to end may do so before the others come. Those that the guard leaves out go on behind the step.
Next meet_aligned(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (lanes != warp.alive()) {
    const auto pass = [&](const Path& other, Lanes more) {
      if (more == 0) return;
      path.passed |= more;
      path.passed_at = other.pc;
    };
    for (const Path& other : warp.paths())
      if (&other != &path && !warp.is_about_to_end(other)) pass(other, other.lanes);
    Path others = path;
    ++others.pc;
    if (!warp.is_about_to_end(others)) pass(others, path.lanes & ~lanes);
    warp.keep(path, lanes);
    path.needs = warp.alive();
    path.mask = 0;
    return Next::wait;
  }
  const Lanes without = std::exchange(path.passed, 0) & ~lanes;
  if (without == 0 || warp.block().allows(left_out(warp, path, step, lanes, without))) return Next::step;
  return Next::end;
}

namespace {

// Those whose register has a value.
Lanes lanes_with(Warp& warp, const Path& path, const Place& place, std::uint64_t value) {
  const std::uint32_t* const slot = warp.at(path, place);
  Lanes out = 0;
  for (int lane = 0; lane < kLanes; ++lane) out |= Lanes{lane_bits(slot, place.bits, lane) == value} << lane;
  return out;
}

}  // namespace

Next barrier(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if ((step.target & kAligned) != 0)
    if (const Next next = meet_aligned(warp, path, step, lanes); next != Next::step) return next;
  const int first = std::countr_zero(lanes);
  const std::uint64_t number = warp.read(path, step.place[2], first),
                      threads = step.place[3].exists() ? warp.read(path, step.place[3], first) : 0;
  const Lanes same = lanes & lanes_with(warp, path, step.place[2], number) &
                     (step.place[3].exists() ? lanes_with(warp, path, step.place[3], threads) : kAllLanes);
  if (same != lanes && (step.target & kAligned) != 0)
    return warp.fault(path, lanes & ~same,
                      {Errc::barrier_misused,
                       {},
                       "lanes of a warp give different barriers or counts",
                       "they must give the same, since it is aligned"});
  if (same != lanes) {  // the others are at this step again
    Path others = path;
    others.lanes = path.lanes & ~same;
    warp.split(std::move(others));
    path.lanes = lanes = same;
  }
  if (number > 15)
    return warp.fault(
        path, lanes,
        {Errc::barrier_misused, {}, fmt::format("barrier {}", number), "a block has barriers 0 to 15"});
  if (threads % kLanes != 0)
    return warp.fault(path, lanes,
                      {Errc::barrier_misused,
                       {},
                       fmt::format("a count of {} threads", threads),
                       "it must be a multiple of 32"});
  Lanes predicate = 0;
  if (step.place[4].exists())
    for (int i = 0; i < kLanes; ++i) predicate |= Lanes{warp.read(path, step.place[4], i) != 0} << i;
  return warp.block().arrive(
      warp, path, lanes,
      {static_cast<int>(number), static_cast<std::uint32_t>(threads), (step.target & kWaits) != 0,
       (step.target & kAligned) != 0, static_cast<Block::Reduction>(step.access.count), predicate});
}

}  // namespace warpbit::grid::steps
