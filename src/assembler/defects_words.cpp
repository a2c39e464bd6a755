// SPDX-License-Identifier: Apache-2.0
// Defects of integers and bits of whole registers.
#include "assembler/defect_finder.hpp"

namespace warpbit::assembler {

bool DefectFinder::bfe_position(const View& v) const {
  const auto position = known_.source(v, 2), length = known_.source(v, 3);
  return position && (*position & 0xFF) >= 32 && length && (*length & 0xFF) != 0 && !known_.source(v, 1);
}

bool DefectFinder::bfi_length(const View& v) const {
  if (known_.source(v, 2)) return false;
  const auto position = known_.source(v, 3), length = known_.source(v, 4);
  return position && length && (*position & 0xFF) >= 1 && (*position & 0xFF) < 32 && (*length & 0xFF) >= 32;
}

bool DefectFinder::funnel_clamp(const View& v) const {
  return v.has("clamp") && v.is_register(1) && v.is_register(2) && v.operand(1).index == v.operand(2).index &&
         !known_.source(v, 3);
}

// @p set.lt.f32.f32 d, a, b
bool DefectFinder::set_guard(const View& v) const {
  const auto words = v.words();
  if (words.size() < 2 || !keeps_old(v)) return false;
  const std::string_view to = words[words.size() - 2], from = words.back();
  return is_among(to, {"f32", "f16", "bf16"}) ||
         (is_among(to, {"u32", "s32"}) && is_among(from, {"b16", "u16", "s16", "f16", "bf16"}));
}
// Whether a guard leaves the register with what another statement wrote.
bool DefectFinder::keeps_old(const View& v) const {
  return v.is_guarded() && known_.guard(v) != true && !flow_.is_written_once(v.operand(0).index);
}

}  // namespace warpbit::assembler
