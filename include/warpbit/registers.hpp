// SPDX-License-Identifier: Apache-2.0
// The registers of a warp or warpgroup, and what an instruction does to them, to memory and to what is under
// way asynchronously.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "warpbit/memory.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// The registers of the lanes of a warp or a warpgroup: `registers` cells of 64 bits a lane, zero at first. A
/// 32-bit register is the low half of its cell. Precondition: neither number is negative.
class Registers {
 public:
  Registers(int lanes, int registers);

  int lanes() const { return lanes_; }
  int registers() const { return registers_; }
  /// Precondition of both: 0 <= lane < lanes(), 0 <= reg < registers().
  std::uint64_t read(int lane, int reg) const { return cells_[index(lane, reg)]; }
  void write(int lane, int reg, std::uint64_t value) { cells_[index(lane, reg)] = value; }

  /// Cell (0, 0). The next register lies 8 bytes further, the next lane 8 * registers() bytes.
  const std::uint64_t* data() const { return cells_.data(); }

 private:
  std::size_t index(int lane, int reg) const {
    return static_cast<std::size_t>(lane) * static_cast<std::size_t>(registers_) +
           static_cast<std::size_t>(reg);
  }
  int lanes_, registers_;
  std::vector<std::uint64_t> cells_;
};

/// What an instruction without results does to asynchronous ones (PTX manual, "Asynchronous Warpgroup-Level
/// Matrix Instructions" and "membar/fence").
struct AsyncControl {
  enum class Kind {
    register_fence,  ///< orders what came before with what asynchronous products do to registers
    commit_group,    ///< makes the asynchronous products since the last one a group
    wait_group,      ///< completes groups
    proxy_fence,     ///< orders accesses to memory through the generic and through the async proxy
  };
  Kind kind;
  Space space = Space::generic;  ///< of a proxy fence: the memory; generic is all of it
  std::uint64_t pending = 0;     ///< of a wait: as many of the latest groups may stay pending
};

/// What an asynchronous matrix product occupies until it is complete.
struct AsyncUse {
  std::array<int, 3> shape;       ///< M, N, K
  std::vector<int> accumulators;  ///< the registers of D, in every lane: read, if D counts, and written
  std::vector<int> factors;       ///< the registers of A, likewise: read
};

/// What an instruction does to its warp or warpgroup and to memory.
struct Effects {
  /// A register that is written, in one lane.
  struct Write {
    int lane, reg;
    std::uint64_t value;
  };
  /// Bytes that a warp or warpgroup reads from memory. `lane` gave the address; kEveryLane if all lanes give
  /// the same.
  struct MemoryRead {
    int lane;
    Space space;
    std::uint64_t address, bytes;
  };
  /// Bytes that a warp writes to memory.
  struct MemoryWrite {
    int lane;
    Space space;
    std::uint64_t address;
    std::vector<std::byte> bytes;
  };
  static constexpr int kEveryLane = -1;

  std::vector<int> reads;     ///< register numbers that every lane reads
  std::vector<Write> writes;  ///< applied by `apply`
  std::vector<MemoryRead> memory_reads;
  std::vector<MemoryWrite> memory_writes;  ///< applied by `apply` with a memory; no two overlap
  /// Of an asynchronous product, which reads and writes at some time before it is waited for.
  std::optional<AsyncUse> deferred;
  std::optional<AsyncControl> control;
  bool inferred = false;  ///< the values rest on inferred arithmetic
};

/// Writes the effects into the registers, deferred ones too.
void apply(const Effects& effects, Registers& registers);

/// Writes the effects into the registers and into memory, deferred ones too. Errors: address_out_of_bounds if
/// this memory lacks some of the bytes; then nothing is written.
Result<void> apply(const Effects& effects, Registers& registers, Memory& memory);

}  // namespace warpbit
#pragma GCC visibility pop
