// SPDX-License-Identifier: Apache-2.0
// Happens-before relation of accesses to shared memory (PTX manual, "Memory Consistency Model"), and the
// recorded accesses.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "block/fault.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// Vector clocks of the threads of a block. A thread's clock ticks when it synchronises or fences. Each
/// thread knows the clock of every other thread up to which that thread's actions happen before its own, and
/// likewise the clock up to which they are also proxy-fenced.
class Order {
 public:
  explicit Order(int threads);

  std::uint32_t clock(int thread) const { return clock_[index(thread)]; }
  /// Whether the action of `thread` at that clock happens before the current action of `me`.
  bool before(int thread, std::uint32_t clock, int me) const {
    if (thread == me || clock < barrier_[index(thread)]) return true;
    if (thread / kWarp == me / kWarp && clock < known(me, thread % kWarp)) return true;
    return !of_warps_.empty() && clock < of_warp(me / kWarp)[index(thread)];
  }
  /// Whether a proxy fence follows the action of `thread` at that clock and precedes the last barrier.
  bool fenced(int thread, std::uint32_t clock) const { return clock < fenced_barrier_[index(thread)]; }
  /// Whether a proxy fence follows it and happens before the current action of `me` (PTX manual, "Proxies": a
  /// fence along the path of causality).
  bool fenced(int thread, std::uint32_t clock, int me) const {
    if (fenced(thread, clock)) return true;
    if (fence_known_[index(me)] != 0 && clock < barrier_[index(thread)]) return true;
    return thread / kWarp == me / kWarp && clock < fenced_[index(me * kWarp + thread % kWarp)];
  }
  /// A thread executes a proxy fence, after everything it knows of.
  void fence(int thread);
  /// All threads meet.
  void barrier();
  /// The warps of a mask meet, e.g. at a barrier of some warps.
  void barrier_of(std::uint32_t warps);
  /// Lanes of a warp meet.
  void sync_warp(int warp, std::uint32_t lanes);
  /// A warp synchronises through memory, by an atomic or another strong access: what came before happens before
  /// what follows the next such access of any warp.
  void through_memory(int warp);

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::uint32_t known(int me, int lane) const { return known_[index(me * kWarp + lane)]; }
  const std::uint32_t* of_warp(int warp) const { return &of_warps_[index(warp) * clock_.size()]; }
  std::uint32_t* of_warp(int warp) { return &of_warps_[index(warp) * clock_.size()]; }
  void join_warps(std::uint32_t warps, std::vector<std::uint32_t>& with);

  std::vector<std::uint32_t> clock_, barrier_;  // by thread
  std::vector<std::uint32_t> known_;            // by thread and lane of its warp
  std::vector<std::uint32_t> of_warps_;         // by warp and thread; empty until some warps meet alone
  std::vector<std::uint32_t> in_memory_;        // by thread, likewise
  // Latest proxy-fenced epoch visible to all threads, and to each thread. For other warps the latter is the
  // epoch of the last barrier, if the thread knows of a fence since.
  std::vector<std::uint32_t> fenced_barrier_, fenced_;
  std::vector<std::uint8_t> fence_known_;
  bool any_fence_ = false;  // since the last barrier
};

/// The accesses to each byte of shared memory: the last write, and two reads since then, from different warps
/// if possible, else from different lanes. No false positives. A write-after-read race is missed if the only
/// conflicting read came from a third lane. Strong accesses (atomics, volatile ones, those with an order) do not
/// conflict with each other (PTX manual, "Morally Strong Operations").
class Accesses {
 public:
  enum class Written : std::uint32_t { never, pending, done };  // 32 bits: a Cell without padding
  /// An earlier access.
  struct Access {
    int thread;
    Place at;
  };
  /// Two unordered or otherwise conflicting accesses.
  struct Conflict {
    enum class Kind { race, pending, never_written } kind;
    std::int64_t byte;
    std::optional<Access> before;
    bool before_writes = false;
  };

  explicit Accesses(std::size_t bytes) : words_((bytes + 3) / 4), split_(words_.size()) {}

  /// A thread accesses bytes [first, first + bytes), which must exist. The access is recorded even if it
  /// conflicts.
  std::optional<Conflict> read(std::int64_t first, std::int64_t bytes, int thread, Place at, const Order& order,
                               bool strong = false);
  std::optional<Conflict> write(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                const Order& order, Written state, bool strong = false);
  /// Whether a byte was never written, or is being written by an asynchronous copy.
  bool is_unsettled(std::int64_t byte) const { return cell(byte).written != Written::done; }
  /// The first consecutive bytes whose last write is not proxy-fenced for one of the threads [first_thread,
  /// first_thread + threads), and that write.
  struct Unfenced {
    std::int64_t first, last;
    Access write;
  };
  std::optional<Unfenced> unfenced(std::int64_t first, std::int64_t bytes, int first_thread, int threads,
                                   const Order& order) const;
  /// A pending write of the thread to these bytes is complete.
  void settle(std::int64_t first, std::int64_t bytes, int thread, Place at, const Order& order);

  /// The number of a place, and the place of a number.
  std::uint16_t number(Place at);
  Place place(std::uint16_t number) const { return places_[number]; }

 private:
  struct Mark {
    std::uint32_t clock = 0;
    std::int16_t thread = -1;  // none
    std::uint16_t place : 15 = 0;
    std::uint16_t strong : 1 = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  struct Cell {
    Mark write;
    std::array<Mark, 2> read;
    Written written = Written::never;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  std::optional<Conflict> check_write(const Cell& cell, std::int64_t byte, int thread, const Order& order,
                                      bool strong) const;
  Mark mark(int thread, Place at, const Order& order, bool strong = false);
  Access access(const Mark& mark) const { return {mark.thread, places_[mark.place]}; }
  static bool before(const Mark& mark, int me, const Order& order, bool strong) {
    return mark.thread < 0 || (strong && mark.strong != 0) || order.before(mark.thread, mark.clock, me);
  }
  static void remember(Cell& cell, const Mark& read);

  const Cell& cell(std::int64_t byte) const {
    const auto i = static_cast<std::size_t>(byte);
    return split_[i / 4] != 0 ? bytes_[i] : words_[i / 4];
  }
  // Calls visit(cell, first byte of it) for all bytes, those of a word that are alike together.
  template <class Visit>
  void for_each_cell(std::int64_t first, std::int64_t bytes, Visit visit);
  void split(std::size_t word);
  void unite(std::int64_t first, std::int64_t bytes);

  std::vector<Cell> words_;          // by word of 4 bytes
  std::vector<std::uint8_t> split_;  // by word: its bytes have cells of their own
  std::vector<Cell> bytes_;          // empty until a word is split
  std::vector<Place> places_;
  std::array<std::uint16_t, 256> numbers_ = {};  // of places that were marked before, by their line
};

}  // namespace warpbit::block
#pragma GCC visibility pop
