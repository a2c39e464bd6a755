// SPDX-License-Identifier: Apache-2.0
// Orders of the sum along K, and values of K that are left out, as explanations of a D.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/product.hpp"
#include "warpbit/diagnose.hpp"

namespace warpbit::diagnosis {

/// What find_order found for a diagnosis.
struct OrderFindings {
  std::vector<Finding> all;  ///< each explains all of D
  std::uint64_t tried = 0;
  bool inferred = false;
};

/// Searches the order, unless D is farther from the product than roundings take it and no end of K that is left out
/// explains that. `right` elements of D are those of the plain chain. Errors: those of find_order.
Result<OrderFindings> find_orders(const Instruction& instruction, const Gemm& product, const Matrices& matrices,
                                  std::uint64_t right, const DiagnoseOptions& options);

/// The kinds of these findings.
inline constexpr std::string_view kOrderKind = "k_order", kLeftOutKind = "values_left_out";

}  // namespace warpbit::diagnosis
