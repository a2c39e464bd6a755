// SPDX-License-Identifier: Apache-2.0
// From a product to the order of its sum: which description gives exactly this D?
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// An element of D.
struct ResultElement {
  std::size_t row = 0, column = 0;
  std::uint64_t code = 0;
  friend bool operator==(const ResultElement&, const ResultElement&) = default;
};

/// What is known of a product.
struct FoundProduct {
  /// Sizes, A, B, C, bias and scale factors as of gemm(); `d` is the result, which is only read, or has no data.
  Gemm product;
  /// Without d: the elements of D that are known.
  std::vector<ResultElement> elements = {};
};

/// How to search.
struct FindOrderOptions {
  /// What is known of the order: only orders with all of its words are tried. Without a store D is of the accumulators' format; where all of its numbers are
  /// those of a narrower format, too, a store in that is tried.
  SumOrder known = {};
  /// Orders to try before all others.
  std::vector<SumOrder> first = {};
  /// Which hypotheses are tried, counted in the order in which they are tried.
  Shard shard = {};
  /// How many hypotheses are tried at most, by all shards together: as many as take as long as about so many products a b. A
  /// search that finds nothing takes some seconds then.
  double most_products = 1e10;
  /// How many sums are listed, of those that explain D and of the nearest.
  std::size_t most_found = 8;
  ExecuteOptions execute = {};
  /// Called from the searching thread from time to time: hypotheses that were tried, and how many there are at the levels of
  /// plausibility that were begun.
  std::function<void(std::uint64_t tried, std::uint64_t of)> progress = {};
};

/// Another description of a sum.
struct SameSum {
  std::string form;
  SumOrder order;
};

/// A description, and how it fits: the likely one of all that are tried and give the same bits for any data of these sizes.
struct FoundOrder {
  Instruction instruction;
  SumOrder order;
  std::uint64_t equal = 0,
                elements = 0;  ///< elements of D that come out bit for bit, of those that were compared
  std::optional<ResultElement> first_wrong = {};  ///< with the code that D has
  std::uint64_t computed = 0;                     ///< and the one that the description gives
  std::size_t left_out = 0;                       ///< values at the end of K that the description does not sum
  std::uint64_t number = 0;        ///< of the first such hypothesis, in the order in which they are tried
  std::uint64_t sum = 0;           ///< equal for descriptions with the same additions and roundings
  std::vector<SameSum> same = {};  ///< the others, as far as they were tried
  bool explains() const { return equal == elements; }
};

/// What a share of a search knows beside its own answer; merge_orders makes the answer of the whole of all.
struct OrderShare {
  /// A description, by how many elements of the first group looked at it was chosen, and of all groups. Some were not compared
  /// with all of D, as they cannot be among the nearest.
  struct Near {
    FoundOrder order;
    std::uint64_t first_equal = 0, looked_equal = 0;
  };
  /// A description that explains D as another one does, by its sum.
  struct Explaining {
    Instruction instruction;
    SumOrder order;
    std::uint64_t sum = 0, number = 0;
  };
  std::vector<std::uint64_t> tried;  ///< at each level of plausibility that was begun
  bool is_limited = false;           ///< the last one was left: most_products
  bool has_more = false;             ///< sums beyond most_found
  bool is_narrowed = false;          ///< only orders with the known words were tried
  std::uint64_t most_found = 0;      ///< as asked
  std::vector<Near> near;            ///< where nothing was found
  std::vector<Explaining> explaining;
};

/// Whether K was split into runs with accumulators of their own.
enum class SplitAnswer : std::uint8_t {
  no,
  yes,
  unknown,  ///< nothing explains D, or these data or no data tell it from another sum
};

/// The outcome.
struct OrderSearch {
  /// The sums that give all elements, the most plausible first. Other data may tell them apart, these do not.
  std::vector<FoundOrder> found;
  /// If there are none: those that give most of the elements that were looked at.
  std::vector<FoundOrder> nearest;
  std::uint64_t tried = 0;  ///< hypotheses
  /// All that are as plausible as the first one found were tried, or all that there are, and all that explain D are listed.
  bool complete = false;
  /// The instruction's arithmetic was not verified on hardware.
  bool inferred = false;
  /// Only orders with the known words were tried (FindOrderOptions::known).
  bool narrowed = false;
  /// For merge_orders.
  OrderShare share = {};

  /// Whether the answer is split-K, as the likely descriptions have it; unknown where the search was narrowed. Sums of promotions, as products of FP8 have them, are
  /// not told from those of as many runs, if there are few.
  SplitAnswer split_k() const;
  /// What was found, for a person, in lines.
  std::string text() const;
};

/// The instructions that make such products on a target, the most usual first: A and B of these formats, accumulators of
/// single precision first; then chains of FMA, as CUDA cores and other processors have them (a b + c,
/// rounded once). Errors: usage for formats of which there are none.
Result<std::vector<Instruction>> instructions_of_products(std::string_view a, std::string_view b,
                                                          Target target);

/// The store (SumOrder::store) that items of D of so many bytes tell, where sums are of single precision: NumPy's kind 'f' with
/// two bytes is half precision; 'u' and 'i' are codes, of the operands' format if that has two bytes, too, and else of the one that
/// NumPy has no type for. Empty: the order says it, or there is none but the sum's format.
Result<std::string> store_of_items(const Instruction& instruction, const SumOrder& known, char kind,
                                   std::size_t bytes);

/// Searches the order in which a product was summed: the instruction and its depth, split-K in equal and unequal runs,
/// sliced K, residues first, promotions, values that are left out, how sums of runs are merged, and how
/// operands were rounded; of chains of FMA also threads that share a sum, and blocks of K of libraries for processors; the
/// simple ones first, split-K among them. A hypothesis is tried on a few elements, chosen where hypotheses differ, and those left
/// on all. The outcome depends on nothing else than the arguments. Errors: usage without instructions, view_mismatch
/// for a product that gemm() refuses, or without elements of D.
Result<OrderSearch> find_order(std::span<const Instruction> instructions, const FoundProduct& product,
                               const FindOrderOptions& options = {});

/// The answer to the whole question, from those of all of its shards (FindOrderOptions::shard) in any order: the same as
/// without shards. Errors: usage if there are none, or if they are of other questions.
Result<OrderSearch> merge_orders(std::span<const OrderSearch> shares);

/// "yes", "no", "cannot be told".
std::string_view name(SplitAnswer answer);

// ---- By the names of kernels
//
// In which order the kernels of cuBLAS sum: from what a profiler shows of them.

/// What the GPU executed, as a profiler shows it: a kernel's name without its parameters or with them, and its grid.
struct NamedLaunch {
  std::string name;
  std::array<std::size_t, 3> grid = {1, 1, 1};
};

/// A product of matrices that a library computed: D = alpha A B + beta C, rows x columns, row-major as PyTorch has it.
struct NamedProduct {
  /// Names of formats; of A and B those that the instruction has.
  std::string a, b, d;
  std::size_t rows = 0, columns = 0, depth = 0;
  std::size_t batch = 1;  ///< products of one call
  bool has_c = false;
  float alpha = 1, beta = 1;
  bool has_scales = false;            ///< A and B have scale factors
  std::vector<NamedLaunch> launches;  ///< in order; copies and settings of memory may be among them
};

/// How such a product comes about: by this instruction, in this order.
struct KernelOrder {
  std::string form;  ///< as Instruction::parse reads it
  SumOrder order;
};

/// The order that the names and grids of the kernels tell: those of cuBLAS 13 for compute capability 9.0, as far as
/// recordings show them (golden/products/), with tensor cores and without. Errors: usage, for a name that is not known, a depth
/// that no recording has, or an order that depends on the place in D.
Result<KernelOrder> kernel_order(const NamedProduct& product);

}  // namespace warpbit
#pragma GCC visibility pop
