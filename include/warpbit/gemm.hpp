// SPDX-License-Identifier: Apache-2.0
// Matrix products of any size, computed with one instruction.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/detail/rounding.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

// ---- Orders of sums
//
// In which order, in which formats and with which roundings a product of matrices is summed along K, and how D
// follows from the sum.

/// How units of K become runs where they do not divide evenly.
enum class Spread {
  up,     ///< each run has units / runs, rounded up; the last may be shorter, and empty runs do not exist
  first,  ///< rounded down, and the first (units mod runs) runs have one more
  last,   ///< rounded down, and the last ones have one more
  down,   ///< rounded down, and the last run has all that is left
  cut,  ///< depth / runs, rounded down, and that up to units: what the runs do not reach is left out of the sum, as
        ///< in kernels of cuBLAS
  turns,  ///< the runs take a unit each by turns: 0 and 4, 1 and 5, ...
};

/// The order in which the sums of the runs are added.
enum class MergeOrder {
  ascending,   ///< ((0 + 1) + 2) + 3
  descending,  ///< ((3 + 2) + 1) + 0
  pairs,       ///< (0 + 1) + (2 + 3)
  halves,      ///< (0 + 2) + (1 + 3): each with the one half of them further on, until one is left
  tree,        ///< the first half, rounded down, and the others, each a tree: 0 + (1 + 2)
  fours,  ///< four sums by turns, each ascending, and then these: (0 + 4 + 8) + (1 + 5) + (2 + 6) + (3 + 7)
};

/// The order in which the sums of a run's accumulators are added. Those that had no values are left out; but for `ascending` they
/// are a power of two.
enum class SliceOrder {
  ascending,
  halves,       ///< as threads exchange their sums: (0 + 2) + (1 + 3)
  pair_halves,  ///< two of a thread first: ((0 + 1) + (4 + 5)) + ((2 + 3) + (6 + 7))
  pairs,        ///< neighbours first: ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))
};

/// Which of the products of alpha sum + beta C is not rounded before the addition.
enum class FusedScaling {
  alpha,  ///< fma(alpha, sum, beta C)
  beta,   ///< fma(beta, C, alpha sum)
  none,   ///< both are rounded
};

/// By which scale factor a sum is multiplied first. A product that is no addend is rounded.
enum class FactorOrder {
  together,  ///< by a b
  a_first,   ///< by a, and then by b
  b_first,   ///< by b, and then by a
};

/// How f32 operands become tf32.
enum class Tf32Rounding {
  cut,           ///< the instruction ignores their low bits
  nearest_even,  ///< to nearest, ties to even
  nearest_away,  ///< to nearest, ties away from zero (cvt.rna.tf32)
};

/// The description of a sum, complete beside an instruction. Without changes: the steps of K, each as deep as the
/// instruction, ascending, with C as the accumulators' start; D is what they are in the end.
///
///     K = 2560      runs of split_k, unit     slices       steps of the instruction, with promotions
///     [..........] [..........] [......]  ->  0101..  ->   16 16 16 16 + 16 16 16 16 + ...
///                                                          partial sums -> merge -> alpha, beta C, bias -> store
struct SumOrder {
  /// The order of the steps over the whole K: a permutation of 0 .. steps - 1, where steps is depth over
  /// Instruction::terms(), rounded up. Empty: ascending, or if `descending` from the last to the first. Other orders
  /// than ascending need runs of whole steps, and no `short_first`.
  std::vector<std::size_t> k_order = {};
  bool descending = false;
  /// The last (depth mod this) values of K are left out, as some kernels do by mistake; 0: none.
  std::size_t omit = 0;
  Tf32Rounding tf32 = Tf32Rounding::cut;

  /// The maximum number of runs into which K is cut: each has accumulators of its own, which start at +0, those of
  /// the first at C. They have units of so many values of K (0: the depth of the instruction); what is left below a
  /// unit is a unit, too, the last. At least 1.
  std::size_t split_k = 1;
  std::size_t unit = 0;
  Spread spread = Spread::up;
  /// Or the length of each run in values of K, together all of K; then split_k is 1. Empty: by split_k.
  std::vector<std::size_t> runs = {};

  /// In each run the (length mod this) values come first, as a part of their own: the residue tile of CUTLASS. 0:
  /// they are the last step, filled up with zeros.
  std::size_t short_first = 0;
  /// A run has so many accumulators, which take so many values of K by turns. Their sums are added in their format.
  std::size_t slices = 1, slice_width = 0;
  SliceOrder slice_order = SliceOrder::ascending;
  /// After so many values of K, counted in whole steps, the accumulators are added to outer ones in this format
  /// (empty: f32, or f64 if they have it), which start at +0 or C, and start again at +0 themselves. 0: never.
  std::size_t promote = 0;
  std::string promote_format = {};

  /// Gemm::a_scale and b_scale of an instruction without block scaling are factors of f32, one for each promotion: a b,
  /// rounded (or see scale_order), times what is promoted, added with one rounding. Or, if this is set, a factor for each row and
  /// column: times the sum, before alpha.
  bool scales_last = false;
  FactorOrder scale_order = FactorOrder::together;

  /// The format to which the sum of a run is rounded before it is merged, and the one of the running sum of runs.
  /// Additions are rounded to single precision (to double, if one of the formats is that), and then to that format.
  /// Empty: the accumulators', or those of the promotion.
  std::string partials = {}, merge = {};
  MergeOrder merge_order = MergeOrder::ascending;

  /// Whether C is added behind the sum: alpha sum + beta C, in f32 (of f64 accumulators in f64). Otherwise the
  /// accumulators start at C, and beta is 1.
  bool c_last = false;
  float alpha = 1, beta = 1;
  FusedScaling fused = FusedScaling::alpha;
  /// The format to which alpha sum is rounded before C is added; empty: none but that of `fused`.
  std::string between = {};
  /// The format of D (empty: that of the sum) and the rounding to it, of all that was rounded before.
  std::string store = {};
  Rounding store_rounding = Rounding::nearest_even;

  /// Reads the words that text() writes, in any order, separated by blanks, or by a + before a letter. Errors: usage,
  /// with the words that there are.
  static Result<SumOrder> parse(std::string_view text);
  /// What differs from SumOrder(), in words: "split_k=4 unit=64 merge=f16 store=f16"; "ascending" if nothing does.
  std::string text() const;

  friend bool operator==(const SumOrder&, const SumOrder&) = default;
};

/// A word of the notation: "split_k", "4", and what it says.
struct SumOrderWord {
  std::string_view name, values, meaning;
};
/// All of them, in the order of text().
std::vector<SumOrderWord> sum_order_words();

// ---- Products

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

/// Products of matrices by an instruction whose types are in a descriptor have forms of their own, in which these stand and which no
/// PTX has. One of them for an instruction of that kind; empty for other instructions.
std::string_view product_by_types(const Instruction& instruction);

/// The format of D (a name of Operand::format), and of C with SumOrder::c_last.
std::string_view format_of_result(const Instruction& instruction, const SumOrder& order);
/// Factors in a row of a_scale and in a column of b_scale: 0 where there are none. Errors: view_mismatch for an order that
/// does not fit.
Result<std::size_t> scale_factors(const Instruction& instruction, std::size_t depth, const SumOrder& order);

}  // namespace warpbit
#pragma GCC visibility pop
