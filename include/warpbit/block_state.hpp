// SPDX-License-Identifier: Apache-2.0
// What a block of a launch has at one place, beside the registers of its warps and its shared memory: barrier objects, who
// waits for whom, what is on its way, tensor memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/state.hpp"
#include "warpbit/timeline.hpp"

#pragma GCC visibility push(default)
namespace warpbit::ptx {

/// A barrier object (PTX manual, "mbarrier"). Its phase is complete when no arrival and no byte is pending.
struct MbarrierState {
  std::uint64_t address = 0;                ///< of the block's shared memory
  std::string name = {};                    ///< "full + 0x8": what the module calls it; empty: nothing
  std::uint64_t phase = 0;                  ///< the one at hand: so many are complete
  std::uint32_t expected = 0, pending = 0;  ///< arrivals of a phase, and those that are still to come
  std::int64_t came = 0;                    ///< bytes of copies in this phase
  std::int64_t pending_bytes =
      0;                    ///< expected ones that are still to come; negative: more came than were expected
  std::string absent = {};  ///< "warp 2, lanes 0-31": who arrived in earlier phases, and not in this one

  /// Of the phase at hand. A wait for the other one goes on.
  int parity() const { return static_cast<int>(phase & 1); }
};

/// Lanes of a warp that cannot go on yet.
struct WaitState {
  int warp = 0;
  std::uint32_t lanes = 0;     ///< a mask
  int line = 0;                ///< of the module's text
  std::string statement = {};  ///< at which they wait
  Awaited kind = Awaited::lanes;
  std::uint64_t number = 0;       ///< of a barrier; of a barrier object its address
  std::vector<int> missing = {};  ///< warps of the block that have not come, where it is known which must
  std::string awaits = {};        ///< "barrier 1: 1 of 2 warps have arrived"
};

/// Bytes from an address on. A tensor copy and a product take parts of them.
struct PendingBytes {
  Space space = Space::shared;
  std::uint64_t address = 0, bytes = 0;
  int rank = -1;          ///< of shared memory of another block of the cluster; -1: the block's own
  std::string name = {};  ///< "bytes 0 to 255 of the array of 'x'", "As + 0x40"; empty: nobody knows
};

/// What lanes of a warp have begun, and is not known to be done: a copy, a product, an arrival, an access to tensor memory. Those
/// of one statement and group are one.
struct PendingState {
  int warp = 0;
  std::uint32_t lanes = 0;
  int line = 0;                ///< of the module's text
  std::string statement = {};  ///< that has begun it
  std::optional<PendingBytes> from = {}, to = {};
  std::uint64_t bytes = 0;  ///< that are moved; 0: none are, or by a product
  std::uint64_t count = 1;  ///< of these, the last of which this is
  /// What is to be waited for: "the mbarrier at 0x8 (full)", "cp.async.wait_group 1"; empty: it is in no group yet.
  std::string awaited_by = {};
};

/// The tensor memory of a block: 128 lanes by 512 columns of words of 32 bits.
struct TensorMemoryState {
  /// Of an allocation.
  struct Columns {
    int first = 0, count = 0;
  };
  std::vector<Columns> allocated = {};
  std::vector<std::uint32_t> words = {};  ///< lane by lane
  std::vector<bool> written = {};         ///< the same: whether anything has

  static constexpr std::size_t kLanes = 128, kColumns = 512;
  /// Precondition of both: lane < kLanes, column < kColumns.
  std::uint32_t word(std::size_t lane, std::size_t column) const { return words[lane * kColumns + column]; }
  bool is_written(std::size_t lane, std::size_t column) const { return written[lane * kColumns + column]; }
};

/// All of these of one block.
struct BlockState {
  std::vector<MbarrierState> mbarriers = {};     ///< by address
  std::vector<WaitState> waits = {};             ///< by warp
  std::vector<PendingState> pending = {};        ///< copies to and from the block first
  std::optional<TensorMemoryState> tensor = {};  ///< once it is used
};

/// The block of a statement that is observed, during the call of the observer alone.
class ObservedBlock {
 public:
  virtual ~ObservedBlock() = default;
  virtual BlockState state() const = 0;
  /// Lanes of a warp get another value in a register of the function that they are in; a predicate is 0 or 1. Errors: usage where
  /// the block has no such warp, the lanes are in no function with such a register, or it holds no value there that a later
  /// statement reads.
  virtual Result<void> set_register(int warp, std::uint32_t lanes, std::string_view name,
                                    std::uint64_t value) = 0;
  /// Bytes of its shared memory get other values; nothing is recorded of it. Errors: address_out_of_bounds.
  virtual Result<void> set_shared(std::uint64_t address, std::span<const std::byte> bytes) = 0;
};

/// Bytes that a statement reads or writes: of a lane, of a copy that it begins, whose bytes are those from the first to the last, or
/// of the matrices in shared memory of a product, which each warp reads that takes part. Local memory has none.
struct MemoryAccess {
  int lane = 0;
  Space space = Space::global;  ///< or the block's own shared memory
  std::uint64_t address = 0, bytes = 0;
  bool writes = false;  ///< an atomic and a reduction do both
  bool reads = false;
  const std::byte* memory = nullptr;  ///< the caller's, of global memory that is
};

/// A variable in shared memory.
struct SharedVariable {
  std::string name;           ///< as the source has it: "As" of "_ZZ4gemmPfE2As"
  std::string type;           ///< of its elements, as PTX has it without the dot
  std::uint64_t address = 0;  ///< of its first byte
  std::uint64_t bytes = 0;    ///< 0: all behind it, as many as the launch says
};

}  // namespace warpbit::ptx
#pragma GCC visibility pop
