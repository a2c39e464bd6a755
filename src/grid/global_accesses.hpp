// SPDX-License-Identifier: Apache-2.0
// The record of accesses to global memory by all blocks of a launch, and the conflicts that it finds. What orders them each
// cluster knows (block/order.hpp).
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "block/order.hpp"
#include "grid/memory.hpp"
#include "grid/program.hpp"

namespace warpbit::grid {

/// Who accesses global memory, and how.
struct GlobalAccess {
  const block::Order& order;  ///< of the cluster
  std::uint64_t cluster;
  int warp;           ///< in the cluster
  std::int32_t site;  ///< see Stacks
  bool writes, strong;
  bool non_coherent = false;  ///< ld.global.nc
};

/// One of two accesses that conflict.
struct GlobalSide {
  std::uint64_t cluster;
  int thread;  ///< in the cluster
  std::uint32_t clock;
  std::int32_t site;
  bool writes, non_coherent;
};
struct GlobalConflict {
  GlobalSide before, now;
  const std::byte* byte;            ///< of the process
  std::optional<block::Flaw> flaw;  ///< what is missing, if something nearly orders them
  bool is_open;                     ///< a fence is missing behind a relaxed load
};

/// What an access finds: with its own cluster, and with others.
struct GlobalConflicts {
  std::optional<GlobalConflict> within, between;
};

class GlobalAccesses {
 public:
  /// Of all that a kernel may write, but for the heap: who gets memory of it knows that nobody else has it.
  explicit GlobalAccesses(const GlobalMemory& memory);
  ~GlobalAccesses();
  GlobalAccesses(const GlobalAccesses&) = delete;
  GlobalAccesses& operator=(const GlobalAccesses&) = delete;

  /// Lanes access as many bytes each.
  struct Lane {
    const std::byte* data;
    const std::byte* value;  ///< which are stored there; nullptr: others are, or none
  };
  /// Records it, and stores the values. Of what it finds, the worst.
  GlobalConflicts access(const GlobalAccess& by, Lanes lanes, const std::array<Lane, kLanes>& of,
                         std::size_t bytes);

 private:
  static constexpr std::size_t kLine = 128, kPage = 4096;
  using Mask = std::bitset<kLine>;

  /// Bytes of a line that a warp has accessed by one instruction, side by side: lane `lane` those from byte `first` on, the next
  /// lane the next 2^shift, and so on.
  struct Entry {
    std::uint32_t cluster, clock;
    std::uint32_t site : 24, shift : 4, strong : 1, non_coherent : 1, writes : 1;
    std::uint32_t superseded : 1;  ///< by a write of the same bytes: further writes alone may conflict with it
    std::uint16_t warp;
    std::uint8_t lane, first;
    Mask bytes;

    int lane_of(std::size_t byte) const { return lane + static_cast<int>((byte - first) >> shift); }
    int thread_of(std::size_t byte) const { return warp * kLanes + lane_of(byte); }
    bool is_of_warp(const Entry& other) const { return warp == other.warp && cluster == other.cluster; }
  };
  struct Line {
    std::vector<Entry> writes, reads;
  };
  struct Page {
    std::mutex mutex;
    std::array<Line, kPage / kLine> lines;
  };
  /// Bytes of the process that hang together, and their pages.
  struct Area {
    const std::byte *first, *end;
    ZeroBytes pages;
  };
  /// Lanes whose bytes lie side by side, or are the same: those from `lane` on.
  struct Run {
    std::size_t at, end;  ///< in the area
    int lane, shift;
  };
  struct Check;

  Area* area_of(const std::byte* data, std::size_t bytes);
  Page& page(Area& area, std::size_t number);
  void add(Check& check, Area& area, const Run& run);
  static void add(Check& check, Line& line, const Entry& now, std::byte* data);
  static bool is_known(const Check& check, const Entry& old, std::size_t byte, int lane);
  static bool conflicts(Check& check, const Entry& old, const Entry& now, std::byte* data);
  static void remember(Check& check, std::vector<Entry>& reads, const Entry& now);

  std::vector<Area> areas_;  // by address
  std::mutex mutex_;         // of what follows
  std::vector<std::unique_ptr<Page>> pages_;
};

/// The conflicts between clusters of a launch. They are told when it has ended, the same whoever came first.
class GlobalRaces {
 public:
  /// Of a program with so many statements.
  explicit GlobalRaces(std::size_t statements) : statements_(static_cast<std::int32_t>(statements)) {}
  void add(const GlobalConflict& found);
  /// By the statements of both sides, of whichever clusters are first.
  std::vector<GlobalConflict> all() const;

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, int>;
  std::int32_t statements_;
  mutable std::mutex mutex_;
  std::map<Key, GlobalConflict> found_;
};

}  // namespace warpbit::grid
