// SPDX-License-Identifier: Apache-2.0
// Which literal a statement must have had for the GPU's element: the element, taken back through the statements of a slice.
//
//     add.s32 %r2, %r1, 5;         %r2 was 12, 14 is wanted; %r1 was 7: 7 in place of 5
//     shl.b32 %r3, %r2, 4;         %r3 was 192, 224 is wanted: 14 in %r2
//     st.global.u32 [%rd1], %r3;   the GPU left 224
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "arbiter/slice.hpp"

namespace warpbit::arbiter {

/// Bits that a literal operand may have had, or what is loaded, by statement and number of the operand. Each alone makes the
/// element; where a statement rounds, or loses bits, they are near.
using Solutions = std::map<std::pair<int, std::size_t>, std::vector<std::uint64_t>>;

/// Adds those of the slice of an element that the GPU left at an address.
void solve(const Experiment& experiment, const Code& code, const Slice& slice, Solutions& to);

}  // namespace warpbit::arbiter
