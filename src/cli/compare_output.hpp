// SPDX-License-Identifier: Apache-2.0
// What warpbit compare prints: of one element for people, too.
#pragma once

#include <vector>

#include "warpbit/explain.hpp"

namespace warpbit::cli {

/// One element by each computation, for people: the results, the arithmetic, the exact sum.
void print_results(const ElementComparison& comparison);
/// The same as JSON, with explanations.
void print_json(const ElementComparison& comparison, const std::vector<Computation>& computations);
/// All elements of many cases: statistics, histogram and the first difference.
void print_json(const Comparison& comparison, const std::vector<Computation>& computations);
/// The statistics alone, a row for each computation.
void print_csv(const Comparison& comparison, const std::vector<Computation>& computations);
void print_json(const DifferenceSearch& search, const std::vector<Computation>& computations);

}  // namespace warpbit::cli
