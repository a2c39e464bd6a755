// SPDX-License-Identifier: Apache-2.0
// Operands that are addresses, tensors, textures and handles.
#include "ptx/operand_check.hpp"

namespace warpbit::ptx {

// The space of the statement's n-th address, by its words; nothing if it is generic.
std::optional<StateSpace> OperandCheck::space(int nth) const {
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
std::optional<StateSpace> OperandCheck::space_of(const OperandForm& form) const {
  if (form.role == "m") return StateSpace::shared;
  if (form.role == "t") return StateSpace::global;
  return space(form.role == "q" ? 1 : 0);
}

// What a variable stands for whose name may stand in place of a handle: of a query by what it asks (ptxas 13.0).
Opaque OperandCheck::opaque_of(const OperandForm& form) const {
  if (accesses_surface() || does(Does::surface_query)) return Opaque::surface;
  if (!does(Does::texture) || (form.role != "h" && form.role != "w")) return Opaque::none;
  if (has_word("force_unnormalized_coords")) return Opaque::sampler;
  const bool asks_sampler = form.role == "w" && (has_word("filter_mode") || has_word("addr_mode_0") ||
                                                 has_word("addr_mode_1") || has_word("addr_mode_2"));
  return asks_sampler && function_.has_samplers ? Opaque::sampler : Opaque::texture;
}

// Without a space, the windows of .const and .param are out of reach.
bool OperandCheck::takes_variable(const OperandForm& form, const Variable& variable) const {
  if (variable.opaque != Opaque::none) return variable.opaque == opaque_of(form);
  if (form.role == "r" || form.role == "h" || opaque_of(form) != Opaque::none) return false;
  if (form.role == "x") return true;
  const std::optional<StateSpace> in = space_of(form);
  return in ? *in == variable.space
            : variable.space != StateSpace::param && variable.space != StateSpace::constant;
}

// ptxas 13.0 loads and copies from addresses in special registers without components; it crashes where one is written to.
bool OperandCheck::takes_special_base(const OperandForm& form, const Operand& base) const {
  const bool crashes = ((does(Does::store) || does(Does::reduction)) && !has_word("async")) ||
                       does(Does::atomic) || does(Does::discard) ||
                       (does(Does::hint) && !has_word("tensormap"));
  return !crashes && !does(Does::mbarrier) && form.kind == OperandForm::Kind::address &&
         form_.features.has(find_special(base.text)->needs) && is_addend(base.text);
}

bool OperandCheck::takes_base(const OperandForm& form, const Operand& base) const {
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

// Nothing is added to what stands for a texture or a surface.
bool OperandCheck::takes_address(const OperandForm& form, const Operand& operand) const {
  if (opaque_of(form) != Opaque::none && operand.offset != 0) return false;
  return operand.kind == Operand::Kind::address && operand.count == 1 && takes_base(form, child(operand, 0));
}

// {a, b} of so many integers.
bool OperandCheck::takes_integers(const OperandForm& form, const Operand& operand, int count, Type type) {
  return operand.kind == Operand::Kind::vector && operand.count == count &&
         takes_parts(form, operand, type, false) && !is_float_vector(operand);
}

// An integer in a register or a constant.
bool OperandCheck::takes_integer(const Operand& operand, Type type) const {
  if (operand.kind == Operand::Kind::literal) return !operand.literal.is_float;
  return operand.kind == Operand::Kind::reg && !operand.negated && operand.second == -1 &&
         takes_register(type, declared(operand), false);
}

// Sizes in eight bits, or in the lower ones of 16; the rest in 32 and in 16 (PTX manual, "Tensor Attribute Override").
bool OperandCheck::takes_overrides(const OperandForm& form, const Operand& operand) {
  const int n = form_.coordinates;
  if (form.count >= 3 && !takes_integer(child(operand, 1), Type::b64)) return false;
  if (form.count >= 4 && !takes_integers(form, child(operand, 2), n, Type::b8) &&
      !takes_integers(form, child(operand, 2), n, Type::b16))
    return false;
  return form.count < 6 || (takes_integers(form, child(operand, 3), n - 1, Type::b32) &&
                            takes_integer(child(operand, 4), Type::b16));
}

// [map, ..., {coordinates}], where an offset of the map's address is none of the syntax.
bool OperandCheck::takes_tensor(const OperandForm& form, const Operand& operand) {
  if (operand.kind != Operand::Kind::address || operand.count != form.count || operand.offset != 0)
    return false;
  return takes_base(form, child(operand, 0)) && takes_overrides(form, operand) &&
         takes_integers(form, child(operand, form.count - 1), form_.coordinates, Type::b32);
}

// [endpoint, offset{, offset}]
bool OperandCheck::takes_handle(const OperandForm& form, const Operand& operand) const {
  if (operand.kind != Operand::Kind::address || operand.count != form.count || operand.offset != 0)
    return false;
  for (int i = 1; i < form.count; ++i)
    if (!takes_integer(child(operand, i), Type::u64)) return false;
  return takes_integer(child(operand, 0), Type::u32);
}

// A variable, or a register with its address.
bool OperandCheck::takes_sampler(const Operand& operand) const {
  if (operand.kind == Operand::Kind::symbol)
    return operand.variable->opaque == Opaque::sampler && operand.offset == 0;
  return operand.kind == Operand::Kind::reg && !operand.negated && operand.second == -1 &&
         takes_register(Type::u64, declared(operand), false);
}

// [handle, {coordinates}], or [handle, sampler, {coordinates}]; one coordinate in a register without braces too. The first of an array is a layer: an integer of 32
// bits.
bool OperandCheck::takes_texture(const OperandForm& form, const Operand& operand) {
  const int before = has_sampler() ? 2 : 1;
  if (operand.kind != Operand::Kind::address || operand.count != before + 1 || operand.offset != 0)
    return false;
  if (has_sampler() && !takes_sampler(child(operand, 1))) return false;
  const Operand& at = child(operand, before);
  const bool vector = at.kind == Operand::Kind::vector;
  if (has_sampler() && !vector) return false;
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

}  // namespace warpbit::ptx
