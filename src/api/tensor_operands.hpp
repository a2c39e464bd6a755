// SPDX-License-Identifier: Apache-2.0
// The values of the operands of tcgen05, whoever has the registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "warpbit/execute.hpp"

namespace warpbit {

/// The value of register r of operand i: a literal, or value(i, r), to which the offset of an address is added.
template <class Value>
std::uint64_t operand_value(const Instruction& instruction, std::size_t i, int r, Value& value) {
  const Operand& operand = instruction.operands()[i];
  const auto number = static_cast<std::size_t>(r);
  if (number < operand.literals.size() && operand.literals[number]) return *operand.literals[number];
  return value(i, r) + static_cast<std::uint64_t>(operand.offset);
}

/// That of the operand with a role; nothing if there is none.
template <class Value>
std::optional<std::uint64_t> value_of(const Instruction& instruction, Part part, Value& value) {
  const Operand* const operand = instruction.find(part);
  if (operand == nullptr) return std::nullopt;
  return operand_value(instruction, static_cast<std::size_t>(operand - instruction.operands().data()), 0,
                       value);
}

/// What tcgen05.mma has as operands.
template <class Value>
TensorMmaSources mma_sources(const Instruction& instruction, Value value) {
  TensorMmaSources out;
  const std::span<const Operand> operands = instruction.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::uint64_t first = operand_value(instruction, i, 0, value);
    const auto word = static_cast<std::uint32_t>(first);
    switch (operands[i].part) {
      case Part::d_address: out.d = word; break;
      case Part::a_address: out.a = word; break;
      case Part::a: out.a = first; break;
      case Part::b: out.b = first; break;
      case Part::metadata_address: out.metadata = word; break;
      case Part::instruction_descriptor: out.instruction = word; break;
      case Part::scale_a_address: out.scale_a = word; break;
      case Part::scale_b_address: out.scale_b = word; break;
      case Part::disabled_lanes:
        for (int r = 0; r < operands[i].registers; ++r)
          out.disabled_lanes[static_cast<std::size_t>(r)] =
              static_cast<std::uint32_t>(operand_value(instruction, i, r, value));
        break;
      case Part::enable_d: out.accumulates = first != 0; break;
      case Part::scale_exponent: out.scale_input_d = static_cast<int>(first); break;
      case Part::zero_columns: out.zero_columns = first; break;
      default: break;
    }
  }
  return out;
}

#pragma GCC visibility push(default)  // warpbit's other libraries use it
/// The registers of a load, numbered as those of execute_load, some bits of which come from words that nothing has written.
/// Errors: those of execute_load.
Result<std::vector<std::size_t>> unwritten_of_load(const Instruction& instruction, int warp,
                                                   std::uint32_t address, std::int64_t split,
                                                   const TensorMemory& memory);
#pragma GCC visibility pop

}  // namespace warpbit
