// SPDX-License-Identifier: Apache-2.0
// Video instructions. The third source is none where there is no second operation and the result is a whole register: ptxas
// takes one there, too.
#include "ptx/rows/rows.hpp"

namespace warpbit::ptx {

using enum Feature;
using enum Kind;

std::span<const FormRow> video_rows() {
  static constexpr FormRow kRows[] = {
      {"{vadd,vsub,vabsdiff,vmin,vmax}$us$us$us{,.sat}", "d:u32 a.part:u32 b.part:u32", sm_75, video},
      {"{vadd,vsub,vabsdiff,vmin,vmax}$us$us$us{,.sat}", "d.part:u32 a.part:u32 b.part:u32 c:u32", sm_75,
       video},
      {"{vadd,vsub,vabsdiff,vmin,vmax}$us$us$us{,.sat}$secondary", "d:u32 a.part:u32 b.part:u32 c:u32", sm_75,
       video},
      {"{vshl,vshr}$us$us{.u32}{,.sat}{.clamp,.wrap}", "d:u32 a.part:u32 b.part:u32", sm_75, video},
      {"{vshl,vshr}$us$us{.u32}{,.sat}{.clamp,.wrap}", "d.part:u32 a.part:u32 b.part:u32 c:u32", sm_75, video},
      {"{vshl,vshr}$us$us{.u32}{,.sat}{.clamp,.wrap}$secondary", "d:u32 a.part:u32 b.part:u32 c:u32", sm_75,
       video},
      // The product may be negative, or the addend.
      {"vmad$us$us$us{,.sat}{,.shr7,.shr15}", "d:u32 +-a.part:u32 +-b.part:u32 c:u32", sm_75, video},
      {"vmad$us$us$us{,.sat}{,.shr7,.shr15}", "d:u32 a.part:u32 b.part:u32 -c:u32", sm_75, video},
      {"vmad$us$us$us{,.sat}{,.shr7,.shr15}", "d:u32 -a.part:u32 -b.part:u32 -c:u32", sm_75, video},
      {"vmad$us$us$us{.po}{,.sat}{,.shr7,.shr15}", "d:u32 a.part:u32 b.part:u32 c:u32", sm_75, video},
      {"vmad$us$us$us{.po}{,.sat}{,.shr7,.shr15}", "d:u32 -a.part:u32 -b.part:u32 c:u32", sm_75, video},
      {"vset$us$us$order", "d:u32 a.part:u32 b.part:u32", sm_75, video},
      {"vset$us$us$order", "d.part:u32 a.part:u32 b.part:u32 c:u32", sm_75, video},
      {"vset$us$us$order$secondary", "d:u32 a.part:u32 b.part:u32 c:u32", sm_75, video},
      // Registers alone are operands of the others.
      {"{vadd2,vsub2,vavrg2,vabsdiff2,vmin2,vmax2}$us$us$us{,.sat,.add}",
       "d.half_mask:u32 a.halves:u32(1..0) b.halves:u32(1..0) c:u32(1..0)", sm_75, video},
      {"vset2$us$us$order{,.add}", "d.half_mask:u32 a.halves:u32(1..0) b.halves:u32(1..0) c:u32(1..0)", sm_75,
       video},
      {"{vadd4,vsub4,vavrg4,vabsdiff4,vmin4,vmax4}$us$us$us{,.sat,.add}",
       "d.byte_mask:u32 a.bytes:u32(1..0) b.bytes:u32(1..0) c:u32(1..0)", sm_75, video},
      {"vset4$us$us$order{,.add}", "d.byte_mask:u32 a.bytes:u32(1..0) b.bytes:u32(1..0) c:u32(1..0)", sm_75,
       video},
  };
  return kRows;
}

}  // namespace warpbit::ptx
