// SPDX-License-Identifier: Apache-2.0
// Defects of halves and bytes, and of signs beside them.
#include <array>

#include "assembler/defect_finder.hpp"

namespace warpbit::assembler {

// add.s16x2 d, a, c; mov.b32 {_, h}, d
bool DefectFinder::half_addend(const View& v) const {
  if (v.is_guarded()) return false;
  const Flow::Uses all = halves_.uses(v.i, v.operand(0).index);
  unsigned half = all.elsewhere ? kAll : 0;
  for (const int i : all.statements)
    if (!takes_sum({f_, i})) half |= halves_.used_by({f_, i}, v.operand(0).index);
  if (half != kLow && half != kHigh) return false;
  const auto is_dropped = [&](int n) {
    const auto addend = known_.source(v, n);
    return addend && (*addend >> (half == kLow ? 0 : 16) & 0xFFFF) != 0;
  };
  return is_dropped(1) || is_dropped(2);
}

// min and max of both halves are one instruction with a sum.
bool DefectFinder::takes_sum(const View& v) const {
  return is_among(v.opcode(), {"min", "max"}) && is_among(v.type(), {"u16x2", "s16x2"}) && v.is_register(0) &&
         (halves_.used(v.i, v.operand(0).index) & kWord) == kWord;
}

// ld.u16 d, [p]; mov.b32 {_, h}, d
bool DefectFinder::upper_half(const View& v) const {
  if (v.operand(0).kind == Operand::Kind::vector) return upper_half_of_constant(v);
  if (v.has("param") || (v.has("const") && is_at_symbol(v))) return false;
  if (result_bits(v) > 16) return used_word(v) == kHigh;
  if (!is_among(v.type(), {"b16", "u16", "s16"})) return false;
  const Flow::Uses all = halves_.uses(v.i, v.operand(0).index);
  unsigned out = all.elsewhere ? kWord : 0;
  for (const int i : all.statements) {
    const View use{f_, i};
    const bool widens = use.opcode() == "cvt" && use.words().size() == 2 && use.type() == "u16" &&
                        (use.has("u32") || use.has("u64"));
    out |= widens ? used_word(use) : kLow;
  }
  return out == kHigh;
}
// ld.const.v2.u8 {c, d}, [p]; mov.b32 {_, h}, d
bool DefectFinder::upper_half_of_constant(const View& v) const {
  if (!v.has("const") || !is_among(v.type(), {"b8", "u8", "b16", "u16"})) return false;
  const Operand& to = v.operand(0);
  for (int n = 1; n < to.count; ++n) {
    const Operand& one = f_.operands[static_cast<std::size_t>(to.first + n)];
    if (one.kind == Operand::Kind::reg && (halves_.used(v.i, one.index) & kWord) == kHigh &&
        ptx::bits(f_.registers[static_cast<std::size_t>(one.index)].type) == 32)
      return true;
  }
  return false;
}
bool DefectFinder::is_at_symbol(const View& v) const {
  const Operand& from = v.operand(1);
  return from.count > 0 && f_.operands[static_cast<std::size_t>(from.first)].kind == Operand::Kind::symbol;
}
unsigned DefectFinder::used_word(const View& v) const {
  return halves_.used(v.i, v.operand(0).index) & kWord;
}

// neg.s16 d, a; mul.wide.s16 p, d, b
bool DefectFinder::short_sign(const View& v) const {
  if (v.is_guarded() || (v.opcode() == "sub" && !is_known(v, 1, 0))) return false;
  const std::vector<View> all = halves_.readers(result(v));
  return std::ranges::any_of(all, [&](const View& use) {
    return extends_sign(use) ||
           (v.opcode() == "abs" && use.opcode() == "cvt" && use.type() == "u16" && use.has("f32"));
  });
}
bool DefectFinder::extends_sign(const View& v) const {
  if (v.type() != "s16") return false;
  if (v.opcode() == "cvt") return v.has("sat") || is_among(v.words().front(), {"u32", "s32", "u64", "s64"});
  if (v.opcode() == "mul" || v.opcode() == "mad") return v.has("wide") || v.has("hi");
  return is_among(v.opcode(), {"div", "rem", "shr", "setp", "set", "sad"});
}

// prmt.b32 d, a, b, 0x000B; cvt.u32.u8 e, d
bool DefectFinder::sign_byte(const View& v) const {
  if (v.words().size() != 1) return false;  // .f4e and the like
  const auto selector = known_.source(v, 3);
  if (!selector) return false;
  int bytes = 0;
  for (const Halves::Value& copy : halves_.copies(result(v)))
    for (const int i : halves_.uses(copy.statement, copy.reg).statements)
      bytes = std::max(bytes, kept_bytes({f_, i}, copy.reg));
  for (const Halves::Value& low : halves_.low_halves(result(v)))
    for (const View& use : halves_.readers(low))
      bytes = std::max(bytes, use.opcode() == "cvt" && use.has("u8") ? 1 : extends_zero(use) ? 2 : 0);
  bool takes_byte = false, takes_sign = false;  // of the first source
  for (int n = 0; n < bytes; ++n) {
    const std::uint64_t one = *selector >> 4 * n & 15;
    takes_byte = takes_byte || one < 4;
    takes_sign = takes_sign || (one >= 8 && one < 12);
  }
  return takes_sign && !takes_byte;
}
// Of a word: its lowest bytes that are left, by a mask; 0 if it is no such statement.
int DefectFinder::kept_bytes(const View& v, int reg) const {
  if (v.opcode() == "cvt" && !v.has("sat") && v.words().size() == 2)
    return v.has("u8") ? 1 : v.type() == "u16" ? 2 : 0;
  if (v.opcode() != "and" || v.type() != "b32") return 0;
  const int other = v.is_register(1) && v.operand(1).index == reg ? 2 : 1;
  return is_known(v, other, 0xFF) ? 1 : is_known(v, other, 0xFFFF) ? 2 : 0;
}
bool DefectFinder::extends_zero(const View& v) const {
  return v.type() == "u16" && is_among(v.opcode(), {"mul", "mad", "div", "rem", "shr", "cvt"});
}

// abs.s32 d, a; setp.lt.s32 p, d, 0
bool DefectFinder::word_sign(const View& v) const {
  const bool is_absolute = v.opcode() == "abs";
  if (v.opcode() == "sub" && !is_known(v, 1, 0)) return false;
  for (const Halves::Value& copy : halves_.copies(result(v)))
    for (const int i : halves_.uses(copy.statement, copy.reg).statements) {
      const View use{f_, i};
      if (takes_least(use, v)) return true;
      const auto is = [&](int n) { return use.is_register(n) && use.operand(n).index == copy.reg; };
      if (use.opcode() == "slct" && use.type() == "s32" && is(3)) {
        const bool of_signed = use.words().front() == "s32";  // slct.s32.s32
        if (is_absolute != of_signed) return true;
      }
      if (!is_absolute || !is_among(use.opcode(), {"setp", "set"}) || use.type() != v.type()) continue;
      if ((use.has("lt") || use.has("ge")) && is(1) && is_known(use, 2, 0)) return true;
      if ((use.has("gt") || use.has("le")) && is(2) && is_known(use, 1, 0)) return true;
    }
  return false;
}
// neg.s32 d, a; cvt.sat.u8.s32 e, d
bool DefectFinder::takes_least(const View& use, const View& made) const {
  if (use.opcode() != "cvt" || use.has("pack") || made.type() != "s32") return false;
  if (use.type() == "s32") return use.has("sat") && !made.is_guarded();
  return use.type() == "u32" && use.has("f32") && made.opcode() == "abs" && !made.is_guarded();
}

// neg.f16 a, a; mov.b32 x, {a, b}; fma.rn.f16x2 d, x, x, c
bool DefectFinder::half_square(const View& v) const {
  if (v.rounds() && v.opcode() == "mul") return false;
  if (!v.is_twice()) return false;
  if (v.opcode() == "mul") {
    const Flow::Uses all = flow_.uses(v.i, v.operand(0).index);
    const bool is_summed = std::ranges::all_of(all.statements, [&](int i) {
      const View use{f_, i};
      return is_among(use.opcode(), {"add", "sub"}) && !use.rounds() && use.type() == v.type();
    });
    if (!is_summed || all.elsewhere || v.is_guarded()) return false;
  }
  if (const auto word = known_.source(v, 1)) return *word == 0x80000000 || *word == 0x8000;
  const View made = maker(v, 1);
  if (made.i < 0 || made.opcode() != "mov" || made.operand(1).kind != Operand::Kind::vector) return false;
  const Operand& halves = made.operand(1);
  if (halves.count != 2) return false;
  const auto half = [&](int n) {
    return is_signed_half(made, f_.operands[static_cast<std::size_t>(halves.first + n)]);
  };
  return half(0) == true ? !half(1) : half(1) == true && !half(0);
}
// Whether a half that is packed has a sign that the assembler knows; nothing: it knows nothing of it.
std::optional<bool> DefectFinder::is_signed_half(const View& v, const Operand& half) const {
  if (half.kind != Operand::Kind::reg) return false;
  const View made = maker_of(half, v.i);
  if (made.i < 0) return {};
  if (made.opcode() == "neg") return is_among(made.type(), {"f16", "bf16"});
  if (const auto known = known_.result(made)) return (*known & 0x8000) != 0;
  return {};
}

// abs.f16x2 a, a; neg.f16x2 b, b; max.NaN.xorsign.abs.f16x2 d, a, b
bool DefectFinder::xorsign_half(const View& v) const {
  return std::ranges::all_of(std::array{1, 2}, [&](int n) {
    const View made = maker(v, n);
    return made.i >= 0 && is_among(made.opcode(), {"abs", "neg"}) && made.type() == "f16x2";
  });
}

}  // namespace warpbit::assembler
