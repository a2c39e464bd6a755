// SPDX-License-Identifier: Apache-2.0
#include "kernel/fused.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "kernel/dense.hpp"
#include "kernel/exact.hpp"
#include "kernel/program.hpp"

namespace warpbit {
namespace {

// ---- Sparse and scaled operands

// Where the metadata lies is the selector's choice, an operand.
void find_metadata(const Tile& t, Selection& out) {
  const int groups = t.terms / t.sparsity.kept, registers = t.e.registers.count;
  out.kept = t.sparsity.kept;
  out.fours = groups / 4;
  for (int pair = 0; pair < kMaxRows; ++pair)
    for (int group = 0; group < groups; group += 4)
      for (int which = 0; which < 2; ++which) {
        const RegisterBits& at =
            t.e.places[static_cast<std::size_t>(row_of_pair(pair, which) * groups + group)];
        out.word[which][(pair * groups + group) / 4] = at.lane * registers + at.reg;
        out.low_bits[which][(pair * groups + group) / 4] = at.low_bit;
      }
}

// Whether the nibbles of four groups lie side by side in 16 bits, for each row.
bool is_selectable(const Tile& t) {
  const int groups = t.terms / t.sparsity.kept;
  for (std::size_t i = 0; i < t.e.places.size(); ++i) {
    const RegisterBits &at = t.e.places[i], &first = t.e.places[i - i % 4];
    if (at.lane != first.lane || at.reg != first.reg || first.low_bit % 16 != 0 ||
        at.low_bit != first.low_bit + 4 * static_cast<int>(i % 4))
      return false;
  }
  return groups % 4 == 0 && t.sparsity.kept <= 2 && has_metadata_by_warp(t);
}

// One scale factor, of ue8m0, for a row or column; or none.
bool is_scalable(const Tile& t) {
  const auto is_known = [](const TileScale& scale) {
    return scale.blocks == 1 && scale.format->id == FormatId::ue8m0;
  };
  if (!t.a_scale.is_present()) return true;
  const bool is_part = t.rows == 16 && t.columns == 8 && t.products == 1;
  return is_known(t.a_scale) && is_known(t.b_scale) &&
         (is_part || (has_rows_of_f32(t) && !t.sparsity.is_sparse()));
}

// The k of pairs: by k, or those of pairs of even number first.
std::vector<int> order_of_pairs(int terms, bool even_first) {
  std::vector<int> out(static_cast<std::size_t>(terms));
  std::iota(out.begin(), out.end(), 0);
  if (even_first) std::ranges::stable_sort(out, {}, [](int k) { return k / 2 % 2; });
  return out;
}

// Exponents of 8 bits are searched entry by entry, where two of four are kept.
bool has_entries(const FusedProgram& program) {
  return std::all_of(program.node, program.node + program.nodes,
                     [](const auto& node) { return node.first % 8 == 0 && node.count % 8 == 0; });
}

// Units of four words in a line of `length` elements.
int units_of(int length, int bytes) {
  return (length * bytes + 15) / 16;
}

}  // namespace

// ---- Compilation

// `other` is the second of two orders.
bool FusedTile::find_order(const Tile& t, bool other) {
  const bool sparse = t.sparsity.is_sparse(), by_powers = of_a.kind == Encoding::Kind::tf32;
  const int bytes = of_a.bytes, units = units_of(t.terms, bytes);
  if (sparse && other && (bytes != 1 || t.terms != 32)) return false;
  if (!sparse && other && units != 2) return false;
  order = sparse ? order_of_pairs(t.terms, other) : panel_order(units, bytes, other);
  order.resize(static_cast<std::size_t>(t.terms));  // what is behind is in no node
  const std::optional<FusedProgram> compiled = compile_program(t, of_a, of_b, order);
  if (!compiled || (sparse && !by_powers && !has_entries(*compiled))) return false;
  program = *compiled;
  (sparse ? even_first_ : by_register_) = other;
  return true;
}

bool FusedTile::compile(const Tile& t) {
  const bool as_half = t.plan->operands.has_value(), sparse = t.sparsity.is_sparse();
  if (!is_encodable(*t.a.format) || !is_encodable(*t.b.format) || !is_scalable(t)) return false;
  if ((as_half && *t.plan->operands != FormatId::f16) || (sparse && !is_selectable(t))) return false;
  const bool swapped = is_exchanged(t);
  const TileOperand &left = swapped ? t.b : t.a, &right = swapped ? t.a : t.b;
  of_a = encoding_of(left, as_half);
  of_b = encoding_of(right, as_half);
  if (of_a.kind != of_b.kind || of_a.bytes != of_b.bytes) return false;
  const bool by_powers = of_a.kind == Encoding::Kind::tf32;
  const int bytes = of_a.bytes, units = units_of(t.terms, bytes), b_units = units_of(t.depth, bytes);
  if (units > 2 || t.depth > kMaxPanelDepth || (sparse && by_powers != (t.sparsity.kept == 1))) return false;
  if (!find_order(t, false) && !find_order(t, true)) return false;
  has_rows_ = has_rows_of_f32(t) && !sparse && !as_half && units == 2 &&
              t.terms == static_cast<int>(order.size()) && t.d.format->id == FormatId::f32;
  if (has_rows_) return true;
  if (!find_parts(t, {4, bytes, 1, units}, {4, bytes, 1, b_units})) return false;
  if (sparse && (!(is_in_place() || has_rows(t)) || exchanged || (b_units != 2 && b_units != 4))) return false;
  depth_ = sparse ? t.terms : 16 * units / bytes;
  b_depth_ = 16 * b_units / bytes;
  const bool is_plain = !sparse && is_in_place() && t.terms == depth_;
  has_panels_ = !sparse && !exchanged && t.terms == depth_;
  is_dense_ = is_plain && !t.uses_memory() && rows == 16 && parts.size() == 1;
  is_whole_ = is_plain && t.uses_memory() && !as_half;
  return true;
}

std::shared_ptr<FastTile> compile_fused(const Tile& t) {
  auto out = std::make_shared<FusedTile>();
  return out->compile(t) ? out : nullptr;
}

std::string FusedTile::source() const {
  return is_whole_ || has_rows_ ? "shared memory" : PartsTile::source();
}

// ---- Execution

void FusedTile::run(const FastRun& run) const {
  has_rows_ ? run_rows(run) : is_whole_ ? run_whole(run) : PartsTile::run(run);
}

void FusedTile::compute(const FastRun& run, const Parts& given, std::size_t first) const {
  const Tile& t = run.tile;
  std::optional<Selection> selection;
  ScaleBytes scales;
  FusedParts how;
  how.program = &program;
  how.a_encoding = of_a;
  how.b_encoding = of_b;
  how.by_register = by_register_;
  how.even_first = even_first_;
  how.depth = depth_;
  how.b_depth = b_depth_;
  if (t.sparsity.is_sparse()) {
    find_metadata(t, selection.emplace());
    how.selection = &*selection;
  }
  if (t.a_scale.is_present()) {
    scales = scale_bytes(run, first);  // the tile is one part
    how.scales = &scales;
  }
  run.body.fused_parts(how, given);
}

// ---- All of a tile at once

namespace {

struct Panel {
  Scratch::Words codes;
  std::vector<float> values;
  std::vector<std::int32_t> exponents;
  std::vector<std::uint8_t> special;
};
// Of one thread; reused, so that nothing is allocated per execution.
thread_local struct { Panel a, b; } panels;

}  // namespace

// The panels of `rows` and `columns` of blocks.
void FusedTile::decode_whole(const Body& body, const Tile& t, const FactorLines& lines,
                             FusedBlocks& blocks) const {
  blocks.program = &program;
  blocks.depth = t.depth;
  const int of_left = 2 * blocks.rows * t.depth, of_right = 8 * blocks.columns * t.depth;
  const ExponentRange a_range = body.exponent_range(of_a, lines.a, of_left),
                      b_range = body.exponent_range(of_b, lines.b, of_right);
  const bool far = a_range.far || b_range.far;
  blocks.a_top = far ? 0 : a_range.top;
  blocks.b_top = far ? 0 : b_range.top;
  const auto decode = [&](const Encoding& e, int count, int each, int top, Panel& panel) {
    panel.values.resize(static_cast<std::size_t>(count));
    panel.exponents.resize(static_cast<std::size_t>(count));
    panel.special.assign(static_cast<std::size_t>(count / each / t.depth), 0);
    if (!body.decode(e, panel.codes.data(), count, each, top, panel.values.data(), panel.exponents.data()))
      return;
    blocks.has_special = true;
    body.find_specials(e, panel.codes.data(), count / each / t.depth, each * t.depth, top,
                       panel.special.data());
  };
  auto& [left, right] = panels;
  left.codes.resize(static_cast<std::size_t>(of_left) + kCodePadding / sizeof(std::uint32_t));
  right.codes.resize(static_cast<std::size_t>(of_right) + kCodePadding / sizeof(std::uint32_t));
  body.arrange_a(of_a, lines.a, blocks.rows, t.depth, by_register_, left.codes.data());
  body.arrange_b(of_b, lines.b, blocks.columns, t.depth, by_register_, right.codes.data());
  decode(of_a, of_left, 2, blocks.a_top, left);
  decode(of_b, of_right, 8, blocks.b_top, right);
  blocks.a_special = left.special.data();
  blocks.b_special = right.special.data();
  blocks.a_encoding = &of_a;
  blocks.b_encoding = &of_b;
  blocks.a_codes = left.codes.data();
  blocks.b_codes = right.codes.data();
  blocks.a = left.values.data();
  blocks.b = right.values.data();
  blocks.a_exponents = left.exponents.data();
  blocks.b_exponents = right.exponents.data();
}

void FusedTile::run_whole(const FastRun& run) const {
  const auto& [body, t, views, to, first, last] = run;
  FusedBlocks blocks;
  blocks.rows = t.rows / 2;
  blocks.columns = t.columns / 8;
  decode_whole(body, t, load_lines(run), blocks);
  // D, which is C, in place if its registers lie side by side.
  const bool in_place =
      to.register_stride == 4 && views.c.base == to.base && views.c.lane_stride == to.lane_stride;
  if (!in_place && views.accumulate) copy_registers(t.d.registers, views.c, t.lanes, 0, scratch.d);
  const ResultRegisters result(t.d.registers, to, t.lanes, 0, in_place);
  const std::ptrdiff_t lane = result.lane_stride();
  blocks.d = {result.base(), lane, 4 * lane, t.d.format->bits / 2};
  if (views.accumulate) blocks.c = blocks.d;
  body.fused(blocks);
  result.store();
}

namespace {

// The exponents of the scale factors of all rows or columns. Rows or columns of blocks are special where one is NaN; true if
// there is one.
bool load_scales(const TileScale& scale, const OperandView& view, int lines, int lanes, bool of_a,
                 std::vector<std::int16_t>& exponents, std::vector<std::uint8_t>& special) {
  RegisterFile file;
  file.load(scale.registers, view, lanes, 0);
  exponents.resize(static_cast<std::size_t>(of_a ? lines : 2 * lines));
  bool has_nan = false;
  for (int i = 0; i < lines; ++i) {
    const int line = of_a ? row_of_pair(i / 2, i % 2) : i;
    const auto code = static_cast<unsigned>(file.get(scale.choices[0][static_cast<std::size_t>(line)]));
    if (code == kScaleNan) {
      has_nan = true;
      special[static_cast<std::size_t>(of_a ? i / 2 : i / 8)] = 1;
    }
    for (int twice = 0; twice < (of_a ? 1 : 2); ++twice)
      exponents[static_cast<std::size_t>(of_a ? i : 2 * i + twice)] = scale_exponent(code);
  }
  return has_nan;
}

}  // namespace

void FusedTile::run_rows(const FastRun& run) const {
  const auto& [body, t, views, to, first, last] = run;
  FusedBlocks blocks;
  blocks.rows = t.rows / 2;
  blocks.columns = t.columns / 8;
  decode_whole(body, t, load_lines(run), blocks);
  static thread_local std::vector<std::int16_t> a_scales, b_scales;
  if (t.a_scale.is_present()) {
    auto& [left, right] = panels;
    blocks.has_special |= load_scales(t.a_scale, views.a_scale, t.rows, t.lanes, true, a_scales, left.special);
    blocks.has_special |=
        load_scales(t.b_scale, views.b_scale, t.columns, t.lanes, false, b_scales, right.special);
    blocks.a_scales = a_scales.data();
    blocks.b_scales = b_scales.data();
  }
  blocks.d.rows = to.base;
  blocks.d.row_bytes = to.lane_stride;
  if (views.accumulate) {
    blocks.c.rows = const_cast<std::byte*>(views.c.base);
    blocks.c.row_bytes = views.c.lane_stride;
  }
  body.fused(blocks);
}

bool FusedTile::takes_registers(const Tile& t) const {
  return is_whole_ && t.rows == 64 && t.d.format->id == FormatId::f32 && t.c.format->id == FormatId::f32 &&
         !program.half_nodes;
}

void FusedTile::run_in_registers(const Body& body, const Tile& t, const TileViews& views,
                                 std::uint32_t* const* registers) const {
  static const ResultView kNone;
  FusedBlocks blocks;
  blocks.rows = t.rows / 2;
  blocks.columns = t.columns / 8;
  decode_whole(body, t, load_lines({body, t, views, kNone, 0, 1}), blocks);
  blocks.d.registers = registers;
  if (views.accumulate) blocks.c = blocks.d;
  body.fused(blocks);
}

namespace {

constexpr int kLaneBytes = 16;  // of four f32 in D, a lane's part of a fragment

}  // namespace

void FusedTile::run_all(const Body& body, const Tile& t, int of_rows, int of_columns, const std::byte* left,
                        const std::byte* right, std::byte* sums) const {
  FusedBlocks blocks;
  blocks.rows = 8 * of_rows;
  blocks.columns = of_columns;
  decode_whole(body, t, {left, right}, blocks);
  const std::ptrdiff_t lane = std::ptrdiff_t{of_columns} * kLaneBytes;
  blocks.c = blocks.d = {sums, lane, 4 * lane, kLaneBytes};
  body.fused(blocks);
}

}  // namespace warpbit
