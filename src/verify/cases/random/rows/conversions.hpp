// SPDX-License-Identifier: Apache-2.0
// Rows from one class of values to another.
#pragma once

#include "verify/cases/random/row.hpp"

namespace random_kernels {

inline constexpr Row kConversions[] = {
    {3, "cvt." ROUND "$z(|.sat).f32.(u32|s32) =f, %r"},
    {1, "cvt." ROUND "$z.f32.(u8|s8|u16|s16) =f, %r"},
    {1, "cvt." ROUND ".f32.(u64|s64) =f, %l"},
    {4, "cvt." ROUND_INT "$z.(u32|s32).f32 =r, %f"},
    {1, "cvt." ROUND_INT "$z.sat.(u32|s32).f32 =r, %f"},
    {2, "cvt." ROUND_INT "$z.(u64|s64).f32 =l, %f"},
    {1, "cvt." ROUND_INT "$z.(u16|s16|u8|s8).f32 =r, %f"},
    {3, "cvt." ROUND_INT "$z(|.sat).f32.f32 =f, %f"},
    {1, "cvt(|.ftz).sat.f32.f32 =f, %f"},
    {1, "cvt(|.sat)$z.f64.f32 =d, %f"},
    {2, "cvt." ROUND "$z.f32.f64 =f, %d"},
    {1, "cvt." ROUND ".f64.(u32|s32) =d, %r"},
    {1, "cvt." ROUND ".f64.(u64|s64) =d, %l"},
    {2, "cvt." ROUND_INT "(|.sat).(u32|s32).f64 =r, %d"},
    {1, "cvt." ROUND_INT ".(u64|s64).f64 =l, %d"},
    {1, "cvt." ROUND_INT ".f64.f64 =d, %d"},
    {2, "cvt." ROUND "$z(|.sat).f16.f32 =h, %f"},
    {1, "cvt." ROUND ".f16.f64 =h, %d"},
    {1, "cvt." ROUND ".f16.(u32|s32|u16|s16) =h, %r"},
    {2, "cvt(|.sat)$z.f32.f16 =f, %h"},
    {1, "cvt.f64.f16 =d, %h"},
    {1, "cvt." ROUND_INT ".(u32|s32|u16|s16).f16 =r, %h"},
    {1, "cvt." ROUND_INT ".f16.f16 =h, %h"},
    {2, "cvt." ROUND ".bf16.f32 =b, %f"},
    {1, "cvt." ROUND ".bf16.f64 =b, %d"},
    {1, "cvt." ROUND ".bf16.(u32|s32) =b, %r"},
    {1, "cvt." ROUND ".bf16.(u16|s16) =b, %s"},
    {2, "cvt$z.f32.bf16 =f, %b"},
    {1, "cvt.(rn|rz)(|.relu).(f16x2.f32 =x|bf16x2.f32 =y), %f, %f"},
    {1, "cvt.rna.tf32.f32 =r, %f"},
    {1, "cvt." ROUND_INT ".(u32|s32).bf16 =r, %b"},
    {1, "cvt." ROUND_INT ".(u16|s16).bf16 =s, %b"},
    {1, "cvt.rn.satfinite(|.relu).(e4m3x2|e5m2x2).f32 =s, %f, %f"},
    {1, "cvt.rn(|.relu).f16x2.(e4m3x2|e5m2x2) =x, %s"},
    {1, "mov.b32 =f, %r"},
    {1, "mov.b32 =r, %f"},
    {1, "mov.b64 =d, %l"},
    {1, "mov.b64 =l, %d"},
    {1, "mov.b32 {=h, =h}, %x"},
    {1, "mov.b32 {=b, =b}, %y"},
    {1, "(add|mul).f32 =f, %f, ?f"},
    {1, "(add|mul).f64 =d, %d, ?d"},
    {1, "(add.u32|xor.b32) =r, %r, ?r"},
    {1, "cvt.(u32.u64|s32.s64) =r, %l"},
    {1, "cvt.(u64.u32|s64.s32) =l, %r"},
};
// The classes meet.
inline constexpr Row kBridges[] = {
    {1, "cvt.rn.f32.(u32|s32) =f, %r"},
    {1, "cvt.rzi.(u32|s32).f32 =r, %f"},
    {1, "cvt.f64.f32 =d, %f"},
    {1, "cvt.rn.f32.f64 =f, %d"},
    {1, "cvt.rn.f16x2.f32 =x, %f, %f"},
    {1, "cvt.rn.bf16x2.f32 =y, %f, %f"},
    {1, "mov.b32 {=h, =h}, %x"},
    {1, "mov.b32 {=b, =b}, %y"},
    {1, "cvt.f32.f16 =f, %h"},
    {1, "cvt.f32.bf16 =f, %b"},
    {1, "cvt.u64.u32 =l, %r"},
    {1, "cvt.u32.u64 =r, %l"},
    {1, "mov.b32 {=s, =s}, %r"},
    {1, "cvt.u32.u16 =r, %s"},
    {1, "mov.b32 =r, %f"},
};

}  // namespace random_kernels
