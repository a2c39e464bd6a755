// SPDX-License-Identifier: Apache-2.0
// A product in an order of its sum: each block by the engine of whole products, what is between blocks by sums.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "api/sum_tree.hpp"
#include "kernel/gemm.hpp"
#include "numeric/formats.hpp"

namespace warpbit {

/// What is to be computed. C is where accumulators start or, with c_last, has the format `stored`.
struct OrderedProduct {
  MatrixProduct base;  ///< tile, sizes, A, B and threads
  const Body* body = nullptr;
  const SumOrder* order = nullptr;
  const std::vector<SumRun>* runs = nullptr;
  SumFormats formats;
  ItemMatrix c, bias, d, a_scale, b_scale;
};

/// Codes of tf32, row by row, of a matrix of f32. Precondition: a rounding, not Tf32Rounding::cut.
std::vector<std::uint32_t> rounded_to_tf32(const ItemMatrix& matrix, std::size_t rows, std::size_t columns,
                                           Tf32Rounding rounding);

/// Errors: view_mismatch for steps of block scaling that begin within a step.
Result<void> run_ordered(const Instruction& instruction, const OrderedProduct& product);

}  // namespace warpbit
