// SPDX-License-Identifier: Apache-2.0
// Alternative arithmetics of a GPU: plans that differ from a given one in a single parameter.
#pragma once

#include <cstddef>
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
/// by any result (probes/invisible.hpp).
std::vector<Neighbour> neighbours(const Plan& plan, std::size_t terms);

}  // namespace warpbit
