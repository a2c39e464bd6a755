// SPDX-License-Identifier: Apache-2.0
// Registers of one operand in one case, side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/registers.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit {

/// True if a view has the registers of a case as [lane][register] without gaps.
template <class View>
bool has_no_gaps(const TileRegisters& r, const View& view) {
  return view.register_stride == r.bits / 8 && view.lane_stride == view.register_stride * r.count;
}

/// The same of an operand that has no literals either.
inline bool is_dense(const TileRegisters& r, const OperandView& view) {
  return has_no_gaps(r, view) && r.literals.empty();
}

/// Copies the registers of an operand as [lane][register] without gaps. Precondition: of 32 or 64 bits.
void copy_registers(const TileRegisters& registers, const OperandView& view, int lanes, std::size_t index,
                    std::vector<std::uint32_t>& out);

/// The registers of an operand as [lane][register] without gaps: where they are, or copied to `scratch` if they
/// lie otherwise or hold literals. Precondition: that of copy_registers.
const std::byte* dense_registers(const TileOperand& operand, const OperandView& view, int lanes,
                                 std::size_t index, std::vector<std::uint32_t>& scratch);

/// Stores such registers where a view has them.
void store_registers(const TileRegisters& registers, const std::byte* dense, const ResultView& view, int lanes,
                     std::size_t index);

}  // namespace warpbit
