// SPDX-License-Identifier: Apache-2.0
// The names in operands.
#include <algorithm>
#include <charconv>

#include "ptx/forms.hpp"
#include "ptx/parser.hpp"
#include "ptx/special.hpp"

namespace warpbit::ptx {

void Parser::add_children(Operand& parent, const std::vector<Operand>& children) {
  parent.first = static_cast<int>(function_->operands.size());
  parent.count = static_cast<int>(children.size());
  for (const Operand& child : children) {
    if (child.index == kUnresolved)
      references_.push_back(
          {static_cast<int>(function_->operands.size()), -1, -1, scope_, child.text, child.position});
    function_->operands.push_back(child);
  }
}

// The operand of a tree, whose names it finds.
Operand Parser::resolved(const OperandText& tree) {
  Operand out;
  switch (tree.kind) {
    case OperandText::Kind::name:
      out = tree.negated ? negated(tree) : tree.negative ? negative(tree) : resolved_name(tree);
      break;
    case OperandText::Kind::literal:
      out.kind = Operand::Kind::literal;
      out.literal = tree.literal;
      break;
    case OperandText::Kind::vector: out = resolved_parts(Operand::Kind::vector, tree); break;
    case OperandText::Kind::list: out = resolved_parts(Operand::Kind::list, tree); break;
    case OperandText::Kind::address:
      out = resolved_parts(Operand::Kind::address, tree);
      out.offset = tree.offset;
      break;
  }
  out.position = tree.position;
  if (out.text.empty()) out.text = tree.text;
  return out;
}

Operand Parser::resolved_parts(Operand::Kind kind, const OperandText& tree) {
  std::vector<Operand> parts;
  for (const OperandText& part : tree.parts) parts.push_back(resolved(part));
  Operand out;
  out.kind = kind;
  add_children(out, parts);
  return out;
}

Operand Parser::negated(const OperandText& tree) {
  Operand out;
  out.kind = Operand::Kind::reg;
  out.negated = true;
  out.index = predicate(tree.name, tree.position);
  return out;
}

// -%r, -%r.b0, of opcodes that have it.
Operand Parser::negative(const OperandText& tree) {
  const bool may_be = std::ranges::any_of(forms_of(opcode_), [](const ScalarForm* form) {
    return std::ranges::any_of(form->operands, &OperandForm::may_be_negative);
  });
  if (!may_be)
    refuse(Errc::statement_syntax, tree.position, fmt::format("'-{}'", tree.name),
           fmt::format("'{}', or a constant", tree.name));
  Operand out = resolved_name(tree);
  out.negated = true;
  return out;
}

// Of "%r1.b0", in a statement whose opcode has operands that are parts of registers.
bool Parser::take_part(Operand& out) {
  const std::size_t dot = out.text.rfind('.');
  const bool has_parts = dot != out.text.npos && std::ranges::any_of(forms_of(opcode_), &ScalarForm::has_parts);
  if (!has_parts) return false;
  out.index = find_register(out.text.substr(0, dot));
  out.part = out.text.substr(dot + 1);
  return out.index >= 0;
}

// A register, d|p, a special register, a symbol with an offset or an element, or a name that is declared later.
Operand Parser::resolved_name(const OperandText& tree) {
  Operand out;
  const std::string_view named = tree.name;
  out.text = named;
  if (named == "_") {
    out.kind = Operand::Kind::sink;
  } else if (const Scope::Registers* range = find_registers(named); range != nullptr && range->is_vector) {
    out.kind = Operand::Kind::vector;
    std::vector<Operand> parts(static_cast<std::size_t>(range->count));
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].kind = Operand::Kind::reg;
      parts[i].index = range->first + static_cast<int>(i);
      parts[i].text = named;
      parts[i].position = tree.position;
    }
    add_children(out, parts);
  } else if (out.index = find_register(named); out.index >= 0) {
    out.kind = Operand::Kind::reg;
  } else if (const SpecialRow* special = find_special(named)) {
    out.kind = Operand::Kind::special;
    out.index = static_cast<int>(special->special);
  } else if (out.variable = find_variable(named); out.variable != nullptr) {
    return symbol_operand(std::move(out), tree);
  } else if (out.index = find_table(named); out.index >= 0) {
    out.kind = Operand::Kind::table;
  } else if (take_part(out)) {
    out.kind = Operand::Kind::reg;
  } else if (named.starts_with('%')) {
    const bool is_vector = find_special(fmt::format("{}.x", named)) != nullptr;
    refuse(Errc::statement_syntax, tree.position, fmt::format("'{}'", named),
           is_vector ? fmt::format("one of its components, such as {}.x", named)
                     : "the name of a register that is declared");
  } else {
    out.kind = Operand::Kind::label;
    out.index = kUnresolved;
  }
  if (tree.behind == '+' || tree.behind == '[')
    refuse(Errc::statement_syntax, tree.behind_at, fmt::format("'{}'", tree.behind),
           fmt::format("nothing behind '{}' in this place", named));
  if (tree.behind == '|')
    out.second = tree.second == "_" ? kSinkPredicate : predicate(tree.second, tree.behind_at);
  return out;
}

// symbol + 4; symbol[4]: of the elements of its type.
Operand Parser::symbol_operand(Operand out, const OperandText& tree) {
  out.kind = Operand::Kind::symbol;
  out.offset = tree.behind == '[' ? 0 : tree.offset;
  if (tree.behind != '[') return out;
  if (tree.offset < 0 || tree.offset > std::int64_t{1} << 40)
    refuse(Errc::statement_syntax, tree.behind_at, fmt::format("element {}", tree.offset), "0 to 2^40");
  const std::int64_t offset = tree.offset * (bits(out.variable->type) / 8);
  Operand address;
  address.kind = Operand::Kind::address;
  (moves_ ? out : address).offset = offset;
  if (moves_) return out;
  add_children(address, {out});
  return address;
}

// ---- Names

const Scope::Registers* Parser::find_registers(std::string_view wanted) const {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(scope_)]; in != nullptr; in = enclosing(*in)) {
    const auto whole = in->registers.find(wanted);
    if (whole != in->registers.end()) return &whole->second;
    if (in->variables.contains(wanted)) return nullptr;
  }
  return nullptr;
}

// "%r12": what stands before its number, and the number; -1 if it has none.
std::pair<std::string_view, int> Parser::stem_of(std::string_view name) {
  const std::size_t stem = std::min(name.find_last_not_of("0123456789") + 1, name.size());
  int number = -1;
  std::from_chars(name.data() + stem, name.data() + name.size(), number);
  return {name.substr(0, stem), number};
}

// The number of a register of %name<count> in one scope; -1 if there is none.
int Parser::number_in_range(const Scope& in, std::string_view wanted) {
  const auto [stem, number] = stem_of(wanted);
  const auto range = number < 0 ? in.ranges.end() : in.ranges.find(stem);
  return range != in.ranges.end() && number < range->second.count ? number : -1;
}

// The register of a name; -1 if there is none. "%r12" is %r<..> with number 12, never %r1<..> with number 2.
int Parser::find_register(std::string_view wanted) {
  constexpr std::string_view kComponents = "xyzwrgba";
  for (Scope* in = &scope(); in != nullptr;
       in = in->parent < 0 ? nullptr : &scopes_[static_cast<std::size_t>(in->parent)]) {
    const auto whole = in->registers.find(wanted);
    if (whole != in->registers.end() && whole->second.count == Scope::kSingle) return whole->second.first;
    if (wanted.size() > 2 && wanted[wanted.size() - 2] == '.') {
      const auto vector = in->registers.find(wanted.substr(0, wanted.size() - 2));
      const std::size_t component = kComponents.find(wanted.back()) % 4;
      if (vector != in->registers.end() && vector->second.is_vector &&
          static_cast<int>(component) < vector->second.count)
        return vector->second.first + static_cast<int>(component);
    }
    if (const int number = number_in_range(*in, wanted); number >= 0) {
      auto& [base, range] = *in->ranges.find(stem_of(wanted).first);
      const auto [found, is_new] =
          range.named.try_emplace(number, static_cast<int>(function_->registers.size()));
      if (is_new) function_->registers.push_back({fmt::format("{}{}", base, number), range.type});
      return found->second;
    }
    if (in->variables.contains(wanted)) return -1;
  }
  return -1;
}

const Variable* Parser::find_variable(std::string_view wanted) const {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(scope_)]; in != nullptr; in = enclosing(*in))
    if (const auto found = in->variables.find(wanted); found != in->variables.end()) return found->second;
  return find_module_variable(wanted);
}

const Variable* Parser::find_module_variable(std::string_view wanted) const {
  const auto found = variables_.find(wanted);
  return found == variables_.end() ? nullptr : found->second;
}

int Parser::find_table(std::string_view wanted) const {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(scope_)]; in != nullptr; in = enclosing(*in))
    if (const auto found = in->tables.find(wanted); found != in->tables.end()) return found->second;
  return -1;
}

int Parser::predicate(std::string_view named, Position at) {
  const int out = find_register(named);
  if (out < 0 || function_->registers[static_cast<std::size_t>(out)].type != Type::pred)
    refuse(Errc::statement_syntax, at, fmt::format("'{}'", named), "a predicate register that is declared");
  return out;
}

int Parser::guard_register() {
  const Position at = token_.position;
  return predicate(name("a predicate register"), at);
}

// A label of an enclosing scope, a table that follows, or a function of the module.
void Parser::resolve(const Reference& reference) {
  for (const Scope* in = &scopes_[static_cast<std::size_t>(reference.scope)]; in != nullptr;
       in = enclosing(*in)) {
    const auto label = in->labels.find(reference.name);
    const auto table = in->tables.find(reference.name);
    if (label == in->labels.end() && (table == in->tables.end() || reference.operand < 0)) continue;
    if (reference.operand < 0) {
      function_->tables[static_cast<std::size_t>(reference.table)]
          .labels[static_cast<std::size_t>(reference.entry)] = label->second;
      return;
    }
    Operand& operand = function_->operands[static_cast<std::size_t>(reference.operand)];
    operand.kind = label != in->labels.end() ? Operand::Kind::label : Operand::Kind::table;
    operand.index = label != in->labels.end() ? label->second : table->second;
    return;
  }
  if (reference.operand >= 0 && out_.find(reference.name) != nullptr) {
    Operand& operand = function_->operands[static_cast<std::size_t>(reference.operand)];
    operand.kind = Operand::Kind::function;
    return;
  }
  refuse(Errc::statement_syntax, reference.at, fmt::format("'{}'", reference.name),
         "the name of a label, a variable or a function that is declared");
}

}  // namespace warpbit::ptx
