// SPDX-License-Identifier: Apache-2.0
// The notation of CuTe for an operand's places.
#pragma once

#include "warpbit/layout.hpp"

namespace warpbit {

/// Fills in OperandLayout::cute and its domain, from the cells of an operand in registers.
void add_cute(OperandLayout& operand);
/// The same in memory, where the addresses are swizzled so. Nothing is filled in for another layout.
void add_cute(OperandLayout& operand, Swizzle swizzle);

}  // namespace warpbit
