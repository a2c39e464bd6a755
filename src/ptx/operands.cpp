// SPDX-License-Identifier: Apache-2.0
#include "ptx/operands.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <set>
#include <string>

#include "ptx/operand_check.hpp"
#include "ptx/parts.hpp"

namespace warpbit::ptx {
namespace {

constexpr std::string_view kNoValue = "1..0";

}  // namespace

bool OperandCheck::takes(const OperandForm& form, const Operand& operand) {
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

std::string OperandCheck::describe_tensor(const OperandForm& form) const {
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

std::string OperandCheck::describe(const OperandForm& form) const {
  switch (form.kind) {
    case OperandForm::Kind::address: {
      const std::optional<StateSpace> in = space_of(form);
      return in ? fmt::format("[address] in .{}", name(*in)) : "[address]";
    }
    case OperandForm::Kind::tensor: return describe_tensor(form);
    case OperandForm::Kind::handle:
      return form.count == 2 ? "[endpoint, offset]" : "[endpoint, offset, offset of a counter]";
    case OperandForm::Kind::texture:
      return fmt::format("[.{} or .u64 register with a handle, {}{{{} coordinates}}]", name(opaque_of(form)),
                         has_sampler() ? ".samplerref, " : "", form_.coordinates);
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

bool OperandCheck::fits(std::size_t wanted, int at) {
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
    OperandCheck check(function, statement, form);
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
