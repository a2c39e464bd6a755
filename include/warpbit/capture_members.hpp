// SPDX-License-Identifier: Apache-2.0
// What a capture of an instruction holds: its members, and how inputs for them are made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "warpbit/inputs/member.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// One array of a capture (src/capture/FORMAT.md, layouts `registers` and `scalars`).
struct CaptureMember {
  std::string name;                  ///< as the statement says, or of the format
  std::size_t item_bytes = 4;        ///< of its unsigned dtype
  std::vector<std::uint64_t> shape;  ///< of one case
  /// The same array as registers of 8 to 64 bits, little-endian; of memory, 32 bits each.
  int lanes = 1, registers = 1, register_bits = 32;
  /// What fills all of it, one part after the other; nothing for the result.
  std::vector<inputs::Member> fills;

  /// Bytes of one case.
  std::size_t case_bytes() const {
    return static_cast<std::size_t>(lanes) * static_cast<std::size_t>(registers) *
           static_cast<std::size_t>(register_bits / 8);
  }
};

/// All members that an instruction needs: those of its source operands in the order of the statement, `d_in`
/// and `smem` where it has them, and the expected result as the last. The names are those of the operands.
/// Inputs that are made as `fills` says leave nothing undefined, and no address leaves `smem`. Errors:
/// member_value if no capture can hold it, since it has no results, or moves a matrix from or to global memory.
Result<std::vector<CaptureMember>> capture_members(const Instruction& instruction);

}  // namespace warpbit
#pragma GCC visibility pop
