// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "isa/compile.hpp"
#include "isa/form.hpp"
#include "isa/statement.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {

/// The content of an Instruction: everything that does not depend on operand values.
struct DecodedInstruction {
  std::string text;
  Target target;
  Statement statement = {};  ///< views `text`
  const Family* family = nullptr;
  const Form* form = nullptr;
  const CompiledForm* compiled = nullptr;  ///< shared with other instructions of the form
  std::vector<Operand> operands = {};
  CompiledAction kernel = {};
};

/// The form on the target that the statement's qualifiers name, in any order.
Result<const Form*> match(const Statement& statement, const Family& family, Target target);

/// The operands of a statement, checked against a form; all symbolic if the statement has none.
Result<std::vector<Operand>> bind_operands(const Statement& statement, const Form& form,
                                           const TypeLookup& types);

/// Refuses operand spellings that fit the form but that the assembler rejects where it rewrites the form on a
/// target. Precondition: bind_operands has accepted the statement.
Result<void> check_assembled(const Statement& statement, const Form& form, const TargetPlan& plan,
                             Target target);

}  // namespace warpbit
