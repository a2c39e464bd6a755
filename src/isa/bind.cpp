// SPDX-License-Identifier: Apache-2.0
// The operands of a statement against the operands of its form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "isa/instruction.hpp"

namespace warpbit {
namespace {

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at <= words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

std::string expected_vector(const OperandSpec& spec) {
  return fmt::format("a vector of {} .{} register{} in braces", spec.count, spec.registers->name,
                     spec.count == 1 ? "" : "s");
}

std::string where(const Form& form, const OperandSpec& spec) {
  return fmt::format("{}, operand {}", form.canonical, spec.role);
}

// A name in braces that stands for the whole vector: alone, no register by its spelling, and not a declared
// one.
bool is_symbol(const OperandText& text, const TypeLookup& types) {
  if (text.items.size() != 1 || text.items[0].is_literal) return false;
  const std::string& name = text.items[0].text;
  return !name.starts_with('%') && name != "_" && !(types && types(name));
}

Error literal_refused(const Form& form, const OperandSpec& spec, const Item& item) {
  std::vector<std::string_view> right;
  const LiteralRule& rule = spec.registers->literals;
  if (rule.integer_whole)
    right.push_back("integers");
  else if (rule.integer_mixed)
    right.push_back("integers beside registers");
  if (rule.f32_whole || rule.f32_mixed) right.push_back("0f...");
  if (rule.f64_whole || rule.f64_mixed) right.push_back("1.0 or 0d...");
  const bool none = spec.part == Part::destination || right.empty();
  return {Errc::operand_kind, where(form, spec), fmt::format("the literal '{}' cannot stand here", item.text),
          none ? "registers only" : fmt::format("registers or, as literals, {}", fmt::join(right, " or "))};
}

// A literal stands for the bits of its register.
Result<std::uint64_t> literal_bits(const Item& item, bool mixed, const Form& form, const OperandSpec& spec) {
  const LiteralRule& rule = spec.registers->literals;
  const Literal& literal = item.literal;
  const bool whole_ok = !literal.is_float ? rule.integer_whole
                        : literal.single  ? rule.f32_whole
                                          : rule.f64_whole;
  const bool mixed_ok = !literal.is_float ? rule.integer_mixed
                        : literal.single  ? rule.f32_mixed
                                          : rule.f64_mixed;
  if (spec.part == Part::destination || !(mixed ? mixed_ok : whole_ok))
    return literal_refused(form, spec, item);
  return spec.registers->bits == 64 ? literal.bits : literal.bits & UINT32_MAX;
}

// The type of a vector of registers of two types: the same, or the bits of their width; "" if they do not mix.
std::string common_type(const std::string& x, const std::string& y) {
  if (x == y) return x;
  const auto width = [](const std::string& t) { return t == "f16x2" ? "32" : t.substr(1); };
  if (width(x) != width(y)) return "";
  const auto is_integer = [](const std::string& t) { return t[0] == 'u' || t[0] == 's'; };
  const bool bits = x[0] == 'b' || y[0] == 'b';
  return bits || (is_integer(x) && is_integer(y)) ? "b" + width(x) : "";
}

Result<void> check_types(const OperandText& text, const Form& form, const OperandSpec& spec,
                         const TypeLookup& types) {
  std::string common;
  for (const Item& item : text.items) {
    const std::optional<std::string> type = types && !item.is_literal ? types(item.text) : std::nullopt;
    if (!type) continue;
    const std::string before = common;
    common = common.empty() ? *type : common_type(common, *type);
    if (common.empty())
      return Error{Errc::register_type, where(form, spec),
                   fmt::format("register {} has type .{} beside .{}", item.text, *type, before),
                   fmt::format("one type of: {}", spec.registers->types)};
  }
  if (!common.empty() && !has_word(spec.registers->types, common))
    return Error{Errc::register_type, where(form, spec), fmt::format("'{}' has type .{}", text.text, common),
                 fmt::format("one of: {}", spec.registers->types)};
  return {};
}

Result<void> check_items(const OperandText& text, const Form& form, const OperandSpec& spec, Operand& out) {
  const auto is_literal = [](const Item& item) { return item.is_literal; };
  const auto is_sink = [](const Item& item) { return item.text == "_"; };
  const bool mixed = !std::ranges::all_of(text.items, is_literal);
  if (std::ranges::any_of(text.items, is_sink) &&
      (spec.part != Part::destination || std::ranges::all_of(text.items, is_sink)))
    return Error{Errc::operand_kind, where(form, spec), "'_' cannot stand here",
                 spec.part == Part::destination ? "at least one register" : "registers to read"};
  for (std::size_t i = 0; i < text.items.size(); ++i) {
    out.label += fmt::format("{}{}", i ? ", " : "", text.items[i].text);
    if (is_sink(text.items[i])) out.sinks.push_back(static_cast<int>(i));
    if (!text.items[i].is_literal) continue;
    const Result<std::uint64_t> bits = literal_bits(text.items[i], mixed, form, spec);
    if (!bits) return bits.error();
    out.literals.resize(static_cast<std::size_t>(spec.count));
    if (i < out.literals.size()) out.literals[i] = *bits;
  }
  return {};
}

Operand unbound(const OperandSpec& spec) {
  const Format& f = format(spec.format);
  return {
      spec.role, std::string(spec.role), spec.part, spec.kind, true, spec.count, spec.registers->bits, f.name,
      f.bits,    spec.fragment(),        {},        {}};
}

Error wrong_kind(const OperandText& text, const Form& form, const OperandSpec& spec, std::string expected) {
  const std::string_view seen = text.kind == OperandText::Kind::address  ? "an address"
                                : text.kind == OperandText::Kind::vector ? "a brace vector"
                                : text.items[0].is_literal               ? "a literal"
                                                                         : "a register";
  return {Errc::operand_kind, where(form, spec), fmt::format("'{}' is {}", text.text, seen),
          std::move(expected)};
}

Result<Operand> bind_vector(const OperandText& text, const Form& form, const OperandSpec& spec,
                            const TypeLookup& types) {
  Operand out = unbound(spec);
  if (text.kind != OperandText::Kind::vector)
    return Error{Errc::operand_kind, where(form, spec),
                 fmt::format("'{}' is {}", text.text,
                             text.kind == OperandText::Kind::address ? "an address" : "no brace vector"),
                 expected_vector(spec)};
  if (is_symbol(text, types)) {
    out.label = text.items[0].text;
    return out;
  }
  const int count = static_cast<int>(text.items.size());
  if (count != spec.count && std::ranges::find(spec.also_counts, count) == spec.also_counts.end())
    return Error{Errc::register_count, where(form, spec),
                 fmt::format("'{}' has {} register{}", text.text, count, count == 1 ? "" : "s"),
                 expected_vector(spec)};
  out.label.clear();
  out.is_symbolic = false;
  if (Result<void> checked = check_types(text, form, spec, types); !checked) return checked.error();
  if (Result<void> checked = check_items(text, form, spec, out); !checked) return checked.error();
  return out;
}

// One register. The assembler also takes a brace vector, of which it reads the first.
Result<Operand> bind_scalar(const OperandText& text, const Form& form, const OperandSpec& spec,
                            const TypeLookup& types) {
  const int count = static_cast<int>(text.items.size());
  const bool right_count =
      count == spec.count || std::ranges::find(spec.also_counts, count) != spec.also_counts.end();
  const auto is_register = [](const Item& item) { return !item.is_literal && item.text != "_"; };
  if (text.kind == OperandText::Kind::address || !right_count || !std::ranges::all_of(text.items, is_register))
    return wrong_kind(text, form, spec, fmt::format("one .{} register", spec.registers->name));
  if (Result<void> checked = check_types(text, form, spec, types); !checked) return checked.error();
  Operand out = unbound(spec);
  out.label = text.items[0].text;
  out.is_symbolic = count == 1 && !out.label.starts_with('%') && !(types && types(out.label));
  return out;
}

Result<Operand> bind_immediate(const OperandText& text, const Form& form, const OperandSpec& spec) {
  const ImmediateRange& range = spec.immediate;
  const bool integer =
      text.kind == OperandText::Kind::scalar && text.items[0].is_literal && !text.items[0].literal.is_float;
  if (!integer) return wrong_kind(text, form, spec, fmt::format("an immediate, {}", warpbit::text(range)));
  const auto value = static_cast<std::int64_t>(text.items[0].literal.bits);
  if (value < range.least || value > range.most) {
    const bool let_through = value > range.most && value <= range.assembler_most;
    return Error{Errc::operand_kind, where(form, spec),
                 fmt::format("'{}' is out of range{}", text.text,
                             let_through ? " by the manual, though the assembler lets it through" : ""),
                 warpbit::text(range)};
  }
  Operand out = unbound(spec);
  out.label = text.items[0].text;
  out.is_symbolic = false;
  out.literals = {text.items[0].literal.bits};
  return out;
}

Result<Operand> bind_one(const OperandText& text, const Form& form, const OperandSpec& spec,
                         const TypeLookup& types) {
  switch (spec.kind) {
    case OperandKind::vector: return bind_vector(text, form, spec, types);
    case OperandKind::scalar: return bind_scalar(text, form, spec, types);
    case OperandKind::immediate: return bind_immediate(text, form, spec);
  }
  return wrong_kind(text, form, spec, "an operand");
}

// As in a statement with symbols for registers and the least value of each immediate.
Operand symbolic(const OperandSpec& spec) {
  Operand out = unbound(spec);
  if (spec.kind == OperandKind::immediate) out.literals = {static_cast<std::uint64_t>(spec.immediate.least)};
  return out;
}

// The selector says which lanes hold the metadata.
void select_metadata(const Form& form, std::vector<Operand>& operands) {
  const auto selector = std::ranges::find(operands, Part::selector, &Operand::part);
  const auto metadata = std::ranges::find(operands, Part::metadata, &Operand::part);
  if (selector == operands.end() || metadata == operands.end()) return;
  const OperandSpec& spec = form.operands[static_cast<std::size_t>(metadata - operands.begin())];
  metadata->fragment = spec.fragments[static_cast<std::size_t>(*selector->literals[0])];
}

}  // namespace

Result<std::vector<Operand>> bind_operands(const Statement& statement, const Form& form,
                                           const TypeLookup& types) {
  std::vector<Operand> out;
  const std::size_t given = statement.operands.size(), wanted = form.operands.size();
  for (std::size_t i = 0; i < wanted; ++i) {
    const OperandSpec& spec = form.operands[i];
    if (given == 0) {  // a bare form
      out.push_back(symbolic(spec));
      continue;
    }
    if (i >= given)
      return Error{Errc::operand_missing, form.canonical, std::string(spec.role), operand_notation(form)};
    Result<Operand> operand = bind_one(statement.operands[i], form, spec, types);
    if (!operand) return operand.error();
    out.push_back(std::move(*operand));
  }
  if (given > wanted)
    return Error{Errc::operand_extra, form.canonical, statement.operands[wanted].text, operand_notation(form)};
  select_metadata(form, out);
  return out;
}

}  // namespace warpbit
