// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic; floating-point arithmetic; half-precision arithmetic.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;

std::span<const FormRow> integer_rows() {
  static constexpr FormRow kRows[] = {
      {"{add,sub}$int", "d:T a:T b:T", sm_75},
      {"{add,sub}.sat.s32", "d:T a:T b:T", sm_75},
      {"{add,sub}.cc$carry", "d:T a:T b:T", sm_75},
      {"{addc,subc}$int", "d:T a:T b:T", sm_75},
      {"{addc,subc}.sat.s32", "d:T a:T b:T", sm_75},
      {"{addc,subc}.cc$carry", "d:T a:T b:T", sm_75},
      {"add{.u16x2,.s16x2}", "d:T a:T b:T", sm_90},
      {"mul{.lo,.hi}$int", "d:T a:T b:T", sm_75},
      {"mul.wide$narrow", "d:W a:T b:T", sm_75},
      {"{mad,madc}{.lo,.hi}$int", "d:T a:T b:T c:T", sm_75},
      {"{mad,madc}{.lo,.hi}.cc$carry", "d:T a:T b:T c:T", sm_75},
      {"{mad,madc}.hi.sat.s32", "d:T a:T b:T c:T", sm_75},
      {"mad.wide$narrow", "d:W a:T b:T c:W", sm_75},
      {"mul24{.lo,.hi}{.u32,.s32}", "d:T a:T b:T", sm_75},
      {"mad24{.lo,.hi}{.u32,.s32}", "d:T a:T b:T c:T", sm_75},
      {"mad24.hi.sat.s32", "d:T a:T b:T c:T", sm_75},
      {"sad$int", "d:T a:T b:T c:T", sm_75},
      {"{div,rem,min,max}$int", "d:T a:T b:T", sm_75},
      {"{abs,neg}{.s16,.s32,.s64}", "d:T a:T", sm_75},
      {"{min,max}{.u16x2,.s16x2}", "d:T a:T b:T", sm_90},
      {"{min,max}.relu{.s32,.s16x2}", "d:T a:T b:T", sm_90},
      {"{popc,clz}{.b32,.b64}", "d:u32 a:T", sm_75},
      {"bfind{,.shiftamt}$carry", "d:u32 a:T", sm_75},
      {"fns.b32", "d:T a:T b:T c:T", sm_75},
      {"brev{.b32,.b64}", "d:T a:T", sm_75},
      {"bfe$carry", "d:T a:T b:u32(0..255) c:u32(0..255)", sm_75},
      {"bfi{.b32,.b64}", "d:T a:T b:T c:u32(0..255) e:u32(0..255)", sm_75},
      {"szext{.clamp,.wrap}{.u32,.s32}", "d:T a:T b:u32", sm_75},
      {"bmsk{.clamp,.wrap}.b32", "d:u32 a:u32 b:u32", sm_75},
      {"dp4a{.u32,.s32}{.u32,.s32}", "d:u32 a:u32 b:u32 c:u32", sm_75},
      {"dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}", "d:u32 a:u32 b:u32 c:u32", sm_75},
  };
  return kRows;
}

std::span<const FormRow> floating_rows() {
  static constexpr FormRow kRows[] = {
      {"{add,sub,mul}{,$rnd}{,.ftz}{,.sat}.f32", "d:T a:T b:T", sm_75},
      {"{add,sub,mul}{,$rnd}.f64", "d:T a:T b:T", sm_75},
      {"{add,sub,mul}{,$rnd}{,.ftz}.f32x2", "d:T a:T b:T", sm_100},
      {"{add,sub}{,$rnd}{,.sat}.f32{.f16,.bf16}", "d:U a:T c:U", sm_100},
      {"fma{$rnd}{,.sat}.f32{.f16,.bf16}", "d:U a:T b:T c:U", sm_100},
      {"{fma,mad}{$rnd}{,.ftz}{,.sat}.f32", "d:T a:T b:T c:T", sm_75},
      {"{fma,mad}{$rnd}.f64", "d:T a:T b:T c:T", sm_75},
      {"fma{$rnd}{,.ftz}.f32x2", "d:T a:T b:T c:T", sm_100},
      {"div{.approx,.full,$rnd}{,.ftz}.f32", "d:T a:T b:T", sm_75},
      {"div{$rnd}.f64", "d:T a:T b:T", sm_75},
      {"{abs,neg}{,.ftz}.f32", "d:T a:T", sm_75},
      {"{abs,neg}.f64", "d:T a:T", sm_75},
      {"{min,max}{,.ftz}.f32", "d:T a:T b:T", sm_75},
      {"{min,max}.f64", "d:T a:T b:T", sm_75},
      {"{min,max}{,.ftz}.NaN.f32", "d:T a:T b:T", sm_80},
      {"{min,max}{,.ftz}{,.NaN}.xorsign.abs.f32", "d:T a:T b:T", sm_86},
      {"{min,max}{,.ftz}{,.NaN}{,.abs}.f32", "d:T a:T b:T c:T", sm_100, {8, 8}},
      {"testp{,.finite,.infinite,.number,.notanumber,.normal,.subnormal}{.f32,.f64}", "d:pred a:T", sm_75},
      {"copysign{.f32,.f64}", "d:T a:T b:T", sm_75},
      {"{rcp,sqrt}{.approx,$rnd}{,.ftz}.f32", "d:T a:T", sm_75},
      {"{rcp,sqrt}{$rnd}.f64", "d:T a:T", sm_75},
      {"rcp{.approx,$rnd}.ftz.f64", "d:T a:T", sm_75},
      {"rsqrt.approx{,.ftz}{.f32,.f64}", "d:T a:T", sm_75},
      {"{sin,cos,lg2,ex2}.approx{,.ftz}.f32", "d:T a:T", sm_75},
      {"tanh.approx.f32", "d:T a:T", sm_75},
  };
  return kRows;
}

std::span<const FormRow> half_rows() {
  static constexpr FormRow kRows[] = {
      {"{add,sub,mul}{,.rn}{,.ftz}{,.sat}{$half}", "d:T a:T b:T", sm_75},
      {"{add,sub,mul}{,.rn}{$bf}", "d:T a:T b:T", sm_90},
      {"fma.rn{,.ftz}{,.sat}{$half}", "d:T a:T b:T c:T", sm_75},
      {"fma.rn{,.ftz}.relu{$half}", "d:T a:T b:T c:T", sm_80},
      {"fma.rn{,.relu,.sat}.oob{$half}", "d:T a:T b:T c:T", sm_90},
      {"fma{$rnd}{,.relu}{$bf}", "d:T a:T b:T c:T", sm_80},
      {"fma{$rnd}{,.relu}.oob{$bf}", "d:T a:T b:T c:T", sm_90},
      {"{abs,neg}{,.ftz}{$half}", "d:T a:T", sm_75},
      {"{abs,neg}{$bf}", "d:T a:T", sm_80},
      {"{min,max}{,.ftz}{,.NaN}{$half}", "d:T a:T b:T", sm_80},
      {"{min,max}{,.NaN}{$bf}", "d:T a:T b:T", sm_80},
      {"{min,max}{,.ftz}{,.NaN}.xorsign.abs{$half}", "d:T a:T b:T", sm_86},
      {"{min,max}{,.NaN}.xorsign.abs{$bf}", "d:T a:T b:T", sm_86},
      {"{ex2,tanh}.approx{$half}", "d:T a:T", sm_75},
      {"ex2.approx.ftz{$bf}", "d:T a:T", sm_90},
      {"tanh.approx{$bf}", "d:T a:T", sm_90},
  };
  return kRows;
}

}  // namespace warpbit::ptx
