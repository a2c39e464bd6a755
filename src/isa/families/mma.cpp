// SPDX-License-Identifier: Apache-2.0
// mma.sync, dense (PTX manual, "Multiply-and-Accumulate Instruction: mma").
//
//   mma.sync.aligned.shape.alayout.blayout{.kind}{.satfinite}.dtype.atype.btype.ctype
//      {.rnd}{.bitop.popc} d, a, b, c;
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {

using enum FormatId;

// ---- The table: one row per shape and operand class, with sets for the free qualifiers.

struct Accumulators {
  FormatId d, c;
};
constexpr Accumulators kToF32[] = {{f32, f32}};
constexpr Accumulators kToF16OrF32[] = {{f16, f16}, {f32, f32}};
constexpr Accumulators kF16OrF32Mixed[] = {{f16, f16}, {f32, f16}, {f32, f32}};
constexpr Accumulators kToF64[] = {{f64, f64}};
constexpr Accumulators kToS32[] = {{s32, s32}};

constexpr std::string_view kNoKind[] = {""};
constexpr std::string_view kKindF8f6f4[] = {"kind::f8f6f4"};
// Kinds that the assembler ignores on e4m3 and e5m2.
constexpr std::string_view kKinds[] = {"kind::f16",      "kind::i8",       "kind::mxf4",
                                       "kind::mxf4nvf4", "kind::mxf8f6f4", "kind::tf32"};

enum class Layouts { row_col, any };

struct Row {
  int m, n, k;
  FormatSet a;  // types of A and of B
  Types types;
  std::span<const Accumulators> accumulators;
  Features needs;
  std::span<const std::string_view> kinds = kNoKind;
  Layouts layouts = Layouts::row_col;
  std::string_view undocumented = "";
  Unit unit = Unit::mma;
};

constexpr auto kKind16 = "kind::f8f6f4 with m16n8k16, which ptxas 13.0 does not reject";
constexpr auto kNoScale = "a kind without block_scale, which ptxas 13.0 does not reject";

constexpr Row kRows[] = {
    // M  N    K  types of A, B               D and C      needs
    {8, 8, 4, f16, Types::same, kF16OrF32Mixed, Feature::sm_70, kNoKind, Layouts::any, "", Unit::mma_m8n8k4},
    {8, 8, 4, f64, Types::same, kToF64, Feature::sm_80},
    {8, 8, 16, kS8, Types::mixed, kToS32, Feature::sm_75},
    {8, 8, 32, kS4, Types::mixed, kToS32, Feature::sm_75},
    {8, 8, 128, b1, Types::same, kToS32, Feature::sm_75},
    {16, 8, 4, tf32, Types::same, kToF32, Feature::sm_80},
    {16, 8, 4, f64, Types::same, kToF64, Feature::sm_90},
    {16, 8, 8, f16, Types::same, kToF16OrF32, Feature::sm_75},
    {16, 8, 8, bf16 | tf32, Types::same, kToF32, Feature::sm_80},
    {16, 8, 8, f64, Types::same, kToF64, Feature::sm_90},
    {16, 8, 16, f16, Types::same, kToF16OrF32, Feature::sm_80},
    {16, 8, 16, bf16, Types::same, kToF32, Feature::sm_80},
    {16, 8, 16, kFp8, Types::mixed, kToF16OrF32, Feature::fp8},
    {16, 8, 16, f64, Types::same, kToF64, Feature::sm_90},
    {16, 8, 16, kS8, Types::mixed, kToS32, Feature::sm_80},
    {16, 8, 32, kFp8, Types::mixed, kToF16OrF32, Feature::fp8},
    {16, 8, 32, kFp8, Types::mixed, kToF16OrF32, Feature::kind_f8f6f4_fp8, kKindF8f6f4},
    {16, 8, 32, kF8f6f4, Types::mixed, kToF16OrF32, Feature::kind_f8f6f4, kKindF8f6f4},
    {16, 8, 32, kS8, Types::mixed, kToS32, Feature::sm_80},
    {16, 8, 32, kS4, Types::mixed, kToS32, Feature::sm_80},
    {16, 8, 64, kS4, Types::mixed, kToS32, Feature::sm_80},
    {16, 8, 128, b1, Types::same, kToS32, Feature::sm_80},
    {16, 8, 256, b1, Types::same, kToS32, Feature::sm_80},

    {16, 8, 16, kFp8, Types::mixed, kToF16OrF32, Feature::fp8, kKindF8f6f4, Layouts::row_col, kKind16},
    {16, 8, 16, kFp8, Types::mixed, kToF32, Feature::fp8, kKinds, Layouts::row_col, kNoScale},
    {16, 8, 32, kFp8, Types::mixed, kToF32, Feature::fp8, kKinds, Layouts::row_col, kNoScale},
};

// ---- Exceptions for some rows

// m8n8k16 is the only shape whose bytes the assembler accepts from integer registers only.
constexpr RegisterClass kIntegerBytes{"b32", 32, "b32 u32 s32", {}};
const RegisterClass& factor_registers(const Row& row, FormatId id) {
  return row.m == 8 && row.k == 16 ? kIntegerBytes : multiplicand_registers(id);
}
// B of m16n8k16 with 8-bit floating-point types is one register; the assembler accepts more and drops them.
constexpr int kDroppedRegisters[] = {2, 4, 8};
std::span<const int> also_counts(const Row& row, FormatId id, Part part) {
  return part == Part::b && row.k == 16 && kFp8.contains(id) ? std::span<const int>(kDroppedRegisters)
                                                             : std::span<const int>();
}

// PTX manual, "Matrix Fragments for mma.m8n8k4 with .f16": four products side by side; product p is in lanes
// 4 p ... 4 p + 3 and 4 p + 16 ... 4 p + 19.
std::vector<FragmentMap::Digit> quad(Coordinate lane_in_group, Coordinate high_group) {
  return {{4, lane_in_group}, {4, {0, 0, 1}}, {2, high_group}};
}
FragmentMap quad_a_map(bool row_major, Packing p) {
  if (row_major) return {8, 4, 4, p, quad({1, 0}, {4, 0}), {{4, {0, 1}}}};
  return {8, 4, 4, p, quad({0, 1}, {4, 0}), {{4, {1, 0}}}};
}
FragmentMap quad_b_map(bool row_major, Packing p) {
  if (row_major) return {4, 8, 4, p, quad({1, 0}, {0, 4}), {{4, {0, 1}}}};
  return {4, 8, 4, p, quad({0, 1}, {0, 4}), {{4, {1, 0}}}};
}
FragmentMap quad_c_map(FormatId id, Packing p) {
  if (id == f16) return {8, 8, 4, p, quad({1, 0}, {4, 0}), {{8, {0, 1}}}};
  return {8,
          8,
          4,
          p,
          {{2, {1, 0}}, {2, {0, 2}}, {4, {0, 0, 1}}, {2, {4, 0}}},
          {{2, {0, 1}}, {2, {2, 0}}, {2, {0, 4}}}};
}

// ---- Expansion

constexpr auto kSlots =
    joined(kMmaSlots, std::array{
                          QualifierSlot{.what = "rounding", .group = "rounding", .required = false},
                          kOperation,
                          kPopc,
                      });

struct Choice {
  FormatId a, b;
  Accumulators acc;
  std::string_view layout_a, layout_b, kind;
  FreeQualifiers free;
};

// In the order of kSlots.
std::vector<std::string> qualifiers(const Row& row, const Choice& x) {
  return {"sync",
          "aligned",
          fmt::format("m{}n{}k{}", row.m, row.n, row.k),
          std::string(x.layout_a),
          std::string(x.layout_b),
          std::string(x.kind),
          std::string(x.free.satfinite),
          qualifier(x.acc.d),
          qualifier(x.a),
          qualifier(x.b),
          qualifier(x.acc.c),
          std::string(x.free.rounding),
          std::string(x.free.operation),
          x.free.operation.empty() ? "" : "popc"};
}

// d, a, b, c
std::vector<OperandSpec> operands(const Row& row, const Choice& x) {
  const bool quad = row.unit == Unit::mma_m8n8k4;
  std::vector<OperandSpec> out;
  const auto add = [&](std::string_view role, Part part, const RegisterClass& registers, FormatId id,
                       FragmentMap map) {
    out.push_back(vector_operand(role, part, registers, id, std::move(map)));
    out.back().also_counts = also_counts(row, id, part);
  };
  const auto sum = [&](FormatId id) {
    return quad ? quad_c_map(id, packing(id)) : c_map(row.m, row.n, packing(id));
  };
  add("d", Part::d, accumulator_registers(x.acc.d), x.acc.d, sum(x.acc.d));
  add("a", Part::a, factor_registers(row, x.a), x.a,
      quad ? quad_a_map(x.layout_a == "row", packing(x.a)) : a_map(row.m, row.k, packing(x.a)));
  add("b", Part::b, factor_registers(row, x.b), x.b,
      quad ? quad_b_map(x.layout_b == "row", packing(x.b)) : b_map(row.k, row.n, packing(x.b)));
  add("c", Part::c, accumulator_registers(x.acc.c), x.acc.c, sum(x.acc.c));
  return out;
}

Form make_form(const Row& row, const Choice& x) {
  Form form{};
  form.qualifiers = qualifiers(row, x);
  form.canonical = canonical("mma", form.qualifiers);
  form.operands = operands(row, x);
  form.needs = row.needs | x.free.needs;
  form.arithmetic = {row.unit, x.acc.d, x.a, x.b, x.acc.c, x.free.modifiers};
  form.rows = row.m;
  form.columns = row.n;
  form.depth = row.k;
  form.products = form.operands[0].fragment().products();
  form.undocumented = row.undocumented;
  return form;
}

void expand(const Row& row, std::vector<Form>& out) {
  const auto layouts = std::span(kAnyLayout).first(row.layouts == Layouts::any ? std::size(kAnyLayout) : 1);
  for (const Format& a : formats()) {
    for (const Format& b : formats()) {
      if (!row.a.contains(a.id) || !row.a.contains(b.id)) continue;
      if (row.types == Types::same && a.id != b.id) continue;
      for (const Accumulators& acc : row.accumulators)
        for (const LayoutPair& layout : layouts)
          for (const std::string_view kind : row.kinds)
            for (const FreeQualifiers& free : free_qualifiers(a.id)) {
              Form form = make_form(row, {a.id, b.id, acc, layout.a, layout.b, kind, free});
              // An earlier row with fewer needs wins.
              if (std::ranges::find(out, form.canonical, &Form::canonical) == out.end())
                out.push_back(std::move(form));
            }
    }
  }
}

}  // namespace

Family mma_family() {
  Family family{"mma", "mma", {}, kSlots, {}};
  for (const Row& row : kRows) expand(row, family.forms);
  return family;
}

}  // namespace warpbit
