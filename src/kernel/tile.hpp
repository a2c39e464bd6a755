// SPDX-License-Identifier: Apache-2.0
// Executes a plan over whole tiles: gather, decode, one evaluation for each output element, scatter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numeric/formats.hpp"
#include "numeric/plan.hpp"
#include "numeric/sparsity.hpp"
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
  int lanes = 32, products = 1, rows = 0, columns = 0;
  int depth = 0;  ///< rows of B
  int terms = 0;  ///< products in a sum: depth, or half of it if A is sparse
  Sparsity sparsity;
  TileOperand d, a, b, c;
  TileOperand e;  ///< metadata, if A is sparse: (row, group)
};

/// The registers that a tile reads. A view whose operand is all literals is not read.
struct TileViews {
  OperandView a, b, c, e;
};

/// Computes case `index`. Views must have the strides of the operands.
void run_tile(const Tile& tile, const TileViews& views, const ResultView& d, std::size_t index);

/// A nibble of metadata that the manual leaves undefined.
struct MetadataFault {
  RegisterBits bits;
  int row, group;
  std::uint64_t nibble;
};

/// The first such nibble in case `index`, by row and group; `ordered` as in is_defined. Precondition: the tile
/// is sparse.
std::optional<MetadataFault> find_fault(const Tile& tile, const OperandView& e, std::size_t index,
                                        bool ordered);

/// One output element from codes: as many of a as of b, at most tile.terms; the rest are +0.
std::uint64_t run_element(const Tile& tile, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c);

}  // namespace warpbit
