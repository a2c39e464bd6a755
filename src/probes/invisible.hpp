// SPDX-License-Identifier: Apache-2.0
// Proofs, from the exponents of formats, that two plans return the same for all inputs.
#pragma once

#include <optional>
#include <string>

#include "probes/neighbour.hpp"

namespace warpbit {

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
