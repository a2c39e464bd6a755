// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma (tcgen05.cpp has its notation): a row for each kind, and for each number of scale factors. Types are those of one of
// the instruction descriptors that fit.
#include "isa/families/tcgen05.hpp"

namespace warpbit::tcgen05_family {
namespace {

using enum FormatId;

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
  bool collects_b = false;      // with .collector::b
  bool decompresses_b = false;  // with .decompress::lut::b
};
// PTX ISA 9.4: elements of B are 3 bits, each the index of one of the eight numbers of a table in tensor memory.
constexpr std::string_view kDecompression = "decompress::lut::b";

std::vector<OperandSpec> operands(const MmaChoice& x) {
  static constexpr RegisterClass kLaneMask{"b32", 32, kAnyTypes, {.integer = kBeside}};
  static constexpr RegisterClass kEnable{"pred", 8, "pred", {.integer = kAlone}};
  const int masks = 4 * x.mma.cta_group;
  const FormatId factor = x.row->factor;
  std::vector<OperandSpec> out = {tensor_address("d_tmem", Part::d_address, kThread),
                                  x.mma.a_in_tensor_memory ? tensor_address("a_tmem", Part::a_address, kThread)
                                                           : descriptor("a_desc", Part::a, factor),
                                  descriptor("b_desc", Part::b, factor)};
  if (x.decompresses_b) out.push_back(tensor_address("lut_tmem", Part::metadata_address, kThread));
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

constexpr QualifierSlot kMmaKind{.what = "kind", .group = "kind", .chosen = true, .resembles = looks_like_kind};
constexpr QualifierSlot kCollector{.what = "collector usage", .group = "collector", .required = false};
constexpr QualifierSlot kSecondCollector{
    .what = "collector usage of B", .group = "collector_b", .required = false};
constexpr QualifierSlot kSparseSlot{.what = "sparse variant", .group = "variant", .required = false};
constexpr QualifierSlot kDecompress{
    .what = "qualifier .decompress::lut::b", .group = "decompress", .required = false};
constexpr QualifierSlot kWsSlot{.what = "qualifier .ws", .group = "ws", .required = false, .leading = true};
constexpr std::array kMmaSlots{kWord,
                               kSparseSlot,
                               kCtaGroup,
                               kMmaKind,
                               QualifierSlot{.what = "qualifier .ashift", .group = "ashift", .required = false},
                               kDecompress,
                               kCollector,
                               kSecondCollector};
constexpr std::array kBlockScaleSlots{
    kWord,
    kSparseSlot,
    kCtaGroup,
    kMmaKind,
    QualifierSlot{.what = "qualifier .block_scale", .group = "block_scale"},
    kDecompress,
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
  if (x.collects_b || x.decompresses_b) needs = needs | Feature::sm_107f;
  Form out = make_form("tcgen05", qualifiers, Shape{0, 0, 0, 0}, needs,
                       {unit, row.sum, row.factor, row.factor, row.sum, row.modifier});
  TensorAction action{kThread, x.mma.cta_group, x.mma};
  if (x.decompresses_b) action.not_executed = "how its table lies in tensor memory is not known";
  out.action = action;
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
          for (const bool decompresses : {false, true}) {
            if (decompresses && (is_sparse || row.tensor_kind != TensorKind::f8f6f4)) continue;
            choice.decompresses_b = decompresses;
            for (const bool in_tensor_memory : {false, true}) {
              choice.mma.a_in_tensor_memory = in_tensor_memory;
              add_operand_choices({"mma", sp, group, row.kind, "", decompresses ? kDecompression : "", a, b},
                                  choice, out);
            }
          }
        choice.decompresses_b = false;
        choice.mma.shifts_a = true;
        for (const std::string_view a : kCollectorsOfShifted)
          add_operand_choices({"mma", sp, group, row.kind, "ashift", "", a, b}, choice, out);
      }
    }
  return out;
}

std::vector<Form> expand_scaled(bool is_sparse) {
  std::vector<Form> out;
  const auto add = [&](const KindRow& row, std::string_view group, bool decompresses, std::string_view a,
                       std::string_view b) {
    for (const bool in_tensor_memory : {false, true}) {
      const TensorMma mma{.kind = row.tensor_kind,
                          .cta_group = number_of(group),
                          .is_sparse = is_sparse,
                          .scale_vec = row.scales,
                          .a_in_tensor_memory = in_tensor_memory};
      out.push_back(
          make_mma({"mma", is_sparse ? "sp" : "", group, row.kind, "block_scale",
                    decompresses ? kDecompression : "", row.scale_vec, a, b},
                   {.row = &row, .mma = mma, .collects_b = !b.empty(), .decompresses_b = decompresses}));
    }
  };
  for (const KindRow& row : kScaledKinds)
    for (const std::string_view group : kCtaGroups)
      for (const std::string_view a : kCollectorsOfA)
        for (const std::string_view b : kCollectorOfB) {
          // Beside .collector::a and a written size of blocks.
          if (b.empty() || (!a.empty() && row.scale_vec.starts_with("block"))) add(row, group, false, a, b);
          if (!is_sparse && row.tensor_kind == TensorKind::mxf8f6f4 && !row.scale_vec.starts_with("scale_vec"))
            add(row, group, true, a, b);
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

constexpr std::string_view kMmaMarks[] = {"mma"}, kSpMarks[] = {"mma", "sp"},
                           kScaleMarks[] = {"mma", "block_scale"},
                           kSpScaleMarks[] = {"mma", "sp", "block_scale"}, kWsMarks[] = {"mma", "ws"},
                           kWsSpMarks[] = {"mma", "ws", "sp"};
constexpr SinceRow kMmaSince[] = {
    {"kind::ti16|collector::b::*|decompress::lut::b", {9, 4}},
};
constexpr SinceRow kScaleSince[] = {
    {"collector::b::*|decompress::lut::b", {9, 4}},
    {"kind::mxf4nvf4", {8, 7}},
    {"block_scale !scale_vec::*", {8, 8}},
};

}  // namespace

void add_products(std::vector<Family>& out) {
  add(out, "tcgen05.mma", kMmaMarks, kMmaSlots, FormList(expand_plain, false), kMmaSince);
  add(out, "tcgen05.mma.block_scale", kScaleMarks, kBlockScaleSlots, FormList(expand_scaled, false),
      kScaleSince);
  add(out, "tcgen05.mma.sp", kSpMarks, kMmaSlots, FormList(expand_plain, true));
  add(out, "tcgen05.mma.sp.block_scale", kSpScaleMarks, kBlockScaleSlots, FormList(expand_scaled, true));
  add(out, "tcgen05.mma.ws", kWsMarks, kWsSlots, FormList(expand_ws, false));
  add(out, "tcgen05.mma.ws.sp", kWsSpMarks, kWsSlots, FormList(expand_ws, true));
}

}  // namespace warpbit::tcgen05_family
