// SPDX-License-Identifier: Apache-2.0
// Sums of one array: in which order did a GPU add? The same question as find_order() has for products, for the kernels that make
// models differ: sums, means, norms and softmax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/gemm.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// What is computed of each row x of n values.
enum class Reduction : std::uint8_t {
  sum,          ///< the sum of x
  mean,         ///< sum / n
  norm,         ///< the square root of the sum of x^2
  softmax,      ///< e / (sum of e), where e = exp(x - the greatest x): n values
  layer_norm,   ///< (x - mean) / sqrt(variance + epsilon), by Welford's sums as PyTorch has them: n values
  rms_norm,     ///< x / sqrt((sum of x^2) / n + epsilon): n values
  logsumexp,    ///< the greatest x + log(sum of e)
  log_softmax,  ///< (x - the greatest x) - log(sum of e): n values
  cumsum,       ///< the sums of x[0] to x[i], for each i: n values
  attention,    ///< (sum of e v) / (sum of e), of each column of a matrix v
};
/// The one of that name. Errors: usage.
Result<Reduction> find_reduction(std::string_view name);
/// Its name: "rms_norm".
std::string_view name(Reduction reduction);
/// Whether its D has as many values as x, instead of one for each row.
bool leaves_values(Reduction reduction);

/// How the sums of two and more threads or blocks are added.
enum class Together : std::uint8_t {
  ascending,  ///< ((0+1)+2)+3
  pairs,      ///< (0+1)+(2+3): neighbours first
  halves,  ///< (0+2)+(1+3): each with the one a power of two further on, half of their number rounded up to one
};

/// The order of a sum, from the values to one: blocks, of each a loop, its threads, their values, and the way back.
///
///     blocks=2 threads=4 vector=2          value    0 1  2 3  4 5  6 7  8 9 ...
///                                          thread    0    1    2    3    0  ...    of block 0, then of block 1
///
/// Values that are missing, at the end of a row, are left out; accumulators begin with 0.
struct ReductionOrder {
  /// How values are dealt to blocks.
  enum class Spread : std::uint8_t {
    up,     ///< consecutive runs of n / blocks, rounded up
    turns,  ///< a step of each block by turns, as in loops with a stride of the grid
  };
  /// What a thread adds its values to.
  enum class Accumulators : std::uint8_t {
    one,         ///< one accumulator, value by value
    each,        ///< one for each value of a step, added in the end, ascending
    each_pairs,  ///< the same, added in pairs
    step,        ///< the values of a step are added, ascending, then that sum to one accumulator
    step_pairs,  ///< the same, the values of a step in pairs
  };
  int blocks = 1;
  Spread spread = Spread::up;
  int loop =
      0;  ///< so many values are summed to one by the block; these sums are added, ascending. 0: all at once
  int threads = 1;  ///< of a block
  int vector = 1;   ///< consecutive values that a thread takes
  int unroll = 1;   ///< vectors that it takes in a step, which lie `threads` vectors apart
  Accumulators accumulators = Accumulators::one;
  bool shared = false;                      ///< first threads are added in halves, until 32 are left
  Together lanes = Together::halves;        ///< of 32 threads, their sums; never ascending
  Together warps = Together::halves;        ///< of the sums of such 32 threads
  int merge_threads = 0;                    ///< sums of blocks go to so many threads by turns first; 0: to none
  Together merge_order = Together::halves;  ///< of the sums of blocks, or of these threads
  bool fused = false;                       ///< squares are not rounded before they are added: fma
  /// Exponentials are those of x minus the greatest x so far: a block that goes on to the next `loop` values multiplies what it has
  /// by exp(the greatest one before - that of now). Blocks leave their own log(sum of e), and quotients, of which a sum is made in
  /// the same way. Of logsumexp and attention.
  bool online = false;
  int value_lanes =
      0;  ///< of attention: so many of 32 threads share the sum of e v of a column, each adding to it what it
          ///< has first: e0 v0 + (e1 v1), rounded, in one step, and so on
  /// The other words: how a mean is scaled ("reciprocal": by 1 / n, rounded), which exponential function ("expf": CUDA's; "ex2":
  /// ex2.approx of x log2(e), as Triton has it), how softmax and attention divide ("div": rounded, "full": div.full, "reciprocal"),
  /// and "steps", that each step leaves numbers of x's type. Logarithms are CUDA's logf.
  std::string function = {};

  /// Words as in "threads=512 vector=4 accumulators=each"; what no word names is as above.
  std::string text() const;
  /// From words. Errors: usage, with those that there are.
  static Result<ReductionOrder> parse(std::string_view words);
  friend bool operator==(const ReductionOrder&, const ReductionOrder&) = default;
};

/// The words of an order.
std::span<const SumOrderWord> reduction_words();

/// Rows of values and what became of them, as codes of their formats: "f16", "bf16", "f32", "f64". Sums are in f32; of f64, in f64.
struct ReductionProblem {
  Reduction reduction = Reduction::sum;
  std::size_t rows = 0, columns = 0;
  std::string x_format = "f32", d_format = "f32";
  std::span<const std::uint64_t> x = {};  ///< rows times columns
  std::span<const std::uint64_t> d = {};  ///< a code for each row; as many as x has where it leaves values
  double epsilon = 0;                     ///< of layer_norm and rms_norm
  std::string v_format = "f32";
  std::size_t v_columns = 0;              ///< of attention; D has as many for each row
  std::span<const std::uint64_t> v = {};  ///< columns times v_columns
};

/// The codes of rows x columns, column by column.
std::vector<std::uint64_t> transposed(std::span<const std::uint64_t> codes, std::size_t rows,
                                      std::size_t columns);

/// D by an order: codes of d_format. Errors: usage, for formats and sizes that do not fit.
Result<std::vector<std::uint64_t>> reduce(const ReductionProblem& problem, const ReductionOrder& order);

/// Orders that give the same bits for rows of this length, whatever they hold: their sums are the same tree.
struct ReductionClass {
  std::vector<ReductionOrder> orders;  ///< the likely one first
};

/// What is known beforehand of the threads of a block and the blocks that share a row; 0: nothing.
struct ReductionHints {
  int threads = 0, blocks = 0;
};

/// The orders that explain D.
struct ReductionSearch {
  std::vector<ReductionClass> classes = {};  ///< the likely ones first
  std::size_t more_classes = 0;              ///< that are not listed
  std::uint64_t tried = 0;
  bool complete = true;  ///< all orders were tried; false once `most_additions` was reached
  std::size_t rows = 0;  ///< how many rows of D were compared: the fewer, the more orders agree by chance
  std::size_t all_rows =
      0;  ///< how many it has; of large arrays the first ones are compared, about a million values
  /// Of the order that explains most rows where none explains all, and how many that are.
  ReductionOrder nearest = {};
  std::size_t nearest_rows = 0;

  /// For people: a line for each class.
  std::string text() const;
};

/// How much to search.
struct ReductionOptions {
  ReductionHints hints = {};
  double most_additions = 1.5e9;  ///< about so many at most; a few seconds
  std::size_t most_classes = 8;   ///< that are listed
};

/// Finds the orders. Errors: usage, for formats, sizes and hints that do not fit.
Result<ReductionSearch> find_reduction_order(const ReductionProblem& problem,
                                             const ReductionOptions& options = {});

}  // namespace warpbit
#pragma GCC visibility pop
