// SPDX-License-Identifier: Apache-2.0
// Surface instructions.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> surfaces_rows() {
  static constexpr FormRow kRows[] = {
      {"suld.b{.1d,.2d,.3d,.a1d,.a2d}{,.ca,.cg,.cs,.cv}{,.v2,.v4}{.b8,.b16,.b32}{.trap,.clamp,.zero}",
       "#d:T [h,s]", sm_75, surfaces},
      {"suld.b{.1d,.2d,.3d,.a1d,.a2d}{,.ca,.cg,.cs,.cv}{,.v2}.b64{.trap,.clamp,.zero}", "#d:T [h,s]", sm_75,
       surfaces},
      {"sust.b{.1d,.2d,.3d,.a1d,.a2d}{,.wb,.cg,.cs,.wt}{,.v2,.v4}{.b8,.b16,.b32}{.trap,.clamp,.zero}",
       "[h,s] #a:T", sm_75, surfaces},
      {"sust.b{.1d,.2d,.3d,.a1d,.a2d}{,.wb,.cg,.cs,.wt}{,.v2}.b64{.trap,.clamp,.zero}", "[h,s] #a:T", sm_75,
       surfaces},
      {"sust.p{.1d,.2d,.3d,.a1d,.a2d}{,.wb,.cg,.cs,.wt}{,.v2,.v4}.b32{.trap,.clamp,.zero}", "[h,s] #a:T", sm_75,
       surfaces},
      {"sured.b.add{.1d,.2d,.3d}{.u32,.u64,.s32}{.trap,.clamp,.zero}", "[h,s] a:T", sm_75, surfaces},
      {"sured.b{.min,.max}{.1d,.2d,.3d}{.u32,.u64,.s32,.s64}{.trap,.clamp,.zero}", "[h,s] a:T", sm_75,
       surfaces},
      {"sured.b{.and,.or}{.1d,.2d,.3d}.b32{.trap,.clamp,.zero}", "[h,s] a:T", sm_75, surfaces},
      {"sured.p{.add,.min,.max,.and,.or}{.1d,.2d,.3d}.b32{.trap,.clamp,.zero}", "[h,s] a:T", sm_75, surfaces},
      {"sured.p{.min,.max}{.1d,.2d,.3d}.b64{.trap,.clamp,.zero}", "[h,s] a:T", sm_75, surfaces},
      {"suq{.width,.height,.depth}.b32", "d:T [w]", sm_75, surfaces},
      // The driver loads no kernel that has them.
      {"suq{.channel_data_type,.channel_order,.array_size,.memory_layout}.b32", "d:T [w]", sm_75, not_measured},
      {"istypep{.texref,.samplerref,.surfref}", "d:pred a:u64", sm_75, surfaces},
  };
  return kRows;
}

}  // namespace warpbit::ptx
