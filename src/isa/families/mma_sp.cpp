// SPDX-License-Identifier: Apache-2.0
// mma.sp, sparse A (PTX manual, "Multiply-and-Accumulate Instruction: mma.sp / mma.sp::ordered_metadata").
//
//   mma.spvariant.sync.aligned.shape.row.col{.kind}{.satfinite}.dtype.atype.btype.ctype d, a, b, c, e, f;
#include <fmt/format.h>

#include <algorithm>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {

using enum FormatId;

// ---- The table: one row per shape and operand class, with sets for the free qualifiers.

constexpr FormatId kF32[] = {f32}, kF16[] = {f16}, kF16OrF32[] = {f16, f32}, kS32[] = {s32};  // of D and C

constexpr std::string_view kSp = "sp", kOrdered = "sp::ordered_metadata";
constexpr std::string_view kMarks[] = {kSp}, kBoth[] = {kSp, kOrdered}, kOrderedOnly[] = {kOrdered};
constexpr std::string_view kF8f6f4Kind = "kind::f8f6f4";

struct Row {
  int k;  // of m16n8k...
  FormatSet factors;
  Types types;
  std::span<const FormatId> accumulators;
  Sparsity sparsity;
  Features needs;
  std::span<const std::string_view> variants = kBoth;
  std::string_view kind = "";
};

constexpr Row kRows[] = {
    // K   types of A, B               D, C       sparsity       needs
    {8, tf32, Types::same, kF32, kOneOfTwo, Feature::sm_80},
    {16, f16, Types::same, kF16OrF32, kTwoOfFour, Feature::sm_80},
    {16, bf16, Types::same, kF32, kTwoOfFour, Feature::sm_80},
    {16, tf32, Types::same, kF32, kOneOfTwo, Feature::sm_80},
    {32, f16, Types::same, kF16OrF32, kTwoOfFour, Feature::sm_80},
    {32, bf16, Types::same, kF32, kTwoOfFour, Feature::sm_80},
    {32, kS8, Types::mixed, kS32, kTwoOfFour, Feature::sm_80},
    {64, kS8, Types::mixed, kS32, kTwoOfFour, Feature::sm_80},
    {64, kS4, Types::mixed, kS32, kPairsOfEight, Feature::sm_80},
    {128, kS4, Types::mixed, kS32, kPairsOfEight, Feature::sm_80},
    {64, kFp8, Types::mixed, kF32, kTwoOfFour, Feature::fp8},
    {64, kFp8, Types::mixed, kF16, kTwoOfFour, Feature::kind_f8f6f4, kOrderedOnly},
    {64, kFp8, Types::mixed, kF32, kTwoOfFour, Feature::kind_f8f6f4_fp8, kOrderedOnly, kF8f6f4Kind},
    {64, kF8f6f4, Types::mixed, kF16OrF32, kTwoOfFour, Feature::kind_f8f6f4, kOrderedOnly, kF8f6f4Kind},
};

constexpr int kM = 16, kN = 8;

// ---- Expansion

constexpr auto kSlots =
    joined(std::array{QualifierSlot{.what = "sparse variant", .group = "variant"}}, kMmaSlots);

std::vector<OperandSpec> operands(const Row& row, FormatId a, FormatId b, FormatId sum) {
  const std::vector<FragmentMap> maps = metadata_maps(row.sparsity, row.k / 2, sum == s32);
  const int last = static_cast<int>(maps.size()) - 1;
  // The assembler accepts selectors 2 and 3 for this form only.
  const bool loose = row.k == 32 && a == f16 && sum == f32;
  const RegisterClass& registers = accumulator_registers(sum);
  return {
      vector_operand("d", Part::d, registers, sum, c_map(kM, kN, packing(sum))),
      vector_operand("a", Part::a, multiplicand_registers(a), a, a_map(kM, row.k / 2, packing(a))),
      vector_operand("b", Part::b, multiplicand_registers(b), b, b_map(row.k, kN, packing(b))),
      vector_operand("c", Part::c, registers, sum, c_map(kM, kN, packing(sum))),
      metadata_operand(maps),
      selector_operand(maps.front(), last + 1, loose ? 3 : last),
  };
}

Form make_form(const Row& row, std::string_view variant, std::string_view satfinite, FormatId a, FormatId b,
               FormatId sum) {
  Form form{};
  form.qualifiers = {std::string(variant),
                     "sync",
                     "aligned",
                     fmt::format("m{}n{}k{}", kM, kN, row.k),
                     "row",
                     "col",
                     std::string(row.kind),
                     std::string(satfinite),
                     qualifier(sum),
                     qualifier(a),
                     qualifier(b),
                     qualifier(sum)};
  form.canonical = canonical("mma", form.qualifiers);
  form.operands = operands(row, a, b, sum);
  form.needs = row.needs;
  form.arithmetic = {Unit::mma_sp, sum, a, b, sum, satfinite.empty() ? Modifiers{} : Modifier::satfinite};
  form.rows = kM;
  form.columns = kN;
  form.depth = row.k;
  form.products = 1;
  form.sparsity = row.sparsity;
  form.ordered = variant == kOrdered;
  return form;
}

void expand(const Row& row, std::vector<Form>& out) {
  constexpr std::string_view kNoSatfinite[] = {""}, kSatfinite[] = {"", "satfinite"};
  for (const std::string_view variant : row.variants)
    for (const Format& a : formats())
      for (const Format& b : formats()) {
        if (!row.factors.contains(a.id) || !row.factors.contains(b.id)) continue;
        if (row.types == Types::same && a.id != b.id) continue;
        for (const FormatId sum : row.accumulators)
          for (const std::string_view satfinite :
               sum == s32 ? std::span<const std::string_view>(kSatfinite) : kNoSatfinite) {
            Form form = make_form(row, variant, satfinite, a.id, b.id, sum);
            // An earlier row with fewer needs wins.
            if (std::ranges::find(out, form.canonical, &Form::canonical) == out.end())
              out.push_back(std::move(form));
          }
      }
}

}  // namespace

Family mma_sp_family() {
  Family family{"mma.sp", "mma", kMarks, kSlots, {}};
  for (const Row& row : kRows) expand(row, family.forms);
  return family;
}

}  // namespace warpbit
