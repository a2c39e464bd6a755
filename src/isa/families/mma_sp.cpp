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
enum class Types { same, mixed };  // may A and B differ?

constexpr std::string_view kSp = "sp", kOrdered = "sp::ordered_metadata";
constexpr std::string_view kBoth[] = {kSp, kOrdered}, kOrderedOnly[] = {kOrdered};
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

constexpr FormatSet kFp8 = e4m3 | e5m2, kFp6Fp4 = e3m2 | e2m3 | e2m1, kS8 = s8 | u8, kS4 = s4 | u4;

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
    {64, kFp8, Types::mixed, kF32, kTwoOfFour, Feature::fp8_mma},
    {64, kFp8, Types::mixed, kF16, kTwoOfFour, Feature::kind_f8f6f4, kOrderedOnly},
    {64, kFp8, Types::mixed, kF32, kTwoOfFour, Feature::kind_f8f6f4_fp8, kOrderedOnly, kF8f6f4Kind},
    {64, kFp8 | kFp6Fp4, Types::mixed, kF16OrF32, kTwoOfFour, Feature::kind_f8f6f4, kOrderedOnly, kF8f6f4Kind},
};

// ---- Metadata (PTX manual, "Matrix Fragments for sparse mma..."): a matrix of nibbles, a row for each row of
// A, a column for each group. g = lane / 4, t = lane % 4, n = nibble of the register, s = selector.

constexpr RegisterClass kMetadata{"b32", 32, "b32 u32 s32 f32 f16x2", {}};
constexpr int kMetadataCounts[] = {2, 4};
constexpr Packing kNibbles{32, 4, 0, 4};
constexpr int kM = 16, kN = 8;

FragmentMap metadata_map(const Row& row, int selector) {
  const int groups = row.k / 2 / row.sparsity.kept;
  // Lane t = s: row g in the low half, row g + 8 in the high half.
  if (groups == 4) return {kM, 4, 1, kNibbles, {{8, {1, 0}}}, {{4, {0, 1}}, {2, {8, 0}}}, {4, selector, 1}};
  // Lanes t = 0 ... 3: row g + 8 (t % 2), groups n + 8 (t / 2).
  if (groups == 16) return {kM, 16, 1, kNibbles, {{2, {8, 0}}, {2, {0, 8}}, {8, {1, 0}}}, {{8, {0, 1}}}};
  // Lanes t = 2 s + p. 8 and 4 bits: row g + 8 p. Wider types: halves as above, groups n % 4 + 4 p.
  const ActiveLanes pair{4, 2 * selector, 2};
  if (row.accumulators.front() == s32)
    return {kM, 8, 1, kNibbles, {{2, {8, 0}}, {8, {1, 0}}}, {{8, {0, 1}}}, pair};
  return {kM, 8, 1, kNibbles, {{2, {0, 4}}, {8, {1, 0}}}, {{4, {0, 1}}, {2, {8, 0}}}, pair};
}

std::vector<FragmentMap> metadata_maps(const Row& row) {
  std::vector<FragmentMap> out;
  const int selectors =
      16 * row.sparsity.kept * 2 / row.k;  // 4, 2 or 1, as 1, 2 or 4 lanes of four hold metadata
  for (int selector = 0; selector < selectors; ++selector) out.push_back(metadata_map(row, selector));
  return out;
}

// ---- Expansion

constexpr auto kSlots =
    joined(std::array{QualifierSlot{.what = "sparse variant", .group = "variant"}}, kMmaSlots);

std::vector<OperandSpec> operands(const Row& row, FormatId a, FormatId b, FormatId sum) {
  const std::vector<FragmentMap> maps = metadata_maps(row);
  const int last = static_cast<int>(maps.size()) - 1;
  // The assembler lets selectors 2 and 3 through for this one form.
  const bool loose = row.k == 32 && a == f16 && sum == f32;
  const RegisterClass& registers = accumulator_registers(sum);
  return {
      vector_operand("d", Part::destination, registers, sum, c_map(kM, kN, packing(sum))),
      vector_operand("a", Part::left_factor, multiplicand_registers(a), a, a_map(kM, row.k / 2, packing(a))),
      vector_operand("b", Part::right_factor, multiplicand_registers(b), b, b_map(row.k, kN, packing(b))),
      vector_operand("c", Part::accumulator, registers, sum, c_map(kM, kN, packing(sum))),
      {"e", Part::metadata, OperandKind::scalar, &kMetadata, 1, kMetadataCounts, u4, maps, {}},
      {"f",
       Part::selector,
       OperandKind::immediate,
       &kMetadata,
       0,
       {},
       u4,
       {maps.front()},
       {0, last, loose ? 3 : last}},
  };
}

Form make_form(const Row& row, std::string_view variant, std::string_view satfinite, FormatId a, FormatId b,
               FormatId sum) {
  const auto name = [](FormatId id) { return std::string(format(id).name); };
  Form form{};
  form.qualifiers = {std::string(variant),
                     "sync",
                     "aligned",
                     fmt::format("m{}n{}k{}", kM, kN, row.k),
                     "row",
                     "col",
                     std::string(row.kind),
                     std::string(satfinite),
                     name(sum),
                     name(a),
                     name(b),
                     name(sum)};
  form.canonical = "mma";
  for (const std::string& q : form.qualifiers)
    if (!q.empty()) form.canonical += "." + q;
  form.operands = operands(row, a, b, sum);
  form.needs = row.needs;
  form.arithmetic = {Unit::mma_sp, sum, a, b, sum, satfinite.empty() ? Modifier::none : Modifier::satfinite};
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
  Family family{"mma.sp", "mma", kBoth, kSlots, {}};
  for (const Row& row : kRows) expand(row, family.forms);
  return family;
}

}  // namespace warpbit
