// SPDX-License-Identifier: Apache-2.0
// Dense tiles with a plan of fused nodes whose fragments are not those that the bodies read (fused.hpp). They
// are computed in parts of 16 or 8 rows and 8 columns; the elements of a part are brought to where these
// fragments have them:
//
//     lane 4 p + t    A   a register (row p, k = n t ... n t + n - 1) of n elements, one (row p + 8, the same
//                         k); if there are more, of the k that are 4 n later
//                     B   (the same k, column p)
//                     C   (row p, column 2 t), (p, 2 t + 1), (p + 8, 2 t), (p + 8, 2 t + 1); likewise D
//
// With 8 rows lane 4 p + t has those of pair p, which are two apart.
#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/dense.hpp"
#include "kernel/exact.hpp"
#include "kernel/fast_tile.hpp"
#include "kernel/gather.hpp"
#include "kernel/program.hpp"

namespace warpbit {
namespace {

constexpr int kColumns = 8;              // of a part
constexpr int kMaxRegisters = 4;         // of A, C and D in a lane; B has half as many
constexpr std::size_t kPartsAtOnce = 8;  // are brought together before they are computed

// The elements of a part in the registers.
struct PartGathers {
  Gather a, b, c, d;
};

class GatheredTile : public FastTile {
 public:
  void run(const FastRun& run) const override;

  FusedProgram program;
  Encoding a, b;             // of the parts
  bool by_register = false;  // as in FusedTile
  bool exchanged = false;    // the transposed product is computed: a part's A is in B, its rows are columns
  int pairs = 0, depth = 0;  // of rows of a part; of its panels
  std::vector<TilePart> parts;
  std::vector<PartGathers> gathers;  // of each
};

// Where a tile holds the element that a part has at a row and a column, or k.
struct Source {
  const Tile& tile;
  const GatheredTile& gathered;
  const TilePart& part;

  const RegisterBits& a(int row, int k) const {
    if (gathered.exchanged) return in_b(part.column + row, k);
    return in_a(part.row + row, k);
  }
  const RegisterBits& b(int column, int k) const {
    if (gathered.exchanged) return in_a(part.row + column, k);
    return in_b(part.column + column, k);
  }
  const RegisterBits& sum(const TileOperand& operand, int row, int column) const {
    if (gathered.exchanged) std::swap(row, column);
    return place(operand, (part.product * tile.rows + part.row + row) * tile.columns + part.column + column);
  }

 private:
  const RegisterBits& in_a(int row, int k) const {
    return place(tile.a, (part.product * tile.rows + row) * tile.terms + k);
  }
  const RegisterBits& in_b(int column, int k) const {
    return place(tile.b, (part.product * tile.columns + column) * tile.terms + k);
  }
  static const RegisterBits& place(const TileOperand& operand, int i) {
    return operand.places[static_cast<std::size_t>(i)];
  }
};

GatheredElement element_at(const TileOperand& operand, const RegisterBits& at, int bytes, int in_part) {
  return {byte_of(operand.registers, at, bytes), static_cast<std::uint16_t>(in_part)};
}

// The k of an element of a part's fragments.
constexpr int k_of(int lane, int unit, int element, int bytes) {
  const int each = 4 / bytes;
  return (4 * unit + lane) * each + element;
}

Gather gather_of_a(const Source& source, const TileOperand& operand, int bytes, int units) {
  std::vector<GatheredElement> out;
  const int rows = 2 * source.gathered.pairs;
  for (int word = 0; word < 4 * rows * units; ++word)
    for (int e = 0; e < 4 / bytes; ++e) {
      const int which = word % 2, unit = word / 2 % units, lane = word / 2 / units;
      const int k = k_of(lane % 4, unit, e, bytes);
      if (k >= source.tile.terms) continue;
      const RegisterBits& at = source.a(row_of_pair(lane / 4, which, rows), k);
      out.push_back(element_at(operand, at, bytes, 4 * word + bytes * e));
    }
  return {out, bytes};
}

Gather gather_of_b(const Source& source, const TileOperand& operand, int bytes, int units) {
  std::vector<GatheredElement> out;
  for (int word = 0; word < 4 * kColumns * units; ++word)
    for (int e = 0; e < 4 / bytes; ++e) {
      const int unit = word % units, lane = word / units;
      const int k = k_of(lane % 4, unit, e, bytes);
      if (k >= source.tile.terms) continue;
      out.push_back(element_at(operand, source.b(lane / 4, k), bytes, 4 * word + bytes * e));
    }
  return {out, bytes};
}

Gather gather_of_sum(const Source& source, const TileOperand& operand) {
  const int bytes = operand.format->bits / 8, rows = 2 * source.gathered.pairs;
  std::vector<GatheredElement> out;
  for (int i = 0; i < rows * kBlock / 2; ++i) {
    const int row = row_of_pair(i / kBlock, i / 2 % 2, rows), column = i / 4 % 4 * 2 + i % 2;
    out.push_back(element_at(operand, source.sum(operand, row, column), bytes, i * bytes));
  }
  return {out, bytes};
}

void add_parts(const Tile& t, GatheredTile& out, int units) {
  const int rows = 2 * out.pairs;
  const TileOperand &a = out.exchanged ? t.b : t.a, &b = out.exchanged ? t.a : t.b;
  for (int product = 0; product < t.products; ++product)
    for (int row = 0; row < t.rows; row += out.exchanged ? kColumns : rows)
      for (int column = 0; column < t.columns; column += out.exchanged ? rows : kColumns) {
        const TilePart part{product, row, column};
        const Source source{t, out, part};
        out.parts.push_back(part);
        out.gathers.push_back({gather_of_a(source, a, out.a.bytes, units),
                               gather_of_b(source, b, out.b.bytes, units), gather_of_sum(source, t.c),
                               gather_of_sum(source, t.d)});
      }
}

// ---- Tiles

// Whether the registers are what the runs are for.
bool has_elements(const TileOperand& operand) {
  return operand.registers.bits == 32 && !operand.places.empty();
}

// Whether no register bit of C or D is without an element.
bool is_filled(const TileOperand& operand, int lanes) {
  const int bits = operand.format->bits;
  return (bits == 16 || bits == 32) &&
         static_cast<int>(operand.places.size()) * bits == 32 * lanes * operand.registers.count;
}

bool is_candidate(const Tile& t) {
  if (t.sparsity.is_sparse() || t.a_scale.is_present()) return false;
  if (!is_encodable(*t.a.format) || !is_encodable(*t.b.format)) return false;
  if (t.plan->operands && *t.plan->operands != FormatId::f16) return false;
  return has_elements(t.a) && has_elements(t.b) && has_elements(t.c) && has_elements(t.d) &&
         is_filled(t.c, t.lanes) && is_filled(t.d, t.lanes);
}

}  // namespace

std::shared_ptr<FastTile> compile_gathered(const Tile& t) {
  if (!is_candidate(t)) return nullptr;
  GatheredTile out;
  out.exchanged = t.columns > t.rows;
  const int rows = out.exchanged ? t.columns : t.rows, columns = out.exchanged ? t.rows : t.columns;
  out.pairs = rows % 16 == 0 ? 8 : 4;
  if (rows % 8 != 0 || columns % kColumns != 0) return nullptr;
  const bool as_half = t.plan->operands.has_value();
  const TileOperand &a = out.exchanged ? t.b : t.a, &b = out.exchanged ? t.a : t.b;
  out.a = encoding_of(*a.format, a, as_half);
  out.b = encoding_of(*b.format, b, as_half);
  if (out.a.kind != out.b.kind || out.a.bytes != out.b.bytes) return nullptr;
  const int units = (t.terms * out.a.bytes + 15) / 16;
  if (units != 1 && units != 2) return nullptr;
  out.depth = 16 * units / out.a.bytes;
  for (const bool by_register : {false, true}) {
    if (by_register && units != 2) continue;
    std::vector<int> order;
    for (const PanelPlace& place : panel_places(4 * units, out.a.bytes, by_register))
      order.push_back(k_of(place.unit / units, place.unit % units, place.element, out.a.bytes));
    order.resize(static_cast<std::size_t>(t.terms));  // what is behind is in no node
    const std::optional<FusedProgram> program = compile_program(t, out.a, out.b, order);
    if (!program) continue;
    out.by_register = by_register;
    out.program = *program;
    add_parts(t, out, units);
    if (out.parts.size() > kPartsAtOnce) return nullptr;
    return std::make_shared<GatheredTile>(std::move(out));
  }
  return nullptr;
}

// ---- Execution

namespace {

// Registers of a part.
struct PartRegisters {
  alignas(64) std::byte a[32 * 4 * kMaxRegisters], b[32 * 4 * kMaxRegisters / 2];
  alignas(64) std::byte c[32 * 4 * kMaxRegisters], d[32 * 4 * kMaxRegisters];
};

void gather_case(const GatheredTile& gathered, const Tile& t, const TileViews& views, std::size_t index,
                 PartRegisters* parts) {
  const std::byte* a = dense_registers(t.a, views.a, t.lanes, index, scratch.a);
  const std::byte* b = dense_registers(t.b, views.b, t.lanes, index, scratch.b);
  const std::byte* c = dense_registers(t.c, views.c, t.lanes, index, scratch.c);
  if (gathered.exchanged) std::swap(a, b);
  for (const PartGathers& part : gathered.gathers) {
    part.a.to_panel(a, parts->a);
    part.b.to_panel(b, parts->b);
    part.c.to_panel(c, parts->c);
    ++parts;
  }
}

void scatter_case(const GatheredTile& gathered, const Tile& t, const PartRegisters* parts, const ResultView& d,
                  std::size_t index) {
  const ResultRegisters result(t.d.registers, d, t.lanes, index, has_no_gaps(t.d.registers, d));
  for (const PartGathers& part : gathered.gathers) part.d.to_registers(parts++->d, result.base());
  result.store();
}

BlockView blocks_in(std::byte* part, const Format& format) {
  const int bytes = format.bits / 8;
  return {part, 4 * bytes, kBlock * bytes, 0};
}

}  // namespace

void GatheredTile::run(const FastRun& run) const {
  const auto& [body, t, views, d, first, last] = run;
  PartRegisters registers[kPartsAtOnce];
  if (t.terms < depth) std::memset(registers, 0, sizeof registers);  // no NaN where the tile has no k
  ExactLanes exact(t, views, 2 * pairs, parts, exchanged);
  FusedCases cases;
  cases.program = &program;
  cases.a_encoding = a;
  cases.b_encoding = b;
  cases.by_register = by_register;
  cases.rows = pairs;
  cases.depth = depth;
  cases.b_depth = depth;
  cases.a = {registers->a, sizeof(PartRegisters)};
  cases.b = {registers->b, sizeof(PartRegisters)};
  cases.c = blocks_in(registers->c, *t.c.format);
  cases.d = blocks_in(registers->d, *t.d.format);
  cases.c_stride = cases.d_stride = sizeof(PartRegisters);
  cases.exact = exact.callback();
  const std::size_t at_once = kPartsAtOnce / parts.size();
  for (std::size_t index = first; index < last; index += at_once) {
    const std::size_t count = std::min(at_once, last - index);
    for (std::size_t i = 0; i < count; ++i)
      gather_case(*this, t, views, index + i, registers + i * parts.size());
    exact.begin(index);
    body.fused_cases(cases, 0, count * parts.size());
    for (std::size_t i = 0; i < count; ++i) scatter_case(*this, t, registers + i * parts.size(), d, index + i);
  }
}

}  // namespace warpbit
