// SPDX-License-Identifier: Apache-2.0
// Sums over ranks: in which order did an all-reduce add what each GPU has? The question of warpbit/reduction.hpp for NCCL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/gemm.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A rank and those that send it their sums, which it adds to its own value in their order. Each sum is rounded to the type.
///
///     0(3(2(1)))     a chain: 1 sends its value to 2, which adds its own, and so on: ((1+2)+3)+0
///     0(2(1,3))      a tree: 2 adds what 1 and 3 have, and sends it to 0: ((1+2)+3)+0
///
/// A mean is a sum of values times 1 / n, which is rounded to the type: a rank multiplies its own value and adds what it receives
/// first in one step, rounded once (fma).
struct RankTree {
  int rank = 0;
  std::vector<RankTree> from = {};

  /// As above: "0(2(1,3))".
  std::string text() const;
  /// As a sum: "((1+2)+3)+0".
  std::string sum() const;
  friend bool operator==(const RankTree&, const RankTree&) = default;
};

/// How an array is added: range after range of its values, each by a tree.
struct AllReduceOrder {
  std::vector<int> ring = {};        ///< ranks, each of which sends to the next: range k is added by the chain
                                     ///< that ends at the k-th of them; empty: `trees`
  std::vector<RankTree> trees = {};  ///< of the ranges, by turns
  std::vector<std::size_t> sizes = {};  ///< how many values a range has, by turns; empty: one range has all

  /// The tree of a range. Precondition: there is a ring or a tree.
  RankTree tree(std::size_t range) const;
  /// Words as in "ring=0,1,2,3 sizes=4096" or "trees=0(2(1,3)),3(1(2,0)) sizes=16384".
  std::string text() const;
  /// From words. Errors: usage, with those that there are, and for ranks that are missing or there twice.
  static Result<AllReduceOrder> parse(std::string_view words);
  friend bool operator==(const AllReduceOrder&, const AllReduceOrder&) = default;
};

/// The words of an order.
std::span<const SumOrderWord> all_reduce_words();

/// What ranks have, and what an all-reduce made of it, as codes of one format: "f16", "bf16", "f32" or "f64".
struct AllReduceProblem {
  std::size_t ranks = 0, values = 0;  ///< ranks: at most 1024
  std::string format = "f32";
  bool is_mean = false;                   ///< instead of the sum
  std::span<const std::uint64_t> x = {};  ///< rank by rank
  std::span<const std::uint64_t> d = {};  ///< `values`
};

/// "all_reduce" and "all_reduce_mean": whether it is the mean; nothing: it is no all-reduce.
std::optional<bool> is_all_reduce_mean(std::string_view name);

/// D by an order. Errors: usage, for formats, sizes and orders that do not fit.
Result<std::vector<std::uint64_t>> all_reduce(const AllReduceProblem& problem, const AllReduceOrder& order);

/// An order that explains D: of all that do, the one with the fewest ranges.
struct AllReduceSearch {
  /// Elements that follow one another and have one order.
  struct Range {
    std::size_t first, count;
    std::size_t others;  ///< sums that were tried and explain the range as well: these data cannot tell
  };
  std::string name =
      {};  ///< "ring 0 1 2 3", "tree" (NCCL's), "other", "any" of two ranks; empty: nothing explains D
  AllReduceOrder order = {};          ///< of which this is one
  std::vector<Range> ranges = {};     ///< where one ends and the next begins is as round as these data leave it
  std::size_t ranks = 0, values = 0;  ///< of the problem
  std::size_t explained = 0;          ///< from the first value on, if nothing explains all
  std::size_t tried = 0;              ///< sums
  bool complete = true;               ///< all that there are; false beyond six ranks: rings and NCCL's trees

  /// For people: what it is, the first ranges, and the words.
  std::string text() const;
};

/// Finds it. Errors: usage, for formats and sizes that do not fit.
Result<AllReduceSearch> find_all_reduce_order(const AllReduceProblem& problem);

}  // namespace warpbit
#pragma GCC visibility pop
