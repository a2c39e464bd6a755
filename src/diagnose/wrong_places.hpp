// SPDX-License-Identifier: Apache-2.0
// Where the wrong elements of D are, or of any array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "diagnose/hypothesis.hpp"
#include "warpbit/diagnose.hpp"

namespace warpbit::diagnosis {

enum class Compared : std::uint8_t { left_out, right, wrong };

// An index of an element, by its number among all.
struct IndexOfElement {
  std::string name;
  int size;
  std::function<int(std::size_t)> of;
};

// Which values of the indices have wrong elements, of those that count.
WrongPlaces places_of(const std::vector<IndexOfElement>& indices, const std::vector<Compared>& elements,
                      const std::function<bool(std::size_t)>& counts);

// `elements`: of each slot of D in each case. All wrong elements, or those of each of a few tiles, where that says more.
std::vector<WrongPlaces> wrong_places(const Problem& problem, const Fragment& d,
                                      const std::vector<Compared>& elements);

}  // namespace warpbit::diagnosis
