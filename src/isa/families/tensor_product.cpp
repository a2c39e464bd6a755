// SPDX-License-Identifier: Apache-2.0
// The product that a tcgen05.mma computes, by its types and shape: what PTX writes in the instruction descriptor stands in
// the name. No form of PTX, so listings do not have it; whole products, sums and explanations do.
//
//   tcgen05.mma{.shape}.kind{.block_scale.scale_vec_size}{.satfinite}.dtype.atype.btype{.stype}
//
// The arithmetic does not depend on .cta_group and on M and N: the first may be written and says nothing; without a shape it
// is m128n16. Rows of A and D lie in lanes, as in tensor memory, and so do rows of B.
#include "isa/families/tensor_product.hpp"

#include <algorithm>
#include <utility>

#include "isa/families/operands.hpp"

namespace warpbit {
namespace {
namespace tensor_product_words {

using enum FormatId;

struct Row {
  std::string_view kind, scale_vec;
  int k;
  FormatSet factors, sums;
  bool mixes;             // A and B may differ
  FormatSet scales = {};  // types of scale factors
  int blocks = 0;         // of a row of A
  Features needs = {};
};

// K: PTX manual, "Matrix Shape"; types: "Instruction Descriptor".
constexpr Row kRows[] = {
    {"kind::f16", "", 16, f16, f16 | f32, false},
    {"kind::f16", "", 16, bf16, f32, false},
    {"kind::tf32", "", 8, tf32, f32, false},
    {"kind::f8f6f4", "", 32, kF8f6f4, f16 | f32, true},
    {"kind::i8", "", 32, kS8, s32, true, {}, 0, Feature::tensor_i8},
    {"kind::mxf8f6f4", "scale_vec::1X", 32, kF8f6f4, f32, true, ue8m0, 1},
    {"kind::mxf4", "scale_vec::2X", 64, e2m1, f32, false, ue8m0, 2},
    {"kind::mxf4nvf4", "scale_vec::2X", 64, e2m1, f32, false, ue8m0, 2},
    {"kind::mxf4nvf4", "scale_vec::4X", 64, e2m1, f32, false, ue8m0 | ue4m3, 4},
};

// ---- Operands: rows in lanes, columns in registers

// M of one block and of a pair, and the step of N.
struct Rows {
  int m, step;
};
constexpr Rows kRowsOfD[] = {{64, 8}, {128, 8}, {256, 16}};
constexpr int kUsualM = 128, kUsualN = 16;
constexpr Packing kNibbles{32, 4, 0, 4};

// Fewer rows than lanes are there again in the lanes behind them.
FragmentMap in_rows(int all_lanes, int rows, int columns, const Packing& packing) {
  std::vector<FragmentMap::Digit> lanes = {{rows, {1, 0}}};
  if (rows < all_lanes) lanes.push_back({all_lanes / rows, {0, 0}});
  return {rows, columns, 1, packing, std::move(lanes), {{columns, {0, 1}}}};
}

struct Choice {
  FormatId a, b, d;
  std::optional<FormatId> scale;
  int m = kUsualM, n = kUsualN;
};

std::vector<OperandSpec> operands(const Row& row, const Choice& x) {
  const auto pack = [&](FormatId id) { return row.k == 64 ? kNibbles : packing(id); };
  const auto matrix = [&](std::string_view role, Part part, FormatId id, int rows, int columns,
                          const Packing& packing) {
    return vector_operand(role, part, kAnyWord, id, in_rows(x.m, rows, columns, packing));
  };
  std::vector<OperandSpec> out = {
      matrix("d", Part::d, x.d, x.m, x.n, packing(x.d)), matrix("a", Part::a, x.a, x.m, row.k, pack(x.a)),
      matrix("b", Part::b, x.b, row.k, x.n, pack(x.b)), matrix("c", Part::c, x.d, x.m, x.n, packing(x.d))};
  if (!x.scale) return out;
  const Packing bytes{32, 8, 0, 8, 0, row.blocks};
  out.push_back(matrix("scale_a", Part::scale_a, *x.scale, x.m, row.blocks, bytes));
  out.push_back(matrix("scale_b", Part::scale_b, *x.scale, row.blocks, x.n, packing(*x.scale)));
  return out;
}

// ---- Expansion

constexpr std::array kSlots{
    QualifierSlot{.what = "qualifier .mma", .group = "instruction"},
    QualifierSlot{.what = "shape",
                  .group = "shape",
                  .required = false,
                  .role = SlotRole::shape,
                  .resembles = looks_like_shape},
    QualifierSlot{.what = "kind", .group = "kind", .resembles = looks_like_kind},
    QualifierSlot{.what = "qualifier .block_scale", .group = "block_scale"},
    QualifierSlot{.what = "number of scale factors", .group = "scale_vec"},
    kSatfinite,
    QualifierSlot{.what = "type of D", .group = "type", .chosen = true},
    QualifierSlot{.what = "type of A", .group = "type", .chosen = true, .role = SlotRole::factor_type},
    kTypeOfB,
    QualifierSlot{.what = "scale type", .group = "type", .required = false},
};

constexpr std::size_t kKindSlot = 2;
constexpr std::string_view kIgnored[] = {"cta_group::1", "cta_group::2"};

// Without a shape, and with one.
void add_forms(const Row& row, const FreeQualifiers& free, Choice x, std::vector<Form>& out) {
  const bool scaled = x.scale.has_value();
  const Modifier modifier = !scaled || row.k != 64 ? free.modifier
                            : *x.scale == ue4m3    ? Modifier::packed_nvf4
                                                   : Modifier::packed_fp4;
  const auto add = [&](int m, int n, bool says_shape) {
    x.m = m;
    x.n = n;
    const Shape shape{m, n, row.k};
    const std::string text = shape.text();
    Form form = make_form(
        "tcgen05",
        {"mma", says_shape ? std::string_view(text) : "", row.kind, scaled ? "block_scale" : "", row.scale_vec,
         free.satfinite, qualifier(x.d), qualifier(x.a), qualifier(x.b), scaled ? qualifier(*x.scale) : ""},
        shape, Feature::tensor_memory | row.needs,
        {scaled ? Unit::tcgen05_block_scale : Unit::tcgen05, x.d, x.a, x.b, x.d, modifier});
    form.operands = operands(row, x);
    out.push_back(std::move(form));
  };
  add(kUsualM, kUsualN, false);
  for (const Rows& rows : kRowsOfD)
    for (int n = rows.step; n <= 256; n += rows.step) add(rows.m, n, true);
}

std::vector<Form> expand() {
  std::vector<Form> out;
  for (const Row& row : kRows)
    for (const auto& [a, b] : pairs_in(row.factors)) {
      if (a != b && !row.mixes) continue;
      for (const FormatId d : types_in(row.sums))
        for (const FreeQualifiers& free : free_qualifiers(a)) {
          if (row.blocks == 0) add_forms(row, free, {a, b, d, {}}, out);
          for (const FormatId scale : types_in(row.scales)) add_forms(row, free, {a, b, d, scale}, out);
        }
    }
  return out;
}

}  // namespace tensor_product_words
}  // namespace

const Family& tensor_product_family() {
  using namespace tensor_product_words;
  static const Family family{"tcgen05.mma by types", "tcgen05", {}, kSlots, FormList(expand), {}};
  return family;
}

std::span<const std::string_view> words_beside_product() {
  return tensor_product_words::kIgnored;
}

std::string_view product_by_types(const Form& form) {
  using namespace tensor_product_words;
  const FormList& all = tensor_product_family().forms;
  const auto* const action = std::get_if<TensorAction>(&form.action);
  if (action == nullptr || !std::holds_alternative<TensorMma>(action->what)) return "";
  constexpr FormatSet kUsual = FormatId::f16 | FormatId::tf32 | FormatId::e4m3 | FormatId::s8 | FormatId::e2m1;
  const auto found = std::ranges::find_if(all, [&](const Form& product) {
    const Arithmetic& x = product.arithmetic;
    return std::ranges::find(form.qualifiers, product.qualifiers[kKindSlot]) != form.qualifiers.end() &&
           x.d != FormatId::f16 && x.a == x.b && kUsual.contains(x.a) &&
           (form.arithmetic.a == FormatId::e2m1 || x.a != FormatId::e2m1);
  });
  return found == all.end() ? std::string_view() : found->canonical;
}

}  // namespace warpbit
