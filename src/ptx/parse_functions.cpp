// SPDX-License-Identifier: Apache-2.0
// Functions: parameters, scopes, labels, statements.
#include <algorithm>
#include <array>

#include "ptx/parser.hpp"
#include "ptx/special.hpp"

namespace warpbit::ptx {

Variable Parser::parameter(bool of_kernel) {
  const std::optional<StateSpace> in = space();
  if (in != StateSpace::param && in != StateSpace::reg) unexpected(".param or .reg");
  Variable out{{}, *in};
  int vector = 1;
  attributes(out, vector);
  out.position = token_.position;
  out.name = name("the name of a parameter");
  const int element = bits(out.type) / 8 * vector;
  out.alignment = std::max(out.alignment, element);
  out.bytes = element;
  check_reference(out, of_kernel, token_.is('['), vector);
  if (take('[')) {
    out.bytes = token_.is(']') ? 0 : element * integer("a number of elements");
    if (out.bytes < 0 || out.bytes > 1 << 20)
      refuse(Errc::statement_syntax, out.position, "a size of a parameter", "at most 1 MiB");
    expect(']');
  }
  if (in == StateSpace::reg && (vector > 1 || (out.type != Type::pred && out.bytes != element)))
    refuse(Errc::statement_syntax, out.position,
           fmt::format("'{}', more than one value, in a register", out.name), "one value, or .param");
  return out;
}

std::deque<Variable> Parser::parameters(bool of_kernel) {
  std::deque<Variable> out;
  if (!take('(')) return out;
  if (take(')')) return out;
  do out.push_back(parameter(of_kernel));
  while (take(','));
  expect(')');
  return out;
}

void Parser::function(Linkage linkage, bool is_entry) {
  FunctionText made;
  made.is_entry = is_entry;
  made.linkage = linkage;
  if (!is_entry && take(".attribute")) attribute_list();
  if (!is_entry) made.returns = parameters();
  made.position = token_.position;
  made.name = name("the name of a function");
  made.parameters = parameters(is_entry);
  made.has_samplers = out_.has_samplers;
  for (const Variable& one : made.parameters)
    if (is_entry && one.space == StateSpace::reg)
      refuse(Errc::statement_syntax, one.position, fmt::format("parameter '{}' of a kernel in .reg", one.name),
             ".param");
  performance_directives(made);
  const auto [number, is_new] = out_.numbers.try_emplace(made.name, out_.functions.size());
  FunctionText* known = is_new ? nullptr : &out_.functions[number->second];
  if (known != nullptr && known->is_entry != made.is_entry)
    refuse(Errc::statement_syntax, made.position, fmt::format("'{}' as a kernel and as a function", made.name),
           "one of both");
  if (known != nullptr && known->has_body && token_.is('{'))
    refuse(Errc::statement_syntax, made.position, fmt::format("'{}' a second time", made.name), "another name");
  if (known == nullptr)
    known = &out_.functions.emplace_back(std::move(made));
  else if (token_.is('{'))
    *known = std::move(made);
  if (!take(';')) body(*known);
}

// A guess how much a body has, whose last brace compilers put at the beginning of a line: pages of memory that grows by copies
// took a fifth of the time of loading. A body before a brace that another one was counted to gets nothing: it is short, and
// no text is counted twice.
void Parser::make_room(FunctionText& function) {
  if (offset() < counted_) return;
  counted_ = text_.find("\n}", offset());
  if (counted_ == text_.npos) return;
  const std::string_view from = text_.substr(offset(), counted_ - offset());
  const auto count = [&](char what) { return static_cast<std::size_t>(std::ranges::count(from, what)); };
  const std::size_t statements = count(';');
  function.statements.reserve(statements);
  function.operands.reserve(statements + count(',') + count('[') + count('{'));
}

void Parser::body(FunctionText& function) {
  function_ = &function;
  function.has_body = true;
  scopes_.clear();
  references_.clear();
  returned_.clear();
  location_ = -1;
  locations_.clear();
  scope_ = -1;
  if (!token_.is('{')) unexpected("'{' or ';'");
  make_room(function);
  open_scope();
  for (std::deque<Variable>* list : {&function.returns, &function.parameters})
    for (Variable& variable : *list) {
      if (variable.space == StateSpace::reg)
        declare_in_register(variable, list == &function.returns);
      else if (!scope().variables.try_emplace(variable.name, &variable).second)
        refuse(Errc::statement_syntax, variable.position, fmt::format("'{}' a second time", variable.name),
               "another name");
    }
  advance();
  Statement end;
  end.text = "}";
  while (scope_ >= 0) {
    end.position = token_.position;
    in_body();
  }
  store_results(end);
  for (const Reference& reference : references_) resolve(reference);
  function_ = nullptr;
}

void Parser::open_scope() {
  const int depth = scope_ < 0 ? 0 : scope().depth + 1;
  if (depth > kDeepest)
    refuse(Errc::statement_syntax, token_.position, "braces deeply nested",
           fmt::format("at most {} levels", kDeepest));
  scopes_.emplace_back().parent = scope_;
  scopes_.back().depth = depth;
  scope_ = static_cast<int>(scopes_.size()) - 1;
}

void Parser::in_body() {
  if (take('{')) return open_scope();
  if (take('}')) {
    scope_ = scope().parent;
    return;
  }
  if (take(".loc")) return loc();
  if (take(".pragma")) return pragma();
  if (const std::optional<StateSpace> in = space()) return declaration(*in, Linkage::internal);
  if (token_.kind == Kind::name || token_.is('@')) return statement();
  unexpected("an instruction, a label, a declaration or '}'");
}

void Parser::label(std::string_view label, Position at) {
  if (scope().depth == 0) locations_.block();
  constexpr std::array kTables = {std::pair{".branchtargets", LabelTable::Kind::branch_targets},
                                  std::pair{".calltargets", LabelTable::Kind::call_targets},
                                  std::pair{".callprototype", LabelTable::Kind::prototype}};
  for (const auto& [dotted, kind] : kTables) {
    if (!take(dotted)) continue;
    function_->tables.push_back(label_table(kind, label));
    scope().tables.try_emplace(label, static_cast<int>(function_->tables.size()) - 1);
    return;
  }
  if (declares_register(scope(), label) || scope().variables.contains(label) ||
      !scope().labels.try_emplace(label, static_cast<int>(function_->statements.size())).second)
    refuse(Errc::statement_syntax, at, fmt::format("label '{}' a second time", label), "another name");
}

LabelTable Parser::label_table(LabelTable::Kind kind, std::string_view label) {
  LabelTable out{kind, label};
  if (kind == LabelTable::Kind::prototype) {
    out.returns = parameters();
    name("_ or a name");
    out.parameters = parameters();
    while (performance_directive(*function_)) continue;
  } else {
    do {
      const Position at = token_.position;
      const std::string_view target = name(kind == LabelTable::Kind::branch_targets ? "a label" : "a function");
      if (kind == LabelTable::Kind::call_targets) {
        out.functions.push_back(target);
        continue;
      }
      references_.push_back({-1, static_cast<int>(function_->tables.size()),
                             static_cast<int>(out.labels.size()), scope_, target, at});
      out.labels.push_back(-1);
    } while (take(','));
  }
  expect(';');
  return out;
}

// A statement that the text does not have, at the place of another one.
void Parser::add_statement(const Statement& like, std::string_view opcode_name,
                           std::initializer_list<std::string_view> qualifiers,
                           const std::vector<Operand>& operands) {
  Statement out = like;
  out.opcode = opcode_name;
  out.is = &opcode(out.opcode);
  out.first_qualifier = static_cast<int>(function_->qualifiers.size());
  out.qualifiers = static_cast<int>(qualifiers.size());
  function_->qualifiers.insert(function_->qualifiers.end(), qualifiers);
  Operand all;
  add_children(all, operands);
  out.first_operand = all.first;
  out.operands = all.count;
  function_->statements.push_back(out);
}

// What ptxas 13.0 takes, and no page of the manual has: `st.global.u32 [p], %r1+4;`. It adds before the statement, as integers
// of the register's size. A special register is read before, %laneid+4; one with a component is no part of a sum.
Operand Parser::sum(const OperandText& tree, const Statement& before) {
  OperandText name = tree;
  name.behind = '\0';
  const Operand addend = resolved_name(name);
  const Type type = type_of_addend(addend);
  Operand result = addend, number;
  result.kind = Operand::Kind::reg;
  result.index = static_cast<int>(function_->registers.size());
  result.text = tree.text;
  result.position = tree.position;
  number.kind = Operand::Kind::literal;
  number.position = tree.behind_at;
  number.literal.bits = static_cast<std::uint64_t>(tree.offset);
  function_->registers.push_back({fmt::format("{}+{}", tree.name, tree.offset), type});
  const int size = bits(type);
  if (addend.kind == Operand::Kind::special)
    add_statement(before, "mov", {row(of_bits(size)).name}, {result, addend});
  add_statement(before, "add",
                {size == 16   ? "u16"
                 : size == 32 ? "u32"
                              : "u64"},
                {result, addend.kind == Operand::Kind::special ? result : addend, number});
  return result;
}

Type Parser::type_of_addend(const Operand& operand) const {
  if (operand.kind == Operand::Kind::special) return find_special(operand.text)->type;
  return function_->registers[static_cast<std::size_t>(operand.index)].type;
}

bool Parser::is_sum(const OperandText& tree) {
  if (tree.kind != OperandText::Kind::name || tree.behind != '+' || tree.negated || tree.negative) return false;
  OperandText name = tree;
  name.behind = '\0';
  const Operand addend = resolved_name(name);
  const bool is_special = addend.kind == Operand::Kind::special && is_addend(tree.name);
  if (addend.kind != Operand::Kind::reg && !is_special) return false;
  const Type type = type_of_addend(addend);
  return !is_floating(type) && bits(type) >= 16 && bits(type) <= 64;
}

// [@{!}p] opcode.qualifiers operands;
void Parser::statement() {
  Statement out;
  if (take('@')) {
    out.guard_negated = take('!');
    out.guard = guard_register();
  }
  out.position = token_.position;
  out.location = location_;
  const std::size_t first = offset();
  out.opcode = name("an instruction");
  if (out.guard < 0 && take(':')) return label(out.opcode, out.position);
  out.first_qualifier = static_cast<int>(function_->qualifiers.size());
  while (token_.kind == Kind::dotted) {
    function_->qualifiers.push_back(token_.text.substr(1));
    advance();
  }
  out.qualifiers = static_cast<int>(function_->qualifiers.size()) - out.first_qualifier;
  std::vector<Operand> operands;
  const std::size_t added = function_->statements.size();
  out.is = &opcode(out.opcode);
  const bool of_call = out.is->does == Does::call;
  moves_ = out.is->does == Does::move;
  opcode_ = out.opcode;
  if (!token_.is(';')) do {
      const OperandText tree = operand(of_call);
      const bool is_source = !operands.empty() || !writes_first(*out.is, words_of(*function_, out));
      operands.push_back(is_source && is_sum(tree) ? sum(tree, out) : resolved(tree));
    } while (take(','));
  Operand all;
  add_children(all, operands);
  out.first_operand = all.first;
  out.operands = all.count;
  expect(';');
  out.text = text_from(first);
  const std::vector<Moved> loads = of_call ? pass_in_param(out) : std::vector<Moved>();
  if (out.is->does == Does::ret) store_results(out);
  for (Statement& one : std::span(function_->statements).subspan(added)) one.text = out.text;
  function_->statements.push_back(out);
  for (const Moved& one : loads) load_param(out, one);
}

}  // namespace warpbit::ptx
