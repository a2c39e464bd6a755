// SPDX-License-Identifier: Apache-2.0
#include "kernel/tile.hpp"

#include <array>
#include <cstring>
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
};
thread_local Workspace workspace;

std::uint64_t field(std::uint64_t reg, const RegisterBits& p) {
  const std::uint64_t shifted = reg >> p.low_bit;
  return p.bits == 64 ? shifted : shifted & ((std::uint64_t{1} << p.bits) - 1);
}

// The registers of one operand in one case, as 64-bit words.
class RegisterFile {
 public:
  RegisterFile() = default;

  void load(const TileOperand& op, const OperandView& view, int lanes, std::size_t index) {
    const auto bytes = static_cast<std::size_t>(op.register_bits / 8);
    for (int lane = 0; lane < lanes; ++lane)
      for (int r = 0; r < op.registers; ++r) {
        const bool literal = !op.literals.empty() && op.literals[static_cast<std::size_t>(r)].has_value();
        std::uint64_t& word = at(lane, r) = 0;
        if (literal)
          word = *op.literals[static_cast<std::size_t>(r)];
        else
          std::memcpy(&word, view.base + offset(view, index, lane, r), bytes);
      }
  }
  void clear() { words_ = {}; }
  void store(const TileOperand& op, const ResultView& view, int lanes, std::size_t index) const {
    const auto bytes = static_cast<std::size_t>(op.register_bits / 8);
    for (int lane = 0; lane < lanes; ++lane)
      for (int r = 0; r < op.registers; ++r)
        std::memcpy(view.base + offset(view, index, lane, r), &at(lane, r), bytes);
  }

  std::uint64_t get(const RegisterBits& p) const { return field(at(p.lane, p.reg), p); }
  void set(const RegisterBits& p, std::uint64_t code) { at(p.lane, p.reg) |= code << p.low_bit; }

 private:
  template <class View>
  static std::ptrdiff_t offset(const View& view, std::size_t index, int lane, int r) {
    return static_cast<std::ptrdiff_t>(index) * view.case_stride + lane * view.lane_stride +
           r * view.register_stride;
  }
  std::uint64_t& at(int lane, int r) {
    return words_[static_cast<std::size_t>(lane) * kMaxRegisters + static_cast<std::size_t>(r)];
  }
  const std::uint64_t& at(int lane, int r) const {
    return words_[static_cast<std::size_t>(lane) * kMaxRegisters + static_cast<std::size_t>(r)];
  }

  std::array<std::uint64_t, std::size_t{kMaxLanes} * kMaxRegisters> words_;
};

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

}  // namespace

void run_tile(const Tile& t, const TileViews& views, const ResultView& d, std::size_t index) {
  RegisterFile file, metadata;
  file.load(t.a, views.a, t.lanes, index);
  for (std::size_t i = 0; i < t.a.places.size(); ++i)
    workspace.a[i] = decode_operand(*t.plan, *t.a.format, file.get(t.a.places[i]));
  file.load(t.b, views.b, t.lanes, index);
  for (std::size_t i = 0; i < t.b.places.size(); ++i) {
    workspace.b_codes[i] = file.get(t.b.places[i]);
    if (!t.sparsity.is_sparse()) workspace.b[i] = decode_operand(*t.plan, *t.b.format, workspace.b_codes[i]);
  }
  file.load(t.c, views.c, t.lanes, index);
  if (t.sparsity.is_sparse()) metadata.load(t.e, views.e, t.lanes, index);

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
                evaluate(*t.plan, {a, operand_format(*t.plan, t.a)}, {b, operand_format(*t.plan, t.b)},
                         *t.c.format, file.get(t.c.places[element])));
      }
    }
  out.store(t.d, d, t.lanes, index);
}

std::optional<MetadataFault> find_fault(const Tile& t, const OperandView& e, std::size_t index, bool ordered) {
  RegisterFile metadata;
  metadata.load(t.e, e, t.lanes, index);
  const int groups = t.terms / t.sparsity.kept;
  for (std::size_t i = 0; i < t.e.places.size(); ++i) {
    const std::uint64_t nibble = metadata.get(t.e.places[i]);
    if (!is_defined(t.sparsity, nibble, ordered))
      return MetadataFault{t.e.places[i], static_cast<int>(i) / groups, static_cast<int>(i) % groups, nibble};
  }
  return std::nullopt;
}

std::uint64_t run_element(const Tile& t, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c) {
  const auto terms = static_cast<std::size_t>(t.terms);
  for (std::size_t k = 0; k < terms; ++k) {
    workspace.a[k] = decode_operand(*t.plan, *t.a.format, k < a.size() ? a[k] : 0);
    workspace.b[k] = decode_operand(*t.plan, *t.b.format, k < b.size() ? b[k] : 0);
  }
  return evaluate(*t.plan, {{workspace.a.data(), terms}, operand_format(*t.plan, t.a)},
                  {{workspace.b.data(), terms}, operand_format(*t.plan, t.b)}, *t.c.format, c);
}

}  // namespace warpbit
