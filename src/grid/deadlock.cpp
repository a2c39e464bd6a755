// SPDX-License-Identifier: Apache-2.0
// Why no thread can go on: the wait that tells most, and what is missing there.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/checks.hpp"
#include "grid/block.hpp"
#include "grid/cluster.hpp"
#include "grid/reach.hpp"

namespace warpbit::grid {

// Places that say the same are told once: stages of a pipeline are initialised by one statement.
void Block::add_awaited(std::vector<FaultSide>& to) const {
  const auto is_told = [&](const FaultSide& one) {
    const auto is_same = [&](const FaultSide& other) {
      return one.at == other.at &&
             one.what.substr(0, one.what.find(' ')) == other.what.substr(0, other.what.find(' '));
    };
    return std::ranges::any_of(to, is_same);
  };
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (path.waits_for == Waits::test || path.gives_up)
        for (FaultSide& one : async_.mbarriers.places(path.awaited))
          if (!is_told(one)) to.push_back(std::move(one));
  for (const int number : unwaited())
    for (FaultSide& one : arrivals_at(number)) to.push_back(std::move(one));
}

// ---- Named barriers

// Those of an incomplete phase at which nobody waits.
std::vector<int> Block::unwaited() const {
  std::vector<int> out;
  for (int number = 0; number < static_cast<int>(barriers_.size()); ++number) {
    const auto waits = [&](const Path& path) {
      return path.waits_for == Waits::barrier && path.barrier == number;
    };
    const bool is_awaited = std::ranges::any_of(
        warps_, [&](const auto& warp) { return std::ranges::any_of(warp->paths(), waits); });
    if (barriers_[static_cast<std::size_t>(number)].in_use && !is_awaited) out.push_back(number);
  }
  return out;
}

// Where warps have arrived at such a barrier last: neighbours at one place together.
std::vector<FaultSide> Block::arrivals_at(int number) const {
  const Barrier& barrier = barriers_[static_cast<std::size_t>(number)];
  std::vector<FaultSide> out;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    if (barrier.warps[w].here == 0) continue;
    const int warp = async_.shared.first_warp() + static_cast<int>(w);
    if (!out.empty() && out.back().at == barrier.warps[w].at && out.back().warp + out.back().warps == warp)
      ++out.back().warps;
    else
      out.push_back(block::side_of_warp(
          {warp * kLanes, barrier.warps[w].at},
          fmt::format("the latest arrival at barrier {}, where nobody waits: {}", number, awaited(barrier))));
  }
  return out;
}

// The warps that have ended without an arrival at a barrier that counts threads.
std::vector<int> Block::missing_at(const Barrier& barrier) const {
  std::vector<int> out;
  for (std::size_t w = 0; w < warps_.size(); ++w)
    if (warps_[w]->alive() == 0 && barrier.warps[w].here == 0) out.push_back(static_cast<int>(w));
  return out;
}

namespace {

// The warps that wait at another barrier than this one.
std::vector<int> at_another_barrier(const std::vector<std::unique_ptr<Warp>>& warps, int barrier) {
  const auto is_there = [&](const Path& path) {
    return path.waits_for == Waits::barrier && path.barrier != barrier;
  };
  std::vector<int> out;
  for (const std::unique_ptr<Warp>& warp : warps)
    if (std::ranges::any_of(warp->paths(), is_there)) out.push_back(warp->number());
  return out;
}

std::string_view have(const std::vector<int>& warps) {
  return warps.size() == 1 ? "has" : "have";
}

}  // namespace

// The warps that have not come to a barrier, and have arrived at another one at which nobody waits.
std::vector<int> Block::astray(const Barrier& barrier, int other) const {
  const auto waits_for_some = [&](const Path& path) {
    return path.waits_for == Waits::barrier && barriers_[static_cast<std::size_t>(path.barrier)].threads != 0;
  };
  std::vector<int> out;
  for (std::size_t w = 0; w < warps_.size(); ++w)
    if (barriers_[static_cast<std::size_t>(other)].warps[w].here != 0 && barrier.warps[w].here == 0 &&
        std::ranges::none_of(warps_[w]->paths(), waits_for_some))
      out.push_back(static_cast<int>(w));
  return out;
}

// Of a barrier that counts threads: its arrivals that nobody waited for, warps that have ended, more threads than there are,
// arrivals elsewhere, warps that wait elsewhere.
Block::Told Block::told_of(const Barrier& barrier, int number, block::Cause out) const {
  constexpr std::string_view kCount =
      "as many threads must execute the barrier as it counts, or it must count only the threads that do";
  const std::string come =
      fmt::format("barrier {} counts {} threads, and {} have come", number, barrier.threads, barrier.arrived);
  for (const auto& [warp, one] : arrived_[static_cast<std::size_t>(number)]) {
    if (one.most < 2) continue;
    out.who = one.at_most;
    out.lanes = kAllLanes;
    out.label = fmt::format("arrives again in one phase of barrier {}", number);
    out.what = fmt::format(
        "{} (warp {} arrived {} times, {} in one phase, which was complete before anybody waited for it)", come,
        warp, one.times, one.most == 2 ? "twice" : fmt::format("{} times", one.most));
    out.accepted = fmt::format(
        "before warp {} arrives again, it must wait at another barrier at which those arrive who wait here",
        warp);
    return {kLacks, std::move(out)};
  }
  out.accepted = kCount;
  const std::vector<int> ended = missing_at(barrier), elsewhere = at_another_barrier(warps_, number);
  const std::size_t threads = warps_.size() * static_cast<std::size_t>(kLanes);
  if (!ended.empty()) {
    out.what = fmt::format("{} ({} {} ended without it)", come, block::warps_text(ended), have(ended));
    return {kLacks, std::move(out), {end_of(ended.front())}};
  }
  if (static_cast<std::size_t>(barrier.threads) > threads) {
    out.what = fmt::format("{} (the block has no more than {})", come, threads);
    return {kLacks, std::move(out)};
  }
  for (const int other : unwaited()) {
    const std::vector<int> warps = astray(barrier, other);
    if (warps.empty()) continue;
    out.who = {(async_.shared.first_warp() + warps.front()) * kLanes,
               barriers_[static_cast<std::size_t>(other)].warps[static_cast<std::size_t>(warps.front())].at};
    out.lanes = kAllLanes;
    out.label = arrivals_at(other).front().what;
    out.what = fmt::format("{}, while {} {} arrived at barrier {}, where nobody waits", come,
                           block::warps_text(warps), have(warps), other);
    out.accepted = "warps must arrive at the barrier at which the others wait";
    return {kLacks, std::move(out)};
  }
  if (elsewhere.empty()) return {};
  out.what = fmt::format("{} ({} wait{} at another barrier)", come, block::warps_text(elsewhere),
                         elsewhere.size() == 1 ? "s" : "");
  return {kElsewhere, std::move(out)};
}

// ---- Barrier objects

namespace {

bool is_without_arrival(const Path& path, const block::Mbarriers& mbarriers) {
  return mbarriers.places(path.awaited).size() == 1;  // its mbarrier.init alone
}

// Whether warps wait for several barrier objects, and nobody has arrived at any of them.
bool nobody_begins(const std::vector<std::unique_ptr<Warp>>& warps, const block::Mbarriers& mbarriers) {
  std::set<std::int64_t> objects;
  for (const std::unique_ptr<Warp>& warp : warps)
    for (const Path& path : warp->paths()) {
      if (path.waits_for != Waits::test) continue;
      if (!is_without_arrival(path, mbarriers)) return false;
      objects.insert(path.awaited);
    }
  return objects.size() > 1;
}

}  // namespace

// Threads of the block that have ended without an arrival at an object, if it lacks as many.
std::optional<block::Cause> Block::ended_without(std::int64_t object) const {
  const block::Mbarriers& all = async_.mbarriers;
  const std::uint32_t lacks = all.lacks(object);
  std::vector<block::Who> ended;
  for (std::size_t w = 0; w < warps_.size() && lacks != 0; ++w)
    for_each_lane(lanes_of(w) & ~warps_[w]->alive(), [&](int lane) {
      const int thread = warps_[w]->number_in_cluster() * kLanes + lane;
      if (all.owes(object, thread)) ended.push_back({thread, place(warps_[w]->left_at(lane))});
    });
  if (ended.empty() || ended.size() != lacks) return std::nullopt;
  block::Cause out{ended.front(), {}, {}, {}, 0};
  for (const block::Who& one : ended)
    if (one.at == out.who.at && one.thread / kLanes == out.who.thread / kLanes)
      out.lanes |= Lanes{1} << one.thread % kLanes;
  const bool is_one = ended.size() == 1;
  out.what = fmt::format("{} lacks {} arrival{}, and {} thread{} ended without one", all.phase_text(object),
                         lacks, is_one ? "" : "s", ended.size(), is_one ? " has" : "s have");
  out.accepted =
      "each of them must arrive there before it ends (by mbarrier.arrive_drop, if others go on), or mbarrier.init must "
      "count fewer";
  out.label = "ends";
  return out;
}

Block::Told Block::told_of_object(Warp& warp, const Path& path, block::Cause out) const {
  const block::Mbarriers& all = async_.mbarriers;
  if (auto ended = ended_without(path.awaited)) return {kLacks, *std::move(ended)};
  if (auto cause = all.cause(path.awaited, warp.number_in_cluster())) return {kLacks, *std::move(cause)};
  if (path.waits_for != Waits::test) return {};
  const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
  if (grid_.program.async.mbarriers[static_cast<std::size_t>(step.extra)].is_parity)
    if (std::string what = all.left_out(path.awaited, warp.number_in_cluster()); !what.empty()) {
      out.what = std::move(what);
      out.accepted = "its parity must be that of the first phase that it has not waited for";
      return {kLeftOut, std::move(out)};
    }
  if (nobody_begins(warps_, all)) {
    out.what = "each mbarrier that is waited for is in its first phase, and nobody has arrived there";
    out.accepted = fmt::format(
        "an arrival must come before one of these waits, or the first wait for a stage that is free{} must have parity 1 (a new "
        "mbarrier is as if the phase before its first one were complete)",
        fills_next(grid_.program, path.pc) ? ", as this one is," : "");
  } else if (is_without_arrival(path, all)) {
    out.what = fmt::format("nobody has arrived in {}, its first one", all.phase_text(path.awaited));
    out.accepted = "as many arrivals must come there as its mbarrier.init counts";
  }
  return {out.what.empty() ? kTest : kNobody, std::move(out)};
}

// ---- The block

int Block::wanted_registers(const Path& path) const {
  return grid_.program.steps[static_cast<std::size_t>(path.pc)].target;
}

Block::Told Block::told_by(Warp& warp, const Path& path) const {
  block::Cause own{who(warp, path), {}, {}, {}, path.lanes};
  Told out;
  if (path.waits_for == Waits::test || path.gives_up) {
    out = told_of_object(warp, path, own);
  } else if (path.waits_for == Waits::barrier) {
    const Barrier& barrier = barriers_[static_cast<std::size_t>(path.barrier)];
    if (barrier.threads != 0) out = told_of(barrier, path.barrier, own);
  } else if (path.waits_for == Waits::columns) {
    out.tells = kResource;
  } else if (path.waits_for == Waits::registers) {
    std::vector<RegisterPool::Wanted> all;
    for (const std::unique_ptr<Warp>& one : warps_)
      for (const Path& other : one->paths())
        if (other.waits_for == Waits::registers) all.push_back({one->number(), wanted_registers(other)});
    out = Told{kResource, registers_->cause(own.who, all)};
  }
  if (out.cause.what.empty()) out.cause = std::move(own);
  return out;
}

// The first of those that say most. Where nobody begins, it is the one whose threads would fill what the others wait for.
std::optional<Block::Told> Block::telling() const {
  std::optional<Told> out;
  bool fills = false;
  const bool none_begins = nobody_begins(warps_, async_.mbarriers);
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      Told one = told_by(*warp, path);
      const bool would_fill =
          none_begins && path.waits_for == Waits::test && fills_next(grid_.program, path.pc);
      if (out && (one.tells < out->tells || (one.tells == out->tells && fills >= would_fill))) continue;
      out = std::move(one);
      fills = would_fill;
    }
  return out;
}

int Block::tells() const {
  const std::optional<Told> told = telling();
  return told ? told->tells : -1;
}

bool Block::report_deadlock(const std::vector<FaultWaiters>& waiting) {
  std::optional<Told> told = telling();
  if (!told) return false;
  Fault out = block::deadlock(told->cause, waiting);
  out.related = std::move(told->related);
  for (const std::unique_ptr<Block>& block : cluster_.blocks()) block->add_awaited(out.related);
  const auto is_told = [&](const FaultSide& one) { return one.at == out.at; };  // as the cause
  std::erase_if(out.related, is_told);
  fault(std::move(out));
  return true;
}

}  // namespace warpbit::grid
