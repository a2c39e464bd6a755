// SPDX-License-Identifier: Apache-2.0
#include "kernel/dense.hpp"

#include <cstring>

namespace warpbit {

void copy_registers(const TileRegisters& r, const OperandView& view, int lanes, std::size_t index,
                    Scratch::Words& out) {
  const std::byte* base = view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride;
  const auto bytes = static_cast<std::size_t>(r.bits / 8);
  out.resize(static_cast<std::size_t>(lanes * r.count) * bytes / 4);
  std::byte* to = bytes_of(out);
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
                                 std::size_t index, Scratch::Words& copy) {
  if (is_dense(operand.registers, view))
    return view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride;
  copy_registers(operand.registers, view, lanes, index, copy);
  return bytes_of(copy);
}

ResultRegisters::ResultRegisters(const TileRegisters& r, const ResultView& view, int lanes, std::size_t index,
                                 bool in_place)
    : registers_(r),
      to_(view.base + static_cast<std::ptrdiff_t>(index) * view.case_stride),
      view_(view),
      lane_stride_(in_place ? view.lane_stride : r.count * r.bits / 8),
      lanes_(lanes) {
  if (!in_place) scratch.d.resize(static_cast<std::size_t>(lanes * r.count * r.bits / 32));
  base_ = in_place ? to_ : bytes_of(scratch.d);
}

void ResultRegisters::store() const {
  if (base_ == to_) return;
  const auto bytes = static_cast<std::size_t>(registers_.bits / 8);
  const std::byte* from = base_;
  for (int lane = 0; lane < lanes_; ++lane)
    for (int reg = 0; reg < registers_.count; ++reg, from += bytes)
      std::memcpy(to_ + lane * view_.lane_stride + reg * view_.register_stride, from, bytes);
}

}  // namespace warpbit
