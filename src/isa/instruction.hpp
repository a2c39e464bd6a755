// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "isa/compile.hpp"
#include "isa/form.hpp"
#include "isa/statement.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {

/// What an Instruction holds: everything that can be known before operands are.
struct DecodedInstruction {
  std::string text;
  Target target;
  const Family* family;
  const Form* form;
  const CompiledForm* compiled;  ///< what it shares with other instructions of the form
  std::vector<Operand> operands;
  CompiledAction kernel;

  static Instruction make(DecodedInstruction decoded);
};

/// `opcode.qualifier...` as the statement has them.
std::string spell(const Statement& statement);

/// The form that the statement's qualifiers name on the target, whatever their order.
Result<const Form*> match(const Statement& statement, const Family& family, Target target);

/// The operands of a statement, checked against a form; all symbolic if the statement has none.
Result<std::vector<Operand>> bind_operands(const Statement& statement, const Form& form,
                                           const TypeLookup& types);

/// Refuses spellings of operands that fit the form and that the assembler does not take where it rewrites the
/// form on a target. Precondition: bind_operands has taken the statement.
Result<void> check_assembled(const Statement& statement, const Form& form, const TargetPlan& plan,
                             Target target);

}  // namespace warpbit
