// SPDX-License-Identifier: Apache-2.0
#include "grid/global_accesses.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

namespace warpbit::grid {
namespace {

constexpr int kOneLane = 7;  // the shift of bytes that are one lane's: more than a line has

}  // namespace

/// An access that is being recorded.
struct GlobalAccesses::Check {
  const GlobalAccess& by;
  const std::array<Lane, kLanes>& lanes;
  std::size_t bytes;
  bool has_values;
  std::size_t skipped = 0;  ///< bytes of the lane before those of the line
  std::optional<GlobalConflict> found = {}, between = {};

  std::byte value(const Entry& now, std::size_t byte) const;
  void report(const Entry& old, const Entry& now, std::size_t byte, const std::byte* at);
};

// ---- Memory

// Ranges of the process that overlap are one.
GlobalAccesses::GlobalAccesses(const GlobalMemory& memory) {
  std::vector<std::pair<const std::byte*, const std::byte*>> all;
  for (const GlobalMemory::Range& range : memory.ranges())
    if (range.writable && range.heap == nullptr && range.bytes != 0)
      all.emplace_back(range.data, range.data + range.bytes);
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size();) {
    const std::byte *const first = all[i].first, *end = all[i].second;
    for (++i; i < all.size() && all[i].first < end; ++i) end = std::max(end, all[i].second);
    const std::size_t pages = (static_cast<std::size_t>(end - first) + kPage - 1) / kPage;
    areas_.push_back({first, end, ZeroBytes(pages * sizeof(Page*))});
  }
}

GlobalAccesses::~GlobalAccesses() = default;

GlobalAccesses::Area* GlobalAccesses::area_of(const std::byte* data, std::size_t bytes) {
  const auto after = std::ranges::upper_bound(areas_, data, {}, &Area::first);
  if (after == areas_.begin()) return nullptr;
  Area& out = *(after - 1);
  return data + bytes <= out.end ? &out : nullptr;
}

GlobalAccesses::Page& GlobalAccesses::page(Area& area, std::size_t number) {
  const std::atomic_ref<Page*> at(reinterpret_cast<Page**>(area.pages.data())[number]);
  if (Page* const made = at.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(mutex_);
  if (Page* const made = at.load(std::memory_order_acquire)) return *made;
  Page& out = *pages_.emplace_back(std::make_unique<Page>());
  at.store(&out, std::memory_order_release);
  return out;
}

// ---- Accesses

GlobalConflicts GlobalAccesses::access(const GlobalAccess& by, Lanes lanes, const std::array<Lane, kLanes>& of,
                                       std::size_t bytes) {
  const bool has_values = by.writes && of[static_cast<std::size_t>(std::countr_zero(lanes))].value != nullptr;
  Check check{by, of, bytes, has_values};
  Area* area = nullptr;
  for (Lanes rest = lanes; rest != 0;) {
    const int lane = std::countr_zero(rest);
    const std::byte* const data = of[static_cast<std::size_t>(lane)].data;
    if (area == nullptr || data < area->first || data + bytes > area->end) area = area_of(data, bytes);
    int next = lane + 1;
    const auto goes_on = [&](std::ptrdiff_t step) {
      return next < kLanes && (rest >> next & 1) != 0 &&
             of[static_cast<std::size_t>(next)].data == data + step * (next - lane);
    };
    const auto step = static_cast<std::ptrdiff_t>(bytes);
    const bool is_whole = area != nullptr && std::has_single_bit(bytes) &&
                          static_cast<std::size_t>(data - area->first) % bytes == 0 && bytes <= kLine;
    int shift = kLanes;
    if (!by.writes && goes_on(0)) {
      while (goes_on(0)) ++next;
    } else if (is_whole) {
      while (goes_on(step)) ++next;
      shift = std::countr_zero(bytes);
    }
    rest = next == kLanes ? 0 : rest >> next << next;
    if (area == nullptr) continue;  // nobody writes there, or it is not recorded
    const auto at = static_cast<std::size_t>(data - area->first);
    const std::size_t count = shift == kLanes ? bytes : bytes * static_cast<std::size_t>(next - lane);
    add(check, *area, {at, at + count, lane, std::min(shift, kOneLane)});
  }
  return {std::move(check.found), std::move(check.between)};
}

// ---- Lines

void GlobalAccesses::add(Check& check, Area& area, const Run& run) {
  const GlobalAccess& by = check.by;
  for (std::size_t at = run.at; at < run.end;) {
    const std::size_t line = at / kLine, end = std::min(run.end, (line + 1) * kLine), first = at % kLine;
    const int lane = run.shift == kOneLane ? run.lane : run.lane + static_cast<int>((at - run.at) >> run.shift);
    Entry now;
    now.cluster = static_cast<std::uint32_t>(by.cluster);
    now.clock = by.order.clock(by.warp * kLanes);
    now.site = static_cast<std::uint32_t>(by.site + 1) & 0xFF'FFFF;
    now.shift = static_cast<std::uint32_t>(run.shift) & 0xF;
    now.strong = by.strong;
    now.non_coherent = by.non_coherent;
    now.writes = by.writes;
    now.superseded = 0;
    now.warp = static_cast<std::uint16_t>(by.warp);
    now.lane = static_cast<std::uint8_t>(lane);
    now.first = static_cast<std::uint8_t>(first);
    now.bytes = ~Mask() >> (kLine - (end - at)) << first;
    Page& of = page(area, at / kPage);
    const std::lock_guard lock(of.mutex);
    std::byte* const data = const_cast<std::byte*>(area.first) + line * kLine;
    check.skipped = run.shift == kOneLane ? at - run.at : 0;
    add(check, of.lines[line % (kPage / kLine)], now, data);
    at = end;
  }
}

// What lane of an entry stores to a byte.
std::byte GlobalAccesses::Check::value(const Entry& now, std::size_t byte) const {
  const std::size_t within =
      now.shift == kOneLane ? byte - now.first + skipped : (byte - now.first) & (bytes - 1);
  return lanes[static_cast<std::size_t>(now.lane_of(byte))].value[within];
}

// Stores of what is there already do not conflict with each other; those before stay for others, which store something else.
void GlobalAccesses::add(Check& check, Line& line, const Entry& now, std::byte* data) {
  std::vector<Entry> superseded;
  for (const Entry& old : line.writes) {
    if ((old.bytes & now.bytes).none() || (old.superseded && !now.writes)) continue;
    if (!conflicts(check, old, now, data) || !now.writes) continue;
    superseded.push_back(old);
    superseded.back().bytes &= now.bytes;
    superseded.back().superseded = 1;
  }
  if (!now.writes) return remember(check, line.reads, now);
  for (const Entry& old : line.reads)
    if ((old.bytes & now.bytes).any()) conflicts(check, old, now, data);
  for (std::vector<Entry>* const all : {&line.reads, &line.writes}) {
    for (Entry& old : *all) old.bytes &= ~now.bytes;
    std::erase_if(*all, [](const Entry& old) { return old.bytes.none(); });
  }
  constexpr std::size_t kMost = 4;
  if (superseded.size() > kMost) superseded.resize(kMost);
  line.writes.insert(line.writes.end(), superseded.begin(), superseded.end());
  line.writes.push_back(now);
  if (check.has_values)
    for (std::size_t byte = now.first; byte < kLine; ++byte)
      if (now.bytes[byte]) data[byte] = check.value(now, byte);
}

// A read stands for those before it that are known to the warp. Of others two are kept.
void GlobalAccesses::remember(Check& check, std::vector<Entry>& reads, const Entry& now) {
  int others = 0;
  for (Entry& old : reads) {
    if ((old.bytes & now.bytes).none()) continue;
    const bool is_before =
        old.is_of_warp(now) || (old.cluster == now.cluster && is_known(check, old, old.first, now.lane));
    if (is_before || others == 1)
      old.bytes &= ~now.bytes;
    else
      ++others;
  }
  std::erase_if(reads, [](const Entry& old) { return old.bytes.none(); });
  reads.push_back(now);
}

bool GlobalAccesses::is_known(const Check& check, const Entry& old, std::size_t byte, int lane) {
  const block::Order& order = check.by.order;
  const int me = check.by.warp * kLanes + lane, thread = old.thread_of(byte);
  return old.cluster == static_cast<std::uint32_t>(check.by.cluster)
             ? order.before(thread, old.clock, me)
             : order.before(old.cluster, thread, old.clock, me);
}

// Whether they are not ordered.
bool GlobalAccesses::conflicts(Check& check, const Entry& old, const Entry& now, std::byte* data) {
  const bool is_stale = (now.non_coherent && old.writes) || (old.non_coherent && now.writes);
  if (old.is_of_warp(now) && old.lane == now.lane && old.first == now.first && old.shift == now.shift &&
      !is_stale)
    return false;  // of each byte one lane
  if (!is_stale && old.strong && now.strong) return false;
  const Mask both = old.bytes & now.bytes;
  int last_old = -1, last_now = -1;
  bool out = false;
  for (std::size_t byte = 0; byte < kLine; ++byte) {
    if (!both[byte]) continue;
    const int old_lane = old.lane_of(byte), now_lane = now.lane_of(byte);
    const bool is_seen = old_lane == last_old && now_lane == last_now;
    if (is_seen && !out) continue;
    last_old = old_lane;
    last_now = now_lane;
    if (!is_stale && ((old.is_of_warp(now) && old_lane == now_lane) || is_known(check, old, byte, now_lane)))
      continue;
    out = true;
    if (old.writes && now.writes && check.has_values && check.value(now, byte) == data[byte]) continue;
    check.report(old, now, byte, data + byte);
    if (is_stale || old.cluster == now.cluster) break;
  }
  return out;
}

// Which of two conflicts is worse: one of a warp's own lanes is the least.
void GlobalAccesses::Check::report(const Entry& old, const Entry& now, std::size_t byte, const std::byte* at) {
  const block::Order& order = by.order;
  const int me = by.warp * kLanes + now.lane_of(byte), thread = old.thread_of(byte);
  const bool is_near = old.cluster == now.cluster;
  const auto side = [&](const Entry& of, int who) {
    return GlobalSide{of.cluster,     who,
                      of.clock,       static_cast<std::int32_t>(of.site) - 1,
                      of.writes != 0, of.non_coherent != 0};
  };
  GlobalConflict out{
      side(old, thread), side(now, me), at,
      is_near ? order.nearly_before(thread, old.clock, me)
              : order.nearly_before(old.cluster, thread, old.clock, me),
      is_near ? order.is_open(thread, old.clock, me) : order.is_open(old.cluster, thread, old.clock, me)};
  const auto rank = [&](const GlobalConflict& of) {
    if (of.before.cluster != of.now.cluster) return 3;
    if (of.flaw || of.before.non_coherent || of.now.non_coherent) return 1;
    return of.before.thread / kLanes == of.now.thread / kLanes ? 0 : 2;
  };
  std::optional<GlobalConflict>& place = is_near ? found : between;
  if (!place || rank(out) > rank(*place)) place = std::move(out);
}

// ---- Between clusters

// The side that comes first by the numbers of clusters is the first one.
void GlobalRaces::add(const GlobalConflict& found) {
  GlobalConflict one = found;
  if (one.now.cluster < one.before.cluster) std::swap(one.now, one.before);
  const int kind = one.before.non_coherent || one.now.non_coherent ? 0
                   : one.flaw                                      ? 1 + static_cast<int>(one.flaw->kind)
                                                                   : 3;
  const std::int32_t before = one.before.site % statements_, now = one.now.site % statements_;
  const Key key{std::min(before, now), std::max(before, now), kind};
  const auto rank = [](const GlobalConflict& of) {
    return std::tuple(of.before.cluster, of.now.cluster, of.before.thread, of.now.thread, of.byte);
  };
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = found_.try_emplace(key, one);
  if (!is_new && rank(one) < rank(at->second)) at->second = one;
}

std::vector<GlobalConflict> GlobalRaces::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<GlobalConflict> out;
  for (const auto& [key, one] : found_) out.push_back(one);
  return out;
}

}  // namespace warpbit::grid
