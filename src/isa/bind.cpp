// SPDX-License-Identifier: Apache-2.0
// Checks the operands of a statement against those of its form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

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

// A name that neither looks like a register nor is declared.
bool is_symbol(std::string_view name, const TypeLookup& types) {
  return !name.starts_with('%') && name != "_" && !(types && types(name));
}
// A single symbol in braces stands for the whole vector.
bool is_symbol(const OperandText& text, const TypeLookup& types) {
  return text.items.size() == 1 && !text.items[0].is_literal && is_symbol(text.items[0].text, types);
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
  const bool none = spec.part == Part::d || right.empty();
  return {Errc::operand_kind, where(form, spec), fmt::format("the literal '{}' cannot stand here", item.text),
          none ? "registers only" : fmt::format("registers or, as literals, {}", fmt::join(right, " or "))};
}

// A literal gives the bits of its register.
Result<std::uint64_t> literal_bits(const Item& item, bool mixed, const Form& form, const OperandSpec& spec) {
  const LiteralRule& rule = spec.registers->literals;
  const Literal& literal = item.literal;
  const bool whole_ok = !literal.is_float ? rule.integer_whole
                        : literal.single  ? rule.f32_whole
                                          : rule.f64_whole;
  const bool mixed_ok = !literal.is_float ? rule.integer_mixed
                        : literal.single  ? rule.f32_mixed
                                          : rule.f64_mixed;
  if (spec.part == Part::d || !(mixed ? mixed_ok : whole_ok)) return literal_refused(form, spec, item);
  return spec.registers->bits == 64 ? literal.bits : literal.bits & UINT32_MAX;
}

// The common type of registers of two types: the same, or the bits type of their width; "" if they do not
// mix.
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
    if (!type || *type == common) continue;
    std::string both = common.empty() ? *type : spec.registers->mixed ? common_type(common, *type) : "";
    if (both.empty())
      return Error{Errc::register_type, where(form, spec),
                   fmt::format("register {} has type .{} beside .{}", item.text, *type, common),
                   fmt::format("one type of: {}", spec.registers->types)};
    common = std::move(both);
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
      (spec.part != Part::d || !spec.registers->sinks || std::ranges::all_of(text.items, is_sink)))
    return Error{Errc::operand_kind, where(form, spec), "'_' cannot stand here",
                 spec.part != Part::d    ? "registers to read"
                 : spec.registers->sinks ? "at least one register"
                                         : "registers only"};
  for (std::size_t i = 0; i < text.items.size(); ++i) {
    out.label.append(i ? ", " : "").append(text.items[i].text);
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
  const int element_bits = spec.kind == OperandKind::descriptor ? f.bits : spec.fragment().packing().bits;
  return {spec.role, std::string(spec.role), spec.part,       spec.kind, true, spec.count, spec.registers->bits,
          f.name,    element_bits,           spec.fragment(), {},        {},   0};
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
  out.label.reserve(text.text.size());
  out.is_symbolic = false;
  if (Result<void> checked = check_types(text, form, spec, types); !checked) return checked.error();
  if (Result<void> checked = check_items(text, form, spec, out); !checked) return checked.error();
  return out;
}

bool is_integer(const OperandText& text) {
  return text.kind == OperandText::Kind::scalar && text.items[0].is_literal && !text.items[0].literal.is_float;
}

// As an unsigned or a signed number.
bool fits_32_bits(std::uint64_t bits) {
  const auto value = static_cast<std::int64_t>(bits);
  return value >= INT32_MIN && value <= std::int64_t{UINT32_MAX};
}

bool takes_literals(const LiteralRule& rule) {
  return rule.integer_whole || rule.f32_whole || rule.f64_whole;
}

// One register, or a literal if the operand accepts one. Where the assembler also accepts a brace vector, it
// reads the first item.
Result<Operand> bind_scalar(const OperandText& text, const Form& form, const OperandSpec& spec,
                            const TypeLookup& types) {
  if (text.kind == OperandText::Kind::scalar && text.items[0].is_literal &&
      takes_literals(spec.registers->literals)) {
    const Result<std::uint64_t> bits = literal_bits(text.items[0], false, form, spec);
    if (!bits) return bits.error();
    if (is_integer(text) && spec.registers->bits <= 32 && !fits_32_bits(text.items[0].literal.bits))
      return wrong_kind(text, form, spec, "an integer of 32 bits");
    Operand out = unbound(spec);
    out.label = text.items[0].text;
    out.is_symbolic = false;
    out.literals = {*bits};
    return out;
  }
  const int count = static_cast<int>(text.items.size());
  const bool right_count =
      text.kind == OperandText::Kind::scalar ||
      (!spec.also_counts.empty() &&
       (count == spec.count || std::ranges::find(spec.also_counts, count) != spec.also_counts.end()));
  const auto is_register = [](const Item& item) { return !item.is_literal && item.text != "_"; };
  if (text.kind == OperandText::Kind::address || !right_count || !std::ranges::all_of(text.items, is_register))
    return wrong_kind(text, form, spec, fmt::format("one .{} register", spec.registers->name));
  if (Result<void> checked = check_types(text, form, spec, types); !checked) return checked.error();
  Operand out = unbound(spec);
  out.label = text.items[0].text;
  out.is_symbolic = count == 1 && is_symbol(out.label, types);
  return out;
}

// A predicate register, or 0 or 1.
Result<Operand> bind_predicate(const OperandText& text, const Form& form, const OperandSpec& spec,
                               const TypeLookup& types) {
  if (is_integer(text) && text.items[0].literal.bits > 1)
    return wrong_kind(text, form, spec, "a predicate register, 0 or 1");
  return bind_scalar(text, form, spec, types);
}

// [register] or [register+offset]; the name of a variable stands for its address.
Result<Operand> bind_address(const OperandText& text, const Form& form, const OperandSpec& spec,
                             const TypeLookup& types) {
  if (text.kind != OperandText::Kind::address || text.items[0].is_literal || text.items[0].text == "_")
    return wrong_kind(text, form, spec, "a register or a variable in brackets, [p] or [p+16]");
  const Item& base = text.items[0];
  Operand out = unbound(spec);
  out.label = base.text;
  out.offset = text.offset;
  if (Result<void> checked = check_types(text, form, spec, types); !checked) return checked.error();
  out.is_symbolic = is_symbol(out.label, types);
  return out;
}

bool contains(const ImmediateRange& range, std::int64_t value) {
  return value >= range.least && (range.most == kUnbounded || value <= range.most) &&
         (value - range.least) % range.step == 0;
}

std::string expected_pair(const OperandSpec& spec) {
  return fmt::format("two of an integer or a .{} register in braces: {{{}; {}}}", spec.registers->name,
                     warpbit::text(spec.immediate), warpbit::text(spec.second));
}

// {byte-id, thread-id}
Result<Operand> bind_pair(const OperandText& text, const Form& form, const OperandSpec& spec,
                          const TypeLookup& types) {
  if (text.kind != OperandText::Kind::vector || text.items.size() != 2)
    return wrong_kind(text, form, spec, expected_pair(spec));
  Operand out = unbound(spec);
  out.label.clear();
  out.is_symbolic = false;
  for (std::size_t i = 0; i < 2; ++i) {
    const Item& item = text.items[i];
    out.label.append(i ? ", " : "").append(item.text);
    if (!item.is_literal) {
      const std::optional<std::string> type = types ? types(item.text) : std::nullopt;
      if (item.text == "_" || (type && !has_word(spec.registers->types, *type)))
        return Error{Errc::register_type, where(form, spec),
                     item.text == "_" ? "'_' cannot stand here"
                                      : fmt::format("register {} has type .{}", item.text, *type),
                     expected_pair(spec)};
      continue;
    }
    const ImmediateRange& range = i == 0 ? spec.immediate : spec.second;
    const auto value = static_cast<std::int64_t>(item.literal.bits);
    if (item.literal.is_float || !contains(range, value))
      return Error{Errc::operand_kind, where(form, spec), fmt::format("'{}' cannot stand here", item.text),
                   expected_pair(spec)};
    out.literals.resize(2);
    out.literals[i] = item.literal.bits;
  }
  return out;
}

Result<Operand> bind_immediate(const OperandText& text, const Form& form, const OperandSpec& spec) {
  const ImmediateRange& range = spec.immediate;
  if (!is_integer(text))
    return wrong_kind(text, form, spec, fmt::format("an immediate, {}", warpbit::text(range)));
  const auto value = static_cast<std::int64_t>(text.items[0].literal.bits);
  if (!contains(range, value)) {
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
    case OperandKind::scalar:
    case OperandKind::descriptor: return bind_scalar(text, form, spec, types);
    case OperandKind::predicate: return bind_predicate(text, form, spec, types);
    case OperandKind::immediate: return bind_immediate(text, form, spec);
    case OperandKind::pair: return bind_pair(text, form, spec, types);
    case OperandKind::address: return bind_address(text, form, spec, types);
  }
  return wrong_kind(text, form, spec, "an operand");
}

// As in a statement with symbols for registers and the minimum of each immediate.
Operand symbolic(const OperandSpec& spec) {
  Operand out = unbound(spec);
  if (spec.kind == OperandKind::immediate) out.literals = {static_cast<std::uint64_t>(spec.immediate.least)};
  if (spec.kind == OperandKind::pair)
    out.literals = {static_cast<std::uint64_t>(spec.immediate.least),
                    static_cast<std::uint64_t>(spec.second.least)};
  return out;
}

// A literal selector determines the lanes that hold the metadata; literal pairs determine the lanes and bytes
// of the scale factors.
void select_fragments(const Form& form, std::vector<Operand>& operands) {
  const auto find = [&](Part part) { return std::ranges::find(operands, part, &Operand::part); };
  constexpr std::array kSelected{std::pair{Part::metadata, Part::selector},
                                 std::pair{Part::scale_a, Part::selector_a},
                                 std::pair{Part::scale_b, Part::selector_b}};
  for (const auto& [data, by] : kSelected) {
    const auto selected = find(data), selector = find(by);
    if (selected == operands.end() || selector == operands.end()) continue;
    const OperandSpec& spec = form.operands[static_cast<std::size_t>(selected - operands.begin())];
    const OperandSpec& choice = form.operands[static_cast<std::size_t>(selector - operands.begin())];
    selected->fragment = spec.fragments[fragment_index(choice, selector->literals)];
  }
}

// The toolkit expands some forms into PTX of its own that rejects some spellings of operands (ptxas 13.0
// reports an error in its own text): forms lowered to instructions of other types, and from sm_100 on mma.sp
// without ordered metadata for f16, s8 and u8.
bool is_rewritten(const Form& form, const TargetPlan& plan, Target target) {
  constexpr FormatSet kChecked = FormatId::f16 | FormatId::s8 | FormatId::u8;
  return plan.row->machine.starts_with("2 ") ||
         (target.row().features.has(Feature::sm_100) && !form.ordered && kChecked.contains(form.arithmetic.a));
}

}  // namespace

Result<void> check_assembled(const Statement& statement, const Form& form, const TargetPlan& plan,
                             Target target) {
  if (form.arithmetic.unit != Unit::mma && form.arithmetic.unit != Unit::mma_sp) return {};
  if (!is_rewritten(form, plan, target)) return {};
  for (std::size_t i = 0; i < statement.operands.size(); ++i) {
    const OperandText& text = statement.operands[i];
    const OperandSpec& spec = form.operands[i];
    if (spec.part == Part::metadata && text.kind == OperandText::Kind::vector)
      return Error{Errc::operand_kind, where(form, spec),
                   fmt::format("'{}' is a brace vector, which the assembler does not take here on {}",
                               text.text, target.name()),
                   "one register without braces"};
    const auto is_integer_literal = [](const Item& item) { return item.is_literal && !item.literal.is_float; };
    const auto is_literal = [](const Item& item) { return item.is_literal; };
    if (spec.part == Part::c && plan.row->machine.find("HADD2") != std::string_view::npos &&
        std::ranges::any_of(text.items, is_integer_literal) && !std::ranges::all_of(text.items, is_literal))
      return Error{
          Errc::operand_kind, where(form, spec),
          fmt::format("'{}' has integers beside registers, which the assembler does not take here on {}",
                      text.text, target.name()),
          "registers, or literals only"};
  }
  return {};
}

Result<std::vector<Operand>> bind_operands(const Statement& statement, const Form& form,
                                           const TypeLookup& types) {
  std::vector<Operand> out;
  out.reserve(form.operands.size());
  const std::size_t given = statement.operands.size(), wanted = form.operands.size();
  for (std::size_t i = 0; i < wanted; ++i) {
    const OperandSpec& spec = form.operands[i];
    if (given == 0) {  // a bare form
      if (spec.optional) break;
      out.push_back(symbolic(spec));
      continue;
    }
    if (i >= given && spec.optional) break;
    if (i >= given)
      return Error{Errc::operand_missing, form.canonical, std::string(spec.role), operand_notation(form)};
    Result<Operand> operand = bind_one(statement.operands[i], form, spec, types);
    if (!operand) return operand.error();
    out.push_back(std::move(*operand));
  }
  if (given > wanted)
    return Error{Errc::operand_extra, form.canonical, std::string(statement.operands[wanted].text),
                 wanted == 0 ? "none" : operand_notation(form)};
  select_fragments(form, out);
  return out;
}

}  // namespace warpbit
