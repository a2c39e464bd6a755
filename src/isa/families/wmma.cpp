// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.mma, wmma.store (PTX manual, "Matrix multiply-accumulate operation using wmma instructions").
//
//   wmma.load.a.sync.aligned.layout.shape{.ss}.type                        r, [p] {, stride};
//   wmma.mma{.op.popc}.sync.aligned.alayout.blayout.shape{.rnd}.types{.satfinite}  d, a, b, c;
//   wmma.store.d.sync.aligned.layout.shape{.ss}.type                       [p], r {, stride};
//
// The manual does not specify the fragments; NUMERICS.md, "Fragments of wmma", has the evidence.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {

using enum FormatId;

// ---- The table: one row per shape and operand class.

struct Shape {
  int m, n, k;
  std::string text() const { return fmt::format("m{}n{}k{}", m, n, k); }
};

enum class Layouts { any, row_col };

struct Row {
  Shape shape;
  FormatSet factors;  // of A and B, which have the same type
  FormatSet sums;     // of C and D
  Features needs;
  Layouts layouts = Layouts::any;
};

constexpr FormatSet kHalfOrSingle = f16 | f32;
constexpr Shape k16x16{16, 16, 16}, k32x8{32, 8, 16}, k8x32{8, 32, 16};

constexpr Row kRows[] = {
    {k16x16, f16, kHalfOrSingle, Feature::sm_70},
    {k32x8, f16, kHalfOrSingle, Feature::sm_70},
    {k8x32, f16, kHalfOrSingle, Feature::sm_70},
    {k16x16, kS8, s32, Feature::sm_72},
    {k32x8, kS8, s32, Feature::sm_72},
    {k8x32, kS8, s32, Feature::sm_72},
    {k16x16, bf16, f32, Feature::sm_80},
    {k32x8, bf16, f32, Feature::sm_80},
    {k8x32, bf16, f32, Feature::sm_80},
    {{16, 16, 8}, tf32, f32, Feature::sm_80},
    {{8, 8, 4}, f64, f64, Feature::sm_80},
    {{8, 8, 32}, kS4, s32, Feature::sm_75, Layouts::row_col},
    {{8, 8, 128}, b1, s32, Feature::sm_75, Layouts::row_col},
};

// Accepted by the assembler although the manual does not list it.
constexpr Shape kOddShapes[] = {{8, 8, 4}, {8, 32, 16}, {16, 16, 8}, {16, 16, 16}, {32, 8, 16}};
constexpr Shape kF64Shapes[] = {{16, 16, 8}, {16, 16, 16}};
constexpr Shape kIntegerShapes[] = {{8, 8, 32}, {8, 8, 128}};
constexpr auto kOddF64 = "f64 with this shape, of which ptxas 13.0 makes no tensor instruction";
constexpr auto kOddS4 = "this shape with s4 or u4, of which ptxas 13.0 makes one IMMA whatever the shape";
constexpr auto kOddB1 = ".xor without .popc, which ptxas 13.0 treats as m8n8k128";
constexpr auto kOddF32 = "an f32 fragment of an integer shape, which ptxas 13.0 does not reject";

// ---- Fragments, measured on sm_90 (NUMERICS.md, "Fragments of wmma"): tiled from the fragments of mma, at
// most 16 x 8. For N = 32, everything is that of M = 32 with rows and columns exchanged.

FragmentMap wmma_a_map(const Shape& s, Packing p) {
  const FragmentMap tile = a_map(std::min(s.m, 16), s.k, p);
  return s.m == 32 ? tile.tiled(32, s.k, {2, {16, 0}}) : tile;
}
FragmentMap wmma_b_map(const Shape& s, Packing p) {
  if (s.n == 32) return wmma_a_map({32, 8, s.k}, p).transposed();
  const FragmentMap tile = b_map(s.k, 8, p);
  return s.n == 16 ? tile.tiled(s.k, 16, {2, {0, 8}}) : tile;
}
FragmentMap wmma_c_map(const Shape& s, Packing p) {
  if (s.n == 32) return wmma_c_map({32, 8, s.k}, p).transposed();
  const FragmentMap tile = c_map(std::min(s.m, 16), 8, p);
  if (s.m == 32) return tile.tiled(32, 8, {2, {16, 0}});
  return s.n == 16 ? tile.tiled(16, 16, {2, {0, 8}}) : tile;
}

// f16 factors are repeated to fill eight registers; the first copy is used.
FragmentMap filled(const FragmentMap& map, FormatId id) {
  constexpr int kFactorRegisters = 8;
  const int copies = id == f16 ? kFactorRegisters / map.registers() : 1;
  return copies == 1 ? map : map.tiled(map.rows(), map.columns(), {copies, {0, 0}});
}

enum class Matrix { a, b, c };

FragmentMap fragment(Matrix matrix, const Shape& shape, FormatId id) {
  const Packing p = packing(id);
  if (matrix == Matrix::c) return wmma_c_map(shape, p);
  return filled(matrix == Matrix::a ? wmma_a_map(shape, p) : wmma_b_map(shape, p), id);
}

// ---- Registers

constexpr LiteralRule kBeside{.integer_mixed = true, .f32_mixed = true};
constexpr LiteralRule kIntegers{.integer_whole = true, .integer_mixed = true, .f32_mixed = true};
constexpr LiteralRule kSingles{.f32_whole = true, .f32_mixed = true};
constexpr LiteralRule kDoubles{.f64_whole = true, .f64_mixed = true};

constexpr std::string_view types_of(FormatId id) {
  if (id == f16) return "b32 f16x2";
  if ((bf16 | tf32).contains(id)) return "b32";
  if (id == f32) return "f32 b32";
  if (id == f64) return "f64 b64";
  return (kS8 | s32).contains(id) ? "b32 u32 s32" : "b32 u32 s32 f32 f16x2";
}
constexpr std::string_view name_of(FormatId id) {
  return id == f32 ? "f32" : id == f64 ? "f64" : "b32";
}

template <FormatId id>
constexpr RegisterClass kLoaded{name_of(id), id == f64 ? 64 : 32, types_of(id), {}};
template <FormatId id>
constexpr RegisterClass kStored{name_of(id), id == f64 ? 64 : 32, types_of(id),
                                id == f16   ? kBeside
                                : id == f32 ? kSingles
                                : id == f64 ? kDoubles
                                            : kIntegers};

const RegisterClass& loaded_registers(FormatId id) {
  switch (id) {
    case f16: return kLoaded<f16>;
    case bf16:
    case tf32: return kLoaded<bf16>;
    case f32: return kLoaded<f32>;
    case f64: return kLoaded<f64>;
    case s8:
    case u8:
    case s32: return kLoaded<s32>;
    default: return kLoaded<s4>;
  }
}
const RegisterClass& stored_registers(FormatId id) {
  switch (id) {
    case f16: return kStored<f16>;
    case f32: return kStored<f32>;
    case f64: return kStored<f64>;
    default: return kStored<s32>;
  }
}

const RegisterClass& factor_registers(FormatId id, Part part) {
  static constexpr RegisterClass kBytesA{"b32", 32, "b32 u32 s32", kBeside};
  static constexpr RegisterClass kBytesB{"b32", 32, "b32 u32 s32", {.f32_mixed = true}};
  static constexpr RegisterClass kPlain{"b32", 32, "b32 u32 s32", {}};
  static constexpr RegisterClass kSingleB{"b32", 32, "b32", {}, false};
  static constexpr RegisterClass kDouble{"f64", 64, "f64 b64", {.f64_whole = true}};
  if (kS8.contains(id)) return part == Part::a ? kBytesA : kBytesB;
  if (id == tf32 && part == Part::b) return kSingleB;
  if (id == f64) return kDouble;
  return format(id).is_integer ? kPlain : multiplicand_registers(id);
}
// D of tf32 does not accept '_'.
const RegisterClass& sum_registers(FormatId id, FormatId factor, Part part) {
  static constexpr RegisterClass kWholeF32{"f32", 32, "f32 b32", kSingles, true, false};
  if (factor == tf32 && part == Part::d) return kWholeF32;
  return id == s32 ? kStored<s32> : accumulator_registers(id);
}

// ---- wmma.load and wmma.store

struct StateSpace {
  std::string_view qualifier;
  Space space;
};
constexpr StateSpace kSpaces[] = {
    {"", Space::generic}, {"global", Space::global}, {"shared", Space::shared}, {"shared::cta", Space::shared}};

constexpr std::array kMoveSlots{
    QualifierSlot{.what = "instruction", .group = "instruction", .leading = true},
    QualifierSlot{.what = "matrix", .group = "matrix", .leading = true},
    kSync,
    kAligned,
    QualifierSlot{.what = "layout", .group = "layout"},
    kShape,
    kSpace,
    QualifierSlot{.what = "type", .group = "type", .role = SlotRole::factor_type},
};

struct MoveChoice {
  bool load;
  Matrix matrix;
  Shape shape;
  FormatId type;
  bool row;  // layout in memory
  StateSpace space;
};

OperandSpec stride_operand() {
  static constexpr RegisterClass kStride{"b32", 32, "b32 u32 s32", {.integer_whole = true}};
  OperandSpec out = scalar_operand("stride", Part::stride, kStride, b32, lane_values(32));
  out.optional = true;
  return out;
}

bool lines_along_k(const MoveChoice& x) {
  return x.row == (x.matrix == Matrix::a);
}

// Layouts that ptxas 13.0 loads from .shared by LDSM, the SASS ldmatrix (NUMERICS.md, "Fragments of wmma").
enum class Lines { any, along_k };
struct LdmatrixRow {
  FormatSet factors;
  Lines lines;
};
constexpr LdmatrixRow kByLdmatrix[] = {{f16 | bf16, Lines::any}, {kS8 | kS4 | b1, Lines::along_k}};

bool by_ldmatrix(const MoveChoice& x) {
  if (!x.load || x.matrix == Matrix::c || x.space.space != Space::shared) return false;
  return std::ranges::any_of(kByLdmatrix, [&](const LdmatrixRow& row) {
    return row.factors.contains(x.type) && (row.lines == Lines::any || lines_along_k(x));
  });
}

// PTX manual, "Matrix Storage for WMMA": rows or columns begin at multiples of the fragment size; "ldmatrix":
// its rows at multiples of 16 bytes. The default stride is legal even if it is not a multiple of the former
// (f16 with 8 elements in a line).
MatrixMove move_of(const MoveChoice& x, const FragmentMap& map) {
  constexpr int kLdmatrixRow = 16;
  const int element_bits = format(x.type).bits;
  const int fragment = map.registers() * map.packing().register_bits / 8;
  const int alignment = by_ldmatrix(x) ? std::max(fragment, kLdmatrixRow) : fragment;
  const int line = x.row ? map.columns() : map.rows();
  return {.to_memory = !x.load,
          .space = x.space.space,
          .addressing = Addressing::matrix,
          .lines_are_columns = !x.row,
          .element_bits = element_bits,
          .line_bytes = line * element_bits / 8,
          .alignment = alignment,
          .stride_multiple = std::gcd(alignment, line * element_bits / 8)};
}

Form make_move(const MoveChoice& x, Features needs) {
  constexpr std::string_view kNames[] = {"a", "b", "c"};
  Form form{};
  form.qualifiers = {x.load ? "load" : "store",
                     x.load ? std::string(kNames[static_cast<int>(x.matrix)]) : "d",
                     "sync",
                     "aligned",
                     x.row ? "row" : "col",
                     x.shape.text(),
                     std::string(x.space.qualifier),
                     qualifier(x.type)};
  form.canonical = canonical("wmma", form.qualifiers);
  form.needs = needs;
  form.known = Feature::wmma_fragments;
  form.arithmetic = {Unit::wmma_move, x.type, x.type, x.type, x.type};
  const FragmentMap map = fragment(x.matrix, x.shape, x.type);
  form.rows = map.rows();
  form.columns = map.columns();
  form.products = 1;
  if (x.load)
    form.operands = {vector_operand("r", Part::d, loaded_registers(x.type), x.type, map), address_operand(),
                     stride_operand()};
  else
    form.operands = {address_operand(),
                     vector_operand("r", Part::source, stored_registers(x.type), x.type, map),
                     stride_operand()};
  form.action = move_of(x, map);
  return form;
}

void add_moves(MoveChoice x, Features needs, Layouts layouts, std::string_view undocumented,
               std::vector<Form>& out) {
  for (const bool row : {true, false}) {
    x.row = row;
    // For sub-byte types A is stored by rows and B by columns.
    if (layouts == Layouts::row_col && x.matrix != Matrix::c && !lines_along_k(x)) continue;
    for (const StateSpace& space : kSpaces) {
      x.space = space;
      Form form = make_move(x, needs);
      form.undocumented = undocumented;
      // An earlier row with fewer needs wins.
      if (std::ranges::find(out, form.canonical, &Form::canonical) == out.end()) out.push_back(std::move(form));
    }
  }
}

std::vector<Form> expand_moves(bool load) {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const Format& f : formats()) {
      if (load && row.factors.contains(f.id))
        for (const Matrix matrix : {Matrix::a, Matrix::b})
          add_moves({load, matrix, row.shape, f.id, true, {}}, row.needs, row.layouts, "", out);
      if (row.sums.contains(f.id))
        add_moves({load, Matrix::c, row.shape, f.id, true, {}}, row.needs, row.layouts, "", out);
    }
  for (const Shape& shape : kIntegerShapes)
    add_moves({load, Matrix::c, shape, f32, true, {}}, Feature::sm_75, Layouts::any, kOddF32, out);
  return out;
}

// ---- wmma.mma

constexpr std::array kProductSlots{
    QualifierSlot{.what = "instruction", .group = "instruction", .leading = true},
    kOperation,
    kPopc,
    kSync,
    kAligned,
    QualifierSlot{.what = "layout of A", .group = "layout"},
    QualifierSlot{.what = "layout of B", .group = "layout"},
    kShape,
    QualifierSlot{.what = "rounding", .group = "rounding", .required = false},
    QualifierSlot{.what = "type of D", .group = "type"},
    QualifierSlot{.what = "type of A, or of C where A and B are f16", .group = "type"},
    QualifierSlot{.what = "type of B", .group = "type", .required = false},
    QualifierSlot{.what = "type of C", .group = "type", .required = false},
    kSatfinite,
};

struct MmaChoice {
  Shape shape;
  FormatId factor, d, c;
  std::string_view layout_a, layout_b;
  FreeQualifiers free;
  bool popc = true;
};

// In the order of kProductSlots. f16 factors have no qualifier.
std::vector<std::string> qualifiers(const MmaChoice& x) {
  const bool half = x.factor == f16;
  return {"mma",
          std::string(x.free.operation),
          x.free.operation.empty() || !x.popc ? "" : "popc",
          "sync",
          "aligned",
          std::string(x.layout_a),
          std::string(x.layout_b),
          x.shape.text(),
          std::string(x.free.rounding),
          qualifier(x.d),
          qualifier(half ? x.c : x.factor),
          half ? "" : qualifier(x.factor),
          half ? "" : qualifier(x.c),
          std::string(x.free.satfinite)};
}

Form make_mma(const MmaChoice& x, Features needs) {
  Form form{};
  form.qualifiers = qualifiers(x);
  form.canonical = canonical("wmma", form.qualifiers);
  form.needs = needs | x.free.needs;
  form.known = Feature::wmma_fragments;
  form.arithmetic = {Unit::wmma, x.d, x.factor, x.factor, x.c, x.free.modifiers};
  form.rows = x.shape.m;
  form.columns = x.shape.n;
  form.depth = x.shape.k;
  form.products = 1;
  return form;
}

std::vector<OperandSpec> mma_operands(const MmaChoice& x) {
  const auto factor = [&](std::string_view role, Part part, Matrix matrix) {
    return vector_operand(role, part, factor_registers(x.factor, part), x.factor,
                          fragment(matrix, x.shape, x.factor));
  };
  const auto sum = [&](std::string_view role, Part part, FormatId id) {
    return vector_operand(role, part, sum_registers(id, x.factor, part), id, fragment(Matrix::c, x.shape, id));
  };
  return {sum("d", Part::d, x.d), factor("a", Part::a, Matrix::a), factor("b", Part::b, Matrix::b),
          sum("c", Part::c, x.c)};
}

std::vector<Form> expand_mma() {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const Format& factor : formats())
      for (const Format& d : formats())
        for (const Format& c : formats()) {
          if (!row.factors.contains(factor.id) || !row.sums.contains(d.id) || !row.sums.contains(c.id))
            continue;
          const std::size_t layouts = row.layouts == Layouts::any ? std::size(kAnyLayout) : 1;
          for (const LayoutPair& layout : std::span(kAnyLayout).first(layouts))
            for (const FreeQualifiers& free : free_qualifiers(factor.id)) {
              const MmaChoice x{row.shape, factor.id, d.id, c.id, layout.a, layout.b, free};
              out.push_back(make_mma(x, row.needs));
              out.back().operands = mma_operands(x);
            }
        }
  return out;
}

// Forms that are refused before their operands are parsed.
void add_undocumented(std::span<const Shape> shapes, FormatSet factors, FormatId sum,
                      std::span<const FreeQualifiers> choices, std::string_view why, std::vector<Form>& out) {
  for (const Shape& shape : shapes)
    for (const Format& factor : formats())
      for (const LayoutPair& layout : kAnyLayout)
        for (const FreeQualifiers& free : choices) {
          if (!factors.contains(factor.id)) continue;
          out.push_back(
              make_mma({shape, factor.id, sum, sum, layout.a, layout.b, free, false}, Feature::sm_75));
          out.back().undocumented = why;
        }
}

constexpr FreeQualifiers kXor[] = {{"", "", "xor", Modifier::xor_popc, {}},
                                   {"satfinite", "", "xor", Modifier::xor_popc, {}}};
constexpr std::string_view kLoadMark[] = {"load"}, kMmaMark[] = {"mma"}, kStoreMark[] = {"store"};

}  // namespace

Family wmma_load_family() {
  return {"wmma.load", "wmma", kLoadMark, kMoveSlots, expand_moves(true)};
}

Family wmma_store_family() {
  return {"wmma.store", "wmma", kStoreMark, kMoveSlots, expand_moves(false)};
}

Family wmma_mma_family() {
  Family family{"wmma.mma", "wmma", kMmaMark, kProductSlots, expand_mma()};
  add_undocumented(kF64Shapes, f64, f64, free_qualifiers(f64), kOddF64, family.forms);
  add_undocumented(kOddShapes, kS4, s32, free_qualifiers(s4), kOddS4, family.forms);
  add_undocumented(kOddShapes, b1, s32, kXor, kOddB1, family.forms);
  return family;
}

}  // namespace warpbit
