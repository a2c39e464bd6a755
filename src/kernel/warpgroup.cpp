// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (wgmma) as blocks: factors in shared memory are first brought into lines of K, in the
// order in which registers have them if A is in registers.
#include <array>
#include <cstring>
#include <vector>

#include "kernel/dense.hpp"
#include "kernel/described.hpp"
#include "kernel/fast_tile.hpp"
#include "kernel/program.hpp"

namespace warpbit {
namespace {

// A line, a row of A or a column of B, has two chunks along K. Where A is in registers, word t of chunk j lies
// where lane t of four holds its register j:
//
//     chunk 0: w0 w1 w2 w3     chunk 1: w4 w5 w6 w7     ->  w0 w4 w1 w5 w2 w6 w3 w7
constexpr unsigned kLineWords = 2 * kChunkWords;
constexpr unsigned by_lane(unsigned word) {
  return word % kChunkWords * 2 + word / kChunkWords;
}

// The k of each place of the panels that come of lines, which are by lane or as in memory.
std::vector<int> panel_order(int bytes, bool is_by_lane) {
  std::array<unsigned, kLineWords> words;  // at their places
  for (unsigned word = 0; word < kLineWords; ++word) words[is_by_lane ? by_lane(word) : word] = word;
  std::vector<int> out;
  for (const PanelPlace& place : panel_places(int{kLineWords}, bytes, false))
    out.push_back(static_cast<int>(words[static_cast<unsigned>(place.unit)]) * (4 / bytes) + place.element);
  return out;
}

// ---- Panels

struct Panel {
  Scratch::Words registers, codes;
  std::vector<float> values;
  std::vector<std::int32_t> exponents;
  std::vector<std::uint16_t> special;

  void resize(std::size_t words, std::size_t elements) {
    registers.resize(words);
    codes.resize(elements);
    values.resize(elements);
    exponents.resize(elements);
  }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(registers.data()); }
};
// Of one thread; reused, so that nothing is allocated per execution.
struct Panels {
  Panel a, b;
};
thread_local Panels panels;

// Rows of A as registers: (pair, word, row of the pair).
void load_a(const Tile& t, const TileViews& views, Panel& out) {
  if (!t.a_described) return copy_registers(t.a.registers, views.a, t.lanes, 0, out.registers);
  load_described(views.a_descriptor, *t.a_described, views.memory,
                 [to = out.registers.data()](unsigned row, unsigned word, std::uint32_t value) {
                   const unsigned pair = row / 16 * 8 + row % 8, which = row / 8 % 2;
                   to[(pair * kLineWords + word) * 2 + which] = value;
                 });
}

// Columns of B like the rows of A: by lane, or as they are in memory.
void load_b(const Tile& t, const TileViews& views, Panel& out) {
  const bool is_by_lane = !t.a_described;
  std::uint32_t* to = out.registers.data();
  const auto store = [=](unsigned column, unsigned word, std::uint32_t value) {
    to[column * kLineWords + (is_by_lane ? by_lane(word) : word)] = value;
  };
  const auto put = [to](unsigned column, unsigned chunk, const std::byte* bytes) {
    std::memcpy(to + column * kLineWords + chunk * kChunkWords, bytes, kChunkBytes);
  };
  if (is_by_lane)
    load_described(views.b_descriptor, *t.b_described, views.memory, store);
  else
    load_described(views.b_descriptor, *t.b_described, views.memory, put, store);
}

class WarpgroupTile : public FastTile {
 public:
  void run(const FastRun& run) const override;

  FusedProgram program;
  Encoding a, b;
};

}  // namespace

std::shared_ptr<FastTile> compile_warpgroup(const Tile& t) {
  if (t.sparsity.is_sparse() || !is_encodable(*t.a.format) || !is_encodable(*t.b.format)) return nullptr;
  WarpgroupTile out;
  out.a = encoding_of(*t.a.format, t.a, false);
  out.b = encoding_of(*t.b.format, t.b, false);
  if (t.plan->operands || out.a.kind != out.b.kind || out.a.bytes != out.b.bytes || !is_blocked(t, t.d))
    return nullptr;
  const std::vector<int> order = panel_order(out.a.bytes, !t.a_described);
  if (static_cast<int>(order.size()) != t.depth) return nullptr;
  if (!t.a_described && order_of_a(t, out.a.bytes, false) != order) return nullptr;
  const std::optional<FusedProgram> program = compile_program(t, out.a, out.b, order);
  if (!program) return nullptr;
  out.program = *program;
  return std::make_shared<WarpgroupTile>(out);
}

void WarpgroupTile::run(const FastRun& run) const {
  const auto& [body, t, views, d, first, last] = run;
  auto& [left, right] = panels;
  const auto rows = static_cast<std::size_t>(t.rows), columns = static_cast<std::size_t>(t.columns);
  const auto depth = static_cast<std::size_t>(t.depth);
  left.resize(rows * kLineWords, rows * depth);
  right.resize(columns * kLineWords, columns * depth);
  load_a(t, views, left);
  load_b(t, views, right);

  FusedBlocks blocks;
  blocks.program = &program;
  blocks.rows = t.rows / 2;
  blocks.columns = t.columns / 8;
  blocks.depth = t.depth;
  const auto panel = [&](const Encoding& e, Panel& p) {
    return body.exponent_range(e, p.bytes(), static_cast<int>(p.registers.size() * 4) / e.bytes);
  };
  const ExponentRange of_a = panel(a, left), of_b = panel(b, right);
  const bool far = of_a.far || of_b.far;
  blocks.a_top = far ? 0 : of_a.top;
  blocks.b_top = far ? 0 : of_b.top;
  body.arrange_a(a, left.bytes(), blocks.rows, t.depth, false, left.codes.data());
  body.arrange_b(b, right.bytes(), blocks.columns, t.depth, false, right.codes.data());
  const bool a_special = body.decode(a, left.codes.data(), static_cast<int>(rows * depth), 2, blocks.a_top,
                                     left.values.data(), left.exponents.data());
  const bool b_special = body.decode(b, right.codes.data(), static_cast<int>(columns * depth), 8, blocks.b_top,
                                     right.values.data(), right.exponents.data());
  if (t.negate_a != t.negate_b)
    for (float& value : left.values) value = -value;
  if (a_special || b_special) {
    left.special.resize(rows / 2);
    right.special.resize(columns / 8);
    body.find_specials(a, left.codes.data(), blocks.rows, t.depth, 2, blocks.a_top, left.special.data());
    body.find_specials(b, right.codes.data(), blocks.columns, t.depth, 8, blocks.b_top, right.special.data());
    blocks.a_special = left.special.data();
    blocks.b_special = right.special.data();
  }
  blocks.a = left.values.data();
  blocks.b = right.values.data();
  blocks.a_exponents = left.exponents.data();
  blocks.b_exponents = right.exponents.data();
  const int d_bytes = t.d.format->bits / 8;
  // D, which is C, in place if its registers lie side by side.
  const bool in_place =
      d.register_stride == 4 && views.c.base == d.base && views.c.lane_stride == d.lane_stride;
  if (!in_place && views.accumulate) copy_registers(t.d.registers, views.c, t.lanes, 0, scratch.d);
  const ResultRegisters result(t.d.registers, d, t.lanes, 0, in_place);
  blocks.d = block_view(result.base(), result.lane_stride(), d_bytes);
  if (views.accumulate) blocks.c = blocks.d;
  ExactLanes exact(t, views, t.rows);
  blocks.exact = exact.callback();
  body.fused(blocks);
  result.store();
}

}  // namespace warpbit
