// SPDX-License-Identifier: Apache-2.0
// Comparison and selection; logic and shifts.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> comparison_rows() {
  static constexpr FormRow kRows[] = {
      {"set{$unsigned}{$bool}{.u32,.s32,.f16,.f32}{.u16,.u32,.u64}", "d:U a:T b:T c:pred&", sm_75, comparisons},
      {"set{$order}{$bool}{.u32,.s32,.f16,.f32}{.s16,.s32,.s64}", "d:U a:T b:T c:pred&", sm_75, comparisons},
      {"set{$unsigned}{.u16x2,.u8x4}", "d:T a:T b:T", sm_107f, comparisons, "9.4"},
      {"set{$order}{.s16x2,.s8x4}", "d:T a:T b:T", sm_107f, comparisons, "9.4"},
      {"set{$eq}{$bool}{.u32,.s32,.f16,.f32}{$bits}", "d:U a:T b:T c:pred&", sm_75, comparisons},
      {"set{$compare}{$bool}{,.ftz}{.u32,.s32,.f16,.f32}.f32", "d:U a:T b:T c:pred&", sm_75, comparisons},
      {"set{$compare}{$bool}{.u32,.s32,.f16,.f32}.f64", "d:U a:T b:T c:pred&", sm_75, comparisons},
      {"set{$compare}{$bool}{,.ftz}{.u16,.u32,.s16,.s32,.f16}.f16", "d:U a:T b:T c:pred&", sm_75, comparisons,
       "u16 6.5, u32 6.5, s16 6.5, s32 6.5"},
      {"set{$compare}{$bool}{,.ftz}{.u32,.s32,.f16x2}.f16x2", "d:U a:T b:T c:pred&", sm_75, halves_by_set,
       "u32 6.5, s32 6.5"},
      {"set{$compare}{$bool}{.u16,.u32,.s16,.s32,.bf16}.bf16", "d:U a:T b:T c:pred(1..0)&", sm_90, comparisons},
      {"set{$compare}{$bool}{.u32,.s32,.bf16x2}.bf16x2", "d:U a:T b:T c:pred(1..0)&", sm_90, halves_by_set},
      {"set{$unsigned}{$bool}.bf16{.u16,.u32,.u64}", "d:U a:T b:T c:pred(1..0)&", sm_90, comparisons},
      {"set{$order}{$bool}.bf16{.s16,.s32,.s64}", "d:U a:T b:T c:pred(1..0)&", sm_90, comparisons},
      {"set{$eq}{$bool}.bf16{$bits}", "d:U a:T b:T c:pred(1..0)&", sm_90, comparisons},
      {"set{$compare}{$bool}.bf16{.f16,.f32,.f64}", "d:U a:T b:T c:pred(1..0)&", sm_90, comparisons},
      {"setp{$unsigned}{$bool}{.u16,.u32,.u64}", "d_|q:pred a:T b:T c:pred&", sm_75, comparisons},
      {"setp{$order}{$bool}{.s16,.s32,.s64}", "d_|q:pred a:T b:T c:pred&", sm_75, comparisons},
      {"setp{$eq}{$bool}{$bits}", "d_|q:pred a:T b:T c:pred&", sm_75, comparisons},
      {"setp{$compare}{$bool}{,.ftz}{.f32,.f16x2}", "d_|q:pred a:T b:T c:pred&", sm_75, comparisons},
      {"setp{$compare}{$bool}.f64", "d_|q:pred a:T b:T c:pred&", sm_75, comparisons},
      {"setp{$compare}{$bool}{,.ftz}.f16", "d_:pred a:T b:T c:pred&", sm_75, comparisons},
      {"setp{$compare}{$bool}.bf16", "d_:pred a:T b:T c:pred(1..0)&", sm_90, comparisons},
      {"setp{$compare}{$bool}.bf16x2", "d_|q:pred a:T b:T c:pred(1..0)&", sm_90, comparisons},
      {"selp{$any}", "d:T a:T b:T c:pred", sm_75, comparisons},
      {"slct{$any}.s32", "d:U a:U b:U c:T", sm_75, comparisons},
      {"slct{,.ftz}{$any}.f32", "d:U a:U b:U c:T", sm_75, comparisons},
  };
  return kRows;
}

std::span<const FormRow> logic_rows() {
  static constexpr FormRow kRows[] = {
      {"{and,or,xor}{$bits,.pred}", "d:T a:T b:T", sm_75, logic},
      {"not{$bits,.pred}", "d:T a:T", sm_75, logic},
      {"cnot{$bits}", "d:T a:T", sm_75, logic},
      {"lop3.b32", "d_:T a:T b:T c:T #imm", sm_75, logic},
      {"lop3{.or,.and}.b32", "d_&p:T a:T b:T c:T #imm q:pred", sm_75, logic, "8.2"},
      {"shf{.l,.r}{.clamp,.wrap}.b32", "d:T a:T b:T c:u32", sm_75, logic},
      {"shl{$bits}", "d:T a:T b:u32", sm_75, logic},
      {"shr{$int,$bits}", "d:T a:T b:u32", sm_75, logic},
      {"prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}", "d:T a:T b:T c:T", sm_75, logic},
  };
  return kRows;
}

}  // namespace warpbit::ptx
