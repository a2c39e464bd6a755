// SPDX-License-Identifier: Apache-2.0
// Matrix products of any size, computed with one instruction.
#pragma once

#include <cstddef>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

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
/// either the same matrix, with equal strides, or disjoint.
struct Gemm {
  std::size_t rows = 0, columns = 0, depth = 0;
  MatrixView a, b;
  MatrixView c;  ///< without data: +0
  MatrixResult d;
  /// With block scaling, a factor for each block of K: rows x blocks for A, blocks x columns for B. A block is
  /// Instruction::terms() / Instruction::blocks() deep, and `blocks` is depth over that, rounded up: the last block
  /// may be cut off by the matrix. Without block scaling these have no data.
  MatrixView a_scale = {}, b_scale = {};
};

/// How a product over a long K is split into instructions.
struct GemmOptions {
  /// The order of the K steps, each as deep as the instruction: a permutation of 0 .. steps - 1, where steps
  /// is depth / Instruction::depth(), rounded up. Empty: ascending.
  std::vector<std::size_t> k_order = {};
  /// The maximum number of runs into which the steps, in their order, are cut. Each run has steps / split_k
  /// steps, rounded up; the last may be shorter, and empty runs do not exist. The first run starts from C,
  /// each further one from +0. The sum of each further run is added to the sum of those before it. That
  /// addition follows IEEE 754 in the format of D, rounded to nearest even, with a canonical NaN; integers
  /// wrap, or clamp if the instruction has .satfinite. At least 1.
  std::size_t split_k = 1;
  /// The number of threads, the kernel, and whether inferred arithmetic is allowed.
  ExecuteOptions execute = {};
};

/// Computes D, bit for bit as the instruction does when it is executed for each of its tiles of D and each K
/// step in that order, with D of one step as C of the next. Elements outside the matrices are +0, their scale
/// factors 1. With a depth of 0, D is C.
///
/// The instruction is any dense product whose C has the format of D, of a warp or of a warpgroup, with block scaling
/// or without. Where its operands lie does not matter: neither the names of registers nor descriptors, imm-trans and the
/// selectors of scale factors. imm-scale does: -1 changes the signs of A or B. (A bare form has -1 for both, which is
/// A B.) scale-d is 1, a predicate or absent.
///
/// Errors: view_mismatch (another instruction, one with literals for matrices, a scale-d of 0, a matrix without
/// data, scale factors that the form does not have, sizes above 2^31 - 1, a k_order that is not a permutation, a
/// split_k of 0), inferred_plan, no_such_kernel.
Result<Execution> gemm(const Instruction& instruction, const Gemm& problem, const GemmOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
