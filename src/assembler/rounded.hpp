// SPDX-License-Identifier: Apache-2.0
// An approximate function of a number that the assembler knows: the function's value, to nearest even.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace warpbit::assembler {

/// Of rcp, rsqrt, sqrt, ex2, lg2, sin, cos. With .ftz subnormal numbers are zeros, before and after; sin and cos take
/// subnormal numbers as zeros always. Nothing of a NaN, of what has no value, and of 0 for lg2: the GPU's unit computes
/// these. (ptxas 13.0, 5,600 numbers; and those at the borders.)
std::optional<std::uint32_t> rounded(std::string_view opcode, std::uint32_t x, bool ftz);

}  // namespace warpbit::assembler
