// SPDX-License-Identifier: Apache-2.0
// Matrices of codes from and to the registers of a warp, with Eigen. Header only; include it where Eigen is at
// hand.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <cstring>
#include <optional>

#include "warpbit/fragment.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {

/// The codes of an operand's elements (Operand::format), zero-extended.
using CodeMatrix = Eigen::Matrix<std::uint64_t, Eigen::Dynamic, Eigen::Dynamic>;

namespace detail {

template <class View>
std::ptrdiff_t register_offset(const View& view, const Place& p, std::size_t index) {
  return static_cast<std::ptrdiff_t>(index) * view.case_stride + p.lane * view.lane_stride +
         p.reg * view.register_stride;
}

}  // namespace detail

/// The matrix that case `index` of the view holds: operand.fragment.rows() x columns(), of the given product
/// where the instruction computes several side by side (PTX manual, "Matrix Fragments"). An element that
/// several places hold is taken from the first. Precondition: the view has the operand's registers; 0 <=
/// product < products().
inline CodeMatrix gather(const Operand& operand, const OperandView& view, std::size_t index = 0,
                         int product = 0) {
  const FragmentMap& map = operand.fragment;
  const std::vector<Place> table = map.table();
  CodeMatrix out(map.rows(), map.columns());
  for (int row = 0; row < map.rows(); ++row)
    for (int column = 0; column < map.columns(); ++column) {
      const Place& p = table[static_cast<std::size_t>((product * map.rows() + row) * map.columns() + column)];
      std::uint64_t word = 0;
      std::memcpy(&word, view.base + detail::register_offset(view, p, index),
                  static_cast<std::size_t>(operand.register_bits / 8));
      out(row, column) = (word >> p.low_bit) & p.mask();
    }
  return out;
}

/// Writes the matrix into every place that holds its elements, and leaves all other bits as they are. Bits of a
/// code above the format's width are ignored. Preconditions as for gather; the matrix has the fragment's size.
inline void scatter(const Operand& operand, const CodeMatrix& matrix, const ResultView& view,
                    std::size_t index = 0, int product = 0) {
  const FragmentMap& map = operand.fragment;
  const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
  for (int lane = 0; lane < map.lanes(); ++lane)
    for (int reg = 0; reg < map.registers(); ++reg)
      for (int slot = 0; slot < map.packing().per_register(); ++slot) {
        const std::optional<Coordinate> c = map.at(lane, reg, slot);
        if (!c || c->product != product) continue;
        const Packing& packing = map.packing();
        const Place p{lane, reg, slot * packing.slot_bits + packing.low_bit, packing.bits};
        std::byte* at = view.base + detail::register_offset(view, p, index);
        std::uint64_t word = 0;
        std::memcpy(&word, at, bytes);
        word &= ~(p.mask() << p.low_bit);
        word |= (matrix(c->row, c->column) & p.mask()) << p.low_bit;
        std::memcpy(at, &word, bytes);
      }
}

}  // namespace warpbit
