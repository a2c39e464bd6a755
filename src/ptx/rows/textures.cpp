// SPDX-License-Identifier: Apache-2.0
// Texture instructions.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> textures_rows() {
  static constexpr FormRow kRows[] = {
      {"tex{,.base}{.1d,.2d,.3d,.a1d,.a2d}.v4{.u32,.s32,.f32}{.s32,.f32}", "#d:U [h,x]", sm_75, textures},
      {"tex{,.base}{.cube,.acube}.v4{.u32,.s32,.f32}.f32", "#d:U [h,x]", sm_75, textures},
      {"tex.level{.1d,.2d,.3d,.a1d,.a2d}.v4{.u32,.s32,.f32}{.s32,.f32}", "#d:U [h,x] a:T", sm_75, textures},
      {"tex.level{.cube,.acube}.v4{.u32,.s32,.f32}.f32", "#d:U [h,x] a:T", sm_75, textures},
      // With an offset, or a depth that is compared.
      {"tex{.1d,.2d,.a1d,.a2d}.v4{.u32,.s32,.f32}{.s32,.f32}", "#d:U [h,x] a:T", sm_75, not_measured},
      {"tex.3d.v4{.u32,.s32,.f32}.s32", "#d:U [h,x] a:T", sm_75, not_measured},
      {"tex{.cube,.acube}.v4{.u32,.s32,.f32}.f32", "#d:U [h,x] a:T", sm_75, not_measured},
      {"tex{,.base}{.1d,.2d,.3d,.a1d,.a2d}.v4.f16{.s32,.f32}", "#d:U [h,x]", sm_75, not_measured},
      {"tex{,.base}{.cube,.acube}.v4.f16.f32", "#d:U [h,x]", sm_75, not_measured},
      {"tex{,.base}{.1d,.2d,.3d,.a1d,.a2d}.v2.f16x2{.s32,.f32}", "#d:U [h,x]", sm_75, not_measured},
      {"tex{,.base}{.cube,.acube}.v2.f16x2.f32", "#d:U [h,x]", sm_75, not_measured},
      {"tld4{.r,.g,.b,.a}{.2d,.a2d,.cube,.acube}.v4{.u32,.s32,.f32}.f32", "#d:U [h,x]", sm_75, textures},
      {"txq{.width,.height,.depth}.b32", "d:T [w]", sm_75, textures},
      {"txq{$texture_query}.b32", "d:T [w]", sm_75, not_measured},
  };
  return kRows;
}

}  // namespace warpbit::ptx
