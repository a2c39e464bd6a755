// SPDX-License-Identifier: Apache-2.0
#include "grid/global_accesses.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "grid/global_check.hpp"

namespace warpbit::grid {
namespace {

constexpr int kOneLane = 7;  // the shift of bytes that are one lane's: more than a line has

// Of two. std::has_single_bit may be a call, which counts all of them.
bool is_power(std::size_t one) {
  return one != 0 && (one & (one - 1)) == 0;
}

// Those of so many lanes, which are `step` apart. Precondition: the last ones begin below 128.
LineBits of_lanes(std::size_t bytes, std::size_t step, std::size_t lanes) {
  if (step == bytes) return low_bits(bytes * lanes);
  LineBits out = low_bits(bytes);
  for (std::size_t done = 1; done < lanes; done *= 2) out |= out << step * done;
  return out & low_bits(step * lanes);
}

// Lanes have few bytes, and most as many as a register.
void copy_lane(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    case 16: std::memcpy(to, from, 16); break;
    default: std::memcpy(to, from, bytes); break;
  }
}

}  // namespace

GlobalAccesses::Entry GlobalAccesses::Check::entry_by(const GlobalAccess& by) {
  Entry out = {};
  out.cluster = static_cast<std::uint32_t>(by.cluster);
  out.clock = by.order.clock(by.warp * kLanes);
  out.site = static_cast<std::uint32_t>(by.site + 1) & 0xFF'FFFF;
  out.strong = by.strong;
  out.non_coherent = by.non_coherent;
  out.writes = by.writes;
  out.async = by.async;
  out.warp = static_cast<std::uint16_t>(by.warp);
  return out;
}

// ---- Memory

// Ranges of the process that overlap are one.
GlobalAccesses::GlobalAccesses(const GlobalMemory& memory, int threads,
                               const std::function<bool(const GlobalMemory::Range&)>& stored,
                               GlobalFences fences)
    : is_alone_(threads == 1), fences_(fences) {
  std::vector<const GlobalMemory::Range*> all;
  for (const GlobalMemory::Range& range : memory.ranges()) {
    if (range.heap != nullptr)
      heap_ = range.data, heap_end_ = range.data + range.bytes;
    else if (range.writable && range.bytes != 0)
      all.push_back(&range);
  }
  std::ranges::sort(all, {}, &GlobalMemory::Range::data);
  for (std::size_t i = 0; i < all.size();) {
    const std::byte *const first = all[i]->data, *end = first;
    bool is_stored = false;
    for (; i < all.size() && (end == first || all[i]->data < end); ++i) {
      end = std::max<const std::byte*>(end, all[i]->data + all[i]->bytes);
      is_stored = is_stored || stored(*all[i]);
    }
    const std::size_t lines = (static_cast<std::size_t>(end - first) + kLine - 1) / kLine;
    areas_.push_back({first, end, is_stored, ZeroBytes(lines * sizeof(Line))});
  }
}

GlobalAccesses::~GlobalAccesses() = default;

GlobalAccesses::Area* GlobalAccesses::area_of(const std::byte* data, std::size_t bytes) {
  const auto after = std::ranges::upper_bound(areas_, data, {}, &Area::first);
  if (after == areas_.begin()) return nullptr;
  Area& out = *(after - 1);
  return out.has(data, bytes) ? &out : nullptr;
}

// One page at a time.
void GlobalAccesses::Check::hold(std::mutex* page) {
  if (lock.mutex() == page) return;
  lock = {};
  lock = std::unique_lock(*page);
}

// ---- Accesses

bool GlobalAccesses::is_recorded(const std::byte* first) {
  Area* const area = area_of(first, 1);
  return area != nullptr && std::atomic_ref(area->is_stored).load(std::memory_order_relaxed);
}

// Nothing, if nobody writes there, or it is not recorded.
GlobalAccesses::Area* GlobalAccesses::recorded(const GlobalAccess& by, const GlobalLanes& what, int lane) {
  Area* const area = area_of(what.of(lane), what.bytes);
  if (area == nullptr) return nullptr;
  if (const std::atomic_ref<bool> is_stored(area->is_stored); !is_stored.load(std::memory_order_relaxed)) {
    if (!by.writes) return nullptr;
    is_stored.store(true, std::memory_order_relaxed);
  }
  return area;
}

Lanes GlobalAccesses::access_each(const GlobalAccess& by, const GlobalLanes& what,
                                  const std::function<bool(int, const GlobalConflicts&)>& allowed) {
  Check check{by, what};
  Area* area = nullptr;  // of the lane before, as a rule this one's
  const bool may_put = by.strong && by.writes && what.values == nullptr;
  for (Lanes rest = what.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (area == nullptr || !area->has(what.of(lane), what.bytes)) area = recorded(by, what, lane);
    if (area == nullptr) continue;
    const Run run = run_of_one(lane, *area, what);
    if (may_put && is_put(check, *area, run)) continue;
    add(check, *area, run);
    if (check.found == nullptr) continue;
    check.lock = {};
    if (!allowed(lane, *std::exchange(check.found, nullptr))) return what.lanes & ~rest;
  }
  return what.lanes;
}

std::unique_ptr<GlobalConflicts> GlobalAccesses::access(const GlobalAccess& by, const GlobalLanes& what) {
  Check check{by, what};
  Area* area = nullptr;  // of the lanes before, as a rule these ones'
  for (Lanes rest = what.lanes; rest != 0;) {
    const int lane = std::countr_zero(rest);
    int next = lane + 1;
    if (area == nullptr || !area->has(what.of(lane), what.bytes)) area = recorded(by, what, lane);
    if (area != nullptr) {
      const Run run = run_from(lane, *area, by, what);
      if (!is_put_as_piece(check, *area, run)) add(check, *area, run);
      next = run.lane + run.lanes;
    }
    rest = next == kLanes ? 0 : rest >> next << next;
  }
  return std::move(check.found);
}

GlobalAccesses::Run GlobalAccesses::run_of_one(int lane, const Area& area, const GlobalLanes& what) {
  const auto at = static_cast<std::size_t>(what.of(lane) - area.first);
  const bool is_whole = is_power(what.bytes) && (at & (what.bytes - 1)) == 0 && what.bytes < kLine;
  return {at, lane, 1, is_whole ? std::countr_zero(what.bytes) : kOneLane};
}

// As many lanes as there are whose bytes lie at one distance in this area, each in one line.
GlobalAccesses::Run GlobalAccesses::run_from(int lane, const Area& area, const GlobalAccess& by,
                                             const GlobalLanes& what) {
  Run out = run_of_one(lane, area, what);
  const bool is_whole = out.shift != kOneLane;
  const auto keep_those_here = [&] {
    while (!area.has(what.of(lane + out.lanes - 1), what.bytes)) --out.lanes;
  };
  if (what.is_row) {
    if (is_whole) {
      out.lanes = kLanes - lane;
      keep_those_here();
    }
    return out;
  }
  const Lanes behind = what.lanes >> lane >> 1;
  const std::byte* const* const data = what.data.data() + lane;
  if ((behind & 1) == 0 || !area.has(data[1], what.bytes)) return out;
  const std::ptrdiff_t step = data[1] - data[0];
  const auto distance = static_cast<std::size_t>(std::abs(step));
  const bool is_same = step == 0 && !by.writes,
             is_row = is_whole && is_power(distance) && distance >= what.bytes && distance < kLine;
  if (!is_same && !is_row) return out;
  out.shift = is_same ? kOneLane : std::countr_zero(distance);
  const int most = 1 + std::countr_one(behind);
  out.lanes = 2;
  while (out.lanes < most && data[out.lanes] - data[out.lanes - 1] == step) ++out.lanes;
  keep_those_here();
  if (step < 0) {
    out.falls = true;
    out.at -= distance * static_cast<std::size_t>(out.lanes - 1);
  }
  return out;
}

// ---- Lines

// The way of most lanes of a plain store: side by side in one line, of which others like them have the rest.
bool GlobalAccesses::is_put_as_piece(Check& check, Area& area, const Run& run) {
  const std::size_t bytes = check.what.bytes, size = bytes * static_cast<std::size_t>(run.lanes),
                    first = run.at % kLine;
  const bool is_plain = check.by.writes && !check.by.strong && !run.falls;
  if (!is_plain || std::size_t{1} << run.shift != bytes || (size != 16 && size != 32 && size != 64) ||
      (first & (size - 1)) != 0)
    return false;
  Entry& now = check.entry;
  now.shift = static_cast<std::uint32_t>(run.shift) & 0xF;
  now.falls = false;
  now.lane = static_cast<std::uint8_t>(run.lane) & 31;
  now.first = static_cast<std::uint8_t>(first);
  check.hold(mutex_of(run.at));
  if (!area.line(run.at).put_piece(now, size)) return false;
  if (check.what.values != nullptr)
    check.store_row(run.lane, run.lanes, const_cast<std::byte*>(area.first) + run.at);
  return true;
}

void GlobalAccesses::add(Check& check, Area& area, const Run& run) {
  const bool is_one = run.shift == kOneLane;
  const std::size_t step = is_one ? 1 : std::size_t{1} << run.shift,
                    bytes = is_one ? 1 : check.what.bytes,  // of one lane: bytes by themselves
      count = is_one ? check.what.bytes : static_cast<std::size_t>(run.lanes);
  Entry& now = check.entry;
  now.shift = static_cast<std::uint32_t>(run.shift) & 0xF;
  now.falls = run.falls;
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = run.at + done * step, first = at % kLine,
                      here = std::min(count - done, (kLine - first + step - 1) >> (is_one ? 0 : run.shift));
    const int further = is_one ? 0 : static_cast<int>(done);
    now.lane = static_cast<std::uint8_t>(run.falls ? run.lowest() - further : run.lane + further) & 31;
    now.first = static_cast<std::uint8_t>(first);
    now.bytes = of_lanes(bytes, step, here) << first;
    check.skipped = is_one ? done : 0;
    check.hold(mutex_of(at));
    add(check, area.line(at), now, const_cast<std::byte*>(area.first) + (at - first));
    done += here;
  }
}

// What a lane of an entry stores from a byte of it on.
const std::byte* GlobalAccesses::Check::value(const Entry& now, std::size_t byte) const {
  const std::size_t from = byte - now.first, within = from & ((std::size_t{1} << now.shift) - 1);
  return what.values + static_cast<std::size_t>(now.lane_of(byte)) * what.stride + within + skipped;
}

// The pieces of it that hang together there and here, with `visit(byte of the line, values, count)`.
template <class Visit>
void GlobalAccesses::Check::for_each_piece(const Entry& now, Visit visit) const {
  const bool is_row = what.stride == std::size_t{1} << now.shift && what.stride == what.bytes && !now.falls;
  if (now.shift == kOneLane || is_row)
    return visit(std::size_t{now.first}, value(now, now.first), size_of(now.bytes));
  const auto stride = static_cast<std::ptrdiff_t>(what.stride);
  const std::byte* from = value(now, now.first);
  for (std::size_t byte = now.first; byte < kLine && (now.bytes >> byte & 1) != 0;
       byte += std::size_t{1} << now.shift, from += now.falls ? -stride : stride)
    visit(byte, from, what.bytes);
}

void GlobalAccesses::Check::store(const Entry& now, std::byte* data) const {
  for_each_piece(now, [&](std::size_t at, const std::byte* from, std::size_t bytes) {
    copy_lane(data + at, from, bytes);
  });
}

// The bytes of each lane go behind those of the one before.
void GlobalAccesses::Check::store_row(int lane, int lanes, std::byte* to) const {
  const std::byte* from = what.values + static_cast<std::size_t>(lane) * what.stride;
  for (; lanes > 0; --lanes, from += what.stride, to += what.bytes) copy_lane(to, from, what.bytes);
}

bool GlobalAccesses::Check::repeats(const Entry& now, const std::byte* data) const {
  bool out = true;
  for_each_piece(now, [&](std::size_t at, const std::byte* from, std::size_t bytes) {
    out = out && std::memcmp(data + at, from, bytes) == 0;
  });
  return out;
}

// ---- Words

// False if the line has too few of them for more than a list, or it is none.
bool GlobalAccesses::add_word(Lists& line, const Entry& now) {
  const std::size_t size = line.words != nullptr ? line.words->size() : std::size_t{1} << now.shift;
  if (size < 4 || size > 8 || !Words::is_word(now, size)) return false;
  if (line.words == nullptr) {
    constexpr std::ptrdiff_t kFew = 4;
    const auto is_word = [&](const Entry& one) { return Words::is_word(one, size); };
    if (std::ranges::count_if(line.writes, is_word) < kFew) return false;
    line.words = std::make_unique<Words>(size);
    for (Entry& one : line.writes)
      if (is_word(one)) {
        line.words->put(one);
        one.bytes = 0;
      }
    line.writes.remove(0);
  }
  line.words->put(now);
  return true;
}

// The way of most lanes of an atomic, which stores nothing here: to a line that has words already, and nothing that conflicts.
bool GlobalAccesses::is_put(Check& check, Area& area, const Run& run) {
  if (run.shift == kOneLane || check.use.scope != block::Scope::gpu) return false;
  check.hold(mutex_of(run.at));
  Lists* const line = area.line(run.at).find_lists();
  if (line == nullptr || line->words == nullptr || line->words->size() != check.what.bytes) return false;
  Entry& now = check.entry;
  now.shift = static_cast<std::uint32_t>(run.shift) & 0xF;
  now.lane = static_cast<std::uint8_t>(run.lane) & 31;
  now.first = static_cast<std::uint8_t>(run.at % kLine);
  if ((!line->writes.empty() || !line->reads.empty()) && !is_after_all(check, *line, now)) return false;
  line->words->put(now);
  return true;
}

// Whether a word has nothing to conflict with, as is seen at once.
bool GlobalAccesses::is_after_all(const Check& check, Lists& line, const Mark& word) {
  const std::size_t end = word.first + check.what.bytes;
  const Entry now{word, low_bits(check.what.bytes) << word.first};
  const auto is_before = [&](const Entry& old) {
    const LineBits both = old.bytes & now.bytes;
    if (both == 0 || is_ordered(check, old, now)) return true;
    const std::size_t byte = lowest_of(both);
    return !is_stale(old, now) && old.end_of_lane(byte) >= end && is_known(check, old, byte, now.lane);
  };
  return std::ranges::all_of(line.writes, is_before) && std::ranges::all_of(line.reads, is_before);
}

// ---- One entry

void GlobalAccesses::add(Check& check, Line& line, const Entry& by, std::byte* data) {
  if (Lists* const all = line.find_lists()) return add(check, *all, by, data);
  if (!is_alone(check, line, by)) return add(check, lists_of(line), by, data);
  Entry now = by;
  if (check.what.values != nullptr) {
    now.repeats = now.strong && check.repeats(now, data);
    check.store(now, data);
  }
  line.put(now);
}

// Whether nothing is there, or what it takes the place of, as the lists would find.
bool GlobalAccesses::is_alone(const Check& check, const Line& line, const Entry& now) {
  if (line.is_new()) return true;
  if (now.strong && now.writes) return false;
  Line::Buffer buffer;
  return std::ranges::all_of(line.entries(buffer), [&](const Entry& old) {
    if ((old.bytes & ~now.bytes) != 0) return false;
    return now.writes ? is_ordered(check, old, now) : !old.writes && stands_for(check, now, old);
  });
}

GlobalAccesses::Lists& GlobalAccesses::lists_of(Line& line) {
  const std::lock_guard lock(mutex_);
  Lists& out = lists_.emplace_back();
  Line::Buffer buffer;
  for (const Entry& old : line.entries(buffer)) (old.writes ? out.writes : out.reads).push_back(old);
  line.put(out);
  return out;
}

}  // namespace warpbit::grid
