// SPDX-License-Identifier: Apache-2.0
#include "block/order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace warpbit::block {
namespace {

// What fences of one of these warps have released, flags of all of them release behind a barrier: it has been performed.
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
}

bool is_known(const Clocks& clocks, int actor, std::uint32_t clock) {
  const auto at = static_cast<std::size_t>(actor);
  return at < clocks.size() && clock < clocks[at];
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
  for (const Knowledge& one : of_warps_) {
    far.join(one.far);
    for (const Nearly& of : one.nearly)
      if (!of.far.empty()) nearly.add({{}, of.far, of.flaw, of.others});
  }
  for (Knowledge& one : of_warps_) {
    one.far = far;
    one.nearly.join(nearly);
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
  if (meetings_.empty()) return false;
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
      acquire(warp, std::exchange(fenced.open[s], {}));
    else
      nearly_acquire(warp, fenced.open[s], {Flaw::Kind::scope, how.scope});
  for (Nearly& one : fenced.unfenced.nearly)
    if (one.flaw.read.thread / kWarp == warp) one.flaw.read.lacks = false;
  if (how.acquires && !fenced.unfenced.empty()) acquire(warp, std::exchange(fenced.unfenced, {}));
  if (!how.releases) return;
  Knowledge out;
  release(warp, lanes, out);
  if (cluster_) join(out.known, barrier_);  // other clusters need it
  const auto all = std::make_shared<const Knowledge>(std::move(out));
  for (std::size_t s = 0; s <= static_cast<std::size_t>(how.scope); ++s)
    for (const int lane : lanes_of(lanes)) fenced.before[s][index(lane)] = all;
}

// ---- Strong accesses

// What the lanes have done, and what they know, for other clusters, too.
Known Order::released(int warp, std::uint32_t lanes) {
  Knowledge out;
  release(warp, lanes, out);
  if (cluster_) {
    Clocks threads = out.known;
    join(threads, barrier_);
    threads.resize(index(threads_));
    out.far.add(*cluster_, threads);
  }
  return std::make_shared<const Knowledge>(std::move(out));
}

namespace {

template <class Fenced>
Known joined_fences(const Fenced& fenced, std::uint32_t lanes, Scope scope) {
  Known out;
  for (const int lane : lanes_of(lanes)) {
    const Known& one = fenced.before[static_cast<std::size_t>(scope)][static_cast<std::size_t>(lane)];
    if (!one || one == out) continue;
    if (!out) {
      out = one;
      continue;
    }
    Knowledge both = *out;
    both.join(*one);
    out = std::make_shared<const Knowledge>(std::move(both));
  }
  return out;
}

}  // namespace

// What fences of these lanes have released that reach so far. Lanes fence together, and each for itself: of others it releases
// what they have told it, even since, as then they have told that their fence is done, too.
Known Order::before_fence(int warp, std::uint32_t lanes, Scope scope) const {
  if (fences_.empty()) return nullptr;
  const Known all = joined_fences(fences_[index(warp)], lanes, scope);
  if (!all) return nullptr;
  Knowledge out = *all;
  for (const int other : lanes_of(~lanes)) {
    const std::size_t thread = index(warp * kWarp + other);
    if (thread >= out.known.size()) continue;
    std::uint32_t told = std::max(barrier_[thread], of_warp(warp).known[thread]);
    for (const int lane : lanes_of(lanes)) told = std::max(told, known(warp * kWarp + lane, other));
    out.known[thread] = std::min(out.known[thread], told);
  }
  if (cluster_) {
    Clocks threads = out.known;
    threads.resize(index(threads_));
    out.far.add(*cluster_, threads);
  }
  return std::make_shared<const Knowledge>(std::move(out));
}

Posting Order::post(int warp, std::uint32_t lanes, const Strength& how) {
  Posting out;
  const Known all = released(warp, lanes);
  const auto fences = [&](std::size_t s) {
    return fences_.empty() ? nullptr : joined_fences(fences_[index(warp)], lanes, static_cast<Scope>(s));
  };
  for (std::size_t s = 0; s <= static_cast<std::size_t>(how.scope); ++s)
    if (how.releases)
      out.released[s] = all;
    else  // scopes with the same fences have the same
      out.released[s] = s > 0 && fences(s) == fences(s - 1) ? out.released[s - 1]
                                                            : before_fence(warp, lanes, static_cast<Scope>(s));
  if (how.unsaid) out.unfenced = all;
  for (std::size_t s = 0; how.unsaid && s < kScopes; ++s)
    if (fences(s)) out.fenced = static_cast<Scope>(s);
  if (!how.releases && !how.unsaid) out.relaxed = all;
  return out;
}

// By a read of which `reach` is the scope that reaches who has written it. `flaw`: what the write lacks, and who reads.
void Order::take(int warp, const Knowledge& from, const Strength& how, Flaw flaw, Scope reach) {
  const bool is_narrow = how.scope < reach, is_good = !flaw.write.lacks && !is_narrow;
  if (!flaw.write.lacks) flaw.kind = is_narrow ? Flaw::Kind::scope : Flaw::Kind::fence;
  if (!flaw.write.lacks) flaw.scope = how.scope;
  flaw.read.lacks = flaw.kind == Flaw::Kind::scope ? is_narrow : how.unsaid;
  flaw.read.scope = how.scope;
  if (flaw.write.fenced && *flaw.write.fenced < reach) flaw.write.fenced.reset();
  if (is_good && how.acquires) return acquire(warp, from);
  if (how.acquires || how.unsaid) nearly_acquire(warp, from, flaw);
  if (how.acquires) return;
  need_fences();
  Fenced& fenced = fences_[index(warp)];
  if (is_good) return fenced.open[static_cast<std::size_t>(reach)].join(from);
  fenced.unfenced.join_nearly(from, flaw);
}

void Order::take(int warp, int rank, const Message& message, const Strength& how, FlagUse read) {
  if (taken_.empty()) {
    taken_.resize(index(threads_ / kWarp));
    relaxed_.resize(taken_.size());
  }
  Taken& last = taken_[index(warp)];
  if (last.message == &message && last.writes == message.writes() && last.acquires >= how.acquires) return;
  if (last.acquires != how.acquires) last.latest = {};
  last.message = &message;
  last.writes = message.writes();
  last.acquires = how.acquires;
  if (message.relaxed()) {
    need_warps();
    Flaw flaw{Flaw::Kind::relaxed, how.scope, message.last(), read};
    flaw.write.lacks = true;
    flaw.read.lacks = !how.acquires;
    std::vector<Relaxed>& of = relaxed_[index(warp)];
    constexpr std::size_t kMost = 4;
    std::erase_if(of, [&](const Relaxed& one) {
      return one.flaw.write.at == flaw.write.at && one.flaw.read.at == read.at;
    });
    if (of.size() == kMost) of.erase(of.begin());
    of.push_back({message.relaxed(), flaw});
  }
  for (const Message::Letter& one : message.letters()) {
    if ((cluster_ && one.cluster != *cluster_) || std::ranges::count(last.latest, one.what) != 0) continue;
    last.latest = {one.what, last.latest.front()};
    const Scope reach = one.rank == rank ? Scope::cta : Scope::cluster;
    Flaw flaw{one.unfenced ? Flaw::Kind::fence : Flaw::Kind::scope, one.scope, one.write, read};
    flaw.write.lacks = one.unfenced || one.scope < reach;
    take(warp, *one.what, how, flaw, reach);
  }
  if (!cluster_) return;
  Knowledge far;
  far.far = message.far();
  for (const Nearly& one : message.nearly_far())
    if (one.flaw.read.thread >= 0) far.nearly.add(one);  // a flag before this one
  if (!far.empty()) take(warp, far, how, {.write = message.last(), .read = read}, Scope::gpu);
  for (const Nearly& one : message.nearly_far()) {
    if (one.flaw.read.thread >= 0) continue;
    far = {};
    far.far = one.far;
    Flaw flaw = one.flaw;
    flaw.read = read;
    flaw.write.lacks = true;
    take(warp, far, how, flaw, Scope::gpu);
  }
}

// Of what has `knows(known, far)`, nearly, or had the writes of the flags that the warp has read been releases. A flag that is read
// without a fence behind it may have one before its write.
template <class Knows>
std::optional<Flaw> Order::flaw(int warp, bool is_open, Knows knows) const {
  if (of_warps_.empty()) return std::nullopt;
  std::optional<Flaw> out =
      of_warp(warp).nearly.find([&](const Nearly& one) { return knows(one.known, one.far); });
  if (!out && !relaxed_.empty()) {
    const std::vector<Relaxed>& flags = relaxed_[index(warp)];
    const auto found = std::find_if(flags.rbegin(), flags.rend(),
                                    [&](const Relaxed& one) { return knows(one.what->known, one.what->far); });
    if (found != flags.rend()) out = found->flaw;
  }
  if (out && out->kind != Flaw::Kind::scope && out->read.lacks && is_open) out->write.lacks = false;
  return out;
}

std::optional<Flaw> Order::nearly_before(int actor, std::uint32_t clock, int me) const {
  return flaw(me / kWarp, is_open(actor, clock, me),
              [&](const Clocks& known, const Far&) { return is_known(known, actor, clock); });
}

std::optional<Flaw> Order::nearly_before(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const {
  return flaw(me / kWarp, is_open(cluster, thread, clock, me),
              [&](const Clocks&, const Far& far) { return far.knows(cluster, thread, clock); });
}

bool Order::is_open(int actor, std::uint32_t clock, int me) const {
  return !fences_.empty() && std::ranges::any_of(fences_[index(me / kWarp)].open, [&](const Knowledge& one) {
    return is_known(one.known, actor, clock);
  });
}

bool Order::is_open(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const {
  return !fences_.empty() && std::ranges::any_of(fences_[index(me / kWarp)].open, [&](const Knowledge& one) {
    return one.far.knows(cluster, thread, clock);
  });
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
