// SPDX-License-Identifier: Apache-2.0
// Whether the operands of a statement are those of a form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/operands.hpp"
#include "ptx/special.hpp"

namespace warpbit::ptx {

/// Whether a constant is one of the form's, of a type. The bits of a floating-point constant stand for those of the register's size; an
/// f32's and an f64's are rounded.
bool takes_literal(const OperandForm& form, Type type, const Literal& value);

/// Of one statement and one form.
class OperandCheck {
 public:
  OperandCheck(const FunctionText& function, const Statement& statement, const MatchedForm& form)
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
  /// A texture's address has a sampler behind it (texmode_independent).
  bool has_sampler() const { return does(Does::texture) && function_.has_samplers; }
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
  Opaque opaque_of(const OperandForm& form) const;
  bool takes_variable(const OperandForm& form, const Variable& variable) const;
  bool takes_special_base(const OperandForm& form, const Operand& base) const;
  bool takes_base(const OperandForm& form, const Operand& base) const;
  bool takes_address(const OperandForm& form, const Operand& operand) const;
  bool takes_integers(const OperandForm& form, const Operand& operand, int count, Type type);
  bool takes_integer(const Operand& operand, Type type) const;
  bool takes_overrides(const OperandForm& form, const Operand& operand);
  bool takes_tensor(const OperandForm& form, const Operand& operand);
  bool takes_handle(const OperandForm& form, const Operand& operand) const;
  bool takes_sampler(const Operand& operand) const;
  bool takes_texture(const OperandForm& form, const Operand& operand);
  std::string describe_tensor(const OperandForm& form) const;
  std::string describe(const OperandForm& form) const;

  const FunctionText& function_;
  const Statement& statement_;
  const MatchedForm& form_;
  bool wrong_type_ = false;
};

}  // namespace warpbit::ptx
