// SPDX-License-Identifier: Apache-2.0
#include "kernel/tile.hpp"

#include <array>
#include <span>

#include "numeric/node.hpp"

namespace warpbit {
namespace {

// Of one thread; reused, so that nothing is allocated per execution.
struct Workspace {
  std::array<Decoded, kMaxElementsOfA> a;
  std::array<Decoded, kMaxElementsOfB> b;
  std::array<std::uint64_t, kMaxElementsOfB> b_codes;
  std::array<Decoded, kMaxDepth> selected;  // of B, for one element of D with a sparse A
  std::array<Decoded, kMaxScales> a_scales, b_scales;
};
thread_local Workspace workspace;

Decoded decode_operand(const Plan& plan, const Format& f, std::uint64_t code) {
  const Decoded element = decode(f, code);
  return plan.operands ? convert_operand(element, f, format(*plan.operands)) : element;
}

const Format* operand_format(const Plan& plan, const TileOperand& op) {
  return plan.operands ? &format(*plan.operands) : op.format;
}

// The elements of a column of B that meet the stored ones of a row of a sparse A.
std::span<const Decoded> select_column(const Tile& t, const RegisterFile& metadata, std::size_t row,
                                       std::size_t column) {
  const auto terms = static_cast<std::size_t>(t.terms), kept = static_cast<std::size_t>(t.sparsity.kept);
  const auto width = static_cast<std::size_t>(t.sparsity.width), depth = static_cast<std::size_t>(t.depth);
  for (std::size_t term = 0; term < terms; ++term) {
    const std::size_t group = term / kept;
    const std::uint64_t nibble = metadata.get(t.e.places[row * (terms / kept) + group]);
    const std::uint64_t* codes = &workspace.b_codes[column * depth + group * width];
    const std::uint64_t code = select(t.sparsity, nibble, static_cast<int>(term % kept), codes);
    workspace.selected[term] = decode_operand(*t.plan, *t.b.format, code);
  }
  return {workspace.selected.data(), terms};
}

// The decoded scale factors of case `index`: (row or column, block).
void load_scales(const TileScale& scale, const OperandView& view, const OperandView& selector, int lanes,
                 std::size_t index, std::span<Decoded> out) {
  if (!scale.is_present()) return;
  RegisterFile file;
  file.load(scale.selector.registers, selector, 1, index);
  const auto choice = static_cast<std::size_t>(file.at(0, 0)) / static_cast<std::size_t>(scale.selector.step) *
                          static_cast<std::size_t>(scale.selector.threads) +
                      static_cast<std::size_t>(file.at(0, 1));
  const std::vector<RegisterBits>& places = scale.choices[scale.choices.size() == 1 ? 0 : choice];
  file.load(scale.registers, view, lanes, index);
  for (std::size_t i = 0; i < places.size(); ++i) out[i] = decode(*scale.format, file.get(places[i]));
}

// Those of one row or column.
std::span<const Decoded> scales_of(const TileScale& scale, std::span<const Decoded> all, std::size_t row) {
  const auto blocks = static_cast<std::size_t>(scale.blocks);
  return all.subspan(row * blocks, blocks);
}

}  // namespace

void run_tile(const Tile& t, const TileViews& views, const ResultView& d, std::size_t index) {
  RegisterFile file, metadata;
  file.load(t.a.registers, views.a, t.lanes, index);
  for (std::size_t i = 0; i < t.a.places.size(); ++i)
    workspace.a[i] = decode_operand(*t.plan, *t.a.format, file.get(t.a.places[i]));
  file.load(t.b.registers, views.b, t.lanes, index);
  for (std::size_t i = 0; i < t.b.places.size(); ++i) {
    workspace.b_codes[i] = file.get(t.b.places[i]);
    if (!t.sparsity.is_sparse()) workspace.b[i] = decode_operand(*t.plan, *t.b.format, workspace.b_codes[i]);
  }
  file.load(t.c.registers, views.c, t.lanes, index);
  if (t.sparsity.is_sparse()) metadata.load(t.e.registers, views.e, t.lanes, index);
  load_scales(t.a_scale, views.a_scale, views.a_selector, t.lanes, index, workspace.a_scales);
  load_scales(t.b_scale, views.b_scale, views.b_selector, t.lanes, index, workspace.b_scales);

  RegisterFile out;
  out.clear();
  const auto terms = static_cast<std::size_t>(t.terms), depth = static_cast<std::size_t>(t.depth);
  const auto rows = static_cast<std::size_t>(t.rows), columns = static_cast<std::size_t>(t.columns);
  std::size_t element = 0;
  for (std::size_t product = 0; product < static_cast<std::size_t>(t.products); ++product)
    for (std::size_t row = 0; row < rows; ++row) {
      const std::span<const Decoded> a{&workspace.a[(product * rows + row) * terms], terms};
      for (std::size_t column = 0; column < columns; ++column, ++element) {
        const std::span<const Decoded> b =
            t.sparsity.is_sparse() ? select_column(t, metadata, row, column)
                                   : std::span{&workspace.b[(product * columns + column) * depth], terms};
        out.set(t.d.places[element],
                evaluate(*t.plan,
                         {a, operand_format(*t.plan, t.a), scales_of(t.a_scale, workspace.a_scales, row),
                          t.a_scale.format},
                         {b, operand_format(*t.plan, t.b), scales_of(t.b_scale, workspace.b_scales, column),
                          t.b_scale.format},
                         *t.c.format, file.get(t.c.places[element])));
      }
    }
  out.store(t.d.registers, d, t.lanes, index);
}

std::optional<MetadataFault> find_fault(const Tile& t, const OperandView& e, std::size_t index, bool ordered) {
  RegisterFile metadata;
  metadata.load(t.e.registers, e, t.lanes, index);
  const int groups = t.terms / t.sparsity.kept;
  for (std::size_t i = 0; i < t.e.places.size(); ++i) {
    const std::uint64_t nibble = metadata.get(t.e.places[i]);
    if (!is_defined(t.sparsity, nibble, ordered))
      return MetadataFault{t.e.places[i], static_cast<int>(i) / groups, static_cast<int>(i) % groups, nibble};
  }
  return std::nullopt;
}

std::optional<SelectorFault> find_fault(const TileSelector& selector, const OperandView& view, int lanes,
                                        std::size_t index) {
  RegisterFile file;
  file.load(selector.registers, view, lanes, index);
  for (int lane = 0; lane < lanes; ++lane)
    for (int item = 0; item < 2; ++item) {
      const std::uint64_t value = file.at(lane, item);
      const bool in_range = item == 0 ? value < static_cast<std::uint64_t>(selector.bytes) &&
                                            value % static_cast<std::uint64_t>(selector.step) == 0
                                      : value < static_cast<std::uint64_t>(selector.threads);
      if (!in_range || value != file.at(0, item)) return SelectorFault{lane, item, value};
    }
  return std::nullopt;
}

std::uint64_t run_element(const Tile& t, const ElementCodes& codes) {
  const auto code = [](std::span<const std::uint64_t> all, std::size_t i) {
    return i < all.size() ? all[i] : 0;
  };
  const auto terms = static_cast<std::size_t>(t.terms);
  for (std::size_t k = 0; k < terms; ++k) {
    workspace.a[k] = decode_operand(*t.plan, *t.a.format, code(codes.a, k));
    workspace.b[k] = decode_operand(*t.plan, *t.b.format, code(codes.b, k));
  }
  const auto scales = [&](const TileScale& scale, std::span<const std::uint64_t> given,
                          std::span<Decoded> out) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(scale.blocks); ++i)
      out[i] = decode(*scale.format, code(given, i));
    return scales_of(scale, out, 0);
  };
  return evaluate(*t.plan,
                  {{workspace.a.data(), terms},
                   operand_format(*t.plan, t.a),
                   scales(t.a_scale, codes.a_scale, workspace.a_scales),
                   t.a_scale.format},
                  {{workspace.b.data(), terms},
                   operand_format(*t.plan, t.b),
                   scales(t.b_scale, codes.b_scale, workspace.b_scales),
                   t.b_scale.format},
                  *t.c.format, codes.c);
}

}  // namespace warpbit
