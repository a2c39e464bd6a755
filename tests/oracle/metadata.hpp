// SPDX-License-Identifier: Apache-2.0
// The metadata of mma.sp: which nibble a lane holds, and what it says.
#pragma once

#include <optional>

#include "oracle.hpp"

namespace oracle {

struct Nibble {
  int row, group;
};

// A group: `width` elements of a row, of which `width` / 2 exist.
int group_width(std::string_view a);

// The nibble in bits 4 `i` to 4 `i` + 3 of the lane's metadata register; nothing where the selector leaves the
// lane out. Throws std::invalid_argument for a problem without metadata.
std::optional<Nibble> held_nibble(const Problem&, int selector, int lane, int i);

// Selectors: 0 to this - 1.
int selector_count(const Problem&);

// The logical k of product `term` of a row, given the nibble of its group. Throws std::invalid_argument for a
// tf32 nibble whose effect is not known.
int logical_k(std::string_view a, int term, unsigned nibble);

}  // namespace oracle
