// SPDX-License-Identifier: Apache-2.0
#include "block/order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace warpbit::block {
namespace {

// What fences of one of these warps have released, flags of all of them release behind a barrier: it has been performed. What
// flags have told one of them, it has told the others.
template <class Fences>
void share_fenced(Fences& fences, std::span<const int> warps) {
  if (fences.empty()) return;
  for (std::size_t s = 0; s < kScopes; ++s) {
    Known all, last;
    bool alike = true;
    for (const int warp : warps)
      for (const Known& one : fences[static_cast<std::size_t>(warp)].before[s]) {
        alike = alike && one == fences[static_cast<std::size_t>(warps.front())].before[s].front();
        if (!one || one == last) continue;
        last = one;
        Knowledge both = all ? *all : Knowledge();
        both.join(*one);
        all = all ? std::make_shared<const Knowledge>(std::move(both)) : one;
      }
    if (alike) continue;
    for (const int warp : warps) fences[static_cast<std::size_t>(warp)].before[s].fill(all);
  }
  Far told;
  for (const int warp : warps) {
    const auto& one = fences[static_cast<std::size_t>(warp)];
    told.join(one.behind_sc);
    told.join(one.told_sc);
  }
  if (told.empty()) return;
  for (const int warp : warps) fences[static_cast<std::size_t>(warp)].told_sc = told;
}

}  // namespace

Order::Order(int threads)
    : threads_((threads + kWarp - 1) / kWarp * kWarp),
      clock_(index(threads_)),
      barrier_(index(threads_)),
      known_(index(threads_) * index(kWarp)),
      fenced_barrier_(index(threads_)),
      fenced_(known_.size()),
      fence_known_(index(threads_)) {}

int Order::add_agent(bool by_fences) {
  for (Clocks* one : {&clock_, &barrier_, &fenced_barrier_}) one->push_back(0);
  is_pair_.push_back(0);
  by_fences_.push_back(by_fences ? 1 : 0);
  need_warps();
  for (Knowledge& one : of_warps_) one.known.resize(clock_.size()), one.fenced.resize(clock_.size());
  return static_cast<int>(clock_.size()) - 1;
}

int Order::add_pair() {
  const int first = add_agent();
  (void)add_agent();
  is_pair_[index(first - threads_)] = 1;
  return first;
}

void Order::need_warps() {
  if (!of_warps_.empty()) return;
  const Clocks none(clock_.size());
  of_warps_.assign(index(threads_ / kWarp), {none, none, {}, {}});
}

void Order::need_fences() {
  need_warps();
  if (fences_.empty()) fences_.resize(of_warps_.size());
}

std::uint32_t Order::tick(int warp) {
  const auto first = clock_.begin() + std::ptrdiff_t{warp} * kWarp;
  const std::uint32_t out = *first + 1;
  std::fill_n(first, kWarp, out);
  return out;
}

bool Order::knows_of(int first, int count, int me) const {
  for (int thread = first; thread < first + count; ++thread)
    if (before(thread, 0, me)) return true;
  return false;
}

void Order::fence(int warp, std::uint32_t lanes) {
  any_fence_ = true;
  const std::uint32_t now = tick(warp);
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const int thread = warp * kWarp + lane;
    fence_known_[index(thread)] = 1;
    for (int other = 0; other < kWarp; ++other) {
      std::uint32_t& fenced = fenced_[index(thread * kWarp + other)];
      fenced = std::max(fenced, known(thread, other));
    }
    fenced_[index(thread * kWarp + lane)] = now;
  }
  if (!of_warps_.empty()) join(of_warp(warp).fenced, of_warp(warp).known);
}

// What agents have done and some thread knows.
void Order::share_agents() {
  for (const Knowledge& one : of_warps_)
    for (std::size_t i = index(threads_); i < clock_.size(); ++i)
      barrier_[i] = std::max(barrier_[i], one.known[i]);
  for (std::size_t i = 0; i < is_pair_.size(); ++i)
    if (is_pair_[i] != 0) {
      std::uint32_t& first = barrier_[index(threads_) + i];
      first = std::min(first, barrier_[index(threads_) + i + 1]);
    }
}

// What some thread knows of other clusters.
void Order::share_far() {
  if (!cluster_) return;
  Far far;
  NearlyKnown nearly;
  Hints hints;
  for (const Knowledge& one : of_warps_) {
    far.join(one.far);
    hints.join(one.hints);
    for (const Nearly& of : one.nearly)
      if (!of.far.empty()) nearly.add({{}, of.far, of.flaw, of.others});
  }
  for (Knowledge& one : of_warps_) {
    one.far = far;
    one.nearly.join(nearly);
    one.hints = hints;
  }
}

void Order::share_fences() {
  const bool crossed = std::ranges::find(fence_known_, 1) != fence_known_.end();
  for (int me = 0; me < threads_; ++me) {
    if (crossed) fenced_barrier_[index(me)] = std::max(fenced_barrier_[index(me)], barrier_[index(me)]);
    for (int lane = 0; lane < kWarp; ++lane) {
      std::uint32_t& other = fenced_barrier_[index(me / kWarp * kWarp + lane)];
      other = std::max(other, fenced_[index(me * kWarp + lane)]);
    }
  }
  std::ranges::fill(fence_known_, std::uint8_t{0});
  any_fence_ = false;
}

void Order::barrier() {
  if (any_fence_) share_fences();
  for (const Knowledge& one : of_warps_) join(fenced_barrier_, one.fenced);
  share_agents();
  share_far();
  apart_.clear();
  std::vector<int> warps(fences_.size());
  std::iota(warps.begin(), warps.end(), 0);
  share_fenced(fences_, warps);
  for (std::size_t i = 0; i < index(threads_); ++i) barrier_[i] = ++clock_[i];
}

namespace {

template <class Visit>
void for_each_of(std::uint32_t lanes, Visit visit) {
  for (; lanes != 0; lanes &= lanes - 1) visit(std::countr_zero(lanes));
}

}  // namespace

// Rows of a warp, of the threads that meet: each gets the maximum of all.
void Order::share_rows(Clocks& rows, int warp, std::uint32_t lanes) {
  const auto row = [&](int lane) { return rows.begin() + (std::ptrdiff_t{warp} * kWarp + lane) * kWarp; };
  std::array<std::uint32_t, kWarp> together{};
  for_each_of(lanes, [&](int lane) {
    std::transform(together.begin(), together.end(), row(lane), together.begin(),
                   [](std::uint32_t x, std::uint32_t y) { return std::max(x, y); });
  });
  for_each_of(lanes, [&](int lane) { std::ranges::copy(together, row(lane)); });
}

void Order::sync_warp(int warp, std::uint32_t lanes) {
  const std::uint32_t now = tick(warp);
  join_apart(warp, lanes);
  const auto first = known_.begin() + std::ptrdiff_t{warp} * kWarp * kWarp;
  if (lanes == kAllLanes) {  // each knows all that the others have done
    std::fill_n(first, kWarp * kWarp, now);
  } else {
    for_each_of(lanes, [&](int lane) { first[lane * kWarp + lane] = now; });
    share_rows(known_, warp, lanes);
  }
  if (!any_fence_) return;  // all fences are known to everybody
  share_rows(fenced_, warp, lanes);
  std::uint8_t known = 0;
  for_each_of(lanes, [&](int lane) { known |= fence_known_[index(warp * kWarp + lane)]; });
  for_each_of(lanes, [&](int lane) { fence_known_[index(warp * kWarp + lane)] = known; });
}

void Order::path(int warp, std::uint32_t lanes) {
  if (paths_.empty()) paths_.resize(index(threads_));
  if (lanes != kAllLanes) used(warp);
  const std::uint32_t now = tick(warp);
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::size_t thread = index(warp * kWarp + std::countr_zero(rest));
    std::array<Path, kPaths>& of = paths_[thread];
    std::shift_right(of.begin(), of.end(), 1);
    of.front() = {now, lanes};
  }
}

bool Order::were_together(int thread, std::uint32_t clock, int other) const {
  if (thread / kWarp != other / kWarp) return false;
  if (paths_.empty()) return true;
  const std::array<Path, kPaths>& of = paths_[index(thread)];
  const auto then = std::ranges::find_if(of, [&](const Path& one) { return one.since <= clock; });
  return then != of.end() && (then->lanes >> other % kWarp & 1) != 0;
}

int Order::told_by_lane(int thread, std::uint32_t clock, int me) const {
  const int first = thread / kWarp * kWarp, end = std::min(first + kWarp, threads_);
  for (int other = first; other < end; ++other)
    if (other != me && were_together(thread, clock, other) && before(other, clock, me)) return other;
  return -1;
}

void Order::used(int warp) {
  if (used_.empty()) {
    used_.resize(index(threads_ / kWarp));
    meetings_.resize(used_.size());
  }
  used_[index(warp)] = 1;
}

void Order::remember_meeting(int warp, std::uint32_t lanes) {
  std::array<Met, kMeetings>& of = meetings_[index(warp)];
  std::shift_left(of.begin(), of.end(), 1);
  of.back() = {tick(warp), lanes};
  if (lanes == kAllLanes) used_[index(warp)] = 0;
}

bool Order::has_met(int thread, std::uint32_t clock, int me) const {
  if (meetings_.empty() || thread >= threads_) return false;  // an agent meets nobody
  std::uint32_t behind = std::uint32_t{1} << thread % kWarp;  // lanes that have met it, or who has
  for (const Met& one : meetings_[index(thread / kWarp)]) {
    if (one.since <= clock || (one.lanes & behind) == 0) continue;
    behind |= one.lanes;
    for (const int lane : lanes_of(one.lanes))
      if (before(thread / kWarp * kWarp + lane, one.since, me)) return true;
  }
  return false;
}

// Everybody knows what came before the last barrier: `known` leaves it out. Whether it is fenced, not everybody knows.
void Order::release(int warp, std::uint32_t lanes, Knowledge& into) {
  need_warps();
  into.join(of_warp(warp));
  const std::uint32_t now = tick(warp);
  for (std::size_t i = 0; i < is_pair_.size(); ++i) {
    if (is_pair_[i] == 0) continue;
    std::uint32_t &one = into.known[index(threads_) + i], &other = into.known[index(threads_) + i + 1];
    one = other = std::max(one, other);
  }
  const bool fences = any_fence_;  // else all fences are known to everybody
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const int thread = warp * kWarp + lane;
    if (fences && fence_known_[index(thread)] != 0) join(into.fenced, barrier_);
    const auto of_lanes = [&](Clocks& clocks, const Clocks& from) {
      for (int other = 0; other < kWarp; ++other) {
        std::uint32_t& clock = clocks[index(warp * kWarp + other)];
        clock = std::max(clock, from[index(thread * kWarp + other)]);
      }
    };
    if (lanes != kAllLanes) of_lanes(into.known, known_);
    if (fences) of_lanes(into.fenced, fenced_);
    into.known[index(thread)] = now;
  }
}

void Order::acquire(int warp, const Knowledge& from) {
  need_warps();
  of_warp(warp).join(from);
  if (!apart_.empty()) apart_[index(warp)] = {};
}

// By flags, which these lanes alone have read.
void Order::acquire_by(int warp, std::uint32_t lanes, const Knowledge& from, const Flaw& flag) {
  need_warps();
  if (!from.far.empty()) {
    if (apart_.empty()) apart_.resize(of_warps_.size());
    Apart& apart = apart_[index(warp)];
    if (apart.lanes == 0) {
      apart.before = of_warp(warp).far;
      apart.flag = flag;
      apart.flag.kind = Flaw::Kind::lanes;
      apart.flag.read.lacks = apart.flag.write.lacks = false;
    }
    apart.lanes |= lanes;
  }
  of_warp(warp).join(from);
}

Knowledge Order::nearly_release(int warp, std::uint32_t lanes, Knowledge& into, const Flaw& flaw) {
  Knowledge all;
  release(warp, lanes, all);
  into.join_nearly(all, flaw);
  return all;
}

void Order::nearly_acquire(int warp, const Knowledge& from, const Flaw& flaw) {
  need_warps();
  of_warp(warp).join_nearly(from, flaw);
}

Knowledge Order::of_agents(Knowledge from) const {
  std::fill_n(from.known.begin(), std::min(from.known.size(), index(threads_)), 0);
  from.nearly = {};
  return from;
}

void Order::release_relaxed(int warp, std::uint32_t lanes, Knowledge& into, Scope reach) const {
  if (of_warps_.empty()) return;
  if (into.known.size() < clock_.size()) into.known.resize(clock_.size());
  for (std::size_t i = index(threads_); i < clock_.size(); ++i)
    if (by_fences_[i - index(threads_)] != 0) into.known[i] = std::max(into.known[i], of_warp(warp).known[i]);
  if (const Known known = before_fence(warp, lanes, reach)) into.join(*known);
}

void Order::acquire_relaxed(int warp, const Knowledge& from, Scope reach) {
  if (of_warps_.empty()) return;
  for (std::size_t i = index(threads_); i < from.known.size(); ++i)
    if (by_fences_[i - index(threads_)] != 0)
      of_warp(warp).known[i] = std::max(of_warp(warp).known[i], from.known[i]);
  need_fences();
  fences_[index(warp)].open[static_cast<std::size_t>(reach)].join(from);
}

void Order::fence_memory(int warp, std::uint32_t lanes, const Strength& how) {
  need_fences();
  Fenced& fenced = fences_[index(warp)];
  for (std::size_t s = 0; how.acquires && s < kScopes; ++s)
    if (static_cast<Scope>(s) <= how.scope)
      acquire_by(warp, lanes, std::exchange(fenced.open[s], {}), fenced.flag);
    else
      nearly_acquire(warp, fenced.open[s], {Flaw::Kind::scope, how.scope});
  for (Nearly& one : fenced.unfenced.nearly)
    if (one.flaw.read.thread / kWarp == warp) one.flaw.read.lacks = false;
  if (how.acquires && !fenced.unfenced.empty())
    acquire_by(warp, lanes, std::exchange(fenced.unfenced, {}), fenced.flag);
  if (fences_are_sc_ && how.scope >= Scope::gpu && !fenced.told_sc.empty()) {
    need_warps();
    of_warp(warp).far.join(fenced.told_sc);
  }
  if (!how.releases) return;
  Knowledge out;
  release(warp, lanes, out);
  if (cluster_) join(out.known, barrier_);  // other clusters need it
  const auto all = std::make_shared<const Knowledge>(std::move(out));
  for (std::size_t s = 0; s <= static_cast<std::size_t>(how.scope); ++s)
    for (const int lane : lanes_of(lanes)) fenced.before[s][index(lane)] = all;
}

void Order::learn(int warp, int agent, std::uint32_t clock) {
  std::uint32_t& known = of_warp(warp).known[index(agent)];
  known = std::max(known, clock);
}

void Order::barrier_of(std::span<const int> warps) {
  Knowledge together;
  for (const int warp : warps) release(warp, kAllLanes, together);
  for (const int warp : warps) acquire(warp, together);
  share_fenced(fences_, warps);
}

}  // namespace warpbit::block
