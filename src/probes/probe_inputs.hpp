// SPDX-License-Identifier: Apache-2.0
// Inputs of single dot products: sums of a few powers of two, at the limits of a plan.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernel/tile.hpp"

namespace warpbit {

/// The codes of one element of D, and their description, e.g. "2^0 @0, -2^0 @1, 2^-25 @C": at k 0 and 1, and
/// C.
struct ProbeInputs : ElementInputs {
  std::string text;
};

/// Receives inputs and the number of their arrangement, in ascending order; inputs with the same number have
/// their addends in the same places. Returns false to stop.
using ProbeVisit = std::function<bool(const ProbeInputs&, int arrangement)>;

/// Calls visit for all inputs, the simplest first. They depend only on the tile's plan, formats and numbers
/// of products and blocks.
void for_each_probe_input(const Tile& tile, const ProbeVisit& visit);

}  // namespace warpbit
