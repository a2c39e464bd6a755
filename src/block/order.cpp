// SPDX-License-Identifier: Apache-2.0
#include "block/order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace warpbit::block {
namespace {

using Clocks = std::vector<std::uint32_t>;

// Each of `into` becomes the later one.
void join(Clocks& into, const Clocks& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) into[i] = std::max(into[i], from[i]);
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
  of_warps_.assign(index(threads_ / kWarp), {none, none});
}

bool Order::knows_of(int first, int count, int me) const {
  for (int thread = first; thread < first + count; ++thread)
    if (before(thread, 0, me)) return true;
  return false;
}

void Order::fence(int warp, std::uint32_t lanes) {
  any_fence_ = true;
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    const int thread = warp * kWarp + lane;
    fence_known_[index(thread)] = 1;
    for (int other = 0; other < kWarp; ++other) {
      std::uint32_t& fenced = fenced_[index(thread * kWarp + other)];
      fenced = std::max(fenced, known(thread, other));
    }
    fenced_[index(thread * kWarp + lane)] = ++clock_[index(thread)];
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
  for (std::size_t i = 0; i < index(threads_); ++i) barrier_[i] = ++clock_[i];
}

void Order::sync_warp(int warp, std::uint32_t lanes) {
  std::array<std::uint32_t, kWarp> together{}, fenced{};
  std::uint8_t fence_known = 0;
  const auto is_there = [&](int lane) { return (lanes >> lane & 1U) != 0; };
  for (int lane = 0; lane < kWarp; ++lane) {
    if (!is_there(lane)) continue;
    const int thread = warp * kWarp + lane;
    for (int other = 0; other < kWarp; ++other) {
      together[index(other)] = std::max(together[index(other)], known(thread, other));
      fenced[index(other)] = std::max(fenced[index(other)], fenced_[index(thread * kWarp + other)]);
    }
    fence_known |= fence_known_[index(thread)];
    together[index(lane)] = ++clock_[index(thread)];
  }
  for (int lane = 0; lane < kWarp; ++lane) {
    if (!is_there(lane)) continue;
    const std::ptrdiff_t thread = std::ptrdiff_t{warp} * kWarp + lane;
    std::ranges::copy(together, known_.begin() + thread * kWarp);
    std::ranges::copy(fenced, fenced_.begin() + thread * kWarp);
    fence_known_[static_cast<std::size_t>(thread)] = fence_known;
  }
}

void Order::path(int warp, std::uint32_t lanes) {
  if (paths_.empty()) paths_.resize(index(threads_));
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::size_t thread = index(warp * kWarp + std::countr_zero(rest));
    std::array<Path, kPaths>& of = paths_[thread];
    std::shift_right(of.begin(), of.end(), 1);
    of.front() = {++clock_[thread], lanes};
  }
}

bool Order::were_together(int thread, std::uint32_t clock, int other) const {
  if (thread / kWarp != other / kWarp) return false;
  if (paths_.empty()) return true;
  const std::array<Path, kPaths>& of = paths_[index(thread)];
  const auto then = std::ranges::find_if(of, [&](const Path& one) { return one.since <= clock; });
  return then != of.end() && (then->lanes >> other % kWarp & 1) != 0;
}

// Everybody knows what came before the last barrier: `known` leaves it out. Whether it is fenced, not everybody knows.
void Order::release(int warp, std::uint32_t lanes, Knowledge& into) {
  need_warps();
  join(into.known, of_warp(warp).known);
  join(into.fenced, of_warp(warp).fenced);
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
    into.known[index(thread)] = ++clock_[index(thread)];
  }
}

void Order::acquire(int warp, const Knowledge& from) {
  need_warps();
  join(of_warp(warp).known, from.known);
  join(of_warp(warp).fenced, from.fenced);
}

void Order::release_relaxed(int warp, std::uint32_t lanes, Knowledge& into) const {
  if (of_warps_.empty()) return;
  if (into.known.size() < clock_.size()) into.known.resize(clock_.size());
  for (std::size_t i = index(threads_); i < clock_.size(); ++i)
    if (by_fences_[i - index(threads_)] != 0) into.known[i] = std::max(into.known[i], of_warp(warp).known[i]);
  if (fences_.empty() || (fences_[index(warp)].lanes & lanes) == 0) return;
  join(into.known, fences_[index(warp)].before.known);
  join(into.fenced, fences_[index(warp)].before.fenced);
}

void Order::acquire_relaxed(int warp, const Knowledge& from) {
  if (of_warps_.empty()) return;
  for (std::size_t i = index(threads_); i < from.known.size(); ++i)
    if (by_fences_[i - index(threads_)] != 0)
      of_warp(warp).known[i] = std::max(of_warp(warp).known[i], from.known[i]);
  if (fences_.empty()) fences_.resize(of_warps_.size());
  join(fences_[index(warp)].open.known, from.known);
  join(fences_[index(warp)].open.fenced, from.fenced);
}

void Order::fence_memory(int warp, std::uint32_t lanes, bool releases, bool acquires) {
  need_warps();
  if (fences_.empty()) fences_.resize(of_warps_.size());
  Fenced& fenced = fences_[index(warp)];
  if (acquires) acquire(warp, std::exchange(fenced.open, {}));
  if (!releases) return;
  fenced.before = {};
  fenced.lanes = lanes;
  release(warp, lanes, fenced.before);
}

void Order::learn(int warp, int agent, std::uint32_t clock) {
  std::uint32_t& known = of_warp(warp).known[index(agent)];
  known = std::max(known, clock);
}

void Order::barrier_of(std::span<const int> warps) {
  Knowledge together;
  for (const int warp : warps) release(warp, kAllLanes, together);
  for (const int warp : warps) acquire(warp, together);
}

void Order::through_memory(int warp) {
  release(warp, kAllLanes, in_memory_);
  acquire(warp, in_memory_);
}

}  // namespace warpbit::block
