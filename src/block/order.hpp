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
    return thread / kWarp == me / kWarp && clock < known(me, thread % kWarp);
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
  /// Lanes of a warp meet.
  void sync_warp(int warp, std::uint32_t lanes);

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  std::uint32_t known(int me, int lane) const { return known_[index(me * kWarp + lane)]; }

  std::vector<std::uint32_t> clock_, barrier_;  // by thread
  std::vector<std::uint32_t> known_;            // by thread and lane of its warp
  // Latest proxy-fenced epoch visible to all threads, and to each thread. For other warps the latter is the
  // epoch of the last barrier, if the thread knows of a fence since.
  std::vector<std::uint32_t> fenced_barrier_, fenced_;
  std::vector<std::uint8_t> fence_known_;
  bool any_fence_ = false;  // since the last barrier
};

/// The accesses to each byte of shared memory: the last write, and two reads since then, from different warps
/// if possible, else from different lanes. No false positives. A write-after-read race is missed if the only
/// conflicting read came from a third lane.
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

  explicit Accesses(std::size_t bytes) : cells_(bytes) {}

  /// A thread accesses bytes [first, first + bytes), which must exist. The access is recorded even if it
  /// conflicts.
  std::optional<Conflict> read(std::int64_t first, std::int64_t bytes, int thread, Place at,
                               const Order& order);
  std::optional<Conflict> write(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                const Order& order, Written state);
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
    std::uint16_t place = 0;
    friend bool operator==(const Mark&, const Mark&) = default;
  };
  struct Cell {
    Mark write;
    std::array<Mark, 2> read;
    Written written = Written::never;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  std::optional<Conflict> check_write(const Cell& cell, std::int64_t byte, int thread,
                                      const Order& order) const;
  Mark mark(int thread, Place at, const Order& order);
  Access access(const Mark& mark) const { return {mark.thread, places_[mark.place]}; }
  static bool before(const Mark& mark, int me, const Order& order) {
    return mark.thread < 0 || order.before(mark.thread, mark.clock, me);
  }
  static void remember(Cell& cell, const Mark& read);

  std::vector<Cell> cells_;
  std::vector<Place> places_;
  std::size_t latest_ = 0;  // the place that was marked last
};

}  // namespace warpbit::block
#pragma GCC visibility pop
