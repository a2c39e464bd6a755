// SPDX-License-Identifier: Apache-2.0
// Where the wrong elements of D are.
#pragma once

#include <cstdint>
#include <vector>

#include "diagnose/hypothesis.hpp"
#include "warpbit/diagnose.hpp"

namespace warpbit::diagnosis {

enum class Compared : std::uint8_t { left_out, right, wrong };

// `elements`: of each slot of D in each case. All wrong elements, or those of each of a few tiles, where that says more.
std::vector<WrongPlaces> wrong_places(const Problem& problem, const Fragment& d,
                                      const std::vector<Compared>& elements);

}  // namespace warpbit::diagnosis
