// SPDX-License-Identifier: Apache-2.0
#include "kernel/program.hpp"

#include <algorithm>

namespace warpbit {

// ---- Encodings

bool is_encodable(const Format& f) {
  return f.id == FormatId::f16 || f.id == FormatId::bf16 || f.id == FormatId::tf32 ||
         (!f.is_integer && f.is_signed && f.bits <= 8);
}

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
  // e5m2 has the exponents of f16.
  const bool as_f16 = as_half && f.id != FormatId::e5m2;
  if (as_f16) out.added_exponent = static_cast<std::int8_t>(out.scale);
  for (std::size_t m = 1; m < std::size_t{1} << f.fraction_bits; ++m) {
    const std::uint64_t code =
        encode(format(FormatId::f16), exact(decode(f, m), f), Rounding::toward_zero, Overflow::ieee);
    out.subnormal[m << low] = as_f16 ? static_cast<std::int8_t>(code >> 10) : std::int8_t{1};
  }
  out.subnormal[0] = kNoNearExponent;
  return out;
}

// ---- Fragments: where the bodies expect the elements

namespace {

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

}  // namespace

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

std::optional<std::vector<int>> order_of_a(const Tile& t, int bytes, bool by_register) {
  const int count = t.a.registers.count, units = count / 2;
  if (t.rows % 16 != 0 || t.lanes != 2 * t.rows || (count != 2 && count != 4) || t.terms * bytes != 8 * count ||
      (by_register && units == 1))
    return std::nullopt;
  const int each = 4 / bytes;
  const std::vector<Held> a = held(t.a, t.rows, t.terms, true, t.lanes, bytes);
  std::vector<int> out;
  for (const PanelPlace& place : panel_places(4 * units, bytes, by_register)) {
    const auto at = [&](int pair, int which) {
      const int lane = 4 * pair + place.unit / units, reg = 2 * (place.unit % units) + which;
      return a[static_cast<std::size_t>((lane * count + reg) * each + place.element)];
    };
    out.push_back(at(0, 0).column);
    for (int pair = 0; pair < t.rows / 2; ++pair)
      for (int which = 0; which < 2; ++which)
        if (at(pair, which).row != row_of_pair(pair, which) || at(pair, which).column != out.back())
          return std::nullopt;
  }
  return out;
}

std::optional<std::vector<int>> order_of_b(const Tile& t, int bytes, bool by_register) {
  const int count = t.b.registers.count, each = 4 / bytes;
  if (t.columns != 8 || t.depth * bytes != 16 * count || (by_register && count != 2)) return std::nullopt;
  const std::vector<Held> b = held(t.b, t.depth, t.columns, false, t.lanes, bytes);
  std::vector<int> out;
  for (const PanelPlace& place : panel_places(4 * count, bytes, by_register)) {
    const auto at = [&](int n) {
      const int lane = 4 * n + place.unit / count, reg = place.unit % count;
      return b[static_cast<std::size_t>((lane * count + reg) * each + place.element)];
    };
    out.push_back(at(0).row);
    for (int n = 0; n < 8; ++n)
      if (at(n).column != n || at(n).row != out.back()) return std::nullopt;
  }
  return out;
}

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

namespace {

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
    if (run.size() < of_node.size() || at % 4 != 0 || of_node.size() % 4 != 0 || program.nodes == kMaxNodes)
      return false;
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
  // Sums of 16 products, each below 4 * 2^F, must fit in 32 bits.
  return fused->window <= 25 && std::ranges::all_of(program.node, [](const auto& n) { return n.count <= 32; });
}

}  // namespace

std::optional<FusedProgram> compile_program(const Tile& t, const Encoding& a, const Encoding& b,
                                            std::span<const int> order) {
  FusedProgram program;
  if (!add_steps(*t.plan, order, program)) return std::nullopt;
  program.half_c = t.c.format->bits == 16;
  program.half_d = t.d.format->bits == 16;
  const bool is_half = a.kind == Encoding::Kind::half;
  if (!is_half && program.half_nodes) return std::nullopt;
  program.product_scale = a.scale + b.scale;
  program.exponent_bias =
      127 - 2 * (is_half ? 15 : 127) + a.scale - a.added_exponent + b.scale - b.added_exponent;
  return program;
}

BlockView block_view(std::byte* base, std::ptrdiff_t lane_stride, int element_bytes) {
  return {base, lane_stride, 4 * lane_stride, 4 * element_bytes};
}

}  // namespace warpbit
