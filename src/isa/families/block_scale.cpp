// SPDX-License-Identifier: Apache-2.0
// mma and mma.sp with block scaling (PTX manual, "Block Scaling" and the two mma instructions).
//
//   mma{.spvariant}.sync.aligned.shape.row.col.kind.block_scale{.scale_vec_size}.dtype.atype.btype.ctype.stype
//      d, a, b, c, {e, f,} scale_a, {byte-id-a, thread-id-a}, scale_b, {byte-id-b, thread-id-b};
#include <fmt/format.h>

#include <utility>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {

using enum FormatId;

// ---- The table: one row per kind and scale type; K of the dense shape, which is half of the sparse one.

constexpr std::string_view k1X[] = {"", "scale_vec::1X"}, k2X[] = {"", "scale_vec::2X"};  // "": the default
constexpr std::string_view kOnly2X[] = {"scale_vec::2X"}, kOnly4X[] = {"scale_vec::4X"};

struct Row {
  std::string_view kind;
  int k;
  FormatSet factors;
  Packing packing;
  std::span<const std::string_view> scale_vec;
  int blocks;  // scale factors per row of A and per column of B
  FormatId scale;
  Sparsity sparsity;  // of the sparse form
  Features sparse_needs;
};

constexpr Packing kBytes{32, 8, 0, 8}, kNibbles{32, 4, 0, 4};
constexpr Features kNarrow = Feature::kind_f8f6f4, kSparseFp4 = Feature::kind_f8f6f4 | Feature::sparse_fp4;

constexpr Row kRows[] = {
    // kind              K   types of A, B              scale_vec  blocks      sparsity       needs if sparse
    {"kind::mxf8f6f4", 32, kF8f6f4, kBytes, k1X, 1, ue8m0, kTwoOfFour, kNarrow},
    {"kind::mxf4", 64, e2m1, kNibbles, k2X, 2, ue8m0, kPairsOfEight, kSparseFp4},
    {"kind::mxf4nvf4", 64, e2m1, kNibbles, kOnly2X, 2, ue8m0, kPairsOfEight, kSparseFp4},
    {"kind::mxf4nvf4", 64, e2m1, kNibbles, kOnly4X, 4, ue4m3, kPairsOfEight, kSparseFp4},
};

// ---- Scale factors

constexpr int kM = 16, kN = 8;

constexpr RegisterClass kScale{"b32", 32, "b32 u32 s32 f32 f16x2", {}};
constexpr RegisterClass kPair{"b16", 16, "b16 u16 s16", {}};
constexpr RegisterClass kFactors{"b32", 32, "b32", {.integer_mixed = true, .f32_mixed = true}};
constexpr int kScaleCounts[] = {2, 4};

// The bytes of a register starting at byte-id, one for each block.
Packing bytes(int byte_id, int blocks) {
  return {32, 8, 0, 8, byte_id, blocks};
}

// Step between values of byte-id: all bytes, pairs, or only 0.
int byte_step(int blocks) {
  return blocks;
}

// Row g + 8 p of A: lane 4 g + 2 thread-id + p.
std::vector<FragmentMap> scale_a_maps(int blocks) {
  std::vector<FragmentMap> out;
  for (int byte_id = 0; byte_id + blocks <= 4; byte_id += byte_step(blocks))
    for (int thread_id = 0; thread_id < 2; ++thread_id)
      out.push_back({kM,
                     blocks,
                     1,
                     bytes(byte_id, blocks),
                     {{2, {8, 0}}, {8, {1, 0}}},
                     {{blocks, {0, 1}}},
                     {4, 2 * thread_id, 2}});
  return out;
}

// Column g of B: lane 4 g + thread-id.
std::vector<FragmentMap> scale_b_maps(int blocks) {
  std::vector<FragmentMap> out;
  for (int byte_id = 0; byte_id + blocks <= 4; byte_id += byte_step(blocks))
    for (int thread_id = 0; thread_id < 4; ++thread_id)
      out.push_back(
          {blocks, kN, 1, bytes(byte_id, blocks), {{8, {0, 1}}}, {{blocks, {1, 0}}}, {4, thread_id, 1}});
  return out;
}

OperandSpec scale_operand(std::string_view role, Part part, FormatId id, std::vector<FragmentMap> maps) {
  return {role, part, OperandKind::scalar, &kScale, 1, kScaleCounts, id, std::move(maps)};
}

// {byte-id, thread-id}: two registers of each lane.
OperandSpec pair_operand(std::string_view role, Part part, int blocks, int threads) {
  OperandSpec out{role,
                  part,
                  OperandKind::pair,
                  &kPair,
                  2,
                  {},
                  b16,
                  {{1, 2, 1, {16, 16, 0, 16}, {{32, {0, 0}}}, {{2, {0, 1}}}}}};
  out.immediate = {0, 4 - blocks, 0, byte_step(blocks)};
  out.second = {0, threads - 1};
  return out;
}

// ---- Expansion

constexpr std::array kSlots{
    kSync,
    kAligned,
    kShape,
    QualifierSlot{.what = "layout of A", .group = "layout"},
    QualifierSlot{.what = "layout of B", .group = "layout"},
    QualifierSlot{.what = "kind", .group = "kind", .resembles = looks_like_kind},
    QualifierSlot{.what = "qualifier .block_scale", .group = "block_scale"},
    QualifierSlot{.what = "number of scale factors", .group = "scale_vec", .required = false},
    QualifierSlot{.what = "type of D", .group = "type"},
    kTypeOfA,
    kTypeOfB,
    QualifierSlot{.what = "type of C", .group = "type"},
    QualifierSlot{.what = "scale type", .group = "type"},
};
constexpr auto kSparseSlots =
    joined(std::array{QualifierSlot{.what = "sparse variant", .group = "variant"}}, kSlots);

struct Choice {
  bool sparse;
  FormatId a, b;
  std::string_view scale_vec;
};

std::vector<OperandSpec> operands(const Row& row, const Choice& x, int k) {
  const RegisterClass& sums = accumulator_registers(f32);
  const int terms = x.sparse ? k / 2 : k;
  // In bytes, e2m1 and the six-bit types are placed as in packing().
  const auto pack = [&](FormatId id) { return row.packing.slot_bits == 8 ? packing(id) : row.packing; };
  std::vector<OperandSpec> out = {
      vector_operand("d", Part::d, sums, f32, c_map(kM, kN, packing(f32))),
      vector_operand("a", Part::a, kFactors, x.a, a_map(kM, terms, pack(x.a))),
      vector_operand("b", Part::b, kFactors, x.b, b_map(k, kN, pack(x.b))),
      vector_operand("c", Part::c, sums, f32, c_map(kM, kN, packing(f32))),
  };
  if (x.sparse) {
    const std::vector<FragmentMap> maps = metadata_maps(row.sparsity, terms, false);
    out.push_back(metadata_operand(maps));
    out.push_back(selector_operand(maps.front(), 1, 0));
  }
  out.push_back(scale_operand("scale_a", Part::scale_a, row.scale, scale_a_maps(row.blocks)));
  out.push_back(pair_operand("sel_a", Part::selector_a, row.blocks, 2));
  out.push_back(scale_operand("scale_b", Part::scale_b, row.scale, scale_b_maps(row.blocks)));
  out.push_back(pair_operand("sel_b", Part::selector_b, row.blocks, 4));
  return out;
}

Form make_form(const Row& row, const Choice& x) {
  Form form{};
  const int k = x.sparse ? 2 * row.k : row.k;
  if (x.sparse) form.qualifiers.emplace_back("sp::ordered_metadata");
  for (const std::string& q :
       {std::string("sync"), std::string("aligned"), fmt::format("m{}n{}k{}", kM, kN, k), std::string("row"),
        std::string("col"), std::string(row.kind), std::string("block_scale"), std::string(x.scale_vec),
        qualifier(f32), qualifier(x.a), qualifier(x.b), qualifier(f32), qualifier(row.scale)})
    form.qualifiers.push_back(q);
  form.canonical = canonical("mma", form.qualifiers);
  form.operands = operands(row, x, k);
  form.needs = x.sparse ? row.sparse_needs : Features(Feature::kind_f8f6f4);
  form.arithmetic = {x.sparse ? Unit::sp_block_scale : Unit::block_scale,
                     f32,
                     x.a,
                     x.b,
                     f32,
                     row.packing.slot_bits == 8 ? Modifiers{} : Modifier::packed_fp4};
  form.rows = kM;
  form.columns = kN;
  form.depth = k;
  form.products = 1;
  if (x.sparse) form.sparsity = row.sparsity;
  form.ordered = x.sparse;
  return form;
}

std::vector<Form> expand(bool sparse) {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const std::string_view scale_vec : row.scale_vec)
      for (const Format& a : formats())
        for (const Format& b : formats())
          if (row.factors.contains(a.id) && row.factors.contains(b.id))
            out.push_back(make_form(row, {sparse, a.id, b.id, scale_vec}));
  return out;
}

constexpr std::string_view kMarks[] = {"block_scale"}, kSparseMarks[] = {"sp", "block_scale"};

}  // namespace

Family mma_block_scale_family() {
  return {"mma.block_scale", "mma", kMarks, kSlots, expand(false)};
}

Family mma_sp_block_scale_family() {
  return {"mma.sp.block_scale", "mma", kSparseMarks, kSparseSlots, expand(true)};
}

}  // namespace warpbit
