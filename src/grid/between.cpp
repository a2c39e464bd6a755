// SPDX-License-Identifier: Apache-2.0
// What came between the sides of a race, and does not order them: a barrier of other lanes or warps, an arrival without a wait.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/checks.hpp"
#include "block/source_lines.hpp"
#include "grid/cluster.hpp"
#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "ptx/source.hpp"

namespace warpbit::grid {
namespace {

std::string opcode_at(const Program& program, const block::Place& at) {
  const std::string_view text = statement_of(origin_at(program, at)).text;
  return std::string(text.substr(0, text.find_first_of(" \t\n;")));
}

}  // namespace

void Block::note_meeting(int warp, const Narrow& narrow) {
  std::array<Narrow, kNarrow>& of = narrow_[static_cast<std::size_t>(warp)];
  std::shift_right(of.begin(), of.end(), 1);
  of.front() = narrow;
}

void Block::note_lanes(int warp, const block::Place& at, Lanes lanes, bool is_first) {
  std::vector<Narrow>& of = lanes_[static_cast<std::size_t>(warp)];
  if (is_first) of.clear();
  of.push_back({at, lanes});
}

// Whether the warp has met some others at a barrier with a count of threads.
bool Block::has_met_at(int warp, std::int32_t statement) const {
  return std::ranges::any_of(narrow_[static_cast<std::size_t>(warp)], [&](const Narrow& one) {
    return one.warps != 0 && number_at(grid_.program, one.at) == statement;
  });
}

// Whether a thread comes from one statement to another one, in one function.
bool Block::leads(const block::Place& first, const block::Place& second) const {
  const Program& program = grid_.program;
  if (first.line == 0 || second.line == 0) return false;
  const std::int32_t from = number_at(program, first), to = number_at(program, second);
  const auto function = [&](std::int32_t of) { return program.origins[static_cast<std::size_t>(of)].function; };
  if (from == to || function(from) != function(to)) return false;
  const auto [known, is_new] = leads_.try_emplace({from, to}, false);
  if (is_new) known->second = leads_to(program, from, to, false);
  return known->second;
}

bool Block::is_between(const FaultSide& first, const block::Place& at, const FaultSide& second) const {
  return leads(first.at, at) && leads(at, second.at);
}

// Lanes of the second one's warp wait at a barrier for its lane, which has gone past.
std::optional<Block::Between> Block::waiting_between(const FaultSide& first, const FaultSide& second,
                                                     std::string_view both) const {
  const Lanes lane = Lanes{1} << second.lanes.front();
  Warp& warp = *warps_[static_cast<std::size_t>(second.warp - async_.shared.first_warp())];
  for (const Path& path : warp.paths()) {
    const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
    const block::Who here = who(warp, path);
    if (!path.waits || path.waits_for != Waits::none || steps::what_runs(step) != steps::barrier ||
        (path.passed & lane) == 0 || !is_between(first, here.at, second))
      continue;
    FaultSide side = block::side_of_warp(here, "these lanes wait");
    side.lanes = block::lanes_of(path.lanes);
    return Between{fmt::format("lanes {} of warp {} alone have come to the {} between {}", ranges(side.lanes),
                               warp.number(), opcode_at(grid_.program, here.at), both),
                   std::move(side), "all threads must execute that barrier"};
  }
  return std::nullopt;
}

// Lanes of one warp have met at different statements.
std::optional<Block::Between> Block::apart_between(const FaultSide& first, const FaultSide& second,
                                                   std::string_view both) const {
  const std::vector<Narrow>& all = lanes_[static_cast<std::size_t>(second.warp - async_.shared.first_warp())];
  const auto with = [&](const FaultSide& side) {
    return std::ranges::find_if(all,
                                [&](const Narrow& one) { return (one.lanes >> side.lanes.front() & 1) != 0; });
  };
  const auto own = with(second), others = with(first);
  if (own == all.end() || others == all.end() || own->at == others->at || !is_between(first, own->at, second))
    return std::nullopt;
  const auto line = [&](const Narrow& one) {
    return statement_of(origin_at(grid_.program, one.at)).position.line;
  };
  FaultSide side = block::side_of_warp(
      {second.warp * kLanes, others->at},
      fmt::format("meets the {} at PTX line {}", opcode_at(grid_.program, own->at), line(*own)));
  side.lanes = block::lanes_of(others->lanes);
  return Between{
      fmt::format("at the {} between {} (PTX line {}) lanes {} met lanes {}, which were at another one "
                  "(PTX line {})",
                  opcode_at(grid_.program, own->at), both, line(*own), ranges(block::lanes_of(own->lanes)),
                  ranges(side.lanes), line(*others)),
      std::move(side), "the masks must be those of the lanes that come to the same statement"};
}

// A barrier of the warp whose mask has one of the two lanes alone: better that of the second one.
std::optional<Block::Between> Block::masked_between(const FaultSide& first, const FaultSide& second,
                                                    std::string_view both) const {
  const auto in = [](const Narrow& one, int lane) { return (one.lanes >> lane & 1) != 0; };
  const int a = first.lanes.front(), b = second.lanes.front();
  for (const auto& [here, absent] : {std::pair(b, a), std::pair(a, b)})
    for (const Narrow& one : narrow_[static_cast<std::size_t>(second.warp - async_.shared.first_warp())]) {
      if (one.warps != 0 || !in(one, here) || in(one, absent) || !is_between(first, one.at, second)) continue;
      const std::string what = opcode_at(grid_.program, one.at);
      return Between{fmt::format("the {} between {} had the mask {:#010x}, without lane {}", what, both,
                                 one.lanes, absent),
                     block::side_of_warp({second.warp * kLanes, one.at}, "the " + what),
                     fmt::format("its mask must have lane {}", absent)};
    }
  return std::nullopt;
}

// Lanes meet at a shfl.sync, and it orders no memory (PTX manual, "shfl.sync": nothing is said of it).
std::optional<Block::Between> Block::exchange_between(const FaultSide& first, const FaultSide& second,
                                                      std::string_view both) const {
  for (const Step& step : grid_.program.steps) {
    if (does(grid_.program, step) != ptx::Does::shuffle) continue;
    const block::Place at = place(step.statement);
    if (!is_between(first, at, second)) continue;
    return Between{fmt::format("the {} between {} orders no memory", opcode_at(grid_.program, at), both),
                   block::side_of_warp({second.warp * kLanes, at}, "the lanes meet"), ""};
  }
  return std::nullopt;
}

// What the warp of the second one has executed. `both`: "that write and this read".
std::optional<Block::Between> Block::between(const FaultSide& first, const FaultSide& second,
                                             std::string_view both) const {
  const int here = async_.shared.first_warp(), other = first.warp - here, own = second.warp - here;
  if (std::min(own, other) < 0 || std::max(own, other) >= std::min(static_cast<int>(warps_.size()), kLanes))
    return std::nullopt;
  if (auto found = waiting_between(first, second, both)) return found;
  if (own == other) {
    if (auto found = apart_between(first, second, both)) return found;
    if (auto found = masked_between(first, second, both)) return found;
    return exchange_between(first, second, both);
  }
  const auto side = [&](const block::Place& at, std::string what) {
    return block::side_of_warp({second.warp * kLanes, at}, std::move(what));
  };
  for (const Narrow& one : narrow_[static_cast<std::size_t>(own)]) {
    if (!is_between(first, one.at, second)) continue;
    const std::string what = opcode_at(grid_.program, one.at);
    if (one.warps != 0 && (one.warps >> other & 1) == 0) {
      const Barrier& barrier = barriers_[static_cast<std::size_t>(one.barrier)];
      const bool comes = barrier.in_use && barrier.warps[static_cast<std::size_t>(other)].here != 0;
      return Between{
          fmt::format("at the {} between {} (barrier {}) {} met, without warp {}", what, both, one.barrier,
                      block::warps_text(block::lanes_of(one.warps)), other),
          side(one.at, "the " + what),
          comes ? fmt::format(
                      "that barrier must count the threads of all warps that come to it (it counts {}, and "
                      "warp {} waits there)",
                      barrier.threads, other)
                : ""};
    }
  }
  for (std::size_t number = 0; number < arrived_.size(); ++number) {
    const auto found = arrived_[number].find(own);
    if (found != arrived_[number].end() && is_between(first, found->second.last, second))
      return Between{
          fmt::format("between {} warp {} arrived at barrier {}, and did not wait", both, own, number),
          side(found->second.last, "arrives")};
  }
  const block::Cluster& cluster = async_.shared.cluster();
  const auto line = [&](const block::Place& at) {
    return statement_of(origin_at(grid_.program, at)).position.line;
  };
  for (const block::Mbarriers::NotMet& one : async_.mbarriers.not_met(second.warp, first.warp)) {
    if (!is_between(first, one.arrival.at, second)) continue;
    FaultSide arrival = block::side_of(one.arrival, "arrives");
    if (!one.has_waited)
      return Between{
          fmt::format("between {} warp {} arrived at {}, and did not wait for that phase", both, own,
                      one.object),
          std::move(arrival),
          one.again.empty()
              ? ""
              : fmt::format("its mbarrier.init must count all {} arrivals of a phase (it counts {}, and "
                            "{} arrives at PTX lines {} and {})",
                            one.arrivals, one.count, cluster.name(one.again.front().thread, rank_),
                            line(one.again.front().at), line(one.again.back().at))};
    return Between{
        fmt::format(
            "between {} warp {} arrived at {}, and waited for a phase that was complete without warp {}", both,
            own, one.object, other),
        std::move(arrival),
        fmt::format("its mbarrier.init must count all threads that arrive there (it counts {})", one.count)};
  }
  return std::nullopt;
}

// `waited` has gone on by a phase of which `arrived` was to be a part.
bool Block::explain_by_count(Fault& fault, const FaultSide& waited, const FaultSide& arrived) const {
  if (arrived.lanes.empty()) return false;
  std::string must = async_.mbarriers.miscounted(waited.warp, arrived.warp * kLanes + arrived.lanes.front());
  if (must.empty()) return false;
  std::string& seen = fault.error.seen;
  seen = seen.substr(0, seen.find(", and ")) +
         ", and a phase that its thread was to arrive in was complete without it";
  fault.error.accepted = std::move(must);
  return true;
}

// Whether a fault is of bytes whose copy an object of this block counts, or of another warp that arrives there.
bool Block::is_of_object(const Fault& fault, std::int64_t object, int warp) const {
  const block::Shared& shared = async_.shared;
  if (fault.address && fault.address->space == Space::shared && fault.address->rank == rank_)
    if (const auto write = shared.last_write(fault.address->byte))
      if (const auto counts = async_.mbarriers.counted_by(write->thread)) return *counts == object;
  const auto is_other = [&](const FaultSide& side) {
    return side.warp != warp && async_.mbarriers.has_arrived(object, side.warp);
  };
  return is_other(fault) || (fault.other && is_other(*fault.other));
}

// The thread of a read before the write has waited for a phase, and that did not wait for the write. Where both are in a loop,
// the wait may have come behind the read.
bool Block::explain_by_early_wait(Fault& fault) const {
  std::string& seen = fault.error.seen;
  std::string_view when = block::kBeforeWritten;
  std::size_t at = seen.find(when);
  if (at == seen.npos) at = seen.find(when = block::kBeforeWrittenOne);
  if (at == seen.npos) return false;
  const FaultSide& read = *fault.other;
  const Block& of =
      *cluster_.blocks()[static_cast<std::size_t>(read.warp * kLanes / async_.shared.cluster().stride())];
  const block::Mbarriers& objects = of.async_.mbarriers;
  const auto waited = objects.waited(read.warp);
  const auto phase = objects.seen_phase(read.warp);
  if (!phase || !leads(waited->who.at, read.at) || leads(read.at, waited->who.at)) return false;
  const auto write = of.async_.shared.last_write(fault.address->byte);
  const std::int64_t counts = write ? objects.counted_by(write->thread).value_or(-1) : -1;
  seen = fmt::format("{}, and {}, for which that warp had waited, was complete without this write",
                     seen.substr(0, at + when.size()), phase->name);
  fault.error.accepted =
      counts < 0 ? "this thread must arrive there behind this write, or another wait must come before that read"
      : counts == waited->address
          ? "mbarrier.expect_tx must count the bytes of this copy no later than the last arrival of that phase"
          : fmt::format("that warp must wait for the mbarrier at {} before that read",
                        of.async_.shared.at(counts));
  fault.related.push_back(block::side_of(waited->who, "the wait for that phase"));
  return true;
}

// Whether a thread comes from one statement to another one in the same function, and waits for nobody between.
bool Block::leads_at_once(const block::Place& from, const block::Place& to) const {
  const Program& program = grid_.program;
  if (from.line == 0 || to.line == 0 || origin_at(program, from).function != origin_at(program, to).function)
    return false;
  return leads_to(program, number_at(program, from), number_at(program, to), true);
}

namespace {

constexpr std::string_view kNoBarrier = ", and no barrier came between ";

}  // namespace

// The thread of the earlier access has arrived before it where the later one's warp has waited for it.
bool Block::explain_by_early_arrival(Fault& fault) const {
  const FaultSide& first = *fault.other;
  std::string& seen = fault.error.seen;
  const std::size_t at = seen.find(kNoBarrier);
  const int here = async_.shared.first_warp(), own = fault.warp - here, other = first.warp - here;
  const bool are_here =
      std::min(own, other) >= 0 && std::max(own, other) < std::min(static_cast<int>(warps_.size()), kLanes);
  if (at == seen.npos || first.lanes.empty() || own == other || !are_here) return false;
  const auto explained = [&](const block::Who& arrival, std::string_view where) {
    seen = fmt::format("{}, behind its arrival {}, for which this warp has waited", seen.substr(0, at), where);
    fault.error.accepted = fmt::format("that arrival must come after that {}",
                                       first.what.starts_with("writes") ? "write" : "read");
    fault.related.push_back(block::side_of(arrival, "arrives"));
    return true;
  };
  if (const auto phase = async_.mbarriers.seen_phase(fault.warp))
    for (const block::Who& one : phase->arrived)
      if (one.thread == first.warp * kLanes + first.lanes.front() && leads_at_once(one.at, first.at))
        return explained(one, "in " + phase->name);
  for (const Narrow& one : narrow_[static_cast<std::size_t>(own)]) {
    if (one.warps == 0 || (one.warps >> other & 1) == 0) continue;
    const auto& all = arrived_[static_cast<std::size_t>(one.barrier)];
    const auto arrival = all.find(other);
    if (arrival == all.end() || !leads_at_once(arrival->second.last, first.at)) continue;
    return explained({first.warp * kLanes + first.lanes.front(), arrival->second.last},
                     fmt::format("at barrier {}", one.barrier));
  }
  return false;
}

// The warp of the earlier access has waited for a phase that was complete before the thread of the later one came to arrive there.
bool Block::explain_by_missing_arrival(Fault& fault) const {
  std::string& seen = fault.error.seen;
  const std::size_t at = seen.find(kNoBarrier);
  if (at == seen.npos || fault.lanes.empty() || fault.warp == fault.other->warp) return false;
  const auto phase = async_.mbarriers.seen_phase(fault.other->warp);
  if (!phase) return false;
  const auto is_own = [&](const block::Who& one) { return one.thread / kLanes == fault.warp; };
  const auto is_next = [&](const block::Who& one) { return leads_at_once(fault.at, one.at); };
  const auto arrival = std::ranges::find_if(phase->arrived, is_next);
  if (arrival == phase->arrived.end() || std::ranges::any_of(phase->arrived, is_own) ||
      std::ranges::any_of(phase->later, is_own))
    return false;
  seen =
      fmt::format("{}, and {}, for which that warp had waited, was complete before this warp had arrived there",
                  seen.substr(0, at), phase->name);
  fault.error.accepted =
      fmt::format("its mbarrier.init must count all threads that arrive there (it counts {})", phase->count);
  fault.related.push_back(block::side_of(*arrival, "arrives"));
  return true;
}

bool Block::explain_by_narrow(Fault& fault) const {
  const std::string_view kNone = kNoBarrier.substr(kNoBarrier.find("no "));
  std::string& seen = fault.error.seen;
  const std::size_t at = seen.find(kNone);
  if (at == seen.npos || fault.lanes.empty() || fault.other->lanes.empty()) return false;
  const std::size_t end = std::min(seen.find(" (", at), seen.size());
  const std::string both = seen.substr(at + kNone.size(), end - at - kNone.size());
  std::optional<Between> found;
  if (both.starts_with("that ")) found = between(*fault.other, fault, both);
  if (!found) found = between(fault, *fault.other, both);
  if (!found) return false;
  seen.replace(at, end - at, found->came);
  if (!found->must.empty()) fault.error.accepted = found->must + ", or " + fault.error.accepted;
  fault.related.push_back(std::move(found->side));
  return true;
}

// The two warps of a race were at different statements when all warps met last.
void Block::explain_by_barriers(Fault& fault) const {
  const auto met_at = [&](int warp) {
    const auto in_block = static_cast<std::size_t>(warp - async_.shared.first_warp());
    return in_block < met_at_.size() ? met_at_[in_block] : -1;
  };
  const std::int32_t mine = met_at(fault.warp), others = met_at(fault.other->warp);
  if (mine < 0 || others < 0 || mine == others) return;
  std::map<std::int32_t, std::vector<int>> warps;
  for (std::size_t w = 0; w < met_at_.size(); ++w)
    if (met_at_[w] >= 0) warps[met_at_[w]].push_back(static_cast<int>(w));
  std::string all;
  for (const auto& [statement, here] : warps) {
    const Origin& origin = grid_.program.origins[static_cast<std::size_t>(statement)];
    const ptx::Statement& at = statement_of(origin);
    const std::string lines = own_lines(chain_of(*grid_.program.module, *origin.function, at));
    all +=
        fmt::format("{}{} {} {}at PTX line {}{}", all.empty() ? "" : ", ", here.size() == 1 ? "warp" : "warps",
                    ranges(here), all.empty() ? "met the last barrier " : "", at.position.line,
                    lines.empty() ? "" : fmt::format(" ({})", lines));
  }
  fault.error.accepted += fmt::format(" ({}, so their barriers are out of step)", all);
}

}  // namespace warpbit::grid
