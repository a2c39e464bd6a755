// SPDX-License-Identifier: Apache-2.0
// Names and shapes of the members of a capture, by operand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "numeric/formats.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {

inline constexpr std::string_view kMemory = "smem", kMemoryAfter = "smem_out", kBefore = "d_in";

/// Bytes of an item of an operand's member, in the layouts `registers` and `scalars`.
inline std::size_t item_bytes(const Operand& op) {
  return op.part == Part::address || op.part == Part::stride ? 4
                                                             : static_cast<std::size_t>(op.register_bits / 8);
}

/// The shape of one case of it. `lanes` is 1 in the layout `scalars`.
inline std::vector<std::int64_t> case_shape(const Operand& op, int lanes) {
  std::vector<std::int64_t> out;
  const bool same_in_all =
      op.part == Part::stride || op.kind == OperandKind::descriptor || op.kind == OperandKind::predicate;
  if (lanes > 1 && !same_in_all) out.push_back(lanes);
  if (op.kind == OperandKind::vector) out.push_back(op.registers);
  return out;
}

/// True if D is the accumulator, too.
inline bool accumulates_in_place(const Instruction& instruction) {
  return std::ranges::any_of(instruction.operands(),
                             [](const Operand& op) { return op.part == Part::scale_d; });
}

/// True if a capture has a member for the operand, in the layouts `registers` and `scalars`.
inline bool has_member(const Operand& op) {
  return op.kind != OperandKind::immediate && op.kind != OperandKind::pair && op.literals.empty();
}

}  // namespace warpbit
