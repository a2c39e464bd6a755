// SPDX-License-Identifier: Apache-2.0
// Rows of memory, and of what lanes tell each other.
#pragma once

#include "verify/cases/random/row.hpp"

namespace random_kernels {

inline constexpr Row kMemory[] = {
    {3, "!shfl.sync.(bfly|up|down|idx).b32 =r|=p, %r, #[0:31], (31|0|31), -1"},
    {4,
     "!mov.b32 =r, %f; shfl.sync.(bfly|down).b32 =r, ^r, (1|2|4|8|16), 31, -1; mov.b32 =f, ^r; (add|max|sub)$z.f32 =f, ^f, %f"},
    {3,
     "!mul$z.f32 =f, %f, %f; mov.b32 =r, ^f; shfl.sync.bfly.b32 =r, ^r, (1|2|4|8|16), 31, -1; mov.b32 =f, ^r; "
     "(add|sub)$z.f32 =f, ^f, ^^f"},
    {4,
     "!bar.sync 0; st.shared.f32 [<own>+#[0:12:4]], %f; bar.sync 0; xor.b32 =r, <tid>, #[1:63]; shl.b32 =r, ^r, 4; "
     "add.u32 <other>, ^r, <tile>; ld.shared.f32 =f, [<other>+#[0:12:4]]"},
    {2,
     "!bar.sync 0; st.shared.v2.f32 [<own>], {%f, %f}; bar.sync 0; xor.b32 =r, <tid>, #[1:63]; shl.b32 =r, ^r, 4; "
     "add.u32 <other>, ^r, <tile>; ld.shared.v4.f32 {=f, =f, =f, =f}, [<other>]"},
    {1,
     "!bar.sync 0; st.shared.v4.f32 [<own>], {%f, %f, %f, %f}; bar.sync 0; ld.shared.v4.b32 {=r, =r, =r, =r}, [<own>]"},
    {2, "st.shared.f32 [<own>+2052], %f; ld.shared.f32 =f, [<own>+2052]"},
    {1, "mov.f32 =f, %f; @(|!)%p ld.global.f32 ^f, [<in>+#[0:28:4]]"},
    {1,
     "mul$z.f32 =f, %f, %f; mov.f32 =f, %f; @(|!)%p ld.global.f32 ^f, [<in>+#[0:28:4]]; add$z.f32 =f, ^^f, %f"},
    {2, "ld.global.(nc.|)f32 =f, [<in>+#[0:28:4]]"},
    {1, "@(|!)%p st.global.f32 [<out>+&f], %f"},
    {1, "mul$z.f32 =f, %f, %f; @(|!)%p st.global.f32 [<out>+&f], %f; add$z.f32 =f, ^f, %f"},
    {1, "!vote.sync.ballot.b32 =r, %p, -1"},
    {1, "!vote.sync.(any|all|uni).pred =p, %p, -1"},
    {1, "!redux.sync.(add|min|max).(u32|s32) =r, %r, -1"},
    {1, "!match.any.sync.b32 =r, %r, -1"},
    {1,
     "!bar.sync 0; st.shared.b32 [<own>], %r; atom.shared.(add.u32|min.s32|max.u32|and.b32|or.b32|exch.b32) =r, [<own>], %r; "
     "ld.shared.b32 =r, [<own>]; bar.sync 0"},
};
inline constexpr Row kMemoryExtra[] = {
    {3, "setp." COMPARE ".f32 =p, %f, ?f"},
    {1, "(add.u32|xor.b32|sub.s32) =r, %r, ?r"},
    {1, "cvt.rn.f32.s32 =f, %r"},
};

}  // namespace random_kernels
