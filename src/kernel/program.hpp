// SPDX-License-Identifier: Apache-2.0
// Formats, panels and plans of fused nodes as body.hpp has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Whether the bodies know the format of a factor.
bool is_encodable(const Format& format);

/// As the bodies know it. `as_half`: elements are converted to f16.
Encoding encoding_of(const TileOperand& operand, bool as_half);

/// The k at each place of a panel, from lines in words of four bytes in the fragments of m16n8 (gather.hpp): of
/// `units` in a lane.
std::vector<int> panel_order(int units, int bytes, bool by_register);

/// The tile's plan on panels with these k, if the bodies can execute it: the k of a node must be neighbours.
std::optional<FusedProgram> compile_program(const Tile& tile, const Encoding& a, const Encoding& b,
                                            std::span<const int> order);

}  // namespace warpbit
