// SPDX-License-Identifier: Apache-2.0
// Operands that are values: registers and their parts, constants, vectors.
#include <charconv>
#include <limits>

#include "ptx/operand_check.hpp"
#include "ptx/parts.hpp"

namespace warpbit::ptx {
namespace {

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

}  // namespace

bool takes_literal(const OperandForm& form, Type type, const Literal& value) {
  if (!value.is_float)
    return !is_floating(type) && row(type).element == type && type != Type::bf16 && type != Type::tf32 &&
           (form.values.empty() || is_in(form.values, static_cast<std::int64_t>(value.bits)));
  if (type == Type::f32 || type == Type::f64) return true;
  return form.type_from != 0 && type == (value.single ? Type::b32 : Type::b64);
}

// Whether a statement's d|p has a predicate where the form wants one; d|_ is d alone.
bool OperandCheck::takes_second(const OperandForm& form, const Operand& operand) const {
  switch (form.second) {
    case OperandForm::Second::none:
      return operand.second < 0 && (operand.second == -1 || form.is_destination());
    case OperandForm::Second::allowed: return true;
    case OperandForm::Second::required: return operand.second >= 0;
  }
  return false;
}

// The whole register, unless the form has its part. Where there are parts, a member of a vector register is none.
bool OperandCheck::takes_part(const OperandForm& form, const Operand& operand) const {
  if (operand.part.empty()) return !form_.form->has_parts || operand.text.find('.') == operand.text.npos;
  return is_part(form.parts, operand.part);
}

bool OperandCheck::takes_reg(const OperandForm& form, const Operand& operand) {
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
bool OperandCheck::takes_special(const Operand& operand, Type type) const {
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
bool OperandCheck::takes_symbol(const Operand& operand, Type type) const {
  if (is_floating(type) || bits(type) < 16) return false;
  if (operand.kind == Operand::Kind::symbol && operand.variable->opaque != Opaque::none)
    return does(Does::move) && type == Type::u64 && operand.offset == 0;
  if (does(Does::window))
    return operand.kind == Operand::Kind::symbol && !has_word("to") && space(0) == operand.variable->space;
  return does(Does::move) || does(Does::map_address) || does(Does::rank_of_address);
}

bool OperandCheck::takes_value(const OperandForm& form, const Operand& operand) {
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
bool OperandCheck::takes_parts(const OperandForm& form, const Operand& operand, Type type, bool wider) {
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
bool OperandCheck::takes_constant_part(const OperandForm& form, const Operand& vector, const Literal& constant,
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
bool OperandCheck::has_bits(const Operand& vector, int size) const {
  for (int i = 0; i < vector.count; ++i) {
    const std::optional<Type> is = part_type(child(vector, i));
    if (is && row(*is).cls == TypeClass::bits && bits(*is) == size) return true;
  }
  return false;
}

// Whether a vector has registers of a floating-point type and none of bits, beside which they may stand.
bool OperandCheck::is_float_vector(const Operand& vector) const {
  bool floats = false;
  for (int i = 0; i < vector.count; ++i) {
    const std::optional<Type> is = part_type(child(vector, i));
    if (!is) continue;
    if (row(*is).cls == TypeClass::bits) return false;
    floats = floats || is_floating(*is);
  }
  return floats;
}

}  // namespace warpbit::ptx
