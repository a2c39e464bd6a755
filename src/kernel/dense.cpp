// SPDX-License-Identifier: Apache-2.0
#include "kernel/dense.hpp"

#include <cstring>

namespace warpbit {

void copy_registers(const TileRegisters& r, const OperandView& view, int lanes, std::size_t index,
                    std::vector<std::uint32_t>& out) {
  const std::byte* base = view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride;
  const auto bytes = static_cast<std::size_t>(r.bits / 8);
  out.resize(static_cast<std::size_t>(lanes * r.count) * bytes / 4);
  auto* to = reinterpret_cast<std::byte*>(out.data());
  for (int lane = 0; lane < lanes; ++lane)
    for (int reg = 0; reg < r.count; ++reg, to += bytes) {
      const auto i = static_cast<std::size_t>(reg);
      if (i < r.literals.size() && r.literals[i])
        std::memcpy(to, &*r.literals[i], bytes);  // its low bits
      else
        std::memcpy(to, base + lane * view.lane_stride + reg * view.register_stride, bytes);
    }
}

const std::byte* dense_registers(const TileOperand& operand, const OperandView& view, int lanes,
                                 std::size_t index, std::vector<std::uint32_t>& scratch) {
  if (is_dense(operand.registers, view))
    return view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride;
  copy_registers(operand.registers, view, lanes, index, scratch);
  return reinterpret_cast<const std::byte*>(scratch.data());
}

void store_registers(const TileRegisters& r, const std::byte* dense, const ResultView& view, int lanes,
                     std::size_t index) {
  const auto bytes = static_cast<std::size_t>(r.bits / 8);
  std::byte* base = view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride;
  for (int lane = 0; lane < lanes; ++lane)
    for (int reg = 0; reg < r.count; ++reg, dense += bytes)
      std::memcpy(base + lane * view.lane_stride + reg * view.register_stride, dense, bytes);
}

}  // namespace warpbit
