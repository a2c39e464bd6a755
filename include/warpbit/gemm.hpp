// SPDX-License-Identifier: Apache-2.0
// Matrix products of any size, computed with one instruction.
#pragma once

#include <cstddef>
#include <string_view>

#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"
#include "warpbit/sum_order.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A matrix of codes, each in the low bits of an item of 1, 2, 4 or 8 bytes: the smallest that holds a code
/// of the operand (Operand::element_bits). Strides are in items, of any sign; row-major is {data, columns,
/// 1}, column-major {data, 1, rows}. Bits of an item above its code are ignored.
struct MatrixView {
  const void* data = nullptr;  ///< element (0, 0)
  std::ptrdiff_t row_stride = 0, column_stride = 0;
};

/// The same for the result. Bits of an item above its code become 0.
struct MatrixResult {
  void* data = nullptr;  ///< element (0, 0)
  std::ptrdiff_t row_stride = 0, column_stride = 0;
};

/// D = A B + C: A is rows x depth, B depth x columns, C and D rows x columns. The sizes need not be multiples
/// of the instruction's. Elements of D must not share items with each other, nor with A or B. D and C are
/// either the same matrix, with equal strides, or disjoint. C has the format of the accumulators; with SumOrder::c_last
/// it has that of D, SumOrder::store.
struct Gemm {
  std::size_t rows = 0, columns = 0, depth = 0;
  MatrixView a, b;
  MatrixView c;  ///< without data: +0
  MatrixResult d;
  /// With block scaling, a factor for each block of K: rows x blocks for A, blocks x columns for B. A block is
  /// Instruction::terms() / Instruction::blocks() deep, and `blocks` is depth over that, rounded up: the last block
  /// may be cut off by the matrix. Without block scaling these are of single precision, or have no data: rows x promotions and
  /// promotions x columns, or one for each row and column (SumOrder::promote, SumOrder::scales_last).
  MatrixView a_scale = {}, b_scale = {};
  MatrixView bias = {};  ///< in the format of D, added before the store; strides may be 0. Without data: none
};

/// How a product over a long K is computed.
struct GemmOptions {
  /// The order of the sum and the formats on the way to D.
  SumOrder order = {};
  /// The number of threads, the kernel, and whether inferred arithmetic is allowed.
  ExecuteOptions execute = {};
};

/// Computes D, bit for bit as the instruction does when it is executed for each of its tiles of D and each K
/// step in that order, with D of one step as C of the next, and as the order adds the sums of runs, slices and promotions.
/// Additions and roundings of numbers follow IEEE 754, to nearest even where nothing else is said, with canonical
/// NaNs; sums of runs of integers wrap, or clamp if the instruction has .satfinite. Elements outside the matrices are +0,
/// their scale factors 1. With a depth of 0 the sum is C.
///
/// The instruction is any dense product whose C has the format of D, of a warp or of a warpgroup, with block scaling
/// or without. Where its operands lie does not matter: neither the names of registers nor descriptors, imm-trans and the
/// selectors of scale factors. imm-scale does: -1 changes the signs of A or B. (A bare form has -1 for both, which is
/// A B.) scale-d is 1, a predicate or absent.
///
/// Errors: view_mismatch (another instruction, one with literals for matrices, a scale-d of 0, a matrix without
/// data, scale factors that nothing takes, sizes above 2^31 - 1, an order that does not fit the depth or the formats of
/// the instruction), inferred_plan, no_such_kernel.
Result<Execution> gemm(const Instruction& instruction, const Gemm& problem, const GemmOptions& options = {});

/// The format of D (a name of Operand::format), and of C with SumOrder::c_last.
std::string_view format_of_result(const Instruction& instruction, const SumOrder& order);
/// Factors in a row of a_scale and in a column of b_scale: 0 where there are none. Errors: view_mismatch for an order that
/// does not fit.
Result<std::size_t> scale_factors(const Instruction& instruction, std::size_t depth, const SumOrder& order);

}  // namespace warpbit
#pragma GCC visibility pop
