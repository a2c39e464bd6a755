// SPDX-License-Identifier: Apache-2.0
#include "kernel/fused.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "kernel/dense.hpp"
#include "kernel/program.hpp"

namespace warpbit {
namespace {

// ---- Sparse and scaled operands

// How metadata becomes places of elements, element[0], ... of each row of a pair (-1: none), where index i of a
// group means place meant(group, i). False if the indices of all groups do not mean the same steps.
template <class Meant>
bool find_places(const Tile& t, std::span<const int> element, Meant meant, PlaceTable& out) {
  const int kept = t.sparsity.kept, pair_metadata = t.terms / kept, count = static_cast<int>(element.size());
  out.pair = 2 * count;
  for (int index = 0; index < 4; ++index)
    out.step[index] = static_cast<std::uint8_t>(meant(0, index) - meant(0, 0));
  for (int i = 0; i < t.rows * count / 16; ++i)
    out.first[i] = static_cast<std::uint8_t>(16 * i / out.pair * pair_metadata);
  for (int i = 0; i < PlaceTable::kMost; ++i) {
    const int stored = element[static_cast<std::size_t>(i / 2 % count)];
    if (stored < 0) {
      out.origin[i] = kNoPlace;
      continue;
    }
    const int group = stored / kept;
    for (int index = 0; index < 4; ++index)
      if (meant(group, index) != meant(group, 0) + out.step[index]) return false;
    out.source[i] = static_cast<std::uint8_t>(i % 16 / out.pair * pair_metadata + group / 4 * 4 + i % 2 * 2 +
                                              group % 4 / 2);
    out.upper_nibble[i] = group % 2 != 0 ? 0xFF : 0;
    out.upper_index[i] = kept == 1 || stored % kept != 0 ? 0xFF : 0;  // of one of two the upper half says which
    out.origin[i] = static_cast<std::uint8_t>(meant(group, 0));
  }
  return true;
}

// The entries of each node, by the segments that elements meet, two by two; with the elements in them.
std::optional<std::vector<int>> add_entries(const Tile& t, std::span<const int> a_order,
                                            const FusedProgram& program, std::span<const int> in_registers,
                                            Selection& out) {
  constexpr int kSegment = 16;
  std::vector<int> elements;
  std::fill(std::begin(out.halves), std::end(out.halves), std::int8_t{-1});
  const auto segment_of = [&](int k) {  // of all elements of its group
    const auto group = static_cast<std::size_t>(a_order[static_cast<std::size_t>(k)] / t.sparsity.kept);
    return in_registers[group * static_cast<std::size_t>(t.sparsity.width)] / kSegment;
  };
  for (int n = 0; n < program.nodes; ++n) {
    const FusedProgram::Node& node = program.node[n];
    for (int segment = 0; segment < t.depth / kSegment; ++segment) {
      int filled = 0;
      for (int k = node.first; k < node.first + node.count; k += 2) {
        if (segment_of(k) != segment_of(k + 1)) return std::nullopt;
        if (segment_of(k) != segment) continue;
        if (filled % 4 == 0) {
          if (out.entries == Selection::kMostEntries) return std::nullopt;
          out.segment[out.entries++] = static_cast<std::uint8_t>(segment);
          elements.resize(elements.size() + 8, -1);
        }
        const int half = 4 * (out.entries - 1) + filled++ % 4;
        out.halves[half] = static_cast<std::int8_t>(k / 2);
        for (int i = 0; i < 2; ++i)
          elements[static_cast<std::size_t>(2 * half + i)] = a_order[static_cast<std::size_t>(k + i)];
      }
    }
    out.node[n + 1] = static_cast<std::uint8_t>(out.entries);
  }
  for (int i = 0; i < 16 && out.entries > 0; ++i)
    out.order[i] = out.halves[i % (4 * out.entries)] + i / (4 * out.entries) * (4 * out.entries);
  return elements;
}

// The numbers of B's elements in a column's registers, by k.
std::vector<int> numbers_in_registers(const Tile& t, const Encoding& b) {
  std::vector<int> out;
  for (int k = 0; k < t.depth; ++k) {
    const RegisterBits& at = t.b.places[static_cast<std::size_t>(k)];  // column 0: lanes 0 to 3
    out.push_back((at.lane * t.b.registers.count + at.reg) * (4 / b.bytes) + at.low_bit / (8 * b.bytes));
  }
  return out;
}

std::optional<Selection> selection_of(const Tile& t, std::span<const int> a_order, std::span<const int> b_order,
                                      const FusedProgram& program, const Encoding& b) {
  Selection out{};
  const int width = t.sparsity.width;
  out.kept = t.sparsity.kept;
  out.fours = t.terms / (4 * out.kept);
  const auto by = [&](std::span<const int> number) {
    return [number, width](int group, int index) {  // an index counts elements, or halves of them
      return number[static_cast<std::size_t>(width * group + index * width / 4)];
    };
  };
  std::vector<int> in_panel(b_order.size());
  for (std::size_t i = 0; i < b_order.size(); ++i)
    in_panel[static_cast<std::size_t>(b_order[i])] = static_cast<int>(i);
  if (!find_places(t, a_order, by(in_panel), out.in_panel)) return std::nullopt;
  if (t.depth < 16 || b.kind == Encoding::Kind::tf32) return out;  // by powers
  const std::vector<int> in_registers = numbers_in_registers(t, b);
  const auto elements = add_entries(t, a_order, program, in_registers, out);
  if (!elements || !find_places(t, *elements, by(in_registers), out.in_entries)) return std::nullopt;
  return out;
}

// Where the metadata lies is the selector's choice, an operand.
void find_metadata(const Tile& t, Selection& out) {
  const int groups = t.terms / t.sparsity.kept, registers = t.e.registers.count;
  for (int pair = 0; pair < t.rows / 2; ++pair)
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
  return groups % 4 == 0;
}

// One scale factor, of ue8m0, for a row or column; or none.
bool is_scalable(const TileScale& scale) {
  return !scale.is_present() || (scale.blocks == 1 && scale.format->id == FormatId::ue8m0);
}

// The bytes of the registers that hold the scale factors of rows in the order of blocks, or of columns.
template <std::size_t kCount>
std::array<std::uint16_t, kCount> scale_bytes(const TileScale& scale, Places places, bool paired) {
  std::array<std::uint16_t, kCount> out{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const int row =
        paired ? row_of_pair(static_cast<int>(i / 2), static_cast<int>(i % 2)) : static_cast<int>(i);
    const RegisterBits& at = places[static_cast<std::size_t>(row)];
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
    if (!a || !b || (!sparse && *a != *b)) continue;
    const std::optional<FusedProgram> program = compile_program(t, out.a, out.b, *a);
    if (!program) continue;
    out.by_register = by_register;
    out.order = *a;
    if (sparse) out.selection = selection_of(t, *a, *b, *program, out.b);
    if (sparse && !out.selection) continue;
    out.program = *program;
    return std::make_shared<const FusedTile>(out);
  }
  return nullptr;
}

// ---- Execution

namespace {

// Of one thread; reused, so that nothing is allocated per execution.
struct Scratch {
  std::vector<std::uint32_t> a, b, c, d, metadata, a_scales, b_scales;
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
    dense = dense && (input.registers.count == 0 ||
                      (is_dense(input.registers, input.view) && input.view.base != d.base));
    input.to = {input.view.base, input.view.case_stride};
  }
  const bool scaled = t.a_scale.is_present();
  std::array<std::uint16_t, 2 * kMostRows> a_scale_at{};
  std::array<std::uint16_t, 8> b_scale_at{};
  const auto choose_scales = [&](std::size_t index) {
    a_scale_at = scale_bytes<2 * kMostRows>(t.a_scale, chosen_places(t.a_scale, views.a_selector, index), true);
    b_scale_at = scale_bytes<8>(t.b_scale, chosen_places(t.b_scale, views.b_selector, index), false);
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
    store_registers(t.d.registers, base_of(scratch.d), d, t.lanes, i);
  }
}

}  // namespace warpbit
