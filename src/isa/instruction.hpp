// SPDX-License-Identifier: Apache-2.0
// A decoded statement, and the steps to it.
#pragma once

#include <forward_list>
#include <functional>  // reference_wrapper
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "isa/form.hpp"
#include "isa/statement.hpp"
#include "kernel/elementwise.hpp"
#include "kernel/tile.hpp"
#include "warpbit/instruction.hpp"

namespace warpbit {

/// The executable action, in the order of Form::action. A move does not depend on operands and is shared.
using CompiledAction =
    std::variant<Tile, ElementwiseKernel, std::reference_wrapper<const Move>, Control, TensorAction>;

/// A form on a target. compile() (compile.cpp) makes everything that depends on form and plan alone, not on
/// operands.
struct CompiledForm {
  const Form* form;
  TargetPlan plan;
  /// For D = A B + C: the places of each operand's elements in the kernel's order, by fragment.
  std::vector<std::vector<Places>> places;
  /// Operand-dependent fields hold defaults: no literals, the first fragment of metadata, matrices in memory
  /// with K contiguous.
  CompiledAction kernel;
};

/// Compiled at the first call and kept for the life of the program. Thread-safe. nullptr if the target has no
/// plan for the form.
const CompiledForm* compiled(const Form& form, Target target);

/// The form's kernel, completed with the operands.
CompiledAction with_operands(const CompiledForm& shared, std::span<const Operand> operands);

/// The content of an Instruction: everything that does not depend on operand values.
struct DecodedInstruction {
  DecodedInstruction(std::string_view statement_text, Target on) : text(statement_text), target(on) {}

  std::string text;
  Target target;
  std::forward_list<std::string> types = {};  ///< of registers
  Statement statement = {};                   ///< views `text` and `types`; of a statement of a module: nothing
  const Family* family = nullptr;
  const Form* form = nullptr;
  const CompiledForm* compiled = nullptr;  ///< shared with other instructions of the form
  std::vector<Operand> operands = {};
  CompiledAction kernel = {};
};

/// The arithmetics of a form: its own, or those of all types that an instruction descriptor may name, A's and B's the same.
std::vector<Arithmetic> arithmetics_of(const Form& form);

/// Whether no result of the GPU shows the arithmetic of a plan, and it could be different.
bool is_inferred(const TargetPlan& plan);

/// The form on the target that the statement's qualifiers name, in any order.
Result<const Form*> match(const Statement& statement, const Family& family, Target target);

/// The operands of a statement, checked against a form; all symbolic if the statement has none.
Result<std::vector<Operand>> bind_operands(const Statement& statement, const Form& form);

/// Refuses operand spellings that fit the form but that the assembler rejects where it rewrites the form on a
/// target. Precondition: bind_operands has accepted the statement.
Result<void> check_assembled(const Statement& statement, const Form& form, const TargetPlan& plan,
                             Target target);

}  // namespace warpbit
