// SPDX-License-Identifier: Apache-2.0
// The undefined bits of a warp's registers: those of registers that were read before they were written, those that come
// from memory which nothing has written, and those that a load has read in a race. They move with values, bit by bit where that is known:
//
//     %r1   ld.shared of 4 bytes, the upper two never written    uuuuuuuu uuuuuuuu ........ ........
//     %r2   shl.b32 %r2, %r1, 8                                   uuuuuuuu ........ ........ ........
//     %r3   and.b32 %r3, %r2, 0xffffff                            ........ ........ ........ ........
//
// and are a fault where the value matters: in an address, a guard, a branch, a barrier, a system call, a store to global
// memory. As long as a warp has none, none of this runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "block/fault.hpp"
#include "grid/decided.hpp"
#include "grid/program.hpp"
#include "grid/registers.hpp"
#include "grid/written.hpp"

namespace warpbit {
class Registers;
}

namespace warpbit::grid {

struct EarlyRead;
struct Met;
struct Path;

using LaneBits = std::array<std::uint64_t, kLanes>;

/// Where an undefined value comes from: a register that nothing has written, and who has read it; consecutive bytes of memory that
/// nothing has written, or not since they were discarded, and who has loaded them; the lanes that shuffle from others without a value; those that have stored a
/// register without one; columns of tensor memory that nothing has written; the response to a request that failed; an address that cvta.to has taken for one of a space; or a race that a
/// load has met.
struct UndefinedCause {
  enum class From : std::uint8_t {
    reg,
    shared,
    local,
    heap,
    array,
    discarded,  ///< of an array that had values
    lane,
    stored,
    tensor,
    failed,
    converted  ///< by cvta.to, an address outside of its window
  } from = From::reg;
  std::int64_t byte = 0, last = 0;
  int statement =
      -1;  ///< with its calls: a site; -1: the one where the value matters has it from the register itself
  Lanes lanes = 0;
  int warp = 0;                                 ///< whose lanes
  std::shared_ptr<const Fault> race = nullptr;  ///< what is told if the value matters
  std::shared_ptr<EarlyRead> early = nullptr;   ///< a load that a store may yet make a race
  std::string name = {};                        ///< of a register; what is converted, and the space
  std::uint8_t element = 0;                     ///< of memory: the bytes of one that is loaded
  std::int32_t variable = -1;                   ///< of memory: Access::variable

  bool is_of_race() const { return race != nullptr || early != nullptr; }
};

/// What memory at an address is whose bits have no value.
UndefinedCause::From undefined_memory(ptx::StateSpace space, std::uint64_t address, const GlobalMemory& memory);

/// Where undefined values come from that lie in memory, by byte.
class StoredCauses {
 public:
  void store(std::int64_t first, std::int64_t bytes, const UndefinedCause& cause);
  void copy(std::int64_t to, std::int64_t from, std::int64_t bytes);
  void forget(std::int64_t first, std::int64_t bytes);
  /// nullptr: the byte was never written.
  const UndefinedCause* find(std::int64_t byte) const;

 private:
  std::map<std::int64_t, UndefinedCause> causes_;
};

class Undefined {
 public:
  explicit Undefined(Warp& warp) : warp_(warp) {}

  /// Whether a register may have undefined bits.
  bool active() const { return active_; }
  /// Registers are about to have some.
  void begin();
  /// A call begins: the registers that it may read before it writes them have no value.
  void enter(const Path& path, const FunctionCode& function, Lanes lanes);

  /// A step of a warp that is active: what it reads is checked, and what it does to undefined bits is found out, which
  /// `commit` does once the step is done. The lanes are those behind the guard, which has been checked. False after a fault.
  bool check_guard(Path& path, const Step& step, Lanes lanes);
  /// Before that, wherever a path comes: what a race has decided on its way has no value.
  void arrive(const Path& path);
  bool follow(Path& path, const Step& step, Lanes lanes);
  void commit();
  /// What the step has written to a register is no value.
  void forget(const Path& path, const Place& place, Lanes lanes);
  /// The same of lanes that have met, while the step is done: `follow` does not know who meets.
  void meet(Path& path, const Step& step, Lanes lanes, const Met& met);

  /// The undefined bits of a register of one lane; a predicate is 0 or 1. Of 128 bits, those of the lower half.
  std::uint64_t read(const Path& path, const Place& place, int lane);
  void write(const Path& path, const Place& place, int lane, std::uint64_t bits);
  /// The number of the unknown part of a register of at most 64 bits (undefined_bits.hpp); 0 without undefined bits.
  std::uint64_t unknown(const Path& path, const Place& place, int lane);
  Lanes lanes_of(const Path& path, const Place& place, Lanes lanes);

  using Cause = UndefinedCause;
  /// Undefined bits of these registers come from there.
  void come_from(const Path& path, std::span<const Place> places, const Cause& cause);
  /// Where the undefined bits of a register come from that lanes store by this step.
  Cause cause_of_store(const Path& path, const Place& place, const Step& step, Lanes lanes);
  /// Of what lies in frames.
  StoredCauses& local() { return local_; }
  /// The value of a register whose undefined bits these lanes have matters. True if the launch goes on, the bits being defined
  /// from now on.
  bool fault(const Path& path, const Step& step, const Place& place, Lanes lanes);
  /// Of a register of which so many bytes are stored for all to read: a word that was loaded as it is, whose last bytes alone nothing
  /// has written, counts as one of a struct with padding, if whole words are stored to its variable, too. True if the launch goes on.
  /// `is_part`: the store is strong, and each lane's has values, too: one of them may be a flag.
  bool stores(const Path& path, const Step& step, const Place& place, Lanes lanes, std::size_t bytes,
              bool is_part);

 private:
  struct Result {
    Place place;  // among all registers
    Lanes lanes;
    LaneBits bits, unknown;
  };
  struct Uses {
    std::vector<Place> sources, results;  // sources: those that have undefined bits
  };

  friend class Rules;  // undefined_steps.cpp
  void result(const Path& path, const Place& place, Lanes lanes, const LaneBits& bits,
              const LaneBits& unknown = {});
  void move_unknown(const Path& path, const Step& step, Lanes lanes);
  void find_results(Path& path, const Step& step, Lanes lanes, Lanes any);
  void take(const Path& path, const Place& place, Lanes lanes, const LaneBits& bits);
  std::uint32_t& cause_of(const Path& path, const Place& place);
  std::uint32_t number_of(const Cause& cause);
  std::string name_of(const Path& path, const Place& place) const;
  std::uint32_t cause_of_results(const Path& path, const Step& step, Lanes lanes);
  bool decides(const Path& path, const Place& place, Lanes lanes);
  bool is_padded(const Path& path, const Place& place, Lanes lanes, std::size_t bytes);
  bool has_words(const Cause& cause);
  void lose_frame(const Path& path, Lanes lanes, const Cause& cause);
  Fault fault_of(const Path& path, const Step& step, const Place& place, Lanes lanes);
  void settle();

  Warp& warp_;
  bool active_ = false;
  RegisterFile masks_;
  std::vector<LaneBits> unknown_;                            // by slot
  std::uint64_t unknowns_ = 0;                               // how many there have been
  std::vector<std::uint32_t> slot_cause_, predicate_cause_;  // of causes_
  StoredCauses local_;
  std::vector<Cause> causes_ = std::vector<Cause>(1);  // the first: a register that was not written
  std::vector<Result> pending_;
  std::vector<std::pair<std::uint32_t*, std::uint32_t>> causes_pending_;
  Uses uses_;
  // Lanes that have not come yet to the end of what a race decides, in a call whose registers begin there.
  struct Open {
    const Decided* what;
    std::uint32_t frame;
    Lanes lanes;
    std::uint32_t cause;
  };
  std::vector<Open> open_;
  std::map<int, std::optional<Decided>> decided_;                    // by step
  std::map<std::pair<std::int32_t, std::uint8_t>, bool> has_words_;  // by variable and bytes
  int steps_ = 0;
};

}  // namespace warpbit::grid
