// SPDX-License-Identifier: Apache-2.0
// A launch, statement by statement, forwards and backwards. It is the same each time, so a place in it is a number: to go there,
// forwards or back, the launch is run again up to that number.
//
//     Debugger debugger(kernel, how, arguments);
//     auto at = debugger.find_next(0, is_at_line(118));           // the first statement of line 118 that is executed
//     DebugState state = debugger.state(*at);                     // registers of all warps, shared memory; arrays as they are then
//     auto before = debugger.find_previous(*at, of_warp(2));      // what warp 2 executed last
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "warpbit/ptx.hpp"

#pragma GCC visibility push(default)
namespace warpbit::ptx {
class KeptMemory;  // src/grid/launch_memory.hpp
}
namespace warpbit {

/// What a warp has done so far.
struct DebugWarp {
  int line = 0;            ///< of the statement that it executed last
  std::string statement;   ///< that
  std::uint64_t step = 0;  ///< when that was
  std::map<std::string, ptx::RegisterValues>
      registers;  ///< all that its statements have read or written, as they are now
};

/// A launch at one place.
struct DebugState {
  std::uint64_t step = 0;                ///< so many statements of the block were executed
  std::optional<ptx::Observation> seen;  ///< the last of them; nothing before the first. Its `shared` is empty
  bool is_end = false;                   ///< the launch has ended, before `step` statements were executed
  std::optional<Fault> fault;            ///< of that end
  std::vector<ptx::Finding> findings;    ///< of the launch, so far
  std::map<int, DebugWarp> warps;        ///< by number, of those that have begun
  std::vector<std::byte> shared;         ///< the block's shared memory
  ptx::BlockState block;                 ///< what else it has; nothing at the start and the end
};

using DebugPredicate = std::function<bool(const ptx::Observation&)>;

/// A statement that writes one of these bytes of the caller's memory; a copy in bulk does where it is begun, and of a tensor
/// copy all bytes from its first to its last one count.
DebugPredicate writes_memory(std::span<const std::byte> bytes);
/// The same of the block's shared memory.
DebugPredicate writes_shared(std::uint64_t address, std::uint64_t bytes);
/// A statement behind which there is a finding or a note of the block that was not there before.
DebugPredicate has_finding();

/// What is changed at a place, before the launch goes on.
struct DebugEdit {
  std::uint64_t step = 0;  ///< behind so many statements of the block, from 1 on
  /// Of lanes of a warp, as a mask; a predicate is 0 or 1.
  struct Register {
    int warp = 0;
    std::uint32_t lanes = 0xFFFF'FFFF;
    std::string name;
    std::uint64_t value = 0;
  };
  /// Bytes of shared memory from an address on.
  struct Shared {
    std::uint64_t address = 0;
    std::vector<std::byte> bytes;
  };
  /// Bytes of the caller's memory.
  struct Memory {
    std::span<std::byte> at;
    std::vector<std::byte> bytes;  ///< as many
  };
  std::variant<Register, Shared, Memory> what;
};

/// A statement that has made something.
struct DebugOrigin {
  std::uint64_t step = 0;  ///< when
  int warp = 0;
  std::uint32_t lanes = 0;  ///< that have made it
  int line = 0;
  std::string statement;
};

/// One block of a launch. A kernel that changes variables of its module, and depends on them, is not the same each time: they keep
/// what each run leaves. Arrays of the arguments, placed memory and arrays that have an address are the caller's: they hold what memory has at the state that was asked last, and at
/// first and after `restore` what they held before.
class Debugger {
 public:
  /// The block is how.observed_block. Precondition: all arrays outlive it.
  Debugger(ptx::Function kernel, ptx::Launch how, std::vector<ptx::Argument> arguments);

  const ptx::Function& kernel() const { return kernel_; }
  const ptx::Launch& how() const { return how_; }

  /// The state behind so many statements, or at the end if there are fewer.
  DebugState state(std::uint64_t step);
  /// The number of the first statement behind `step` for which the predicate holds, at the nth time; nothing if there is none.
  std::optional<std::uint64_t> find_next(std::uint64_t step, const DebugPredicate& holds,
                                         std::uint64_t nth = 1);
  /// The number of the last one before `step`.
  std::optional<std::uint64_t> find_previous(std::uint64_t step, const DebugPredicate& holds);
  /// What made the bytes that `writes` names (writes_memory, writes_shared), as they are behind so many statements: the last
  /// statement of the block that has written them, then those that made what it stored, back to loads of what the block has not
  /// written; addresses and guards are not followed, nor what lies in tensor memory or is read by descriptors. Nothing if the
  /// block does not write them. Errors: usage, for more than 2^20 statements.
  Result<std::vector<DebugOrigin>> made(std::uint64_t step, const DebugPredicate& writes);
  /// The arrays hold what they held before.
  void restore();

  /// From now on the launch has this change, which nothing records: state(edit.step) shows it, and what comes behind follows from
  /// it. Errors: usage, where there is no such place or register; address_out_of_bounds.
  Result<void> edit(DebugEdit edit);
  const std::vector<DebugEdit>& edits() const { return edits_; }
  /// Without changes.
  void forget_edits() { edits_.clear(); }

 private:
  ptx::Report run(const std::function<bool(const ptx::Observation&)>& see);
  Result<void> apply_edits(std::uint64_t step, const ptx::Observation& seen);
  ptx::Function kernel_;
  ptx::Launch how_;
  std::vector<ptx::Argument> arguments_;
  std::vector<DebugEdit> edits_;
  std::shared_ptr<const ptx::KeptMemory> before_;  // what memory held
};

}  // namespace warpbit
#pragma GCC visibility pop
