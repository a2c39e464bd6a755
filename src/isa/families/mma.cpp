// SPDX-License-Identifier: Apache-2.0
// mma.sync, and mma.sp with a sparse A (PTX manual, "Multiply-and-Accumulate Instruction: mma" and "mma.sp /
// mma.sp::ordered_metadata").
//
//   mma{.spvariant}.sync.aligned.shape.alayout.blayout{.kind}{.satfinite}.dtype.atype.btype.ctype
//      {.rnd}{.bitop.popc} d, a, b, c {, e, f};
#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace mma_family {

using enum FormatId;

// ---- The tables: one row per shape and operand class, with sets for the free qualifiers.

struct Accumulators {
  FormatId d, c;
};
constexpr Accumulators kToF32[] = {{f32, f32}};
constexpr Accumulators kToF16[] = {{f16, f16}};
constexpr Accumulators kToF16OrF32[] = {{f16, f16}, {f32, f32}};
constexpr Accumulators kF16OrF32Mixed[] = {{f16, f16}, {f32, f16}, {f32, f32}};
constexpr Accumulators kToF64[] = {{f64, f64}};
constexpr Accumulators kToS32[] = {{s32, s32}};

constexpr std::string_view kDense[] = {""}, kOrdered[] = {"sp::ordered_metadata"},
                           kSparse[] = {"sp", "sp::ordered_metadata"};

constexpr std::string_view kNoKind[] = {""};
constexpr std::string_view kKindF8f6f4[] = {"kind::f8f6f4"};
// Kinds that the assembler ignores on e4m3 and e5m2.
constexpr std::string_view kKinds[] = {"kind::f16",      "kind::i8",       "kind::mxf4",
                                       "kind::mxf4nvf4", "kind::mxf8f6f4", "kind::tf32"};

struct Row {
  Shape shape;
  FormatSet factors;  // types of A and of B, in any combination
  std::span<const Accumulators> sums;
  Features needs;
  std::span<const std::string_view> kinds = kNoKind;
  std::string_view undocumented = "";
  Unit unit = Unit::mma;
  Sparsity sparsity = {};
  std::span<const std::string_view> variants = kDense;
};

constexpr auto kKind16 = "kind::f8f6f4 with m16n8k16, which ptxas 13.0 does not reject";
constexpr auto kNoScale = "a kind without block_scale, which ptxas 13.0 does not reject";

constexpr Row kRows[] = {
    // M  N    K  types of A, B  D and C      needs
    {{8, 8, 4, 4}, f16, kF16OrF32Mixed, Feature::sm_70, kNoKind, "", Unit::mma_m8n8k4},
    {{8, 8, 4}, f64, kToF64, Feature::sm_80},
    {{8, 8, 16}, kS8, kToS32, Feature::sm_75},
    {{8, 8, 32}, kS4, kToS32, Feature::sm_75},
    {{8, 8, 128}, b1, kToS32, Feature::sm_75},
    {{16, 8, 4}, tf32, kToF32, Feature::sm_80},
    {{16, 8, 4}, f64, kToF64, Feature::sm_90},
    {{16, 8, 8}, f16, kToF16OrF32, Feature::sm_75},
    {{16, 8, 8}, tf32, kToF32, Feature::sm_80},
    {{16, 8, 8}, bf16, kToF32, Feature::sm_80},
    {{16, 8, 8}, f64, kToF64, Feature::sm_90},
    {{16, 8, 16}, f16, kToF16OrF32, Feature::sm_80},
    {{16, 8, 16}, bf16, kToF32, Feature::sm_80},
    {{16, 8, 16}, kFp8, kToF16OrF32, Feature::fp8},
    {{16, 8, 16}, f64, kToF64, Feature::sm_90},
    {{16, 8, 16}, kS8, kToS32, Feature::sm_80},
    {{16, 8, 32}, kFp8, kToF16OrF32, Feature::fp8},
    {{16, 8, 32}, kFp8, kToF16OrF32, Feature::kind_f8f6f4_fp8, kKindF8f6f4},
    {{16, 8, 32}, kF8f6f4, kToF16OrF32, Feature::kind_f8f6f4, kKindF8f6f4},
    {{16, 8, 32}, kS8, kToS32, Feature::sm_80},
    {{16, 8, 32}, kS4, kToS32, Feature::sm_80},
    {{16, 8, 64}, kS4, kToS32, Feature::sm_80},
    {{16, 8, 128}, b1, kToS32, Feature::sm_80},
    {{16, 8, 256}, b1, kToS32, Feature::sm_80},

    {{16, 8, 16}, kFp8, kToF16OrF32, Feature::fp8, kKindF8f6f4, kKind16},
    {{16, 8, 16}, kFp8, kToF32, Feature::fp8, kKinds, kNoScale},
    {{16, 8, 32}, kFp8, kToF32, Feature::fp8, kKinds, kNoScale},
};

constexpr Row sparse(int k, FormatSet factors, std::span<const Accumulators> sums, Sparsity sparsity,
                     Features needs, std::span<const std::string_view> variants = kSparse,
                     std::span<const std::string_view> kinds = kNoKind) {
  return {{16, 8, k}, factors, sums, needs, kinds, "", Unit::mma_sp, sparsity, variants};
}

constexpr Row kSparseRows[] = {
    //      K  types of A, B  D and C  sparsity     needs
    sparse(8, tf32, kToF32, kOneOfTwo, Feature::sm_80),
    sparse(16, f16, kToF16OrF32, kTwoOfFour, Feature::sm_80),
    sparse(16, bf16, kToF32, kTwoOfFour, Feature::sm_80),
    sparse(16, tf32, kToF32, kOneOfTwo, Feature::sm_80),
    sparse(32, f16, kToF16OrF32, kTwoOfFour, Feature::sm_80),
    sparse(32, bf16, kToF32, kTwoOfFour, Feature::sm_80),
    sparse(32, kS8, kToS32, kTwoOfFour, Feature::sm_80),
    sparse(64, kS8, kToS32, kTwoOfFour, Feature::sm_80),
    sparse(64, kS4, kToS32, kPairsOfEight, Feature::sm_80),
    sparse(128, kS4, kToS32, kPairsOfEight, Feature::sm_80),
    sparse(64, kFp8, kToF32, kTwoOfFour, Feature::fp8),
    sparse(64, kFp8, kToF16, kTwoOfFour, Feature::kind_f8f6f4, kOrdered),
    sparse(64, kFp8, kToF32, kTwoOfFour, Feature::kind_f8f6f4_fp8, kOrdered, kKindF8f6f4),
    sparse(64, kF8f6f4, kToF16OrF32, kTwoOfFour, Feature::kind_f8f6f4, kOrdered, kKindF8f6f4),
};

// ---- Exceptions for some rows

// m8n8k16 is the only shape whose bytes the assembler accepts from integer registers only.
const RegisterClass& factor_registers(const Row& row, FormatId id) {
  return row.shape.m == 8 && row.shape.k == 16 ? kIntegerWord : multiplicand_registers(id);
}
// B of m16n8k16 with 8-bit floating-point types is one register; the assembler accepts more and drops them.
constexpr int kDroppedRegisters[] = {2, 4, 8};

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
  return quad_a_map(!row_major, p).transposed();
}
FragmentMap quad_c_map(FormatId id, Packing p) {
  if (id == f16) return {8, 8, 4, p, quad({1, 0}, {4, 0}), {{8, {0, 1}}}};
  const std::vector<FragmentMap::Digit> lane{{2, {1, 0}}, {2, {0, 2}}, {4, {0, 0, 1}}, {2, {4, 0}}};
  return {8, 8, 4, p, lane, {{2, {0, 1}}, {2, {2, 0}}, {2, {0, 4}}}};
}

// ---- Expansion

constexpr std::array kSlots{
    kVariant,
    kSync,
    kAligned,
    kShape,
    kLayoutOfA,
    kLayoutOfB,
    QualifierSlot{.what = "kind", .group = "kind", .required = false, .resembles = looks_like_kind},
    kSatfinite,
    kTypeOfD,
    kTypeOfA,
    kTypeOfB,
    kTypeOfC,
    kRounding,
    kOperation,
    kPopc,
};

struct Choice {
  FormatId a, b;
  Accumulators sums;
  LayoutPair layout;
  std::string_view kind;
  FreeQualifiers free;
  std::string_view variant;
};

std::vector<OperandSpec> operands(const Row& row, const Choice& x) {
  const auto [m, n, k, products] = row.shape;
  const bool is_quad = row.unit == Unit::mma_m8n8k4;
  const int terms = row.sparsity.is_sparse() ? k / 2 : k;
  const Packing a = packing(x.a), b = packing(x.b), c = packing(x.sums.c), d = packing(x.sums.d);
  std::vector<OperandSpec> out = {
      vector_operand("d", Part::d, accumulator_registers(x.sums.d), x.sums.d,
                     is_quad ? quad_c_map(x.sums.d, d) : c_map(m, n, d)),
      vector_operand("a", Part::a, factor_registers(row, x.a), x.a,
                     is_quad ? quad_a_map(x.layout.a == "row", a) : a_map(m, terms, a)),
      vector_operand("b", Part::b, factor_registers(row, x.b), x.b,
                     is_quad ? quad_b_map(x.layout.b == "row", b) : b_map(k, n, b)),
      vector_operand("c", Part::c, accumulator_registers(x.sums.c), x.sums.c,
                     is_quad ? quad_c_map(x.sums.c, c) : c_map(m, n, c)),
  };
  if (k == 16 && kFp8.contains(x.b)) out[2].also_counts = kDroppedRegisters;
  // The assembler accepts selectors 2 and 3 for this form only.
  const bool is_loose = k == 32 && x.a == f16 && x.sums.d == f32;
  if (row.sparsity.is_sparse())
    add_metadata(metadata_maps(row.sparsity, terms, x.sums.d == s32), out, is_loose ? 3 : 0);
  return out;
}

Form make_form(const Row& row, const Choice& x) {
  Form out =
      make_form("mma",
                {x.variant, "sync", "aligned", row.shape.text(), x.layout.a, x.layout.b, x.kind,
                 x.free.satfinite, qualifier(x.sums.d), qualifier(x.a), qualifier(x.b), qualifier(x.sums.c),
                 x.free.rounding, x.free.operation, x.free.popc()},
                row.shape, row.needs | x.free.needs, {row.unit, x.sums.d, x.a, x.b, x.sums.c, x.free.modifier});
  out.operands = operands(row, x);
  out.sparsity = row.sparsity;
  out.ordered = x.variant == kOrdered[0];
  out.undocumented = row.undocumented;
  return out;
}

std::vector<Form> expand(std::span<const Row> rows) {
  std::vector<Form> out;
  for (const Row& row : rows)
    for (const std::string_view variant : row.variants)
      for (const auto& [a, b] : pairs_in(row.factors))
        for (const Accumulators& sums : row.sums)
          for (const LayoutPair& layout : std::span(kAnyLayout).first(row.unit == Unit::mma_m8n8k4 ? 4 : 1))
            for (const std::string_view kind : row.kinds)
              for (const FreeQualifiers& free : free_qualifiers(a))
                add_new(make_form(row, {a, b, sums, layout, kind, free, variant}), out);
  return out;
}

constexpr std::string_view kMarks[] = {"sp"};

constexpr SinceRow kSince[] = {
    {"", {6, 4}},
    {"m8n8k16|m8n8k32|m16n8k8", {6, 5}},
    {"b1", {7, 0}},
    {"and popc", {7, 1}},
    {"e4m3|e5m2", {8, 4}},
    {"f16 e4m3|e5m2", {8, 7}},
    {"m16n8k16 e4m3|e5m2", {8, 7}},
};
constexpr SinceRow kSparseSince[] = {
    {"sp", {7, 1}},
    {"sp::ordered_metadata", {8, 5}},
};

}  // namespace mma_family
}  // namespace

void add_mma(std::vector<Family>& out) {
  using namespace mma_family;
  out.push_back({"mma", "mma", {}, kSlots, FormList(expand, kRows), kSince});
  out.push_back({"mma.sp", "mma", kMarks, kSlots, FormList(expand, kSparseRows), kSparseSince});
}

}  // namespace warpbit
