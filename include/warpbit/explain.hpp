// SPDX-License-Identifier: Apache-2.0
// How an element of D = A B + C is computed: its addends, the bits that the hardware cuts from each, every
// rounding, and the distance of the result from the exact one (src/target/NUMERICS.md, "The node").
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/execute.hpp"
#include "warpbit/fragment.hpp"
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

/// One element of D, by one instruction or by a chain of them (Computation, warpbit/compare.hpp).
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

}  // namespace warpbit
#pragma GCC visibility pop
