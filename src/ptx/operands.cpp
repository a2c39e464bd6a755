// SPDX-License-Identifier: Apache-2.0
#include "ptx/operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <string>

#include "ptx/parts.hpp"
#include "ptx/special.hpp"

namespace warpbit::ptx {
namespace {

// ---- Constants

constexpr std::string_view kNoValue = "1..0";

// "0..15", "24..256/8", "4,8,16", "1..", of which the second names multiples.
bool is_in(std::string_view ranges, std::int64_t value) {
  const auto number = [](std::string_view digits) {
    std::int64_t out = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return out;
  };
  while (!ranges.empty()) {
    const std::string_view one = ranges.substr(0, ranges.find(','));
    ranges.remove_prefix(std::min(one.size() + 1, ranges.size()));
    const std::size_t dots = one.find(".."), slash = one.find('/');
    const std::int64_t first = number(one);
    const std::int64_t last = dots == one.npos         ? first
                              : dots + 2 == one.size() ? std::numeric_limits<std::int64_t>::max()
                                                       : number(one.substr(dots + 2));
    const std::int64_t step = slash == one.npos ? 1 : number(one.substr(slash + 1));
    if (value >= first && value <= last && value % step == 0) return true;
  }
  return false;
}

// The bits of a floating-point constant stand for those of the register's size; an f32's and an f64's are rounded.
bool takes_literal(const OperandForm& form, Type type, const Literal& value) {
  if (!value.is_float)
    return !is_floating(type) && row(type).element == type && type != Type::bf16 && type != Type::tf32 &&
           (form.values.empty() || is_in(form.values, static_cast<std::int64_t>(value.bits)));
  if (type == Type::f32 || type == Type::f64) return true;
  return form.type_from != 0 && type == (value.single ? Type::b32 : Type::b64);
}

// ---- Operands of one form

class Check {
 public:
  Check(const FunctionText& function, const Statement& statement, const MatchedForm& form)
      : function_(function), statement_(statement), form_(form) {}

  /// The number of operands from the first on that the form takes, with all of them at the end.
  bool fits(std::size_t wanted, int at);

  int taken = 0;  ///< operands at most
  bool extra = false;
  std::vector<std::string> accepted = {};  ///< in the place of the first that is not
  bool type_is_wrong = false;

 private:
  const Operand& operand(int i) const {
    return function_.operands[static_cast<std::size_t>(statement_.first_operand + i)];
  }
  const Operand& child(const Operand& parent, int i) const {
    return function_.operands[static_cast<std::size_t>(parent.first + i)];
  }
  Type declared(const Operand& reg) const {
    return function_.registers[static_cast<std::size_t>(reg.index)].type;
  }
  /// Of a part of a vector; a special register has bits. Nothing: it is no register.
  std::optional<Type> part_type(const Operand& part) const {
    if (part.kind == Operand::Kind::reg) return declared(part);
    if (part.kind == Operand::Kind::special) return type_in_vector(part.text);
    return {};
  }
  bool has_word(std::string_view wanted) const {
    const auto words = std::span(function_.qualifiers)
                           .subspan(static_cast<std::size_t>(statement_.first_qualifier),
                                    static_cast<std::size_t>(statement_.qualifiers));
    return std::ranges::find(words, wanted) != words.end();
  }
  bool does(Does what) const { return statement_.is->does == what; }
  bool moves() const {
    return (does(Does::load) || does(Does::store) || accesses_surface()) && !has_word("async");
  }
  bool accesses_surface() const {
    return does(Does::surface_load) || does(Does::surface_store) || does(Does::surface_reduction);
  }
  bool takes_wider(const OperandForm& form) const {
    return form.type_from != 0 && (moves() || does(Does::convert)) &&
           std::ranges::find(form_.types, Type::bf16) == form_.types.end();
  }

  bool takes(const OperandForm& form, const Operand& operand);
  bool takes_value(const OperandForm& form, const Operand& operand);
  bool takes_second(const OperandForm& form, const Operand& operand) const;
  bool takes_part(const OperandForm& form, const Operand& operand) const;
  bool takes_reg(const OperandForm& form, const Operand& operand);
  bool takes_special(const Operand& operand, Type type) const;
  bool takes_symbol(const Operand& operand, Type type) const;
  bool takes_parts(const OperandForm& form, const Operand& operand, Type type, bool wider);
  bool takes_constant_part(const OperandForm& form, const Operand& vector, const Literal& constant, Type type);
  bool is_float_vector(const Operand& vector) const;
  bool has_bits(const Operand& vector, int size) const;
  std::optional<StateSpace> space(int nth) const;
  std::optional<StateSpace> space_of(const OperandForm& form) const;
  bool takes_variable(const OperandForm& form, const Variable& variable) const;
  bool takes_special_base(const OperandForm& form, const Operand& base) const;
  bool takes_base(const OperandForm& form, const Operand& base) const;
  bool takes_address(const OperandForm& form, const Operand& operand) const;
  bool takes_integers(const OperandForm& form, const Operand& operand, int count, Type type);
  bool takes_integer(const Operand& operand, Type type) const;
  bool takes_overrides(const OperandForm& form, const Operand& operand);
  bool takes_tensor(const OperandForm& form, const Operand& operand);
  bool takes_handle(const OperandForm& form, const Operand& operand) const;
  bool takes_texture(const OperandForm& form, const Operand& operand);
  std::string describe_tensor(const OperandForm& form) const;
  std::string describe(const OperandForm& form) const;

  const FunctionText& function_;
  const Statement& statement_;
  const MatchedForm& form_;
  bool wrong_type_ = false;
};

// Whether a statement's d|p has a predicate where the form wants one; d|_ is d alone.
bool Check::takes_second(const OperandForm& form, const Operand& operand) const {
  switch (form.second) {
    case OperandForm::Second::none:
      return operand.second < 0 && (operand.second == -1 || form.is_destination());
    case OperandForm::Second::allowed: return true;
    case OperandForm::Second::required: return operand.second >= 0;
  }
  return false;
}

// The whole register, unless the form has its part. Where there are parts, a member of a vector register is none.
bool Check::takes_part(const OperandForm& form, const Operand& operand) const {
  if (operand.part.empty()) return !form_.form->has_parts || operand.text.find('.') == operand.text.npos;
  return is_part(form.parts, operand.part);
}

bool Check::takes_reg(const OperandForm& form, const Operand& operand) {
  const Type type = form_.type_of(form), is = declared(operand);
  wrong_type_ = true;
  if (type == Type::pred ? operand.negated && form.is_destination()
                         : !(operand.negated ? form.may_be_negative : form.may_be_positive))
    return false;
  if (!takes_part(form, operand)) return false;
  if (form.type_from == 0 && is == Type::f16x2) return false;
  if (form.is_strict && row(is).cls == TypeClass::bits) return false;
  return takes_second(form, operand) && takes_register(type, is, takes_wider(form));
}

// The special registers are sources of mov, and of cvt between integers.
bool Check::takes_special(const Operand& operand, Type type) const {
  const SpecialRow& special = *find_special(operand.text);
  if (!form_.features.has(special.needs)) return false;
  const Type is = special.type;
  if (does(Does::move)) {
    if (is_floating(type) || type == Type::pred || is == Type::pred) return type == is;
    return bits(type) == bits(is) || (special.is_narrow && bits(type) <= bits(is));
  }
  return does(Does::convert) && !has_word("pack") && bits(is) >= bits(type) &&
         std::ranges::all_of(form_.types, is_integer);
}

// The address of a variable, or of a function: a source of mov; of cvta from the variable's space.
bool Check::takes_symbol(const Operand& operand, Type type) const {
  if (is_floating(type) || bits(type) < 16) return false;
  if (does(Does::window))
    return operand.kind == Operand::Kind::symbol && !has_word("to") && space(0) == operand.variable->space;
  return does(Does::move) || does(Does::map_address) || does(Does::rank_of_address);
}

bool Check::takes_value(const OperandForm& form, const Operand& operand) {
  const Type type = form_.type_of(form);
  switch (operand.kind) {
    case Operand::Kind::reg: return takes_reg(form, operand);
    case Operand::Kind::sink: return form.is_destination() && form.sink && takes_second(form, operand);
    case Operand::Kind::literal:
      return !form.is_destination() && form.may_be_positive && takes_literal(form, type, operand.literal);
    case Operand::Kind::special: return !form.is_destination() && takes_special(operand, type);
    case Operand::Kind::symbol:
    case Operand::Kind::function:
      return !form.is_destination() && form.type_from != 0 && takes_symbol(operand, type);
    default: return false;
  }
}

// {a, b}: registers of one size, of which no two disagree in their types; `_` for some of them where they are destinations.
// Special registers are among them, of destinations too, where nothing is written to them (ptxas).
bool Check::takes_parts(const OperandForm& form, const Operand& operand, Type type, bool wider) {
  std::optional<Type> first;
  const bool bits_among = has_bits(operand, bits(type));
  for (int i = 0; i < operand.count; ++i) {
    const Operand& part = child(operand, i);
    if (part.kind == Operand::Kind::sink && form.is_destination()) continue;
    if (part.kind == Operand::Kind::literal && !form.is_destination() &&
        takes_constant_part(form, operand, part.literal, type))
      continue;
    const std::optional<Type> known = part_type(part);
    if (!known || part.negated || part.second != -1) return false;
    const Type is = *known;
    wrong_type_ = true;
    const bool fits = bits_among && bits(is) == bits(type) ? row(is).cls != TypeClass::predicate
                                                           : takes_register(type, is, wider);
    if (!fits || (first && !takes_register(*first, is, false))) return false;
    wrong_type_ = false;
    if (!first || row(*first).cls == TypeClass::bits) first = is;
  }
  return first || !form.is_destination();
}

// Constants beside registers are of their class, if these have one, and all of one class. Floating-point ones may then stand
// for integers: they are the lowest bits of their own (ptxas).
bool Check::takes_constant_part(const OperandForm& form, const Operand& vector, const Literal& constant,
                                Type type) {
  bool has_register = false;
  for (int i = 0; i < vector.count; ++i) {
    const Operand& part = child(vector, i);
    const std::optional<Type> is = part_type(part);
    has_register = has_register || is;
    const bool is_float = is ? is_floating(*is) : part.kind == Operand::Kind::literal && part.literal.is_float;
    const bool has_class = is ? row(*is).cls != TypeClass::bits : part.kind == Operand::Kind::literal;
    if (has_class && is_float != constant.is_float) return false;
  }
  const bool is_cut = has_register && constant.is_float && !is_floating(type) &&
                      (form.kind == OperandForm::Kind::vector || form.kind == OperandForm::Kind::pack);
  return is_cut || takes_literal(form, type, constant);
}

// Whether a vector has a register of bits of this size, beside which others of the size may stand, whatever the type.
bool Check::has_bits(const Operand& vector, int size) const {
  for (int i = 0; i < vector.count; ++i) {
    const std::optional<Type> is = part_type(child(vector, i));
    if (is && row(*is).cls == TypeClass::bits && bits(*is) == size) return true;
  }
  return false;
}

// Whether a vector has registers of a floating-point type and none of bits, beside which they may stand.
bool Check::is_float_vector(const Operand& vector) const {
  bool floats = false;
  for (int i = 0; i < vector.count; ++i) {
    const std::optional<Type> is = part_type(child(vector, i));
    if (!is) continue;
    if (row(*is).cls == TypeClass::bits) return false;
    floats = floats || is_floating(*is);
  }
  return floats;
}

// The space of the statement's n-th address, by its words; nothing if it is generic.
std::optional<StateSpace> Check::space(int nth) const {
  constexpr std::array kSpaces = {StateSpace::param, StateSpace::local, StateSpace::shared, StateSpace::global,
                                  StateSpace::constant};
  for (const std::string_view word : words_of(function_, statement_)) {
    const auto found = std::ranges::find(kSpaces, word.substr(0, word.find(':')),
                                         [](StateSpace space) { return name(space); });
    if (found != kSpaces.end() && nth-- == 0) return *found;
  }
  return {};
}

// The space of an address: of barrier objects and tensor maps always the same, of others by the words.
std::optional<StateSpace> Check::space_of(const OperandForm& form) const {
  if (form.role == "m") return StateSpace::shared;
  if (form.role == "t") return StateSpace::global;
  return space(form.role == "q" ? 1 : 0);
}

// Without a space, the windows of .const and .param are out of reach.
bool Check::takes_variable(const OperandForm& form, const Variable& variable) const {
  if (form.role == "r" || form.role == "h") return false;
  if (form.role == "x") return true;
  const std::optional<StateSpace> in = space_of(form);
  return in ? *in == variable.space
            : variable.space != StateSpace::param && variable.space != StateSpace::constant;
}

// ptxas 13.0 loads and copies from addresses in special registers without components; it crashes where one is written to.
bool Check::takes_special_base(const OperandForm& form, const Operand& base) const {
  const bool crashes = ((does(Does::store) || does(Does::reduction)) && !has_word("async")) ||
                       does(Does::atomic) || does(Does::discard) ||
                       (does(Does::hint) && !has_word("tensormap"));
  return !crashes && !does(Does::mbarrier) && form.kind == OperandForm::Kind::address &&
         form_.features.has(find_special(base.text)->needs) && is_addend(base.text);
}

bool Check::takes_base(const OperandForm& form, const Operand& base) const {
  if (base.kind == Operand::Kind::symbol) return takes_variable(form, *base.variable);
  if (base.kind == Operand::Kind::literal) return !base.literal.is_float && has_word("local");
  if (base.kind == Operand::Kind::special) return takes_special_base(form, base);
  if (base.kind != Operand::Kind::reg || base.negated || base.second != -1) return false;
  const Type is = declared(base);
  const bool is_window = accesses_memory(statement_.is->does) && !has_word("async") && form.role == "p" &&
                         space_of(form) && *space_of(form) != StateSpace::global;
  return !is_floating(is) && row(is).cls != TypeClass::predicate &&
         ((bits(is) == 16 && is_window) || (bits(is) == 32 && form.role != "w" && form.role != "h") ||
          bits(is) == 64);
}

bool Check::takes_address(const OperandForm& form, const Operand& operand) const {
  return operand.kind == Operand::Kind::address && operand.count == 1 && takes_base(form, child(operand, 0));
}

// {a, b} of so many integers.
bool Check::takes_integers(const OperandForm& form, const Operand& operand, int count, Type type) {
  return operand.kind == Operand::Kind::vector && operand.count == count &&
         takes_parts(form, operand, type, false) && !is_float_vector(operand);
}

// An integer in a register or a constant.
bool Check::takes_integer(const Operand& operand, Type type) const {
  if (operand.kind == Operand::Kind::literal) return !operand.literal.is_float;
  return operand.kind == Operand::Kind::reg && !operand.negated && operand.second == -1 &&
         takes_register(type, declared(operand), false);
}

// Sizes in eight bits, or in the lower ones of 16; the rest in 32 and in 16 (PTX manual, "Tensor Attribute Override").
bool Check::takes_overrides(const OperandForm& form, const Operand& operand) {
  const int n = form_.coordinates;
  if (form.count >= 3 && !takes_integer(child(operand, 1), Type::b64)) return false;
  if (form.count >= 4 && !takes_integers(form, child(operand, 2), n, Type::b8) &&
      !takes_integers(form, child(operand, 2), n, Type::b16))
    return false;
  return form.count < 6 || (takes_integers(form, child(operand, 3), n - 1, Type::b32) &&
                            takes_integer(child(operand, 4), Type::b16));
}

// [map, ..., {coordinates}], where an offset of the map's address is none of the syntax.
bool Check::takes_tensor(const OperandForm& form, const Operand& operand) {
  if (operand.kind != Operand::Kind::address || operand.count != form.count || operand.offset != 0)
    return false;
  return takes_base(form, child(operand, 0)) && takes_overrides(form, operand) &&
         takes_integers(form, child(operand, form.count - 1), form_.coordinates, Type::b32);
}

// [endpoint, offset{, offset}]
bool Check::takes_handle(const OperandForm& form, const Operand& operand) const {
  if (operand.kind != Operand::Kind::address || operand.count != form.count || operand.offset != 0)
    return false;
  for (int i = 1; i < form.count; ++i)
    if (!takes_integer(child(operand, i), Type::u64)) return false;
  return takes_integer(child(operand, 0), Type::u32);
}

// [handle, {coordinates}], one coordinate in a register without braces too. The first of an array is a layer: an integer of 32
// bits.
bool Check::takes_texture(const OperandForm& form, const Operand& operand) {
  if (operand.kind != Operand::Kind::address || operand.count != 2 || operand.offset != 0) return false;
  const Operand& at = child(operand, 1);
  const bool vector = at.kind == Operand::Kind::vector;
  if (!takes_base(form, child(operand, 0)) || (vector ? at.count : 1) != form_.coordinates) return false;
  for (int i = 0; i < form_.coordinates; ++i) {
    const Operand& one = vector ? child(at, i) : at;
    const Type type = form_.has_layer && i == 0 ? Type::u32 : form_.type_of(form);
    const std::optional<Type> is = one.negated || one.second != -1 ? std::nullopt : part_type(one);
    const bool fits_here = one.kind == Operand::Kind::literal ? vector && takes_literal(form, type, one.literal)
                                                              : is && takes_register(type, *is, false);
    if (!fits_here || (one.kind == Operand::Kind::special && !vector)) return false;
  }
  return true;
}

bool Check::takes(const OperandForm& form, const Operand& operand) {
  wrong_type_ = false;
  const bool vector = operand.kind == Operand::Kind::vector;
  switch (form.kind) {
    case OperandForm::Kind::address: return takes_address(form, operand);
    case OperandForm::Kind::tensor: return takes_tensor(form, operand);
    case OperandForm::Kind::handle: return takes_handle(form, operand);
    case OperandForm::Kind::texture: return takes_texture(form, operand);
    case OperandForm::Kind::offsets:
      return vector && operand.count == form_.offsets && takes_parts(form, operand, Type::b16, false) &&
             !is_float_vector(operand);
    case OperandForm::Kind::sink: return operand.kind == Operand::Kind::sink && operand.second == -1;
    case OperandForm::Kind::immediate:
      return operand.kind == Operand::Kind::literal && takes_literal(form, Type::b64, operand.literal);
    case OperandForm::Kind::pack:
      return vector && operand.count == form_.count_of(form) && takes_parts(form, operand, form.type, false);
    case OperandForm::Kind::vector: {
      if (vector && (form_.vector > 1 || moves()))
        return operand.count == form_.vector && takes_parts(form, operand, form_.type_of(form), moves());
      return form_.vector == 1 && takes_value(form, operand);
    }
    case OperandForm::Kind::value: return takes_value(form, operand);
    case OperandForm::Kind::label: return operand.kind == Operand::Kind::label;
    case OperandForm::Kind::table:
      return operand.kind == Operand::Kind::table &&
             function_.tables[static_cast<std::size_t>(operand.index)].kind == LabelTable::Kind::branch_targets;
  }
  return false;
}

std::string Check::describe_tensor(const OperandForm& form) const {
  const int n = form_.coordinates;
  const std::string coordinates = fmt::format("{{{} coordinates}}", n);
  switch (form.count) {
    case 3: return fmt::format("[tensor map, address, {}]", coordinates);
    case 4: return fmt::format("[tensor map, address, {{1 size}}, {}]", coordinates);
    case 6:
      return fmt::format("[tensor map, address, {{{} sizes}}, {{{} lower strides}}, upper strides, {}]", n,
                         n - 1, coordinates);
    default: return fmt::format("[tensor map, {}]", coordinates);
  }
}

std::string Check::describe(const OperandForm& form) const {
  switch (form.kind) {
    case OperandForm::Kind::address: {
      const std::optional<StateSpace> in = space_of(form);
      return in ? fmt::format("[address] in .{}", name(*in)) : "[address]";
    }
    case OperandForm::Kind::tensor: return describe_tensor(form);
    case OperandForm::Kind::handle:
      return form.count == 2 ? "[endpoint, offset]" : "[endpoint, offset, offset of a counter]";
    case OperandForm::Kind::texture:
      return fmt::format("[.u64 register with a handle, {{{} coordinates}}]", form_.coordinates);
    case OperandForm::Kind::offsets: return fmt::format("a vector of {} .b16 offsets", form_.offsets);
    case OperandForm::Kind::sink: return "'_'";
    case OperandForm::Kind::immediate:
      return form.values.empty() ? "a constant" : fmt::format("a constant of {}", form.values);
    case OperandForm::Kind::pack:
      return fmt::format("a vector of {} .{} registers", form_.count_of(form), row(form.type).name);
    case OperandForm::Kind::vector:
      if (form_.vector > 1)
        return fmt::format("a vector of {} .{} registers", form_.vector, row(form_.type_of(form)).name);
      break;
    case OperandForm::Kind::value: break;
    case OperandForm::Kind::label: return "a label";
    case OperandForm::Kind::table: return "the name of a list of .branchtargets";
  }
  const Type type = form_.type_of(form);
  const std::string reg =
      fmt::format("{}a .{} register{}", form.may_be_positive ? "" : "'-' and ", row(type).name,
                  form.second == OperandForm::Second::required ? " with a predicate, d|p" : "");
  Literal one;
  const std::string whole = reg + parts_of(form.parts);
  if (form.is_destination() || !form.may_be_positive) return whole;
  if (form.values == kNoValue) return whole;
  if (!form.values.empty()) return fmt::format("{} or a constant of {}", reg, form.values);
  one.is_float = type == Type::f32 || type == Type::f64;
  if (!takes_literal(form, type, one)) return whole;
  return whole + (one.is_float ? " or a floating-point constant" : " or a constant");
}

bool Check::fits(std::size_t wanted, int at) {
  const bool ends = at == statement_.operands;
  if (at > taken) {
    taken = at;
    accepted.clear();
    type_is_wrong = false;
  }
  if (wanted == form_.form->operands.size()) {
    extra = extra || (!ends && at == taken);
    return ends;
  }
  const OperandForm& form = form_.form->operands[wanted];
  const bool here = form.presence == OperandForm::Presence::with_boolean ? form_.boolean
                    : form.presence == OperandForm::Presence::with_word  ? has_word(form.word)
                                                                         : true;
  if (here && !ends) {
    if (takes(form, operand(at))) {
      if (fits(wanted + 1, at + 1)) return true;
    } else if (at == taken) {
      type_is_wrong = wrong_type_;
    }
  }
  if (here && at == taken) accepted.push_back(describe(form));
  const bool may_be_absent = form.presence == OperandForm::Presence::optional || !here;
  return may_be_absent && fits(wanted + 1, at);
}

}  // namespace

std::string spell(const FunctionText& function, const Operand& operand) {
  switch (operand.kind) {
    case Operand::Kind::reg: {
      const Register& one = function.registers[static_cast<std::size_t>(operand.index)];
      return fmt::format("{}{}register '{}' of .{}{}", operand.negated ? "negated " : "",
                         operand.part.empty() ? "" : fmt::format(".{} of ", operand.part), one.name,
                         row(one.type).name, operand.second == -1 ? "" : " with a second one");
    }
    case Operand::Kind::literal:
      if (operand.literal.is_float) return "a floating-point constant";
      return fmt::format("constant {}", static_cast<std::int64_t>(operand.literal.bits));
    case Operand::Kind::vector: return fmt::format("a vector of {}", operand.count);
    case Operand::Kind::list: return "a list in parentheses";
    case Operand::Kind::address: {
      const Operand& base = function.operands[static_cast<std::size_t>(operand.first)];
      const std::string more =
          operand.count == 1
              ? ""
              : ", " + spell(function, function.operands[static_cast<std::size_t>(operand.first + 1)]);
      if (base.kind == Operand::Kind::symbol)
        return fmt::format("the address of '{}' in .{}{}", base.variable->name, name(base.variable->space),
                           more);
      return fmt::format("an address in {}{}", spell(function, base), more);
    }
    case Operand::Kind::sink: return "'_'";
    case Operand::Kind::special:
      return fmt::format("special register '{}' of .{}", operand.text,
                         row(find_special(operand.text)->type).name);
    default: return fmt::format("'{}'", operand.text);
  }
}

Result<const MatchedForm*> check_operands(const FunctionText& function, const Statement& statement,
                                          std::span<const MatchedForm> forms) {
  int taken = -1;
  std::set<std::string> accepted;
  bool wrong_type = false;
  for (const MatchedForm& form : forms) {
    Check check(function, statement, form);
    if (check.fits(0, 0)) return &form;
    if (check.taken < taken) continue;
    if (check.taken > taken) {
      accepted.clear();
      wrong_type = false;
    }
    taken = check.taken;
    wrong_type = wrong_type || check.type_is_wrong;
    accepted.insert(check.accepted.begin(), check.accepted.end());
  }
  const std::string all = fmt::format("{}", fmt::join(accepted, ", or "));
  const auto where = [&](Position at) { return fmt::format("{}: '{}'", text(at), statement.text); };
  if (taken == statement.operands)
    return Error{Errc::operand_missing, where(statement.position), std::to_string(taken + 1), all};
  const Operand& operand = function.operands[static_cast<std::size_t>(statement.first_operand + taken)];
  if (accepted.empty())
    return Error{Errc::operand_extra, where(operand.position), std::to_string(taken + 1),
                 fmt::format("{} operands", taken)};
  return Error{wrong_type ? Errc::register_type : Errc::operand_kind, where(operand.position),
               spell(function, operand), all};
}

}  // namespace warpbit::ptx
