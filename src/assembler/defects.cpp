// SPDX-License-Identifier: Apache-2.0
#include "assembler/defects.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "assembler/halves.hpp"
#include "assembler/known.hpp"

namespace warpbit::assembler {
namespace {

class DefectFinder {
 public:
  explicit DefectFinder(const FunctionText& f) : f_(f), flow_(f), known_(f, flow_), halves_(f, flow_) {}

  bool half_addend(const View& v) const;
  bool upper_half(const View& v) const;
  bool bfe_position(const View& v) const;
  bool bfi_length(const View& v) const;
  bool funnel_clamp(const View& v) const;
  bool short_sign(const View& v) const;
  bool sign_byte(const View& v) const;
  bool word_sign(const View& v) const;

  bool is_needed(int statement) const { return flow_.is_needed(statement); }

 private:
  static bool is_among(std::string_view word, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
  }
  Halves::Value result(const View& v) const { return {v.i, v.operand(0).index}; }
  int result_bits(const View& v) const {
    return ptx::bits(f_.registers[static_cast<std::size_t>(v.operand(0).index)].type);
  }
  bool is_known(const View& v, int n, std::uint64_t number) const {
    const auto found = known_.source(v, n);
    return found && *found == number;
  }
  bool takes_sum(const View& v) const;
  unsigned used_word(const View& v) const;
  bool extends_sign(const View& v) const;
  bool extends_zero(const View& v) const;
  int kept_bytes(const View& v, int reg) const;

  const FunctionText& f_;
  Flow flow_;
  Known known_;
  Halves halves_;
};

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
  if (v.has("param")) return false;
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
unsigned DefectFinder::used_word(const View& v) const {
  return halves_.used(v.i, v.operand(0).index) & kWord;
}

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

// neg.s16 d, a; mul.wide.s16 p, d, b
bool DefectFinder::short_sign(const View& v) const {
  if (v.is_guarded() || (v.opcode() == "sub" && !is_known(v, 1, 0))) return false;
  const std::vector<View> all = halves_.readers(result(v));
  return std::ranges::any_of(all, [&](const View& use) { return extends_sign(use); });
}
bool DefectFinder::extends_sign(const View& v) const {
  if (v.type() != "s16") return false;
  if (v.opcode() == "cvt") return v.has("s32") || v.has("s64") || v.has("sat");
  if (v.opcode() == "mul" || v.opcode() == "mad") return v.has("wide") || v.has("hi");
  return is_among(v.opcode(), {"div", "rem", "shr", "setp"});
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

constexpr std::string_view kBoth = "12.8 and 13.0", kLater = "13.0";
constexpr std::string_view kH100 = "H100: random kernels; machine code of ptxas 13.0";

struct Row {
  DefectRow row;
  std::array<std::string_view, 3> opcodes;  // with a register for the result
  std::array<std::string_view, 6> types;
  bool (DefectFinder::*finds)(const View&) const;
};
constexpr Row kRows[] = {
    {{"half-addend",
      "add.s16x2, add.u16x2 with an addend that is known, and of the sum one half alone is used, by mov.b32 {_, h}, "
      "cvt.u16.u32, st.b16 or another such add; min and max of both halves beside do not count",
      "drops the addend", "each half is a sum", kBoth, "H100; machine code of ptxas 13.0"},
     {"add"},
     {"u16x2", "s16x2"},
     &DefectFinder::half_addend},
    {{"upper-half",
      "a load of 8 or 16 bits into a register of 32 or 64, also by cvt.u32.u16 and cvt.u64.u16, of which bits 16 to 31 "
      "alone are used, by mov.b32 {_, h}",
      "takes the low half for the high one", "the register has the sign or zeros there", kLater, kH100},
     {"ld"},
     {"b8", "u8", "s8", "b16", "u16", "s16"},
     &DefectFinder::upper_half},
    {{"bfe-position",
      "bfe.s32 with a position that is known and 32 or more, and a length that is known and not 0",
      "makes it ones", "all bits are the sign", kLater, kH100},
     {"bfe"},
     {"s32"},
     &DefectFinder::bfe_position},
    {{"bfi-length", "bfi.b32 with a position of 1 to 31 and a length of 32 or more, both known",
      "inserts as many bits as the length modulo 32 says", "all bits from the position on are inserted", kLater,
      kH100},
     {"bfi"},
     {"b32"},
     &DefectFinder::bfi_length},
    {{"funnel-clamp", "shf.l.clamp, shf.r.clamp of twice the same register, by a number that is not known",
      "rotates by the number modulo 32", "a number above 32 is 32", kLater, kH100},
     {"shf"},
     {"b32"},
     &DefectFinder::funnel_clamp},
    {{"short-sign",
      "neg.s16, abs.s16 or 0 minus x of 16 bits, whose result cvt.s32.s16, mul.wide.s16, mul.hi.s16, div.s16, rem.s16, "
      "shr.s16 or setp.s16 takes",
      "takes 32768 for it if x is -32768", "a result of 16 bits is -32768 there", kLater, kH100},
     {"neg", "abs", "sub"},
     {"s16"},
     &DefectFinder::short_sign},
    {{"sign-byte",
      "prmt.b32 whose low byte or low half alone is left, by cvt.u32.u8, and with 0xFF, mul.u16 and the like, and which "
      "takes there the sign of a byte of the first source, and no byte of it",
      "takes 0 for the sign", "the byte is 0xFF if the sign is 1", kLater, kH100},
     {"prmt"},
     {"b32"},
     &DefectFinder::sign_byte},
    {{"word-sign",
      "abs.s32, abs.s64 of x that is compared with 0 by lt or ge, or decides a slct but slct.s32.s32; neg.s32 of x, "
      "or 0 minus x, that decides a slct.s32.s32",
      "takes it for no negative number if x is the least one", "it is the least number, negative", kLater,
      kH100},
     {"abs", "neg", "sub"},
     {"s32", "s64"},
     &DefectFinder::word_sign},
};

bool may_have(const View& v, const Row& row) {
  return v.is_register(0) && std::ranges::find(row.opcodes, v.opcode()) != row.opcodes.end() &&
         std::ranges::find(row.types, v.type()) != row.types.end();
}

}  // namespace

std::span<const DefectRow> defects() {
  static const auto all = [] {
    std::array<DefectRow, std::size(kRows)> out;
    std::ranges::transform(kRows, out.begin(), &Row::row);
    return out;
  }();
  return all;
}

std::vector<FoundDefect> find_defects(const ptx::FunctionText& function) {
  std::vector<FoundDefect> out;
  std::optional<DefectFinder> finder;
  for (int i = 0; i < static_cast<int>(function.statements.size()); ++i) {
    const View v{function, i};
    for (std::size_t n = 0; n < std::size(kRows); ++n) {
      if (!may_have(v, kRows[n])) continue;
      if (!finder) finder.emplace(function);
      if (finder->is_needed(i) && (*finder.*kRows[n].finds)(v)) out.push_back({&defects()[n], i});
    }
  }
  return out;
}

}  // namespace warpbit::assembler
