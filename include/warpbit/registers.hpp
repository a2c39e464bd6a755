// SPDX-License-Identifier: Apache-2.0
// The registers of a warp, and what an instruction does to them and to memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "warpbit/memory.hpp"
#include "warpbit/result.hpp"

namespace warpbit {

/// The registers of the lanes of a warp: `registers` cells of 64 bits a lane, zero at first. A 32-bit register
/// is the low half of its cell. Precondition: neither number is negative.
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

/// What an instruction does to its warp and to memory.
struct Effects {
  struct Write {
    int lane, reg;
    std::uint64_t value;
  };
  /// Bytes that a warp reads from memory. `lane` gave the address; kEveryLane if all lanes give the same.
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
  bool inferred = false;                   ///< the values rest on inferred arithmetic
};

/// Writes the effects into the registers.
void apply(const Effects& effects, Registers& registers);

/// Writes the effects into the registers and into memory. Errors: address_out_of_bounds if this memory lacks
/// some of the bytes; then nothing is written.
Result<void> apply(const Effects& effects, Registers& registers, Memory& memory);

}  // namespace warpbit
