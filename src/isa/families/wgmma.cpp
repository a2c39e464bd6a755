// SPDX-License-Identifier: Apache-2.0
// wgmma.mma_async and wgmma.mma_async.sp (PTX manual, "Asynchronous Warpgroup-Level Matrix Instructions").
//
//   wgmma.mma_async{.sp}.sync.aligned.shape{.satfinite}.dtype.atype.btype{.op.popc}
//      d, a | a-desc, b-desc, {sp-meta, sp-sel,} scale-d {, imm-scale-a, imm-scale-b {, imm-trans-a} {,
//      imm-trans-b}};
//
// Four warps: warp w holds rows 16 w ... 16 w + 15.
#include <algorithm>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace wgmma_family {

using enum FormatId;

// ---- The table: one row per operand class; K of the dense shape, which is half of the sparse one.

struct Row {
  int k;
  FormatSet factors;  // types of A and of B, in any combination
  FormatSet sums;     // of D
  int step;           // of N above 32; below it is 8
  bool scales;        // imm-scale-a, imm-scale-b
  bool transposes;    // imm-trans-a, imm-trans-b
  Sparsity sparsity;  // of the sparse form, if it exists
};

constexpr Row kRows[] = {
    {16, f16, f16 | f32, 8, true, true, kTwoOfFour}, {16, bf16, f32, 8, true, true, kTwoOfFour},
    {8, tf32, f32, 8, true, false, kOneOfTwo},       {32, kFp8, f16 | f32, 8, true, false, kTwoOfFour},
    {32, kS8, s32, 16, false, false, kTwoOfFour},    {256, b1, s32, 16, false, false, {}},
};

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
  static constexpr RegisterClass kS32{"b32", 32, kIntegerTypes, {}, kMixed, kNoSinks};
  return id == f32 ? kF32 : id == s32 ? kS32 : kF16x2;
}

// Floating-point factors of any type use the registers of f16.
const RegisterClass& factor_registers(FormatId id) {
  return multiplicand_registers(format(id).is_integer ? id : f16);
}

// A value that must be the same in all lanes.
FragmentMap group_value(int bits) {
  return lane_values(bits).over_lanes(1, 128, {kWarps, {0, 32}});
}

OperandSpec descriptor_operand(std::string_view role, Part part, FormatId id) {
  static constexpr RegisterClass kDescriptor{"b64", 64, "b64 u64 s64", {.integer = kAlone}};
  return {role, part, OperandKind::descriptor, &kDescriptor, 1, id, {group_value(64)}};
}

struct Choice {
  bool is_sparse;
  FormatId a, b, d;
  int n;
  FreeQualifiers free;
  bool a_in_registers;
};

std::vector<OperandSpec> operands(const Row& row, const Choice& x) {
  static constexpr RegisterClass kPredicate{"pred", 8, "pred", {.integer = kAlone}};
  std::vector<OperandSpec> out = {
      vector_operand("d", Part::d, sum_registers(x.d), x.d, d_map(x.n, packing(x.d))),
      x.a_in_registers
          ? vector_operand("a", Part::a, factor_registers(x.a), x.a, by_warps(a_map(16, row.k, packing(x.a))))
          : descriptor_operand("a_desc", Part::a, x.a),
      descriptor_operand("b_desc", Part::b, x.b),
  };
  if (x.is_sparse) {
    std::vector<FragmentMap> maps = metadata_maps(row.sparsity, row.k, false);
    std::ranges::transform(maps, maps.begin(), by_warps);
    add_metadata(std::move(maps), out, 0, "sp_meta", "sp_sel");
  }
  out.push_back({"scale_d", Part::scale_d, OperandKind::predicate, &kPredicate, 1, b8, {group_value(8)}});
  const auto add = [&](bool is_there, std::string_view role, Part part, ImmediateRange range) {
    if (is_there) out.push_back(immediate_operand(role, part, range));
  };
  add(row.scales, "imm_scale_a", Part::sign_a, {-1, 1, 1, 2});
  add(row.scales, "imm_scale_b", Part::sign_b, {-1, 1, 1, 2});
  add(row.transposes && !x.a_in_registers, "imm_trans_a", Part::transposed_a, {0, 1, 1});
  add(row.transposes, "imm_trans_b", Part::transposed_b, {0, 1, 1});
  return out;
}

// ---- Expansion

constexpr std::array kSlots{
    QualifierSlot{.what = "qualifier .mma_async", .group = "instruction", .leading = true},
    kVariant,
    kSync,
    kAlignedByManual,
    kShape,
    kSatfinite,
    kTypeOfD,
    kTypeOfA,
    kTypeOfB,
    kOperation,
    kPopc,
};

Form make_form(const Row& row, const Choice& x) {
  const Shape shape{kM, x.n, x.is_sparse ? 2 * row.k : row.k};
  Form out = make_form("wgmma",
                       {"mma_async", x.is_sparse ? "sp" : "", "sync", "aligned", shape.text(), x.free.satfinite,
                        qualifier(x.d), qualifier(x.a), qualifier(x.b), x.free.operation, x.free.popc()},
                       shape, Feature::wgmma,
                       {x.is_sparse ? Unit::wgmma_sp : Unit::wgmma, x.d, x.a, x.b, x.d, x.free.modifier});
  out.operands = operands(row, x);
  if (x.is_sparse) out.sparsity = row.sparsity;
  return out;
}

std::vector<Form> expand(bool is_sparse) {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (int n = 8; n <= 256 && (row.sparsity.is_sparse() || !is_sparse); n += n < 32 ? 8 : row.step)
      for (const auto& [a, b] : pairs_in(row.factors))
        for (const FormatId d : types_in(row.sums))
          for (const FreeQualifiers& free : free_qualifiers(a))
            for (const bool a_in_registers : {true, false})
              if (free.modifier != Modifier::xor_popc)
                out.push_back(make_form(row, {is_sparse, a, b, d, n, free, a_in_registers}));
  return out;
}

constexpr std::string_view kMarks[] = {"mma_async"}, kSparseMarks[] = {"mma_async", "sp"};

constexpr SinceRow kSince[] = {
    {"s8 u8", {8, 4}},
    {"sp", {8, 2}},
};

}  // namespace wgmma_family
}  // namespace

void add_wgmma(std::vector<Family>& out) {
  using namespace wgmma_family;
  out.push_back({"wgmma", "wgmma", kMarks, kSlots, FormList(expand, false), kSince});
  out.push_back({"wgmma.sp", "wgmma", kSparseMarks, kSlots, FormList(expand, true)});
}

}  // namespace warpbit
