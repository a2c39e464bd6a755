// SPDX-License-Identifier: Apache-2.0
#include "block/order.hpp"

#include <algorithm>
#include <array>

namespace warpbit::block {

Order::Order(int threads)
    : clock_(index(threads)),
      barrier_(index(threads)),
      known_(index(threads) * index(kWarp)),
      fenced_barrier_(index(threads)),
      fenced_(known_.size()),
      fence_known_(index(threads)) {}

void Order::fence(int thread) {
  any_fence_ = true;
  fence_known_[index(thread)] = 1;
  for (int lane = 0; lane < kWarp; ++lane) {
    std::uint32_t& fenced = fenced_[index(thread * kWarp + lane)];
    fenced = std::max(fenced, known(thread, lane));
  }
  fenced_[index(thread * kWarp + thread % kWarp)] = ++clock_[index(thread)];
}

void Order::barrier() {
  if (any_fence_) {
    const bool crossed = std::ranges::find(fence_known_, 1) != fence_known_.end();
    const int threads = static_cast<int>(clock_.size());
    for (int me = 0; me < threads; ++me) {
      if (crossed) fenced_barrier_[index(me)] = std::max(fenced_barrier_[index(me)], barrier_[index(me)]);
      for (int lane = 0; lane < kWarp; ++lane) {
        const int other = me / kWarp * kWarp + lane;
        if (other >= threads) break;
        fenced_barrier_[index(other)] =
            std::max(fenced_barrier_[index(other)], fenced_[index(me * kWarp + lane)]);
      }
    }
    std::ranges::fill(fence_known_, std::uint8_t{0});
    any_fence_ = false;
  }
  for (std::size_t i = 0; i < clock_.size(); ++i) barrier_[i] = ++clock_[i];
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

void Order::join_warps(std::uint32_t warps, std::vector<std::uint32_t>& with) {
  const auto threads = static_cast<int>(clock_.size());
  if (of_warps_.empty()) of_warps_.resize(index((threads + kWarp - 1) / kWarp) * clock_.size());
  with.resize(clock_.size());
  const auto each = [&](auto&& what) {
    for (int warp = 0; warp * kWarp < threads; ++warp)
      if ((warps >> warp & 1U) != 0) what(warp);
  };
  each([&](int warp) {
    for (std::size_t t = 0; t < with.size(); ++t) with[t] = std::max(with[t], of_warp(warp)[t]);
    for (int t = warp * kWarp; t < std::min((warp + 1) * kWarp, threads); ++t)
      with[index(t)] = ++clock_[index(t)];
  });
  each([&](int warp) { std::ranges::copy(with, of_warp(warp)); });
}

void Order::barrier_of(std::uint32_t warps) {
  std::vector<std::uint32_t> together;
  join_warps(warps, together);
}

void Order::through_memory(int warp) {
  join_warps(std::uint32_t{1} << warp, in_memory_);
}

// ---- Accesses

std::uint16_t Accesses::number(Place at) {
  constexpr std::size_t kMaxPlace = 0x7FFF;
  std::uint16_t& out = numbers_[at.line % numbers_.size()];
  if (out < places_.size() && places_[out] == at) return out;
  // Too many places to number: the last number stands for all further ones.
  const auto found = static_cast<std::size_t>(std::ranges::find(places_, at) - places_.begin());
  if (found == places_.size() && found <= kMaxPlace) places_.push_back(at);
  return out = static_cast<std::uint16_t>(std::min(found, kMaxPlace));
}

// ---- Cells

void Accesses::split(std::size_t word) {
  if (split_[word] != 0) return;
  if (bytes_.empty()) bytes_.resize(4 * words_.size());
  std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(4 * word), 4, words_[word]);
  split_[word] = 1;
}

template <class Visit>
void Accesses::for_each_cell(std::int64_t first, std::int64_t bytes, Visit visit) {
  const std::int64_t end = first + bytes;
  for (std::int64_t byte = first; byte < end;) {
    const auto word = static_cast<std::size_t>(byte / 4);
    if (split_[word] == 0 && byte % 4 == 0 && end - byte >= 4) {
      visit(words_[word], byte);
      byte += 4;
    } else {
      split(word);
      visit(bytes_[static_cast<std::size_t>(byte)], byte);
      ++byte;
    }
  }
}

// The words whose bytes have become alike.
void Accesses::unite(std::int64_t first, std::int64_t bytes) {
  for (std::int64_t byte = (first + 3) / 4 * 4; byte + 4 <= first + bytes; byte += 4) {
    const auto word = static_cast<std::size_t>(byte / 4);
    if (split_[word] == 0) continue;
    const Cell* const cells = &bytes_[4 * word];
    if (!std::all_of(cells + 1, cells + 4, [&](const Cell& one) { return one == cells[0]; })) continue;
    words_[word] = cells[0];
    split_[word] = 0;
  }
}

Accesses::Mark Accesses::mark(int thread, Place at, const Order& order, bool strong) {
  return {order.clock(thread), static_cast<std::int16_t>(thread),
          static_cast<std::uint16_t>(number(at) & 0x7FFF), strong};
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
                                                 const Order& order, bool strong) {
  using enum Conflict::Kind;
  const Mark now = mark(thread, at, order, strong);
  Mark checked;  // happened before
  std::optional<Conflict> conflict;
  for_each_cell(first, bytes, [&](Cell& cell, std::int64_t byte) {
    remember(cell, now);
    if (cell.written == Written::done && cell.write == checked) return;
    if (conflict) return;
    if (!before(cell.write, thread, order, strong))
      conflict = Conflict{race, byte, access(cell.write), true};
    else if (cell.written == Written::pending)
      conflict = Conflict{pending, byte, access(cell.write), true};
    else if (cell.written == Written::never)
      conflict = Conflict{never_written, byte, std::nullopt};
    checked = cell.write;
  });
  return conflict;
}

std::optional<Accesses::Conflict> Accesses::check_write(const Cell& cell, std::int64_t byte, int thread,
                                                        const Order& order, bool strong) const {
  using enum Conflict::Kind;
  if (!before(cell.write, thread, order, strong)) return Conflict{race, byte, access(cell.write), true};
  for (const Mark& read : cell.read)
    if (!before(read, thread, order, strong)) return Conflict{race, byte, access(read), false};
  if (cell.written == Written::pending) return Conflict{pending, byte, access(cell.write), true};
  return std::nullopt;
}

std::optional<Accesses::Conflict> Accesses::write(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                                  const Order& order, Written state, bool strong) {
  const Mark now = mark(thread, at, order, strong);
  Cell checked;  // may be written to
  std::optional<Conflict> conflict;
  for_each_cell(first, bytes, [&](Cell& cell, std::int64_t byte) {
    if (!conflict && !(cell == checked)) {
      conflict = check_write(cell, byte, thread, order, strong);
      checked = cell;
    }
    Mark write = now;
    // A strong access does not hide a weak one of its own thread.
    if (strong && cell.write.thread == now.thread && cell.write.clock == now.clock)
      write.strong = cell.write.strong;
    cell = {write, {}, state};  // from registers: a copy of a Cell in memory waits for its stores
  });
  unite(first, bytes);
  return conflict;
}

std::optional<Accesses::Unfenced> Accesses::unfenced(std::int64_t first, std::int64_t bytes, int first_thread,
                                                     int threads, const Order& order) const {
  std::optional<Unfenced> out;
  Mark checked;
  bool fenced = true;  // of the write that was checked
  for (std::int64_t byte = first; byte < first + bytes; ++byte) {
    const Mark& write = cell(byte).write;
    if (write != checked) {
      checked = write;
      fenced = true;
      const bool all = write.thread < 0 || order.fenced(write.thread, write.clock);
      for (int me = first_thread; !all && fenced && me < first_thread + threads; ++me)
        fenced = order.fenced(write.thread, write.clock, me);
    }
    if (fenced && out) break;
    if (fenced) continue;
    if (!out) out = Unfenced{byte, byte, access(write)};
    out->last = byte;
  }
  return out;
}

void Accesses::settle(std::int64_t first, std::int64_t bytes, int thread, Place at, const Order& order) {
  const Mark now = mark(thread, at, order);
  for_each_cell(first, bytes, [&](Cell& cell, std::int64_t) { cell = {now, {}, Written::done}; });
  unite(first, bytes);
}

}  // namespace warpbit::block
