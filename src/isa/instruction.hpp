// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "isa/form.hpp"
#include "isa/statement.hpp"
#include "kernel/elementwise.hpp"
#include "kernel/move.hpp"
#include "kernel/tile.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {

/// What an Instruction holds: everything that can be known before operands are.
struct DecodedInstruction {
  std::string text;
  Target target;
  const Family* family;
  const Form* form;
  TargetPlan plan;
  std::vector<Operand> operands;
  std::variant<Tile, ElementwiseKernel, Move, Control> kernel;  ///< in the order of Form::action

  static Instruction make(DecodedInstruction decoded);
};

/// `opcode.qualifier...` as the statement has them.
std::string spell(const Statement& statement);

/// The form that the statement's qualifiers name on the target, whatever their order.
Result<const Form*> match(const Statement& statement, const Family& family, Target target);

/// The operands of a statement, checked against a form; all symbolic if the statement has none.
Result<std::vector<Operand>> bind_operands(const Statement& statement, const Form& form,
                                           const TypeLookup& types);

}  // namespace warpbit
