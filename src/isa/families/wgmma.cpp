// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async and wgmma.mma_async.sp (PTX manual, "Asynchronous Warpgroup-Level Matrix Instructions").
//
//   wgmma.mma_async{.sp}.sync.aligned.shape{.satfinite}.dtype.atype.btype{.op.popc}
//      d, a | a-desc, b-desc, {sp-meta, sp-sel,} scale-d {, imm-scale-a, imm-scale-b {, imm-trans-a} {,
//      imm-trans-b}};
//
// Four warps: warp w holds rows 16 w ... 16 w + 15.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {

using enum FormatId;

// ---- The table: one row per operand class; K of the dense shape, which is half of the sparse one.

enum class Sizes { every_8, every_8_then_16 };

struct Row {
  int k;
  FormatSet factors;
  Types types;
  FormatSet sums;  // of D
  Sizes n;
  bool scales;        // imm-scale-a, imm-scale-b
  bool transposes;    // imm-trans-a, imm-trans-b
  Sparsity sparsity;  // of the sparse form, if it exists
};

constexpr Row kRows[] = {
    {16, f16, Types::same, f16 | f32, Sizes::every_8, true, true, kTwoOfFour},
    {16, bf16, Types::same, f32, Sizes::every_8, true, true, kTwoOfFour},
    {8, tf32, Types::same, f32, Sizes::every_8, true, false, kOneOfTwo},
    {32, kFp8, Types::mixed, f16 | f32, Sizes::every_8, true, false, kTwoOfFour},
    {32, kS8, Types::mixed, s32, Sizes::every_8_then_16, false, false, kTwoOfFour},
    {256, b1, Types::same, s32, Sizes::every_8_then_16, false, false, {}},
};

// 8, 16, ... 256; or 8, 16, 24, 32, 48, ... 256.
std::vector<int> sizes(Sizes which) {
  std::vector<int> out;
  for (int n = 8; n <= 256; n += 8)
    if (which == Sizes::every_8 || n <= 32 || n % 16 == 0) out.push_back(n);
  return out;
}

// ---- Operands

constexpr int kM = 64, kWarps = 4;

// Extends a fragment of one warp, of 16 rows, to the four warps.
FragmentMap by_warps(const FragmentMap& warp) {
  return warp.over_lanes(kM, warp.columns(), {kWarps, {16, 0}});
}

FragmentMap d_map(int n, Packing p) {
  const FragmentMap tile = c_map(16, 8, p);
  return by_warps(n == 8 ? tile : tile.tiled(16, n, {n / 8, {0, 8}}));
}

// D is also read unless scale-d is 0, so '_' is not allowed.
const RegisterClass& sum_registers(FormatId id) {
  constexpr bool kMixed = true, kNoSinks = false;
  static constexpr RegisterClass kF32{"f32", 32, "f32 b32", {}, kMixed, kNoSinks};
  static constexpr RegisterClass kF16x2{"b32", 32, "b32 f16x2", {}, kMixed, kNoSinks};
  static constexpr RegisterClass kS32{"b32", 32, "b32 u32 s32", {}, kMixed, kNoSinks};
  return id == f32 ? kF32 : id == s32 ? kS32 : kF16x2;
}

// Floating-point factors of any type use the registers of f16.
const RegisterClass& factor_registers(FormatId id) {
  return multiplicand_registers(format(id).is_integer ? id : f16);
}

constexpr RegisterClass kDescriptor{"b64", 64, "b64 u64 s64", {.integer_whole = true}};
constexpr RegisterClass kPredicate{"pred", 8, "pred", {.integer_whole = true}};
constexpr RegisterClass kImmediate{"b32", 32, "", {}};

// A value that must be the same in all lanes.
FragmentMap group_value(int bits) {
  return lane_values(bits).over_lanes(1, 128, {kWarps, {0, 32}});
}

OperandSpec descriptor_operand(std::string_view role, Part part, FormatId id) {
  return {role, part, OperandKind::descriptor, &kDescriptor, 1, {}, id, {group_value(64)}};
}

OperandSpec immediate_operand(std::string_view role, Part part, ImmediateRange range) {
  return {role, part, OperandKind::immediate, &kImmediate, 0, {}, b32, {group_value(32)}, range};
}

struct Choice {
  bool sparse;
  FormatId a, b, d;
  int n;
  bool satfinite, a_in_registers;
};

void add_metadata(const Row& row, int terms, std::vector<OperandSpec>& out) {
  std::vector<FragmentMap> maps;
  for (const FragmentMap& map : metadata_maps(row.sparsity, terms, false)) maps.push_back(by_warps(map));
  const int selectors = static_cast<int>(maps.size());
  OperandSpec selector = selector_operand(maps.front(), selectors, selectors - 1);
  selector.role = "sp_sel";
  OperandSpec metadata = metadata_operand(std::move(maps));
  metadata.role = "sp_meta";
  out.push_back(std::move(metadata));
  out.push_back(std::move(selector));
}

std::vector<OperandSpec> operands(const Row& row, const Choice& x) {
  std::vector<OperandSpec> out = {
      vector_operand("d", Part::d, sum_registers(x.d), x.d, d_map(x.n, packing(x.d)))};
  if (x.a_in_registers)
    out.push_back(
        vector_operand("a", Part::a, factor_registers(x.a), x.a, by_warps(a_map(16, row.k, packing(x.a)))));
  else
    out.push_back(descriptor_operand("a_desc", Part::a, x.a));
  out.push_back(descriptor_operand("b_desc", Part::b, x.b));
  if (x.sparse) add_metadata(row, row.k, out);
  out.push_back({"scale_d", Part::scale_d, OperandKind::predicate, &kPredicate, 1, {}, b8, {group_value(8)}});
  if (row.scales)
    for (const auto& [role, part] :
         {std::pair{"imm_scale_a", Part::sign_a}, std::pair{"imm_scale_b", Part::sign_b}})
      out.push_back(immediate_operand(role, part, {-1, 1, 1, 2}));
  if (row.transposes && !x.a_in_registers)
    out.push_back(immediate_operand("imm_trans_a", Part::transposed_a, {0, 1, 1}));
  if (row.transposes) out.push_back(immediate_operand("imm_trans_b", Part::transposed_b, {0, 1, 1}));
  return out;
}

// ---- Expansion

constexpr std::array kHead{
    QualifierSlot{.what = "qualifier .mma_async", .group = "instruction", .leading = true},
};
constexpr std::array kTail{
    kSync,
    QualifierSlot{.what = "qualifier .aligned", .group = "aligned", .assembler_optional = true},
    kShape,
    kSatfinite,
    QualifierSlot{.what = "type of D", .group = "type"},
    kTypeOfA,
    kTypeOfB,
    kOperation,
    kPopc,
};
constexpr auto kSlots = joined(kHead, kTail);
constexpr auto kSparseSlots =
    joined(joined(kHead, std::array{QualifierSlot{.what = "sparse variant", .group = "variant"}}), kTail);

Form make_form(const Row& row, const Choice& x) {
  const bool bits = x.a == b1;
  const int k = x.sparse ? 2 * row.k : row.k;
  Form form{};
  form.qualifiers = {"mma_async"};
  if (x.sparse) form.qualifiers.emplace_back("sp");
  for (const std::string& q :
       {std::string("sync"), std::string("aligned"), fmt::format("m{}n{}k{}", kM, x.n, k),
        std::string(x.satfinite ? "satfinite" : ""), qualifier(x.d), qualifier(x.a), qualifier(x.b),
        std::string(bits ? "and" : ""), std::string(bits ? "popc" : "")})
    form.qualifiers.push_back(q);
  form.canonical = canonical("wgmma", form.qualifiers);
  form.needs = Feature::wgmma;
  form.operands = operands(row, x);
  Modifiers modifiers;
  if (x.satfinite) modifiers = Modifier::satfinite;
  if (bits) modifiers = Modifier::and_popc;
  form.arithmetic = {x.sparse ? Unit::wgmma_sp : Unit::wgmma, x.d, x.a, x.b, x.d, modifiers};
  form.rows = kM;
  form.columns = x.n;
  form.depth = k;
  form.products = 1;
  if (x.sparse) form.sparsity = row.sparsity;
  return form;
}

std::vector<Form> expand(bool sparse) {
  std::vector<Form> out;
  for (const Row& row : kRows) {
    if (sparse && !row.sparsity.is_sparse()) continue;
    for (const int n : sizes(row.n))
      for (const Format& a : formats())
        for (const Format& b : formats())
          for (const Format& d : formats()) {
            if (!row.factors.contains(a.id) || !row.factors.contains(b.id) || !row.sums.contains(d.id))
              continue;
            if (row.types == Types::same && a.id != b.id) continue;
            for (const bool satfinite : {false, true})
              for (const bool a_in_registers : {true, false})
                if (!satfinite || kS8.contains(a.id))
                  out.push_back(make_form(row, {sparse, a.id, b.id, d.id, n, satfinite, a_in_registers}));
          }
  }
  return out;
}

constexpr std::string_view kMarks[] = {"mma_async"}, kSparseMarks[] = {"mma_async", "sp"};

}  // namespace

Family wgmma_family() {
  return {"wgmma", "wgmma", kMarks, kSlots, expand(false)};
}

Family wgmma_sp_family() {
  return {"wgmma.sp", "wgmma", kSparseMarks, kSparseSlots, expand(true)};
}

}  // namespace warpbit
