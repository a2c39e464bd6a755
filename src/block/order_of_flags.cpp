// SPDX-License-Identifier: Apache-2.0
// What strong accesses to one place hand over, and what is missing where they do not.
#include "block/order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace warpbit::block {
namespace {

bool is_known(const Clocks& clocks, int actor, std::uint32_t clock) {
  const auto at = static_cast<std::size_t>(actor);
  return at < clocks.size() && clock < clocks[at];
}

// All of them, if it is not known whose.
std::uint32_t lane_bit(int thread) {
  return thread < 0 ? kAllLanes : std::uint32_t{1} << thread % kWarp;
}

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

// ---- Two strong accesses

namespace {

Misfit misfit_of(const StrongSide& before, const StrongSide& now, Scope reach, bool of_warp) {
  const StrongUse &one = before.use, &other = now.use;
  if (one.bytes == 0 || other.bytes == 0) return Misfit::none;
  const StrongSide &reads = now.writes ? before : now, &writes = now.writes ? now : before;
  const bool is_narrow = std::min(one.scope, other.scope) < reach, is_atomic = one.is_atomic || other.is_atomic;
  if (before.writes && now.writes) {
    if (is_atomic && is_narrow) return Misfit::scope;
    if (is_atomic && one.element != other.element) return Misfit::overlap;
    const auto changes = [](const StrongUse& use) { return use.updates || use.is_atomic; };
    return (one.updates || other.updates) && changes(one) && changes(other) ? Misfit::update : Misfit::none;
  }
  if (reads.use.bytes > writes.use.bytes && !writes.use.is_atomic)
    return Misfit::size;  // atomics: each half by itself
  if (writes.use.is_atomic && writes.use.scope < reach) return Misfit::scope;
  if (reads.use.element < writes.use.element) return Misfit::overlap;
  return of_warp && reads.use.is_data && !writes.use.is_atomic ? Misfit::lanes : Misfit::none;
}

}  // namespace

Misfit Order::misfit(const StrongSide& before, const StrongSide& now) const {
  if (stride_ == 0) return Misfit::none;
  const bool of_block = before.thread / stride_ == now.thread / stride_;
  return misfit_of(before, now, of_block ? Scope::cta : Scope::cluster,
                   before.thread / kWarp == now.thread / kWarp);
}

Misfit Order::misfit_of_clusters(const StrongSide& before, const StrongSide& now) const {
  return misfit_of(before, now, Scope::gpu, false);
}

// ---- Flags

// By now, ordered or not. The warp has just released, so that its clock is beyond what it has done.
Far Order::done_by_block(int warp) const {
  Far out;
  if (stride_ == 0) return out;
  const std::size_t first = index(warp * kWarp / stride_ * stride_),
                    end = std::min(first + index(stride_), clock_.size());
  Clocks clocks(index(threads_));
  for (std::size_t thread = first; thread < end; ++thread)
    clocks[thread] = clock_[thread] + (thread / index(kWarp) == index(warp) ? 0 : 1);
  out.add(cluster_.value_or(0), clocks);
  return out;
}

Posting Order::post(int warp, std::uint32_t lanes, const Strength& how, bool is_atomic) {
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
  out.by_fences = !how.releases;
  out.scope = how.scope;
  for (std::size_t s = 0; how.unsaid && s < kScopes; ++s)
    if (fences(s)) out.fenced = static_cast<Scope>(s);
  if (!how.releases && !how.unsaid) out.relaxed = all;
  out.is_fenced = how.releases || out.fenced;
  const bool may_be_flag = out.is_fenced ? how.releases || how.unsaid : how.unsaid && !is_atomic;
  if (std::has_single_bit(lanes) && may_be_flag) out.block = done_by_block(warp);
  return out;
}

// The warp has read a flag that would tell this, were it not for the flaw.
void Order::hint(int warp, const Message& message, const Clocks& known, const Far& far, Flaw flaw) {
  need_warps();
  of_warp(warp).hints.add(std::make_shared<const Hint>(Hint{known, far, flaw, message.writers()}));
}

// The same of one that was written before the access, or whose block had done the access by then. Without a fence a flag is
// what a load waits for alone.
void Order::hint_of_blocks(int warp, const Message& message, const Strength& how, const FlagUse& read) {
  if (message.blocks().empty()) return;
  const StrongUse use = use_at(read.at);
  if (!message.is_fenced() && (use.bytes == 0 || use.is_atomic || use.is_data)) return;
  Hint out{{}, {}, {Flaw::Kind::early, how.scope, message.last(), read}, message.writers(), message.blocks()};
  out.flaw.write.lacks = !message.is_fenced();
  if (message.is_fenced()) {
    out.flaw.kind = Flaw::Kind::unmet;
    out.far = out.blocks;
  }
  need_warps();
  of_warp(warp).hints.add(std::make_shared<const Hint>(std::move(out)));
}

// By a read of which `reach` is the scope that reaches who has written it. `flaw`: what the write lacks, and who reads.
void Order::take(int warp, const Message& message, const Knowledge& from, const Strength& how, Flaw flaw,
                 Scope reach) {
  const bool is_narrow = how.scope < reach, is_good = !flaw.write.lacks && !is_narrow;
  if (!flaw.write.lacks) flaw.kind = is_narrow ? Flaw::Kind::scope : Flaw::Kind::fence;
  if (!flaw.write.lacks) flaw.scope = how.scope;
  flaw.read.lacks = flaw.kind == Flaw::Kind::scope ? is_narrow : how.unsaid;
  flaw.read.scope = how.scope;
  if (flaw.write.fenced && *flaw.write.fenced < reach) flaw.write.fenced.reset();
  if (is_good && how.acquires) return acquire_by(warp, lane_bit(flaw.read.thread), from, flaw);
  if (how.acquires || how.unsaid) nearly_acquire(warp, from, flaw);
  if (how.acquires) return;
  need_fences();
  Fenced& fenced = fences_[index(warp)];
  if (is_good && !how.unsaid) {
    flaw.kind = Flaw::Kind::relaxed;
    flaw.read.lacks = true;
    hint(warp, message, from.known, from.far, flaw);
  }
  fenced.flag = flaw;
  if (is_good) return fenced.open[static_cast<std::size_t>(reach)].join(from);
  fenced.unfenced.join_nearly(from, flaw);
}

void Order::take(int warp, int rank, const Message& message, const Strength& how, FlagUse read) {
  if (taken_.empty()) taken_.resize(index(threads_ / kWarp));
  Taken& last = taken_[index(warp)];
  if (last.of.size() > Taken::kMost) last.of.clear();
  const auto [own, is_first] = last.of.try_emplace(&message);
  if (!is_first && own->second.writes == message.writes() && own->second.acquires >= how.acquires) {
    if (how.acquires && !apart_.empty() && apart_[index(warp)].lanes != 0)
      apart_[index(warp)].lanes |= lane_bit(read.thread);
    return;
  }
  own->second = {message.writes(), how.acquires};
  if (last.acquires != how.acquires) last.latest = {};
  last.acquires = how.acquires;
  hint_of_blocks(warp, message, how, read);
  if (message.relaxed()) {
    Flaw flaw{Flaw::Kind::relaxed, how.scope, message.last(), read};
    flaw.write.lacks = true;
    flaw.read.lacks = !how.acquires;
    hint(warp, message, message.relaxed()->known, message.relaxed()->far, flaw);
  }
  for (const Message::Letter& one : message.letters()) {
    if ((cluster_ && one.cluster != *cluster_) || std::ranges::count(last.latest, one.what) != 0) continue;
    last.latest = {one.what, last.latest.front()};
    const Scope reach = one.rank == rank ? Scope::cta : Scope::cluster;
    const bool is_narrow = one.scope < reach;
    Flaw flaw{is_narrow ? Flaw::Kind::scope : Flaw::Kind::fence, one.scope, one.write, read};
    flaw.write.lacks = one.unfenced || is_narrow;
    take(warp, message, *one.what, how, flaw, reach);
  }
  if (!cluster_) return;
  if (fences_are_sc_ && !message.far_by_fences().empty()) {
    need_fences();
    fences_[index(warp)].behind_sc.join(message.far_by_fences());
  }
  Knowledge far;
  far.far = message.far();
  for (const Nearly& one : message.nearly_far())
    if (one.flaw.read.thread >= 0) far.nearly.add(one);  // a flag before this one
  if (!far.empty()) take(warp, message, far, how, {.write = message.last(), .read = read}, Scope::gpu);
  for (const Nearly& one : message.nearly_far()) {
    if (one.flaw.read.thread >= 0) continue;
    far = {};
    far.far = one.far;
    Flaw flaw = one.flaw;
    flaw.read = read;
    flaw.write.lacks = true;
    take(warp, message, far, how, flaw, Scope::gpu);
  }
}

// Of what has `knows(known, far)`, nearly, or had the flags that the warp has read, or others behind a barrier, been releases and
// acquires. A flag that is read without a fence behind it may have one before its write. `cluster`, `actor`: who did it.
template <class Knows>
std::optional<Flaw> Order::flaw(int warp, std::uint64_t cluster, int actor, bool is_open, Knows knows) const {
  if (of_warps_.empty()) return std::nullopt;
  std::optional<Flaw> out =
      of_warp(warp).nearly.find([&](const Nearly& one) { return knows(one.known, one.far); });
  if (!out) {
    const Hint* const found =
        of_warp(warp).hints.find([&](const Hint& one) { return knows(one.known, one.far); });
    if (found != nullptr) out = found->flaw_of(cluster);
  }
  // Of a relaxed barrier.cluster.arrive by warps of several blocks, that of his own.
  if (out && out->kind == Flaw::Kind::arrival && stride_ > 0 && !is_agent(actor) &&
      out->write.thread / stride_ != actor / stride_)
    out->write.thread = actor / kWarp * kWarp;
  if (out) out->write.is_own = out->write.thread == actor && out->write.cluster == cluster;
  if (out && out->kind != Flaw::Kind::scope && out->read.lacks && is_open) out->write.lacks = false;
  return out;
}

std::optional<Flaw> Order::nearly_before(int actor, std::uint32_t clock, int me) const {
  return flaw(me / kWarp, cluster_.value_or(0), actor, is_open(actor, clock, me),
              [&](const Clocks& known, const Far&) { return is_known(known, actor, clock); });
}

std::optional<Flaw> Order::nearly_before(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const {
  return flaw(me / kWarp, cluster, thread, is_open(cluster, thread, clock, me),
              [&](const Clocks&, const Far& far) { return far.knows(cluster, thread, clock); });
}

int Order::told_to_block(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const {
  const int warps = stride_ / kWarp;
  for (int warp = 0; warp < warps; ++warp)
    if (before(cluster, thread, clock, (me / stride_ * warps + warp) * kWarp)) return warp;
  return -1;
}

std::optional<Flaw> Order::written_early(std::uint64_t cluster, int thread, std::uint32_t clock, int me) const {
  if (of_warps_.empty() || is_agent(thread)) return std::nullopt;
  const bool is_near = cluster == cluster_.value_or(0);  // a flag before the last barrier has had its use
  const auto since = [&](int writer) { return is_near ? barrier_[index(writer)] : 0; };
  const Hint* const found = of_warp(me / kWarp).hints.find([&](const Hint& one) {
    const FlagUse write = one.flaw_of(cluster).write;
    return write.cluster == cluster && write.thread >= 0 && write.thread / stride_ == thread / stride_ &&
           one.blocks.knows(cluster, write.thread, since(write.thread)) &&
           !one.blocks.knows(cluster, thread, clock);
  });
  if (found == nullptr) return std::nullopt;
  Flaw out = found->flaw_of(cluster);
  out.kind = Flaw::Kind::early;
  out.write.is_own = out.write.thread == thread;
  return out;
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

}  // namespace warpbit::block
