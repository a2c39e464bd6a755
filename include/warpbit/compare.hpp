// SPDX-License-Identifier: Apache-2.0
// The same operands on several targets, or by several forms: where the results differ, by how much, and why
// (src/target/NUMERICS.md, "The node").
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpbit/digest.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"
#include "warpbit/replay.hpp"
#include "warpbit/result.hpp"

namespace warpbit {

/// Why two explanations of the same element have different results: one sentence about the first sum that is
/// not the same. Empty if their codes are equal.
std::string difference(const Explanation& x, const Explanation& y);

/// Codes between two of a floating-point format, counted from one to the other: 1 for neighbours, 0 for +0 and
/// -0. Nothing if one is a NaN, or if the format (a name of Operand::format) is of integers.
std::optional<std::uint64_t> codes_between(std::string_view format, std::uint64_t x, std::uint64_t y);

/// One element by several instructions.
struct ElementComparison {
  std::vector<Explanation> explanations;
  std::vector<std::string> reasons;  ///< difference() from the first
};
/// For a person: the arithmetic of each, the exact sum, the code nearest to it and the reasons, in lines of at
/// most `columns` (at least 20) where they can be broken. Precondition: it has an explanation.
std::string text(const ElementComparison& comparison, int columns);
/// Errors: those of explain_element. Precondition: there is an instruction.
Result<ElementComparison> compare_element(std::span<const Instruction> instructions,
                                          const ElementSources& element);

/// Results of one instruction against those of the first.
struct ComparedResults {
  std::uint64_t differing = 0;   ///< elements whose bits are not the same
  std::uint64_t most_codes = 0;  ///< the largest of codes_between
};
/// All elements of many cases by several instructions.
struct Comparison {
  std::uint64_t cases = 0, elements = 0;
  std::vector<ComparedResults> results;  ///< by instruction; the first differs nowhere from itself
  /// The first element that is not the same everywhere.
  struct First {
    std::uint64_t index;  ///< the case
    Coordinate at;        ///< of D
    ElementComparison comparison;
  };
  std::optional<First> first;
};
/// The inputs of a capture of D = A B + C on several targets. Errors: those of replay; view_mismatch, if it is
/// something else. Precondition: there is a target.
Result<Comparison> compare_capture(const std::filesystem::path& path, std::span<const Target> targets,
                                   const ReplayOptions& options = {});
/// Cases [0, cases) of generated inputs of a form that all the instructions have. Errors: those of
/// generated_capture; view_mismatch, if it is no D = A B + C. Precondition: there is an instruction.
Result<Comparison> compare_generated(std::span<const Instruction> instructions, const InputChoice& choice,
                                     std::uint64_t cases);

/// What an element is computed from (ElementSources), as values.
struct ElementInputs {
  std::vector<std::uint64_t> a, b;
  std::uint64_t c = 0;
  std::vector<std::uint64_t> a_scale, b_scale;

  ElementSources sources() const { return {a, b, c, a_scale, b_scale}; }
};
/// Inputs that tell two instructions of one form apart: few that are not zero, and simple ones, since each of
/// them was replaced by zero, 1, a power of two or a shorter fraction where the results still differed.
struct FoundDifference {
  ElementInputs inputs;
  ElementComparison comparison;
};
struct DifferenceSearch {
  std::optional<FoundDifference> found;
  bool equal_plans = false;  ///< both compute every element by the same steps: no input can tell them apart
  std::uint64_t tried = 0;   ///< elements
};
/// Errors: those of generated_capture; view_mismatch, if the forms are not the same or no D = A B + C.
Result<DifferenceSearch> find_difference(const Instruction& x, const Instruction& y);

}  // namespace warpbit
