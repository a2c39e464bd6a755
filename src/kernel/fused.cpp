// SPDX-License-Identifier: Apache-2.0
#include "kernel/fused.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace warpbit {
namespace {

// ---- Encodings

Encoding encoding_of(const Format& f, const TileOperand& operand, bool as_half) {
  Encoding out;
  out.kind = f.id == FormatId::bf16   ? Encoding::Kind::bf16
             : f.id == FormatId::tf32 ? Encoding::Kind::tf32
                                      : Encoding::Kind::half;
  out.bytes = f.bits > 16 ? 4 : f.bits > 8 ? 2 : 1;
  if (out.bytes != 1) return out;
  const int low = operand.places.empty() ? 0 : operand.places[0].low_bit % 8;
  const int magnitude_bits = f.exponent_bits + f.fraction_bits, sign = low + magnitude_bits;
  const int moved = 10 - f.fraction_bits;
  out.sign_mask = static_cast<std::uint8_t>(1 << sign);
  out.sign_shift = static_cast<std::uint8_t>(15 - sign);
  out.magnitude_mask = static_cast<std::uint8_t>(((1 << magnitude_bits) - 1) << low);
  out.magnitude_shift = static_cast<std::uint8_t>(moved - low);
  out.first_special =
      f.specials == Specials::ieee           ? static_cast<std::uint16_t>(((1 << f.exponent_bits) - 1) << 10)
      : f.specials == Specials::nan_all_ones ? static_cast<std::uint16_t>(((1 << magnitude_bits) - 1) << moved)
                                             : std::uint16_t{0xFFFF};
  out.scale = 15 - f.bias;
  out.as_half = as_half;
  return out;
}

bool is_encodable(const Format& f) {
  return f.id == FormatId::f16 || f.id == FormatId::bf16 || f.id == FormatId::tf32 ||
         (!f.is_integer && f.is_signed && f.bits <= 8);
}

// ---- Fragments: where the bodies expect the elements

// The row and the k, or column, of each element in the registers: [lane][register][element].
struct Held {
  int row = -1, column = -1;
};
std::vector<Held> held(const TileOperand& operand, int rows, int columns, bool row_major, int lanes,
                       int bytes) {
  const int each = 4 / bytes;
  std::vector<Held> out(static_cast<std::size_t>(lanes * operand.registers.count * each));
  for (int i = 0; i < rows * columns; ++i) {
    const RegisterBits& at = operand.places[static_cast<std::size_t>(i)];
    const Held element = row_major ? Held{i / columns, i % columns} : Held{i % rows, i / rows};
    out[static_cast<std::size_t>((at.lane * operand.registers.count + at.reg) * each +
                                 at.low_bit / (8 * bytes))] = element;
  }
  return out;
}

constexpr int row_of_pair(int pair, int which) {
  return pair / 8 * 16 + pair % 8 + 8 * which;
}

// The places of a panel in order: which unit (of A; a register of B) of the four lanes, and which element of
// it.
struct PanelPlace {
  int unit, element;
};
std::vector<PanelPlace> panel_places(int units, int bytes, bool by_register) {
  std::vector<int> order;
  for (int u = 0; u < units; ++u) order.push_back(u);
  if (by_register) std::ranges::stable_sort(order, {}, [&](int u) { return u % (units / 4); });
  std::vector<PanelPlace> out;
  const int group = by_register ? units / (units / 4) : units;
  for (int first = 0; first < units; first += group)
    for (int half = 0; half < (bytes == 1 ? 2 : 1); ++half)
      for (int u = first; u < first + group; ++u)
        for (int element = 0; element < (bytes == 4 ? 1 : 2); ++element)
          out.push_back({order[static_cast<std::size_t>(u)], 2 * half + element});
  return out;
}

// The k at each place of the panels, if A and B are where the bodies expect them.
std::optional<std::vector<int>> panel_order(const Tile& t, int a_bytes, int b_bytes, bool by_register) {
  const int a_count = t.a.registers.count, b_count = t.b.registers.count;
  if (a_bytes != b_bytes || t.rows % 16 != 0 || t.columns != 8 || t.lanes != 2 * t.rows ||
      a_count != 2 * b_count)
    return std::nullopt;
  if (t.terms * a_bytes != 16 * b_count || (b_count != 1 && b_count != 2)) return std::nullopt;
  if (by_register && b_count != 2) return std::nullopt;
  const int each = 4 / a_bytes;
  const std::vector<Held> a = held(t.a, t.rows, t.terms, true, t.lanes, a_bytes);
  const std::vector<Held> b = held(t.b, t.depth, t.columns, false, t.lanes, b_bytes);
  std::vector<int> out;
  for (const PanelPlace& place : panel_places(4 * b_count, a_bytes, by_register)) {
    const int lane = place.unit / b_count, unit = place.unit % b_count;
    const auto a_at = [&](int pair, int which) {
      const int reg = 2 * unit + which;
      return a[static_cast<std::size_t>(((4 * pair + lane) * a_count + reg) * each + place.element)];
    };
    const int k = a_at(0, 0).column;
    for (int pair = 0; pair < t.rows / 2; ++pair)
      for (int which = 0; which < 2; ++which)
        if (a_at(pair, which).row != row_of_pair(pair, which) || a_at(pair, which).column != k)
          return std::nullopt;
    for (int n = 0; n < 8; ++n) {
      const Held& h = b[static_cast<std::size_t>(((4 * n + lane) * b_count + unit) * each + place.element)];
      if (h.row != k || h.column != n) return std::nullopt;
    }
    out.push_back(k);
  }
  return out;
}

// Whether C or D is where the bodies expect it.
bool is_blocked(const Tile& t, const TileOperand& operand) {
  const int bytes = operand.format->bits / 8;
  if (bytes != 2 && bytes != 4) return false;
  const std::vector<Held> held_by = held(operand, t.rows, t.columns, true, t.lanes, bytes);
  const int each = 4 / bytes, registers = operand.registers.count;
  if (registers * each != t.columns / 2) return false;
  for (int pair = 0; pair < t.rows / 2; ++pair)
    for (int lane = 0; lane < 4; ++lane)
      for (int i = 0; i < registers * each; ++i) {
        const Held& h = held_by[static_cast<std::size_t>((4 * pair + lane) * registers * each + i)];
        if (h.row != row_of_pair(pair, i / 2 % 2) || h.column != i / 4 * 8 + 2 * lane + i % 2) return false;
      }
  return true;
}

// ---- Programs

// Adds the nodes of a step, if their k are neighbours in the panels.
bool add_nodes(const Fused& step, std::span<const int> order, FusedProgram& program) {
  std::vector<int> chosen;
  for (int k = 0; k < static_cast<int>(order.size()); ++k)
    if (step.k.contains(static_cast<std::size_t>(k))) chosen.push_back(k);
  for (std::size_t first = 0; first < chosen.size(); first += static_cast<std::size_t>(step.products)) {
    const std::size_t last = std::min(chosen.size(), first + static_cast<std::size_t>(step.products));
    const std::span<const int> of_node = std::span(chosen).subspan(first, last - first);
    const auto at = std::ranges::find_first_of(order, of_node) - order.begin();
    const std::span<const int> run = order.subspan(static_cast<std::size_t>(at));
    if (run.size() < of_node.size() || of_node.size() % 4 != 0 || program.nodes == kMaxNodes) return false;
    for (const int k : run.first(of_node.size()))
      if (std::ranges::find(of_node, k) == of_node.end()) return false;
    program.node[program.nodes++] = {static_cast<int>(at), static_cast<int>(of_node.size()),
                                     first == 0 && step.start == Start::zero};
  }
  return true;
}

// What a plan says beyond its nodes: at most a conversion of C, then nodes that are alike, then the addition of
// C or a conversion.
bool add_steps(const Plan& plan, std::span<const int> order, FusedProgram& program) {
  const Fused* fused = nullptr;
  for (const Step& step : plan) {
    if (const auto* f = std::get_if<Fused>(&step)) {
      if (fused && (f->window != fused->window || f->result != fused->result)) return false;
      fused = f;
      if (!add_nodes(*f, order, program)) return false;
    } else if (const auto* convert = std::get_if<Convert>(&step)) {
      if (convert->rounding != Rounding::nearest_even) return false;
    } else if (const auto* add = std::get_if<Add>(&step)) {
      if (add->rounding != Rounding::nearest_even) return false;
      program.adds_c = true;
    } else {
      return false;
    }
  }
  if (fused == nullptr) return false;
  program.window = fused->window;
  program.floor = fused->floor + 127;
  program.half_nodes = fused->result == FormatId::f16;
  if (!program.half_nodes) program.kept_mask = ~0U << (23 - fused->kept_fraction_bits);
  int most = 0;
  for (int n = 0; n < program.nodes; ++n) most = std::max(most, program.node[n].count);
  // Sums of `most` products below 4 * 2^F.
  program.wide = std::int64_t{most} << (fused->window + 2) > std::int64_t{1} << 31;
  return std::int64_t{most} << (fused->window + 2) <= std::int64_t{1} << 32;
}

}  // namespace

std::shared_ptr<const FusedTile> compile_fused(const Tile& t) {
  if (t.products != 1 || t.sparsity.is_sparse() || t.a_scale.is_present() || t.uses_memory()) return nullptr;
  if (!is_encodable(*t.a.format) || !is_encodable(*t.b.format)) return nullptr;
  const bool as_half = t.plan->operands.has_value();
  if (as_half && *t.plan->operands != FormatId::f16) return nullptr;
  FusedTile out;
  out.a = encoding_of(*t.a.format, t.a, as_half);
  out.b = encoding_of(*t.b.format, t.b, as_half);
  if (out.a.kind != out.b.kind || !is_blocked(t, t.c) || !is_blocked(t, t.d)) return nullptr;
  for (const bool by_register : {false, true}) {
    const auto order = panel_order(t, out.a.bytes, out.b.bytes, by_register);
    FusedProgram program;
    if (!order || !add_steps(*t.plan, *order, program)) continue;
    out.by_register = by_register;
    program.half_c = t.c.format->bits == 16;
    program.half_d = t.d.format->bits == 16;
    program.wide_exponents = out.a.kind != Encoding::Kind::half;
    if (program.wide_exponents && (program.wide || program.half_nodes)) return nullptr;
    program.product_scale = (out.a.as_half ? 0 : out.a.scale) + (out.b.as_half ? 0 : out.b.scale);
    program.exponent_bias =
        program.wide_exponents ? 127 - 2 * 127 : 127 - 2 * 15 - 2 * kHalfExponentOffset + program.product_scale;
    program.least = std::max(40, program.exponent_bias + 1);
    out.program = program;
    out.a_registers = t.a.registers.count;
    out.b_registers = t.b.registers.count;
    out.c_registers = t.c.registers.count;
    out.d_registers = t.d.registers.count;
    return std::make_shared<const FusedTile>(out);
  }
  return nullptr;
}

// ---- Execution

namespace {

// The registers of an operand as [lane][register] without gaps: where they are, or copied to `scratch` if they
// lie otherwise, hold literals, or will be overwritten by D.
const std::byte* dense_registers(const TileOperand& operand, const OperandView& view, const ResultView& d,
                                 int lanes, std::size_t index, std::vector<std::uint32_t>& scratch) {
  const TileRegisters& r = operand.registers;
  const std::byte* base = view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride;
  if (view.register_stride == 4 && view.lane_stride == 4 * r.count && r.literals.empty() && view.base != d.base)
    return base;
  scratch.resize(static_cast<std::size_t>(lanes * r.count));
  for (int lane = 0; lane < lanes; ++lane)
    for (int reg = 0; reg < r.count; ++reg) {
      const auto at = static_cast<std::size_t>(lane * r.count + reg);
      const auto i = static_cast<std::size_t>(reg);
      if (i < r.literals.size() && r.literals[i])
        scratch[at] = static_cast<std::uint32_t>(*r.literals[i]);
      else
        std::memcpy(&scratch[at], base + lane * view.lane_stride + reg * view.register_stride, 4);
    }
  return reinterpret_cast<const std::byte*>(scratch.data());
}

// Of C or D with registers side by side.
BlockView block_view(std::byte* base, std::ptrdiff_t lane_stride, int element_bytes) {
  return {base, lane_stride, 4 * lane_stride, 4 * element_bytes};
}

// The panels of one thread; reused, so that nothing is allocated per execution.
struct Panels {
  std::vector<std::uint32_t> registers[3];
  std::vector<std::uint32_t> codes, d;
  std::vector<float> a, b;
  std::vector<std::int16_t> a_exponents, b_exponents;
  std::vector<std::uint16_t> a_special, b_special;
};
thread_local Panels panels;

// The lanes of each row or column of blocks that an Inf or NaN among the codes reaches. The codes of a block
// are [k][each]; of A two for all lanes, of B one for each lane.
void find_specials(const Encoding& e, const void* codes, std::size_t blocks, std::size_t depth,
                   std::size_t each, std::vector<std::uint16_t>& out) {
  const auto is_special = [&](std::size_t i) {
    const auto* words = static_cast<const std::uint16_t*>(codes);
    switch (e.kind) {
      case Encoding::Kind::half: return (words[i] & 0x7FFF) >= e.first_special;
      case Encoding::Kind::bf16: return (words[i] & 0x7F80) == 0x7F80;
      case Encoding::Kind::tf32: return (words[2 * i + 1] & 0x7F80) == 0x7F80;
    }
    return true;
  };
  out.assign(blocks, 0);
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t i = 0; i < depth * each; ++i)
      if (is_special(block * depth * each + i))
        out[block] |= static_cast<std::uint16_t>(each == 2 ? 0x5555 << i % 2 : 1 << i % kBlock);
}

std::uint32_t exact(void* context, int row, int column, int lane, std::uint32_t c) {
  auto& elements = *static_cast<ExactElements*>(context);
  return static_cast<std::uint32_t>(elements(0, static_cast<std::size_t>(row_of_pair(row, lane % 2)),
                                             static_cast<std::size_t>(8 * column + lane / 2), c));
}

}  // namespace

void run_fused(const Body& body, const FusedTile& fused, const Tile& t, const TileViews& views,
               const ResultView& d, std::size_t index) {
  Panels& p = panels;
  const std::byte* a = dense_registers(t.a, views.a, d, t.lanes, index, p.registers[0]);
  const std::byte* b = dense_registers(t.b, views.b, d, t.lanes, index, p.registers[1]);
  const auto rows = static_cast<std::size_t>(t.rows), terms = static_cast<std::size_t>(t.terms);
  const std::size_t a_count = rows * terms, b_count = kBlock * terms;
  p.codes.resize(std::max(a_count, b_count));
  p.a.resize(a_count);
  p.b.resize(b_count);
  p.a_exponents.resize(a_count);
  p.b_exponents.resize(b_count);

  FusedBlocks blocks;
  blocks.program = &fused.program;
  blocks.rows = t.rows / 2;
  blocks.columns = t.columns / 8;
  blocks.depth = t.terms;
  blocks.a = p.a.data();
  blocks.b = p.b.data();
  blocks.a_exponents = p.a_exponents.data();
  blocks.b_exponents = p.b_exponents.data();
  body.arrange_a(fused.a, a, blocks.rows, t.terms, fused.by_register, p.codes.data());
  const bool a_special =
      body.decode(fused.a, p.codes.data(), static_cast<int>(a_count), p.a.data(), p.a_exponents.data());
  if (a_special) find_specials(fused.a, p.codes.data(), rows / 2, terms, 2, p.a_special);
  body.arrange_b(fused.b, b, t.terms, fused.by_register, p.codes.data());
  const bool b_special =
      body.decode(fused.b, p.codes.data(), static_cast<int>(b_count), p.b.data(), p.b_exponents.data());
  if (b_special) find_specials(fused.b, p.codes.data(), 1, terms, kBlock, p.b_special);
  if (a_special || b_special) {
    if (!a_special) p.a_special.assign(rows / 2, 0);
    if (!b_special) p.b_special.assign(1, 0);
    blocks.a_special = p.a_special.data();
    blocks.b_special = p.b_special.data();
  }

  const auto at = static_cast<std::ptrdiff_t>(index);
  const TileRegisters& c = t.c.registers;
  if (views.c.register_stride == 4 && c.literals.empty()) {
    // The bodies only read C.
    blocks.c = block_view(const_cast<std::byte*>(views.c.base) + at * views.c.case_stride, views.c.lane_stride,
                          t.c.format->bits / 8);
  } else {
    const ResultView nowhere{};
    const std::byte* registers = dense_registers(t.c, views.c, nowhere, t.lanes, index, p.registers[2]);
    blocks.c = block_view(const_cast<std::byte*>(registers), 4 * c.count, t.c.format->bits / 8);
  }
  const bool direct = d.register_stride == 4;
  if (!direct) p.d.resize(static_cast<std::size_t>(t.lanes * t.d.registers.count));
  blocks.d = direct ? block_view(d.base + at * d.case_stride, d.lane_stride, t.d.format->bits / 8)
                    : block_view(reinterpret_cast<std::byte*>(p.d.data()), 4 * t.d.registers.count,
                                 t.d.format->bits / 8);
  ExactElements elements(t, views, index);
  blocks.exact = exact;
  blocks.context = &elements;
  body.fused(blocks);
  if (direct) return;
  for (int lane = 0; lane < t.lanes; ++lane)
    for (int reg = 0; reg < t.d.registers.count; ++reg)
      std::memcpy(d.base + at * d.case_stride + lane * d.lane_stride + reg * d.register_stride,
                  &p.d[static_cast<std::size_t>(lane * t.d.registers.count + reg)], 4);
}

}  // namespace warpbit
