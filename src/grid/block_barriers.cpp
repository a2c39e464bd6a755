// SPDX-License-Identifier: Apache-2.0
// The barriers of a block: who has arrived, what they order, who is missing.
#include "grid/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "async/cluster.hpp"
#include "grid/steps.hpp"
#include "ptx/source.hpp"

namespace warpbit::grid {
namespace {

std::string threads(std::uint32_t count) {
  return count == 0 ? "all threads" : fmt::format("{} threads", count);
}

}  // namespace

// In whole warps.
std::uint32_t Block::expected(std::uint32_t threads) const {
  return threads == 0 ? static_cast<std::uint32_t>(warps_.size()) * kLanes : threads;
}

// PTX manual, "barrier": threads are counted "in multiple of warp size".
std::uint32_t Block::counted(Barrier::OfWarp& of, std::size_t warp, Lanes lanes, bool is_aligned) const {
  if (is_aligned) return kLanes;
  const Lanes all = lanes_of(warp);
  of.part |= lanes;
  if ((all & ~of.part) != 0) return static_cast<std::uint32_t>(lanes_in(lanes));
  of.part = 0;
  return static_cast<std::uint32_t>(lanes_in(lanes | ~all));
}

// One of all threads waits for none that has ended.
bool Block::complete(const Barrier& barrier) const {
  bool all = barrier.threads == 0;
  for (std::size_t w = 0; all && w < warps_.size(); ++w)
    all = (warps_[w]->alive() & ~barrier.warps[w].here) == 0;
  return all || barrier.arrived >= expected(barrier.threads);
}

// What comes before each arrival is ordered before what follows the waits. A barrier with a thread count orders no warp that
// has ended.
void Block::order(const Barrier& barrier, int number) {
  block::Shared& shared = async_.shared;
  Lanes none = 0;
  std::vector<Lanes> waiting(warps_.size(), none);
  bool all = true;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    for (const Path& path : warps_[w]->paths())
      if (path.waits_for == Waits::barrier && path.barrier == number) waiting[w] |= path.lanes;
    const Lanes alive = warps_[w]->alive();
    all = all && waiting[w] == alive && (alive != 0 || barrier.threads == 0);
  }
  if (all) {
    if (barrier.threads == 0 && is_told(KernelRule::barriers_out_of_step)) note_apart();
    met_at_.assign(warps_.size(), -1);
    for (std::size_t w = 0; w < warps_.size(); ++w)
      if (waiting[w] != 0)
        met_at_[w] = grid_.program.steps[static_cast<std::size_t>(warps_[w]->paths().front().pc)].statement;
    return shared.barrier();
  }
  std::uint32_t here = 0;
  for (std::size_t w = 0; w < warps_.size(); ++w) here |= std::uint32_t{barrier.warps[w].here != 0} << w;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (path.waits_for == Waits::barrier && path.barrier == number)
        note_meeting(warp->number(), {who(*warp, path).at, kAllLanes, here, number});
  block::Knowledge together = barrier.released;
  for (std::size_t w = 0; w < warps_.size(); ++w)
    if (const Lanes lanes = barrier.warps[w].deferred; lanes != 0)
      shared.release(static_cast<int>(w), lanes, together);
  for (std::size_t w = 0; w < warps_.size(); ++w)
    if (waiting[w] != 0) shared.acquire(static_cast<int>(w), together);
}

// Where each warp is that waits, if they are not all at one place.
void Block::note_apart() {
  const Path* first = nullptr;
  const auto is_elsewhere = [&](const Path& path) {
    if (first == nullptr) first = &path;
    return path.pc != first->pc || path.stack != first->stack;
  };
  if (std::ranges::none_of(warps_,
                           [&](const auto& warp) { return std::ranges::any_of(warp->paths(), is_elsewhere); }))
    return;
  const auto at = [](const std::unique_ptr<Warp>& warp) { return who(*warp, warp->paths().front()).at; };
  std::vector<std::pair<int, block::Place>> all;
  for (const std::unique_ptr<Warp>& warp : warps_)
    if (warp->paths().size() == 1) all.emplace_back(warp->number(), at(warp));
  for (const auto& [warp, mine] : all)
    for (const auto& [other, others] : all)
      if (mine != others) apart_[{warp, mine.line}].try_emplace(other, others);
}

// The fault of a path at a barrier that a warp which has ended cannot execute.
Fault Block::after_end(const Warp& warp, const Path& path, int left, KernelRule rule, std::string seen,
                       std::string accepted) const {
  const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
  Fault out = block::fault_of(who(warp, step, 0),
                              {Errc::threads_diverge, {}, std::move(seen), std::move(accepted)}, rule);
  out.lanes = block::lanes_of(path.lanes);
  out.other = end_of(left);
  return out;
}

// Copies of a barrier by an unrolled loop are at one line.
bool Block::is_one_line(const block::Place& x, const block::Place& y) const {
  const Origin &one = origin_at(grid_.program, x), &other = origin_at(grid_.program, y);
  if (&one == &other) return false;  // by different calls
  const auto lines = [&](const Origin& of) {
    return own_lines(chain_of(*grid_.program.module, *of.function, statement_of(of)));
  };
  const std::string own = lines(one);
  return !own.empty() && own == lines(other);
}

// A warp that has ended has executed this barrier when the warp of the path was at another one: one of them has made more rounds
// of a loop than the other. False after that.
bool Block::check_step(const Warp& warp, const Path& path) {
  const block::Place here = who(warp, path).at;
  for (const std::unique_ptr<Warp>& left : warps_) {
    if (left->alive() != 0) continue;
    const auto met = apart_.find({left->number(), here.line});
    if (met == apart_.end()) continue;
    const auto mine = met->second.find(warp.number());
    if (mine == met->second.end() || is_one_line(here, mine->second)) continue;
    Fault out = after_end(
        warp, path, left->number(), KernelRule::barriers_out_of_step,
        fmt::format(
            "warp {} comes to it when warp {} has ended, and warp {} executed it when warp {} was at another barrier",
            warp.number(), left->number(), left->number(), warp.number()),
        "warps must execute a barrier equally often, and a loop around it must have as many rounds in each of them");
    out.related.push_back(std::move(*out.other));
    out.other = block::side_of_warp({warp.number_in_cluster() * kLanes, mine->second},
                                    fmt::format("was here when warp {} executed that barrier", left->number()));
    allows(std::move(out));
    return false;
  }
  return true;
}

// A GPU waits for no thread that has ended. One that has never come may have had nothing to do.
void Block::check_ended(int number, const Barrier& barrier) {
  if (barrier.threads != 0) return;
  const auto waits = [&](const Path& path) {
    return path.waits_for == Waits::barrier && path.barrier == number;
  };
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (const Path& path : warp->paths())
      if (!apart_.empty() && waits(path) && !check_step(*warp, path)) return;
  for (const auto& [left, last] : came_[static_cast<std::size_t>(number)]) {
    if (warps_[static_cast<std::size_t>(left)]->alive() != 0) continue;
    for (const std::unique_ptr<Warp>& warp : warps_)
      if (const auto path = std::ranges::find_if(warp->paths(), waits); path != warp->paths().end()) {
        Fault out = after_end(
            *warp, *path, left, KernelRule::barrier_after_end,
            fmt::format(
                "warp {} has ended and cannot execute it (a barrier without a count of threads is for all "
                "threads of the block)",
                left),
            fmt::format(
                "warp {} must execute it before it ends, or this barrier must count the threads that still come",
                left));
        out.related.push_back(
            block::side_of_warp(last, fmt::format("the last barrier {} of warp {}", number, left)));
        return void(allows(std::move(out)));
      }
  }
}

FaultSide Block::end_of(int warp) const {
  const Warp& of = *warps_[static_cast<std::size_t>(warp)];
  if (of.left_by() >= 0)
    return block::side_of_warp({of.number_in_cluster() * kLanes, place(of.left_by())},
                               fmt::format("warp {} branches to its end", warp));
  return block::side_of_warp(ended_[static_cast<std::size_t>(warp)], fmt::format("warp {} ends", warp));
}

void Block::release(int number, Barrier& barrier) {
  check_ended(number, barrier);
  order(barrier, number);
  note_phase(number, barrier);
  ++checked.barriers;
  bool any_waits = false;
  for (const std::unique_ptr<Warp>& warp : warps_)
    for (Path& path : warp->paths()) {
      if (path.waits_for != Waits::barrier || path.barrier != number) continue;
      const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
      const Place& to = step.place[0];
      if (to.kind == Place::Kind::predicate) {
        const bool any = barrier.reduction == Reduction::any;
        const bool holds = any ? barrier.predicates > 0 : barrier.predicates == barrier.lanes;
        warp->set(path, to, path.lanes, holds ? kAllLanes : 0);
      } else if (to.exists()) {
        for_each_lane(path.lanes, [&](int lane) { warp->write(path, to, lane, barrier.predicates); });
      }
      path.waits_for = Waits::none;
      path.waits = false;
      ++path.pc;
      moved_ = any_waits = true;
      if (watch_ && watch_->timeline() != nullptr)
        watch_->timeline()->release(warp->number(), path.lanes, async_.shared.cluster().actor);
    }
  if (!any_waits) note_unawaited(number, barrier);
  async_.cluster.happened();
  barrier = {std::vector<Barrier::OfWarp>(warps_.size())};
}

// Lanes of a warp that arrive one after the other do so once.
void Block::note_arrival(Barrier::OfWarp& of, const Warp& warp, const Path& path, Lanes lanes, int number) {
  const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
  of.at = who(warp, step, 0).at;
  if (of.arrivals != 0 && (of.here & lanes) == 0) return;
  ++of.arrivals;
  Arrivals& all = arrived_[static_cast<std::size_t>(number)][warp.number()];
  ++all.times;
  all.last = of.at;
}

// Who has arrived several times may have completed the phase in the place of others, who come for it only now.
void Block::note_unawaited(int number, const Barrier& barrier) {
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    if (barrier.warps[w].arrivals < 2) continue;
    Arrivals& of = arrived_[static_cast<std::size_t>(number)][static_cast<int>(w)];
    of.most = barrier.warps[w].arrivals;
    of.at_most = {(async_.shared.first_warp() + static_cast<int>(w)) * kLanes, barrier.warps[w].at};
  }
}

// Before its paths go on. Of a phase in which a warp arrives twice nothing is noted: that is the mistake, if there is one.
void Block::note_phase(int number, const Barrier& barrier) {
  std::vector<InPhase>& all = in_phase_[static_cast<std::size_t>(number)];
  all.clear();
  if (std::ranges::any_of(barrier.warps, [](const Barrier::OfWarp& of) { return of.arrivals > 1; })) return;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const Barrier::OfWarp& of = barrier.warps[w];
    if (of.here == 0) continue;
    const Warp& warp = *warps_[w];
    const auto waits = [&](const Path& path) {
      return path.waits_for == Waits::barrier && path.barrier == number;
    };
    const auto path = std::ranges::find_if(warps_[w]->paths(), waits);
    const bool has_waited = path != warps_[w]->paths().end();
    const block::Who at = has_waited ? who(warp, *path) : block::Who{warp.number_in_cluster() * kLanes, of.at};
    all.push_back({at, has_waited ? async_.shared.order().clock(at.thread) : of.clock, has_waited});
  }
}

// Whether the end of the last phase of a barrier comes before the thread's action: somebody's who has waited there, or all arrivals
// are known to it.
bool Block::is_behind_phase(int number, int thread) const {
  const block::Order& order = async_.shared.order();
  const auto knows = [&](const InPhase& one) {
    return order.before(one.who.thread, one.clock, thread) ||
           order.nearly_before(one.who.thread, one.clock, thread) ||
           order.is_open(one.who.thread, one.clock, thread);
  };
  const std::vector<InPhase>& all = in_phase_[static_cast<std::size_t>(number)];
  return std::ranges::all_of(all, knows) ||
         std::ranges::any_of(all, [&](const InPhase& one) { return one.has_waited && knows(one); });
}

// A warp that was not in the last phase of a barrier may come to it earlier, if nothing orders that.
bool Block::check_phase(const Warp& warp, const Path& path, Lanes lanes, int number, std::uint32_t threads) {
  const block::Who me = who(warp, path);
  const std::vector<InPhase>& all = in_phase_[static_cast<std::size_t>(number)];
  if (std::ranges::any_of(all, [&](const InPhase& one) { return one.who.thread == me.thread; }) ||
      is_behind_phase(number, me.thread + std::countr_zero(lanes)))
    return true;
  std::vector<int> warps;
  for (const InPhase& one : all) warps.push_back(one.who.thread / kLanes - async_.shared.first_warp());
  Fault out = block::fault_of(
      me,
      {Errc::barrier_misused,
       {},
       fmt::format(
           "barrier {} counts {} threads, {} {} there, and nothing orders that before warp {} comes, which "
           "may meet one of them instead",
           number, threads, block::warps_text(warps), warps.size() == 1 ? "was" : "have met", warp.number()),
       "it must count the threads of all warps that come to it, or warps that meet without these must use another one"},
      KernelRule::barrier_of_other_warps);
  out.lanes = block::lanes_of(lanes);
  out.other = block::side_of_warp(all.front().who, fmt::format("the last phase of barrier {}", number));
  return allows(std::move(out));
}

std::optional<Error> Block::misused(const Arrival& arrival) const {
  const Barrier& barrier = barriers_[static_cast<std::size_t>(arrival.barrier)];
  const auto error = [&](std::string seen, std::string accepted) {
    return Error{Errc::barrier_misused, {}, std::move(seen), std::move(accepted)};
  };
  if (!barrier.in_use) return std::nullopt;
  if (expected(barrier.threads) != expected(arrival.threads))
    return error(
        fmt::format("barrier {} for {}", arrival.barrier, threads(arrival.threads)),
        fmt::format(
            "its first arrival was for {}, and all of a phase must count the same threads, or those who "
            "meet apart must use another barrier{}",
            threads(barrier.threads), arrival.barrier == 0 ? " (__syncthreads is barrier 0)" : ""));
  if ((barrier.reduction == Reduction::none) != (arrival.reduction == Reduction::none))
    return error(fmt::format("barrier {} with and without .red", arrival.barrier),
                 "all warps that meet there must have it, or none");
  return std::nullopt;
}

Next Block::arrive(Warp& warp, Path& path, Lanes lanes, const Arrival& arrival) {
  if (auto error = misused(arrival)) return warp.fault(path, lanes, *std::move(error));
  Barrier& barrier = barriers_[static_cast<std::size_t>(arrival.barrier)];
  const auto number = static_cast<std::size_t>(warp.number());
  Barrier::OfWarp& of = barrier.warps[number];
  if (arrival.threads != 0 && of.here == 0 && checks() &&
      !check_phase(warp, path, lanes, arrival.barrier, arrival.threads))
    return Next::end;
  if (!arrival.waits) note_arrival(of, warp, path, lanes, arrival.barrier);
  of.clock = async_.shared.order().clock(warp.number_in_cluster() * kLanes);
  of.here |= lanes;
  barrier.arrived += counted(of, number, lanes, arrival.is_aligned);
  barrier.threads = barrier.in_use ? std::min(barrier.threads, arrival.threads) : arrival.threads;
  barrier.reduction = arrival.reduction;
  barrier.predicates += static_cast<std::uint32_t>(lanes_in(arrival.predicate & lanes));
  barrier.lanes += static_cast<std::uint32_t>(lanes_in(lanes));
  barrier.in_use = true;
  if (arrival.threads == 0 && is_told(KernelRule::barrier_after_end)) {
    const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
    came_[static_cast<std::size_t>(arrival.barrier)].insert_or_assign(warp.number(), who(warp, step, 0));
  }
  const Lanes all = arrival.is_aligned ? kAllLanes : lanes;  // an aligned one is of the whole warp
  if (arrival.waits && lanes == warp.alive())
    of.deferred |= all;
  else
    async_.shared.release(warp.number(), all, barrier.released);
  if (arrival.waits) {
    warp.keep(path, lanes);
    path.waits_for = Waits::barrier;
    path.barrier = arrival.barrier;
    path.waits = true;
  }
  const bool done = complete(barrier);
  if (done) release(arrival.barrier, barrier);
  if (!arrival.waits) return Next::step;
  return done ? Next::moved : Next::wait;
}

// The paths of the four warps at this step.
Next Block::meet_group(Warp& warp, Path& path, const Step& step) {
  path.waits = true;
  path.waits_for = Waits::warpgroup;
  std::vector<steps::Gathered> all;
  const int first = warp.number() / 4 * 4;
  for (int w = first; w < first + 4 && w < static_cast<int>(warps_.size()); ++w)
    for (Path& other : warps_[static_cast<std::size_t>(w)]->paths())
      if (other.pc == path.pc && other.waits_for == Waits::warpgroup)
        all.push_back({warps_[static_cast<std::size_t>(w)].get(), &other, &step});
  if (all.size() < 4) return Next::wait;
  for (const steps::Gathered& one : all) {
    one.path->waits = false;
    one.path->waits_for = Waits::none;
  }
  if (steps::tensor_group(all) == Next::end) return Next::end;
  for (const steps::Gathered& one : all) ++one.path->pc;
  moved_ = true;
  async_.cluster.happened();
  return Next::moved;
}

// Lanes that have ended may complete one.
void Block::check_barriers() {
  for (std::size_t i = 0; i < barriers_.size(); ++i)
    if (barriers_[i].in_use && complete(barriers_[i])) release(static_cast<int>(i), barriers_[i]);
}

}  // namespace warpbit::grid
