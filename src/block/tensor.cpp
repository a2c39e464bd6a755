// SPDX-License-Identifier: Apache-2.0
#include "block/tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit::block {

// ---- Words

namespace {

std::string_view name(TensorUse use) {
  switch (use) {
    case TensorUse::load: return "tcgen05.ld";
    case TensorUse::store: return "tcgen05.st";
    case TensorUse::copy:
    case TensorUse::refresh: return "tcgen05.cp";
    case TensorUse::shift: return "tcgen05.shift";
    case TensorUse::deallocation: return "tcgen05.dealloc";
    default: return "tcgen05.mma";
  }
}

bool is_product(TensorUse use) {
  return use == TensorUse::accumulator || use == TensorUse::operand;
}
bool is_copy(TensorUse use) {
  return use == TensorUse::copy || use == TensorUse::refresh;
}

int warp_of(Who who) {
  return who.thread / kWarp;
}

// What both touch.
TensorTouch common(const TensorTouch& x, const TensorTouch& y) {
  TensorTouch out = x;
  out.first_lane = std::max(x.first_lane, y.first_lane);
  out.lanes = std::max(std::min(x.first_lane + x.lanes, y.first_lane + y.lanes) - out.first_lane, 1);
  out.first_column = std::max(x.first_column, y.first_column);
  out.columns =
      std::max(std::min(x.first_column + x.columns, y.first_column + y.columns) - out.first_column, 1);
  return out;
}

std::string text(const TensorTouch& words) {
  const auto range = [](std::string_view what, int first, int count) {
    return count == 1 ? fmt::format("{} {}", what, first)
                      : fmt::format("{}s {} to {}", what, first, first + count - 1);
  };
  return fmt::format("{}, {}, of tensor memory", range("column", words.first_column, words.columns),
                     range("lane", words.first_lane, words.lanes));
}

// "tcgen05.mma of lane 0 of warp 4", "tcgen05.ld of warp 4"
std::string name(TensorUse use, bool is_move, Who who, const Cluster& cluster, int rank) {
  std::string by = cluster.name(who.thread, rank);
  if (is_move) by = by.substr(by.find("warp"));
  return fmt::format("{} of {}", name(use), by);
}

}  // namespace

Fault TensorAccesses::found(const Operation& before, const TensorTouch& words, bool before_writes,
                            const Access& now, std::string why, std::string accepted, KernelRule rule) const {
  const Cluster& cluster = order_.cluster();
  const bool is_move = order_.is_move(before.pipe);
  const std::string_view does = now.use == TensorUse::deallocation ? "deallocates"
                                : words.writes                     ? "writes"
                                                                   : "reads",
                         did = before_writes ? "writes" : "reads";
  Fault out = fault_of(
      now.who, {Errc::protocol_violation,
                {},
                fmt::format("this {} {}, which a {} {}{}, and {}", does, text(common(words, before.words)),
                            name(before.use, is_move, before.who, cluster, cluster.rank_of(now.who.thread)),
                            does == did ? "also " : "", did, why),
                std::move(accepted)});
  if (now.use == TensorUse::load || now.use == TensorUse::store || now.use == TensorUse::deallocation)
    out.lanes = lanes_of(kAllLanes);
  const std::string what = fmt::format("the {}", name(before.use));
  out.other = is_move ? side_of_warp(before.who, what) : side_of(before.who, what);
  out.rule = rule;
  return out;
}

// ---- What two accesses need between them

namespace {

// The pairs that are executed as they were issued (PTX manual, "Pipelined tcgen05 Instructions").
bool are_pipelined(TensorUse before, TensorUse now, bool same_accumulator) {
  using enum TensorUse;
  if (before == accumulator && now == accumulator) return same_accumulator;
  if (before == operand && now == operand) return true;  // .ashift, then the next product
  if (is_product(now)) return is_copy(before) || before == shift;
  if (now == refresh) return before == shift;
  return now == shift && is_product(before);
}

}  // namespace

namespace {

constexpr const char *kNoFenceAfter =
                         "no fence came between the barrier, or the wait for an mbarrier, and this statement",
                     *kFenceAfter = "this thread must execute tcgen05.fence::after_thread_sync between them";
// What orders a thread behind another one, which has an operation of its own to do before.
constexpr std::string_view kThenArrives =
    "and then a barrier together with this thread, or an arrival at an mbarrier that "
    "this thread waits for";

std::string not_waited_for(const TensorAccesses::Access& before) {
  return fmt::format("that {} has not been waited for", name(before.use));
}

}  // namespace

Found TensorAccesses::check(const Operation& before, const TensorTouch& words, bool before_writes,
                            const Access& now) const {
  const bool same_accumulator = before.words.first_lane == words.first_lane &&
                                before.words.first_column == words.first_column && before.shape == now.shape;
  if (now.use != TensorUse::deallocation && are_pipelined(before.use, now.use, same_accumulator))
    return check_pipelined(before, words, before_writes, now);
  return order_.is_move(before.pipe) ? check_move(before, words, before_writes, now)
                                     : check_operation(before, words, before_writes, now);
}

Found TensorAccesses::check_pipelined(const Operation& before, const TensorTouch& words, bool before_writes,
                                      const Access& now) const {
  const int me = warp_of(now.who);
  if (before.pipe == now.pipe || order_.is_done(before.pipe, before.clock, me)) return std::nullopt;
  if (!order_.is_issued(before.pipe, before.clock, me))
    return found(
        before, words, before_writes, now,
        fmt::format("nothing orders that {} before this statement", name(before.use)),
        fmt::format("that thread must execute tcgen05.fence::before_thread_sync, {}, and this thread then "
                    "tcgen05.fence::after_thread_sync",
                    kThenArrives));
  if (order_.is_of(before.pipe, me)) return std::nullopt;
  if (!order_.is_fenced(before.pipe, before.clock, me))
    return found(
        before, words, before_writes, now,
        fmt::format("no fence came between that {} and the thread's next barrier, or arrival at an mbarrier",
                    name(before.use)),
        "that thread must execute tcgen05.fence::before_thread_sync between them", KernelRule::tensor_fence);
  if (!order_.is_behind_fence(before.pipe, before.clock, me, false))
    return found(before, words, before_writes, now, kNoFenceAfter, kFenceAfter, KernelRule::tensor_fence);
  return std::nullopt;
}

Found TensorAccesses::check_operation(const Operation& before, const TensorTouch& words, bool before_writes,
                                      const Access& now) const {
  const int me = warp_of(now.who);
  if (!order_.is_done(before.pipe, before.clock, me)) {
    const std::string must =
        fmt::format("{} and then tcgen05.fence::after_thread_sync must come between that {} and this statement",
                    order_.commit_of(before.pipe, before.clock), name(before.use));
    const bool in_one_pipe =
        is_copy(now.use) && before.pipe == now.pipe && (is_product(before.use) || is_copy(before.use));
    if (in_one_pipe)
      return found(before, words, before_writes, now,
                   fmt::format("the order of that {} and a later tcgen05.cp is not defined", name(before.use)),
                   must, KernelRule::tensor_copy_order);
    return found(before, words, before_writes, now, not_waited_for(before),
                 must + " (tcgen05.wait and other arrivals do not wait for it)");
  }
  if (now.use != TensorUse::deallocation && !order_.is_behind_fence(before.pipe, before.clock, me, true))
    return found(before, words, before_writes, now,
                 fmt::format("that {} has been waited for, but no fence followed the wait", name(before.use)),
                 "tcgen05.fence::after_thread_sync must come between the wait and this statement",
                 KernelRule::tensor_fence);
  return std::nullopt;
}

Found TensorAccesses::check_move(const Operation& before, const TensorTouch& words, bool before_writes,
                                 const Access& now) const {
  const int me = warp_of(now.who);
  const std::string wait = before.use == TensorUse::load ? "tcgen05.wait::ld" : "tcgen05.wait::st";
  if (order_.is_of(before.pipe, me)) {
    if (order_.is_waited_for(before.pipe, before.clock)) return std::nullopt;
    return found(
        before, words, before_writes, now, not_waited_for(before),
        fmt::format("this warp must execute {} between that {} and this statement", wait, name(before.use)));
  }
  const Cluster& cluster = order_.cluster();
  if (is_product(now.use) && !order_.is_done(before.pipe, before.clock, me) && cluster.flow &&
      cluster.flow(now.who.at, before.who.at) == Cluster::Flow::follows)
    return found(
        before, words, before_writes, now,
        fmt::format("that {} stands behind this statement, and has not waited for it", name(before.use)),
        fmt::format("a tcgen05.commit behind this statement, a wait of that warp for its mbarrier and then "
                    "tcgen05.fence::after_thread_sync must come before that {}",
                    name(before.use)));
  if (!order_.is_waited_for(before.pipe, before.clock))
    return found(before, words, before_writes, now, not_waited_for(before),
                 fmt::format("that warp must execute {}, {}, before this statement", wait, kThenArrives));
  if (!order_.is_done(before.pipe, before.clock, me))
    return found(
        before, words, before_writes, now,
        fmt::format("nothing orders the {} of that warp before this statement", wait),
        fmt::format("that warp must execute a barrier together with this thread, or arrive at an mbarrier that "
                    "this thread waits for, between its {} and this statement",
                    wait));
  if (now.use == TensorUse::deallocation) return std::nullopt;
  if (!order_.is_fenced(before.pipe, before.clock, me))
    return found(
        before, words, before_writes, now,
        fmt::format("no fence came between the {} of that warp and its next barrier, or arrival at an mbarrier",
                    wait),
        "that warp must execute tcgen05.fence::before_thread_sync between them", KernelRule::tensor_fence);
  if (!order_.is_behind_fence(before.pipe, before.clock, me, true))
    return found(before, words, before_writes, now, kNoFenceAfter, kFenceAfter, KernelRule::tensor_fence);
  return std::nullopt;
}

// ---- The record

TensorAccesses::Range TensorAccesses::parts_of(const TensorTouch& words) {
  const int first = words.first_lane / kLanesOfCell;
  return {first, (words.first_lane + words.lanes + kLanesOfCell - 1) / kLanesOfCell - first};
}

// The same words once more by the same pipe, and nothing else since: a chain of products.
bool TensorAccesses::repeat(const TensorTouch& words, const Access& access) {
  if (!is_product(access.use)) return false;
  const int first = words.first_column / kBlockColumns,
            last = (words.first_column + words.columns - 1) / kBlockColumns;
  const std::uint32_t number = last_[static_cast<std::size_t>(first)];
  if (number == 0) return false;
  Operation& one = operations_[number];
  if (one.use != access.use || one.pipe != access.pipe || one.shape != access.shape || one.words != words)
    return false;
  for (int block = first; block <= last; ++block)
    if (last_[static_cast<std::size_t>(block)] != number) return false;
  one.clock = access.clock;
  one.who = access.who;
  return true;
}

std::uint32_t TensorAccesses::add(const TensorTouch& words, const Access& access) {
  constexpr std::size_t kMax = 1 << 14;
  if (operations_.size() >= kMax) collect();
  operations_.push_back({access, words});
  return static_cast<std::uint32_t>(operations_.size() - 1);
}

// Forgets the operations that no cell names.
void TensorAccesses::collect() {
  std::vector<std::uint32_t> number(operations_.size());
  std::vector<Operation> kept(1);
  const auto keep = [&](std::uint32_t& one) {
    if (one == 0) return;
    std::uint32_t& to = number[one];
    if (to == 0) {
      to = static_cast<std::uint32_t>(kept.size());
      kept.push_back(operations_[one]);
    }
    one = to;
  };
  for (Cell& cell : cells_) {
    keep(cell.write);
    for (std::uint32_t& read : cell.read) keep(read);
  }
  for (std::uint32_t& one : last_) keep(one);
  operations_ = std::move(kept);
}

// Of these words, those beside the cell of this part and column that have never been written either: its columns to the
// right, then the lanes behind it of which the same is true.
TensorTouch TensorAccesses::bare(const TensorTouch& words, int part, int column) const {
  int last_column = column, last_part = part;
  const auto is_bare = [&](int one) {
    for (int i = column; i <= last_column; ++i)
      if (cell(one, i).write != 0) return false;
    return true;
  };
  const auto [first_part, parts] = parts_of(words);
  while (last_column + 1 < words.first_column + words.columns && cell(part, last_column + 1).write == 0)
    ++last_column;
  while (last_part + 1 < first_part + parts && is_bare(last_part + 1)) ++last_part;
  TensorTouch out = words;
  out.first_column = column;
  out.columns = last_column - column + 1;
  out.first_lane = std::max(words.first_lane, part * kLanesOfCell);
  out.lanes = std::min(words.first_lane + words.lanes, (last_part + 1) * kLanesOfCell) - out.first_lane;
  return out;
}

Found TensorAccesses::never_written(const TensorTouch& bare, const Access& now) const {
  const bool one = bare.columns == 1;
  return fault_of(
      now.who,
      {Errc::never_written,
       {},
       fmt::format("{} ha{} never been written", text(bare), one ? "s" : "ve"),
       now.use == TensorUse::accumulator
           ? fmt::format(
                 "the first tcgen05.mma must have enable-input-d false, or something must write {} before",
                 one ? "this column" : "these columns")
           : fmt::format("{} must be written before this statement", one ? "it" : "they")},
      KernelRule::tensor_never_written);
}

Found TensorAccesses::access(const TensorTouch& words, const Access& access) {
  if (words.columns == 0 || words.lanes == 0 || repeat(words, access)) return std::nullopt;
  const std::uint32_t number = add(words, access);
  const auto [first_part, parts] = parts_of(words);
  Found out;
  std::uint32_t allowed_write = 0;  // the last ones that were seen to be
  std::array<std::uint32_t, 2> allowed_read = {};
  const auto look = [&](std::uint32_t before, std::uint32_t& allowed, bool before_writes) {
    if (before == 0 || before == allowed) return;
    const bool is_own = of(before).pipe == access.pipe && of(before).clock == access.clock;
    if (is_own) return;  // the instruction reads and writes
    if (auto one = check(of(before), words, before_writes, access); one && (!out || is_worse(*one, *out)))
      out = std::move(one);
    allowed = before;
  };
  for (int part = first_part; part < first_part + parts; ++part)
    for (int column = words.first_column; column < words.first_column + words.columns; ++column) {
      Cell& one = cell(part, column);
      if (words.writes)
        for (std::size_t i = 0; i < one.read.size(); ++i) look(one.read[i], allowed_read[i], false);
      // What has been read since is ordered before the reads.
      if (!words.writes || one.read[0] == 0) look(one.write, allowed_write, true);
      if (access.needs_value && one.write == 0 && !out) out = never_written(bare(words, part, column), access);
      if (words.writes) {
        one.write = number;
        one.read = {};
      } else if (one.read[0] != 0 && of(one.read[0]).pipe == access.pipe) {
        one.read[0] = number;
      } else {
        one.read = {number, one.read[0]};
      }
    }
  for (int block = words.first_column / kBlockColumns;
       block <= (words.first_column + words.columns - 1) / kBlockColumns; ++block)
    last_[static_cast<std::size_t>(block)] = number;
  return out;
}

Found TensorAccesses::deallocate_for_peer(int first, int count, Who who) const {
  const TensorTouch words{0, 0, TensorMemory::kLanes, first, count, true};
  const Access now{TensorUse::deallocation, -1, 0, who};
  Found out;
  const auto look = [&](std::uint32_t before, bool before_writes) {
    if (before != 0 && !out) out = check(of(before), words, before_writes, now);
  };
  for (int part = 0; part < kParts; ++part)
    for (int column = first; column < first + count; ++column) {
      for (const std::uint32_t read : cell(part, column).read) look(read, false);
      look(cell(part, column).write, true);
    }
  if (out) out->rule = KernelRule::tensor_pair;
  return out;
}

Found TensorAccesses::deallocate(int first, int count, Who who) {
  const TensorTouch words{0, 0, TensorMemory::kLanes, first, count, true};
  const Access now{TensorUse::deallocation, -1, 0, who};
  Found out;
  std::uint32_t allowed = 0;
  const auto look = [&](std::uint32_t before, bool before_writes) {
    if (before == 0 || before == allowed || out) return;
    out = check(of(before), words, before_writes, now);
    allowed = before;
  };
  for (int part = 0; part < kParts; ++part)
    for (int column = first; column < first + count; ++column) {
      Cell& one = cell(part, column);
      for (const std::uint32_t read : one.read) look(read, false);
      look(one.write, true);
      one = {};
    }
  for (int block = first / kBlockColumns; block <= (first + count - 1) / kBlockColumns; ++block)
    last_[static_cast<std::size_t>(block)] = 0;
  return out;
}

}  // namespace warpbit::block
