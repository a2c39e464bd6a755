// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "module.hpp"

namespace warpbit::python {

/// An operand and the instruction that it is of.
struct BoundOperand {
  Instruction instruction;
  std::size_t index;

  const Operand& operator*() const { return instruction.operands()[index]; }
  const Operand* operator->() const { return &**this; }
};
/// Errors: operand_kind, if there is no such role.
BoundOperand operand_of(const Instruction& instruction, const std::string& role);
/// (rows, columns); (products, rows, columns) where there are several products.
std::vector<py::ssize_t> matrix_shape(const FragmentMap& map);

}  // namespace warpbit::python
