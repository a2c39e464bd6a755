// SPDX-License-Identifier: Apache-2.0
#include "kernel/gathered_tile.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernel/dense.hpp"
#include "kernel/program.hpp"

namespace warpbit {
namespace {

constexpr int kColumns = 8;              // of a part
constexpr int kMostRegisters = 4;        // of A, C and D in a lane; B has half as many
constexpr std::size_t kPartsAtOnce = 8;  // so many are brought together before they are computed

int as_int(std::size_t count) {
  return static_cast<int>(count);
}

// ---- Parts

// Of the two rows of a pair: with four pairs as mma.m8n8k4 has them in a lane, with eight as m16n8.
constexpr int row_of_pair(int pairs, int pair, int which) {
  const int apart = pairs == 4 ? 2 : 8;
  return pair / apart * 2 * apart + pair % apart + apart * which;
}

// Where the tile has a row and column of a part.
struct Position {
  int row, column;
};
Position in_tile(const GatheredTile& gathered, const GatheredPart& part, int row, int column) {
  if (gathered.exchanged) std::swap(row, column);
  return {part.row + row, part.column + column};
}

// An element, by its first byte in the operand's registers and in the part's.
using Element = RegisterRuns::Run;

// Where a tile holds the element that a part has at a row and a column, or k.
struct Source {
  const Tile& tile;
  const GatheredTile& gathered;
  const GatheredPart& part;

  const RegisterBits& a(int row, int k) const {
    if (gathered.exchanged) return in_b(part.column + row, k);
    return in_a(part.row + row, k);
  }
  const RegisterBits& b(int column, int k) const {
    if (gathered.exchanged) return in_a(part.row + column, k);
    return in_b(part.column + column, k);
  }
  const RegisterBits& sum(const TileOperand& operand, int row, int column) const {
    const Position at = in_tile(gathered, part, row, column);
    return place(operand, (part.product * tile.rows + at.row) * tile.columns + at.column);
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

Element element_at(const TileOperand& operand, const RegisterBits& at, int bytes, int in_part) {
  const int in_operand = 4 * (at.lane * operand.registers.count + at.reg) + at.low_bit / (8 * bytes) * bytes;
  return {static_cast<std::uint16_t>(in_operand), static_cast<std::uint16_t>(in_part)};
}

// The elements, which ascend in the part, in runs as long as possible.
RegisterRuns in_runs(std::span<const Element> elements, int element_bytes) {
  const auto fits = [&](int bytes) {
    const auto count = static_cast<std::size_t>(bytes / element_bytes);
    if (count == 0 || elements.size() % count != 0) return false;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Element& first = elements[i - i % count];
      const int offset = as_int(i % count) * element_bytes;
      if (elements[i].in_operand != first.in_operand + offset || elements[i].in_part != first.in_part + offset)
        return false;
    }
    return true;
  };
  RegisterRuns out{element_bytes, {}};
  for (const int bytes : {4, 8, 16})
    if (fits(bytes)) out.bytes = bytes;
  for (std::size_t i = 0; i < elements.size(); i += static_cast<std::size_t>(out.bytes / element_bytes))
    out.runs.push_back(elements[i]);
  return out;
}

// The k of an element of a part's fragments.
constexpr int k_of(int lane, int unit, int element, int bytes) {
  const int each = 4 / bytes;
  return (4 * unit + lane) * each + element;
}

RegisterRuns runs_of_a(const Source& source, const TileOperand& operand, int bytes, int units) {
  std::vector<Element> out;
  const int pairs = source.gathered.pairs;
  for (int word = 0; word < 4 * pairs * units * 2; ++word)
    for (int e = 0; e < 4 / bytes; ++e) {
      const int which = word % 2, unit = word / 2 % units, lane = word / 2 / units;
      const int k = k_of(lane % 4, unit, e, bytes);
      if (k >= source.tile.terms) continue;
      const RegisterBits& at = source.a(row_of_pair(pairs, lane / 4, which), k);
      out.push_back(element_at(operand, at, bytes, 4 * word + bytes * e));
    }
  return in_runs(out, bytes);
}

RegisterRuns runs_of_b(const Source& source, const TileOperand& operand, int bytes, int units) {
  std::vector<Element> out;
  for (int word = 0; word < 4 * kColumns * units; ++word)
    for (int e = 0; e < 4 / bytes; ++e) {
      const int unit = word % units, lane = word / units;
      const int k = k_of(lane % 4, unit, e, bytes);
      if (k >= source.tile.terms) continue;
      out.push_back(element_at(operand, source.b(lane / 4, k), bytes, 4 * word + bytes * e));
    }
  return in_runs(out, bytes);
}

RegisterRuns runs_of_sum(const Source& source, const TileOperand& operand) {
  const int bytes = operand.format->bits / 8, pairs = source.gathered.pairs;
  std::vector<Element> out;
  for (int i = 0; i < pairs * kBlock; ++i) {
    const int row = row_of_pair(pairs, i / kBlock, i / 2 % 2), column = i / 4 % 4 * 2 + i % 2;
    out.push_back(element_at(operand, source.sum(operand, row, column), bytes, i * bytes));
  }
  return in_runs(out, bytes);
}

std::vector<GatheredPart> parts_of(const Tile& t, const GatheredTile& gathered, int units) {
  const int rows = 2 * gathered.pairs;
  const bool exchanged = gathered.exchanged;
  const TileOperand &a = exchanged ? t.b : t.a, &b = exchanged ? t.a : t.b;
  std::vector<GatheredPart> out;
  for (int product = 0; product < t.products; ++product)
    for (int row = 0; row < t.rows; row += exchanged ? kColumns : rows)
      for (int column = 0; column < t.columns; column += exchanged ? rows : kColumns) {
        GatheredPart part{product, row, column, {}, {}, {}, {}};
        const Source source{t, gathered, part};
        part.a = runs_of_a(source, a, gathered.a.bytes, units);
        part.b = runs_of_b(source, b, gathered.b.bytes, units);
        part.c = runs_of_sum(source, t.c);
        part.d = runs_of_sum(source, t.d);
        out.push_back(std::move(part));
      }
  return out;
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
         as_int(operand.places.size()) * bits == 32 * lanes * operand.registers.count;
}

bool is_candidate(const Tile& t) {
  if (t.sparsity.is_sparse() || t.a_scale.is_present() || t.uses_memory()) return false;
  if (!is_encodable(*t.a.format) || !is_encodable(*t.b.format)) return false;
  if (t.plan->operands && *t.plan->operands != FormatId::f16) return false;
  return has_elements(t.a) && has_elements(t.b) && has_elements(t.c) && has_elements(t.d) &&
         is_filled(t.c, t.lanes) && is_filled(t.d, t.lanes);
}

}  // namespace

std::shared_ptr<const GatheredTile> compile_gathered(const Tile& t) {
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
    out.parts = parts_of(t, out, units);
    if (out.parts.size() > kPartsAtOnce) return nullptr;
    return std::make_shared<const GatheredTile>(std::move(out));
  }
  return nullptr;
}

// ---- Execution

namespace {

template <std::size_t kBytes>
void gather(const RegisterRuns& runs, const std::byte* operand, std::byte* part) {
  for (const RegisterRuns::Run& run : runs.runs)
    std::memcpy(part + run.in_part, operand + run.in_operand, kBytes);
}
void gather(const RegisterRuns& runs, const std::byte* operand, std::byte* part) {
  switch (runs.bytes) {
    case 2: return gather<2>(runs, operand, part);
    case 4: return gather<4>(runs, operand, part);
    case 8: return gather<8>(runs, operand, part);
    default: return gather<16>(runs, operand, part);
  }
}

template <std::size_t kBytes>
void scatter(const RegisterRuns& runs, const std::byte* part, std::byte* operand) {
  for (const RegisterRuns::Run& run : runs.runs)
    std::memcpy(operand + run.in_operand, part + run.in_part, kBytes);
}
void scatter(const RegisterRuns& runs, const std::byte* part, std::byte* operand) {
  switch (runs.bytes) {
    case 2: return scatter<2>(runs, part, operand);
    case 4: return scatter<4>(runs, part, operand);
    case 8: return scatter<8>(runs, part, operand);
    default: return scatter<16>(runs, part, operand);
  }
}

// Registers of a part.
struct PartRegisters {
  alignas(64) std::byte a[32 * 4 * kMostRegisters], b[32 * 4 * kMostRegisters / 2];
  alignas(64) std::byte c[32 * 4 * kMostRegisters], d[32 * 4 * kMostRegisters];
};

// What is left to the specification, of the parts of some cases.
struct Context {
  const GatheredTile& gathered;
  const Tile& tile;
  const TileViews& views;
  std::size_t first = 0;                                 // of the cases
  std::optional<ExactElements> elements = std::nullopt;  // of the case that was asked for last
  std::size_t index = 0;
};

std::uint32_t exact(void* opaque, std::size_t number, int pair, int lane, std::uint32_t c) {
  auto& context = *static_cast<Context*>(opaque);
  const GatheredTile& gathered = context.gathered;
  const std::size_t index = context.first + number / gathered.parts.size();
  if (!context.elements || context.index != index) {
    context.elements.emplace(context.tile, context.views, index);
    context.index = index;
  }
  const GatheredPart& part = gathered.parts[number % gathered.parts.size()];
  const Position at = in_tile(gathered, part, row_of_pair(gathered.pairs, pair, lane % 2), lane / 2);
  return static_cast<std::uint32_t>((*context.elements)(static_cast<std::size_t>(part.product),
                                                        static_cast<std::size_t>(at.row),
                                                        static_cast<std::size_t>(at.column), c));
}

// Of one thread; reused, so that nothing is allocated per execution.
struct Scratch {
  std::vector<std::uint32_t> a, b, c, d;
};
thread_local Scratch scratch;

void gather_case(const GatheredTile& gathered, const Tile& t, const TileViews& views, std::size_t index,
                 PartRegisters* parts) {
  const std::byte* a = dense_registers(t.a, views.a, t.lanes, index, scratch.a);
  const std::byte* b = dense_registers(t.b, views.b, t.lanes, index, scratch.b);
  const std::byte* c = dense_registers(t.c, views.c, t.lanes, index, scratch.c);
  if (gathered.exchanged) std::swap(a, b);
  for (const GatheredPart& part : gathered.parts) {
    gather(part.a, a, parts->a);
    gather(part.b, b, parts->b);
    gather(part.c, c, parts->c);
    ++parts;
  }
}

void scatter_case(const GatheredTile& gathered, const Tile& t, const PartRegisters* parts, const ResultView& d,
                  std::size_t index) {
  const bool in_place = has_no_gaps(t.d.registers, d);
  std::byte* to = in_place ? d.base + static_cast<std::ptrdiff_t>(index) * d.case_stride
                           : reinterpret_cast<std::byte*>(scratch.d.data());
  for (const GatheredPart& part : gathered.parts) scatter(part.d, parts++->d, to);
  if (!in_place) store_registers(t.d.registers, to, d, t.lanes, index);
}

BlockView blocks_in(std::byte* part, const Format& format) {
  const int bytes = format.bits / 8;
  return {part, 4 * bytes, kBlock * bytes, 0};
}

}  // namespace

void run_gathered(const Body& body, const GatheredTile& gathered, const Tile& t, const TileViews& views,
                  const ResultView& d, std::size_t first, std::size_t last) {
  PartRegisters parts[kPartsAtOnce];
  if (t.terms < gathered.depth) std::memset(parts, 0, sizeof parts);  // no NaN where the tile has no k
  scratch.d.resize(static_cast<std::size_t>(t.lanes * t.d.registers.count));
  Context context{gathered, t, views};
  FusedCases cases;
  cases.program = &gathered.program;
  cases.a_encoding = gathered.a;
  cases.b_encoding = gathered.b;
  cases.by_register = gathered.by_register;
  cases.rows = gathered.pairs;
  cases.depth = gathered.depth;
  cases.b_depth = gathered.depth;
  cases.a = {parts->a, sizeof(PartRegisters)};
  cases.b = {parts->b, sizeof(PartRegisters)};
  cases.c = blocks_in(parts->c, *t.c.format);
  cases.d = blocks_in(parts->d, *t.d.format);
  cases.c_stride = cases.d_stride = sizeof(PartRegisters);
  cases.exact = exact;
  cases.context = &context;
  const std::size_t at_once = kPartsAtOnce / gathered.parts.size();
  for (; first < last; first += at_once) {
    const std::size_t count = std::min(at_once, last - first);
    for (std::size_t i = 0; i < count; ++i)
      gather_case(gathered, t, views, first + i, parts + i * gathered.parts.size());
    context.first = first;
    context.elements.reset();
    body.fused_cases(cases, 0, count * gathered.parts.size());
    for (std::size_t i = 0; i < count; ++i)
      scatter_case(gathered, t, parts + i * gathered.parts.size(), d, first + i);
  }
}

}  // namespace warpbit
