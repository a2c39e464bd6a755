// SPDX-License-Identifier: Apache-2.0
// mma and mma.sp with block scaling (PTX manual, "Block Scaling" and the two mma instructions).
//
//   mma{.spvariant}.sync.aligned.shape.row.col.kind.block_scale{.scale_vec_size}.dtype.atype.btype.ctype.stype
//      d, a, b, c, {e, f,} scale_a, {byte-id-a, thread-id-a}, scale_b, {byte-id-b, thread-id-b};
#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace block_scale_family {

using enum FormatId;

// ---- The table: one row per kind and scale type; K of the dense shape, which is half of the sparse one.

constexpr std::string_view k1X[] = {"", "scale_vec::1X"}, k2X[] = {"", "scale_vec::2X"};  // "": the default
constexpr std::string_view kOnly2X[] = {"scale_vec::2X"}, kOnly4X[] = {"scale_vec::4X"};

struct Row {
  std::string_view kind;
  int k;
  FormatSet factors;
  Modifier modifier;
  std::span<const std::string_view> scale_vec;
  int blocks;  // scale factors per row of A and per column of B
  FormatId scale;
  Sparsity sparsity;  // of the sparse form
  Features sparse_needs;
};

constexpr Modifier kBytes = Modifier::none, kNibbles = Modifier::packed_fp4;  // how elements fill a register
constexpr Features kNarrow = Feature::kind_f8f6f4, kSparseFp4 = Feature::kind_f8f6f4 | Feature::sparse_fp4;

constexpr Row kRows[] = {
    // kind              K   types of A, B              scale_vec  blocks      sparsity       needs if sparse
    {"kind::mxf8f6f4", 32, kF8f6f4, kBytes, k1X, 1, ue8m0, kTwoOfFour, kNarrow},
    {"kind::mxf4", 64, e2m1, kNibbles, k2X, 2, ue8m0, kPairsOfEight, kSparseFp4},
    {"kind::mxf4nvf4", 64, e2m1, kNibbles, kOnly2X, 2, ue8m0, kPairsOfEight, kSparseFp4},
    {"kind::mxf4nvf4", 64, e2m1, kNibbles, kOnly4X, 4, ue4m3, kPairsOfEight, kSparseFp4},
    {"kind::mxf4nvf4", 64, e2m1, kNibbles, kOnly4X, 4, ue8m0, kPairsOfEight, kSparseFp4},
};

// ---- Scale factors

constexpr int kM = 16, kN = 8;

// Of A, row g + 8 p: lane 4 g + 2 thread-id + p. Of B, column g: lane 4 g + thread-id. The factors are the
// bytes of a register from byte-id on, one for each block; byte-id is a multiple of their number.
std::vector<FragmentMap> scale_maps(Part part, int blocks) {
  const bool is_a = part == Part::scale_a;
  std::vector<FragmentMap> out;
  for (int byte_id = 0; byte_id < 4; byte_id += blocks)
    for (int thread_id = 0; thread_id < (is_a ? 2 : 4); ++thread_id) {
      const Packing bytes{32, 8, 0, 8, byte_id, blocks};
      if (is_a)
        out.push_back(
            {kM, blocks, 1, bytes, {{2, {8, 0}}, {8, {1, 0}}}, {{blocks, {0, 1}}}, {4, 2 * thread_id, 2}});
      else
        out.push_back({blocks, kN, 1, bytes, {{8, {0, 1}}}, {{blocks, {1, 0}}}, {4, thread_id, 1}});
    }
  return out;
}

// Scale factors, and {byte-id, thread-id}: two registers of each lane.
void add_scale(const Row& row, Part scale, std::vector<OperandSpec>& out) {
  static constexpr int kAlsoCounts[] = {2, 4};
  static constexpr RegisterClass kPair{"b16", 16, "b16 u16 s16"};
  const bool is_a = scale == Part::scale_a;
  const FragmentMap pair{1, 2, 1, {16, 16, 0, 16}, {{32, {0, 0}}}, {{2, {0, 1}}}};
  const std::vector<FragmentMap> maps = scale_maps(scale, row.blocks);
  out.push_back({is_a ? "scale_a" : "scale_b", scale, OperandKind::scalar, &kAnyWord, 1, row.scale, maps});
  out.back().also_counts = kAlsoCounts;
  out.push_back({is_a ? "sel_a" : "sel_b",
                 is_a ? Part::selector_a : Part::selector_b,
                 OperandKind::pair,
                 &kPair,
                 2,
                 b16,
                 {pair},
                 {0, 4 - row.blocks, 0, row.blocks},
                 {0, is_a ? 1 : 3}});
}

// ---- Expansion

constexpr std::array kSlots{
    kVariant,
    kSync,
    kAligned,
    kShape,
    kLayoutOfA,
    kLayoutOfB,
    QualifierSlot{.what = "kind", .group = "kind", .chosen = true, .resembles = looks_like_kind},
    QualifierSlot{.what = "qualifier .block_scale", .group = "block_scale"},
    QualifierSlot{.what = "number of scale factors", .group = "scale_vec", .required = false},
    kTypeOfD,
    kTypeOfA,
    kTypeOfB,
    kTypeOfC,
    QualifierSlot{.what = "scale type", .group = "type"},
};

std::vector<OperandSpec> operands(const Row& row, FormatId a, FormatId b, int k, bool is_sparse) {
  constexpr Packing kFp4{32, 4, 0, 4};
  const int terms = is_sparse ? k / 2 : k;
  // In bytes, e2m1 and the six-bit types are placed as in packing().
  const auto pack = [&](FormatId id) { return row.modifier == kBytes ? packing(id) : kFp4; };
  const FragmentMap sums = c_map(kM, kN, packing(f32));
  std::vector<OperandSpec> out = {
      vector_operand("d", Part::d, accumulator_registers(f32), f32, sums),
      vector_operand("a", Part::a, kFactorWord, a, a_map(kM, terms, pack(a))),
      vector_operand("b", Part::b, kFactorWord, b, b_map(k, kN, pack(b))),
      vector_operand("c", Part::c, accumulator_registers(f32), f32, sums),
  };
  if (is_sparse) add_metadata(metadata_maps(row.sparsity, terms, false), out);
  add_scale(row, Part::scale_a, out);
  add_scale(row, Part::scale_b, out);
  return out;
}

Form make_form(const Row& row, FormatId a, FormatId b, std::string_view scale_vec, bool is_sparse) {
  const Shape shape{kM, kN, is_sparse ? 2 * row.k : row.k};
  Form out = make_form(
      "mma",
      {is_sparse ? "sp::ordered_metadata" : "", "sync", "aligned", shape.text(), "row", "col", row.kind,
       "block_scale", scale_vec, "f32", qualifier(a), qualifier(b), "f32", qualifier(row.scale)},
      shape, is_sparse ? row.sparse_needs : kNarrow,
      {is_sparse ? Unit::sp_block_scale : Unit::block_scale, f32, a, b, f32, row.modifier});
  out.operands = operands(row, a, b, shape.k, is_sparse);
  if (is_sparse) out.sparsity = row.sparsity;
  out.ordered = is_sparse;
  return out;
}

std::vector<Form> expand(bool is_sparse) {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const std::string_view scale_vec : row.scale_vec)
      for (const auto& [a, b] : pairs_in(row.factors))
        out.push_back(make_form(row, a, b, scale_vec, is_sparse));
  return out;
}

constexpr SinceRow kSince[] = {
    {"scale_vec::4X ue8m0", {9, 1}},
};

constexpr std::string_view kMarks[] = {"block_scale"}, kSparseMarks[] = {"sp", "block_scale"};

}  // namespace block_scale_family
}  // namespace

void add_block_scale(std::vector<Family>& out) {
  using namespace block_scale_family;
  out.push_back({"mma.block_scale", "mma", kMarks, kSlots, FormList(expand, false), kSince});
  out.push_back({"mma.sp.block_scale", "mma", kSparseMarks, kSlots, FormList(expand, true)});
}

}  // namespace warpbit
