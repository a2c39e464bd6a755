// SPDX-License-Identifier: Apache-2.0
// The metadata of mma.sp: which nibble a lane holds, and what it says; and the scale factors of .block_scale.
#pragma once

#include <optional>
#include <vector>

#include "oracle.hpp"

namespace oracle {

struct Nibble {
  int row, group;
};

// A group: `width` elements of a row, of which `width` / 2 exist.
int group_width(const Problem&);

// The nibble in bits 4 `i` to 4 `i` + 3 of the lane's metadata register; nothing where the selector leaves the
// lane out. Throws std::invalid_argument for a problem without metadata.
std::optional<Nibble> held_nibble(const Problem&, int selector, int lane, int i);

// Selectors: 0 to this - 1.
int selector_count(const Problem&);

// The logical k of product `term` of a row, given the nibble of its group. Throws std::invalid_argument for a
// tf32 nibble whose effect is not known.
int logical_k(const Problem&, int term, unsigned nibble);

// Which block of which row of A or column of B a scale factor is for.
struct Scale {
  int line, block;
};

// What byte `byte` of the lane's register of scale factors holds; nothing where {byte-id, thread-id} leave it
// out.
std::optional<Scale> held_scale(bool of_a, int blocks, int byte_id, int thread_id, int lane, int byte);

// {byte-id, thread-id}
struct Selector {
  int byte_id, thread_id;
};

// Those to which the manual gives a meaning (table 37).
std::vector<Selector> selectors(bool of_a, int blocks);

}  // namespace oracle
