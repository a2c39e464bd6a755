// SPDX-License-Identifier: Apache-2.0
// What warpbit compare prints.
#pragma once

#include <string>
#include <vector>

#include "warpbit/explain.hpp"
#include "warpbit/study.hpp"

namespace warpbit::cli {

// ---- For a person

/// A sentence in the width of the output.
void print_wrapped(const std::string& sentence);
/// Where a form is not what the GPU's matrix products use.
void print_notes(const std::vector<Computation>& computations);
/// What was not measured, where no single element says so.
void print_marks(const std::vector<Computation>& computations);
/// One element; `show`: with its explanations.
void print_element(const ElementComparison& comparison, bool show);
/// All elements over one K: statistics, histogram and the first difference.
void print_comparison(const Comparison& comparison, const std::vector<Computation>& computations, bool show);
/// Over several K: a row for each of them and each computation.
void print_study(const DepthStudy& study, const std::vector<Computation>& computations);

// ---- For programs

void print_json(const ElementComparison& comparison, const std::vector<Computation>& computations);
/// Statistics, histogram and the first difference, of several K in an array.
void print_json(const DepthStudy& study, const std::vector<Computation>& computations);
/// The statistics alone, a row for each K and computation.
void print_csv(const DepthStudy& study, const std::vector<Computation>& computations);
void print_json(const DifferenceSearch& search, const std::vector<Computation>& computations);

}  // namespace warpbit::cli
