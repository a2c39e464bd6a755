// SPDX-License-Identifier: Apache-2.0
// tcgen05.ld, .st, .cp and .shift (tcgen05.cpp has their notation).
#include <fmt/format.h>

#include <algorithm>

#include "isa/families/tcgen05.hpp"

namespace warpbit {
namespace tcgen05_family {
namespace {

using enum FormatId;

// ---- tcgen05.ld, tcgen05.st: the lanes of tensor memory are rows. Thread t, register r (PTX manual, "Data Movement Shape"):

using Move = tensor::RegisterMove;
using tensor::MoveShape;

struct MoveRow {
  std::string_view name;
  MoveShape shape;
  int rows;       // lanes of tensor memory
  int columns;    // for .x1
  int registers;  // for .x1
  bool reduces;   // has .ld.red
};
constexpr MoveRow kMoveRows[] = {
    // lane                     column
    {"16x32bx2", MoveShape::s16x32bx2, 16, 2, 1, true},  // t % 16                  r + t / 16 immHalfSplitoff
    {"16x64b", MoveShape::s16x64b, 16, 2, 1, false},     // t / 4 + 8 (t % 2)       2 r + t / 2 % 2
    {"16x128b", MoveShape::s16x128b, 16, 4, 2, false},   // t / 4 + 8 (r % 2)       t % 4 + 4 (r / 2)
    {"16x256b", MoveShape::s16x256b, 16, 8, 4, false},  // t / 4 + 8 (r / 2 % 2)   2 (t % 4) + r % 2 + 8 (r / 4)
    {"32x32b", MoveShape::s32x32b, 32, 1, 1, true},     // t                       r
};
constexpr int kMaxRegisters = 128;

// .pack::16b, .unpack::16b: column c becomes columns 2 c and 2 c + 1, the low halves of which lie in a register, the first one in
// its lower half. `split` is immHalfSplitoff, in columns.
FragmentMap move_map(const MoveRow& row, int number, bool is_packed, int split) {
  const int per = is_packed ? 2 : 1;
  const Packing packing = is_packed ? Packing{32, 16, 0, 16} : Packing{};
  const auto right = [&](int columns) { return Coordinate{0, per * columns}; };
  constexpr Coordinate kLane{1, 0}, kEightLanes{8, 0};
  int columns = per * row.columns * number, step = row.columns;
  std::vector<FragmentMap::Digit> lane, value;
  if (is_packed) value.push_back({2, {0, 1}});
  switch (row.shape) {
    case MoveShape::s16x32bx2:
      lane = {{16, kLane}, {2, {0, split}}};
      columns = per * number + split;
      step = 1;
      break;
    case MoveShape::s16x64b: lane = {{2, kEightLanes}, {2, right(1)}, {8, kLane}}; break;
    case MoveShape::s16x128b:
      lane = {{4, right(1)}, {8, kLane}};
      value.push_back({2, kEightLanes});
      break;
    case MoveShape::s16x256b:
      lane = {{4, right(2)}, {8, kLane}};
      value.push_back({2, right(1)});
      value.push_back({2, kEightLanes});
      break;
    case MoveShape::s32x32b: lane = {{32, kLane}}; break;
  }
  if (number > 1) value.push_back({number, right(step)});
  return {row.rows, columns, 1, packing, lane, value};
}

// The columns of lanes 16-31 follow those of lanes 0-15, as CuTe has them.
int adjacent_split(const Move& move) {
  return move.number * (move.is_packed ? 2 : 1);
}

std::vector<OperandSpec> operands(const MoveRow& row, const Move& move) {
  static constexpr RegisterClass kNoSinks{"b32", 32, kAnyTypes, {}, true, false};
  const FragmentMap map = move_map(row, move.number, move.is_packed, adjacent_split(move));
  const RegisterClass& registers = move.stores ? kStoredWord : kNoSinks;
  const OperandSpec r =
      vector_operand("r", move.stores ? Part::source : Part::d, registers, move.is_packed ? b16 : b32, map);
  std::vector<OperandSpec> out;
  if (!move.stores) out.push_back(r);
  if (move.reduction) out.push_back(one("redval", Part::reduced, OperandKind::scalar, kAnyWord, b32, kWarp));
  out.push_back(tensor_address("taddr", Part::tensor_address, kWarp));
  if (row.shape == MoveShape::s16x32bx2)
    out.push_back(
        immediate_operand("imm_half_split_off", Part::half_split,
                          {.least = kAnyInteger, .most = kUnbounded, .of_bare_form = adjacent_split(move)}));
  if (move.stores) out.push_back(r);
  return out;
}

constexpr QualifierSlot kMoveShape{.what = "shape", .group = "shape"};
constexpr QualifierSlot kNumber{.what = "number of repetitions", .group = "number"};
constexpr std::array kLoadSlots{
    kWord,      kSync,   kAlignedByManual,
    kMoveShape, kNumber, QualifierSlot{.what = "packing", .group = "packing", .required = false},
    kDataType};
constexpr std::array kReduceSlots{
    kWord,
    QualifierSlot{.what = "qualifier .red", .group = "red", .required = false, .leading = true},
    kSync,
    kAlignedByManual,
    kMoveShape,
    kNumber,
    QualifierSlot{.what = "operation", .group = "operation", .chosen = true},
    QualifierSlot{.what = "qualifier .abs", .group = "abs", .required = false},
    QualifierSlot{.what = "qualifier .NaN", .group = "NaN", .required = false},
    kDataType};

void add_move(const MoveRow& row, std::initializer_list<std::string_view> qualifiers, const Move& move,
              std::vector<Form>& out) {
  Features needs = Feature::tensor_memory;
  if (move.reduction) needs = needs | Feature::tensor_reduce;
  Form form = make_tensor_form(qualifiers, {.lanes = kWarp, .what = move}, needs);
  form.operands = operands(row, move);
  const FragmentMap map = move_map(row, move.number, move.is_packed, adjacent_split(move));
  form.rows = map.rows();
  form.columns = map.columns();
  form.products = 1;
  out.push_back(std::move(form));
}

std::vector<Form> expand_moves(bool stores) {
  std::vector<Form> out;
  for (const MoveRow& row : kMoveRows)
    for (int number = 1; number * row.registers <= kMaxRegisters; number *= 2)
      for (const bool is_packed : {false, true})
        add_move(row,
                 {stores ? "st" : "ld", "sync", "aligned", row.name, fmt::format("x{}", number),
                  !is_packed ? ""
                  : stores   ? "unpack::16b"
                             : "pack::16b",
                  "b32"},
                 {stores, row.shape, number, is_packed}, out);
  return out;
}

std::vector<Form> expand_reductions() {
  using Reduction = Move::Reduction;
  using Type = Reduction::Type;
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"u32", Type::u32}, {"s32", Type::s32}, {"f32", Type::f32}};
  std::vector<Form> out;
  for (const MoveRow& row : kMoveRows)
    for (int number = 2; row.reduces && number <= kMaxRegisters; number *= 2)
      for (const bool max : {false, true})
        for (const auto& [name, type] : kTypes)
          for (const bool absolute : {false, true})
            for (const bool nan : {false, true})
              if (type == Type::f32 || (!absolute && !nan))
                add_move(row,
                         {"ld", "red", "sync", "aligned", row.name, fmt::format("x{}", number),
                          max ? "max" : "min", absolute ? "abs" : "", nan ? "NaN" : "", name},
                         {false, row.shape, number, false, Reduction{max, absolute, nan, type}}, out);
  return out;
}

// ---- tcgen05.ld{.red}.spcompress (PTX ISA 9.4): two of four columns, and which they are

constexpr QualifierSlot kCompressing{
    .what = "qualifier .spcompress", .group = "spcompress", .required = false, .leading = true};
constexpr std::array kCompressSlots{
    kWord,
    QualifierSlot{.what = "qualifier .red", .group = "red", .required = false, .leading = true},
    kCompressing,
    kSync,
    kAlignedByManual,
    kMoveShape,
    kNumber,
    QualifierSlot{.what = "operation", .group = "operation", .chosen = true},
    QualifierSlot{.what = "factor", .group = "factor"},
    QualifierSlot{.what = "qualifier .abs", .group = "abs", .required = false},
    QualifierSlot{.what = "qualifier .NaN", .group = "NaN", .required = false},
    kDataType,
    QualifierSlot{.what = "size of an index", .group = "index"}};
constexpr std::string_view kNoPlaces = "no document says which of equal elements it takes";

std::vector<Form> expand_compressions(bool reduces) {
  static constexpr RegisterClass kNoSinks{"b32", 32, kAnyTypes, {}, true, false};
  const MoveRow& row = *std::ranges::find(kMoveRows, MoveShape::s32x32b, &MoveRow::shape);
  const auto vector = [&](std::string_view role, Part part, int registers) {
    return vector_operand(role, part, kNoSinks, b32, move_map(row, registers, false, 0));
  };
  std::vector<Form> out;
  for (int number = 4; number <= kMaxRegisters; number *= 2)
    for (const bool max : {false, true})
      for (const bool absolute : {false, true})
        for (const bool nan : {false, true}) {
          if (nan && !reduces) continue;
          Move move{false, row.shape, number, false};
          if (reduces) move.reduction = Move::Reduction{max, absolute, nan, Move::Reduction::Type::f32};
          Form form = make_tensor_form({"ld", reduces ? "red" : "", "spcompress", "sync", "aligned", row.name,
                                        fmt::format("x{}", number), max ? "max" : "min", "sp::2:4",
                                        absolute ? "abs" : "", nan ? "NaN" : "", "f32", "b2"},
                                       {.lanes = kWarp, .what = move, .not_executed = kNoPlaces},
                                       Feature::tensor_memory | Feature::sm_107a);
          form.operands = {vector("mdata", Part::metadata, (number + 31) / 32),
                           vector("cdata", Part::d, number / 2)};
          if (reduces)
            form.operands.push_back(one("redval", Part::reduced, OperandKind::scalar, kAnyWord, b32, kWarp));
          form.operands.push_back(tensor_address("taddr", Part::tensor_address, kWarp));
          form.rows = row.rows;
          form.columns = number / 2;
          form.products = 1;
          out.push_back(std::move(form));
        }
  return out;
}

// ---- tcgen05.cp, tcgen05.shift

struct CopyRow {
  std::string_view shape, multicast;
  tensor::Copy copy;
};
using CopyShape = tensor::Copy::Shape;
using Multicast = tensor::Copy::Multicast;
constexpr CopyRow kCopyRows[] = {
    {"4x256b", "", {CopyShape::s4x256b, Multicast::none, 8}},
    {"32x128b", "warpx4", {CopyShape::s32x128b, Multicast::warpx4, 8}},
    {"64x128b", "warpx2::01_23", {CopyShape::s64x128b, Multicast::warpx2_01_23, 8}},
    {"64x128b", "warpx2::02_13", {CopyShape::s64x128b, Multicast::warpx2_02_13, 8}},
    {"128x128b", "", {CopyShape::s128x128b, Multicast::none, 8}},
    {"128x256b", "", {CopyShape::s128x256b, Multicast::none, 8}},
};
constexpr std::pair<std::string_view, int> kSourceFormats[] = {{"", 8}, {"b4x16_p64", 4}, {"b6x16_p32", 6}};

constexpr std::array kCopySlots{
    kWord,
    kCtaGroup,
    QualifierSlot{.what = "shape", .group = "shape"},
    QualifierSlot{.what = "multicast", .group = "multicast", .required = false},
    QualifierSlot{.what = "destination format", .group = "destination", .required = false},
    QualifierSlot{.what = "source format", .group = "source", .required = false, .after_previous = true}};

std::vector<Form> expand_copies() {
  std::vector<Form> out;
  for (const CopyRow& row : kCopyRows)
    for (const std::string_view group : kCtaGroups)
      for (const auto& [format, bits] : kSourceFormats) {
        tensor::Copy copy = row.copy;
        copy.source_bits = bits;
        out.push_back(
            make_tensor_form({"cp", group, row.shape, row.multicast, bits == 8 ? "" : "b8x16", format},
                             {.cta_group = number_of(group), .what = copy}));
        out.back().operands = {tensor_address("taddr", Part::tensor_address, kThread),
                               descriptor("s_desc", Part::source, b8)};
      }
  return out;
}

constexpr std::array kShiftSlots{kWord, kCtaGroup, QualifierSlot{.what = "direction", .group = "direction"}};

std::vector<Form> expand_shifts() {
  std::vector<Form> out;
  for (const std::string_view group : kCtaGroups) {
    out.push_back(make_tensor_form({"shift", group, "down"},
                                   {.cta_group = number_of(group), .what = tensor::Shift{}}, kSpecific));
    out.back().operands = {tensor_address("taddr", Part::tensor_address, kThread)};
  }
  return out;
}

constexpr std::string_view kCopyMarks[] = {"cp"}, kLoadMarks[] = {"ld"}, kReduceMarks[] = {"ld", "red"},
                           kStoreMarks[] = {"st"}, kShiftMarks[] = {"shift"},
                           kCompressMarks[] = {"ld", "spcompress"},
                           kReduceCompressMarks[] = {"ld", "red", "spcompress"};
constexpr SinceRow kCompressSince[] = {{"spcompress", {9, 4}}};

}  // namespace

void add_moves(std::vector<Family>& out) {
  add(out, "tcgen05.cp", kCopyMarks, kCopySlots, FormList(expand_copies));
  add(out, "tcgen05.ld", kLoadMarks, kLoadSlots, FormList(expand_moves, false));
  add(out, "tcgen05.ld.red", kReduceMarks, kReduceSlots, FormList(expand_reductions));
  add(out, "tcgen05.ld.red.spcompress", kReduceCompressMarks, kCompressSlots,
      FormList(expand_compressions, true), kCompressSince);
  add(out, "tcgen05.ld.spcompress", kCompressMarks, kCompressSlots, FormList(expand_compressions, false),
      kCompressSince);
  add(out, "tcgen05.shift", kShiftMarks, kShiftSlots, FormList(expand_shifts));
  add(out, "tcgen05.st", kStoreMarks, kLoadSlots, FormList(expand_moves, true));
}

}  // namespace tcgen05_family

std::optional<FragmentMap> map_of_split(const Form& form, std::int64_t split) {
  using namespace tcgen05_family;
  const auto* action = std::get_if<TensorAction>(&form.action);
  const auto* move = action != nullptr ? std::get_if<tensor::RegisterMove>(&action->what) : nullptr;
  if (move == nullptr || split < 0 || split >= TensorMemory::kColumns) return {};
  const auto* row = std::ranges::find(kMoveRows, move->shape, &MoveRow::shape);
  return move_map(*row, move->number, move->is_packed, static_cast<int>(split));
}

}  // namespace warpbit
