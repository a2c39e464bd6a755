// SPDX-License-Identifier: Apache-2.0
// What orders of a sum cost in accuracy, on which GPU, and how that grows with K: the errors of several computations over several
// K, as data, as a table and as a plot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "warpbit/explain.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A computation of a study in words.
struct StudiedComputation {
  /// Target and order, as far as they are not the same in all; the distinct_names() where forms differ beside them.
  std::string name;
  std::string form, target, order, plan;
  std::string mark;  ///< mark(instruction): what of it no result of that GPU shows; empty if nothing

  friend bool operator==(const StudiedComputation&, const StudiedComputation&) = default;
};

/// The same computations over several K.
struct DepthStudy {
  std::vector<StudiedComputation> computations;
  std::vector<Comparison> comparisons;  ///< by K, which ascends (Comparison::depth)
};

/// What compare_generated gives for each K. The inputs of a K are the first ones of a larger K: they are generated once, and the exact
/// sums go on from one K to the next. Errors: those of compare_generated; usage without a K, and for K that do not ascend once
/// they are rounded up to whole instructions. With `zero_c` all C are +0, as of most products: else they are numbers of the
/// profile with all their bits, which an order may keep or cut. Preconditions: those of compare_generated.
Result<DepthStudy> compare_depths(std::span<const Computation> computations, const InputChoice& choice,
                                  std::uint64_t cases, std::span<const std::size_t> depths, Shard shard = {},
                                  bool zero_c = false,
                                  const std::function<void(std::uint64_t done)>& progress = {});

/// A study of comparisons that are there already. Precondition: they are of these computations, by ascending K.
DepthStudy study_of(std::span<const Computation> computations, std::vector<Comparison> comparisons);

/// Each form on each target once, with its arithmetic, and what of it no result of that GPU shows.
std::vector<std::string> forms_of(const DepthStudy& study);

/// Text for a person, in lines of `columns` (at least 60) where possible: a row for each K and computation, and behind them the forms,
/// with what of them was not measured. Integers have no errors, and a table of what differs from the first.
std::string text(const DepthStudy& study, int columns);

/// A picture, an XML document in UTF-8, for light and dark backgrounds: the median and the 99th percentile of the magnitudes of errors
/// against K, as lines; as bars where there is one K. What rests on a model is dashed, and said. Errors: view_mismatch
/// where there are none, as of integers.
Result<std::string> svg(const DepthStudy& study);
/// Writes that picture; the file is complete or untouched. Errors: those of svg; file_unwritable.
Result<void> write_svg(const std::filesystem::path& path, const DepthStudy& study);

}  // namespace warpbit
#pragma GCC visibility pop
