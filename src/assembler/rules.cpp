// SPDX-License-Identifier: Apache-2.0
#include "assembler/rules.hpp"

#include <algorithm>
#include <array>

namespace warpbit::assembler {
namespace {

constexpr std::string_view kSince = "12.8", kRandom = "H100: golden-digests/random; machine code of ptxas 13.0",
                           kBodies =
                               "H100: golden-digests/assembler, golden-digests/random; machine code of "
                               "ptxas 13.0";

constexpr std::array<RuleRow, kRules> kRuleRows = {{
    {Rule::unroll, "unroll",
     "a loop whose number of rounds is known, without a branch or a call (div.rn and the like) in it; then the loop "
     "around it",
     "its rounds, one after another", kSince, kRandom},
    {Rule::fold, "fold",
     "rcp, rsqrt, sqrt, ex2, lg2, sin, cos .approx.f32 of a number that is known: a literal, or what mov, cvt, "
     "add, sub, mul, min, max and the like make of known numbers; a guard or selp whose predicate is known",
     "the function's value, rounded correctly: the GPU's unit gives another number for up to 99 % of arguments; "
     "no guard, no choice",
     kSince, kRandom},
    {Rule::identity, "identity",
     "mul by 1 or -1; neg of neg x, not of bf16x2; min, max of f32, f64, f16 without a word, selp, slct, and, or of twice "
     "x; or, xor, shl, shr by 0; cvt.f32.f32, cvt.f64.f64; x 2 - x and x - x 2, if sums alone use the product",
     "x, -x; x; x, with the bits of a NaN; x; x; x and -x", kSince, kRandom},
    {Rule::clamp, "clamp",
     "max by 0 or -0 and min by 1, one after the other, of f32, f16 or f64, without .NaN; other uses of the first one do "
     "not matter",
     "the source with .sat: no -0, and of a NaN 0; of f64 max by 0, then min", "13.0",
     "H200: random kernels; machine code of ptxas 13.0"},
    {Rule::pair, "pair",
     "rcp.approx.ftz, or div.approx.ftz by it, of rcp.approx.ftz x, and of ex2.approx.ftz x that nothing else uses",
     "x; ex2.approx.ftz of -x; div becomes a product", kSince, kRandom},
    {Rule::divide, "divide",
     "div.approx.f32 and div.full.f32 by a number c that is known; div.full.ftz.f32 in the same basic block alone",
     "a product with 1 / c, rounded correctly", kSince, kRandom},
    {Rule::contract, "contract",
     "mul without a rounding, each of whose uses is an add or sub without a rounding in the same basic block; in "
     "any block if a factor is a literal or a parameter",
     "fma", kSince, "H100: golden/kernels/contraction, golden/kernels/random_*, golden-digests/random"},
    {Rule::quotient, "quotient",
     "div.approx.f32, div.full.f32 and rcp.approx.f32 without .ftz in the place of such a mul",
     "the dividend (of rcp 1) times the reciprocal, and the sum, are one fma", kSince, kBodies},
    {Rule::scale, "scale",
     "mul.f32 by 2, 4, 8, 1/2, 1/4, 1/8 of a mul.f32 without a rounding, or of what rule quotient names, that "
     "nothing else uses",
     "one product, rounded once", kSince, kBodies},
    {Rule::sign, "sign",
     "neg.f32 or abs.f32 without .ftz, with a guard, or where selp.f32, slct of f32, mov.f32 with a guard or cvt.f64.f32 "
     "takes the result, or a computation of f32 with a guard writes its register next",
     "a sign of the source of the choice: a NaN keeps its other bits; of cvt.f64.f32 a sign that a NaN does not take",
     "13.0", kRandom},
    {Rule::exchange, "exchange",
     "the two factors or addends of an f64 instruction, or sources of min or max, both NaNs",
     "the one that is defined later comes second: instruction, join, choice, constant", kSince,
     "H100: golden/kernels/functions_f64, golden/kernels/random_f64, golden-digests/random"},
}};

}  // namespace

std::span<const RuleRow> rules() {
  return kRuleRows;
}

const RuleRow& row(Rule rule) {
  return kRuleRows[static_cast<std::size_t>(rule)];
}

std::optional<Rule> find_rule(std::string_view name) {
  const auto found = std::ranges::find(kRuleRows, name, &RuleRow::name);
  if (found == kRuleRows.end()) return {};
  return found->rule;
}

}  // namespace warpbit::assembler
