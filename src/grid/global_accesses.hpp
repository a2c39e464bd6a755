// SPDX-License-Identifier: Apache-2.0
// The record of accesses to global memory by all blocks of a launch, and the conflicts that it finds. What orders them each
// cluster knows (block/order.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "block/order.hpp"
#include "grid/global_entries.hpp"
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
  bool async = false;         ///< a copy in bulk, through the async proxy
  bool takes_data = false;    ///< a strong load that is no poll (polls.hpp)
};

/// What lanes access: as many bytes each, of one range.
struct GlobalLanes {
  Lanes lanes;
  const std::array<std::byte*, kLanes>& data;
  std::size_t bytes;
  const std::byte* values =
      nullptr;             ///< which are stored there: the first lane's; nullptr: others are, or none
  std::size_t stride = 0;  ///< from there to the next lane's
  bool is_row =
      false;  ///< all lanes are there, the bytes of each behind those of the one before; `data`: of the first one

  std::byte* of(int lane) const {
    const auto i = static_cast<std::size_t>(lane);
    return is_row ? data[0] + i * bytes : data[i];
  }
};

/// One of two accesses that conflict.
struct GlobalSide {
  std::uint64_t cluster;
  int thread;  ///< in the cluster
  std::uint32_t clock;
  std::int32_t site;
  bool writes, non_coherent, strong = false;
};
struct GlobalConflict {
  GlobalSide before, now;
  const std::byte* byte;                       ///< of the process
  std::size_t bytes;                           ///< how many from there on both access
  std::optional<block::Flaw> flaw;             ///< what is missing, if something nearly orders them
  bool is_open;                                ///< a fence is missing behind a relaxed load
  bool are_strong = false;                     ///< both: the flag between them lacks something, nothing else
  block::Misfit misfit = block::Misfit::none;  ///< of both, which are strong
  int told_warp =
      -1;  ///< of the second one's block, which comes behind the first one; -1: none of another cluster
};

/// What an access finds: with its own cluster, and with others.
struct GlobalConflicts {
  std::optional<GlobalConflict> within, between;
};

/// What the proxy fences of a kernel order in global memory: those of .shared alone nothing; what those of .global order, is
/// not followed.
enum class GlobalFences : std::uint8_t { none, all, unknown };

/// A line of 128 bytes has an entry for what a warp has accessed of it by one instruction, as most of what warps access lies
/// side by side, or at one distance:
///
///     ld.global.v4.u32, a lane each         |0000000000000000|1111111111111111|  lane 0, first 0, shift 4
///     st.global.f32, every other word       |----0000----1111----2222----3333|  lane 0, first 4, shift 3
///     st.global.v2.f32, in reverse          |33333333222222221111111100000000|  lane 3, first 0, shift 3, falls
///
/// Loads of memory to which nothing is stored need no entry: they are most of those of a product. What a kernel's stores may
/// reach is known before (stores.hpp); in a range that they reach all the same, loads are recorded from then on. Of
/// examples/ptx_kernel.ptx (40 x 40 blocks, 480 along K) the record takes 3 % of the launch's time; that of all loads took 25 %.
class GlobalAccesses {
 public:
  /// Of all that a kernel may write, but for the heap: who gets memory of it knows that nobody else has it. `stored`: whether
  /// its stores may go to a range. `threads`: of the host, that access it.
  GlobalAccesses(const GlobalMemory& memory, int threads,
                 const std::function<bool(const GlobalMemory::Range&)>& stored,
                 GlobalFences fences = GlobalFences::unknown);
  ~GlobalAccesses();
  GlobalAccesses(const GlobalAccesses&) = delete;
  GlobalAccesses& operator=(const GlobalAccesses&) = delete;

  /// Whether reads of a byte are recorded: something may be stored there.
  bool is_recorded(const std::byte* first);
  /// Whether anything may be stored there, the heap included.
  bool may_be_stored(const std::byte* first) {
    return (first >= heap_ && first < heap_end_) || is_recorded(first);
  }
  /// Records it, and stores the values. Of what it finds, the worst; nullptr: nothing.
  std::unique_ptr<GlobalConflicts> access(const GlobalAccess& by, const GlobalLanes& what);
  /// The same of each lane by itself, up to the first that finds what is not allowed. The lanes before that one.
  Lanes access_each(const GlobalAccess& by, const GlobalLanes& what,
                    const std::function<bool(int lane, const GlobalConflicts&)>& allowed);
  /// Bytes that a lane reads through the async proxy, and that a thread has written before through the generic one, with no proxy
  /// fence between. What other clusters have fenced is not known here, unless the kernel has no such fence.
  std::optional<GlobalConflict> unfenced(const GlobalAccess& by, int lane, const std::byte* first,
                                         std::size_t bytes);

 private:
  static constexpr std::size_t kPage = 4096;
  using Mark = GlobalMark;
  using Entry = GlobalEntry;
  using Entries = GlobalEntries;
  using Lists = GlobalLists;
  using Words = GlobalWords;
  using Line = GlobalLine;
  /// Bytes of the process that hang together, and their lines.
  struct Area {
    const std::byte *first, *end;
    bool is_stored;  ///< to, perhaps
    ZeroBytes lines;

    Line& line(std::size_t at) { return reinterpret_cast<Line*>(lines.data())[at / kLine]; }
    /// A lane of an access may lie behind: an array that is only read, and has no area, may overlap one that has.
    bool has(const std::byte* data, std::size_t bytes) const { return data >= first && data + bytes <= end; }
  };
  /// Lanes from one on whose bytes begin 2^shift bytes apart, and each or none of them before the last one's; or kOneLane, for the
  /// bytes of one, and of others that read them.
  struct Run {
    std::size_t at;  ///< in the area, of the lowest byte
    int lane, lanes, shift;
    bool falls = false;
    int lowest() const { return falls ? lane + lanes - 1 : lane; }
  };
  struct Check;

  Area* area_of(const std::byte* data, std::size_t bytes);
  std::mutex* mutex_of(std::size_t at) {
    return is_alone_ ? nullptr : &of_pages_[at / kPage % of_pages_.size()];
  }
  Area* recorded(const GlobalAccess& by, const GlobalLanes& what, int lane);
  static Run run_of_one(int lane, const Area& area, const GlobalLanes& what);
  static Run run_from(int lane, const Area& area, const GlobalAccess& by, const GlobalLanes& what);
  bool is_put_as_piece(Check& check, Area& area, const Run& run);
  void add(Check& check, Area& area, const Run& run);
  void add(Check& check, Line& line, const Entry& now, std::byte* data);
  static bool is_alone(const Check& check, const Line& line, const Entry& now);
  Lists& lists_of(Line& line);
  static void add(Check& check, Lists& line, const Entry& now, std::byte* data);
  static bool add_word(Lists& line, const Entry& now);
  bool is_put(Check& check, Area& area, const Run& run);
  static bool is_after_all(const Check& check, Lists& line, const Mark& word);
  static bool is_known(const Check& check, const Entry& old, std::size_t byte, int lane);
  static bool is_observed(const Check& check, const Entry& old, const Entry& now, std::size_t byte,
                          const std::byte* place);
  static bool is_stale(const Entry& old, const Entry& now) {
    return (now.non_coherent && old.writes) || (old.non_coherent && now.writes);
  }
  static bool is_ordered(const Check& check, const Entry& old, const Entry& now);
  static block::Misfit misfit(const Check& check, const Entry& old, const Entry& now);
  static bool precedes_barrier(const Check& check, const Entry& old);
  static bool conflicts(Check& check, const Entry& old, const Entry& now, std::byte* data, LineBits latest);
  static LineBits written_by(Lists& line, const Entry& now);
  static void take_data(Check& check, const Entry& old, const Entry& now, std::byte* data, LineBits latest);
  static void add_strong(const Check& check, Lists& line, const Entry& by, const std::byte* data);
  std::optional<GlobalConflict> unfenced(const GlobalAccess& by, int lane, Line& line, LineBits bytes,
                                         const std::byte* data) const;
  static void remember(const Check& check, Entries& reads, const Entry& now);
  static bool stands_for(const Check& check, const Entry& now, const Entry& old);

  bool is_alone_;            // one host thread needs no locks
  std::vector<Area> areas_;  // by address
  const std::byte *heap_ = nullptr, *heap_end_ = nullptr;
  std::array<std::mutex, 256> of_pages_;  // page by page, and from the first again
  std::mutex mutex_;                      // of what follows
  std::deque<Lists> lists_;
  GlobalFences fences_;
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
  using Key = std::tuple<std::int32_t, std::int32_t, KernelRule>;
  std::int32_t statements_;
  mutable std::mutex mutex_;
  std::map<Key, GlobalConflict> found_;
};

}  // namespace warpbit::grid
