// SPDX-License-Identifier: Apache-2.0
// Rows of f16 and bf16, alone and in pairs.
#pragma once

#include "verify/cases/random/row.hpp"

namespace random_kernels {

inline constexpr Row kHalves[] = {
    {6, "(add|sub|mul)(||.rn)$z.f16 =h, %h, %h"},
    {8, "(add|sub|mul|mul|add)(||.rn)$z.f16x2 =x, %x, %x"},
    {1, "(add|sub|mul)(|.rn)$z.sat.f16x2 =x, %x, %x"},
    {1, "(add|sub|mul)(|.rn)$z.sat.f16 =h, %h, %h"},
    {3, "fma.rn$z.f16 =h, %h, %h, %h"},
    {3, "fma.rn$z.f16x2 =x, %x, %x, %x"},
    {1, "fma.rn$z.(sat|relu).f16x2 =x, %x, %x, %x"},
    {1, "fma.rn$z.(sat|relu).f16 =h, %h, %h, %h"},
    {1, "(neg|abs)$z.f16 =h, %h"},
    {1, "(neg|abs)$z.f16x2 =x, %x"},
    {1, "(min|max)$z(|.NaN).f16 =h, %h, %h"},
    {1, "(min|max)$z(|.NaN).f16x2 =x, %x, %x"},
    {1, "(min|max)$z(|.NaN).xorsign.abs.f16x2 =x, %x, %x"},
    {1, "(ex2|tanh).approx.f16 =h, %h"},
    {1, "(ex2|tanh).approx.f16x2 =x, %x"},
    {1, "set." COMPARE "$z.f16x2.f16x2 =x, %x, %x"},
    {1, "set." COMPARE "$z.f16.f16 =h, %h, %h"},
    {1, "setp." COMPARE "$z.f16 =p, %h, %h"},
    {1, "setp." COMPARE "$z.f16x2 =p|=p, %x, %x"},
    {1, "selp.b32 =x, %x, %x, %p"},
    {1, "selp.b16 =h, %h, %h, %p"},
    {2, "mov.b32 =x, {%h, %h}"},
    {2, "mov.b32 {=h, =h}, %x"},
    {1, "mov.b32 {_, =h}, %x"},
    {1, "mov.b32 =x, #x"},
    {1, "mov.b16 =h, #h"},
    {3, "mul$z.f16x2 =x, %x, %x; (add|sub)$z.f16x2 =x, ^x, %x"},
    {2, "mul$z.f16 =h, %h, %h; (add|sub)$z.f16 =h, %h, ^h"},
    {1, "mul$z.f16x2 =x, %x, %x; neg.f16x2 =x, ^x; add$z.f16x2 =x, ^x, %x"},
    {1, "mul$z.f16x2 =x, %x, %x; add$z.f16x2 =x, ^x, %x; add$z.f16x2 =x, ^^x, %x"},
    {1, "mov.b32 =x, %x; @(|!)%p (add|mul|sub)$z.f16x2 ^x, %x, %x"},
};
inline constexpr Row kHalvesToWide[] = {
    {2, "cvt.f32.f16 =f, %h"},
    {1, "cvt." ROUND ".f16.f32 =h, %f"},
    {2, "cvt.(rn|rz)(|.relu).f16x2.f32 =x, %f, %f"},
    {1, "cvt.rn.f16.f32 =h, #f"},
    {3, "(add|mul|sub).f32 =f, %f, ?f"},
};
inline constexpr Row kBhalves[] = {
    {6, "(add|sub|mul)(||.rn).bf16 =b, %b, %b"},
    {8, "(add|sub|mul|mul|add)(||.rn).bf16x2 =y, %y, %y"},
    {3, "fma.rn(|.relu).bf16 =b, %b, %b, %b"},
    {3, "fma.rn(|.relu).bf16x2 =y, %y, %y, %y"},
    {1, "(neg|abs).bf16 =b, %b"},
    {1, "(neg|abs).bf16x2 =y, %y"},
    {1, "(min|max)(|.NaN).bf16 =b, %b, %b"},
    {1, "(min|max)(|.NaN).bf16x2 =y, %y, %y"},
    {1, "(min|max)(|.NaN).xorsign.abs.bf16x2 =y, %y, %y"},
    {1, "(ex2.approx.ftz|tanh.approx).bf16 =b, %b"},
    {1, "(ex2.approx.ftz|tanh.approx).bf16x2 =y, %y"},
    {1, "set." COMPARE ".bf16x2.bf16x2 =y, %y, %y"},
    {1, "set." COMPARE ".bf16.bf16 =b, %b, %b"},
    {1, "setp." COMPARE ".bf16 =p, %b, %b"},
    {1, "setp." COMPARE ".bf16x2 =p|=p, %y, %y"},
    {1, "selp.b32 =y, %y, %y, %p"},
    {1, "selp.b16 =b, %b, %b, %p"},
    {2, "mov.b32 =y, {%b, %b}"},
    {2, "mov.b32 {=b, =b}, %y"},
    {1, "mov.b32 {_, =b}, %y"},
    {1, "mov.b32 =y, #y"},
    {1, "mov.b16 =b, #b"},
    {3, "mul.bf16x2 =y, %y, %y; (add|sub).bf16x2 =y, ^y, %y"},
    {2, "mul.bf16 =b, %b, %b; (add|sub).bf16 =b, %b, ^b"},
    {1, "mul.bf16x2 =y, %y, %y; neg.bf16x2 =y, ^y; add.bf16x2 =y, ^y, %y"},
    {1, "mul.bf16x2 =y, %y, %y; add.bf16x2 =y, ^y, %y; add.bf16x2 =y, ^^y, %y"},
    {1, "mov.b32 =y, %y; @(|!)%p (add|mul|sub).bf16x2 ^y, %y, %y"},
};
inline constexpr Row kBhalvesToWide[] = {
    {2, "cvt.f32.bf16 =f, %b"},
    {1, "cvt." ROUND ".bf16.f32 =b, %f"},
    {2, "cvt.(rn|rz)(|.relu).bf16x2.f32 =y, %f, %f"},
    {1, "cvt.u32.u16 =r, %b; shl.b32 =r, ^r, 16; mov.b32 =f, ^r"},
    {3, "(add|mul|sub).f32 =f, %f, ?f"},
};

}  // namespace random_kernels
