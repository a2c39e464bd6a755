// SPDX-License-Identifier: Apache-2.0
#include "warpbit/execute.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>

namespace warpbit {
namespace {

Error mismatch(const Operand& operand, std::string seen, std::string accepted) {
  return {Errc::view_mismatch, std::string(operand.role), std::move(seen), std::move(accepted)};
}

// The registers as a view; they must contain the case and the product.
Result<ResultView> view_of_matrix(const Operand& operand, const OperandArray& array, std::size_t index,
                                  int product, bool destination) {
  const FragmentMap& map = operand.fragment;
  if (operand.registers == 0)
    return mismatch(operand, "it has no registers", "an operand that lies in registers");
  const Result<OperandArray::Registers> registers = array.registers(operand, map.lanes(), destination);
  if (!registers) return registers.error();
  if (index >= registers->cases)
    return mismatch(operand, fmt::format("case {}", index), fmt::format("one of {}", registers->cases));
  if (product < 0 || product >= map.products())
    return mismatch(operand, fmt::format("product {}", product), fmt::format("one of {}", map.products()));
  return registers->view;
}

}  // namespace

OperandArray OperandArray::strided(const ResultView& view, std::size_t cases) {
  OperandArray out = strided(OperandView(view), cases);
  out.writable_ = true;
  return out;
}

OperandArray OperandArray::strided(const OperandView& view, std::size_t cases) {
  OperandArray out;
  out.view_ = view;
  out.cases_ = cases;
  return out;
}

Result<OperandArray::Registers> OperandArray::registers(const Operand& operand, int lanes,
                                                        bool destination) const {
  const auto bytes = static_cast<std::size_t>(operand.register_bits) / 8;
  const std::string shape = fmt::format("{} lanes x {} register{} of {} bits", lanes, operand.registers,
                                        operand.registers == 1 ? "" : "s", operand.register_bits);
  if (empty()) return mismatch(operand, "no registers", shape);
  if (destination && !writable_) return mismatch(operand, "an array of constants", "one that can be written");
  auto* base = const_cast<std::byte*>(view_.base);  // written only if it is mutable
  if (value_bytes_ == 0)
    return Registers{{base, view_.case_stride, view_.lane_stride, view_.register_stride}, cases_};
  const std::size_t each = static_cast<std::size_t>(lanes * operand.registers) * bytes;
  if (bytes % value_bytes_ != 0)
    return mismatch(operand, fmt::format("values of {} bits", value_bytes_ * 8), shape);
  const std::size_t size = values_ * value_bytes_;
  if (size == 0 || size % each != 0)
    return mismatch(operand, fmt::format("{} values of {} bits", values_, value_bytes_ * 8),
                    shape + ", or a multiple for more cases");
  return Registers{ResultView::dense(base, lanes, operand.registers, operand.register_bits), size / each};
}

Result<void> scatter(const Operand& operand, std::span<const std::uint64_t> codes, OperandArray registers,
                     std::size_t index, int product) {
  const Result<ResultView> view = view_of_matrix(operand, registers, index, product, true);
  if (!view) return view.error();
  const FragmentMap& map = operand.fragment;
  if (codes.size() != static_cast<std::size_t>(map.rows() * map.columns()))
    return mismatch(operand, fmt::format("a matrix of {} elements", codes.size()),
                    fmt::format("{} x {}", map.rows(), map.columns()));
  const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < map.registers(); ++reg)
      for (int slot = 0; slot < map.packing().per_register(); ++slot) {
        const std::optional<Coordinate> c = map.at(lane, reg, slot);
        if (!c || c->product != product) continue;
        const Place p{lane, reg, map.packing().low_bit_of(slot), map.packing().bits};
        std::byte* at = view->at(index, lane, reg);
        std::uint64_t word = 0;
        std::memcpy(&word, at, bytes);
        word &= ~(p.mask() << p.low_bit);
        word |= (codes[static_cast<std::size_t>(c->row * map.columns() + c->column)] & p.mask()) << p.low_bit;
        std::memcpy(at, &word, bytes);
      }
  return {};
}

Result<void> scatter_values(const Operand& operand, std::span<const double> numbers, OperandArray registers,
                            std::size_t index, int product) {
  const Result<std::vector<std::uint64_t>> codes = encode(operand.format, numbers);
  if (!codes) return codes.error();
  return scatter(operand, *codes, registers, index, product);
}

Result<std::vector<std::uint64_t>> gather(const Operand& operand, OperandArray registers, std::size_t index,
                                          int product) {
  const Result<ResultView> view = view_of_matrix(operand, registers, index, product, false);
  if (!view) return view.error();
  const FragmentMap& map = operand.fragment;
  const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
  const auto elements = static_cast<std::size_t>(map.rows() * map.columns());
  const std::vector<Place> table = map.table();
  std::vector<std::uint64_t> out(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const Place& p = table[static_cast<std::size_t>(product) * elements + i];
    std::uint64_t word = 0;
    std::memcpy(&word, view->at(index, p.lane, p.reg), bytes);
    out[i] = word >> p.low_bit & p.mask();
  }
  return out;
}

Result<std::vector<double>> gather_values(const Operand& operand, OperandArray registers, std::size_t index,
                                          int product) {
  const Result<std::vector<std::uint64_t>> codes = gather(operand, registers, index, product);
  if (!codes) return codes.error();
  return decode(operand.format, *codes);
}

}  // namespace warpbit
