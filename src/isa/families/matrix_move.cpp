// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix (PTX manual, "Warp-level matrix load / store / transpose instruction").
//
//   ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type        r, [p];
//   ldmatrix.sync.aligned.shape.num{.trans}{.ss}.dst_fmt.src_fmt  r, [p];
//   stmatrix.sync.aligned.shape.num{.trans}{.ss}.type        [p], r;
//   movmatrix.sync.aligned.m8n8.trans.b16                    d, a;
//
// Rows and columns of a fragment are those of the matrix in memory: row i is the line of 16 bytes whose
// address one lane gives. So .trans affects lanes and values only.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {

using enum FormatId;
using Digits = std::vector<FragmentMap::Digit>;

constexpr RegisterClass kLoaded{"b32", 32, "b32 u32 s32 f32 f16x2", {}};
constexpr RegisterClass kStored{
    "b32", 32, "b32 u32 s32 f32 f16x2", {.integer_mixed = true, .f32_whole = true, .f32_mixed = true}};
constexpr RegisterClass kMoved{"b32", 32, "b32 u32 s32 f32 f16x2", {.f32_whole = true}};

constexpr int kLineBytes = 16;

// ---- The table: one row per shape, direction and element; how lanes and values (of one matrix) step through
// the matrix in memory.

struct Row {
  std::string_view shape, trans, type, source_format;
  int lines, line_elements;  // of a matrix in memory
  int most;                  // maximum number of matrices
  Packing packing;           // in a register
  int element_bits;          // in memory
  FormatId format;
  Digits lane, value;
  Features needs;
};

constexpr Packing kHalves{32, 16, 0, 16}, kBytes{32, 8, 0, 8}, kLowSix{32, 8, 0, 6}, kLowFour{32, 8, 0, 4};

// g = lane / 4, t = lane % 4, e = slot in the register.
std::vector<Row> load_rows() {
  const Features bytes = Feature::narrow_moves, halves = Feature::sm_75;
  // Row g, columns 2 t + e; transposed.
  const Digits row_lane{{4, {0, 2}}, {8, {1, 0}}}, row_value{{2, {0, 1}}};
  const Digits column_lane{{4, {2, 0}}, {8, {0, 1}}}, column_value{{2, {1, 0}}};
  // Rows 4 t + e, column g, then column g + 8 in the next register.
  const Digits wide_lane{{4, {4, 0}}, {8, {0, 1}}}, wide_value{{4, {1, 0}}, {2, {0, 8}}};
  // Row g, columns 4 t + e.
  const Digits flat_lane{{4, {0, 4}}, {8, {1, 0}}}, flat_value{{4, {0, 1}}};
  return {
      {"m8n8", "", "b16", "", 8, 8, 4, kHalves, 16, b16, row_lane, row_value, halves},
      {"m8n8", "trans", "b16", "", 8, 8, 4, kHalves, 16, b16, column_lane, column_value, halves},
      {"m16n16", "trans", "b8", "", 16, 16, 2, kBytes, 8, b8, wide_lane, wide_value, bytes},
      {"m16n16", "trans", "b8x16", "b6x16_p32", 16, 16, 2, kLowSix, 6, b8, wide_lane, wide_value, bytes},
      {"m16n16", "trans", "b8x16", "b4x16_p64", 16, 16, 2, kLowFour, 4, b8, wide_lane, wide_value, bytes},
      {"m8n16", "", "b8x16", "b6x16_p32", 8, 16, 4, kLowSix, 6, b8, flat_lane, flat_value, bytes},
      {"m8n16", "", "b8x16", "b4x16_p64", 8, 16, 4, kLowFour, 4, b8, flat_lane, flat_value, bytes},
  };
}

std::vector<Row> store_rows() {
  std::vector<Row> out = load_rows();
  out.resize(2);  // m8n8
  for (Row& row : out) row.needs = Feature::sm_90;
  // A line is a column of the 16 x 8 matrix: lines 2 t + e % 2, places g + 8 (e / 2).
  out.push_back({"m16n8",
                 "trans",
                 "b8",
                 "",
                 8,
                 16,
                 4,
                 kBytes,
                 8,
                 b8,
                 {{4, {2, 0}}, {8, {0, 1}}},
                 {{2, {1, 0}}, {2, {0, 8}}},
                 Feature::narrow_moves});
  return out;
}

// ---- Expansion

constexpr QualifierSlot kTrans{.what = "transposition", .group = "trans", .required = false};
constexpr QualifierSlot kType{.what = "type", .group = "type", .role = SlotRole::factor_type};

constexpr std::array kStoreSlots{
    kSync,  kAligned,
    kShape, QualifierSlot{.what = "number of matrices", .group = "num"},
    kTrans, QualifierSlot{.what = "state space", .group = "space", .required = false},
    kType,
};
constexpr auto kLoadSlots =
    joined(kStoreSlots, std::array{QualifierSlot{.what = "source format", .group = "type", .required = false}});
constexpr std::array kMoveSlots{kSync, kAligned, kShape, kTrans, kType};

constexpr std::string_view kSpaces[] = {"", "shared", "shared::cta"};
constexpr auto kEight = ".x8, which ptxas 13.0 does not reject";

FragmentMap matrix_map(const Row& row, int matrices) {
  Digits value = row.value;
  if (matrices > 1) value.push_back({matrices, {0, 0, 1}});
  return {row.lines, row.line_elements, matrices, row.packing, row.lane, value};
}

Form make_form(std::string_view opcode, const Row& row, int matrices, std::string_view space) {
  const bool load = opcode == "ldmatrix";
  Form form{};
  form.qualifiers = {"sync",
                     "aligned",
                     std::string(row.shape),
                     "x" + std::to_string(matrices),
                     std::string(row.trans),
                     std::string(space),
                     std::string(row.type)};
  if (load) form.qualifiers.emplace_back(row.source_format);
  form.canonical = canonical(opcode, form.qualifiers);
  form.needs = row.needs;
  form.arithmetic = {Unit::matrix_move, row.format, row.format, row.format, row.format};
  form.rows = row.lines;
  form.columns = row.line_elements;
  form.products = matrices;
  if (matrices > row.most) {
    if (matrices == 8) form.undocumented = kEight;
    return form;
  }
  const FragmentMap map = matrix_map(row, matrices);
  if (load)
    form.operands = {vector_operand("r", Part::d, kLoaded, row.format, map), address_operand()};
  else
    form.operands = {address_operand(), vector_operand("r", Part::source, kStored, row.format, map)};
  form.action = MatrixMove{.to_memory = !load,
                           .space = space.empty() ? Space::generic : Space::shared,
                           .addressing = Addressing::rows,
                           .lines_are_columns = false,
                           .element_bits = row.element_bits,
                           .line_bytes = kLineBytes,
                           .alignment = kLineBytes};
  return form;
}

std::vector<Form> expand(std::string_view opcode, const std::vector<Row>& rows) {
  std::vector<Form> out;
  for (const Row& row : rows)
    for (const int matrices : {1, 2, 4, 8})
      for (const std::string_view space : kSpaces)
        if (matrices <= row.most || matrices == 8) out.push_back(make_form(opcode, row, matrices, space));
  return out;
}

}  // namespace

Family ldmatrix_family() {
  return {"ldmatrix", "ldmatrix", {}, kLoadSlots, expand("ldmatrix", load_rows())};
}

Family stmatrix_family() {
  return {"stmatrix", "stmatrix", {}, kStoreSlots, expand("stmatrix", store_rows())};
}

Family movmatrix_family() {
  const std::vector<Row> rows = load_rows();
  Form form{};
  form.qualifiers = {"sync", "aligned", "m8n8", "trans", "b16"};
  form.canonical = canonical("movmatrix", form.qualifiers);
  form.needs = Feature::sm_75;
  form.arithmetic = {Unit::matrix_move, b16, b16, b16, b16};
  form.rows = form.columns = 8;
  form.products = 1;
  form.operands = {scalar_operand("d", Part::d, kLoaded, b16, matrix_map(rows[1], 1)),
                   scalar_operand("a", Part::source, kMoved, b16, matrix_map(rows[0], 1))};
  form.action = Elementwise{};
  return {"movmatrix", "movmatrix", {}, kMoveSlots, {form}};
}

}  // namespace warpbit
