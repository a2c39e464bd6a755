// SPDX-License-Identifier: Apache-2.0
#include "kernel/fused.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "kernel/dense.hpp"
#include "kernel/program.hpp"

namespace warpbit {
namespace {

// ---- Sparse and scaled operands

// Where the metadata lies is the selector's choice, an operand.
void find_metadata(const Tile& t, Selection& out) {
  const int groups = t.terms / t.sparsity.kept, registers = t.e.registers.count;
  out.kept = t.sparsity.kept;
  out.fours = groups / 4;
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

// Whether word w of each row of A, by k, is in the registers 2 * (w / 4) (+ 1 in the second row of a pair) of
// lane w % 4 of its four, and of each column of B in register w / 4.
bool is_by_k(const Tile& t, int bytes) {
  if (t.rows % 16 != 0 || t.lanes != 2 * t.rows || t.columns != 8) return false;
  if (t.terms * bytes != 8 * t.a.registers.count || t.depth * bytes != 16 * t.b.registers.count) return false;
  if (t.b.registers.count != 2 && t.b.registers.count != 4) return false;
  const auto holds = [bytes](const TileOperand& operand, int line, int depth, int four, int registers,
                             int first) {
    for (int k = 0; k < depth; ++k) {
      const RegisterBits& at = operand.places[static_cast<std::size_t>(line * depth + k)];
      const int word = k * bytes / 4;
      if (at.lane != 4 * four + word % 4 || at.reg != word / 4 * registers + first ||
          at.low_bit / (8 * bytes) != k % (4 / bytes))
        return false;
    }
    return true;
  };
  for (int pair = 0; pair < t.rows / 2; ++pair)
    for (int which = 0; which < 2; ++which)
      if (!holds(t.a, row_of_pair(pair, which), t.terms, pair, 2, which)) return false;
  for (int column = 0; column < t.columns; ++column)
    if (!holds(t.b, column, t.depth, column, 1, 0)) return false;
  return true;
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
  if (t.products != 1 || t.rows > 2 * kMaxRows || t.depth > kMaxPanelDepth) return false;
  if (t.sparsity.is_sparse() && (t.sparsity.kept > 2 || !is_selectable(t))) return false;
  return is_scalable(t.a_scale) && is_scalable(t.b_scale) && is_encodable(*t.a.format) &&
         is_encodable(*t.b.format);
}

bool compile_dense(const Tile& t, FusedTile& out) {
  for (const bool by_register : {false, true}) {
    const auto a = order_of_a(t, out.a.bytes, by_register), b = order_of_b(t, out.b.bytes, by_register);
    if (!a || a != b) continue;
    const std::optional<FusedProgram> program = compile_program(t, out.a, out.b, *a);
    if (!program) continue;
    out.by_register = by_register;
    out.order = *a;
    out.program = *program;
    return true;
  }
  return false;
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

bool compile_sparse(const Tile& t, FusedTile& out) {
  const bool by_powers = out.a.kind == Encoding::Kind::tf32;
  if (by_powers != (t.sparsity.kept == 1) || !is_by_k(t, out.a.bytes)) return false;
  for (const bool even_first : {false, true}) {
    if (even_first && (out.a.bytes != 1 || t.terms != 32)) continue;
    const std::vector<int> order = order_of_pairs(t.terms, even_first);
    const std::optional<FusedProgram> program = compile_program(t, out.a, out.b, order);
    if (!program || !(by_powers || has_entries(*program))) continue;
    out.even_first = even_first;
    out.order = order;
    out.program = *program;
    return true;
  }
  return false;
}

}  // namespace

std::shared_ptr<FastTile> compile_fused(const Tile& t) {
  const bool as_half = t.plan->operands.has_value();
  if (!is_known_shape(t) || (as_half && *t.plan->operands != FormatId::f16)) return nullptr;
  FusedTile out;
  out.a = encoding_of(*t.a.format, t.a, as_half);
  out.b = encoding_of(*t.b.format, t.b, as_half);
  if (out.a.kind != out.b.kind || out.a.bytes != out.b.bytes || !is_blocked(t, t.c) || !is_blocked(t, t.d))
    return nullptr;
  const bool compiled = t.sparsity.is_sparse() ? compile_sparse(t, out) : compile_dense(t, out);
  return compiled ? std::make_shared<FusedTile>(out) : nullptr;
}

// ---- Execution

namespace {

// The inputs of a tile that are taken out of dense registers, with where the body wants them.
struct Input {
  const TileRegisters& registers;
  const OperandView& view;
  FusedCases::Registers& to;
  Scratch::Words& copy;
};

}  // namespace

void FusedTile::run(const FastRun& run) const {
  const auto& [body, t, views, d, first, last] = run;
  ExactLanes exact(t, views, t.rows);
  FusedCases cases;
  cases.program = &program;
  cases.a_encoding = a;
  cases.b_encoding = b;
  cases.by_register = by_register;
  cases.even_first = even_first;
  cases.rows = t.rows / 2;
  cases.depth = t.terms;
  cases.b_depth = t.depth;
  Selection selection;
  if (t.sparsity.is_sparse()) {
    find_metadata(t, selection);
    cases.selection = &selection;
  }
  cases.exact = exact.callback();
  const int c_bytes = t.c.format->bits / 8, d_bytes = t.d.format->bits / 8;
  // The bodies only read C.
  cases.c = block_view(const_cast<std::byte*>(views.c.base), views.c.lane_stride, c_bytes);
  cases.c_stride = views.c.case_stride;
  cases.d = block_view(d.base, d.lane_stride, d_bytes);
  cases.d_stride = d.case_stride;
  const Input inputs[] = {{t.a.registers, views.a, cases.a, scratch.a},
                          {t.b.registers, views.b, cases.b, scratch.b},
                          {t.e.registers, views.e, cases.metadata, scratch.e},
                          {t.a_scale.registers, views.a_scale, cases.a_scales, scratch.a_scale},
                          {t.b_scale.registers, views.b_scale, cases.b_scales, scratch.b_scale}};
  bool dense = views.c.register_stride == 4 && t.c.registers.literals.empty() && d.register_stride == 4;
  for (const Input& input : inputs) {
    dense = dense && (input.registers.count == 0 ||
                      (is_dense(input.registers, input.view) && input.view.base != d.base));
    input.to = {input.view.base, input.view.case_stride};
  }
  const bool scaled = t.a_scale.is_present();
  std::array<std::uint16_t, 2 * kMaxRows> a_scale_at{};
  std::array<std::uint16_t, 8> b_scale_at{};
  const auto choose_scales = [&](std::size_t index) {
    a_scale_at = scale_bytes<2 * kMaxRows>(t.a_scale, chosen_places(t.a_scale, views.a_selector, index), true);
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
      input.to = {bytes_of(input.copy), 0};
    }
    copy_registers(t.c.registers, views.c, t.lanes, i, scratch.c);
    cases.c = block_view(bytes_of(scratch.c), 4 * t.c.registers.count, c_bytes);
    const ResultRegisters result(t.d.registers, d, t.lanes, i, false);
    cases.d = block_view(result.base(), result.lane_stride(), d_bytes);
    if (scaled) choose_scales(i);
    body.fused_cases(cases, i, i + 1);
    result.store();
  }
}

}  // namespace warpbit
