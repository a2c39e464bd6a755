// SPDX-License-Identifier: Apache-2.0
// Who waits for what, where no thread can go on: lanes and warps that are missing, deadlocks, loops without an end.
#include "grid/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

#include "api/checks.hpp"
#include "async/tensor.hpp"
#include "grid/cluster.hpp"
#include "grid/written.hpp"
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
    case Waits::turn:
      return "its turn: threads that wait for this mbarrier, whose phase is complete, go on before it may arrive";
    case Waits::test: return async_.mbarriers.awaited(path.awaited, warp.number_in_cluster());
    case Waits::columns:
      return async::awaited(cluster_.blocks()[static_cast<std::size_t>(rank_)]->async(),
                            static_cast<std::uint32_t>(path.awaited));
    case Waits::barrier:
      return fmt::format("barrier {}: {}", path.barrier,
                         awaited(barriers_[static_cast<std::size_t>(path.barrier)]));
    case Waits::cluster: return cluster_.async().barrier.awaited(alive);
    case Waits::registers: return registers_->lacking(warp.number(), wanted_registers(path));
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
  Fault out = block::fault_of(
      who(warp, path),
      {Errc::lanes_missing,
       {},
       fmt::format("{} never {} it", block::lanes_text(missing),
                   std::has_single_bit(missing) ? "reaches" : "reach"),
       path.mask == 0 ? "all lanes of the warp must execute it"
                      : fmt::format("all lanes that its mask {:#010x} names must execute it", path.mask)});
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

// For a barrier object, for registers or columns: who waits for such lanes has no better reason.
bool waits_elsewhere(const Path& path) {
  return path.waits_for == Waits::test || path.waits_for == Waits::registers ||
         path.waits_for == Waits::columns;
}

}  // namespace

// Whether lanes that a path waits for wait for something else on their way to it.
bool Block::may_come(Warp& warp, const Path& path) const {
  const auto is_on_its_way = [&](const Path& other) {
    const block::Place from = who(warp, other).at, to = who(warp, path).at;
    const auto function = [&](const block::Place& at) { return origin_at(grid_.program, at).function; };
    return function(from) != function(to) || leads(from, to);
  };
  return std::ranges::any_of(warp.paths(), [&](const Path& other) {
    return (other.lanes & path.needs & ~path.lanes) != 0 && waits_elsewhere(other) && is_on_its_way(other);
  });
}

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
          !may_come(*warp, path))
        who_waits = warp.get(), waits = &path;
  if (waits != nullptr) return report_missing(*who_waits, *waits), true;
  const auto group_waits = [&](const Warp& one) {
    return std::ranges::any_of(warps_, [&](const std::unique_ptr<Warp>& other) {
      return other->number() / block::kGroupWarps == one.number() / block::kGroupWarps &&
             std::ranges::any_of(other->paths(), waits_elsewhere);
    });
  };
  for (const std::unique_ptr<Warp>& one : warps_)
    for (const Path& path : one->paths())
      if (path.waits_for == Waits::warpgroup && !group_waits(*one))
        return fault(missing_warp(*one, path)), true;
  return false;
}

std::uint64_t Block::changes() const {
  return cluster_.changes();
}

namespace {

// Whether a register is written by one of some steps: in its slot another one may lie there.
bool is_written(const Program& program, const Place& place, std::span<const Step> by) {
  const auto end = [](const Place& of) { return of.slot + (of.bits <= 32 ? 1U : of.bits / 32U); };
  return std::ranges::any_of(by, [&](const Step& step) {
    bool out = false;
    for_each_use(program, step, [&](const Place& one, Use use) {
      out = out ||
            (use == Use::result && one.kind == place.kind && one.slot < end(place) && place.slot < end(one));
    });
    return out;
  });
}

// What a step has read in the last round of a loop, before the others of it; empty: it reads nothing that others write.
std::string read_by(Warp& warp, const Path& path, const Step& step, std::span<const Step> others) {
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
  if (is_written(warp.program(), first, others)) return "it reads the same each time";
  return fmt::format("it reads {:#x} each time", warp.read(path, first, lane));
}

}  // namespace

// The steps from the one to which a path jumps back to the jump.
Fault Block::endless(Warp& warp, const Path& path, const std::vector<FaultWaiters>& waiting) const {
  const std::vector<Step>& steps = grid_.program.steps;
  const auto step = [&](int i) -> const Step& { return steps[static_cast<std::size_t>(i)]; };
  const auto line = [&](int i) { return statement_of(grid_.program, step(i)).position.line; };
  const auto behind = [&](int i) {
    return std::span(steps).subspan(static_cast<std::size_t>(i + 1),
                                    static_cast<std::size_t>(path.last_jump_back - i));
  };
  int at = path.pc;
  std::string reads;
  for (int i = path.pc; reads.empty() && i <= path.last_jump_back; ++i)
    if (reads = read_by(warp, path, step(i), behind(i)); !reads.empty()) at = i;
  const int first = line(path.pc), last = line(path.last_jump_back);
  const std::string loop =
      fmt::format("the loop at PTX {} has no end",
                  first == last ? fmt::format("line {}", first) : fmt::format("lines {} to {}", first, last));
  Fault out = block::fault_of(
      {warp.number_in_cluster() * kLanes, place(warp.site(step(at), path.stack))},
      grid_.program.leads_out[static_cast<std::size_t>(path.pc)]
          ? Error{Errc::threads_diverge,
                  {},
                  loop + ", and no thread changes anything any more",
                  reads.empty() ? "nothing ends the loop" : reads}
          : Error{Errc::threads_diverge,
                  {},
                  loop,
                  "no branch leads out of it: the one back may lack its predicate, or the compiler has "
                  "read what its condition names before it (volatile or an atomic keeps that within)"});
  out.lanes = block::lanes_of(path.lanes);
  out.waiting = waiting;
  return out;
}

bool Block::report_endless(const std::vector<FaultWaiters>& waiting) {
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths()) {
      if (path.waits) continue;
      wanted_lock_ = awaited_lock(*warp, path);
      fault_ = located(endless(*warp, path, waiting));
      return true;
    }
  return false;
}

}  // namespace warpbit::grid
