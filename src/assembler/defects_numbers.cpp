// SPDX-License-Identifier: Apache-2.0
// Defects of floating point.
#include <bit>
#include <limits>

#include "assembler/defect_finder.hpp"

namespace warpbit::assembler {

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

// cvt.rn.f16.bf16 h, b; cvt.rzi.s32.f16 d, h
bool DefectFinder::half_to_half(const View& v) const {
  const View made = maker(v, 1);
  return made.i >= 0 && made.opcode() == "cvt" && made.type() == (v.type() == "f16" ? "bf16" : "f16") &&
         made.has(v.type());
}

namespace {

struct Range {
  float low, high;
};
constexpr float kEndless = std::numeric_limits<float>::infinity();

// What a function of f32 gives for all numbers.
std::optional<Range> range_of(std::string_view opcode) {
  if (opcode == "abs" || opcode == "ex2" || opcode == "mul") return Range{0, kEndless};
  if (opcode == "sin" || opcode == "cos" || opcode == "tanh") return Range{-1, 1};
  return {};
}

// Whether a comparison is true of all numbers of a range.
bool is_true(std::string_view compare, Range x, float c) {
  if (c == -kEndless) return false;
  return compare == "ge" ? c <= x.low : compare == "gt" ? c < x.low : compare == "lt" && c > x.high;
}
std::string_view mirrored(std::string_view compare) {
  return compare == "le" ? "ge" : compare == "lt" ? "gt" : compare == "gt" ? "lt" : "";
}

}  // namespace

std::optional<float> DefectFinder::number(const View& v, int n) const {
  const auto bits = known_.source(v, n);
  if (!bits) return {};
  return std::bit_cast<float>(static_cast<std::uint32_t>(*bits));
}

// abs.f32 x, a; setp.ge.f32 p, x, 0f00000000
bool DefectFinder::nan_range(const View& v) const {
  const bool chooses = v.opcode() == "slct";
  if (chooses ? v.words().size() != 2 || v.words().front() == "f32"
              : v.has("and") || v.has("or") || v.has("xor"))
    return false;
  for (const int n : {1, 2}) {
    const View made = maker(v, chooses ? 3 : n);
    if (made.i < 0 || made.type() != "f32" || made.rounds() || made.has("sat")) continue;
    const auto range = range_of(made.opcode());
    if (!range || (made.opcode() == "abs" && made.has("ftz")) ||
        (made.opcode() == "mul" && (origin(made, 1) < 0 || origin(made, 1) != origin(made, 2))))
      continue;
    if (chooses) return range->low == 0;
    const auto with = number(v, 3 - n);
    const std::string_view compare = v.words().front();
    if (with && is_true(n == 1 ? compare : mirrored(compare), *range, *with)) return true;
  }
  return false;
}

}  // namespace warpbit::assembler
