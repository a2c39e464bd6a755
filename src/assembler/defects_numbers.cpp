// SPDX-License-Identifier: Apache-2.0
// Defects of floating point.
#include "assembler/defect_finder.hpp"

namespace warpbit::assembler {

// Where a source of a statement is written: above it in its block, or by the only statement that writes it; -1: elsewhere.
int DefectFinder::definition(const View& v, int n) const {
  const int reg = v.operand(n).index, above = flow_.definition_above(reg, v.i);
  return above >= 0 ? above : flow_.only_definition(reg);
}
// Whether it stands in a loop of one block.
bool DefectFinder::loops(const View& v) const {
  const int block = flow_.block(v.i);
  const std::vector<int>& next = flow_.blocks()[static_cast<std::size_t>(block)].next;
  return std::ranges::find(next, block) != next.end();
}
// Of a statement in such a loop: whether a source has one value in all rounds.
bool DefectFinder::is_invariant(const View& v, int n) const {
  if (!v.is_register(n)) return true;
  const int last = flow_.blocks()[static_cast<std::size_t>(flow_.block(v.i))].last - 1;
  return flow_.definition_above(v.operand(n).index, last) < 0;
}

// L: mul.f32 p, x, c; sub.f32 s, d, p; sub.f32 x, k, x; @q bra L
bool DefectFinder::alternating(const View& v) const {
  if (v.is_guarded() || v.rounds() || v.has("sat") || !loops(v)) return false;
  const Flow::Uses all = flow_.uses(v.i, v.operand(0).index);
  const bool is_summed = std::ranges::all_of(all.statements, [&](int i) {
    const View use{f_, i};
    const int other = use.is_register(1) && use.operand(1).index == v.operand(0).index ? 2 : 1;
    return is_among(use.opcode(), {"add", "sub"}) && !use.rounds() && !use.has("sat") &&
           is_invariant(use, other);
  });
  if (!is_summed || all.elsewhere || all.statements.empty()) return false;
  return (is_invariant(v, 2) && alternates(v, 1)) || (is_invariant(v, 1) && alternates(v, 2));
}
// Whether a factor of a product becomes, behind it, a number less itself in each round.
bool DefectFinder::alternates(const View& product, int n) const {
  if (!product.is_register(n)) return false;
  const int x = product.operand(n).index;
  const int last = flow_.blocks()[static_cast<std::size_t>(flow_.block(product.i))].last - 1;
  int at = flow_.definition_above(x, last);
  if (at < product.i || flow_.definition_above(x, product.i) >= 0) return false;
  View next{f_, at};
  if (next.opcode() == "mov" && !next.is_guarded() && next.is_register(1)) {
    at = flow_.definition_above(next.operand(1).index, at);
    if (at < product.i) return false;
    next.i = at;
  }
  if (next.is_guarded() || next.rounds() || next.type() != "f32") return false;
  const auto is_x = [&](const View& v, int m) { return v.is_register(m) && v.operand(m).index == x; };
  if (next.opcode() == "sub") return is_x(next, 2) && is_invariant(next, 1);
  if (next.opcode() != "add") return false;
  for (const int m : {1, 2}) {
    const int above = next.is_register(m) ? flow_.definition_above(next.operand(m).index, next.i) : -1;
    const View sign{f_, above};
    if (above >= 0 && sign.opcode() == "neg" && !sign.is_guarded() && is_x(sign, 1))
      return is_invariant(next, 3 - m);
  }
  return false;
}

}  // namespace warpbit::assembler
