// SPDX-License-Identifier: Apache-2.0
// tcgen05, the instructions of tensor memory (PTX manual, "TensorCore 5th Generation Family Instructions").
//
//   tcgen05.mma{.ws}{.sp}.cta_group.kind{.block_scale{.scale_vec_size}}{.ashift}{.collector_usage}{.collector_usage}
//      [d], a-desc | [a], b-desc, {[sp-meta],} idesc, {[scale-a], [scale-b],} {disable-output-lane,} enable-input-d
//      {, scale-input-d | zero-column-mask-desc};
//   tcgen05.ld{.red}.sync.aligned.shape.num{.pack::16b | .op{.abs}{.NaN}}.type  r, {redval,} [taddr] {, immHalfSplitoff};
//   tcgen05.st.sync.aligned.shape.num{.unpack::16b}.b32                  [taddr], {immHalfSplitoff,} r;
//   tcgen05.cp.cta_group.shape{.multicast}{.b8x16.src_fmt}               [taddr], s-desc;
//   tcgen05.shift.cta_group.down                                         [taddr];
//   tcgen05.alloc{.exclusive}.cta_group.sync.aligned{.shared::cta}.b32   [dst], nCols;
//   tcgen05.dealloc{.exclusive}.cta_group.sync.aligned.b32               taddr, nCols;
//   tcgen05.relinquish_alloc_permit.cta_group.sync.aligned;
//   tcgen05.commit.cta_group.mbarrier::arrive::one{.sync_restrict}{.shared::cluster}{.multicast}.b64  [mbar] {, ctaMask};
//   tcgen05.fence::before_thread_sync;  tcgen05.fence::after_thread_sync;
//   tcgen05.wait::ld.sync.aligned;      tcgen05.wait::st.sync.aligned;
#include <fmt/format.h>

#include <algorithm>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace tcgen05_family {

using enum FormatId;

// ---- Operands

constexpr int kWarp = 32, kThread = 1;

// A value of each lane that executes the instruction.
FragmentMap thread_values(int lanes, int bits, int count = 1) {
  if (lanes == kWarp) return lane_values(bits);
  if (count == 1) return {1, 1, 1, {bits, bits, 0, bits}, {}, {}};
  return {1, count, 1, {bits, bits, 0, bits}, {}, {{count, {0, 1}}}};
}

OperandSpec one(std::string_view role, Part part, OperandKind kind, const RegisterClass& registers, FormatId id,
                int lanes) {
  return {role, part, kind, &registers, 1, id, {thread_values(lanes, registers.bits)}};
}

// [taddr]. The assembler takes more types where it does not look, and no others than .b32 in tcgen05.mma.
OperandSpec tensor_address(std::string_view role, Part part, int lanes) {
  static constexpr RegisterClass kOfMove{"b32", 32, kIntegerTypes}, kOfMma{"b32", 32, "b32"};
  return one(role, part, OperandKind::address, part == Part::tensor_address ? kOfMove : kOfMma, b32, lanes);
}

// [p], of shared memory.
OperandSpec shared_address(std::string_view role, int lanes) {
  OperandSpec out = address_operand();
  out.role = role;
  out.fragments = {thread_values(lanes, 64)};
  return out;
}

OperandSpec descriptor(std::string_view role, Part part, FormatId id) {
  static constexpr RegisterClass kDescriptor64{"b64", 64, "b64 u64 s64", {.integer = kAlone}};
  return one(role, part, OperandKind::descriptor, kDescriptor64, id, kThread);
}

// A register or a literal.
constexpr RegisterClass kIntegerOrLiteral{"b32", 32, kIntegerTypes, {.integer = kAlone}};

// The number of columns, and an address without brackets.
OperandSpec integer_of_warp(std::string_view role, Part part) {
  return one(role, part, OperandKind::scalar, kIntegerOrLiteral, b32, kWarp);
}

// ---- Slots

constexpr QualifierSlot kWord{.what = "instruction", .group = "instruction", .leading = true, .chosen = true};
constexpr QualifierSlot kCtaGroup{.what = "CTA group", .group = "cta_group"};
constexpr QualifierSlot kMmaKind{.what = "kind", .group = "kind", .chosen = true, .resembles = looks_like_kind};
constexpr QualifierSlot kCollector{.what = "collector usage", .group = "collector", .required = false};
constexpr QualifierSlot kSecondCollector{
    .what = "collector usage of B", .group = "collector_b", .required = false};

constexpr std::string_view kCtaGroups[] = {"cta_group::1", "cta_group::2"};

int number_of(std::string_view cta_group) {
  return cta_group.back() - '0';
}

// A form without its operands, which moves and orders.
Form make_tensor_form(std::initializer_list<std::string_view> qualifiers, TensorAction action,
                      Features needs = Feature::tensor_memory) {
  Form out =
      make_form("tcgen05", qualifiers, Shape{0, 0, 0, 0}, needs, {Unit::tensor_memory, b32, b32, b32, b32});
  out.action = action;
  return out;
}

// ---- tcgen05.mma: one row per kind, and per number of scale factors. Types are those of one of the instruction descriptors
// that fit.

struct KindRow {
  std::string_view kind;
  TensorKind tensor_kind;
  FormatId factor, sum;
  Sparsity sparsity;
  Features needs = Feature::tensor_memory;
  bool scales_d = false;  // scale-input-d
  // With .block_scale:
  std::string_view scale_vec = {};
  int scales = 0;  // TensorMma::scale_vec
  Modifier modifier = Modifier::none;
  Features sparse_needs = {};
};

constexpr Features kSpecific = Feature::tensor_memory | Feature::tensor_specific;

constexpr KindRow kPlainKinds[] = {
    {"kind::f16", TensorKind::f16, f16, f32, kTwoOfFour, Feature::tensor_memory, true},
    {"kind::tf32", TensorKind::tf32, tf32, f32, kOneOfTwo, Feature::tensor_memory, true},
    {"kind::f8f6f4", TensorKind::f8f6f4, e4m3, f32, kTwoOfFour},
    {"kind::i8", TensorKind::i8, s8, s32, kTwoOfFour, Feature::tensor_memory | Feature::tensor_i8},
    // PTX ISA 9.4
    {"kind::ti16", TensorKind::ti16, s1z4m11, s32, kTwoOfFour, Feature::tensor_memory | Feature::sm_107f},
};

constexpr KindRow scaled(std::string_view kind, TensorKind tensor_kind, FormatId factor,
                         std::string_view scale_vec, int scales, Modifier modifier) {
  const bool is_narrow = factor == e2m1;
  const Features needs = scale_vec.starts_with("scale_vec") ? kSpecific : Features(Feature::tensor_memory);
  return {kind,  tensor_kind, factor, f32,      is_narrow ? kPairsOfEight : kTwoOfFour, needs,
          false, scale_vec,   scales, modifier, is_narrow ? kSpecific : needs};
}
constexpr KindRow kScaledKinds[] = {
    scaled("kind::mxf8f6f4", TensorKind::mxf8f6f4, e4m3, "", 1, Modifier::none),
    scaled("kind::mxf8f6f4", TensorKind::mxf8f6f4, e4m3, "block32", 1, Modifier::none),
    scaled("kind::mxf8f6f4", TensorKind::mxf8f6f4, e4m3, "scale_vec::1X", 1, Modifier::none),
    scaled("kind::mxf4", TensorKind::mxf4, e2m1, "", 2, Modifier::packed_fp4),
    scaled("kind::mxf4", TensorKind::mxf4, e2m1, "block32", 2, Modifier::packed_fp4),
    scaled("kind::mxf4", TensorKind::mxf4, e2m1, "scale_vec::2X", 2, Modifier::packed_fp4),
    scaled("kind::mxf4nvf4", TensorKind::mxf4nvf4, e2m1, "block16", 4, Modifier::packed_nvf4),
    scaled("kind::mxf4nvf4", TensorKind::mxf4nvf4, e2m1, "block32", 2, Modifier::packed_fp4),
    scaled("kind::mxf4nvf4", TensorKind::mxf4nvf4, e2m1, "scale_vec::2X", 2, Modifier::packed_fp4),
    scaled("kind::mxf4nvf4", TensorKind::mxf4nvf4, e2m1, "scale_vec::4X", 4, Modifier::packed_nvf4),
};

constexpr std::string_view kCollectorsOfA[] = {"", "collector::a::discard", "collector::a::fill",
                                               "collector::a::lastuse", "collector::a::use"};
// After .ashift nothing can use A as it was.
constexpr std::string_view kCollectorsOfShifted[] = {"", "collector::a::discard", "collector::a::lastuse"};
// Of .ws; of others there is one buffer, since PTX ISA 9.4.
constexpr std::string_view kNoCollector[] = {""};
constexpr std::string_view kCollectorOfB[] = {"", "collector::b::discard", "collector::b::fill",
                                              "collector::b::lastuse", "collector::b::use"};
constexpr std::string_view kCollectorsOfB[] = {
    "",
    "collector::b0::discard",
    "collector::b0::fill",
    "collector::b0::lastuse",
    "collector::b0::use",
    "collector::b1::discard",
    "collector::b1::fill",
    "collector::b1::lastuse",
    "collector::b1::use",
    "collector::b2::discard",
    "collector::b2::fill",
    "collector::b2::lastuse",
    "collector::b2::use",
    "collector::b3::discard",
    "collector::b3::fill",
    "collector::b3::lastuse",
    "collector::b3::use",
};

struct MmaChoice {
  const KindRow* row;
  TensorMma mma;
  bool disables_lanes = false, scales_d = false, zeroes_columns = false;
  bool collects_b = false;  // with .collector::b
};

std::vector<OperandSpec> operands(const MmaChoice& x) {
  static constexpr RegisterClass kLaneMask{"b32", 32, kAnyTypes, {.integer = kBeside}};
  static constexpr RegisterClass kEnable{"pred", 8, "pred", {.integer = kAlone}};
  const int masks = 4 * x.mma.cta_group;
  const FormatId factor = x.row->factor;
  std::vector<OperandSpec> out = {tensor_address("d_tmem", Part::d_address, kThread),
                                  x.mma.a_in_tensor_memory ? tensor_address("a_tmem", Part::a_address, kThread)
                                                           : descriptor("a_desc", Part::a, factor),
                                  descriptor("b_desc", Part::b, factor)};
  if (x.mma.is_sparse) out.push_back(tensor_address("sp_meta_tmem", Part::metadata_address, kThread));
  out.push_back(
      one("idesc", Part::instruction_descriptor, OperandKind::scalar, kIntegerOrLiteral, b32, kThread));
  if (x.mma.is_block_scaled()) {
    out.push_back(tensor_address("scale_a_tmem", Part::scale_a_address, kThread));
    out.push_back(tensor_address("scale_b_tmem", Part::scale_b_address, kThread));
  }
  if (x.disables_lanes)
    out.push_back(vector_operand("disable_output_lane", Part::disabled_lanes, kLaneMask, b32,
                                 thread_values(kThread, 32, masks)));
  out.push_back(one("enable_input_d", Part::enable_d, OperandKind::predicate, kEnable, b8, kThread));
  if (x.scales_d) out.push_back(immediate_operand("scale_input_d", Part::scale_exponent, {0, 15}));
  if (x.zeroes_columns) out.push_back(descriptor("zero_column_mask_desc", Part::zero_columns, b1));
  return out;
}

constexpr QualifierSlot kSparseSlot{.what = "sparse variant", .group = "variant", .required = false};
constexpr QualifierSlot kWsSlot{.what = "qualifier .ws", .group = "ws", .required = false, .leading = true};
constexpr std::array kMmaSlots{kWord,
                               kSparseSlot,
                               kCtaGroup,
                               kMmaKind,
                               QualifierSlot{.what = "qualifier .ashift", .group = "ashift", .required = false},
                               kCollector,
                               kSecondCollector};
constexpr std::array kBlockScaleSlots{
    kWord,
    kSparseSlot,
    kCtaGroup,
    kMmaKind,
    QualifierSlot{.what = "qualifier .block_scale", .group = "block_scale"},
    QualifierSlot{.what = "number of scale factors", .group = "scale_vec", .required = false},
    kCollector,
    kSecondCollector};
constexpr std::array kWsSlots{kWord, kWsSlot, kSparseSlot, kCtaGroup, kMmaKind, kCollector};

Form make_mma(std::initializer_list<std::string_view> qualifiers, const MmaChoice& x) {
  const KindRow& row = *x.row;
  const bool is_scaled = x.mma.is_block_scaled();
  const Unit unit = x.mma.is_sparse ? (is_scaled ? Unit::tcgen05_sp_block_scale : Unit::tcgen05_sp)
                                    : (is_scaled ? Unit::tcgen05_block_scale : Unit::tcgen05);
  Features needs = is_scaled && x.mma.is_sparse ? row.needs | row.sparse_needs : row.needs;
  if (x.scales_d && row.scales_d) needs = needs | Feature::tensor_scale_d;
  if (x.collects_b) needs = needs | Feature::sm_107f;
  Form out = make_form("tcgen05", qualifiers, Shape{0, 0, 0, 0}, needs,
                       {unit, row.sum, row.factor, row.factor, row.sum, row.modifier});
  out.action = TensorAction{kThread, x.mma.cta_group, x.mma};
  out.operands = operands(x);
  if (x.mma.is_sparse) out.sparsity = row.sparsity;
  if (x.scales_d && !row.scales_d)
    out.undocumented = "scale_input_d with an integer kind, which ptxas 13.0 does not reject";
  return out;
}

// With lanes disabled or not, D scaled or not. The first form is that of a statement without operands.
void add_operand_choices(std::initializer_list<std::string_view> qualifiers, MmaChoice x,
                         std::vector<Form>& out) {
  const bool is_i8 = x.row->tensor_kind == TensorKind::i8;
  for (const bool scales : {false, true})
    for (const bool disables : {false, true}) {
      if (scales && !x.row->scales_d && !is_i8) continue;
      x.disables_lanes = disables;
      x.scales_d = scales;
      // The assembler does not take both with sparse integers.
      if (!(scales && disables && is_i8 && x.mma.is_sparse)) out.push_back(make_mma(qualifiers, x));
    }
}

std::vector<Form> expand_plain(bool is_sparse) {
  const std::string_view sp = is_sparse ? "sp" : "";
  std::vector<Form> out;
  for (const KindRow& row : kPlainKinds)
    for (const std::string_view group : kCtaGroups) {
      TensorMma mma{.kind = row.tensor_kind, .cta_group = number_of(group), .is_sparse = is_sparse};
      const bool is_i8 = row.tensor_kind == TensorKind::i8;
      for (const std::string_view b :
           is_i8 ? std::span(kNoCollector) : std::span<const std::string_view>(kCollectorOfB)) {
        MmaChoice choice{.row = &row, .mma = mma, .collects_b = !b.empty()};
        for (const std::string_view a : kCollectorsOfA)
          for (const bool in_tensor_memory : {false, true}) {
            choice.mma.a_in_tensor_memory = in_tensor_memory;
            add_operand_choices({"mma", sp, group, row.kind, "", a, b}, choice, out);
          }
        choice.mma.shifts_a = true;
        for (const std::string_view a : kCollectorsOfShifted)
          add_operand_choices({"mma", sp, group, row.kind, "ashift", a, b}, choice, out);
      }
    }
  return out;
}

std::vector<Form> expand_scaled(bool is_sparse) {
  std::vector<Form> out;
  for (const KindRow& row : kScaledKinds)
    for (const std::string_view group : kCtaGroups)
      for (const std::string_view a : kCollectorsOfA)
        for (const std::string_view b : kCollectorOfB)
          for (const bool in_tensor_memory : {false, true}) {
            // Beside .collector::a and a written size of blocks.
            if (!b.empty() && (a.empty() || !row.scale_vec.starts_with("block"))) continue;
            const TensorMma mma{.kind = row.tensor_kind,
                                .cta_group = number_of(group),
                                .is_sparse = is_sparse,
                                .scale_vec = row.scales,
                                .a_in_tensor_memory = in_tensor_memory};
            out.push_back(
                make_mma({"mma", is_sparse ? "sp" : "", group, row.kind, "block_scale", row.scale_vec, a, b},
                         {.row = &row, .mma = mma, .collects_b = !b.empty()}));
          }
  return out;
}

std::vector<Form> expand_ws(bool is_sparse) {
  std::vector<Form> out;
  for (const KindRow& row : kPlainKinds)
    for (const std::string_view collector : kCollectorsOfB)
      for (const bool in_tensor_memory : {false, true})
        for (const bool zeroes_columns : {false, true}) {
          const TensorMma mma{.kind = row.tensor_kind,
                              .is_sparse = is_sparse,
                              .is_weight_stationary = true,
                              .a_in_tensor_memory = in_tensor_memory};
          out.push_back(make_mma({"mma", "ws", is_sparse ? "sp" : "", "cta_group::1", row.kind, collector},
                                 {.row = &row, .mma = mma, .zeroes_columns = zeroes_columns}));
        }
  return out;
}

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
constexpr QualifierSlot kMoveType{.what = "type", .group = "type"};
constexpr std::array kLoadSlots{
    kWord,      kSync,   kAlignedByManual,
    kMoveShape, kNumber, QualifierSlot{.what = "packing", .group = "packing", .required = false},
    kMoveType};
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
    kMoveType};

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

// ---- tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit

using AllocationKind = tensor::Allocation::Kind;

constexpr QualifierSlot kExclusive{.what = "qualifier .exclusive", .group = "exclusive", .required = false};
constexpr std::array kAllocSlots{kWord, kExclusive, kCtaGroup, kSync, kAligned, kSpace, kMoveType};
constexpr std::array kDeallocSlots{kWord, kExclusive, kCtaGroup, kSync, kAligned, kMoveType};
constexpr std::array kRelinquishSlots{kWord, kCtaGroup, kSync, kAligned};

std::vector<Form> expand_allocations(AllocationKind kind) {
  std::vector<Form> out;
  for (const std::string_view exclusive : {"", "exclusive"})
    for (const std::string_view group : kCtaGroups) {
      const TensorAction action{kWarp, number_of(group), tensor::Allocation{kind, !exclusive.empty()}};
      const OperandSpec count = integer_of_warp("ncols", Part::column_count);
      if (kind == AllocationKind::relinquish && exclusive.empty())
        out.push_back(make_tensor_form({"relinquish_alloc_permit", group, "sync", "aligned"}, action));
      if (kind == AllocationKind::deallocate) {
        out.push_back(make_tensor_form({"dealloc", exclusive, group, "sync", "aligned", "b32"}, action));
        out.back().operands = {integer_of_warp("taddr", Part::tensor_address), count};
      }
      if (kind != AllocationKind::allocate) continue;
      for (const std::string_view space : {"", "shared::cta"}) {
        out.push_back(make_tensor_form({"alloc", exclusive, group, "sync", "aligned", space, "b32"}, action));
        out.back().operands = {shared_address("dst", kWarp), count};
      }
    }
  return out;
}

// ---- tcgen05.commit, tcgen05.fence, tcgen05.wait

constexpr std::array kCommitSlots{
    kWord,
    kCtaGroup,
    QualifierSlot{.what = "completion mechanism", .group = "completion"},
    QualifierSlot{.what = "restriction", .group = "restriction", .required = false},
    kSpace,
    QualifierSlot{.what = "multicast", .group = "multicast", .required = false},
    kMoveType};
constexpr std::array kTensorFenceSlots{kWord};
constexpr std::array kWaitSlots{kWord, kSync, kAligned};

struct CommitRow {
  std::string_view restriction, multicast;
  int mask_bits;
  Features needs = Feature::tensor_memory;
  std::string_view not_executed = {};
};
constexpr Features kOf107 = Feature::tensor_memory | Feature::sm_107f;
constexpr std::string_view kReadsOfA = "sync_restrict::shared::read::mma::a",
                           kNoReadsOfA = "when a product has read A is not known";
constexpr CommitRow kCommitRows[] = {
    {"", "", 0},
    {"", "multicast::cluster", 16},
    // PTX ISA 9.4
    {"", "multicast::cluster::16b", 16},
    {"", "multicast::cluster::32b", 32, kOf107},
    {kReadsOfA, "", 0, kOf107, kNoReadsOfA},
    {kReadsOfA, "multicast::cluster::32b", 32, kOf107, kNoReadsOfA},
};

std::vector<Form> expand_commits() {
  static constexpr RegisterClass kMask{"b16", 16, "b16 u16 s16"}, kWideMask{"b32", 32, kIntegerTypes};
  std::vector<Form> out;
  for (const CommitRow& row : kCommitRows)
    for (const std::string_view group : kCtaGroups)
      for (const std::string_view space : {"", "shared::cluster"}) {
        out.push_back(make_tensor_form(
            {"commit", group, "mbarrier::arrive::one", row.restriction, space, row.multicast, "b64"},
            {.cta_group = number_of(group),
             .what = tensor::Commit{row.mask_bits},
             .not_executed = row.not_executed},
            row.needs));
        out.back().operands = {shared_address("mbar", kThread)};
        if (row.mask_bits == 0) continue;
        const bool is_wide = row.mask_bits == 32;
        out.back().operands.push_back(one("cta_mask", Part::block_mask, OperandKind::scalar,
                                          is_wide ? kWideMask : kMask, is_wide ? b32 : b16, kThread));
      }
  return out;
}

using OrderingKind = tensor::Ordering::Kind;

std::vector<Form> expand_fences() {
  const auto fence = [](std::string_view name, OrderingKind kind) {
    return make_tensor_form({name}, {.what = tensor::Ordering{kind}});
  };
  return {fence("fence::before_thread_sync", OrderingKind::before_thread_sync),
          fence("fence::after_thread_sync", OrderingKind::after_thread_sync)};
}

std::vector<Form> expand_waits() {
  const auto wait = [](std::string_view name, OrderingKind kind) {
    return make_tensor_form({name, "sync", "aligned"}, {.lanes = kWarp, .what = tensor::Ordering{kind}});
  };
  return {wait("wait::ld", OrderingKind::wait_ld), wait("wait::st", OrderingKind::wait_st)};
}

constexpr std::string_view kAllocMarks[] = {"alloc"}, kDeallocMarks[] = {"dealloc"},
                           kRelinquishMarks[] = {"relinquish_alloc_permit"}, kCommitMarks[] = {"commit"},
                           kCopyMarks[] = {"cp"}, kFenceMarks[] = {"fence"}, kWaitMarks[] = {"wait"},
                           kLoadMarks[] = {"ld"}, kReduceMarks[] = {"ld", "red"}, kStoreMarks[] = {"st"},
                           kShiftMarks[] = {"shift"}, kMmaMarks[] = {"mma"}, kSpMarks[] = {"mma", "sp"},
                           kScaleMarks[] = {"mma", "block_scale"},
                           kSpScaleMarks[] = {"mma", "sp", "block_scale"}, kWsMarks[] = {"mma", "ws"},
                           kWsSpMarks[] = {"mma", "ws", "sp"};
constexpr SinceRow kAllocSince[] = {
    {"exclusive", {9, 4}},
};
constexpr SinceRow kCommitSince[] = {
    {"multicast::cluster::*|sync_restrict::*", {9, 4}},
};
constexpr SinceRow kMmaSince[] = {
    {"kind::ti16|collector::b::*", {9, 4}},
};
constexpr SinceRow kScaleSince[] = {
    {"kind::mxf4nvf4", {8, 7}},
    {"block_scale !scale_vec::*", {8, 8}},
};

}  // namespace tcgen05_family
}  // namespace

std::optional<FragmentMap> map_of_split(const Form& form, std::int64_t split) {
  using namespace tcgen05_family;
  const auto* action = std::get_if<TensorAction>(&form.action);
  const auto* move = action != nullptr ? std::get_if<tensor::RegisterMove>(&action->what) : nullptr;
  if (move == nullptr || split < 0 || split >= TensorMemory::kColumns) return {};
  const auto* row = std::ranges::find(kMoveRows, move->shape, &MoveRow::shape);
  return move_map(*row, move->number, move->is_packed, static_cast<int>(split));
}

void add_tcgen05(std::vector<Family>& out) {
  using namespace tcgen05_family;
  const auto add = [&](std::string_view name, std::span<const std::string_view> marks,
                       std::span<const QualifierSlot> slots, FormList forms) {
    out.push_back({name, "tcgen05", marks, slots, std::move(forms)});
  };
  add("tcgen05.alloc", kAllocMarks, kAllocSlots, FormList(expand_allocations, AllocationKind::allocate));
  out.back().since = kAllocSince;
  add("tcgen05.alloc", kDeallocMarks, kDeallocSlots, FormList(expand_allocations, AllocationKind::deallocate));
  add("tcgen05.alloc", kRelinquishMarks, kRelinquishSlots,
      FormList(expand_allocations, AllocationKind::relinquish));
  add("tcgen05.commit", kCommitMarks, kCommitSlots, FormList(expand_commits));
  out.back().since = kCommitSince;
  add("tcgen05.cp", kCopyMarks, kCopySlots, FormList(expand_copies));
  add("tcgen05.fence", kFenceMarks, kTensorFenceSlots, FormList(expand_fences));
  add("tcgen05.fence", kWaitMarks, kWaitSlots, FormList(expand_waits));
  add("tcgen05.ld", kLoadMarks, kLoadSlots, FormList(expand_moves, false));
  add("tcgen05.ld.red", kReduceMarks, kReduceSlots, FormList(expand_reductions));
  add("tcgen05.mma", kMmaMarks, kMmaSlots, FormList(expand_plain, false));
  out.back().since = kMmaSince;
  add("tcgen05.mma.block_scale", kScaleMarks, kBlockScaleSlots, FormList(expand_scaled, false));
  out.back().since = kScaleSince;
  add("tcgen05.mma.sp", kSpMarks, kMmaSlots, FormList(expand_plain, true));
  add("tcgen05.mma.sp.block_scale", kSpScaleMarks, kBlockScaleSlots, FormList(expand_scaled, true));
  add("tcgen05.mma.ws", kWsMarks, kWsSlots, FormList(expand_ws, false));
  add("tcgen05.mma.ws.sp", kWsSpMarks, kWsSlots, FormList(expand_ws, true));
  add("tcgen05.shift", kShiftMarks, kShiftSlots, FormList(expand_shifts));
  add("tcgen05.st", kStoreMarks, kLoadSlots, FormList(expand_moves, true));
}

}  // namespace warpbit
