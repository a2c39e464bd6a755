// SPDX-License-Identifier: Apache-2.0
// Matrices of codes to and from the registers of a warp, with Eigen. Header only; requires Eigen.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

#include "warpbit/execute.hpp"

namespace warpbit {

/// The codes of an operand's elements (Operand::format), zero-extended.
using EigenCodes = Eigen::Matrix<std::uint64_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// gather (warpbit/execute.hpp) into a matrix of operand.fragment.rows() x columns().
inline Result<EigenCodes> gather_eigen(const Operand& operand, const OperandArray& registers,
                                       std::size_t index = 0, int product = 0) {
  const Result<std::vector<std::uint64_t>> codes = gather(operand, registers, index, product);
  if (!codes) return codes.error();
  return EigenCodes(
      Eigen::Map<const EigenCodes>(codes->data(), operand.fragment.rows(), operand.fragment.columns()));
}

/// scatter (warpbit/execute.hpp) from a matrix.
inline Result<void> scatter(const Operand& operand, const EigenCodes& codes, const OperandArray& registers,
                            std::size_t index = 0, int product = 0) {
  return scatter(operand, std::span(codes.data(), static_cast<std::size_t>(codes.size())), registers, index,
                 product);
}

}  // namespace warpbit
