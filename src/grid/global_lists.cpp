// SPDX-License-Identifier: Apache-2.0
// Of accesses to one line of global memory, which conflict: each is met with those before it.
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

#include "grid/block.hpp"
#include "grid/global_check.hpp"

namespace warpbit::grid {

// ---- Lists

// Stores of what is there already do not conflict with each other; those before stay for others, which store something else.
void GlobalAccesses::add(Check& check, Lists& line, const Entry& now, std::byte* data) {
  constexpr std::size_t kMost = 4;
  std::array<Entry, kMost> superseded;
  std::size_t count = 0;
  bool is_new = true;
  LineBits changed = 0;  // by those that have been met
  const LineBits own = check.by.takes_data ? written_by(line, now) : 0;
  const auto meet = [&](const Entry& old) {
    if ((old.bytes & now.bytes) == 0 || (old.superseded && !now.writes)) return;
    is_new = false;
    const LineBits latest = ~changed;
    if (old.strong && !old.superseded && !old.repeats) changed |= old.bytes;
    if (check.by.takes_data && old.strong && misfit(check, old, now) == block::Misfit::none)
      return take_data(check, old, now, data, latest & ~own);
    if (is_ordered(check, old, now)) return;
    if (!conflicts(check, old, now, data, latest) || !now.writes || now.strong || count == kMost) return;
    Entry& kept = superseded[count++] = old;
    kept.bytes &= now.bytes;
    kept.superseded = 1;
  };
  if (line.words != nullptr && (!now.strong || check.by.takes_data || check.may_misfit(line.words->size())))
    line.words->for_each(now.bytes, meet);
  for (const Entry* next = line.writes.end(); next != line.writes.begin();) meet(*--next);
  if (!now.writes) return remember(check, line.reads, now);
  for (const Entry& old : line.reads) {
    if ((old.bytes & now.bytes) == 0) continue;
    is_new = false;
    if (!is_ordered(check, old, now)) conflicts(check, old, now, data, 0);
  }
  if (now.strong) {
    add_strong(check, line, now, data);
  } else {
    if (!is_new) {
      line.reads.remove(now.bytes);
      line.writes.remove(now.bytes);
      if (line.words != nullptr) line.words->remove(now.bytes);
    }
    while (count > 0) line.writes.push_back(superseded[--count]);
    line.writes.push_back(now);
  }
  if (check.what.values != nullptr) check.store(now, data);
}

// The bytes that the cluster of an access has written, too. Of a word that atomics of several clusters change, its own ones have
// read what the others left, or came before: which, is not the same in each run.
LineBits GlobalAccesses::written_by(Lists& line, const Entry& now) {
  LineBits out = 0;
  const auto meet = [&](const Entry& old) {
    if (old.cluster == now.cluster) out |= old.bytes;
  };
  if (line.words != nullptr) line.words->for_each(now.bytes, meet);
  for (const Entry& old : line.writes) meet(old);
  return out;
}

// A strong load of what another cluster has written by a strong access: they do not conflict, but a flag between them whose write
// has no fence before it hands over nothing. What the flag's own statement has written needs none. A fence that stands before it,
// and not behind the write, may be that of another thread, which a barrier has brought.
void GlobalAccesses::take_data(Check& check, const Entry& old, const Entry& now, std::byte* data,
                               LineBits latest) {
  for (LineBits rest = old.cluster == now.cluster ? 0 : old.bytes & now.bytes & latest; rest != 0;) {
    const std::size_t first = lowest_of(rest), end = std::min(old.end_of_lane(first), now.end_of_lane(first));
    const LineBits bytes = rest & low_bits(end);
    rest &= ~bytes;
    if (is_known(check, old, first, now.lane_of(first))) continue;
    const auto flaw = check.by.order.nearly_before(old.cluster, old.thread_of(first), old.clock,
                                                   check.by.warp * kLanes + now.lane_of(first));
    if (!flaw || flaw->kind != block::Flaw::Kind::fence || !flaw->write.lacks || flaw->write.fenced) continue;
    if (flaw->write.cluster == old.cluster &&
        flaw->write.at == Block::place(static_cast<std::int32_t>(old.site) - 1))
      continue;
    check.report(old, now, bytes, data);
    return;
  }
}

void GlobalAccesses::add_strong(const Check& check, Lists& line, const Entry& by, const std::byte* data) {
  Entry now = by;
  now.repeats = check.what.values != nullptr && check.repeats(now, data);
  if (check.use.scope == block::Scope::gpu && add_word(line, now)) return;
  line.writes.thin(now, [&](const Entry& old) {
    return now.is_as_weak(old) && (old.is_of_lanes(now) || precedes_barrier(check, old));
  });
  line.writes.push_back(now);
}

// A read stands for those before it that are known to the warp.
void GlobalAccesses::remember(const Check& check, Entries& reads, const Entry& now) {
  reads.thin(now, [&](const Entry& old) { return stands_for(check, now, old); });
  reads.push_back(now);
}

bool GlobalAccesses::stands_for(const Check& check, const Entry& now, const Entry& old) {
  if (!now.is_as_weak(old)) return false;
  return old.is_of_warp(now) || precedes_barrier(check, old) ||
         (old.cluster == now.cluster && is_known(check, old, old.first, now.lane));
}

bool GlobalAccesses::is_known(const Check& check, const Entry& old, std::size_t byte, int lane) {
  const block::Order& order = check.by.order;
  const int me = check.by.warp * kLanes + lane, thread = old.thread_of(byte);
  return old.cluster == static_cast<std::uint32_t>(check.by.cluster)
             ? order.before(thread, old.clock, me)
             : order.before(old.cluster, thread, old.clock, me) &&
                   !order.told_apart(old.cluster, thread, old.clock, me);
}

// A strong write comes before all that is done behind a strong access to the same word that has found it: no fence is needed for the
// write itself (PTX manual, "Causality Order"). So the last one of a ticket may reset it by a plain store, and who waits for a flag
// may, too. `place`: of the byte.
bool GlobalAccesses::is_observed(const Check& check, const Entry& old, const Entry& now, std::size_t byte,
                                 const std::byte* place) {
  if (!old.strong || now.strong || old.cluster == now.cluster) return false;
  const block::Order& order = check.by.order;
  const int me = check.by.warp * kLanes + now.lane_of(byte), thread = old.thread_of(byte);
  const std::optional<block::Flaw> flag = order.nearly_before(old.cluster, thread, old.clock, me);
  if (!flag || (flag->kind != block::Flaw::Kind::fence && flag->kind != block::Flaw::Kind::relaxed))
    return false;
  const std::byte* const word = flag->read.word;
  const bool is_same = word != nullptr && word <= place && place < word + order.use_at(flag->read.at).bytes;
  return is_same && flag->write.at == Block::place(static_cast<std::int32_t>(old.site) - 1);
}

// Whether that is seen without a look at lanes: by the last barrier, as a rule.
bool GlobalAccesses::is_ordered(const Check& check, const Entry& old, const Entry& now) {
  if (is_stale(old, now)) return false;
  if (old.is_of_lanes(now) || precedes_barrier(check, old)) return true;
  return old.strong && now.strong && misfit(check, old, now) == block::Misfit::none;
}

// Of two that are strong.
block::Misfit GlobalAccesses::misfit(const Check& check, const Entry& old, const Entry& now) {
  const block::Order& order = check.by.order;
  const block::StrongSide before{order.use_at(Block::place(static_cast<std::int32_t>(old.site) - 1)),
                                 old.warp * kLanes, old.writes != 0},
      after{check.use, now.warp * kLanes, now.writes != 0};
  return old.cluster == now.cluster ? order.misfit(before, after) : order.misfit_of_clusters(before, after);
}

// Of the own cluster.
bool GlobalAccesses::precedes_barrier(const Check& check, const Entry& old) {
  return old.cluster == check.entry.cluster && check.by.order.before_barrier(old.warp * kLanes, old.clock);
}

// Whether two that are not may conflict: lane by lane, as each has all of its bytes at once. `latest`: those that have been
// changed by nobody since.
bool GlobalAccesses::conflicts(Check& check, const Entry& old, const Entry& now, std::byte* data,
                               LineBits latest) {
  const bool may_be_equal = old.writes && now.writes && check.what.values != nullptr;
  bool out = false;
  for (LineBits rest = old.bytes & now.bytes; rest != 0;) {
    const std::size_t first = lowest_of(rest), end = std::min(old.end_of_lane(first), now.end_of_lane(first));
    LineBits bytes = rest & low_bits(end);
    rest &= ~bytes;
    const int old_lane = old.lane_of(first), now_lane = now.lane_of(first);
    if (!is_stale(old, now) &&
        ((old.is_of_warp(now) && old_lane == now_lane) || is_known(check, old, first, now_lane) ||
         is_observed(check, old, now, first, data + first)))
      continue;
    out = true;
    const LineBits both = bytes;
    for (; bytes != 0; bytes &= bytes - 1) {
      const std::size_t byte = lowest_of(bytes);
      if (may_be_equal && (latest >> byte & 1) != 0 && *check.value(now, byte) == data[byte]) continue;
      check.report(old, now, byte < first + size_of(both) ? both : bytes, data);
      return true;
    }
  }
  return out;
}

// Of bytes of one lane each, those that hang together with the first. Which of two conflicts is worse: one of a warp's own
// lanes is the least.
void GlobalAccesses::Check::report(const Entry& old, const Entry& now, LineBits bytes, const std::byte* data) {
  const block::Order& order = by.order;
  const std::size_t byte = lowest_of(bytes);
  const int me = by.warp * kLanes + now.lane_of(byte), thread = old.thread_of(byte);
  const bool is_near = old.cluster == now.cluster;
  const auto side = [&](const Entry& of, int who) {
    return GlobalSide{
        of.cluster,           who,           of.clock, static_cast<std::int32_t>(of.site) - 1, of.writes != 0,
        of.non_coherent != 0, of.strong != 0};
  };
  GlobalConflict out{
      side(old, thread),
      side(now, me),
      data + byte,
      size_of(bytes),
      is_near ? order.nearly_before(thread, old.clock, me)
              : order.nearly_before(old.cluster, thread, old.clock, me),
      is_near ? order.is_open(thread, old.clock, me) : order.is_open(old.cluster, thread, old.clock, me),
      old.strong && now.strong,
      old.strong && now.strong ? misfit(*this, old, now) : block::Misfit::none,
      is_near ? -1 : order.told_to_block(old.cluster, thread, old.clock, me)};
  const block::Who before{thread, Block::place(out.before.site)};
  if (!is_near && order.before(old.cluster, thread, old.clock, me))
    out.flaw = order.told_apart(old.cluster, thread, old.clock, me);
  if (out.flaw && may_be_flags(out.misfit) &&
      (is_near ? order.is_flag_itself(*out.flaw, before, old.clock, me) : out.flaw->write.at == before.at))
    out.flaw.reset();
  if (!out.flaw && out.told_warp < 0 && out.misfit == block::Misfit::none)
    out.flaw = is_near ? order.written_early(thread, old.clock, me)
                       : order.written_early(old.cluster, thread, old.clock, me);
  const auto rank = [&](const GlobalConflict& of) {
    if (of.before.cluster != of.now.cluster) return is_minor(of.misfit) ? 3 : 4;
    if (block::is_of_flag(of.flaw) || is_minor(of.misfit) || of.before.non_coherent || of.now.non_coherent)
      return 1;
    return of.before.thread / kLanes == of.now.thread / kLanes ? 0 : 2;
  };
  if (found == nullptr) found = std::make_unique<GlobalConflicts>();
  std::optional<GlobalConflict>& place = is_near ? found->within : found->between;
  if (!place || rank(out) > rank(*place)) place = std::move(out);
}

// ---- Fences between proxies

std::optional<GlobalConflict> GlobalAccesses::unfenced(const GlobalAccess& by, int lane, const std::byte* first,
                                                       std::size_t bytes) {
  Area* const area = fences_ == GlobalFences::unknown ? nullptr : area_of(first, bytes);
  if (area == nullptr) return std::nullopt;
  for (std::size_t done = 0; done < bytes;) {
    const auto at = static_cast<std::size_t>(first - area->first) + done;
    const std::size_t within = at % kLine, here = std::min(bytes - done, kLine - within);
    std::unique_lock<std::mutex> lock;
    if (std::mutex* const page = mutex_of(at)) lock = std::unique_lock(*page);
    auto found = unfenced(by, lane, area->line(at), low_bits(here) << within, area->first + (at - within));
    if (found) return found;
    done += here;
  }
  return std::nullopt;
}

// The latest write of each byte alone matters.
std::optional<GlobalConflict> GlobalAccesses::unfenced(const GlobalAccess& by, int lane, Line& line,
                                                       LineBits bytes, const std::byte* data) const {
  const int me = by.warp * kLanes + lane;
  LineBits rest = bytes;
  std::optional<GlobalConflict> out;
  const auto meet = [&](const Entry& old) {
    const LineBits both = old.writes != 0 && old.superseded == 0 ? old.bytes & rest : 0;
    if (both == 0 || out) return;
    rest &= ~both;
    const bool is_near = old.cluster == static_cast<std::uint32_t>(by.cluster);
    if (old.async != 0 || (!is_near && fences_ != GlobalFences::none)) return;
    for (LineBits left = both; left != 0;) {
      const std::size_t byte = lowest_of(left);
      const LineBits of_lane = left & low_bits(old.end_of_lane(byte));
      left &= ~of_lane;
      const int thread = old.thread_of(byte);
      const bool is_fenced = fences_ == GlobalFences::all && by.order.fenced(thread, old.clock, me),
                 is_before = is_near ? by.order.before(thread, old.clock, me)
                                     : by.order.before(old.cluster, thread, old.clock, me);
      if (is_fenced || !is_before) continue;
      const GlobalSide before{old.cluster, thread, old.clock, static_cast<std::int32_t>(old.site) - 1,
                              true,        false};
      const GlobalSide now{by.cluster, me, by.order.clock(me), by.site, false, false};
      out = GlobalConflict{before, now, data + byte, size_of(of_lane), std::nullopt, false};
      return;
    }
  };
  Lists* const all = line.find_lists();
  if (all == nullptr) {
    Line::Buffer buffer;
    const auto entries = line.entries(buffer);
    for (std::size_t i = entries.size(); i-- > 0;) meet(entries[i]);
    return out;
  }
  if (all->words != nullptr) all->words->for_each(bytes, meet);
  for (const Entry* next = all->writes.end(); next != all->writes.begin();) meet(*--next);
  return out;
}

}  // namespace warpbit::grid
