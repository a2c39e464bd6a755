// SPDX-License-Identifier: Apache-2.0
#include "kernel/tile.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "kernel/body.hpp"
#include "kernel/dense.hpp"
#include "numeric/node.hpp"

namespace warpbit {
namespace {

// Of one thread; reused, so that nothing is allocated per execution.
struct Workspace {
  std::vector<std::uint64_t> a_codes, b_codes;
  std::vector<Decoded> a, b;
  std::vector<Decoded> selected;  // of B, for one element of D with a sparse A
  std::vector<Decoded> a_scales, b_scales;
  RegisterFile c, metadata, out, other;
};
thread_local Workspace workspace;

Decoded decode_operand(const Plan& plan, const TileOperand& operand, std::uint64_t code, bool negate = false) {
  const Format& f = operand.read_format();
  if (operand.container != nullptr)
    code = (code & operand.format->mask()) << operand.format->byte_low | code >> kPaddingAt;
  Decoded element = decode(f, code);
  if (negate && (!f.is_integer || f.zero_bits != 0)) element.negative = !element.negative;
  return plan.operands ? convert_operand(element, f, format(*plan.operands)) : element;
}

const Format* operand_format(const Plan& plan, const TileOperand& op) {
  return plan.operands ? &format(*plan.operands) : &op.read_format();
}

// The code in a column of B that meets a stored element of a row of a sparse A.
std::uint64_t selected_code(const Tile& t, const RegisterFile& metadata, std::size_t row, std::size_t column,
                            std::size_t term) {
  const auto terms = static_cast<std::size_t>(t.terms), kept = static_cast<std::size_t>(t.sparsity.kept);
  const auto width = static_cast<std::size_t>(t.sparsity.width), depth = static_cast<std::size_t>(t.depth);
  const std::size_t group = term / kept;
  const std::uint64_t nibble = metadata.get(t.e.places[row * (terms / kept) + group]);
  const std::uint64_t* codes = &workspace.b_codes[column * depth + group * width];
  return select(t.sparsity, nibble, static_cast<int>(term % kept), codes);
}

// All that do.
std::span<const Decoded> select_column(const Tile& t, const RegisterFile& metadata, std::size_t row,
                                       std::size_t column) {
  const auto terms = static_cast<std::size_t>(t.terms);
  for (std::size_t term = 0; term < terms; ++term)
    workspace.selected[term] =
        decode_operand(*t.plan, t.b, selected_code(t, metadata, row, column, term), t.negate_b);
  return {workspace.selected.data(), terms};
}

// With the padding that counts.
std::uint64_t code_at(const TileOperand& operand, const RegisterFile& file, const RegisterBits& place) {
  const std::uint64_t code = file.get(place);
  if (operand.container == nullptr) return code;
  const int below = operand.format->byte_low;
  return code | file.get({place.lane, place.reg, place.low_bit - below, below}) << kPaddingAt;
}

// The codes of a factor, out of registers or of memory: (product, row or column, k).
void gather(const TileOperand& operand, const std::optional<DescribedMatrix>& described,
            const OperandView& view, const Descriptor& descriptor, std::span<const std::byte> memory, int lanes,
            std::size_t index, std::vector<std::uint64_t>& codes) {
  codes.clear();
  if (!described) {
    workspace.other.load(operand.registers, view, lanes, index);
    for (const RegisterBits& place : operand.places) codes.push_back(code_at(operand, workspace.other, place));
    return;
  }
  const int bits = described->element_bits;
  for (int line = 0; line < described->lines; ++line)
    for (int k = 0; k < described->depth; ++k) {
      const std::uint64_t at = element_bit(descriptor, *described, line, k);
      std::uint64_t code = 0;
      std::memcpy(&code, memory.data() + at / 8, static_cast<std::size_t>((at % 8 + bits - 1) / 8 + 1));
      codes.push_back(bits < 8 ? code >> at % 8 & operand.format->mask() : code);
    }
}

void decode_all(const Tile& t, const TileOperand& operand, bool negate, const std::vector<std::uint64_t>& codes,
                std::vector<Decoded>& out) {
  out.clear();
  for (const std::uint64_t code : codes) out.push_back(decode_operand(*t.plan, operand, code, negate));
}

// The decoded scale factors of case `index`: (row or column, block).
void load_scales(const TileScale& scale, const OperandView& view, const OperandView& selector, int lanes,
                 std::size_t index, std::vector<Decoded>& out) {
  out.clear();
  if (!scale.is_present()) return;
  const Places places = chosen_places(scale, selector, index);
  RegisterFile& file = workspace.other;
  file.load(scale.registers, view, lanes, index);
  for (const RegisterBits& place : places) out.push_back(decode(*scale.format, file.get(place)));
}

// Those of one row or column.
std::span<const Decoded> scales_of(const TileScale& scale, std::span<const Decoded> all, std::size_t row) {
  const auto blocks = static_cast<std::size_t>(scale.blocks);
  return all.subspan(row * blocks, blocks);
}

// Fills the workspace with what one case has besides C.
void load_factors(const Tile& t, const TileViews& views, std::size_t index) {
  Workspace& w = workspace;
  gather(t.a, t.a_described, views.a, views.a_descriptor, views.a_memory, t.lanes, index, w.a_codes);
  gather(t.b, t.b_described, views.b, views.b_descriptor, views.b_memory, t.lanes, index, w.b_codes);
  decode_all(t, t.a, t.negate_a, w.a_codes, w.a);
  if (!t.sparsity.is_sparse()) decode_all(t, t.b, t.negate_b, w.b_codes, w.b);
  if (t.sparsity.is_sparse()) w.metadata.load(t.e.registers, views.e, t.lanes, index);
  load_scales(t.a_scale, views.a_scale, views.a_selector, t.lanes, index, w.a_scales);
  load_scales(t.b_scale, views.b_scale, views.b_selector, t.lanes, index, w.b_scales);
  w.selected.resize(static_cast<std::size_t>(t.terms));
}

// One element, of what is in the workspace.
std::uint64_t element(const Tile& t, std::size_t product, std::size_t row, std::size_t column,
                      std::uint64_t c) {
  Workspace& w = workspace;
  const auto terms = static_cast<std::size_t>(t.terms), depth = static_cast<std::size_t>(t.depth);
  const auto rows = static_cast<std::size_t>(t.rows), columns = static_cast<std::size_t>(t.columns);
  const std::span<const Decoded> a{&w.a[(product * rows + row) * terms], terms};
  const std::span<const Decoded> b = t.sparsity.is_sparse()
                                         ? select_column(t, w.metadata, row, column)
                                         : std::span{&w.b[(product * columns + column) * depth], terms};
  return evaluate(*t.plan,
                  {a, operand_format(*t.plan, t.a), scales_of(t.a_scale, w.a_scales, row), t.a_scale.format},
                  {b, operand_format(*t.plan, t.b), scales_of(t.b_scale, w.b_scales, column), t.b_scale.format},
                  *t.c.format, c, nullptr, t.c_scale);
}

}  // namespace

Places chosen_places(const TileScale& scale, const OperandView& view, std::size_t index) {
  if (scale.choices.size() == 1) return scale.choices[0];
  const TileSelector& s = scale.selector;
  RegisterFile& file = workspace.other;
  file.load(s.registers, view, 1, index);
  return scale.choices[static_cast<std::size_t>(file.at(0, 0)) / static_cast<std::size_t>(s.step) *
                           static_cast<std::size_t>(s.threads) +
                       static_cast<std::size_t>(file.at(0, 1))];
}

void run_tile(const Tile& t, const TileViews& views, const ResultView& d, std::size_t index) {
  Workspace& w = workspace;
  load_factors(t, views, index);
  if (views.accumulate)
    w.c.load(t.c.registers, views.c, t.lanes, index);
  else
    w.c.clear(t.c.registers, t.lanes);
  w.out.clear(t.d.registers, t.lanes);
  const auto rows = static_cast<std::size_t>(t.rows), columns = static_cast<std::size_t>(t.columns);
  std::size_t at = 0;
  for (std::size_t product = 0; product < static_cast<std::size_t>(t.products); ++product)
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column, ++at)
        w.out.set(t.d.places[at], element(t, product, row, column, w.c.get(t.c.places[at])));
  w.out.store(t.d.registers, d, t.lanes, index);
}

std::uint64_t ExactElements::operator()(std::size_t product, std::size_t row, std::size_t column,
                                        std::uint64_t c) {
  if (!loaded_) load_factors(tile_, views_, index_);
  loaded_ = true;
  return element(tile_, product, row, column, c);
}

std::vector<std::uint32_t> metadata_bits(const Tile& t) {
  const int registers = t.e.registers.count;
  std::vector<std::uint32_t> out(static_cast<std::size_t>(t.lanes * registers));
  for (const RegisterBits& at : t.e.places)
    out[static_cast<std::size_t>(at.lane * registers + at.reg)] |= 0b0100U << at.low_bit;
  return out;
}

bool is_defined(const Body& body, const Tile& t, std::span<const std::uint32_t> third_bits,
                const OperandView& e, std::size_t index, bool ordered) {
  const std::byte* words = dense_registers(t.e, e, t.lanes, index, scratch.e);
  return body.is_defined(t.sparsity.kept == 1, ordered, words, third_bits.data(),
                         static_cast<int>(third_bits.size()));
}

std::optional<MetadataFault> find_fault(const Tile& t, const OperandView& e, std::size_t index, bool ordered) {
  RegisterFile& metadata = workspace.metadata;
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
  RegisterFile& file = workspace.other;
  file.load(selector.registers, view, lanes, index);
  for (int lane = 0; lane < lanes; ++lane)
    for (int item = 0; item < 2; ++item) {
      const std::uint64_t value = file.at(lane, item);
      if (lane > 0 && value == file.at(0, item)) continue;
      const bool in_range = item == 0 ? value < static_cast<std::uint64_t>(selector.bytes) &&
                                            value % static_cast<std::uint64_t>(selector.step) == 0
                                      : value < static_cast<std::uint64_t>(selector.threads);
      if (!in_range || lane > 0) return SelectorFault{lane, item, value};
    }
  return std::nullopt;
}

std::vector<ElementInputs> codes_of_elements(const Tile& t, const TileViews& views, std::size_t index,
                                             std::span<const Coordinate> elements) {
  Workspace& w = workspace;
  load_factors(t, views, index);
  if (views.accumulate) w.c.load(t.c.registers, views.c, t.lanes, index);
  const auto size = [](int i) { return static_cast<std::size_t>(i); };
  const auto terms = size(t.terms), depth = size(t.depth), rows = size(t.rows), columns = size(t.columns);
  std::vector<ElementInputs> out(elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::size_t row = size(elements[i].product) * rows + size(elements[i].row);
    const std::size_t column = size(elements[i].product) * columns + size(elements[i].column);
    for (std::size_t k = 0; k < terms; ++k) {
      out[i].a.push_back(w.a_codes[row * terms + k]);
      out[i].b.push_back(t.sparsity.is_sparse() ? selected_code(t, w.metadata, row, column, k)
                                                : w.b_codes[column * depth + k]);
    }
    if (views.accumulate) out[i].c = w.c.get(t.c.places[row * columns + size(elements[i].column)]);
  }
  const auto scales = [&](const TileScale& scale, const OperandView& view, const OperandView& selector,
                          int Coordinate::*line, std::vector<std::uint64_t> ElementInputs::*codes) {
    if (!scale.is_present()) return;
    const Places places = chosen_places(scale, selector, index);
    w.other.load(scale.registers, view, t.lanes, index);
    for (std::size_t i = 0; i < elements.size(); ++i)
      for (std::size_t block = 0; block < size(scale.blocks); ++block)
        (out[i].*codes).push_back(w.other.get(places[size(elements[i].*line) * size(scale.blocks) + block]));
  };
  scales(t.a_scale, views.a_scale, views.a_selector, &Coordinate::row, &ElementInputs::a_scale);
  scales(t.b_scale, views.b_scale, views.b_selector, &Coordinate::column, &ElementInputs::b_scale);
  return out;
}

std::uint64_t run_element(const Tile& t, const ElementCodes& codes, Trace* trace) {
  const auto fill = [](std::span<const std::uint64_t> given, int count, std::vector<std::uint64_t>& out) {
    out.assign(given.begin(), given.end());
    out.resize(static_cast<std::size_t>(count));
  };
  Workspace& w = workspace;
  fill(codes.a, t.terms, w.a_codes);
  fill(codes.b, t.terms, w.b_codes);
  decode_all(t, t.a, t.negate_a, w.a_codes, w.a);
  decode_all(t, t.b, t.negate_b, w.b_codes, w.b);
  const auto scales = [&](const TileScale& scale, std::span<const std::uint64_t> given,
                          std::vector<Decoded>& out) {
    fill(given, scale.blocks, w.a_codes);
    out.clear();
    for (const std::uint64_t code : w.a_codes) out.push_back(decode(*scale.format, code));
    return std::span<const Decoded>(out);
  };
  return evaluate(
      *t.plan,
      {w.a, operand_format(*t.plan, t.a), scales(t.a_scale, codes.a_scale, w.a_scales), t.a_scale.format},
      {w.b, operand_format(*t.plan, t.b), scales(t.b_scale, codes.b_scale, w.b_scales), t.b_scale.format},
      *t.c.format, t.starts_at_zero ? 0 : codes.c, trace, t.c_scale);
}

std::uint64_t run_element(const Tile& t, const DecodedLine& a, const DecodedLine& b, std::uint64_t c) {
  return evaluate(*t.plan, {a.elements, operand_format(*t.plan, t.a), a.scales, t.a_scale.format},
                  {b.elements, operand_format(*t.plan, t.b), b.scales, t.b_scale.format}, *t.c.format, c,
                  nullptr, t.c_scale);
}

Decoded decode_factor(const Tile& t, bool of_a, std::uint64_t code) {
  return decode_operand(*t.plan, of_a ? t.a : t.b, code, of_a ? t.negate_a : t.negate_b);
}

}  // namespace warpbit
