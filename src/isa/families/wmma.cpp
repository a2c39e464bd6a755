// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.mma, wmma.store (PTX manual, "Matrix multiply-accumulate operation using wmma instructions").
//
//   wmma.load.a.sync.aligned.layout.shape{.ss}.type                        r, [p] {, stride};
//   wmma.mma{.op.popc}.sync.aligned.alayout.blayout.shape{.rnd}.types{.satfinite}  d, a, b, c;
//   wmma.store.d.sync.aligned.layout.shape{.ss}.type                       [p], r {, stride};
//
// The manual does not specify the fragments; NUMERICS.md, "Fragments of wmma", has the evidence.
#include <algorithm>
#include <numeric>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace wmma_family {

using enum FormatId;

// ---- The table: one row per shape and operand class.

struct Row {
  Shape shape;
  FormatSet factors;  // of A and B, which have the same type
  FormatSet sums;     // of C and D
  Features needs;
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
    {{8, 8, 32}, kS4, s32, Feature::sm_75},
    {{8, 8, 128}, b1, s32, Feature::sm_75},
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

// Of A or B, otherwise of C and D.
FragmentMap fragment(Part part, const Shape& shape, FormatId id) {
  const Packing p = packing(id);
  if (part == Part::a) return filled(wmma_a_map(shape, p), id);
  return part == Part::b ? filled(wmma_b_map(shape, p), id) : wmma_c_map(shape, p);
}

// For types below a byte, wmma has A by rows and B by columns only.
bool is_narrow(FormatId id) {
  return format(id).bits < 8;
}

// ---- Registers

constexpr LiteralRule kIntegers{.integer = kAnywhere, .f32 = kBeside};
constexpr LiteralRule kDoubles{.f64 = kAnywhere};
constexpr RegisterClass kStoredS32{"b32", 32, kIntegerTypes, kIntegers};

// The registers of a type in wmma.load and in wmma.store, which has no narrow types.
struct MovedRegisters {
  FormatSet types;
  RegisterClass loaded, stored;
};
constexpr MovedRegisters kMovedRegisters[] = {
    {f16, {"b32", 32, "b32 f16x2"}, {"b32", 32, "b32 f16x2", kBesideRegisters}},
    {f32, {"f32", 32, "f32 b32"}, {"f32", 32, "f32 b32", kSingles}},
    {f64, {"f64", 64, "f64 b64"}, {"f64", 64, "f64 b64", kDoubles}},
    {kS8 | s32, kIntegerWord, kStoredS32},
    {bf16 | tf32, {"b32", 32, "b32"}, {}},
    {kS4 | b1, kAnyWord, {}},
};
const MovedRegisters& moved_registers(FormatId id) {
  return *std::ranges::find_if(kMovedRegisters, [&](const auto& row) { return row.types.contains(id); });
}

const RegisterClass& factor_registers(FormatId id, Part part) {
  static constexpr RegisterClass kBytesA{"b32", 32, kIntegerTypes, kBesideRegisters};
  static constexpr RegisterClass kBytesB{"b32", 32, kIntegerTypes, {.f32 = kBeside}};
  static constexpr RegisterClass kSingleB{"b32", 32, "b32", {}, false};
  static constexpr RegisterClass kDouble{"f64", 64, "f64 b64", {.f64 = kAlone}};
  if (kS8.contains(id)) return part == Part::a ? kBytesA : kBytesB;
  if (id == tf32 && part == Part::b) return kSingleB;
  if (id == f64) return kDouble;
  return format(id).is_integer ? kIntegerWord : multiplicand_registers(id);
}
// D of tf32 does not accept '_'.
const RegisterClass& sum_registers(FormatId id, FormatId factor, Part part) {
  static constexpr RegisterClass kWholeF32{"f32", 32, "f32 b32", kSingles, true, false};
  if (factor == tf32 && part == Part::d) return kWholeF32;
  return id == s32 ? kStoredS32 : accumulator_registers(id);
}

// ---- wmma.load and wmma.store

struct StateSpace {
  std::string_view qualifier;
  Space space;
};
constexpr StateSpace kSpaces[] = {
    {"", Space::generic}, {"global", Space::global}, {"shared", Space::shared}, {"shared::cta", Space::shared}};

constexpr std::array kMoveSlots{
    kInstruction,
    QualifierSlot{.what = "matrix", .group = "matrix", .leading = true},
    kSync,
    kAligned,
    QualifierSlot{.what = "layout", .group = "layout"},
    kShape,
    kSpace,
    kType,
};

struct MoveChoice {
  bool load;
  Part matrix;  // a, b or c
  Shape shape;
  FormatId type;
  bool row;  // layout in memory
  StateSpace space;
};

OperandSpec stride_operand() {
  static constexpr RegisterClass kStride{"b32", 32, kIntegerTypes, {.integer = kAlone}};
  OperandSpec out = scalar_operand("stride", Part::stride, kStride, b32, lane_values(32));
  out.optional = true;
  return out;
}

bool lines_along_k(const MoveChoice& x) {
  return x.row == (x.matrix == Part::a);
}

// Layouts that ptxas 13.0 loads from .shared by LDSM, the SASS ldmatrix (NUMERICS.md, "Fragments of wmma").
bool by_ldmatrix(const MoveChoice& x) {
  const FormatSet types = lines_along_k(x) ? f16 | bf16 | kS8 | kS4 | b1 : f16 | bf16;
  return x.load && x.matrix != Part::c && x.space.space == Space::shared && types.contains(x.type);
}

// PTX manual, "Matrix Storage for WMMA": a matrix begins at a multiple of the fragment size; "ldmatrix": its rows at multiples
// of 16 bytes. Rows or columns: as CUDA C++ has it for load_matrix_sync, multiples of 8 halves or 4 floats; an H100 moves the
// right elements with strides of 24, 40 and 72 halves and of 20 floats. The PTX manual asks for the fragment size, up to 32
// bytes. The default stride is legal even if it is less (f16 with 8 elements in a line).
MatrixMove move_of(const MoveChoice& x, const FragmentMap& map) {
  constexpr int kLdmatrixRow = 16, kStride = 16;
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
          .stride_multiple = std::gcd(std::min(alignment, kStride), line * element_bits / 8)};
}

Form make_move(const MoveChoice& x, Features needs) {
  const std::string_view matrix = !x.load ? "d" : x.matrix == Part::a ? "a" : x.matrix == Part::b ? "b" : "c";
  const FragmentMap map = fragment(x.matrix, x.shape, x.type);
  Form out = make_form("wmma",
                       {x.load ? "load" : "store", matrix, "sync", "aligned", x.row ? "row" : "col",
                        x.shape.text(), x.space.qualifier, qualifier(x.type)},
                       {map.rows(), map.columns()}, needs, {Unit::wmma_move, x.type, x.type, x.type, x.type});
  out.known = Feature::wmma_fragments;
  const MovedRegisters& registers = moved_registers(x.type);
  if (x.load)
    out.operands = {vector_operand("r", Part::d, registers.loaded, x.type, map), address_operand()};
  else
    out.operands = {address_operand(), vector_operand("r", Part::source, registers.stored, x.type, map)};
  out.operands.push_back(stride_operand());
  out.action = move_of(x, map);
  return out;
}

void add_moves(MoveChoice x, Features needs, std::string_view undocumented, std::vector<Form>& out) {
  for (const bool row : {true, false}) {
    x.row = row;
    if (is_narrow(x.type) && !lines_along_k(x)) continue;
    for (const StateSpace& space : kSpaces) {
      x.space = space;
      Form form = make_move(x, needs);
      form.undocumented = undocumented;
      add_new(std::move(form), out);
    }
  }
}

std::vector<Form> expand_moves(bool load) {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const FormatId type : types_in(row.factors | row.sums))
      for (const Part matrix : {Part::a, Part::b, Part::c})
        if (matrix == Part::c ? row.sums.contains(type) : load && row.factors.contains(type))
          add_moves({load, matrix, row.shape, type, true, {}}, row.needs, "", out);
  for (const Shape& shape : kIntegerShapes)
    add_moves({load, Part::c, shape, f32, true, {}}, Feature::sm_75, kOddF32, out);
  return out;
}

// ---- wmma.mma

constexpr std::array kProductSlots{
    kInstruction,
    kOperation,
    kPopc,
    kSync,
    kAligned,
    kLayoutOfA,
    kLayoutOfB,
    kShape,
    kRounding,
    kTypeOfD,
    QualifierSlot{.what = "type of A, or of C where A and B are f16", .group = "type"},
    QualifierSlot{.what = "type of B", .group = "type", .required = false, .repeats = 1},
    QualifierSlot{.what = "type of C", .group = "type", .required = false, .repeats = 3},
    kSatfinite,
};

struct MmaChoice {
  Shape shape;
  FormatId factor, d, c;
  LayoutPair layout;
  FreeQualifiers free;
};

// f16 factors have no qualifier. `popc` is that of the bit operation, if it is there.
Form make_mma(const MmaChoice& x, Features needs, std::string_view popc) {
  const bool half = x.factor == f16;
  Form out =
      make_form("wmma",
                {"mma", x.free.operation, popc, "sync", "aligned", x.layout.a, x.layout.b, x.shape.text(),
                 x.free.rounding, qualifier(x.d), qualifier(half ? x.c : x.factor),
                 half ? "" : qualifier(x.factor), half ? "" : qualifier(x.c), x.free.satfinite},
                x.shape, needs | x.free.needs, {Unit::wmma, x.d, x.factor, x.factor, x.c, x.free.modifier});
  out.known = Feature::wmma_fragments;
  return out;
}

std::vector<OperandSpec> mma_operands(const MmaChoice& x) {
  const auto factor = [&](std::string_view role, Part part) {
    return vector_operand(role, part, factor_registers(x.factor, part), x.factor,
                          fragment(part, x.shape, x.factor));
  };
  const auto sum = [&](std::string_view role, Part part, FormatId id) {
    return vector_operand(role, part, sum_registers(id, x.factor, part), id, fragment(part, x.shape, id));
  };
  return {sum("d", Part::d, x.d), factor("a", Part::a), factor("b", Part::b), sum("c", Part::c, x.c)};
}

std::vector<Form> documented_products() {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const FormatId factor : types_in(row.factors))
      for (const auto& [d, c] : pairs_in(row.sums))
        for (const LayoutPair& layout : std::span(kAnyLayout).first(is_narrow(factor) ? 1 : 4))
          for (const FreeQualifiers& free : free_qualifiers(factor)) {
            const MmaChoice x{row.shape, factor, d, c, layout, free};
            out.push_back(make_mma(x, row.needs, free.popc()));
            out.back().operands = mma_operands(x);
          }
  return out;
}

// Forms that are refused before their operands are parsed.
void add_undocumented(std::span<const Shape> shapes, FormatSet factors, FormatId sum,
                      std::span<const FreeQualifiers> choices, std::string_view why, std::vector<Form>& out) {
  for (const Shape& shape : shapes)
    for (const FormatId factor : types_in(factors))
      for (const LayoutPair& layout : kAnyLayout)
        for (const FreeQualifiers& free : choices) {
          out.push_back(make_mma({shape, factor, sum, sum, layout, free}, Feature::sm_75, ""));
          out.back().undocumented = why;
        }
}

constexpr FreeQualifiers kXor[] = {{"", "", "xor", Modifier::xor_popc, {}},
                                   {"satfinite", "", "xor", Modifier::xor_popc, {}}};

std::vector<Form> expand_products() {
  std::vector<Form> out = documented_products();
  add_undocumented(kF64Shapes, f64, f64, free_qualifiers(f64), kOddF64, out);
  add_undocumented(kOddShapes, kS4, s32, free_qualifiers(s4), kOddS4, out);
  add_undocumented(kOddShapes, b1, s32, kXor, kOddB1, out);
  return out;
}

constexpr std::string_view kLoadMark[] = {"load"}, kMmaMark[] = {"mma"}, kStoreMark[] = {"store"};

constexpr SinceRow kSince[] = {
    {"and popc", {7, 1}},
};

}  // namespace wmma_family
}  // namespace

void add_wmma(std::vector<Family>& out) {
  using namespace wmma_family;
  out.push_back({"wmma.load", "wmma", kLoadMark, kMoveSlots, FormList(expand_moves, true)});
  out.push_back({"wmma.mma", "wmma", kMmaMark, kProductSlots, FormList(expand_products), kSince});
  out.push_back({"wmma.store", "wmma", kStoreMark, kMoveSlots, FormList(expand_moves, false)});
}

}  // namespace warpbit
