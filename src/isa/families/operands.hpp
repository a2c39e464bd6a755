// SPDX-License-Identifier: Apache-2.0
// What the families of mma share: registers and fragments of their operands.
#pragma once

#include "isa/form.hpp"

namespace warpbit {

// What registers hold accumulators and factors of a type.
const RegisterClass& accumulator_registers(FormatId id);
const RegisterClass& multiplicand_registers(FormatId id);

/// How elements of a type lie in a register.
Packing packing(FormatId id);

// Fragments. t = lane % 4, g = lane / 4; "per" elements lie in a register (PTX manual, "Matrix Fragments for
// mma...").

/// A: row g + 8 (r % 2) if M is 16, column per t + e + 4 per (r / 2).
FragmentMap a_map(int m, int k, Packing p);
/// B: row per t + e + 4 per r, column g.
FragmentMap b_map(int k, int n, Packing p);
/// C and D: value i is row g + 8 (i / 2), column 2 t + i % 2.
FragmentMap c_map(int m, int n, Packing p);

/// An operand in braces, as many registers as the map has.
OperandSpec vector_operand(std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                           FragmentMap map);

/// kind::...
constexpr bool looks_like_kind(std::string_view qualifier) {
  return qualifier.starts_with("kind::");
}

}  // namespace warpbit
