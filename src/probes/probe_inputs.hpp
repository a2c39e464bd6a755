// SPDX-License-Identifier: Apache-2.0
// Inputs of single dot products in which little happens, and that at the limits of a plan: sums of a few powers
// of two.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernel/tile.hpp"

namespace warpbit {

/// The codes of one element of D, and what they are, e.g. "2^0 @0, -2^0 @1, 2^-25 @C": at k 0 and 1, and C.
struct ProbeInputs : ElementInputs {
  std::string text;
};

/// Takes inputs and the number of their arrangement, in ascending order: those of one number have their addends
/// in the same places. Returns false when nothing more is wanted.
using ProbeVisit = std::function<bool(const ProbeInputs&, int arrangement)>;

/// Calls visit for all inputs, the simplest first. Only the plan, formats and numbers of products and blocks of
/// the tile count.
void for_each_probe_input(const Tile& tile, const ProbeVisit& visit);

}  // namespace warpbit
