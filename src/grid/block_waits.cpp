// SPDX-License-Identifier: Apache-2.0
// Who waits for what, where no thread can go on: lanes and warps that are missing, deadlocks, loops without an end.
#include "grid/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "api/checks.hpp"
#include "async/tensor.hpp"
#include "grid/cluster.hpp"
#include "grid/reach.hpp"
#include "ptx/source.hpp"

namespace warpbit::grid {
// One of all threads waits for those that have not ended.
std::string Block::awaited(const Barrier& barrier) const {
  std::int64_t arrived = 0, all = 0;
  bool are_whole = true;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    are_whole = are_whole && barrier.warps[w].part == 0;
    arrived += std::popcount(warps_[w]->alive() & barrier.warps[w].here);
    all += std::popcount(warps_[w]->alive());
  }
  if (barrier.threads != 0) return block::arrivals_text(barrier.arrived, barrier.threads, are_whole);
  return block::arrivals_text(arrived, all, are_whole);
}

std::string Block::awaited(const Warp& warp, const Path& path, std::span<const Lanes> alive) const {
  if (path.gives_up) return async_.mbarriers.awaited(path.awaited, warp.number_in_cluster());
  switch (path.waits_for) {
    case Waits::turn: return "threads whose phase of the mbarrier is complete";
    case Waits::test: return async_.mbarriers.awaited(path.awaited, warp.number_in_cluster());
    case Waits::columns:
      return async::awaited(cluster_.blocks()[static_cast<std::size_t>(rank_)]->async(),
                            static_cast<std::uint32_t>(path.awaited));
    case Waits::barrier:
      return fmt::format("barrier {}: {}", path.barrier,
                         awaited(barriers_[static_cast<std::size_t>(path.barrier)]));
    case Waits::cluster: return cluster_.async().barrier.awaited(alive);
    case Waits::registers: return "registers that no other warp gives back";
    case Waits::warpgroup: return "the other warps of its warpgroup";
    case Waits::none: return "other lanes of its warp";
  }
  return {};
}

std::vector<FaultWaiters> Block::waiting(std::span<const Lanes> alive) const {
  std::vector<FaultWaiters> out;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      if (!path.waits) continue;
      const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
      out.push_back({{{index_[0], index_[1], index_[2]}},
                     {warp->number()},
                     path.lanes == warp->alive() ? std::vector<int>() : block::lanes_of(path.lanes),
                     ptx::one_line(statement_of(grid_.program, step).text),
                     awaited(*warp, path, alive),
                     who(*warp, path).at});
    }
  return out;
}

void Block::report_missing(Warp& warp, const Path& path) {
  const Lanes missing = path.needs & ~path.lanes;
  Fault out = block::fault_of(who(warp, path),
                              {Errc::lanes_missing,
                               {},
                               fmt::format("lanes {} never reach it", ranges(block::lanes_of(missing))),
                               (warp.alive() & ~path.needs) == 0 ? "all lanes of the warp must execute it"
                                                                 : "all lanes of its mask must execute it"});
  out.lanes = block::lanes_of(missing);
  for (const Path& other : warp.paths()) {
    if (&other == &path || (other.lanes & missing) == 0) continue;
    out.other = FaultSide{warp.number_in_cluster(),
                          block::lanes_of(other.lanes & missing),
                          who(warp, other).at,
                          1,
                          0,
                          {},
                          {},
                          "they wait"};
    break;
  }
  fault(std::move(out));
}

// A path waits for the other warps of its warpgroup, and one of them does not come.
Fault Block::missing_warp(Warp& warp, const Path& path) const {
  const int first = warp.number() / block::kGroupWarps * block::kGroupWarps;
  std::vector<int> here;
  int absent = -1;
  for (int w = first; w < first + block::kGroupWarps; ++w) {
    const bool is_here =
        w < static_cast<int>(warps_.size()) &&
        std::ranges::any_of(warps_[static_cast<std::size_t>(w)]->paths(), [&](const Path& other) {
          return other.pc == path.pc && other.waits_for == Waits::warpgroup;
        });
    if (is_here)
      here.push_back(w);
    else if (absent < 0)
      absent = w;
  }
  const bool exists = absent < static_cast<int>(warps_.size());
  Warp* const other = exists ? warps_[static_cast<std::size_t>(absent)].get() : nullptr;
  const Path* const waits = other == nullptr || other->alive() == 0 ? nullptr : &other->paths().front();
  std::string what = fmt::format("there is no warp {}", absent);
  if (exists) what = fmt::format("warp {} has ended", absent);
  if (waits != nullptr) {
    const std::string_view text =
        statement_of(grid_.program, grid_.program.steps[static_cast<std::size_t>(waits->pc)]).text;
    what = fmt::format("{} by warp {}", text.substr(0, text.find_first_of(" \t\n;")), absent);
  }
  const bool at_barrier = waits != nullptr && waits->waits_for == Waits::barrier;
  const Errc code = waits == nullptr ? Errc::lanes_missing
                    : at_barrier     ? Errc::threads_diverge
                                     : Errc::lanes_disagree;
  Fault out = block::fault_of(
      who(warp, path),
      {code,
       {},
       fmt::format("executed by {} {}, but {}", here.size() == 1 ? "warp" : "warps", ranges(here), what),
       "all four warps of the warpgroup must execute it, at one place"});
  out.lanes = block::lanes_of(waits == nullptr ? kAllLanes : waits->lanes);
  if (waits != nullptr)
    out.other = FaultSide{async_.shared.first_warp() + absent, out.lanes, who(*other, *waits).at, 1, 0, {}, {},
                          fmt::format("warp {} waits", absent)};
  return out;
}

namespace {

// Whether some of these lanes wait for a barrier object, for registers or columns: who waits for them has no better reason.
bool any_waits(Warp& warp, Lanes lanes) {
  return std::ranges::any_of(warp.paths(), [&](const Path& path) {
    const bool waits =
        path.waits_for == Waits::test || path.waits_for == Waits::registers || path.waits_for == Waits::columns;
    return waits && (path.lanes & lanes) != 0;
  });
}

}  // namespace

bool Block::report_cause() {
  if (stuck_) {
    fault(*std::move(stuck_));
    return true;
  }
  // The first step of the program that lacks lanes.
  Warp* who_waits = nullptr;
  const Path* waits = nullptr;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (path.waits_for == Waits::none && path.waits && (waits == nullptr || path.pc < waits->pc) &&
          !any_waits(*warp, path.needs & ~path.lanes))
        who_waits = warp.get(), waits = &path;
  if (waits != nullptr) return report_missing(*who_waits, *waits), true;
  const auto group_waits = [&](const Warp& one) {
    return std::ranges::any_of(warps_, [&](const std::unique_ptr<Warp>& other) {
      return other->number() / block::kGroupWarps == one.number() / block::kGroupWarps &&
             any_waits(*other, kAllLanes);
    });
  };
  for (const std::unique_ptr<Warp>& one : warps_)
    for (const Path& path : one->paths())
      if (path.waits_for == Waits::warpgroup && !group_waits(*one))
        return fault(missing_warp(*one, path)), true;
  return false;
}

namespace {

bool is_without_arrival(const Path& path, const block::Mbarriers& mbarriers) {
  return mbarriers.places(path.awaited).size() == 1;  // its mbarrier.init alone
}

// What the object that is waited for lacks, if no one can bring it any more.
std::optional<block::Mbarriers::Cause> cause_of(const Path& path, const block::Mbarriers& mbarriers) {
  if (path.waits_for != Waits::test && !path.gives_up) return std::nullopt;
  return mbarriers.cause(path.awaited);
}

// Which of the waits says most: for registers and columns, at an object that lacks what no one can bring any more, for an object
// at which nobody has arrived.
int says(const Path& path, const block::Mbarriers& mbarriers) {
  const Waits waits = path.waits_for;
  if (waits == Waits::registers || waits == Waits::columns) return 4;
  if (cause_of(path, mbarriers)) return 3;
  return waits != Waits::test ? 0 : is_without_arrival(path, mbarriers) ? 2 : 1;
}

}  // namespace

std::uint64_t Block::changes() const {
  return cluster_.changes();
}

namespace {

// What a step has read in the last round of a loop; empty: it reads nothing that others write.
std::string read_by(Warp& warp, const Path& path, const Step& step) {
  const ptx::Does what = does(warp.program(), step);
  const int lane = std::countr_zero(path.lanes);
  const Place& to = step.place[0];
  if (what == ptx::Does::mbarrier && to.kind == Place::Kind::predicate)
    return warp.read(path, to, lane) == 0
               ? "it is false each time"
               : "it is true each time, for the phase is complete; a loop that waits "
                 "goes on while it is false";
  const bool loads = what == ptx::Does::load;
  if (!loads && what != ptx::Does::atomic) return {};
  const Place& first = loads ? warp.program().places[static_cast<std::size_t>(step.extra)].front() : to;
  if (first.kind != Place::Kind::reg) return {};
  return fmt::format("it reads {:#x} each time", warp.read(path, first, lane));
}

}  // namespace

// The steps from the one to which a path jumps back to the jump.
Fault Block::endless(Warp& warp, const Path& path, const std::vector<FaultWaiters>& waiting) const {
  const std::vector<Step>& steps = grid_.program.steps;
  const auto step = [&](int i) -> const Step& { return steps[static_cast<std::size_t>(i)]; };
  const auto line = [&](int i) { return statement_of(grid_.program, step(i)).position.line; };
  int at = path.pc;
  std::string reads;
  for (int i = path.pc; reads.empty() && i <= path.last_jump_back; ++i)
    if (reads = read_by(warp, path, step(i)); !reads.empty()) at = i;
  const int first = line(path.pc), last = line(path.last_jump_back);
  const std::string lines =
      first == last ? fmt::format("PTX line {}", first) : fmt::format("PTX lines {} to {}", first, last);
  Fault out =
      block::fault_of({warp.number_in_cluster() * kLanes, place(warp.site(step(at), path.stack))},
                      grid_.program.leads_out[static_cast<std::size_t>(path.pc)]
                          ? Error{Errc::threads_diverge,
                                  {},
                                  lines + " without an end, and no thread changes anything any more",
                                  reads.empty() ? "nothing ends the loop" : reads}
                          : Error{Errc::threads_diverge,
                                  {},
                                  lines + " without an end",
                                  "no branch leads out of the loop; the one back may lack its predicate"});
  out.lanes = block::lanes_of(path.lanes);
  out.waiting = waiting;
  return out;
}

bool Block::report_endless(const std::vector<FaultWaiters>& waiting) {
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      if (path.waits) continue;
      fault_ = located(endless(*warp, path, waiting));
      return true;
    }
  return false;
}

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
}

// The warps that have ended without an arrival at a barrier that counts threads.
std::vector<int> Block::missing_at(const Barrier& barrier) const {
  std::vector<int> out;
  for (std::size_t w = 0; barrier.threads != 0 && w < warps_.size(); ++w)
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

std::string_view warps_of(const std::vector<int>& all) {
  return all.size() == 1 ? "warp" : "warps";
}

}  // namespace

// What keeps a path at a named barrier: warps that have ended, more threads than there are, warps elsewhere.
std::string Block::missing_text(const Barrier& barrier, int number, const std::vector<int>& ended) const {
  const std::vector<int> elsewhere = at_another_barrier(warps_, number);
  const std::size_t threads = warps_.size() * static_cast<std::size_t>(kLanes);
  if (!ended.empty())
    return fmt::format("{} {} ha{} ended without it", warps_of(ended), ranges(ended),
                       ended.size() == 1 ? "s" : "ve");
  if (barrier.threads != 0 && static_cast<std::size_t>(barrier.threads) > threads)
    return fmt::format("the block has no more than {}", threads);
  if (barrier.threads != 0 && !elsewhere.empty())
    return fmt::format("{} {} wait{} at another barrier", warps_of(elsewhere), ranges(elsewhere),
                       elsewhere.size() == 1 ? "s" : "");
  return {};
}

// Of a path that waits for no barrier object, or for one that does not tell the cause.
Fault Block::deadlock_of(Warp& warp, const Path& path, const std::vector<FaultWaiters>& waiting) const {
  std::string cause, accepted;
  std::vector<int> missing;
  if (path.waits_for == Waits::barrier) {
    const Barrier& barrier = barriers_[static_cast<std::size_t>(path.barrier)];
    missing = missing_at(barrier);
    if (const std::string why = missing_text(barrier, path.barrier, missing); !why.empty()) {
      cause = fmt::format("barrier {} counts {} threads, and {} have come ({})", path.barrier, barrier.threads,
                          barrier.arrived, why);
      accepted =
          "as many threads must execute the barrier as it counts, or it must count only the threads that do";
    }
  }
  if (path.waits_for == Waits::test && nobody_begins(warps_, async_.mbarriers)) {
    cause = "each mbarrier that is waited for is in its first phase, and nobody has arrived there";
    accepted = fmt::format(
        "an arrival must come before one of these waits, or the first wait for a stage that is free{} must have parity 1 (a new "
        "mbarrier is as if the phase before its first one were complete)",
        fills_next(grid_.program, path.pc) ? ", as this one is," : "");
  } else if (path.waits_for == Waits::test && is_without_arrival(path, async_.mbarriers)) {
    cause = fmt::format("nobody has arrived in {}, its first one", async_.mbarriers.phase_text(path.awaited));
    accepted = "as many arrivals must come there as its mbarrier.init counts";
  }
  Fault out = block::deadlock(who(warp, path), std::move(cause), std::move(accepted), waiting);
  out.lanes = block::lanes_of(path.lanes);
  if (!missing.empty()) out.related.push_back(end_of(missing.front()));
  return out;
}

// The first of those that say most. Where nobody begins, it is the one whose threads would fill what the others wait for.
std::pair<Warp*, const Path*> Block::telling() const {
  std::pair<Warp*, const Path*> out = {};
  int most = -1;
  const bool none_begins = nobody_begins(warps_, async_.mbarriers);
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      const int tells =
          2 * says(path, async_.mbarriers) +
          (none_begins && path.waits_for == Waits::test && fills_next(grid_.program, path.pc) ? 1 : 0);
      if (tells > most) out = {warp.get(), &path}, most = tells;
    }
  return out;
}

int Block::tells() const {
  const Path* const path = telling().second;
  return path == nullptr ? -1 : says(*path, async_.mbarriers);
}

bool Block::report_deadlock(const std::vector<FaultWaiters>& waiting) {
  const auto [warp, path] = telling();
  if (path == nullptr) return false;
  const auto cause = cause_of(*path, async_.mbarriers);
  Fault out = cause ? block::deadlock(cause->who, cause->what, cause->accepted, waiting)
                    : deadlock_of(*warp, *path, waiting);
  if (cause) out.what = cause->label;
  add_awaited(out.related);
  for (const std::unique_ptr<Block>& block : cluster_.blocks()) block->add_awaited(out.related);
  const auto is_told = [&](const FaultSide& one) { return one.at == out.at; };  // as the cause
  std::erase_if(out.related, is_told);
  fault(std::move(out));
  return true;
}

}  // namespace warpbit::grid
