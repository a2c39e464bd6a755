// SPDX-License-Identifier: Apache-2.0
// Tiles of scaled groups that the bodies compute (GroupCase in body.hpp): mma and mma.sp of kind::mxf4 and
// kind::mxf4nvf4.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernel/dense.hpp"
#include "kernel/exact.hpp"
#include "kernel/fast_tile.hpp"
#include "kernel/program.hpp"

namespace warpbit {
namespace {

constexpr int kRows = 16, kColumns = 8, kLanesOfWarp = 32;

// ---- Fragments: where the bodies expect the elements

// Whether element (outer, inner) lies where `at` says, for all of them in this order.
template <class At>
bool lies(Places places, int outer, int inner, At at) {
  if (places.size() != static_cast<std::size_t>(outer * inner)) return false;
  const auto same = [](const RegisterBits& x, const RegisterBits& y) {
    return x.lane == y.lane && x.reg == y.reg && x.low_bit == y.low_bit && x.bits == y.bits;
  };
  for (int i = 0; i < outer * inner; ++i)
    if (!same(places[static_cast<std::size_t>(i)], at(i / inner, i % inner))) return false;
  return true;
}

RegisterBits place_of_a(int row, int k) {
  return {row % 8 * 4 + k / 8 % 4, row / 8 + k / 32 * 2, k % 8 * 4, 4};
}
RegisterBits place_of_b(int column, int k) {
  return {column * 4 + k / 8 % 4, k / 32, k % 8 * 4, 4};
}
RegisterBits place_of_c(int row, int column) {
  return {row % 8 * 4 + column / 2, row / 8 * 2 + column % 2, 0, 32};
}
RegisterBits place_of_metadata(int row, int group) {
  return {row % 8 * 4 + row / 8 + group / 8 * 2, 0, group % 8 * 4, 4};
}

// How many lanes a row or column of scale factors is after the first one.
int lane_of_row(int row) {
  return row % 8 * 4 + row / 8;
}
int lane_of_column(int column) {
  return column * 4;
}
template <class LaneOf>
bool scales_lie(const TileScale& scale, int rows, LaneOf lane_of) {
  return std::ranges::all_of(scale.choices, [&](Places places) {
    return lies(places, rows, scale.blocks, [&](int row, int block) {
      const RegisterBits& first = places.front();
      return RegisterBits{first.lane + lane_of(row), 0, first.low_bit + 8 * block, 8};
    });
  });
}

// ---- One case

class GroupTile : public FastTile {
 public:
  void run(const FastRun& run) const override;

  bool fractions = false;  // scale factors are ue4m3
  int floor = 0;           // of E
};

// The codes of the row's or column's scale factors, the first one lowest.
std::uint32_t scale_codes(const TileScale& scale, const OperandView& view, std::size_t index, int lane,
                          int low_bit) {
  std::uint32_t out;
  if (!scale.registers.literals.empty() && scale.registers.literals[0])
    out = static_cast<std::uint32_t>(*scale.registers.literals[0]);
  else
    std::memcpy(&out,
                view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride + lane * view.lane_stride,
                sizeof out);
  return out >> low_bit;
}

void load_scales(const Tile& t, const TileViews& views, std::size_t index, GroupCase& out) {
  const RegisterBits a = chosen_places(t.a_scale, views.a_selector, index).front();
  const RegisterBits b = chosen_places(t.b_scale, views.b_selector, index).front();
  for (int i = 0; i < kRows; ++i)
    out.a_scales[i] = scale_codes(t.a_scale, views.a_scale, index,
                                  a.lane + lane_of_row(row_of_pair(i / 2, i % 2)), a.low_bit);
  for (int i = 0; i < kColumns; ++i)
    out.b_scales[2 * i] = out.b_scales[2 * i + 1] =
        scale_codes(t.b_scale, views.b_scale, index, b.lane + lane_of_column(i), b.low_bit);
}

}  // namespace

std::shared_ptr<FastTile> compile_groups(const Tile& t) {
  const auto* step = first_of<GroupScaled>(*t.plan);
  if (step == nullptr ||
      *t.plan != Plan{GroupScaled{16, 35, step->floor, FormatId::f32, Rounding::toward_zero}})
    return nullptr;
  const bool sparse = t.sparsity.is_sparse(), fractions = t.a_scale.format->id == FormatId::ue4m3;
  if (t.lanes != kLanesOfWarp || t.products != 1 || t.rows != kRows || t.columns != kColumns || t.terms != 64 ||
      t.depth != (sparse ? 128 : 64) || (sparse && t.sparsity.width != kPairsOfEight.width))
    return nullptr;
  if (t.a.format->id != FormatId::e2m1 || t.b.format->id != FormatId::e2m1 || t.c.format->id != FormatId::f32 ||
      t.d.format->id != FormatId::f32)
    return nullptr;
  for (const TileScale* scale : {&t.a_scale, &t.b_scale})
    if (scale->format->id != (fractions ? FormatId::ue4m3 : FormatId::ue8m0) ||
        scale->blocks != (fractions ? 4 : 2))
      return nullptr;
  if (!lies(t.a.places, kRows, t.terms, place_of_a) || !lies(t.b.places, kColumns, t.depth, place_of_b) ||
      !lies(t.c.places, kRows, kColumns, place_of_c) || !lies(t.d.places, kRows, kColumns, place_of_c) ||
      !scales_lie(t.a_scale, kRows, lane_of_row) || !scales_lie(t.b_scale, kColumns, lane_of_column) ||
      (sparse && !lies(t.e.places, kRows, 16, place_of_metadata)))
    return nullptr;
  auto out = std::make_shared<GroupTile>();
  out->fractions = fractions;
  out->floor = step->floor;
  return out;
}

void GroupTile::run(const FastRun& run) const {
  const auto& [body, t, views, d, first, last] = run;
  ExactLanes exact(t, views, kRows);
  GroupCase one;
  one.fractions = fractions;
  one.floor = floor;
  one.exact = exact.callback();
  for (std::size_t i = first; i < last; ++i) {
    const auto dense = [&](const TileOperand& operand, const OperandView& view, Scratch::Words& copy) {
      return dense_registers(operand, view, kLanesOfWarp, i, copy);
    };
    exact.begin(i);
    one.a = dense(t.a, views.a, scratch.a);
    one.b = dense(t.b, views.b, scratch.b);
    one.e = t.sparsity.is_sparse() ? dense(t.e, views.e, scratch.e) : nullptr;
    // The bodies only read C.
    one.c = block_view(const_cast<std::byte*>(dense(t.c, views.c, scratch.c)), 16, 4);
    load_scales(t, views, i, one);
    const ResultRegisters result(t.d.registers, d, kLanesOfWarp, i, d.register_stride == 4);
    one.d = block_view(result.base(), result.lane_stride(), 4);
    body.groups(one);
    result.store();
  }
}

}  // namespace warpbit
