// SPDX-License-Identifier: Apache-2.0
#include "device/order.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace warpbit::device {

Order::Order(int threads)
    : clock_(index(threads)), barrier_(index(threads)), known_(index(threads) * index(kWarp)) {}

void Order::barrier() {
  for (std::size_t i = 0; i < clock_.size(); ++i) barrier_[i] = ++clock_[i];
}

void Order::sync_warp(int warp, std::uint32_t lanes) {
  std::array<std::uint32_t, kWarp> together{};
  const auto is_there = [&](int lane) { return (lanes >> lane & 1U) != 0; };
  for (int lane = 0; lane < kWarp; ++lane) {
    if (!is_there(lane)) continue;
    const int thread = warp * kWarp + lane;
    for (int other = 0; other < kWarp; ++other)
      together[index(other)] = std::max(together[index(other)], known(thread, other));
    together[index(lane)] = ++clock_[index(thread)];
  }
  for (int lane = 0; lane < kWarp; ++lane)
    if (is_there(lane))
      std::ranges::copy(together, known_.begin() + (std::ptrdiff_t{warp} * kWarp + lane) * kWarp);
}

Accesses::Mark Accesses::mark(int thread, Place at, const Order& order) {
  if (places_.empty() || places_[latest_] != at) {
    latest_ = static_cast<std::size_t>(std::ranges::find(places_, at) - places_.begin());
    // More places than any kernel has: the last one stands for the rest.
    latest_ = std::min<std::size_t>(latest_, std::numeric_limits<std::uint16_t>::max());
    if (latest_ == places_.size()) places_.push_back(at);
  }
  return {order.clock(thread), static_cast<std::int16_t>(thread), static_cast<std::uint16_t>(latest_)};
}

void Accesses::remember(Cell& cell, const Mark& read) {
  Mark &last = cell.read[0], &other = cell.read[1];
  if (last.thread >= 0 && last.thread != read.thread) {
    const auto apart = [&](const Mark& m) { return m.thread >= 0 && m.thread / kWarp != read.thread / kWarp; };
    if (apart(last) || !apart(other)) other = last;
  }
  last = read;
}

std::optional<Accesses::Conflict> Accesses::read(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                                 const Order& order) {
  using enum Conflict::Kind;
  const Mark now = mark(thread, at, order);
  Mark checked;  // comes before
  std::optional<Conflict> conflict;
  for (std::int64_t byte = first; byte < first + bytes; ++byte) {
    Cell& cell = cells_[static_cast<std::size_t>(byte)];
    remember(cell, now);
    if (cell.written == Written::done && cell.write == checked) continue;
    if (conflict) continue;
    if (!before(cell.write, thread, order))
      conflict = Conflict{race, byte, access(cell.write), true};
    else if (cell.written == Written::pending)
      conflict = Conflict{pending, byte, access(cell.write), true};
    else if (cell.written == Written::never)
      conflict = Conflict{never_written, byte, std::nullopt};
    checked = cell.write;
  }
  return conflict;
}

std::optional<Accesses::Conflict> Accesses::check_write(const Cell& cell, std::int64_t byte, int thread,
                                                        const Order& order) const {
  using enum Conflict::Kind;
  if (!before(cell.write, thread, order)) return Conflict{race, byte, access(cell.write), true};
  for (const Mark& read : cell.read)
    if (!before(read, thread, order)) return Conflict{race, byte, access(read), false};
  if (cell.written == Written::pending) return Conflict{pending, byte, access(cell.write), true};
  return std::nullopt;
}

std::optional<Accesses::Conflict> Accesses::write(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                                  const Order& order, Written state) {
  const Mark now = mark(thread, at, order);
  Cell checked;  // may be written to
  std::optional<Conflict> conflict;
  for (std::int64_t byte = first; byte < first + bytes; ++byte) {
    Cell& cell = cells_[static_cast<std::size_t>(byte)];
    if (!conflict && !(cell == checked)) {
      conflict = check_write(cell, byte, thread, order);
      checked = cell;
    }
    cell = {now, {}, state};
  }
  return conflict;
}

void Accesses::settle(std::int64_t first, std::int64_t bytes, int thread, Place at, const Order& order) {
  std::fill_n(cells_.begin() + first, bytes, Cell{mark(thread, at, order), {}, Written::done});
}

}  // namespace warpbit::device
