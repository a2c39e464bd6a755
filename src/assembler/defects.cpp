// SPDX-License-Identifier: Apache-2.0
#include "assembler/defects.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "assembler/defect_finder.hpp"

namespace warpbit::assembler {
namespace {

constexpr std::string_view kBoth = "12.8 and 13.0", kLater = "13.0";
constexpr std::string_view kH200 = "H200: random kernels; machine code of ptxas 13.0";
constexpr std::string_view kH100 = "H100: random kernels; machine code of ptxas 13.0";

struct Row {
  DefectRow row;
  std::array<std::string_view, 3> opcodes;  // with a register for the result, or a vector of ld
  std::array<std::string_view, 6> types;    // none: any
  bool (DefectFinder::*finds)(const View&) const;
  std::string_view word = {};  // a qualifier that it has
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
      "alone are used, by mov.b32 {_, h}; of vectors ld.const without a sign alone, not its first register",
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
     &DefectFinder::funnel_clamp,
     "clamp"},
    {{"short-sign",
      "neg.s16, abs.s16 or 0 minus x of 16 bits, whose result cvt.s32.s16, mul.wide.s16, mul.hi.s16, div.s16, rem.s16, "
      "shr.s16, setp.s16, set.s16 or sad.s16 takes; abs.s16 for cvt.f32.u16",
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
      "or 0 minus x, that decides a slct.s32.s32; any of s32 for cvt.sat.s32, and abs.s32 for cvt.f32.u32",
      "takes it for no negative number if x is the least one", "it is the least number, negative", kLater,
      kH100},
     {"abs", "neg", "sub"},
     {"s32", "s64"},
     &DefectFinder::word_sign},
    {{"set-guard",
      "a guard of set whose result is f32, f16 or bf16, or u32 or s32 of sources of 16 bits; at -O0, too",
      "converts the register in each thread", "outside the guard it keeps its value", kLater, kH200, true},
     {"set"},
     {},
     &DefectFinder::set_guard},
    {{"testp-guard", "a guard of testp; at -O0, too", "executes it in each thread",
      "outside the guard the predicate keeps its value", kLater, kH200, true},
     {"testp"},
     {},
     &DefectFinder::testp_guard},
    {{"lop3-twice",
      "lop3 with twice the same register, whose result and one of whose sources are those of and.b32 and xor.b32 alone, "
      "and whose table makes something else of 0 for one of the two",
      "merges both, and takes 0 for it", "it is the same register", kLater, kH200},
     {"lop3"},
     {"b32"},
     &DefectFinder::lop3_twice},
    {{"high-chain",
      "mad.hi.s32, mad.hi.u32 whose addend is that of the same factors, made for it alone, and whose result is the addend "
      "of a third one; one that adds to its own result in a loop, with the same factors in each round",
      "may leave one out", "each adds the product", kLater, kH200},
     {"mad"},
     {"s32", "u32"},
     &DefectFinder::high_chain,
     "hi"},
    {{"slct-literal",
      "slct.s32.s32 by a number that is known, and either the least one or the bits of a NaN of f32 without its sign",
      "takes it for f32: -0 or a NaN", "it is an integer", kLater, kH200},
     {"slct"},
     {"s32"},
     &DefectFinder::slct_literal},
    {{"minus-itself",
      "mul.f32 by c in a loop of one block, each of whose uses is an add or sub of a number that is the same in all "
      "rounds, and whose other factor x becomes k - x in each round; none of them with a rounding",
      "adds k c to the sum in each round", "x is k - x, not x + k", kLater, kH200},
     {"mul"},
     {"f32"},
     &DefectFinder::alternating},
    {{"saturated-sum",
      "add.sat.s32, sub.sat.s32 of a sum or difference of s32, one of whose terms comes again with the other sign; "
      "of a sum with a number that is known, made for it alone, and such a number",
      "makes one sum of both",
      "the first one is modulo 2^32, and what the second one makes of that is saturated", kLater, kH200},
     {"add", "sub"},
     {"s32"},
     &DefectFinder::saturated_sum,
     "sat"},
    {{"signed-part",
      "cvt to floating point or with .sat, without a guard, of u32 that bfe.s32 of a byte or half in its place, or "
      "ld.v2.s8, ld.v4.s8 made; cvt.f32.u64 of such a word that cvt.u64.u32 made longer",
      "takes it for a signed number", "it is a number without a sign", kLater, kH200},
     {"cvt"},
     {"u32", "u64"},
     &DefectFinder::signed_part},
    {{"half-to-half", "cvt.rzi to an integer of f16 that cvt of bf16 made, or of bf16 that cvt of f16 made",
      "takes the bits before the first cvt", "the first cvt makes other bits", kLater, kH200},
     {"cvt"},
     {"f16", "bf16"},
     &DefectFinder::half_to_half,
     "rzi"},
    {{"nan-range",
      "setp.f32 that is true of all numbers that abs.f32, ex2, x x, sin, cos or tanh gives, as ge 0 and lt 2; slct by "
      "what abs.f32, ex2 or x x gives, of another type than f32",
      "takes it for true, or the first source", "a NaN makes it false, and takes the second source", kLater,
      kH200},
     {"setp", "slct"},
     {"f32"},
     &DefectFinder::nan_range},
    {{"half-square",
      "fma.f16x2, fma.bf16x2 of twice the same word, also mul with add or sub, whose halves mov.b32 joins: one is neg of "
      "a register or a negative number that is known, and of the other one nothing is known; -0 beside 0",
      "changes the sign of one factor alone", "both factors have it", kLater, kH200},
     {"fma", "mul"},
     {"f16x2", "bf16x2"},
     &DefectFinder::half_square},
    {{"cnot-minus",
      "cnot.b32 whose result cvt.sat.u8.u32, cvt.sat.u16.u32, or shl.b16 and shr.u16 as the number take",
      "takes -1 for 1", "it is 1 where the source is 0", kLater, kH200},
     {"cnot"},
     {"b32"},
     &DefectFinder::cnot_minus},
    {{"shift-sign", "shl.b64 by 1 to 31 of what cvt.s64.u32 made of a word of which the assembler knows no bit",
      "takes the word for a signed one", "cvt.s64.u32 has zeros above it", kLater, kH200},
     {"shl"},
     {"b64"},
     &DefectFinder::shift_sign},
    {{"carry-of-zero",
      "sub.cc of 32 bits from what mul.hi made for it alone, by a number that is not known; sub.cc of 64 bits by what "
      "abs.s64 made",
      "adds the negative number: another carry if it is 0", "0 less leaves no borrow", kLater, kH200},
     {"sub"},
     {"u32", "s32", "u64", "s64"},
     &DefectFinder::carry_of_zero,
     "cc"},
    {{"xorsign-half", "min, max.xorsign.abs.f16x2 of twice what abs.f16x2 or neg.f16x2 made",
      "takes the sign of one of them as it was before", "it is that of the result", kLater, kH200},
     {"min", "max"},
     {"f16x2"},
     &DefectFinder::xorsign_half,
     "xorsign"},
};

bool may_have(const View& v, const Row& row) {
  if (std::ranges::find(row.opcodes, v.opcode()) == row.opcodes.end()) return false;
  const bool is_vector = v.operands() > 0 && v.operand(0).kind == Operand::Kind::vector && v.opcode() == "ld";
  return (v.is_register(0) || is_vector) && (row.word.empty() || v.has(row.word)) &&
         (row.types[0].empty() || std::ranges::find(row.types, v.type()) != row.types.end());
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

bool acts_always(std::string_view name) {
  return std::ranges::any_of(defects(), [&](const DefectRow& row) { return row.always && row.name == name; });
}

std::vector<FoundDefect> find_defects(const ptx::FunctionText& function) {
  std::vector<FoundDefect> out;
  std::optional<DefectFinder> finder;
  for (int i = 0; i < static_cast<int>(function.statements.size()); ++i) {
    const View v{function, i};
    for (std::size_t n = 0; n < std::size(kRows); ++n) {
      if (!may_have(v, kRows[n])) continue;
      if (!finder) finder.emplace(function);
      const bool is_needed = finder->is_needed(i) || v.has("cc");  // whose carry is no register
      if (is_needed && (*finder.*kRows[n].finds)(v)) out.push_back({&defects()[n], i});
    }
  }
  return out;
}

}  // namespace warpbit::assembler
