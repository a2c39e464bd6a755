// SPDX-License-Identifier: Apache-2.0
// Which operands a form of a scalar instruction takes (tests/isa/scalar_operands.tsv).
#pragma once

#include <span>

#include "ptx/forms.hpp"
#include "ptx/module.hpp"

namespace warpbit::ptx {

/// "register '%r1' of .b32", for messages.
std::string spell(const FunctionText& function, const Operand& operand);

/// Of the forms that match a statement's words (at least one), the first that takes its operands. Errors: operand_missing,
/// operand_extra, operand_kind, register_type, with the operand's line and column.
Result<const MatchedForm*> check_operands(const FunctionText& function, const Statement& statement,
                                          std::span<const MatchedForm> forms);

/// Whether a call names a function of the module, or a register with a list or a prototype, and has the arguments and
/// results that it declares. Errors: the same.
Result<void> check_call(const ModuleText& module, const FunctionText& function, const Statement& statement);

}  // namespace warpbit::ptx
