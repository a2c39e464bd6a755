// SPDX-License-Identifier: Apache-2.0
// What the assembler makes of numbers and predicates that it knows, and of products by 1.
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

/// Statements with literals that are NaNs, and conversions of a type to itself, as they are also at -O0: neg and abs of a literal
/// is one, x - NaN is x + -NaN of f64, cvt.f32.f32 and cvt.f64.f64 without rule identity are sums with -0.
void read(Assembled& function, Rules rules);
/// Rules fold, divide, identity, clamp.
void fold(Assembled& function, Rules rules);

}  // namespace warpbit::assembler
