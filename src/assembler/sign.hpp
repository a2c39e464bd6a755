// SPDX-License-Identifier: Apache-2.0
// Where the result of a neg or abs of f32 is chosen (selp, slct, a guard), it is no instruction, but the sign of a source of that
// choice, and a NaN keeps its other bits:
//
//     neg.f32 %f3, %f1; selp.f32 %f4, %f3, %f2, %p1;      FSEL R4, -R1, R2, P1
//     @%p1 neg.f32 %f2, %f1;                              FSEL R2, -R1, R2, P1
//     neg.f32 %f2, %f1; @%p1 add.f32 %f2, %f3, %f4;       FADD R3, R3, R4; FSEL R2, R3, -R1, P1
//
// cvt.f64.f32 takes the sign too, but leaves that of a NaN as it is:
//
//     neg.f32 %f3, %f1; cvt.f64.f32 %fd1, %f3;            F2F.F64.F32 R2, -R1
#pragma once

#include "assembler/editor.hpp"

namespace warpbit::assembler {

void sign(Assembled& function);

}  // namespace warpbit::assembler
