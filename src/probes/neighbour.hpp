// SPDX-License-Identifier: Apache-2.0
// What else a GPU might compute: plans that differ from one in a single parameter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "numeric/plan.hpp"

namespace warpbit {

struct Neighbour {
  std::string_view parameter;  ///< what differs, e.g. "F"
  std::string own, other;      ///< its value here and there, e.g. "25" and "24"
  Plan plan;
  /// If not empty, the plan has product order[k] in the place of product k.
  std::vector<std::size_t> order = {};
};

/// The plans beside `plan`, whose sums have `terms` products: one for each other value of each parameter that
/// its steps have, of numbers those one lower and one higher. Among them are some that no result can tell from
/// it (numeric/invisible.hpp).
std::vector<Neighbour> neighbours(const Plan& plan, std::size_t terms);

}  // namespace warpbit
