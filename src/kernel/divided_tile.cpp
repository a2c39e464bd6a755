// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (wgmma) as tiles of m16n8 in the registers of a warp: what has no panels of its own.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "kernel/dense.hpp"
#include "kernel/described.hpp"
#include "kernel/fast_tile.hpp"

namespace warpbit {

namespace {

// Sixteen rows and eight columns of the tile, the same for each warp and each eight columns.
class DividedTile : public FastTile {
 public:
  void run(const FastRun& run) const override;

  Tile part;                                 // of one warp; its cases are the blocks of columns
  std::vector<RegisterBits> a, b, sum_c, d;  // what its places are, if the tile's own do not serve
};

constexpr int kWarpLanes = 32, kRows = 16, kColumns = 8;

// ---- Compilation

// A factor's line in words, in the fragments of m16n8: word 4 u + t of row r or column r in lane 4 (r % 8) + t,
// register 2 u + r / 8 of A, u of B.
RegisterBits register_of_a(int row, int word) {
  return {row % 8 * 4 + word % 4, word / 4 * 2 + row / 8, 0, 32};
}
RegisterBits register_of_b(int column, int word) {
  return {column * 4 + word % 4, word / 4, 0, 32};
}

// Gives a factor that lies in memory registers, with what `register_of` says of the words of `lines` lines.
template <class RegisterOf>
void put_in_registers(TileOperand& factor, int lines, int length, RegisterOf register_of,
                      std::vector<RegisterBits>& places) {
  const int bits = factor.format->bits, each = 32 / bits;
  for (int line = 0; line < lines; ++line)
    for (int k = 0; k < length; ++k) {
      RegisterBits at = register_of(line, k / each);
      at.low_bit = k % each * bits;
      at.bits = bits;
      places.push_back(at);
    }
  factor.registers = {length / each * lines / kWarpLanes, 32, {}};
  factor.places = places;
}

// Whether `other` is `first`, so many lanes and registers further on.
bool is_moved(const RegisterBits& first, const RegisterBits& other, int lanes, int registers) {
  return other.lane == first.lane + lanes && other.reg == first.reg + registers &&
         other.low_bit == first.low_bit && other.bits == first.bits;
}

// Leaves of an operand of rows, (row, item), those of the first warp; false if the others have other places.
bool take_rows(TileOperand& operand, int items) {
  const auto size = static_cast<std::size_t>(kRows * items);
  for (std::size_t i = 0; i < operand.places.size(); ++i)
    if (!is_moved(operand.places[i % size], operand.places[i], static_cast<int>(i / size) * kWarpLanes, 0))
      return false;
  operand.places = operand.places.first(size);
  operand.registers.literals.clear();  // what is run is a copy of the registers
  return true;
}

// Leaves of C or D, (row, column), the first block of the first warp; false if the others have other places.
bool take_block(TileOperand& operand, int columns, std::vector<RegisterBits>& places) {
  const int registers = operand.registers.count * kColumns / columns;
  if (operand.registers.bits != 32 || !operand.registers.literals.empty()) return false;
  for (std::size_t i = 0; i < operand.places.size(); ++i) {
    const int row = static_cast<int>(i) / columns, column = static_cast<int>(i) % columns;
    const auto first = static_cast<std::size_t>(row % kRows * columns + column % kColumns);
    if (!is_moved(operand.places[first], operand.places[i], row / kRows * kWarpLanes,
                  column / kColumns * registers))
      return false;
    if (i == first) places.push_back(operand.places[i]);
  }
  operand.registers.count = registers;
  operand.places = places;
  return true;
}

}  // namespace

std::shared_ptr<FastTile> compile_divided(const Tile& t) {
  auto out = std::make_shared<DividedTile>();
  Tile& tile = out->part;
  tile = t;
  tile.lanes = kWarpLanes;
  tile.rows = kRows;
  tile.columns = kColumns;
  tile.a_described = tile.b_described = std::nullopt;
  tile.negate_a = tile.negate_b = false;
  put_in_registers(tile.b, kColumns, t.depth, register_of_b, out->b);
  if (t.a_described) put_in_registers(tile.a, kRows, t.terms, register_of_a, out->a);
  if (!t.a_described && !take_rows(tile.a, t.terms)) return nullptr;
  if (t.sparsity.is_sparse() && !take_rows(tile.e, t.terms / t.sparsity.kept)) return nullptr;
  if (!take_block(tile.c, t.columns, out->sum_c) || !take_block(tile.d, t.columns, out->d)) return nullptr;
  tile.fast = compile_fast(tile);
  if (!tile.fast) return nullptr;
  out->path = tile.fast->path;
  return out;
}

// ---- Execution

namespace {

// As Scratch, which the parts use: [warp or block][lane][register].
thread_local struct { Scratch::Words a, b, e; } warps;

// Registers of 32 bits of one warp or block after the other.
OperandView warps_in(const Scratch::Words& registers, int count) {
  return OperandView::dense(registers.data(), kWarpLanes, count, 32);
}

// Brings the lines of a factor in memory into registers, `lines` of them into each tile's.
template <class RegisterOf>
void load_factor(std::uint64_t descriptor, const DescribedMatrix& factor, std::span<const std::byte> memory,
                 int lines, int count, RegisterOf register_of, Scratch::Words& out) {
  out.resize(static_cast<std::size_t>(factor.lines / lines * kWarpLanes * count));
  load_described(descriptor, factor, memory, [&](unsigned line, unsigned word, std::uint32_t value) {
    const auto row = static_cast<int>(line);
    const RegisterBits at = register_of(row % lines, static_cast<int>(word));
    out[static_cast<std::size_t>((row / lines * kWarpLanes + at.lane) * count + at.reg)] = value;
  });
}

// Changes the sign of each element.
void negate(const Format& format, Scratch::Words& registers) {
  std::uint32_t signs = 0;
  for (int bit = format.bits - 1; bit < 32; bit += format.bits) signs |= std::uint32_t{1} << bit;
  for (std::uint32_t& word : registers) word ^= signs;
}

// The lanes from `lane` on.
template <class View>
View moved(View view, int lane) {
  if (view.base != nullptr) view.base += lane * view.lane_stride;
  return view;
}

}  // namespace

void DividedTile::run(const FastRun& run) const {
  const auto& [body, t, views, result, first, last] = run;
  Tile tile = part;
  // Where the metadata lies is the selector's choice, an operand.
  if (t.sparsity.is_sparse()) tile.e.places = t.e.places.first(part.e.places.size());
  auto& [a_words, b_words, e_words] = warps;
  const int a_count = part.a.registers.count, b_count = part.b.registers.count,
            e_count = part.e.registers.count;
  load_factor(views.b_descriptor, *t.b_described, views.memory, kColumns, b_count, register_of_b, b_words);
  if (t.a_described)
    load_factor(views.a_descriptor, *t.a_described, views.memory, kRows, a_count, register_of_a, a_words);
  else
    copy_registers(t.a.registers, views.a, t.lanes, 0, a_words);
  if (t.negate_a != t.negate_b) negate(*t.a.format, a_words);
  if (e_count != 0) copy_registers(t.e.registers, views.e, t.lanes, 0, e_words);

  const std::uint32_t zero = 0;
  const OperandView zeros{reinterpret_cast<const std::byte*>(&zero)};
  for (int lane = 0; lane < t.lanes; lane += kWarpLanes) {
    TileViews of_warp;
    of_warp.a = moved(warps_in(a_words, a_count), lane);
    of_warp.a.case_stride = 0;
    of_warp.e = moved(warps_in(e_words, e_count), lane);
    of_warp.e.case_stride = 0;
    of_warp.b = warps_in(b_words, b_count);
    of_warp.c = views.accumulate ? moved(views.c, lane) : zeros;
    of_warp.c.case_stride = part.c.registers.count * of_warp.c.register_stride;
    ResultView to = moved(result, lane);
    to.case_stride = part.d.registers.count * result.register_stride;
    tile.fast->run({body, tile, of_warp, to, 0, static_cast<std::size_t>(t.columns / kColumns)});
  }
}

}  // namespace warpbit
