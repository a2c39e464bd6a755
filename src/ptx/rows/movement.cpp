// SPDX-License-Identifier: Apache-2.0
// Movement and conversion.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> movement_rows() {
  static constexpr FormRow kRows[] = {
      {"mov{$any,.b128,.pred}", "d:T a:T", sm_75, moves},
      {"mov.b16", "d:T {a:b8*2}", sm_75, moves},
      {"mov.b32", "d:T {a:b16*2}", sm_75, moves},
      {"mov.b32", "d:T {a:b8*4}", sm_75, moves},
      {"mov.b64", "d:T {a:b32*2}", sm_75, moves},
      {"mov.b64", "d:T {a:b16*4}", sm_75, moves},
      {"mov.b128", "d:T {a:b64*2}", sm_75, moves},
      {"mov.b128", "d:T {a:b32*4}", sm_75, moves},
      {"mov.b16", "{d:b8*2} a:T", sm_75, moves},
      {"mov.b32", "{d:b16*2} a:T", sm_75, moves},
      {"mov.b32", "{d:b8*4} a:T", sm_75, moves},
      {"mov.b64", "{d:b32*2} a:T", sm_75, moves},
      {"mov.b64", "{d:b16*4} a:T", sm_75, moves},
      {"mov.b128", "{d:b64*2} a:T", sm_75, moves},
      {"mov.b128", "{d:b32*4} a:T", sm_75, moves},
      {"shfl.sync{.up,.down,.bfly,.idx}.b32", "d|p:T a:T b:T c:T m:u32!", sm_75, exchanges},
      {"cvta{,.to}{.const,.global,.local,.param,.param::entry,.shared,.shared::cta}{.u32,.u64}", "d:T a:T",
       sm_75, addresses, "param 7.7"},
      {"cvta{,.to}.shared::cluster{.u32,.u64}", "d:T a:T", sm_90, addresses},
      {"isspacep{.const,.global,.local,.param,.param::entry,.shared,.shared::cta}", "d:pred a:u64", sm_75,
       addresses, "param 7.7"},
      {"isspacep.shared::cluster", "d:pred a:u64", sm_90, addresses},
      {"isspacep{.const,.global,.local,.param,.param::entry,.shared,.shared::cta}", "d:pred a:u32", sm_75,
       addresses, "param 7.7"},
      {"isspacep.shared::cluster", "d:pred a:u32", sm_90, addresses},
      {"mapa{,.shared::cluster}{.u32,.u64,.s32,.s64}", "d:T a:T b:u32", sm_90, addresses},
      {"getctarank{,.shared::cluster}{.u32,.u64,.s32,.s64}", "d:u32 a:T", sm_90, addresses},
      {"cvt{$ints8}{$ints8}", "d:U a:T", sm_75, integers_to_integers},
      {"cvt.sat{.u8,.s8,.s16}{.u16,.u32,.u64,.s32,.s64}", "d:U a:T", sm_75,
       integers_to_integers},  // where it may change the number
      {"cvt.sat{.u8,.u16,.u32,.u64}{.s8,.s16}", "d:U a:T", sm_75, integers_to_integers},
      {"cvt.sat{.u16,.s32}{.u32,.u64,.s64}", "d:U a:T", sm_75, integers_to_integers},
      {"cvt.sat{.u16,.u32,.u64}.s32", "d:U a:T", sm_75, integers_to_integers},
      {"cvt.sat{.u32,.s64}.u64", "d:U a:T", sm_75, integers_to_integers},
      {"cvt.sat{.u32,.u64}.s64", "d:U a:T", sm_75, integers_to_integers},
      {"cvt.sat.s8{.u8,.s16}", "d:U a:T", sm_75, integers_to_integers},
      {"cvt{$rnd}{,.sat}{.f16,.f64}{$ints8}", "d:U a:T", sm_75, integers_to_floats},
      {"cvt{$rnd}{,.ftz}{,.sat}.f32{$ints8}", "d:U a:T", sm_75, integers_to_floats},
      {"cvt{$rnd}.bf16{$ints8}", "d:U a:T", sm_90, integers_to_floats},
      {"cvt{$rndi}{,.ftz}{,.sat}{$ints8}.f32", "d:U a:T", sm_75, floats_to_integers},
      {"cvt{$rndi}{,.sat}{$ints8}{.f16,.f64}", "d:U a:T", sm_75, floats_to_integers},
      {"cvt{$rndi}{$ints8}.bf16", "d:U a:T", sm_90, floats_to_integers},
      {"cvt{,.ftz}{,.sat}.f32.f32", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{$rndi}{,.ftz}{,.sat}.f32.f32", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{,$rndi}{,.sat}.f64.f64", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{,$rndi}{,.sat}.f16.f16", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{,$rndi}.bf16.bf16", "d:U a:T", sm_90, floats_to_floats},
      {"cvt{$rnd}{,.ftz}{,.sat}.f32.f64", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{,.ftz}{,.sat}.f64.f32", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{,.ftz}{,.sat}.f32.f16", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{,.sat}.f64.f16", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{$rnd}{,.ftz}{,.sat}.f16.f32", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{$rnd}{,.sat}.f16.f64", "d:U a:T", sm_75, floats_to_floats},
      {"cvt{,$rnd}.f32.bf16", "d:U a:T", sm_80, floats_to_floats, "7.1"},
      {"cvt{,$rnd}.ftz.f32.bf16", "d:U a:T", sm_90, floats_to_floats, "7.1"},
      {"cvt{,$rnd}{.f16,.f64}.bf16", "d:U a:T", sm_90, floats_to_floats},
      {"cvt{,$rnd}.bf16.f16", "d:U a:T", sm_90, floats_to_floats},
      {"cvt{$rnd}{,.ftz}.bf16.f32", "d:U a:T", sm_80, floats_to_floats},
      {"cvt{$rnd}.bf16.f64", "d:U a:T", sm_90, floats_to_floats},
      {"cvt.pack.sat{.u16,.s16}.s32", "d:u32 a:T b:T", sm_75, integers_to_integers, "6.5"},
      {"cvt.pack.sat{.u8,.s8,.u4,.s4,.u2,.s2}.s32.b32", "d:u32 a:V b:V c:T", sm_75, integers_to_integers,
       "6.5"},
  };
  return kRows;
}

// PTX manual, "spcompress" and "spdecompress": the numbers for which indices reach all places, and vectors
// have 1 to 128 registers.
std::span<const FormRow> compression_rows() {
  static constexpr std::string_view kDense = "{d:b32*D} {a:b32*M} {b:b32*C}";
  static constexpr FormRow kRows[] = {
      {"spcompress{.b8,.b16}{.b2,.b4}.sp::2:4{$x1_64}", "{d:b32*M} {d:b32*C} {a:b32*D} s:b32", sm_107a,
       not_executed, "9.4", "no document says which of equal elements it takes"},
      {"spdecompress.b8{.b2,.b4}.sp::1:2{.x2,.x4,.x8,.x16,.x32,.x64}", kDense, sm_107a, decompressions, "9.4"},
      {"spdecompress.b8{.b2,.b4}{.sp::1:4,.sp::2:4}{$x1_64}", kDense, sm_107a, decompressions, "9.4"},
      {"spdecompress.b8.b4{.sp::1:8,.sp::2:8,.sp::4:8}{$x1_64}", kDense, sm_107a, decompressions, "9.4"},
      {"spdecompress.b8.b4{.sp::1:16,.sp::2:16,.sp::4:16}{$x1_32}", kDense, sm_107a, decompressions, "9.4"},
      {"spdecompress.b16{.b2,.b4}{.sp::1:2,.sp::1:4,.sp::2:4}{$x1_64}", kDense, sm_107a, decompressions, "9.4"},
      {"spdecompress.b16.b4{.sp::1:8,.sp::2:8}{$x1_32}", kDense, sm_107a, decompressions, "9.4"},
      {"spdecompress.b16.b4{.sp::1:16,.sp::2:16}{.x1,.x2,.x4,.x8,.x16}", kDense, sm_107a, decompressions,
       "9.4"},
  };
  return kRows;
}

}  // namespace warpbit::ptx
