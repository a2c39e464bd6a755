// SPDX-License-Identifier: Apache-2.0
// Integer arithmetic; floating-point arithmetic; half-precision arithmetic.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> integer_rows() {
  static constexpr FormRow kRows[] = {
      {"{add,sub}$int", "d:T a:T b:T", sm_75, integers},
      {"{add,sub}.sat.s32", "d:T a:T b:T", sm_75, integers},
      {"{add,sub}.cc$carry", "d:T a:T b:T", sm_75, integers},
      {"{addc,subc}$int", "d:T a:T b:T", sm_75, integers},
      {"{addc,subc}.sat.s32", "d:T a:T b:T", sm_75, integers},
      {"{addc,subc}.cc$carry", "d:T a:T b:T", sm_75, integers},
      {"add{.u16x2,.s16x2}", "d:T a:T b:T", sm_90, integers, "8.0"},
      {"add.sat{.u32,.u16x2,.s16x2}", "d:T a:T b:T", byte_sums, integers, "9.2"},
      {"{add,sub}{,.sat}{.u8x4,.s8x4}", "d:T a:T b:T", byte_sums, integers, "9.2"},
      {"mul{.lo,.hi}$int", "d:T a:T b:T", sm_75, integers},
      {"mul.wide$narrow", "d:W a:T b:T", sm_75, integers},
      {"mad{.lo,.hi}$int", "d:T a:T b:T c:T", sm_75, integers},
      {"madc{.lo,.hi}$carry", "d:T a:T b:T c:T", sm_75, integers},
      {"madc{.lo,.hi}{.u16,.s16}", "d:T a:T b:T c:T", sm_75, not_measured},
      {"{mad,madc}{.lo,.hi}.cc$carry", "d:T a:T b:T c:T", sm_75, integers},
      {"mad.hi.sat.s32", "d:T a:T b:T c:T", sm_75, integers},
      {"madc.hi.sat.s32", "d:T a:T b:T c:T", sm_75, not_measured},
      {"mad.wide$narrow", "d:W a:T b:T c:W", sm_75, integers},
      {"clmad{.lo,.hi}.u64", "d:T a:T b:T c:T", sm_80, integers, "9.3"},
      {"mul24{.lo,.hi}{.u32,.s32}", "d:T a:T b:T", sm_75, integer_edges},
      {"mad24{.lo,.hi}{.u32,.s32}", "d:T a:T b:T c:T", sm_75, integer_edges},
      {"mad24.hi.sat.s32", "d:T a:T b:T c:T", sm_75, integer_edges},
      {"sad$int", "d:T a:T b:T c:T", sm_75, integers},
      {"{div,rem}$int", "d:T a:T b:T", sm_75, division},
      {"{min,max}$int", "d:T a:T b:T", sm_75, integers},
      {"abs{.s16,.s32,.s64}", "d:T a:T", sm_75, integer_edges},
      {"neg{.s16,.s32,.s64}", "d:T a:T", sm_75, integers},
      {"{min,max}{.u16x2,.s16x2}", "d:T a:T b:T", sm_90, integers, "8.0"},
      {"{min,max}.relu{.s32,.s16x2}", "d:T a:T b:T", sm_90, integers, "8.0"},
      {"{min,max}.u8x4", "d:T a:T b:T", byte_extremes, integers, "9.2"},
      {"{min,max}{,.relu}.s8x4", "d:T a:T b:T", byte_extremes, integers, "9.2"},
      {"neg.s8x4", "d:T a:T", byte_extremes, integers, "9.2"},
      {"{popc,clz}{.b32,.b64}", "d:u32 a:T", sm_75, integers},
      {"bfind{,.shiftamt}$carry", "d:u32 a:T", sm_75, integers},
      {"fns.b32", "d:T a:T b:T c:T", sm_75, integer_edges},
      {"brev{.b32,.b64}", "d:T a:T", sm_75, integers},
      {"bfe{.u32,.s32}", "d:T a:T b:u32(0..255) c:u32(0..255)", sm_75, integers},
      {"bfe{.u64,.s64}", "d:T a:T b:u32(0..255) c:u32(0..255)", sm_75, wide_fields},
      {"bfi.b32", "d:T a:T b:T c:u32(0..255) e:u32(0..255)", sm_75, integers},
      {"bfi.b64", "d:T a:T b:T c:u32(0..255) e:u32(0..255)", sm_75, wide_fields},
      {"szext{.clamp,.wrap}{.u32,.s32}", "d:T a:T b:u32", sm_75, integers, "7.6"},
      {"bmsk{.clamp,.wrap}.b32", "d:u32 a:u32 b:u32", sm_75, integers, "7.6"},
      {"dp4a{.u32,.s32}{.u32,.s32}", "d:u32 a:u32 b:u32 c:u32", sm_75, integers},
      {"dp2a{.lo,.hi}{.u32,.s32}{.u32,.s32}", "d:u32 a:u32 b:u32 c:u32", sm_75, integers},
  };
  return kRows;
}

std::span<const FormRow> floating_rows() {
  static constexpr std::string_view kHowConverted = "no document says how c is rounded to the type of d";
  static constexpr FormRow kRows[] = {
      {"{add,sub,mul}{,$rnd}{,.ftz}{,.sat}.f32", "d:T a:T b:T", sm_75, floats},
      {"{add,sub,mul}{,$rnd}.f64", "d:T a:T b:T", sm_75, floats},
      {"{add,sub,mul}{,$rnd}{,.ftz}.f32x2", "d:T a:T b:T", sm_100, floats},
      {"{add,sub}{,$rnd}{,.sat}.f32{.f16,.bf16}", "d:U a:T c:U", sm_100, floats},
      {"fma{$rnd}{,.sat}.f32{.f16,.bf16}", "d:U a:T b:T c:U", sm_100, floats},
      {"{add,sub}{,$rnd}.f32x2{.f16x2,.bf16x2}.f32x2", "d:T a:U c:T", sm_107f, floats, "9.4"},
      {"{add,sub,mul}.rz.ftz.f16x2.f32x2.f32x2", "d:f16x2 a:T c:T", sm_107f, not_executed, "9.4",
       "no document says whether .ftz flushes results of f16"},
      {"{add,sub,mul}.rz.bf16x2.f32x2.f32x2", "d:bf16x2 a:T c:T", sm_107f, floats, "9.4"},
      {"fma{$rnd}.f32x2{.f16x2,.bf16x2}{.f32x2}.f32x2", "d:T a:f16x2 b:T c:T", sm_107f, floats, "9.4"},
      {"{add,sub}{,.rn}{,.satfinite}{$fp8_x4}{$byte_x4}", "d:b32 a:b32 c:b32", fp8_arithmetic, narrow_floats,
       "9.4"},
      {"{add,sub}{,.rn}{,.satfinite}{$fp8_x4}{.e2m1x4}", "d:b32 a:b16 c:b32", fp8_arithmetic, narrow_floats,
       "9.4"},
      {"mul{,.rn}{,.satfinite}{$fp8_x4}{$byte_x4}{$byte_x4}", "d:b32 a:b32 b:b32", fp8_arithmetic,
       narrow_floats, "9.4"},
      {"mul{,.rn}{,.satfinite}{$fp8_x4}{$byte_x4}{.e2m1x4}", "d:b32 a:b32 b:b16", fp8_arithmetic, narrow_floats,
       "9.4"},
      {"mul{,.rn}{,.satfinite}{$fp8_x4}{.e2m1x4}{$byte_x4}", "d:b32 a:b16 b:b32", fp8_arithmetic, narrow_floats,
       "9.4"},
      {"mul{,.rn}{,.satfinite}{$fp8_x4}{.e2m1x4}{.e2m1x4}", "d:b32 a:b16 b:b16", fp8_arithmetic, narrow_floats,
       "9.4"},
      {"fma{,.rn}{,.satfinite}{$fp8_x4}{$byte_x4}{$byte_x4}", "d:b32 a:b32 b:b32 c:b32", fp8_arithmetic,
       narrow_floats, "9.4"},
      {"fma{,.rn}{,.satfinite}{$fp8_x4}{$byte_x4}{.e2m1x4}", "d:b32 a:b32 b:b16 c:b32", fp8_arithmetic,
       narrow_floats, "9.4"},
      {"fma{,.rn}{,.satfinite}{$fp8_x4}{.e2m1x4}{$byte_x4}", "d:b32 a:b16 b:b32 c:b32", fp8_arithmetic,
       narrow_floats, "9.4"},
      {"fma{,.rn}{,.satfinite}{$fp8_x4}{.e2m1x4}{.e2m1x4}", "d:b32 a:b16 b:b16 c:b32", fp8_arithmetic,
       narrow_floats, "9.4"},
      {"mul.bf16x2.bf16x2.f16x2", "d:U a:U c:T", sm_107f, not_executed, "9.4", kHowConverted},
      {"mul.f16x2.f16x2.bf16x2", "d:U a:U c:T", sm_107f, not_executed, "9.4", kHowConverted},
      {"{fma,mad}{$rnd}{,.ftz}{,.sat}.f32", "d:T a:T b:T c:T", sm_75, floats},
      {"{fma,mad}{$rnd}.f64", "d:T a:T b:T c:T", sm_75, floats},
      {"fma{$rnd}{,.ftz}.f32x2", "d:T a:T b:T c:T", sm_100, floats},
      {"div{.approx,.full,$rnd}{,.ftz}.f32", "d:T a:T b:T", sm_75, floats},
      {"div{$rnd}.f64", "d:T a:T b:T", sm_75, floats},
      {"{abs,neg}{,.ftz}.f32", "d:T a:T", sm_75, extremes},
      {"{abs,neg}.f64", "d:T a:T", sm_75, extremes},
      {"{min,max}{,.ftz}.f32", "d:T a:T b:T", sm_75, extremes},
      {"{min,max}.f64", "d:T a:T b:T", sm_75, extremes},
      {"{min,max}{,.ftz}.NaN.f32", "d:T a:T b:T", sm_80, extremes},
      {"{min,max}{,.ftz}{,.NaN}.xorsign.abs.f32", "d:T a:T b:T", sm_86, extremes, "7.2"},
      {"{min,max}{,.ftz}{,.NaN}{,.abs}.f32", "d:T a:T b:T c:T", sm_100, not_measured, "8.8"},
      {"testp{.finite,.infinite,.number,.notanumber,.normal,.subnormal}{.f32,.f64}", "d:pred a:T", sm_75,
       comparisons},
      {"testp{.f32,.f64}", "d:pred a:T", sm_75, not_measured},
      {"copysign{.f32,.f64}", "d:T a:T b:T", sm_75, comparisons},
      {"{rcp,sqrt}{.approx,$rnd}{,.ftz}.f32", "d:T a:T", sm_75, floats},
      {"{rcp,sqrt}{$rnd}.f64", "d:T a:T", sm_75, floats},
      {"rcp{.approx,$rnd}.ftz.f64", "d:T a:T", sm_75, floats},
      {"rsqrt.approx{,.ftz}{.f32,.f64}", "d:T a:T", sm_75, floats},
      {"{sin,cos,lg2}.approx{,.ftz}.f32", "d:T a:T", sm_75, floats},
      {"{sin,cos}.approx.2pi.ftz.f32", "d:T a:T", sm_75, not_measured, "9.5"},
      {"ex2.approx{,.ftz}.f32", "d:T a:T", sm_75, ex2},
      {"tanh.approx.f32", "d:T a:T", sm_75, floats, "7.0"},
  };
  return kRows;
}

std::span<const FormRow> half_rows() {
  static constexpr FormRow kRows[] = {
      {"{add,sub,mul}{,.rn}{,.ftz}{,.sat}{$half}", "d:T a:T b:T", sm_75, floats},
      {"{add,sub,mul}{,.rn}{$bf}", "d:T a:T b:T", sm_90, floats},
      {"fma.rn{,.ftz}{,.sat}{$half}", "d:T a:T b:T c:T", sm_75, floats},
      {"fma.rn{,.ftz}.relu{$half}", "d:T a:T b:T c:T", sm_80, floats},
      {"fma.rn{,.relu,.sat}.oob{$half}", "d:T a:T b:T c:T", sm_90, floats, "8.1"},
      {"fma.rn{,.relu}{$bf}", "d:T a:T b:T c:T", sm_80, floats},
      {"fma{.rz,.rm,.rp}{,.relu}{$bf}", "d:T a:T b:T c:T", sm_80, not_measured},
      {"fma.rn{,.relu}.oob{$bf}", "d:T a:T b:T c:T", sm_90, floats, "8.1"},
      {"fma{.rz,.rm,.rp}{,.relu}.oob{$bf}", "d:T a:T b:T c:T", sm_90, not_measured, "8.1"},
      {"abs{,.ftz}{$half}", "d:T a:T", sm_75, extremes, "6.5"},
      {"neg{,.ftz}{$half}", "d:T a:T", sm_75, extremes},
      {"{abs,neg}{$bf}", "d:T a:T", sm_80, extremes},
      {"{min,max}{,.ftz}{,.NaN}{$half}", "d:T a:T b:T", sm_80, extremes},
      {"{min,max}{,.NaN}{$bf}", "d:T a:T b:T", sm_80, extremes},
      {"{min,max}{,.ftz}{,.NaN}.xorsign.abs{$half}", "d:T a:T b:T", sm_86, extremes, "7.2"},
      {"{min,max}{,.NaN}.xorsign.abs{$bf}", "d:T a:T b:T", sm_86, extremes, "7.2"},
      {"ex2.approx{$half}", "d:T a:T", sm_75, ex2, "7.0"},
      {"tanh.approx{$half}", "d:T a:T", sm_75, floats, "7.0"},
      {"ex2.approx.ftz{$bf}", "d:T a:T", sm_90, ex2},
      {"tanh.approx{$bf}", "d:T a:T", sm_90, floats, "7.0"},
  };
  return kRows;
}

}  // namespace warpbit::ptx
