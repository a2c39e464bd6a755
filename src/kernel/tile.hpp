// SPDX-License-Identifier: Apache-2.0
// Executes a plan over whole tiles: gather, decode, one evaluation for each output element, scatter.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "numeric/formats.hpp"
#include "numeric/plan.hpp"
#include "warpbit/view.hpp"

namespace warpbit {

/// Bits [low_bit, low_bit + bits) of one register of one lane.
struct RegisterBits {
  int lane, reg, low_bit, bits;
};

/// One operand of a tile, compiled: where each element lies, in the order in which the kernel takes them.
struct TileOperand {
  const Format* format = nullptr;
  int registers = 0;
  int register_bits = 32;
  std::vector<RegisterBits>
      places;  ///< A: (product, row, k); B: (product, column, k); C, D: (product, row, column)
  std::vector<std::optional<std::uint64_t>> literals;
};

/// A decoded instruction as the kernel needs it. At most 32 lanes, 8 registers an operand, 4096 elements of A,
/// 2048 of B.
struct Tile {
  const Plan* plan = nullptr;
  int lanes = 32, products = 1, rows = 0, columns = 0, depth = 0;
  TileOperand d, a, b, c;
};

/// Computes case `index`. Views must have the strides of the operands; a view whose operand is all literals is
/// not read.
void run_tile(const Tile& tile, const OperandView& a, const OperandView& b, const OperandView& c,
              const ResultView& d, std::size_t index);

/// One output element from codes; a and b have tile.depth elements.
std::uint64_t run_element(const Tile& tile, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t c);

}  // namespace warpbit
