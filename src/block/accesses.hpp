// SPDX-License-Identifier: Apache-2.0
// The record of accesses to shared memory, and the conflicts that it finds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "block/order.hpp"
#include "warpbit/state.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::block {

/// What lanes of a warp access by one instruction: each as many bytes, from its own first one on.
struct LaneAccesses {
  int warp;
  std::uint32_t lanes;
  std::array<std::int64_t, kWarp> first;  ///< by lane
  std::int64_t bytes;
  Place at;
  bool strong = false;  ///< an atomic, volatile, or with an order
};

/// The accesses to each byte of shared memory: the last write, and two reads since then, from different warps
/// if possible, else from different lanes. No false positives. A write-after-read race is missed if the only
/// conflicting read came from a third lane. Strong accesses do not conflict with each other (PTX manual, "Morally
/// Strong Operations").
///
/// Bytes that are accessed together share a cell: 16, or 4 where a smaller access has come, or 1.
class Accesses {
 public:
  /// `same`: of a write, the bytes are done and were what it writes. It conflicts with reads, and with no other write.
  enum class Written : std::uint32_t { never, pending, done, same };  // 32 bits: a Cell without padding
  /// An earlier access.
  struct Access {
    int thread;  ///< or an agent
    Place at;
    std::uint32_t clock = 0;
    bool strong = false;
    friend bool operator==(const Access&, const Access&) = default;
  };
  /// Two unordered or otherwise conflicting accesses.
  struct Conflict {
    enum class Kind { race, pending, never_written } kind;
    int thread;               ///< whose access it is
    std::int64_t byte, last;  ///< consecutive ones, of which all that is said holds
    std::optional<Access> before;
    bool before_writes = false;
    Misfit misfit = Misfit::none;  ///< of both, which are strong
    bool was_unwritten = false;    ///< a race of a write, and nothing had written there before
  };

  /// Whether the other access is a strong read, whose lane has met others since (Order::has_met).
  static bool is_read_before_meeting(const Conflict& of, const Order& order);

  explicit Accesses(std::size_t bytes)
      : units_((bytes + kUnit - 1) / kUnit), size_(units_.size(), static_cast<std::uint8_t>(kUnit)) {}

  /// The first bytes, whole cells of 16, have a value although nothing has written them.
  void give(std::int64_t bytes) {
    for (std::int64_t unit = 0; unit < bytes / kUnit; ++unit)
      units_[static_cast<std::size_t>(unit)].written = Written::done;
  }
  /// Bytes that must exist are accessed. The access is recorded even if it conflicts.
  std::optional<Conflict> read(const LaneAccesses& of, const Order& order);
  std::optional<Conflict> write(const LaneAccesses& of, const Order& order, Written state);
  /// The same by one thread.
  std::optional<Conflict> read(std::int64_t first, std::int64_t bytes, int thread, Place at, const Order& order,
                               bool strong = false);
  std::optional<Conflict> write(std::int64_t first, std::int64_t bytes, int thread, Place at,
                                const Order& order, Written state, bool strong = false);
  /// The same of one that is not strong, at a place of this number, if it conflicts with nothing; else nothing is recorded.
  bool write_if_free(std::int64_t first, std::int64_t bytes, int thread, std::uint16_t place,
                     const Order& order, Written state);
  /// The same by an agent (order.hpp) at its clock, for the thread `me`, which issues what it does.
  struct Agent {
    int number;
    std::uint32_t clock;
    bool strong = false;  ///< a reduction
  };
  std::optional<Conflict> read(std::int64_t first, std::int64_t bytes, int me, Place at, Agent agent,
                               const Order& order);
  std::optional<Conflict> write(std::int64_t first, std::int64_t bytes, int me, Place at, Agent agent,
                                const Order& order);
  /// True if the agent may begin to write whole cells of 16 bytes, and none of the last writes to them lacks a proxy fence;
  /// then it is recorded. Else nothing is.
  bool write_at_once(std::int64_t first, std::int64_t bytes, int me, Place at, Agent agent, const Order& order);
  /// What an agent has written has arrived.
  void settle(std::int64_t first, std::int64_t bytes, Agent agent, Place at);
  /// The first access to these bytes by another thread than [first_thread, first_thread + threads) that does not happen
  /// before the current action of any of them. `me` is who asks. A strong read of a byte for which `is_object` holds, an
  /// arrival, is named if there is no other one.
  std::optional<Conflict> foreign(std::int64_t first, std::int64_t bytes, int first_thread, int threads, int me,
                                  const Order& order, const std::function<bool(std::int64_t)>& is_object);
  /// The same of many bytes, for two threads of different warps. False, and maybe recorded in part, if it conflicts for one of
  /// them, or if other than whole cells of 16 bytes are read. `fenced` is set if it is seen besides that each last write is
  /// proxy-fenced for all threads [first_thread, first_thread + threads).
  bool read_at_once(std::span<const Effects::MemoryRead> bytes, int first_thread, int second_thread,
                    int threads, Place at, Agent agent, const Order& order, bool& fenced);
  /// Whether each byte was written, and is not being written by an asynchronous copy.
  bool are_settled(std::int64_t first, std::int64_t bytes) const;
  bool is_never_written(std::int64_t byte) const {
    return region_at(byte) == nullptr && cell(byte).written == Written::never;
  }
  /// Bytes are undefined again: what was written there is.
  void forget(std::int64_t first, std::int64_t bytes);
  std::optional<Access> last_write(std::int64_t byte) const {
    const Region* const region = region_at(byte);
    const Mark write = region != nullptr ? region->write : cell(byte).write;
    return write.exists() ? std::optional(access(write)) : std::nullopt;
  }
  /// The first consecutive bytes whose last write is not proxy-fenced for one of the threads [first_thread,
  /// first_thread + threads), and that write.
  struct Unfenced {
    std::int64_t first, last;
    Access write;
    bool has_others = false;  ///< other threads wrote some of them
  };
  std::optional<Unfenced> unfenced(std::int64_t first, std::int64_t bytes, int first_thread, int threads,
                                   const Order& order);
  /// True if there are none among many bytes, but for writes at places that need no fence.
  bool are_fenced(std::span<const Effects::MemoryRead> bytes, int first_thread, int threads, const Order& order,
                  const std::function<bool(Place)>& needs_none);
  /// The first consecutive ones of these bytes with a read that is not proxy-fenced for the thread `me`, and that read.
  std::optional<Unfenced> unfenced_read(std::int64_t first, std::int64_t bytes, int me, const Order& order);
  /// A pending write of the thread to these bytes is complete. `place`: its number.
  void settle(std::int64_t first, std::int64_t bytes, int thread, std::uint16_t place, const Order& order);

  /// The number of a place, and the place of a number.
  std::uint16_t number(Place at);
  Place place(std::uint16_t number) const { return places_[number]; }

 private:
  static constexpr std::int64_t kUnit = 16, kWord = 4, kMinRegion = 1024;
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// An access, in one word: parts of a word that are written one by one make the next read of it wait.
  ///
  ///     63           32 31          16  15          1   0
  ///     clock           thread, or -1   place           strong
  class Mark {
   public:
    Mark() = default;
    Mark(int thread, std::uint32_t clock, std::uint16_t place, bool strong)
        : word_(std::uint64_t{clock} << 32 | std::uint64_t{static_cast<std::uint16_t>(thread)} << 16 |
                std::uint64_t{place} << 1 | std::uint64_t{strong}) {}
    bool exists() const { return thread() >= 0; }
    std::uint32_t clock() const { return static_cast<std::uint32_t>(word_ >> 32); }
    int thread() const { return static_cast<std::int16_t>(word_ >> 16); }
    std::uint16_t place() const { return static_cast<std::uint16_t>(word_ >> 1 & 0x7FFF); }
    bool strong() const { return (word_ & 1) != 0; }
    friend bool operator==(const Mark&, const Mark&) = default;

   private:
    std::uint64_t word_ = 0xFFFF'0000;
  };
  struct Cell {
    Mark write;
    std::array<Mark, 2> read;
    Written written = Written::never;
    friend bool operator==(const Cell&, const Cell&) = default;
  };
  /// Cells of `size` bytes, for the units that were split into such: those of a unit side by side.
  template <std::int64_t size>
  class Parts {
   public:
    static constexpr std::int64_t kSize = size;
    /// The cell of a byte, whose unit was added.
    Cell& operator[](std::int64_t byte) { return cells_[number(byte)]; }
    const Cell& operator[](std::int64_t byte) const { return cells_[number(byte)]; }
    /// Of `units` ones.
    void add(std::size_t unit, std::size_t units) {
      if (first_.empty()) first_.resize(units, kNone);
      if (first_[unit] != kNone) return;
      first_[unit] = static_cast<std::uint32_t>(cells_.size());
      cells_.resize(cells_.size() + static_cast<std::size_t>(kUnit / size));
    }

   private:
    static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
    std::size_t number(std::int64_t byte) const {
      return first_[static_cast<std::size_t>(byte / kUnit)] + static_cast<std::size_t>(byte % kUnit / size);
    }

    std::vector<std::uint32_t> first_;  // by unit
    std::vector<Cell> cells_;
  };
  /// Whole units that an agent has written at once, and only agents have read at once since. Their cells become what this
  /// says when anything else accesses them: a ring of tiles is written and read without them.
  struct Region {
    struct Reader {
      Mark mark;
      std::size_t ranges;  ///< how many of them it has read
    };
    struct Range {
      std::uint32_t first, end;  ///< units
    };
    std::int64_t first, end;
    Mark write = {};
    Written written = Written::pending;
    bool is_in_cells = false;          ///< all but what follows
    std::vector<Reader> readers = {};  ///< in order
    std::vector<Range> ranges = {};    ///< of all readers
    std::vector<Mark> latest = {};     ///< read of each agent, in the cells or not
  };
  /// An access that is marked as `mark`, and allowed or not for the thread `me`.
  struct Now {
    Mark mark;
    int me;
  };
  std::optional<Conflict> read(std::int64_t first, std::int64_t bytes, Now now, const Order& order);
  std::optional<Conflict> write(std::int64_t first, std::int64_t bytes, Now now, const Order& order,
                                Written state);
  /// Of the cell that begins with a byte.
  Conflict conflict(Conflict::Kind kind, Now now, std::int64_t byte, std::optional<Access> before,
                    bool before_writes = false, Misfit misfit = Misfit::none) const {
    return {kind, now.me, byte, byte + size_[index(byte / kUnit)] - 1, before, before_writes, misfit};
  }
  /// Of an earlier access and a read or a write now, which are strong and not ordered.
  Misfit misfit(Mark mark, bool mark_writes, Now now, bool writes, const Order& order) const;
  /// Whether an earlier write comes before a read, or an earlier access before a write. Few accesses are strong.
  bool is_before_read(Mark write, Now now, const Order& order) const {
    return before(write, now, order) &&
           (!now.mark.strong() || misfit(write, true, now, false, order) == Misfit::none);
  }
  bool is_before_write(Mark mark, bool mark_writes, Now now, const Order& order) const {
    return before(mark, now, order) &&
           (!now.mark.strong() || misfit(mark, mark_writes, now, true, order) == Misfit::none);
  }
  std::optional<Conflict> check_read(const Cell& cell, std::int64_t byte, Now now, const Order& order) const;
  std::optional<Conflict> check_write(const Cell& cell, std::int64_t byte, Now now, const Order& order,
                                      Written state) const;
  static Now mark(int thread, std::uint16_t place, const Order& order, bool strong = false) {
    return {{thread, order.clock(thread), place, strong}, thread};
  }
  Now mark(Agent agent, int me, Place at) {
    return {{agent.number, agent.clock, number(at), agent.strong}, me};
  }
  Access access(Mark mark) const { return {mark.thread(), places_[mark.place()], mark.clock(), mark.strong()}; }
  static bool before(Mark mark, Now now, const Order& order) {
    return !mark.exists() || (now.mark.strong() && mark.strong()) ||
           order.before(mark.thread(), mark.clock(), now.me);
  }
  static void keep_worse(std::optional<Conflict>& out, std::optional<Conflict> found, const Order& order);
  static void remember(Cell& cell, Mark read);
  // Member by member, from registers: a copy of a Cell in memory waits for its stores.
  static void set(Cell& cell, Mark write, Written state) {
    cell.write = write;
    cell.read[0] = cell.read[1] = Mark();
    cell.written = state;
  }

  static bool is_fenced(Mark write, int first_thread, int threads, const Order& order);

  const Region* region_at(std::int64_t byte) const;
  Region* region_of(std::int64_t first, std::int64_t end);
  bool rewrite(Region& region, Now now, const Order& order);
  void add_region(std::int64_t first, std::int64_t bytes, Mark write);
  bool read_regions(std::span<const Effects::MemoryRead> bytes, Now first, Now second, const Order& order);
  static void remember_read(Region& region, Mark mark);
  static void remember_agent(Cell& cell, Mark read);
  void write_to_cells(Region& region);
  // Before an access to cells.
  void need_cells(std::int64_t first, std::int64_t bytes) {
    if (first < regions_end_ && first + bytes > regions_first_) end_regions(first, first + bytes);
  }
  void end_regions(std::int64_t first, std::int64_t end);

  const Cell& cell(std::int64_t byte) const;
  // Calls visit(cell, first byte of it) for all bytes, those of a cell together. True if a unit has several.
  template <class Visit>
  bool for_each_cell(std::int64_t first, std::int64_t bytes, Visit visit);
  void split(std::size_t unit, std::int64_t size);
  template <class Cells>
  [[gnu::visibility("hidden")]] void split_into(Cells& cells, std::size_t unit);
  void unite(std::int64_t first, std::int64_t bytes);

  std::vector<Region> regions_;                       // apart
  std::int64_t regions_first_ = 0, regions_end_ = 0;  // all lie in between
  std::vector<Cell> units_;                           // of 16 bytes
  std::vector<std::uint8_t> size_;                    // by unit: the bytes that share a cell
  Parts<kWord> words_;
  Parts<1> bytes_;
  std::vector<Place> places_;
  std::vector<std::uint16_t> numbers_;  // of the last place that was marked, by its line
};

}  // namespace warpbit::block
#pragma GCC visibility pop
