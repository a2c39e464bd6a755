// SPDX-License-Identifier: Apache-2.0
// Tiles of scaled groups that the bodies compute (GroupProgram in body.hpp): mma and mma.sp of kind::mxf4 and
// kind::mxf4nvf4, and dense products of tensor memory of these kinds.
#include "kernel/group_tile.hpp"

#include <algorithm>
#include <optional>

#include "kernel/parts.hpp"

namespace warpbit {
namespace {

class GroupTile : public PartsTile {
 public:
  bool compile(const Tile& tile);
  const GroupProgram& program() const { return program_; }

 private:
  void compute(const FastRun& run, const Parts& given, std::size_t first) const override;

  GroupProgram program_;
};

// Whether the codes of a row's or column's scale factors follow each other in a register.
bool are_together(const TileScale& scale) {
  return std::ranges::all_of(scale.choices, [&](Places places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto block = i % static_cast<std::size_t>(scale.blocks);
      const RegisterBits &at = places[i], &first = places[i - block];
      if (at.lane != first.lane || at.reg != first.reg || first.low_bit % 8 != 0 ||
          at.low_bit != first.low_bit + 8 * static_cast<int>(block))
        return false;
    }
    return true;
  });
}

// Whether the metadata of a sparse A is where the bodies expect it: group g of row r.
bool has_known_metadata(const Tile& t) {
  for (std::size_t i = 0; i < t.e.places.size(); ++i) {
    const int row = static_cast<int>(i) / 16, group = static_cast<int>(i) % 16;
    const RegisterBits& at = t.e.places[i];
    if (at.lane != row % 8 * 4 + row / 8 + group / 8 * 2 || at.reg != 0 || at.low_bit != group % 8 * 4)
      return false;
  }
  return t.e.registers.count == 1;
}

// The sums of a plan, if the bodies know them. GroupScaled::least concerns subnormal results alone, which they leave to the
// specification.
std::optional<GroupProgram> sums_of(const Plan& plan) {
  GroupProgram out;
  if (const auto* groups = first_of<GroupScaled>(plan)) {
    if (plan != Plan{GroupScaled{16, 35, groups->floor, FormatId::f32, Rounding::toward_zero, groups->least}})
      return std::nullopt;
    out.floor = groups->floor;
    return out;
  }
  if (plan != Plan{WindowedGroups{4, 16, 35, FormatId::f32, Rounding::toward_zero}}) return std::nullopt;
  out.windowed = true;
  out.floor = kNoFloor;
  return out;
}

bool GroupTile::compile(const Tile& t) {
  const std::optional<GroupProgram> sums = sums_of(*t.plan);
  if (!sums) return false;
  program_ = *sums;
  const bool sparse = t.sparsity.is_sparse(), fractions = t.a_scale.format->id == FormatId::ue4m3;
  const bool is_part = t.lanes == 32 && t.rows == 16 && t.columns == 8;
  if (!(is_part || (has_rows_of_f32(t) && !sparse)) || t.products != 1 || t.terms != 64 ||
      t.depth != (sparse ? 128 : 64) ||
      (sparse && (t.sparsity.width != kPairsOfEight.width || !has_known_metadata(t))))
    return false;
  if (program_.windowed && !fractions) return false;
  if (t.a.format->id != FormatId::e2m1 || t.b.format->id != FormatId::e2m1 || t.c.format->id != FormatId::f32 ||
      t.d.format->id != FormatId::f32)
    return false;
  for (const TileScale* scale : {&t.a_scale, &t.b_scale})
    if (scale->format->id != (fractions ? FormatId::ue4m3 : FormatId::ue8m0) ||
        scale->blocks != (fractions ? 4 : 2) || !are_together(*scale))
      return false;
  program_.fractions = fractions;
  program_.sparse = sparse;
  return find_parts(t, {4, 1, 2, t.terms / 32}, {4, 1, 2, t.depth / 32});
}

void GroupTile::compute(const FastRun& run, const Parts& given, std::size_t first) const {
  GroupProgram program = program_;
  program.scales = scale_bytes(run, first);
  run.body.groups(program, given);
}

}  // namespace

const GroupProgram* group_program(const Tile& tile) {
  const auto* groups = dynamic_cast<const GroupTile*>(tile.fast.get());
  return groups != nullptr && !groups->program().sparse ? &groups->program() : nullptr;
}

std::shared_ptr<FastTile> compile_groups(const Tile& t) {
  auto out = std::make_shared<GroupTile>();
  return out->compile(t) ? out : nullptr;
}

}  // namespace warpbit
