// SPDX-License-Identifier: Apache-2.0
// Alternative arithmetics of a GPU: plans that differ from a given one in a single parameter; and proofs, from the
// exponents of formats, that two plans return the same for all inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numeric/plan.hpp"

namespace warpbit {

struct Neighbour {
  std::string_view parameter;  ///< the one that differs, e.g. "F"
  std::string own, other;      ///< its value in the plan and in the neighbour, e.g. "25" and "24"
  Plan plan;
  /// If not empty, product order[k] takes the place of product k.
  std::vector<std::size_t> order = {};
};

/// The neighbours of `plan`, whose sums have `terms` products: one for each other value of each parameter of
/// its steps; for numbers, the next lower and the next higher. Some of them cannot be distinguished from it
/// by any result.
std::vector<Neighbour> neighbours(const Plan& plan, std::size_t terms);

/// The formats of a plan's addends.
struct SumFormats {
  const Format *a, *b, *c;
  const Format *a_scale = nullptr, *b_scale = nullptr;  ///< nullptr: unscaled
  std::size_t terms = 0;                                ///< products per sum
};

/// Why a neighbour of a plan returns the same bits for all inputs; nothing if that is not proved.
std::optional<std::string> why_invisible(const Plan& plan, const Neighbour& neighbour,
                                         const SumFormats& formats);

}  // namespace warpbit
