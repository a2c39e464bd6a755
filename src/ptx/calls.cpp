// SPDX-License-Identifier: Apache-2.0
// What calls and functions pass: variables in .param, or registers and constants (PTX manual, "call", "Abstracting the ABI").
#include <fmt/format.h>

#include "ptx/operands.hpp"
#include "ptx/parser.hpp"

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

bool is_array(const Variable& variable) {
  return variable.bytes * 8 != bits(variable.type);
}

bool is_passed(Type type) {
  return type != Type::pred && !(is_integer(type) && bits(type) < 32);
}

// A variable in .param of the same type but for its class; a register or a constant of the size.
bool passes(const FunctionText& function, const Operand& item, const Variable& formal, bool returns) {
  if (!is_passed(formal.type)) return false;
  switch (item.kind) {
    case Operand::Kind::symbol:
      return item.offset == 0 && item.variable->space == StateSpace::param &&
             item.variable->opaque == Opaque::none && item.variable->bytes == formal.bytes &&
             takes_register(formal.type, item.variable->type, false);
    case Operand::Kind::reg:
      return !item.negated && !is_array(formal) &&
             takes_register(formal.type, function.registers[static_cast<std::size_t>(item.index)].type, false);
    case Operand::Kind::literal:
      return !returns && !is_array(formal) &&
             (item.literal.is_float ? formal.type == Type::f32 || formal.type == Type::f64
                                    : !is_floating(formal.type));
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
      if (!is_passed(formals[i].type))
        return error(
            Errc::operand_kind, statement.position,
            fmt::format("'{}' of .{}", formals[i].name, row(formals[i].type).name),
            ".b8, .b16 or 32 bits and more: a call passes no predicate and no integer of 8 or 16 bits (ptxas 13.0)");
      const Operand& item = function.operands[static_cast<std::size_t>(list->first) + i];
      if (!passes(function, item, formals[i], returns))
        return error(Errc::operand_kind, item.position, spell(function, item),
                     fmt::format("{} bytes of .{}", formals[i].bytes, row(formals[i].type).name));
    }
  }
  return {};
}

// ---- Registers and constants, for which statements move what .param holds

namespace {

Operand symbol_of(const Variable& variable, Position at) {
  Operand out;
  out.kind = Operand::Kind::symbol;
  out.variable = &variable;
  out.text = variable.name;
  out.position = at;
  return out;
}

// ".b32"; floating-point constants have their own type.
std::string_view moved_type(Type type) {
  return row(type == Type::f32 || type == Type::f64 ? type : of_bits(bits(type))).name;
}

}  // namespace

Operand Parser::address_of(const Moved& one) {
  Operand out;
  out.kind = Operand::Kind::address;
  out.position = one.item.position;
  add_children(out, {symbol_of(*one.in_param, out.position)});
  return out;
}

void Parser::load_param(const Statement& like, const Moved& one) {
  add_statement(like, "ld", {"param", moved_type(one.in_param->type)}, {one.item, address_of(one)});
}

void Parser::store_param(const Statement& like, const Moved& one) {
  add_statement(like, "st", {"param", moved_type(one.in_param->type)}, {address_of(one), one.item});
}

// Each register, constant and _ of a call becomes a variable in .param: stores before the call, loads behind it. What the
// function does not declare so stays, and check_call() refuses it.
std::vector<Parser::Moved> Parser::pass_in_param(const Statement& call) {
  std::vector<Moved> loads;
  const auto own_operands =
      std::span(function_->operands)
          .subspan(static_cast<std::size_t>(call.first_operand), static_cast<std::size_t>(call.operands));
  for (Operand& one : own_operands)  // a label may still follow; no call goes to one
    if (one.index == kUnresolved && out_.find(one.text) != nullptr) one.kind = Operand::Kind::function;
  const CallOperands parts = take_apart(*function_, call);
  const std::optional<Signature> declared =
      parts.callee == nullptr || parts.extra != nullptr ? std::nullopt : signature(out_, *function_, parts);
  if (!declared) return loads;
  const auto range = [](const Operand* list) {
    return std::pair(static_cast<std::size_t>(list == nullptr ? 0 : list->first),
                     static_cast<std::size_t>(list == nullptr ? 0 : list->count));
  };
  const auto results = range(parts.results),
             arguments = range(parts.arguments);  // operands move as others are added
  for (const bool returns : {true, false}) {
    const std::deque<Variable>& formals = returns ? *declared->returns : *declared->parameters;
    const auto [first, count] = returns ? results : arguments;
    if (count != formals.size()) continue;
    for (std::size_t i = 0; i < formals.size(); ++i) {
      const Operand item = function_->operands[first + i];
      if (item.kind == Operand::Kind::symbol || !passes(*function_, item, formals[i], returns)) continue;
      const Variable& own = function_->variables.emplace_back(Variable{
          formals[i].name, StateSpace::param, formals[i].type, formals[i].bytes, formals[i].alignment});
      function_->operands[first + i] = symbol_of(own, item.position);
      if (!returns)
        store_param(call, {&own, item});
      else if (item.kind == Operand::Kind::reg)
        loads.push_back({&own, item});
    }
  }
  return loads;
}

// A parameter or a result in a register is one in .param that a load brings there, or that a store before each return fills.
void Parser::declare_in_register(Variable& formal, bool returns) {
  one_register(formal.name, formal.type, 1, formal.position);
  if (formal.type == Type::pred) return;  // no call passes one
  formal.space = StateSpace::param;
  Operand own;
  own.kind = Operand::Kind::reg;
  own.index = find_register(formal.name);
  own.text = formal.name;
  own.position = formal.position;
  if (returns) return returned_.push_back({&formal, own});
  Statement like;
  like.text = formal.name;
  like.position = formal.position;
  load_param(like, {&formal, own});
}

void Parser::store_results(const Statement& before) {
  for (const Moved& one : returned_) store_param(before, one);
}

}  // namespace warpbit::ptx
