// SPDX-License-Identifier: Apache-2.0
#include "block/accesses.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace warpbit::block {

std::uint16_t Accesses::number(Place at) {
  constexpr std::size_t kMaxPlace = 0x7FFF, kMaxLine = 0xFFFF;
  const std::size_t line = at.line & kMaxLine;
  if (line >= numbers_.size()) numbers_.resize(line + 1);
  std::uint16_t& out = numbers_[line];
  if (out < places_.size() && places_[out] == at) return out;
  // Too many places to number: the last number stands for all further ones.
  const auto found = static_cast<std::size_t>(std::ranges::find(places_, at) - places_.begin());
  if (found == places_.size() && found <= kMaxPlace) places_.push_back(at);
  return out = static_cast<std::uint16_t>(std::min(found, kMaxPlace));
}

// ---- Cells

const Accesses::Cell& Accesses::cell(std::int64_t byte) const {
  switch (size_[index(byte / kUnit)]) {
    case kUnit: return units_[index(byte / kUnit)];
    case kWord: return words_[byte];
    default: return bytes_[byte];
  }
}

template <class Cells>
void Accesses::split_into(Cells& cells, std::size_t unit) {
  const std::int64_t first = static_cast<std::int64_t>(unit) * kUnit, before = size_[unit];
  cells.add(unit, units_.size());
  for (std::int64_t byte = first; byte < first + kUnit; byte += Cells::kSize)
    cells[byte] = before == kUnit ? units_[unit] : words_[byte];
  size_[unit] = static_cast<std::uint8_t>(Cells::kSize);
}

// The cells of a unit become as small as this.
void Accesses::split(std::size_t unit, std::int64_t size) {
  size == kWord ? split_into(words_, unit) : split_into(bytes_, unit);
}

template <class Visit>
bool Accesses::for_each_cell(std::int64_t first, std::int64_t bytes, Visit visit) {
  const std::int64_t end = first + bytes;
  bool parts = false;
  for (std::int64_t byte = first; byte < end;) {
    const std::size_t unit = index(byte / kUnit);
    const auto begins = [&](std::int64_t size) { return byte % size == 0 && end - byte >= size; };
    if (size_[unit] == kUnit) {
      if (begins(kUnit)) {
        visit(units_[unit], byte);
        byte += kUnit;
        continue;
      }
      split(unit, begins(kWord) ? kWord : 1);
    }
    parts = true;
    if (size_[unit] == kWord) {
      if (begins(kWord)) {
        visit(words_[byte], byte);
        byte += kWord;
        continue;
      }
      split(unit, 1);
    }
    visit(bytes_[byte], byte);
    ++byte;
  }
  return parts;
}

// The units whose bytes have become alike.
void Accesses::unite(std::int64_t first, std::int64_t bytes) {
  const auto alike = [](const Cell* cells, std::int64_t count) {
    return std::all_of(cells + 1, cells + count, [&](const Cell& one) { return one == *cells; });
  };
  for (std::int64_t byte = (first + kUnit - 1) / kUnit * kUnit; byte + kUnit <= first + bytes; byte += kUnit) {
    const std::size_t unit = index(byte / kUnit);
    const std::int64_t size = size_[unit];
    if (size == kUnit) continue;
    const Cell* const cells = size == kWord ? &words_[byte] : &bytes_[byte];
    if (!alike(cells, kUnit / size)) continue;
    units_[unit] = *cells;
    size_[unit] = static_cast<std::uint8_t>(kUnit);
  }
}

void Accesses::remember(Cell& cell, Mark read) {
  const Mark last = cell.read[0], other = cell.read[1];
  const auto apart = [&](Mark m) { return m.exists() && m.thread() / kWarp != read.thread() / kWarp; };
  if (last.exists() && last.thread() != read.thread() && (apart(last) || !apart(other))) cell.read[1] = last;
  cell.read[0] = read;
}

// ---- Conflicts

bool Accesses::is_read_before_meeting(const Conflict& of, const Order& order) {
  return of.kind == Conflict::Kind::race && !of.before_writes && of.before->strong &&
         order.has_met(of.before->thread, of.before->clock, of.thread);
}

// Lanes that were together do it one after the other, and what a lane has read before it met others is read: a conflict of theirs
// hides no other one.
void Accesses::keep_worse(std::optional<Conflict>& out, std::optional<Conflict> found, const Order& order) {
  const auto rank = [&](const Conflict& of) {
    if (of.kind == Conflict::Kind::never_written) return 0;
    if (is_read_before_meeting(of, order)) return 1;
    const bool is_minor = of.kind == Conflict::Kind::race &&
                          (block::is_minor(of.misfit) || of.misfit == Misfit::lanes ||
                           order.are_in_turn(of.before->thread, of.before->clock, of.thread) ||
                           order.nearly_before(of.before->thread, of.before->clock, of.thread));
    return is_minor ? 2 : 3;
  };
  const auto goes_on = [](const Conflict& last, const Conflict& next) {
    return next.byte == last.last + 1 && next.kind == last.kind && next.thread == last.thread &&
           next.before == last.before && next.before_writes == last.before_writes &&
           next.misfit == last.misfit && next.was_unwritten == last.was_unwritten;
  };
  if (!found) return;
  if (out && goes_on(*out, *found))
    out->last = found->last;
  else if (!out || rank(*found) > rank(*out))
    out = std::move(found);
}

Misfit Accesses::misfit(Mark mark, bool mark_writes, Now now, bool writes, const Order& order) const {
  if (!mark.exists() || !mark.strong() || !now.mark.strong()) return Misfit::none;
  const StrongUse one = order.use_at(places_[mark.place()]), other = order.use_at(places_[now.mark.place()]);
  const Misfit out = order.misfit({one, mark.thread(), mark_writes}, {other, now.me, writes});
  return out == Misfit::none || order.before(mark.thread(), mark.clock(), now.me) ? Misfit::none : out;
}

// ---- Reads

std::optional<Accesses::Conflict> Accesses::check_read(const Cell& cell, std::int64_t byte, Now now,
                                                       const Order& order) const {
  using enum Conflict::Kind;
  if (!is_before_read(cell.write, now, order))
    return conflict(race, now, byte, access(cell.write), true, misfit(cell.write, true, now, false, order));
  if (cell.written == Written::pending) return conflict(pending, now, byte, access(cell.write), true);
  if (cell.written == Written::never) return conflict(never_written, now, byte, std::nullopt);
  return std::nullopt;
}

std::optional<Accesses::Conflict> Accesses::read(std::int64_t first, std::int64_t bytes, Now now,
                                                 const Order& order) {
  need_cells(first, bytes);
  std::optional<Conflict> out;
  for_each_cell(first, bytes, [&](Cell& cell, std::int64_t byte) {
    remember(cell, now.mark);
    const bool allowed = cell.written == Written::done && is_before_read(cell.write, now, order);
    if (!allowed) keep_worse(out, check_read(cell, byte, now, order), order);
  });
  return out;
}

std::optional<Accesses::Conflict> Accesses::read(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                                 const Order& order, bool strong) {
  return read(first, bytes, mark(thread, number(at), order, strong), order);
}

std::optional<Accesses::Conflict> Accesses::read(const LaneAccesses& of, const Order& order) {
  const std::uint16_t place = number(of.at);
  std::optional<Conflict> out;
  for (std::uint32_t rest = of.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Now now = mark(of.warp * kWarp + lane, place, order, of.strong);
    if (auto found = read(of.first[index(lane)], of.bytes, now, order))
      keep_worse(out, std::move(found), order);
  }
  return out;
}

bool Accesses::read_at_once(std::span<const Effects::MemoryRead> bytes, int first_thread, int second_thread,
                            int threads, Place at, Agent agent, const Order& order, bool& fenced) {
  bool all_fenced = true;
  const Now first = mark(agent, first_thread, at), second{first.mark, second_thread};
  if (read_regions(bytes, first, second, order)) return fenced = true;
  Mark allowed;
  for (const Effects::MemoryRead& read : bytes) {
    need_cells(static_cast<std::int64_t>(read.address), static_cast<std::int64_t>(read.bytes));
    if (read.address % kUnit != 0 || read.bytes % kUnit != 0) return false;
    const std::uint64_t end = (read.address + read.bytes) / kUnit;
    for (std::uint64_t unit = read.address / kUnit; unit < end; ++unit) {
      Cell& cell = units_[unit];
      if (size_[unit] != kUnit || cell.written != Written::done) return false;
      if (cell.write != allowed) {
        if (!before(cell.write, first, order) || !before(cell.write, second, order)) return false;
        allowed = cell.write;
        all_fenced = all_fenced && is_fenced(allowed, first_thread, threads, order);
      }
      remember_agent(cell, first.mark);
    }
  }
  fenced = all_fenced;
  return true;
}

// ---- Writes

std::optional<Accesses::Conflict> Accesses::check_write(const Cell& cell, std::int64_t byte, Now now,
                                                        const Order& order, Written state) const {
  using enum Conflict::Kind;
  std::optional<Conflict> out;
  if (state != Written::same && !is_before_write(cell.write, true, now, order))
    out = conflict(race, now, byte, access(cell.write), true, misfit(cell.write, true, now, true, order));
  for (Mark read : cell.read)
    if (!is_before_write(read, false, now, order))
      keep_worse(out, conflict(race, now, byte, access(read), false, misfit(read, false, now, true, order)),
                 order);
  if (out) out->was_unwritten = cell.written == Written::never;
  if (out) return out;
  if (cell.written == Written::pending && !(now.mark.strong() && cell.write.strong()))
    return conflict(pending, now, byte, access(cell.write), true);
  return std::nullopt;
}

std::optional<Accesses::Conflict> Accesses::write(std::int64_t first, std::int64_t bytes, Now now,
                                                  const Order& order, Written state) {
  need_cells(first, bytes);
  std::optional<Conflict> out;
  const bool parts = for_each_cell(first, bytes, [&](Cell& cell, std::int64_t byte) {
    const bool is_free = cell.written != Written::pending || (now.mark.strong() && cell.write.strong());
    const bool allowed = is_free && is_before_write(cell.write, true, now, order) &&
                         is_before_write(cell.read[0], false, now, order) &&
                         is_before_write(cell.read[1], false, now, order);
    if (!allowed) keep_worse(out, check_write(cell, byte, now, order, state), order);
    // A strong access does not hide a weak one that its thread has not released since: nobody else comes behind that one. Nor one of
    // its warp, until a barrier has told everybody of that.
    const Mark mark = now.mark, last = cell.write;
    const bool was_weak = mark.strong() && last.exists() && !last.strong(),
               hides = was_weak && order.is_latest(last.thread(), last.clock()),
               is_kept = was_weak && last.thread() / kWarp == mark.thread() / kWarp &&
                         !order.before_barrier(last.thread(), last.clock());
    const Mark write(mark.thread(), mark.clock(), mark.place(), mark.strong() && !hides);
    set(cell, is_kept ? last : write, state == Written::same ? Written::done : state);
    if (is_kept) cell.read[0] = mark;
  });
  if (parts) unite(first, bytes);
  return out;
}

bool Accesses::write_if_free(std::int64_t first, std::int64_t bytes, int thread, std::uint16_t place,
                             const Order& order, Written state) {
  need_cells(first, bytes);
  const Now now = mark(thread, place, order);
  bool is_free = true;
  for_each_cell(first, bytes, [&](const Cell& cell, std::int64_t) {
    is_free = is_free && cell.written != Written::pending &&
              (state == Written::same || before(cell.write, now, order)) && before(cell.read[0], now, order) &&
              before(cell.read[1], now, order);
  });
  if (!is_free) return false;
  const Written written = state == Written::same ? Written::done : state;
  if (for_each_cell(first, bytes, [&](Cell& cell, std::int64_t) { set(cell, now.mark, written); }))
    unite(first, bytes);
  return true;
}

bool Accesses::are_settled(std::int64_t first, std::int64_t bytes) const {
  for (std::int64_t byte = first; byte < first + bytes;) {
    const Region* const region = region_at(byte);
    if ((region != nullptr ? region->written : cell(byte).written) != Written::done) return false;
    const std::int64_t size = region != nullptr ? kUnit : size_[index(byte / kUnit)];
    byte = (byte / size + 1) * size;
  }
  return true;
}

void Accesses::forget(std::int64_t first, std::int64_t bytes) {
  need_cells(first, bytes);
  const bool parts =
      for_each_cell(first, bytes, [&](Cell& cell, std::int64_t) { cell.written = Written::never; });
  if (parts) unite(first, bytes);
}

std::optional<Accesses::Conflict> Accesses::write(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                                  const Order& order, Written state, bool strong) {
  return write(first, bytes, mark(thread, number(at), order, strong), order, state);
}

std::optional<Accesses::Conflict> Accesses::write(const LaneAccesses& of, const Order& order, Written state) {
  const std::uint16_t place = number(of.at);
  std::optional<Conflict> out;
  for (std::uint32_t rest = of.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const Now now = mark(of.warp * kWarp + lane, place, order, of.strong);
    if (auto found = write(of.first[index(lane)], of.bytes, now, order, state))
      keep_worse(out, std::move(found), order);
  }
  return out;
}

void Accesses::settle(std::int64_t first, std::int64_t bytes, int thread, std::uint16_t place,
                      const Order& order) {
  need_cells(first, bytes);
  const Mark now = mark(thread, place, order).mark;
  const bool parts =
      for_each_cell(first, bytes, [&](Cell& cell, std::int64_t) { set(cell, now, Written::done); });
  if (parts) unite(first, bytes);
}

// ---- Agents

std::optional<Accesses::Conflict> Accesses::read(std::int64_t first, std::int64_t bytes, int me, Place at,
                                                 Agent agent, const Order& order) {
  return read(first, bytes, mark(agent, me, at), order);
}

std::optional<Accesses::Conflict> Accesses::write(std::int64_t first, std::int64_t bytes, int me, Place at,
                                                  Agent agent, const Order& order) {
  return write(first, bytes, mark(agent, me, at), order, Written::pending);
}

bool Accesses::write_at_once(std::int64_t first, std::int64_t bytes, int me, Place at, Agent agent,
                             const Order& order) {
  if (first % kUnit != 0 || bytes % kUnit != 0 || agent.strong) return false;
  const Now now = mark(agent, me, at);
  Region* const region = region_of(first, first + bytes);
  if (region != nullptr && region->first == first && region->end == first + bytes &&
      rewrite(*region, now, order))
    return true;
  need_cells(first, bytes);
  const std::size_t begin = index(first / kUnit), end = index((first + bytes) / kUnit);
  Mark write, last, other;  // those that were found to be allowed: so are earlier ones of the same actor
  const auto allowed = [&](Mark mark, Mark& known) {
    if (mark.thread() == known.thread() && mark.clock() <= known.clock()) return true;
    known = mark;
    return before(mark, now, order);
  };
  for (std::size_t unit = begin; unit < end; ++unit) {
    const Cell& cell = units_[unit];
    if (size_[unit] != kUnit || cell.written == Written::pending) return false;
    if (cell.write != write && !is_fenced(cell.write, me, 1, order)) return false;
    if (!allowed(cell.write, write) || !allowed(cell.read[0], last) || !allowed(cell.read[1], other))
      return false;
  }
  if (bytes >= kMinRegion)
    add_region(first, bytes, now.mark);
  else
    for (std::size_t unit = begin; unit < end; ++unit) set(units_[unit], now.mark, Written::pending);
  return true;
}

void Accesses::settle(std::int64_t first, std::int64_t bytes, Agent agent, Place at) {
  const Mark now = mark(agent, 0, at).mark;
  Region* const region = region_of(first, first + bytes);
  if (region != nullptr && region->first == first && region->end == first + bytes && region->write == now) {
    region->written = Written::done;
    return;
  }
  need_cells(first, bytes);
  const bool parts =
      for_each_cell(first, bytes, [&](Cell& cell, std::int64_t) { set(cell, now, Written::done); });
  if (parts) unite(first, bytes);
}

std::optional<Accesses::Conflict> Accesses::foreign(std::int64_t first, std::int64_t bytes, int first_thread,
                                                    int threads, int me, const Order& order,
                                                    const std::function<bool(std::int64_t)>& is_object) {
  need_cells(first, bytes);
  std::optional<Conflict> arrival;
  const auto is_foreign = [&](Mark mark) {
    if (!mark.exists() || order.is_agent(mark.thread())) return false;
    if (mark.thread() >= first_thread && mark.thread() < first_thread + threads) return false;
    for (int warp = first_thread; warp < first_thread + threads; warp += kWarp)
      if (order.before(mark.thread(), mark.clock(), warp)) return false;
    return true;
  };
  for (std::int64_t byte = first; byte < first + bytes;) {
    const std::int64_t size = size_[index(byte / kUnit)];
    const Cell& of = cell(byte);
    for (const Mark mark : {of.write, of.read[0], of.read[1]})
      if (is_foreign(mark)) {
        const Conflict found = conflict(Conflict::Kind::race, {mark, me}, byte, access(mark), mark == of.write);
        if (found.before_writes || !is_object(byte)) return found;
        if (!arrival) arrival = found;
      }
    byte = (byte / size + 1) * size;
  }
  return arrival;
}

}  // namespace warpbit::block
