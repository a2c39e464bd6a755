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
  out.as_half = as_half && f.id != FormatId::e5m2;  // which has the exponents of f16
  for (int m = 1; m < 8 && out.as_half; ++m) {
    const std::uint64_t code = encode(format(FormatId::f16), exact(decode(f, static_cast<std::uint64_t>(m)), f),
                                      Rounding::toward_zero, Overflow::ieee);
    out.subnormal[m] = static_cast<std::uint8_t>(code >> 8);
  }
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

// The k at each place of A's panel, if its rows are where the bodies expect them: two registers of four lanes,
// or four, for each pair of rows.
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

// The same of B's panel: all registers of four lanes for each column.
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
  // Sums of 16 products, each below 4 * 2^F, must fit in 32 bits.
  return fused->window <= 25 && std::ranges::all_of(program.node, [](const auto& n) { return n.count <= 32; });
}

// ---- Sparse and scaled operands

Selection selection_of(const Tile& t, std::span<const int> a_order, std::span<const int> b_order) {
  Selection out{};
  out.kept = t.sparsity.kept;
  out.width = t.sparsity.width;
  for (std::size_t i = 0; i < a_order.size(); ++i) out.stored[i] = static_cast<std::uint8_t>(a_order[i]);
  for (std::size_t i = 0; i < b_order.size(); ++i)
    out.place[static_cast<std::size_t>(b_order[i])] = static_cast<std::uint8_t>(i);
  return out;
}

// Where the metadata lies is the selector's choice, an operand.
void find_metadata(const Tile& t, Selection& out) {
  const int groups = t.terms / t.sparsity.kept, registers = t.e.registers.count;
  for (int i = 0; i < t.rows; ++i)
    for (int group = 0; group < groups; group += 4) {
      const RegisterBits& at = t.e.places[static_cast<std::size_t>(row_of_pair(i / 2, i % 2) * groups + group)];
      out.metadata[i][group / 4] =
          static_cast<std::uint16_t>((at.lane * registers + at.reg) * 4 + at.low_bit / 8);
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
  return groups % 4 == 0;
}

// One scale factor, of ue8m0, for a row or column; or none.
bool is_scalable(const TileScale& scale) {
  return !scale.is_present() || (scale.blocks == 1 && scale.format->id == FormatId::ue8m0);
}

// The bytes of the registers that hold the scale factors of rows in the order of blocks, or of columns.
template <std::size_t kCount>
std::array<std::uint16_t, kCount> scale_bytes(const TileScale& scale, std::size_t choice, bool paired) {
  std::array<std::uint16_t, kCount> out{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const int row =
        paired ? row_of_pair(static_cast<int>(i / 2), static_cast<int>(i % 2)) : static_cast<int>(i);
    const RegisterBits& at = scale.choices[choice][static_cast<std::size_t>(row)];
    out[i] = static_cast<std::uint16_t>((at.lane * scale.registers.count + at.reg) * 4 + at.low_bit / 8);
  }
  return out;
}

bool is_known_shape(const Tile& t) {
  if (t.products != 1 || t.rows > 2 * kMostRows || t.depth > kMostDepth || t.uses_memory()) return false;
  if (t.sparsity.is_sparse() && (t.sparsity.kept > 2 || !is_selectable(t))) return false;
  return is_scalable(t.a_scale) && is_scalable(t.b_scale) && is_encodable(*t.a.format) &&
         is_encodable(*t.b.format);
}

}  // namespace

std::shared_ptr<const FusedTile> compile_fused(const Tile& t) {
  const bool as_half = t.plan->operands.has_value(), sparse = t.sparsity.is_sparse();
  if (!is_known_shape(t) || (as_half && *t.plan->operands != FormatId::f16)) return nullptr;
  FusedTile out;
  out.a = encoding_of(*t.a.format, t.a, as_half);
  out.b = encoding_of(*t.b.format, t.b, as_half);
  if (out.a.kind != out.b.kind || out.a.bytes != out.b.bytes || !is_blocked(t, t.c) || !is_blocked(t, t.d))
    return nullptr;
  for (const bool by_register : {false, true}) {
    const auto a = order_of_a(t, out.a.bytes, by_register);
    const auto b = order_of_b(t, out.b.bytes, by_register && !sparse);
    FusedProgram program;
    if (!a || !b || (!sparse && *a != *b) || !add_steps(*t.plan, *a, program)) continue;
    out.by_register = by_register;
    if (sparse) out.selection = selection_of(t, *a, *b);
    program.half_c = t.c.format->bits == 16;
    program.half_d = t.d.format->bits == 16;
    const bool is_half = out.a.kind == Encoding::Kind::half;
    if (!is_half && program.half_nodes) return nullptr;
    program.product_scale = (out.a.as_half ? 0 : out.a.scale) + (out.b.as_half ? 0 : out.b.scale);
    program.exponent_bias = 127 - 2 * (is_half ? 15 : 127) + program.product_scale;
    out.program = program;
    return std::make_shared<const FusedTile>(out);
  }
  return nullptr;
}

// ---- Execution

namespace {

// The registers of an operand as [lane][register] without gaps.
void copy_registers(const TileRegisters& r, const OperandView& view, int lanes, std::size_t index,
                    std::vector<std::uint32_t>& out) {
  out.assign(static_cast<std::size_t>(lanes * r.count), 0);
  for (int lane = 0; lane < lanes; ++lane)
    for (int reg = 0; reg < r.count; ++reg) {
      const auto at = static_cast<std::size_t>(lane * r.count + reg);
      const auto i = static_cast<std::size_t>(reg);
      if (i < r.literals.size() && r.literals[i])
        out[at] = static_cast<std::uint32_t>(*r.literals[i]);
      else
        std::memcpy(&out[at],
                    view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride +
                        lane * view.lane_stride + reg * view.register_stride,
                    static_cast<std::size_t>(r.bits / 8));
    }
}

// Of C or D with registers side by side.
BlockView block_view(std::byte* base, std::ptrdiff_t lane_stride, int element_bytes) {
  return {base, lane_stride, 4 * lane_stride, 4 * element_bytes};
}

// Of one thread; reused, so that nothing is allocated per execution.
struct Scratch {
  std::vector<std::uint32_t> a, b, c, d, metadata, a_scales, b_scales, selector;
};
thread_local Scratch scratch;

struct Context {
  const Tile& tile;
  const TileViews& views;
  std::optional<ExactElements> elements = std::nullopt;  // of the case that was asked for last
  std::size_t index = 0;
};

std::uint32_t exact(void* opaque, std::size_t index, int row, int lane, std::uint32_t c) {
  auto& context = *static_cast<Context*>(opaque);
  if (!context.elements || context.index != index) {
    context.elements.emplace(context.tile, context.views, index);
    context.index = index;
  }
  return static_cast<std::uint32_t>((*context.elements)(0, static_cast<std::size_t>(row_of_pair(row, lane % 2)),
                                                        static_cast<std::size_t>(lane / 2), c));
}

bool is_dense(const TileRegisters& r, const OperandView& view) {
  return r.count == 0 || (view.register_stride == 4 && view.lane_stride == 4 * r.count && r.literals.empty());
}

// The inputs of a tile that are taken out of dense registers, with where the body wants them.
struct Input {
  const TileRegisters& registers;
  const OperandView& view;
  FusedCases::Registers& to;
  std::vector<std::uint32_t>& copy;
};

std::byte* base_of(std::vector<std::uint32_t>& registers) {
  return reinterpret_cast<std::byte*>(registers.data());
}

std::size_t chosen(const TileScale& scale, const OperandView& selector, std::size_t index) {
  if (scale.choices.size() == 1) return 0;
  copy_registers(scale.selector.registers, selector, 1, index, scratch.selector);
  return scratch.selector[0] / static_cast<std::size_t>(scale.selector.step) *
             static_cast<std::size_t>(scale.selector.threads) +
         scratch.selector[1];
}

}  // namespace

void run_fused(const Body& body, const FusedTile& fused, const Tile& t, const TileViews& views,
               const ResultView& d, std::size_t first, std::size_t last) {
  Context context{t, views};
  FusedCases cases;
  cases.program = &fused.program;
  cases.a_encoding = fused.a;
  cases.b_encoding = fused.b;
  cases.by_register = fused.by_register;
  cases.rows = t.rows / 2;
  cases.depth = t.terms;
  cases.b_depth = t.depth;
  Selection selection;
  if (fused.selection) {
    selection = *fused.selection;
    find_metadata(t, selection);
    cases.selection = &selection;
  }
  cases.exact = exact;
  cases.context = &context;
  const int c_bytes = t.c.format->bits / 8, d_bytes = t.d.format->bits / 8;
  // The bodies only read C.
  cases.c = block_view(const_cast<std::byte*>(views.c.base), views.c.lane_stride, c_bytes);
  cases.c_stride = views.c.case_stride;
  cases.d = block_view(d.base, d.lane_stride, d_bytes);
  cases.d_stride = d.case_stride;
  const Input inputs[] = {{t.a.registers, views.a, cases.a, scratch.a},
                          {t.b.registers, views.b, cases.b, scratch.b},
                          {t.e.registers, views.e, cases.metadata, scratch.metadata},
                          {t.a_scale.registers, views.a_scale, cases.a_scales, scratch.a_scales},
                          {t.b_scale.registers, views.b_scale, cases.b_scales, scratch.b_scales}};
  bool dense = views.c.register_stride == 4 && t.c.registers.literals.empty() && d.register_stride == 4;
  for (const Input& input : inputs) {
    dense = dense && is_dense(input.registers, input.view) &&
            (input.registers.count == 0 || input.view.base != d.base);
    input.to = {input.view.base, input.view.case_stride};
  }
  const bool scaled = t.a_scale.is_present();
  std::array<std::uint16_t, 2 * kMostRows> a_scale_at{};
  std::array<std::uint16_t, 8> b_scale_at{};
  const auto choose_scales = [&](std::size_t index) {
    a_scale_at = scale_bytes<2 * kMostRows>(t.a_scale, chosen(t.a_scale, views.a_selector, index), true);
    b_scale_at = scale_bytes<8>(t.b_scale, chosen(t.b_scale, views.b_selector, index), false);
    cases.a_scale_at = a_scale_at.data();
    cases.b_scale_at = b_scale_at.data();
  };
  if (dense && (!scaled || (t.a_scale.choices.size() == 1 && t.b_scale.choices.size() == 1))) {
    if (scaled) choose_scales(first);
    return body.fused_cases(cases, first, last);
  }

  // Registers that lie otherwise are brought together, and scale factors found, case by case.
  cases.c_stride = cases.d_stride = 0;
  for (std::size_t i = first; i < last; ++i) {
    for (const Input& input : inputs) {
      if (input.registers.count == 0) continue;
      copy_registers(input.registers, input.view, t.lanes, i, input.copy);
      input.to = {base_of(input.copy), 0};
    }
    copy_registers(t.c.registers, views.c, t.lanes, i, scratch.c);
    cases.c = block_view(base_of(scratch.c), 4 * t.c.registers.count, c_bytes);
    scratch.d.resize(static_cast<std::size_t>(t.lanes * t.d.registers.count));
    cases.d = block_view(base_of(scratch.d), 4 * t.d.registers.count, d_bytes);
    if (scaled) choose_scales(i);
    body.fused_cases(cases, i, i + 1);
    for (int lane = 0; lane < t.lanes; ++lane)
      for (int reg = 0; reg < t.d.registers.count; ++reg)
        std::memcpy(d.base + static_cast<std::ptrdiff_t>(i) * d.case_stride + lane * d.lane_stride +
                        reg * d.register_stride,
                    &scratch.d[static_cast<std::size_t>(lane * t.d.registers.count + reg)], 4);
  }
}

}  // namespace warpbit
