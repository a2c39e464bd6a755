// SPDX-License-Identifier: Apache-2.0
// Defects of integers and bits of whole registers.
#include <array>

#include "assembler/defect_finder.hpp"

namespace warpbit::assembler {
namespace {

using Sources = std::array<unsigned, 3>;  // each a bit for each of 8 cases

unsigned looked_up(std::uint64_t table, const Sources& sources) {
  unsigned out = 0;
  for (unsigned at = 0; at < 8; ++at) {
    const auto bit = [&](std::size_t n) { return sources[n] >> at & 1; };
    out |= static_cast<unsigned>(table >> (bit(0) << 2 | bit(1) << 1 | bit(2)) & 1) << at;
  }
  return out;
}

// Which sources become 0 where lop3 is merged with the and, xor of its result and source z: those behind the first of equal
// ones; the first one if the first two are equal, and z is the third.
Sources cut(const Sources& of, std::size_t z) {
  Sources out = of;
  if (of[0] == of[1] && of[1] == of[2])
    out[1] = out[2] = 0;
  else if (of[0] != of[1])
    out[2] = 0;
  else
    out[z == 2 ? 0 : 1] = 0;
  return out;
}

}  // namespace

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
  return v.is_twice() && !known_.source(v, 3);
}

// @p set.lt.f32.f32 d, a, b
bool DefectFinder::set_guard(const View& v) const {
  if (!keeps_old(v)) return false;
  const std::string_view to = v.result_type(), from = v.type();
  return is_among(to, {"f32", "f16", "bf16"}) ||
         (is_among(to, {"u32", "s32"}) && is_among(from, {"b16", "u16", "s16", "f16", "bf16"}));
}
// Whether a guard leaves the register with what another statement wrote.
bool DefectFinder::keeps_old(const View& v) const {
  return v.is_guarded() && known_.guard(v) != true && !flow_.is_written_once(v.operand(0).index);
}

// lop3.b32 t, a, b, b, 0x6A; xor.b32 d, t, b
bool DefectFinder::lop3_twice(const View& v) const {
  const auto table = known_.source(v, 4);
  if (v.is_guarded() || !table) return false;
  std::array<int, 3> from{};
  for (int n = 0; n < 3; ++n) from[static_cast<std::size_t>(n)] = origin(v, n + 1);
  const int twice = from[0] == from[1] || from[0] == from[2] ? from[0] : from[1] == from[2] ? from[1] : -1;
  if (twice < 0) return false;
  Sources sources{};
  for (std::size_t n = 0; n < 3; ++n) sources[n] = from[n] == twice ? 0xF0 : 0xCC;
  bool out = false;
  for (const Halves::Value& copy : halves_.copies(result(v))) {
    const Flow::Uses all = halves_.uses(copy.statement, copy.reg);
    if (all.elsewhere) return false;
    for (const int i : all.statements) {
      const View use{f_, i};
      if (use.opcode() == "mov") continue;
      if (use.is_guarded() || !is_among(use.opcode(), {"and", "xor"}) || use.type() != "b32") return false;
      const int other = origin(use, use.is_register(1) && use.operand(1).index == copy.reg ? 2 : 1);
      const auto z = static_cast<std::size_t>(std::ranges::find(from, other) - from.begin());
      if (other < 0 || z == 3 || !is_same(other, v.i, i)) return false;
      const unsigned changed = looked_up(*table, sources) ^ looked_up(*table, cut(sources, z));
      out = out || (use.opcode() == "xor" ? changed : changed & sources[z]) != 0;
    }
  }
  return out;
}

// mad.hi.s32 d, a, b, d, three times
bool DefectFinder::high_chain(const View& v) const {
  if (v.is_guarded() || !v.is_register(3)) return false;
  if (repeats_high(v)) return true;
  const View above = maker(v, 3);
  if (above.i < 0 || !makes_high(above, v)) return false;
  const Flow::Uses all = halves_.uses(v.i, v.operand(0).index);
  return std::ranges::any_of(all.statements, [&](int i) {
    const View use{f_, i};
    return use.opcode() == "mad" && use.has("hi") && use.has("sat") == v.has("sat") && use.is_register(3) &&
           use.operand(3).index == v.operand(0).index;
  });
}
// Whether the first one has the same factors, and is there for the second one alone, as its own addend is for it.
bool DefectFinder::makes_high(const View& first, const View& second) const {
  if (first.opcode() != "mad" || !std::ranges::equal(first.words(), second.words()) || known_.source(first, 3))
    return false;
  for (const int n : {1, 2}) {
    const auto known = known_.source(first, n);
    if (!is_same_source(first, n, second, n) && !(known && known == known_.source(second, n))) return false;
  }
  const auto serves = [&](int from, int reg, int to) {
    const Flow::Uses all = halves_.uses(from, reg);
    return !all.elsewhere && all.statements == std::vector<int>{to};
  };
  const int addend = first.is_register(3) ? flow_.definition(first.operand(3).index, first.i) : -1;
  return serves(first.i, first.operand(0).index, second.i) &&
         (addend < 0 || serves(addend, first.operand(3).index, first.i));
}
// L: mad.hi.s32 d, a, b, d; @p bra L
bool DefectFinder::repeats_high(const View& v) const {
  return loops(v) && v.operand(0).index == v.operand(3).index && is_invariant(v, 1) && is_invariant(v, 2) &&
         flow_.definition_above(v.operand(3).index, v.i) < 0;
}

// slct.s32.s32 d, a, b, 0x80000000
bool DefectFinder::slct_literal(const View& v) const {
  const auto decides = known_.source(v, 3);
  if (!decides || v.words().front() != "s32" || (origin(v, 1) >= 0 && origin(v, 1) == origin(v, 2)))
    return false;
  const auto bits = static_cast<std::uint32_t>(*decides);
  return bits == 0x80000000 || (bits > 0x7F800000 && bits < 0x80000000);
}

// add.s32 t, x, y; sub.sat.s32 d, t, y
bool DefectFinder::saturated_sum(const View& v) const {
  for (const int n : {1, 2}) {
    const View sum = maker(v, n);
    if (sum.i < 0 || !is_among(sum.opcode(), {"add", "sub"}) || !is_among(sum.type(), {"s32", "u32"}) ||
        sum.words().size() != 1)
      continue;
    if (n == 1 || v.opcode() == "add" ? joins_numbers(sum, v) || undoes(sum, v, n) : undoes(sum, v, n))
      return true;
  }
  return false;
}
// Whether a term of the sum, which is source n, comes again with the other sign.
bool DefectFinder::undoes(const View& sum, const View& v, int n) const {
  const auto is_other = [&](int m) { return is_same_source(sum, m, v, 3 - n); };
  const bool is_difference = sum.opcode() == "sub";
  if (v.opcode() == "add") return is_difference && is_other(2);
  return is_other(1) || (!is_difference && is_other(2));
}
// Whether both add a number that is known.
bool DefectFinder::joins_numbers(const View& sum, const View& v) const {
  const auto is_number = [&](const View& of, int n) { return known_.source(of, n).value_or(0) != 0; };
  return is_number(sum, 1) != is_number(sum, 2) && (is_number(v, 1) || is_number(v, 2)) && serves_alone(sum, v);
}

// bfe.s32 r, x, 8, 8; cvt.rn.f32.u32 d, r
bool DefectFinder::signed_part(const View& v) const {
  if (v.is_guarded()) return false;
  const std::string_view to = v.result_type();
  const View made = maker(v, 1);
  if (made.i < 0) return false;
  if (v.type() == "u64") {
    const bool widens = made.opcode() == "cvt" && made.type() == "u32" && made.has("u64");
    const View part = widens ? maker(made, 1) : made;
    return widens && to == "f32" && part.i >= 0 && makes_signed_part(part);
  }
  return (v.has("sat") || is_among(to, {"f16", "bf16", "f32", "f64"})) && makes_signed_part(made);
}
// Whether it extends the sign of a byte or a half of a word, at a place of it.
bool DefectFinder::makes_signed_part(const View& v) const {
  if (v.opcode() == "ld")
    return v.type() == "s8" && (v.has("v2") || v.has("v4")) && !v.has("param") && !v.has("const");
  if (v.opcode() != "bfe" || v.type() != "s32" || known_.source(v, 1)) return false;
  const auto position = known_.source(v, 2), length = known_.source(v, 3);
  return position && length && (*length == 8 || *length == 16) && *position < 32 && *position % *length == 0;
}

// cnot.b32 n, a; shl.b16 d, b, n
bool DefectFinder::cnot_minus(const View& v) const {
  if (v.is_guarded()) return false;
  return std::ranges::any_of(halves_.readers(result(v)), [&](const View& use) {
    if (use.opcode() == "cvt")
      return use.has("sat") && use.type() == "u32" && is_among(use.result_type(), {"u8", "u16"});
    return (use.opcode() == "shl" && use.type() == "b16") || (use.opcode() == "shr" && use.type() == "u16");
  });
}

// mul.hi.u32 a, x, y; sub.cc.u32 d, a, b
bool DefectFinder::carry_of_zero(const View& v) const {
  if (v.type() == "s64" || v.type() == "u64") {
    const View made = maker(v, 2);
    return made.i >= 0 && made.opcode() == "abs" && made.type() == "s64";
  }
  const View made = maker(v, 1);
  return made.i >= 0 && made.opcode() == "mul" && made.has("hi") && is_among(made.type(), {"u32", "s32"}) &&
         v.is_register(2) && !known_.source(v, 2) && serves_alone(made, v);
}

// cvt.s64.u32 a, x; shl.b64 d, a, 3
bool DefectFinder::shift_sign(const View& v) const {
  const auto by = known_.source(v, 2);
  const View made = maker(v, 1);
  return by && *by >= 1 && *by < 32 && made.i >= 0 && made.opcode() == "cvt" && made.words().size() == 2 &&
         made.has("s64") && made.type() == "u32" && !known_.source(made, 1) && !is_short(made, 1);
}
// Whether a word is never 2^31 or more.
bool DefectFinder::is_short(const View& v, int n) const {
  const View made = maker(v, n);
  if (made.i < 0) return false;
  const auto below = [&](int m, std::uint64_t end) {
    const auto known = known_.source(made, m);
    return known && *known != 0 && *known < end;
  };
  if (made.opcode() == "and") return below(1, 0x80000000) || below(2, 0x80000000);
  if (made.opcode() == "shr") return made.type() == "u32" && below(2, 32);
  return is_among(made.opcode(), {"bfe", "popc", "clz", "bfind", "rem"}) ||
         (made.opcode() == "mov" && made.operand(1).kind == Operand::Kind::special) ||
         is_among(made.type(), {"u8", "u16", "b8", "b16"});
}

}  // namespace warpbit::assembler
