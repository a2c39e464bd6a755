// SPDX-License-Identifier: Apache-2.0
// What agents write and read at once, and what lacks a proxy fence.
#include <algorithm>

#include "block/accesses.hpp"

namespace warpbit::block {

// ---- Regions

const Accesses::Region* Accesses::region_at(std::int64_t byte) const {
  if (byte < regions_first_ || byte >= regions_end_) return nullptr;
  const auto found =
      std::ranges::find_if(regions_, [&](const Region& one) { return byte >= one.first && byte < one.end; });
  return found == regions_.end() ? nullptr : &*found;
}

// The region in which all these bytes lie.
Accesses::Region* Accesses::region_of(std::int64_t first, std::int64_t end) {
  const auto found =
      std::ranges::find_if(regions_, [&](const Region& one) { return first >= one.first && end <= one.end; });
  return found == regions_.end() ? nullptr : &*found;
}

// Begins to write all of it again, if that is allowed after what its last write and its reads have been. Agents' writes need
// no proxy fence.
bool Accesses::rewrite(Region& region, Now now, const Order& order) {
  const auto allowed = [&](Mark mark) { return before(mark, now, order); };
  if (region.written == Written::pending || !allowed(region.write) ||
      !std::ranges::all_of(region.latest, allowed))
    return false;
  region.write = now.mark;
  region.written = Written::pending;
  region.is_in_cells = false;
  region.readers.clear();
  region.ranges.clear();
  region.latest.clear();
  return true;
}

void Accesses::add_region(std::int64_t first, std::int64_t bytes, Mark write) {
  constexpr std::size_t kMax = 32;
  if (regions_.size() == kMax) end_regions(regions_.front().first, regions_.front().end);
  regions_first_ = regions_.empty() ? first : std::min(regions_first_, first);
  regions_end_ = regions_.empty() ? first + bytes : std::max(regions_end_, first + bytes);
  regions_.push_back({first, first + bytes, write});
}

// Reads by an agent, all in regions. False, and maybe remembered in part, if others are among them or it is not allowed.
bool Accesses::read_regions(std::span<const Effects::MemoryRead> bytes, Now first, Now second,
                            const Order& order) {
  constexpr std::size_t kMaxRanges = 4096;
  Region* of = nullptr;
  for (const Effects::MemoryRead& read : bytes) {
    const auto begin = static_cast<std::int64_t>(read.address),
               end = begin + static_cast<std::int64_t>(read.bytes);
    if (begin % kUnit != 0 || end % kUnit != 0) return false;
    if (of == nullptr || begin < of->first || end > of->end) {
      of = region_of(begin, end);
      if (of == nullptr || of->written != Written::done || !before(of->write, first, order) ||
          !before(of->write, second, order))
        return false;
      if (of->ranges.size() >= kMaxRanges) write_to_cells(*of);
      remember_read(*of, first.mark);
    }
    of->ranges.push_back({static_cast<std::uint32_t>(begin / kUnit), static_cast<std::uint32_t>(end / kUnit)});
    ++of->readers.back().ranges;
  }
  return true;
}

void Accesses::remember_read(Region& region, Mark mark) {
  if (region.readers.empty() || region.readers.back().mark != mark) region.readers.push_back({mark, 0});
  const auto same = std::ranges::find(region.latest, mark.thread(), &Mark::thread);
  same == region.latest.end() ? region.latest.push_back(mark) : void(*same = mark);
}

void Accesses::remember_agent(Cell& cell, Mark read) {
  if (cell.read[0].thread() != read.thread()) cell.read[1] = cell.read[0];
  cell.read[0] = read;
}

void Accesses::write_to_cells(Region& region) {
  if (!region.is_in_cells)
    for (std::int64_t unit = region.first / kUnit; unit < region.end / kUnit; ++unit)
      set(units_[index(unit)], region.write, region.written);
  region.is_in_cells = true;
  auto range = region.ranges.begin();
  for (const Region::Reader& reader : region.readers)
    for (const auto end = range + static_cast<std::ptrdiff_t>(reader.ranges); range != end; ++range)
      for (std::uint32_t unit = range->first; unit < range->end; ++unit)
        remember_agent(units_[unit], reader.mark);
  region.readers.clear();
  region.ranges.clear();
}

void Accesses::end_regions(std::int64_t first, std::int64_t end) {
  const auto is_met = [&](const Region& one) { return first < one.end && end > one.first; };
  for (Region& one : regions_)
    if (is_met(one)) write_to_cells(one);
  std::erase_if(regions_, is_met);
  if (regions_.empty()) regions_first_ = regions_end_ = 0;
}

// ---- Proxies

bool Accesses::is_fenced(Mark write, int first_thread, int threads, const Order& order) {
  if (!write.exists() || order.is_agent(write.thread()) || order.fenced(write.thread(), write.clock()))
    return true;
  for (int me = first_thread; me < first_thread + threads; ++me)
    if (!order.fenced(write.thread(), write.clock(), me)) return false;
  return true;
}

std::optional<Accesses::Unfenced> Accesses::unfenced(std::int64_t first, std::int64_t bytes, int first_thread,
                                                     int threads, const Order& order) {
  need_cells(first, bytes);
  const std::int64_t end = first + bytes;
  std::optional<Unfenced> out;
  Mark checked;
  bool fenced = true;  // of the write that was checked
  std::int64_t next = first;
  for (std::int64_t byte = first; byte < end; byte = next) {
    const std::size_t unit = index(byte / kUnit);
    const std::int64_t size = size_[unit];
    next = std::min(end, size == kUnit ? (byte / kUnit + 1) * kUnit : (byte / size + 1) * size);
    const Mark write = size == kUnit ? units_[unit].write : cell(byte).write;
    if (write != checked) {
      checked = write;
      fenced = is_fenced(write, first_thread, threads, order);
    }
    if (fenced && out) break;
    if (fenced) continue;
    if (!out) out = Unfenced{byte, byte, access(write)};
    out->last = next - 1;
    out->has_others = out->has_others || write.thread() != out->write.thread;
  }
  return out;
}

std::optional<Accesses::Unfenced> Accesses::unfenced_read(std::int64_t first, std::int64_t bytes, int me,
                                                          const Order& order) {
  need_cells(first, bytes);
  std::optional<Unfenced> out;
  for (std::int64_t byte = first, next; byte < first + bytes; byte = next) {
    const std::int64_t size = size_[index(byte / kUnit)];
    next = (byte / size + 1) * size;
    const auto& reads = cell(byte).read;
    const auto found = std::ranges::find_if(reads, [&](Mark read) { return !is_fenced(read, me, 1, order); });
    const bool goes_on = found != reads.end() && (!out || access(*found) == out->write);
    if (out && !goes_on) break;
    if (!goes_on) continue;
    if (!out) out = Unfenced{byte, byte, access(*found)};
    out->last = std::min(next, first + bytes) - 1;
  }
  return out;
}

bool Accesses::are_fenced(std::span<const Effects::MemoryRead> bytes, int first_thread, int threads,
                          const Order& order, const std::function<bool(Place)>& needs_none) {
  Mark checked;
  const auto allowed = [&](Mark write) {
    if (write == checked) return true;
    checked = write;
    return is_fenced(write, first_thread, threads, order) || (needs_none && needs_none(places_[write.place()]));
  };
  for (const Effects::MemoryRead& read : bytes) {
    need_cells(static_cast<std::int64_t>(read.address), static_cast<std::int64_t>(read.bytes));
    const std::uint64_t end = read.address + read.bytes;
    for (std::uint64_t unit = read.address / kUnit; unit * kUnit < end; ++unit) {
      if (size_[unit] == kUnit) {
        if (!allowed(units_[unit].write)) return false;
        continue;
      }
      const std::uint64_t last = std::min(end, (unit + 1) * kUnit);
      for (std::uint64_t byte = std::max(read.address, unit * kUnit); byte < last; ++byte)
        if (!allowed(cell(static_cast<std::int64_t>(byte)).write)) return false;
    }
  }
  return true;
}

}  // namespace warpbit::block
