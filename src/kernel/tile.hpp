// SPDX-License-Identifier: Apache-2.0
// Executes a plan over whole tiles: gather, decode, one evaluation for each output element, scatter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

/// What a tile may hold at most; tests/plan_test.cpp proves that no form needs more.
inline constexpr int kMaxLanes = 32, kMaxRegisters = 8, kMaxDepth = 256;
inline constexpr int kMaxElementsOfA = 4096, kMaxElementsOfB = 2048;

/// A decoded instruction as the kernel needs it.
struct Tile {
  const Plan* plan = nullptr;
  int lanes = 32, products = 1, rows = 0, columns = 0, depth = 0;
  TileOperand d, a, b, c;
};

/// Computes case `index`. Views must have the strides of the operands; a view whose operand is all literals is
/// not read.
void run_tile(const Tile& tile, const OperandView& a, const OperandView& b, const OperandView& c,
              const ResultView& d, std::size_t index);

/// One output element from codes: as many of a as of b, at most tile.depth; the rest are +0.
std::uint64_t run_element(const Tile& tile, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c);

}  // namespace warpbit
