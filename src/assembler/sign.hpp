// SPDX-License-Identifier: Apache-2.0
// Where the result of a neg or abs of f32 is chosen (selp, slct, a guard), it is no instruction, but the sign of a source of that
// choice, and a NaN keeps its other bits:
//
//     neg.f32 %f3, %f1; selp.f32 %f4, %f3, %f2, %p1;      FSEL R4, -R1, R2, P1
//     @%p1 neg.f32 %f2, %f1;                              FSEL R2, -R1, R2, P1
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

void sign(Assembled& function);

}  // namespace warpbit::assembler
