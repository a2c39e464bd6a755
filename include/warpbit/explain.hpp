// SPDX-License-Identifier: Apache-2.0
// How an element of D = A B + C is computed: its addends, the bits that the hardware cuts from each, every
// rounding, and the distance of the result from the exact one (src/target/NUMERICS.md, "The node").
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/gemm.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A number, exactly: (-1)^negative * bits * 2^exponent.
struct ExactNumber {
  enum class Kind : std::uint8_t { finite, infinity, nan };
  Kind kind = Kind::finite;
  bool negative = false;
  std::string bits;  ///< 0 and 1, the highest first; begins and ends with 1; empty for zero
  int exponent = 0;  ///< of the last bit

  friend bool operator==(const ExactNumber&, const ExactNumber&) = default;
  bool is_zero() const { return kind == Kind::finite && bits.empty(); }
  /// All digits, "-0.0625"; with an exponent of ten if there are more than 60; "inf", "-inf", "nan".
  std::string decimal() const;
  /// "-1/16", "-1/2^40", "3 x 2^70"; integers up to 2^63 in full.
  std::string ratio() const;
};

/// A group of products that are added exactly and then scaled.
struct ScaledGroup {
  ExactNumber sum;               ///< of the products, before they are scaled
  ExactNumber a_scale, b_scale;  ///< the scale factors of the group

  friend bool operator==(const ScaledGroup&, const ScaledGroup&) = default;
};

/// An addend of a sum.
struct ExplainedAddend {
  std::string name;  ///< "c", "sum 2", "a[3] b[3]", "a[0..15] b[0..15]"; "zero" at the start of a run
  ExactNumber value;
  ExactNumber kept;                       ///< what the cut leaves of it; the value itself if nothing is cut
  bool sets_e;                            ///< its exponent is E
  std::optional<ScaledGroup> group = {};  ///< if it is one
};

/// One sum, rounded once.
struct ExplainedSum {
  std::string name;  ///< "sum 1"
  std::string step;  ///< the step of the plan, as in Instruction::plan()
  /// The instruction in a chain, from 1; 0 for the addition of one run's sum to those of the runs before.
  std::size_t instruction = 1;
  /// The sum so far contains C and the products of all k below this one; absent if it is another selection.
  std::optional<std::size_t> after;
  std::vector<ExplainedAddend> addends;
  /// Addends are cut toward zero to multiples of 2^(e - f). Absent if nothing is cut, or if a NaN or Inf
  /// decides the result.
  struct Window {
    int e, f;
  };
  std::optional<Window> window;
  ExactNumber total;        ///< the sum of the kept parts; zero if a NaN or Inf decides
  std::string_view format;  ///< of the result
  std::uint64_t code = 0;
  ExactNumber result;
};

/// One element of D, by one instruction or by a chain of them (Computation, warpbit/explain.hpp).
struct Explanation {
  std::string name;  ///< the target, or a label that distinguishes it from the others compared
  std::string form, target, plan;
  std::size_t instructions = 1;
  bool inferred = false;  ///< Instruction::inferred()
  /// Properties of this element that no result of that GPU shows, although others show its arithmetic: "the
  /// floor of E", "a sum below the normal range", "a NaN or Inf", "the sign of a zero".
  std::vector<std::string> assumed;
  std::string note;  ///< note(instruction)
  std::vector<ExplainedSum> sums;
  std::string_view format;  ///< of D
  std::uint64_t code = 0;   ///< the result of the instruction
  ExactNumber result;
  std::optional<std::uint64_t> recorded;  ///< the capture's value of this element

  ExactNumber exact;  ///< the sum of C and all products without any rounding
  /// The code nearest to the exact sum, ties to even, and the result's distance from that sum in units in the
  /// last place. Absent for integers, and if one of the numbers is infinite or NaN.
  std::optional<std::uint64_t> nearest;
  std::optional<ExactNumber> ulps;
};

/// Explains one element (execute_element). Errors: those of execute_element.
Result<Explanation> explain_element(const Instruction& instruction, const ElementCodes& element,
                                    const ExecuteOptions& options = {});

/// Explains element `at` of D in case `index` of a capture, on its target or that of the options. In the
/// layout `elements` each case has only one element. Errors: those of replay; usage if the case or element
/// does not exist.
Result<Explanation> explain_capture(const std::filesystem::path& path, std::uint64_t index, Coordinate at,
                                    const ReplayOptions& options = {});

/// A label for unmeasured arithmetic: "inferred: no result of that GPU", or "inferred: the floor of E". Empty
/// if results of that GPU show all of it.
std::string mark(const Explanation& explanation);
/// The same for all elements of an instruction: "inferred: floor (published models; no result reaches the
/// floor)".
std::string mark(const Instruction& instruction);

/// What a result of this instruction would not tell about matrix products on its target: which other form these use
/// there, and how that differs; or what the bits do that lie beside elements in their bytes (src/target/NUMERICS.md). Empty if
/// nothing is known.
std::string note(const Instruction& instruction);
/// The form that these use instead, on its target; nothing if the note speaks of none.
std::optional<Instruction> used_by_products(const Instruction& instruction);

/// Text for a person: the addends as aligned bits, in lines of at most `columns` (at least 60).
std::string text(const Explanation& explanation, int columns);
/// The same as a picture, an XML document in UTF-8.
std::string svg(const Explanation& explanation);
/// Several below each other in one picture, such as one sum on two GPUs.
std::string svg(std::span<const Explanation> explanations);
/// Writes that picture; the file is complete or untouched. Errors: file_unwritable.
Result<void> write_svg(const std::filesystem::path& path, std::span<const Explanation> explanations);
/// The same as a JSON object; numbers as decimals, codes as hexadecimals.
std::string json(const Explanation& explanation);

// ---- Comparing
//
// The same operands on several targets, by several forms or in several orders of K: where the results differ,
// by how much, and why (src/target/NUMERICS.md, "The node").

/// How an element of D is computed over a K of any depth: by a chain of instructions, where D of one step is
/// C of the next, as in gemm (warpbit/gemm.hpp). A K that one instruction covers needs no chain. Any
/// D = A B + C instruction can form a chain if C has the format of D, its blocks are not scaled and scale-d
/// is not 0.
struct Computation {
  Instruction instruction;
  /// How its steps are summed along K, as of gemm(); with a sparse A only stored elements count. D has the format of the
  /// instruction, and C is where the accumulators start: orders with c=last, alpha, scales=last, rounded operands or another format of D are refused.
  SumOrder order = {};
};

/// The computation over this K with an order given in words (SumOrder::parse): "descending split_k=2", "promote=128".
/// Errors: usage; view_mismatch if the order does not fit the depth, or is none of those above.
Result<Computation> computation(const Instruction& instruction, std::string_view order, std::size_t depth);
/// The order in words, of steps one by one the first ones.
std::string order_text(const Computation& computation);
/// The shortest label that distinguishes each computation: differing qualifiers of the form (or the ones that
/// only it lacks: "no satfinite"), the order of K, the target. If nothing differs, the target.
std::vector<std::string> distinct_names(std::span<const Computation> computations);

/// Explains one element: the sums of all instructions. K is the length of the row of A, rounded up to whole
/// instructions. Errors: those of execute_element; view_mismatch if the K needs several instructions and the
/// instruction cannot form a chain.
Result<Explanation> explain_element(const Computation& computation, const ElementCodes& element);

/// Why two explanations of the same element have different results: on each side the cut or rounding with the
/// largest loss that the other side does not share. Empty if their codes are equal.
std::string difference(const Explanation& x, const Explanation& y);

/// Distance between two codes of a floating-point format, in codes: 1 for neighbours, 0 for +0 and -0.
/// Nothing if one is a NaN, or if the format (a name of Operand::format) is an integer format.
std::optional<std::uint64_t> codes_between(std::string_view format, std::uint64_t x, std::uint64_t y);

// Compared computations have the same formats of A, B, C and D, and the same form if blocks are scaled. Their
// K is rounded up to a multiple of the deepest instruction's; elements beyond the given ones are +0.

/// One element by several computations.
struct ElementComparison {
  std::vector<Explanation> explanations;  ///< named by distinct_names()
  std::vector<std::string> reasons;       ///< difference() from the first
};
/// Text for a person: the arithmetic of each computation, the exact sum, the code nearest to it and the
/// reasons. Lines are broken at `columns` (at least 20) where possible. Precondition: there is an
/// explanation.
std::string text(const ElementComparison& comparison, int columns);
/// Errors: those of explain_element; view_mismatch for differing formats. Precondition: there is a
/// computation.
Result<ElementComparison> compare_element(std::span<const Computation> computations,
                                          const ElementCodes& element);

/// Results of one computation against those of the first, and against the exact sums of C and all products.
///
/// The error of an element is its result minus the exact sum, in ulp: units of 2^(max(e, emin) - p), where e is
/// the exponent of the exact sum (2^e <= |sum| < 2^(e+1)), and emin and p are the minimum exponent and the
/// fraction bits of D's format. It is computed exactly, and only then rounded to the nearest double (Inf from
/// 2^1024 on). Elements of integers have none.
struct ComparedResults {
  std::uint64_t differing = 0;          ///< elements whose bits are not the same
  std::uint64_t most_codes = 0;         ///< the largest of codes_between
  std::uint64_t correctly_rounded = 0;  ///< the result is the number nearest to the exact sum, ties to even
  std::uint64_t special = 0;            ///< without an error: a NaN or Inf among the inputs
  std::uint64_t overflowed = 0;         ///< without an error: any other element whose result is Inf or NaN
  std::vector<double> errors = {};      ///< of all other elements, in ascending order
};
/// All elements of many cases, by several computations.
struct Comparison {
  std::uint64_t cases = 0, elements = 0;
  std::vector<ComparedResults> results;  ///< by computation; the first differs nowhere from itself
  /// The first element that is not the same everywhere.
  struct First {
    std::uint64_t index;  ///< the case
    Coordinate at;        ///< of D
    ElementComparison comparison;
    ElementInputs inputs = {};  ///< what it is computed from
  };
  std::optional<First> first;
  std::vector<std::string> names = {};  ///< of the computations: distinct_names()
  std::string_view format = {};         ///< of D
  std::size_t depth = 0;                ///< K
};
/// What the errors of a computation are like; all zero if there are none.
struct ErrorStatistics {
  std::uint64_t elements = 0;  ///< that have an error
  double bias = 0;             ///< the mean of the errors
  double deviation = 0;        ///< their standard deviation
  double mean = 0;             ///< of the magnitudes, as the rest
  /// The smallest magnitude that 50, 90, 99 and 99.9 percent of the elements do not exceed, and the largest.
  double p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;

  friend bool operator==(const ErrorStatistics&, const ErrorStatistics&) = default;
};
ErrorStatistics statistics(const ComparedResults& results);

/// Elements whose errors have a magnitude above `above` and at most `up_to` ulp; the first bin has those without
/// an error: both are 0.
struct ErrorBin {
  double above = 0, up_to = 0;
  std::vector<std::uint64_t> counts = {};  ///< by computation

  friend bool operator==(const ErrorBin&, const ErrorBin&) = default;
};
/// Bins from 0 on, whose upper limits are powers of two from 1/8 to 2^40, and then Inf; the last holds the
/// largest error. Empty if there are no errors.
std::vector<ErrorBin> histogram(const Comparison& comparison);
/// What the unit of an error is, in a sentence.
std::string error_definition(std::string_view format);
/// Statistics and histogram for a person, in lines of `columns` (at least 40) where possible. Empty if there are
/// no errors.
std::string statistics_text(const Comparison& comparison, int columns);

/// Compares on the inputs of a capture of D = A B + C. K is that of its instruction, or of a deeper one among
/// the computations. Errors: those of replay and of compare_element; view_mismatch for any other instruction.
/// Precondition: there is a computation.
Result<Comparison> compare_capture(const std::filesystem::path& path, std::span<const Computation> computations,
                                   const ReplayOptions& options = {});
/// Compares on cases [0, cases) of generated inputs. The deepest instruction determines the inputs and the
/// size of D. If `depth` spans several of these instructions (0: one), the factors come from consecutive
/// seeds, starting with that of the choice; C comes from the first. A shard covers consecutive cases, evenly
/// divided (Shard::range); its results use the case numbers of the whole. `progress`, if given, is called after each case,
/// from one thread at a time, with the cases that are done; it must not throw. Errors: those of generated_capture and of
/// compare_element; view_mismatch if an instruction is not D = A B + C. Preconditions: there is a
/// computation; 1 <= shard.number <= shard.count.
Result<Comparison> compare_generated(std::span<const Computation> computations, const InputChoice& choice,
                                     std::uint64_t cases, std::size_t depth = 0, Shard shard = {},
                                     const std::function<void(std::uint64_t done)>& progress = {});
/// The result for all cases, merged from the shards in any order. Errors: usage if there are none, or if
/// their numbers of computations differ.
Result<Comparison> merge(std::span<const Comparison> shares);

/// Inputs that distinguish two computations. They are minimised: each element was replaced by zero, 1, a
/// power of two or a shorter fraction wherever the results still differed.
struct FoundDifference {
  ElementInputs inputs;
  ElementComparison comparison;
};
/// The outcome of such a search.
struct DifferenceSearch {
  std::optional<FoundDifference> found;
  /// True if provably no input distinguishes them: both compute every element by the same additions and
  /// roundings, or by integer sums whose order does not matter. False proves nothing.
  bool equal_steps = false;
  std::uint64_t tried = 0;  ///< elements
};
/// Searches over a K of this depth; 0: that of the deeper instruction. Errors: those of generated_capture and
/// of compare_element; view_mismatch if an instruction is not D = A B + C.
Result<DifferenceSearch> find_difference(const Computation& x, const Computation& y, std::size_t depth = 0);

}  // namespace warpbit
#pragma GCC visibility pop
