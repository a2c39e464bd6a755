// SPDX-License-Identifier: Apache-2.0
// The same operands on several targets, by several forms or in several orders of K: where the results differ,
// by how much, and why (src/target/NUMERICS.md, "The node").
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// How an element of D is computed over a K of any depth: by instructions in a chain, the D of one step being
/// the C of the next, as gemm does it (warpbit/gemm.hpp). A K that one instruction covers is the special case
/// of an instruction alone. Any D = A B + C can be in a chain whose C has the format of D, if its blocks are
/// not scaled and scale-d is not 0.
struct Computation {
  Instruction instruction;
  /// GemmOptions::k_order and GemmOptions::split_k; a step is as deep as Instruction::terms(), so that with a
  /// sparse A the products that exist count.
  std::vector<std::size_t> k_order = {};
  std::size_t split_k = 1;
};

/// The computation over this K in an order in words: "ascending", "descending", the steps one after the other
/// ("1:0:3:2"), "split_k=2", or one of the first three and the last ("descending+split_k=2"). Errors: usage;
/// view_mismatch, for no permutation of the steps or no run.
Result<Computation> computation(const Instruction& instruction, std::string_view k_order, std::size_t depth);
/// The order in these words.
std::string k_order_text(const Computation& computation);
/// What tells each from the others: of the form the words that not all have (or that only it has not: "no
/// satfinite"), the order of K, the target; the target alone, if nothing does.
std::vector<std::string> distinct_names(std::span<const Computation> computations);

/// Explains one element: the sums of all instructions. K is as deep as the row of A, rounded up to whole
/// instructions. Errors: those of execute_element; view_mismatch, for several instructions of one that cannot
/// be in a chain.
Result<Explanation> explain_element(const Computation& computation, const ElementSources& element);

/// Why two explanations of the same element have different results: the cut or rounding by which each side loses
/// most of what the other does not lose as well. Empty if their codes are equal.
std::string difference(const Explanation& x, const Explanation& y);

/// Codes between two of a floating-point format, counted from one to the other: 1 for neighbours, 0 for +0 and
/// -0. Nothing if one is a NaN, or if the format (a name of Operand::format) is of integers.
std::optional<std::uint64_t> codes_between(std::string_view format, std::uint64_t x, std::uint64_t y);

// Computations that are compared have the same formats of A, B, C and D, and the same form if blocks are
// scaled. Their K is rounded up to a whole number of the deepest instruction among them; what is beyond the
// given elements is +0.

/// One element by several computations.
struct ElementComparison {
  std::vector<Explanation> explanations;  ///< named by distinct_names()
  std::vector<std::string> reasons;       ///< difference() from the first
};
/// For a person: the arithmetic of each, the exact sum, the code nearest to it and the reasons, in lines of at
/// most `columns` (at least 20) where they can be broken. Precondition: it has an explanation.
std::string text(const ElementComparison& comparison, int columns);
/// Errors: those of explain_element; view_mismatch, for other formats. Precondition: there is a computation.
Result<ElementComparison> compare_element(std::span<const Computation> computations,
                                          const ElementSources& element);

/// Results of one computation against those of the first.
struct ComparedResults {
  std::uint64_t differing = 0;   ///< elements whose bits are not the same
  std::uint64_t most_codes = 0;  ///< the largest of codes_between
};
/// All elements of many cases by several computations.
struct Comparison {
  std::uint64_t cases = 0, elements = 0;
  std::vector<ComparedResults> results;  ///< by computation; the first differs nowhere from itself
  /// The first element that is not the same everywhere.
  struct First {
    std::uint64_t index;  ///< the case
    Coordinate at;        ///< of D
    ElementComparison comparison;
  };
  std::optional<First> first;
};
/// The inputs of a capture of D = A B + C; K is that of its instruction, or of a deeper one among the
/// computations. Errors: those of replay and of compare_element; view_mismatch, if it is something else.
/// Precondition: there is a computation.
Result<Comparison> compare_capture(const std::filesystem::path& path, std::span<const Computation> computations,
                                   const ReplayOptions& options = {});
/// Cases [0, cases) of generated inputs of the deepest instruction; D is as large as its own. A K of several of
/// these (a `depth` of 0: one) is made of the cases of as many seeds, counted from that of the choice; C is
/// that of the first. Of a shard only its cases: neighbours, as many in each as can be; what it finds is
/// numbered as among all. Errors: those of generated_capture and of compare_element; view_mismatch, if one is
/// no D = A B + C. Preconditions: there is a computation; 1 <= shard.number <= shard.count.
Result<Comparison> compare_generated(std::span<const Computation> computations, const InputChoice& choice,
                                     std::uint64_t cases, std::size_t depth = 0, Shard shard = {});
/// What comparing all cases gives, from the shares of them, in any order. Errors: usage, if there is no share,
/// or if they are not of equally many computations.
Result<Comparison> merge(std::span<const Comparison> shares);

/// What an element is computed from (ElementSources), as values.
struct ElementInputs {
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::vector<std::uint64_t> a_scale, b_scale;

  ElementSources sources() const { return {a, b, c, a_scale, b_scale}; }
};
/// Inputs that tell two computations apart: few that are not zero, and simple ones, since each of them was
/// replaced by zero, 1, a power of two or a shorter fraction where the results still differed.
struct FoundDifference {
  ElementInputs inputs;
  ElementComparison comparison;
};
/// What became of such a search.
struct DifferenceSearch {
  std::optional<FoundDifference> found;
  /// No input can tell them apart: both compute every element by the same additions and roundings, or by
  /// integer sums whose order does not count. False says nothing.
  bool equal_steps = false;
  std::uint64_t tried = 0;  ///< elements
};
/// Over a K of this depth; 0: that of the deeper instruction. Errors: those of generated_capture and of
/// compare_element; view_mismatch, if one is no D = A B + C.
Result<DifferenceSearch> find_difference(const Computation& x, const Computation& y, std::size_t depth = 0);

}  // namespace warpbit
#pragma GCC visibility pop
