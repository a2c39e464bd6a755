// SPDX-License-Identifier: Apache-2.0
// Executes instructions whose elements do not meet: conversions and transpositions between registers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernel/registers.hpp"
#include "numeric/conversion.hpp"
#include "warpbit/fragment.hpp"

namespace warpbit {

/// Element i of the destination is element i of the sources, converted if there is a conversion.
struct ElementwiseKernel {
  /// An element of source number `operand`.
  struct Source {
    std::size_t operand;
    RegisterBits bits;
  };
  std::optional<Conversion> conversion;
  int lanes = 1;
  TileOperand destination;
  std::vector<TileRegisters> sources;
  std::vector<Source> elements;        ///< as many as destination.places
  std::optional<TileRegisters> extra;  ///< the random bits of a stochastic rounding, or the scale factors
};

inline constexpr std::size_t kMaxSources = 2;

class ConversionTable;

/// Computes cases [first, last). `extra` is read if the kernel has such an operand. With a table, that of the
/// conversion (conversion_table.hpp), elements are looked up where that is possible.
void run_elementwise(const ElementwiseKernel& kernel, std::span<const OperandView> sources,
                     const OperandView& extra, const ResultView& destination, std::size_t first,
                     std::size_t last, const ConversionTable* table);

}  // namespace warpbit
