// SPDX-License-Identifier: Apache-2.0
// ldmatrix, stmatrix, movmatrix (PTX manual, "Warp-level matrix load / store / transpose instruction").
//
//   ldmatrix.sync.aligned.shape.num{.trans}{.ss}.type        r, [p];
//   ldmatrix.sync.aligned.shape.num{.trans}{.ss}.dst_fmt.src_fmt  r, [p];
//   ldmatrix.sync.aligned.m8n16.num{.ss}.s8.s4               r, [p];
//   stmatrix.sync.aligned.shape.num{.trans}{.ss}.type        [p], r;
//   movmatrix.sync.aligned.m8n8.trans.b16                    d, a;
//
// Rows and columns of a fragment are those of the matrix in memory: row i is the line of 16 bytes whose
// address one lane gives. So .trans affects lanes and values only.
#include <fmt/format.h>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace matrix_move_family {

using enum FormatId;
using Digits = std::vector<FragmentMap::Digit>;

constexpr int kLineBytes = 16, kShortLineBytes = 8;

// ---- The table: one row per shape, direction and element; how lanes and values (of one matrix) step through
// the matrix in memory.

struct Row {
  std::string_view shape, trans, type, source_format;
  int lines, line_elements;  // of a matrix in memory
  int most;                  // maximum number of matrices
  Packing packing;           // in a register; in memory only its bits
  FormatId format;
  Digits lane, value;
  Features needs;
  int signed_bits = 0;  // of an element in memory, if it is sign-extended and lines have no padding
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
      {"m8n8", "", "b16", "", 8, 8, 4, kHalves, b16, row_lane, row_value, halves},
      {"m8n8", "trans", "b16", "", 8, 8, 4, kHalves, b16, column_lane, column_value, halves},
      {"m16n16", "trans", "b8", "", 16, 16, 2, kBytes, b8, wide_lane, wide_value, bytes},
      {"m16n16", "trans", "b8x16", "b6x16_p32", 16, 16, 2, kLowSix, b8, wide_lane, wide_value, bytes},
      {"m16n16", "trans", "b8x16", "b4x16_p64", 16, 16, 2, kLowFour, b8, wide_lane, wide_value, bytes},
      {"m8n16", "", "b8x16", "b6x16_p32", 8, 16, 4, kLowSix, b8, flat_lane, flat_value, bytes},
      {"m8n16", "", "b8x16", "b4x16_p64", 8, 16, 4, kLowFour, b8, flat_lane, flat_value, bytes},
      // PTX ISA 9.4
      {"m8n16", "", "s8", "s4", 8, 16, 4, kBytes, s8, flat_lane, flat_value, Feature::signed_moves, 4},
  };
}

std::vector<Row> store_rows() {
  std::vector<Row> out = load_rows();
  out.resize(2);  // m8n8
  for (Row& row : out) row.needs = Feature::sm_90;
  // A line is a column of the 16 x 8 matrix: lines 2 t + e % 2, places g + 8 (e / 2).
  const Digits lane{{4, {2, 0}}, {8, {0, 1}}}, value{{2, {1, 0}}, {2, {0, 8}}};
  out.push_back({"m16n8", "trans", "b8", "", 8, 16, 4, kBytes, b8, lane, value, Feature::narrow_moves});
  return out;
}

// ---- Expansion

constexpr QualifierSlot kNumber{.what = "number of matrices", .group = "num"};
constexpr QualifierSlot kTrans{.what = "transposition", .group = "trans", .required = false};
constexpr QualifierSlot kSource{.what = "source format", .group = "type", .required = false};
constexpr std::array kLoadSlots{kSync, kAligned, kShape, kNumber, kTrans, kSpace, kType, kSource};
constexpr std::span<const QualifierSlot> kStoreSlots = std::span(kLoadSlots).first<7>();  // all but the last
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
  Form out = make_form(opcode,
                       {"sync", "aligned", row.shape, fmt::format("x{}", matrices), row.trans, space, row.type,
                        row.source_format},
                       {row.lines, row.line_elements, 0, matrices}, row.needs,
                       {Unit::matrix_move, row.format, row.format, row.format, row.format});
  if (!load) out.qualifiers.pop_back();
  if (matrices > row.most) {
    out.undocumented = kEight;
    return out;
  }
  const bool extends = row.signed_bits > 0;
  const int line_bytes = extends ? kShortLineBytes : kLineBytes;
  const FragmentMap map = matrix_map(row, matrices);
  if (load)
    out.operands = {vector_operand("r", Part::d, kAnyWord, row.format, map), address_operand()};
  else
    out.operands = {address_operand(), vector_operand("r", Part::source, kStoredWord, row.format, map)};
  out.action = MatrixMove{.to_memory = !load,
                          .space = space.empty() ? Space::generic : Space::shared,
                          .addressing = Addressing::rows,
                          .lines_are_columns = false,
                          .element_bits = extends ? row.signed_bits : row.packing.bits,
                          .line_bytes = line_bytes,
                          .alignment = line_bytes,
                          .extended_bits = extends ? row.packing.bits : 0};
  return out;
}

std::vector<Form> expand(std::string_view opcode, const std::vector<Row>& rows) {
  std::vector<Form> out;
  for (const Row& row : rows)
    for (const int matrices : {1, 2, 4, 8})
      for (const std::string_view space : kSpaces)
        if (matrices <= row.most || (matrices == 8 && row.signed_bits == 0))
          out.push_back(make_form(opcode, row, matrices, space));
  return out;
}

std::vector<Form> expand_loads() {
  return expand("ldmatrix", load_rows());
}
std::vector<Form> expand_stores() {
  return expand("stmatrix", store_rows());
}

std::vector<Form> expand_transpose() {
  static constexpr RegisterClass kMoved{"b32", 32, kAnyTypes, {.f32 = kAlone}};
  const std::vector<Row> rows = load_rows();
  Form out = make_form("movmatrix", {"sync", "aligned", "m8n8", "trans", "b16"}, Shape{8, 8}, Feature::sm_75,
                       {Unit::matrix_move, b16, b16, b16, b16});
  out.operands = {scalar_operand("d", Part::d, kAnyWord, b16, matrix_map(rows[1], 1)),
                  scalar_operand("a", Part::source, kMoved, b16, matrix_map(rows[0], 1))};
  out.action = Elementwise{};
  return {out};
}

constexpr SinceRow kLoadSince[] = {
    {"", {6, 5}},
    {".s8.s4", {9, 4}},
};
constexpr SinceRow kMoveSince[] = {
    {"", {7, 8}},
};

}  // namespace matrix_move_family
}  // namespace

void add_matrix_moves(std::vector<Family>& out) {
  using namespace matrix_move_family;
  out.push_back({"ldmatrix", "ldmatrix", {}, kLoadSlots, FormList(expand_loads), kLoadSince});
  out.push_back({"stmatrix", "stmatrix", {}, kStoreSlots, FormList(expand_stores)});
  out.push_back({"movmatrix", "movmatrix", {}, kMoveSlots, FormList(expand_transpose), kMoveSince});
}

}  // namespace warpbit
