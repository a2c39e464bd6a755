// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ptx/operands.hpp"

namespace warpbit::ptx {
namespace {

/// The operands of call{.uni} (results), callee, (arguments), table; without what a statement has not.
struct CallOperands {
  const Operand *results = nullptr, *callee = nullptr, *arguments = nullptr, *table = nullptr;
  const Operand* extra = nullptr;  ///< what has no place
};

CallOperands take_apart(const FunctionText& function, const Statement& statement) {
  CallOperands out;
  int i = 0;
  const auto next = [&](bool wanted) -> const Operand* {
    if (!wanted || i == statement.operands) return nullptr;
    return &function.operands[static_cast<std::size_t>(statement.first_operand + i++)];
  };
  const auto is = [&](Operand::Kind kind) {
    return i < statement.operands &&
           function.operands[static_cast<std::size_t>(statement.first_operand + i)].kind == kind;
  };
  out.results = next(is(Operand::Kind::list));
  out.callee = next(is(Operand::Kind::function) || is(Operand::Kind::reg));
  out.arguments = next(out.callee != nullptr && is(Operand::Kind::list));
  out.table = next(out.callee != nullptr && is(Operand::Kind::table));
  out.extra = next(true);
  return out;
}

struct Signature {
  const std::deque<Variable>*returns = nullptr, *parameters = nullptr;
};

// Nothing if the callee is a kernel, or the table is none of functions.
std::optional<Signature> signature(const ModuleText& module, const FunctionText& function,
                                   const CallOperands& call) {
  const FunctionText* callee =
      call.callee->kind == Operand::Kind::function ? module.find(call.callee->text) : nullptr;
  if (call.callee->kind == Operand::Kind::reg) {
    if (call.table == nullptr) return {};
    const LabelTable& table = function.tables[static_cast<std::size_t>(call.table->index)];
    if (table.kind == LabelTable::Kind::prototype) return Signature{&table.returns, &table.parameters};
    if (table.kind == LabelTable::Kind::call_targets) callee = module.find(table.functions.front());
  }
  if (callee == nullptr || callee->is_entry) return {};
  return Signature{&callee->returns, &callee->parameters};
}

// A variable in .param of the same type but for its class; a register or a constant of the size.
bool passes(const FunctionText& function, const Operand& item, const Variable& formal, bool returns) {
  switch (item.kind) {
    case Operand::Kind::symbol:
      return item.variable->space == StateSpace::param && item.variable->bytes == formal.bytes &&
             bits(item.variable->type) == bits(formal.type);
    case Operand::Kind::reg:
      return !item.negated &&
             takes_register(formal.type, function.registers[static_cast<std::size_t>(item.index)].type, false);
    case Operand::Kind::literal: return !returns && (item.literal.is_float || !is_floating(formal.type));
    case Operand::Kind::sink: return returns;
    default: return false;
  }
}

}  // namespace

Result<void> check_call(const ModuleText& module, const FunctionText& function, const Statement& statement) {
  const auto error = [&](Errc code, Position at, std::string seen, std::string accepted) {
    return Error{code, fmt::format("{}: '{}'", text(at), statement.text), std::move(seen), std::move(accepted)};
  };
  const CallOperands call = take_apart(function, statement);
  if (call.callee == nullptr && call.extra == nullptr)
    return error(Errc::operand_missing, statement.position, "1", "a function or a register with its address");
  if (call.callee == nullptr)
    return error(Errc::operand_kind, call.extra->position, spell(function, *call.extra),
                 "a function or a register with its address");
  if (call.extra != nullptr)
    return error(Errc::operand_kind, call.extra->position, spell(function, *call.extra),
                 "arguments in parentheses, or a list or prototype of functions");
  const std::optional<Signature> declared = signature(module, function, call);
  if (!declared)
    return error(Errc::operand_kind, call.callee->position, spell(function, *call.callee),
                 "a function that is no kernel, or a register with .calltargets or .callprototype");
  for (const bool returns : {true, false}) {
    const Operand* list = returns ? call.results : call.arguments;
    const std::deque<Variable>& formals = returns ? *declared->returns : *declared->parameters;
    const std::string_view what = returns ? "results" : "arguments";
    const auto count = static_cast<std::size_t>(list == nullptr ? 0 : list->count);
    if (count != formals.size())
      return error(Errc::operand_kind, list == nullptr ? statement.position : list->position,
                   fmt::format("{} {}", count, what), fmt::format("{} {}", formals.size(), what));
    for (std::size_t i = 0; i < count; ++i) {
      const Operand& item = function.operands[static_cast<std::size_t>(list->first) + i];
      if (!passes(function, item, formals[i], returns))
        return error(Errc::operand_kind, item.position, spell(function, item),
                     fmt::format("{} bytes of .{}", formals[i].bytes, row(formals[i].type).name));
    }
  }
  return {};
}

}  // namespace warpbit::ptx
