// SPDX-License-Identifier: Apache-2.0
#include "kernel/tile.hpp"

#include <array>
#include <cstring>

#include "numeric/node.hpp"

namespace warpbit {
namespace {

// Of one thread; reused, so that nothing is allocated per execution.
struct Workspace {
  std::array<Decoded, kMaxElementsOfA> a;
  std::array<Decoded, kMaxElementsOfB> b;
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

  std::array<std::uint64_t, kMaxLanes * kMaxRegisters> words_;
};

Decoded decode_operand(const Plan& plan, const Format& f, std::uint64_t code) {
  const Decoded element = decode(f, code);
  return plan.operands ? convert_operand(element, f, format(*plan.operands)) : element;
}

const Format* operand_format(const Plan& plan, const TileOperand& op) {
  return plan.operands ? &format(*plan.operands) : op.format;
}

}  // namespace

void run_tile(const Tile& t, const OperandView& a, const OperandView& b, const OperandView& c,
              const ResultView& d, std::size_t index) {
  RegisterFile file;
  file.load(t.a, a, t.lanes, index);
  for (std::size_t i = 0; i < t.a.places.size(); ++i)
    workspace.a[i] = decode_operand(*t.plan, *t.a.format, file.get(t.a.places[i]));
  file.load(t.b, b, t.lanes, index);
  for (std::size_t i = 0; i < t.b.places.size(); ++i)
    workspace.b[i] = decode_operand(*t.plan, *t.b.format, file.get(t.b.places[i]));
  file.load(t.c, c, t.lanes, index);

  RegisterFile out;
  out.clear();
  const auto depth = static_cast<std::size_t>(t.depth);
  std::size_t element = 0;
  for (int product = 0; product < t.products; ++product)
    for (int row = 0; row < t.rows; ++row)
      for (int column = 0; column < t.columns; ++column, ++element) {
        const Decoded* a_row = &workspace.a[static_cast<std::size_t>(product * t.rows + row) * depth];
        const Decoded* b_column = &workspace.b[static_cast<std::size_t>(product * t.columns + column) * depth];
        out.set(t.d.places[element], evaluate(*t.plan, {{a_row, depth}, operand_format(*t.plan, t.a)},
                                              {{b_column, depth}, operand_format(*t.plan, t.b)}, *t.c.format,
                                              file.get(t.c.places[element])));
      }
  out.store(t.d, d, t.lanes, index);
}

std::uint64_t run_element(const Tile& t, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                          std::uint64_t c) {
  const auto depth = static_cast<std::size_t>(t.depth);
  for (std::size_t k = 0; k < depth; ++k) {
    workspace.a[k] = decode_operand(*t.plan, *t.a.format, k < a.size() ? a[k] : 0);
    workspace.b[k] = decode_operand(*t.plan, *t.b.format, k < b.size() ? b[k] : 0);
  }
  return evaluate(*t.plan, {{workspace.a.data(), depth}, operand_format(*t.plan, t.a)},
                  {{workspace.b.data(), depth}, operand_format(*t.plan, t.b)}, *t.c.format, c);
}

}  // namespace warpbit
