// SPDX-License-Identifier: Apache-2.0
// Checks the operands of a statement against those of its form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/instruction.hpp"
#include "numeric/conversion.hpp"

namespace warpbit {
namespace {

Error refused(const Form& form, const OperandSpec& spec, std::string seen, std::string accepted,
              Errc code = Errc::operand_kind) {
  return {code, fmt::format("{}, operand {}", form.canonical, spec.role), std::move(seen), std::move(accepted)};
}

bool is_name(const OperandText& item) {
  return item.kind == OperandText::Kind::name;
}
bool is_literal(const OperandText& item) {
  return item.kind == OperandText::Kind::literal;
}
bool is_integer(const OperandText& item) {
  return is_literal(item) && !item.literal.is_float;
}
bool is_sink(const OperandText& item) {
  return is_name(item) && item.name == "_";
}
bool is_register(const OperandText& item) {
  return is_name(item) && !is_sink(item);
}
// A name alone or a constant. Only a predicate is negated.
bool is_item(const OperandText& item, bool may_be_negated) {
  return is_literal(item) || (is_name(item) && item.behind == '\0' && (!item.negated || may_be_negated));
}

// The common type of registers of two types: the same, or the bits type of their width; "" if they do not
// mix.
std::string common_type(std::string_view x, std::string_view y) {
  if (x == y) return std::string(x);
  const auto width = [](std::string_view t) { return std::string(t == "f16x2" ? "32" : t.substr(1)); };
  if (width(x) != width(y)) return "";
  const auto is_integer = [](std::string_view t) { return t[0] == 'u' || t[0] == 's'; };
  const bool bits = x[0] == 'b' || y[0] == 'b';
  return bits || (is_integer(x) && is_integer(y)) ? "b" + width(x) : "";
}

bool contains(const ImmediateRange& range, std::int64_t value) {
  return range.least == kAnyInteger ||
         (value >= range.least && (range.most == kUnbounded || value <= range.most) &&
          (value - range.least) % range.step == 0);
}

Operand unbound(const OperandSpec& spec) {
  const Format& f = format(spec.format);
  const int element_bits = spec.kind == OperandKind::descriptor ? f.bits : spec.fragment().packing().bits;
  return {spec.role, std::string(spec.role), spec.part,       spec.kind, true, spec.count, spec.registers->bits,
          f.name,    element_bits,           spec.fragment(), {},        {},   0};
}

// An operand of a statement against that of the form.
class Binding {
 public:
  Binding(const OperandText& text, const Form& form, const OperandSpec& spec)
      : text_(text), form_(form), spec_(spec) {}

  Result<Operand> run() const {
    for (const OperandText& item : items())
      if (!is_item(item, spec_.kind == OperandKind::predicate))
        return refuse(fmt::format("'{}' cannot stand here", item.text), operand_notation(form_));
    if (text_.kind == Kind::address && text_.parts.size() != 1)
      return refuse(fmt::format("'{}' cannot stand here", text_.text), operand_notation(form_));
    switch (spec_.kind) {
      case OperandKind::vector: return vector();
      case OperandKind::scalar:
      case OperandKind::descriptor: return scalar();
      case OperandKind::predicate:
        return is_scalar() && is_integer(first()) && first().literal.bits > 1
                   ? wrong_kind("a predicate register, 0 or 1")
                   : scalar();
      case OperandKind::immediate: return immediate();
      case OperandKind::pair: return pair();
      case OperandKind::address: return address();
    }
    return wrong_kind("an operand");
  }

 private:
  using Kind = OperandText::Kind;

  Error refuse(std::string seen, std::string accepted, Errc code = Errc::operand_kind) const {
    return refused(form_, spec_, std::move(seen), std::move(accepted), code);
  }
  Error wrong_kind(std::string accepted) const {
    const std::string_view seen = text_.kind == Kind::address ? "an address"
                                  : is_vector()               ? "a brace vector"
                                  : is_literal(first())       ? "a literal"
                                                              : "a register";
    return refuse(fmt::format("'{}' is {}", text_.text, seen), std::move(accepted));
  }

  std::span<const OperandText> items() const {
    return is_scalar() ? std::span(&text_, 1) : std::span<const OperandText>(text_.parts);
  }
  const OperandText& first() const { return items()[0]; }
  int count() const { return static_cast<int>(items().size()); }
  bool is_scalar() const { return is_name(text_) || is_literal(text_); }
  bool is_vector() const { return text_.kind == Kind::vector; }
  bool has_right_count() const {
    return count() == spec_.count || std::ranges::find(spec_.also_counts, count()) != spec_.also_counts.end();
  }
  // A single name that neither looks like a register nor is declared. In braces it stands for the whole vector.
  bool is_symbol() const {
    return count() == 1 && is_register(first()) && !first().text.starts_with('%') && first().type.empty();
  }

  // An operand of registers and literals as written.
  Operand written(std::string_view label) const {
    Operand out = unbound(spec_);
    out.label = label;
    out.is_symbolic = false;
    return out;
  }

  // A literal gives the bits of its register; a double in a register of singles is rounded.
  Result<std::uint64_t> literal_bits(const OperandText& item, bool mixed) const {
    const LiteralRule& rule = spec_.registers->literals;
    const Literal& literal = item.literal;
    const LiteralRule::Places places = !literal.is_float ? rule.integer : literal.single ? rule.f32 : rule.f64;
    if (is_destination(spec_.part) || !(mixed ? places.mixed : places.whole)) return literal_refused(item);
    if (spec_.registers->bits == 64) return literal.bits;
    if (literal.is_float && !literal.single)
      return convert({FormatId::f64, FormatId::f32, CvtRounding::rn}, literal.bits, 0);
    return literal.bits & UINT32_MAX;
  }
  Error literal_refused(const OperandText& item) const {
    const auto& [integer, f32, f64] = spec_.registers->literals;
    std::vector<std::string_view> right;
    if (integer.any()) right.push_back(integer.whole ? "integers" : "integers beside registers");
    if (f32.any()) right.push_back("0f...");
    if (f64.any()) right.push_back("1.0 or 0d...");
    return refuse(fmt::format("the literal '{}' cannot stand here", item.text),
                  is_destination(spec_.part) || right.empty()
                      ? "registers only"
                      : fmt::format("registers or, as literals, {}", fmt::join(right, " or ")));
  }

  Result<void> check_types() const {
    std::string common;
    for (const OperandText& item : items()) {
      const std::string_view type = item.type;
      if (type.empty() || type == common) continue;
      std::string both = common.empty()           ? std::string(type)
                         : spec_.registers->mixed ? common_type(common, type)
                                                  : "";
      if (both.empty())
        return refuse(fmt::format("register {} has type .{} beside .{}", item.text, type, common),
                      fmt::format("one type of: {}", spec_.registers->types), Errc::register_type);
      common = std::move(both);
    }
    if (!common.empty() && !has_word(spec_.registers->types, common))
      return refuse(fmt::format("'{}' has type .{}", text_.text, common),
                    fmt::format("one of: {}", spec_.registers->types), Errc::register_type);
    return {};
  }

  Result<Operand> vector() const {
    const auto expected = [&] {
      return fmt::format("a vector of {} .{} register{} in braces", spec_.count, spec_.registers->name,
                         spec_.count == 1 ? "" : "s");
    };
    if (!is_vector())
      return refuse(
          fmt::format("'{}' is {}", text_.text, text_.kind == Kind::address ? "an address" : "no brace vector"),
          expected());
    if (is_symbol()) return symbol();
    if (!has_right_count())
      return refuse(fmt::format("'{}' has {} register{}", text_.text, count(), count() == 1 ? "" : "s"),
                    expected(), Errc::register_count);
    if (Result<void> checked = check_types(); !checked) return checked.error();
    const bool mixed = !std::ranges::all_of(items(), is_literal);
    if (std::ranges::any_of(items(), is_sink) &&
        (!is_destination(spec_.part) || !spec_.registers->sinks || std::ranges::all_of(items(), is_sink)))
      return refuse("'_' cannot stand here", !is_destination(spec_.part) ? "registers to read"
                                             : spec_.registers->sinks    ? "at least one register"
                                                                         : "registers only");
    Operand out = written("");
    out.label.reserve(text_.text.size());
    for (std::size_t i = 0; i < items().size(); ++i) {
      const OperandText& item = items()[i];
      if (i > 0) out.label += ", ";
      out.label += item.text;
      if (is_sink(item)) out.sinks.push_back(static_cast<int>(i));
      if (!is_literal(item)) continue;
      const Result<std::uint64_t> bits = literal_bits(item, mixed);
      if (!bits) return bits.error();
      out.literals.resize(static_cast<std::size_t>(spec_.count));
      if (i < out.literals.size()) out.literals[i] = *bits;
    }
    return out;
  }

  Operand symbol() const {
    Operand out = unbound(spec_);
    out.label = first().text;
    out.is_symbolic = is_symbol();
    return out;
  }

  // Of tcgen05.alloc and dealloc. sm_107 has 576 columns with .exclusive.
  Result<void> check_columns(std::uint64_t count) const {
    const tensor::Allocation& allocation =
        std::get<tensor::Allocation>(std::get<TensorAction>(form_.action).what);
    const bool fits =
        allocation.is_exclusive ? count % 32 == 0 && count <= 576 : std::has_single_bit(count) && count <= 512;
    if (fits && count >= 32) return {};
    return refuse(fmt::format("'{}' columns", first().text), allocation.is_exclusive
                                                                 ? "a multiple of 32 from 32 to 576"
                                                                 : "a power of two from 32 to 512");
  }

  // One register, or a literal if the operand accepts one. Where the assembler also accepts a brace vector, it
  // reads the first item.
  Result<Operand> scalar() const {
    if (is_scalar() && is_literal(first()) && spec_.registers->literals.any_whole()) {
      const Result<std::uint64_t> bits = literal_bits(first(), false);
      if (!bits) return bits.error();
      // As an unsigned or a signed number.
      const auto value = static_cast<std::int64_t>(first().literal.bits);
      if (is_integer(first()) && spec_.registers->bits <= 32 &&
          (value < INT32_MIN || value > std::int64_t{UINT32_MAX}))
        return wrong_kind("an integer of 32 bits");
      if (spec_.part == Part::column_count)
        if (Result<void> checked = check_columns(*bits); !checked) return checked.error();
      Operand out = written(first().text);
      out.literals = {*bits};
      return out;
    }
    const bool right = is_scalar() || (!spec_.also_counts.empty() && has_right_count());
    if (text_.kind == Kind::address || !right || !std::ranges::all_of(items(), is_register))
      return wrong_kind(fmt::format("one .{} register", spec_.registers->name));
    if (Result<void> checked = check_types(); !checked) return checked.error();
    return symbol();
  }

  // [register] or [register+offset]; the name of a variable stands for its address.
  Result<Operand> address() const {
    if (text_.kind != Kind::address || !is_register(first()))
      return wrong_kind(spec_.registers->bits == 32 ? "a register of 32 bits in brackets, [t] or [t+16]"
                                                    : "a register or a variable in brackets, [p] or [p+16]");
    if (Result<void> checked = check_types(); !checked) return checked.error();
    Operand out = symbol();
    out.offset = text_.offset;
    return out;
  }

  // {byte-id, thread-id}
  Result<Operand> pair() const {
    const auto expected = [&] {
      return fmt::format("two of an integer or a .{} register in braces: {{{}; {}}}", spec_.registers->name,
                         warpbit::text(spec_.immediate), warpbit::text(spec_.second));
    };
    if (!is_vector() || count() != 2) return wrong_kind(expected());
    Operand out = written("");
    for (std::size_t i = 0; i < 2; ++i) {
      const OperandText& item = items()[i];
      if (i > 0) out.label += ", ";
      out.label += item.text;
      if (is_sink(item)) return refuse("'_' cannot stand here", expected(), Errc::register_type);
      if (!item.type.empty() && !has_word(spec_.registers->types, item.type))
        return refuse(fmt::format("register {} has type .{}", item.text, item.type), expected(),
                      Errc::register_type);
      if (!is_literal(item)) continue;
      if (!is_integer(item) ||
          !contains(i == 0 ? spec_.immediate : spec_.second, static_cast<std::int64_t>(item.literal.bits)))
        return refuse(fmt::format("'{}' cannot stand here", item.text), expected());
      out.literals.resize(2);
      out.literals[i] = item.literal.bits;
    }
    return out;
  }

  Result<Operand> immediate() const {
    const ImmediateRange& range = spec_.immediate;
    if (!is_scalar() || !is_integer(first()))
      return wrong_kind(fmt::format("an immediate, {}", warpbit::text(range)));
    const auto value = static_cast<std::int64_t>(first().literal.bits);
    const bool let_through = value > range.most && value <= range.assembler_most;
    if (!contains(range, value))
      return refuse(fmt::format("'{}' is out of range{}", text_.text,
                                let_through ? " by the manual, though the assembler lets it through" : ""),
                    warpbit::text(range));
    Operand out = written(first().text);
    out.literals = {first().literal.bits};
    return out;
  }

  const OperandText& text_;
  const Form& form_;
  const OperandSpec& spec_;
};

// As in a statement with symbols for registers and the minimum of each immediate.
Operand symbolic(const OperandSpec& spec) {
  Operand out = unbound(spec);
  if (spec.kind == OperandKind::immediate || spec.kind == OperandKind::pair)
    out.literals = {static_cast<std::uint64_t>(spec.immediate.of_bare_form.value_or(spec.immediate.least))};
  if (spec.kind == OperandKind::pair) out.literals.emplace_back(spec.second.least);
  return out;
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
      return refused(form, spec,
                     fmt::format("'{}' is a brace vector, which the assembler does not take here on {}",
                                 text.text, target.name()),
                     "one register without braces");
    if (spec.part == Part::c && plan.row->machine.find("HADD2") != std::string_view::npos &&
        std::ranges::any_of(text.parts, is_integer) && !std::ranges::all_of(text.parts, is_literal))
      return refused(
          form, spec,
          fmt::format("'{}' has integers beside registers, which the assembler does not take here on {}",
                      text.text, target.name()),
          "registers, or literals only");
  }
  return {};
}

Result<std::vector<Operand>> bind_operands(const Statement& statement, const Form& form) {
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
    Result<Operand> operand = Binding(statement.operands[i], form, spec).run();
    if (!operand) return operand.error();
    out.push_back(std::move(*operand));
  }
  if (given > wanted)
    return Error{Errc::operand_extra, form.canonical, std::string(statement.operands[wanted].text),
                 wanted == 0 ? "none" : operand_notation(form)};
  // Literals of a selector determine the lanes, and the bytes, that hold the operand before it.
  for (std::size_t i = 1; i < out.size(); ++i)
    if (const OperandSpec& chosen = form.operands[i - 1]; chosen.fragments.size() > 1)
      out[i - 1].fragment = chosen.fragments[fragment_index(form.operands[i], out[i].literals)];
  for (const Operand& split : out)
    if (split.part == Part::half_split)
      if (const auto map = map_of_split(form, static_cast<std::int64_t>(*split.literals[0])))
        std::ranges::find_if(out, [](const Operand& op) { return op.kind == OperandKind::vector; })->fragment =
            *map;
  return out;
}

}  // namespace warpbit
