// SPDX-License-Identifier: Apache-2.0
// Whole matrix products as an instruction computes them.
#pragma once

#include <cstddef>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A matrix of codes, each in the low bits of an item: of 1, 2, 4 or 8 bytes, the least of these that holds a
/// code of the operand (Operand::element_bits). Strides are in items, of any sign; row-major is {data, columns,
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
/// of the instruction's. No two elements of D may share an item, and D may share none with A or B; D and C are
/// either the same, with equal strides, or share none.
struct Gemm {
  std::size_t rows = 0, columns = 0, depth = 0;
  MatrixView a, b;
  MatrixView c;  ///< without data: +0
  MatrixResult d;
};

/// How a product over a long K is made of instructions.
struct GemmOptions {
  /// The order of the steps of K, each as deep as the instruction: a permutation of 0 .. steps - 1, where steps
  /// is depth / Instruction::depth(), rounded up. Empty: ascending.
  std::vector<std::size_t> k_order = {};
  /// Into how many runs the steps, in their order, are cut: all as long as steps / split_k, rounded up, but the
  /// last, which may be shorter; there are fewer runs where that leaves none for them. The first one starts
  /// from C, each further one from +0, and its sum is added to that of those before it. Such an addition is
  /// that of IEEE 754 in the format of D, rounded to nearest even, a NaN canonical; of integers it wraps, or
  /// clamps if the instruction has .satfinite. At least 1.
  std::size_t split_k = 1;
  /// Threads to split D over, the kernel, and whether inferred arithmetic is allowed.
  ExecuteOptions execute = {};
};

/// Computes D: bit for bit what the instruction gives when it is executed for each of its tiles of D and each
/// step of K in that order, the D of one step being the C of the next. What lies outside the matrices is +0.
/// With a depth of 0 D is C. The instruction is any dense product of matrices in registers whose C has the
/// format of D, without block scaling; its own registers play no part. Errors: view_mismatch (another
/// instruction, one with literals, a matrix without data, sizes above 2^31 - 1, no permutation, no run),
/// inferred_plan, no_such_kernel.
Result<Execution> gemm(const Instruction& instruction, const Gemm& problem, const GemmOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
