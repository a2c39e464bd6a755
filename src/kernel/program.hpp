// SPDX-License-Identifier: Apache-2.0
// What is common to the tiles that the bodies compute as blocks: formats, panels and plans as body.hpp has
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/body.hpp"
#include "kernel/exact.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Whether the bodies know the format of a factor.
bool is_encodable(const Format& format);

/// As the bodies know it. `as_half`: elements are converted to f16.
Encoding encoding_of(const Format& format, const TileOperand& operand, bool as_half);

/// The places of a panel in order: which unit (of A; a register of B) of the four lanes, and which element of
/// it.
struct PanelPlace {
  int unit, element;
};
std::vector<PanelPlace> panel_places(int units, int bytes, bool by_register);

/// The k at each place of A's panel, if its rows are where the bodies expect them: two registers of four lanes,
/// or four, for each pair of rows.
std::optional<std::vector<int>> order_of_a(const Tile& tile, int bytes, bool by_register);

/// The same of B's panel: all registers of four lanes for each column.
std::optional<std::vector<int>> order_of_b(const Tile& tile, int bytes, bool by_register);

/// Whether C or D is where the bodies expect it (BlockView).
bool is_blocked(const Tile& tile, const TileOperand& operand);

/// The tile's plan on panels with these k, if the bodies can execute it: the k of a node must be neighbours.
std::optional<FusedProgram> compile_program(const Tile& tile, const Encoding& a, const Encoding& b,
                                            std::span<const int> order);

/// Of C or D with registers side by side.
BlockView block_view(std::byte* base, std::ptrdiff_t lane_stride, int element_bytes);

}  // namespace warpbit
