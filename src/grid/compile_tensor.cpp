// SPDX-License-Identifier: Apache-2.0
// Tensor instructions, matrix moves, conversions of small formats: what isa/ knows.
#include "grid/compiler.hpp"
#include "isa/instruction.hpp"
#include "ptx/refusal.hpp"
#include "ptx/special.hpp"

namespace warpbit::grid {

// The assembler takes one .cta_group in all that a kernel calls.
void Compiler::check_group(const TensorAction& action) {
  if (std::holds_alternative<tensor::RegisterMove>(action.what) ||
      std::holds_alternative<tensor::Ordering>(action.what))
    return;
  if (cta_group_ == 0) cta_group_ = action.cta_group;
  if (cta_group_ != action.cta_group)
    refuse(
        {Errc::no_such_form,
         {},
         fmt::format(".cta_group::{} in a kernel that has .cta_group::{}, too", action.cta_group, cta_group_),
         "one of them in all instructions of a kernel"});
}

namespace {

// As ptxas does.
bool takes_special_in_vector(const Statement& statement, std::span<const std::string_view> words) {
  const bool moves_fragment = statement.opcode == "wmma" && words[0] != "mma";
  return !moves_fragment && statement.opcode != "tcgen05";
}

}  // namespace

// A special register is no operand by itself; in braces it may be, and as an address.
void Compiler::check_no_special(const Operand& operand, bool in_vector) const {
  if (operand.kind == Operand::Kind::special)
    refuse(fmt::format("special register '{}'", operand.text), "a register, to which mov brings it");
  const bool is_address = operand.kind == Operand::Kind::address && statement_->opcode != "tcgen05";
  if (is_address && child(operand, 0).kind == Operand::Kind::special && ptx::is_addend(child(operand, 0).text))
    return;
  for (int i = 0; (in_vector || is_address) && i < operand.count; ++i)
    check_no_special(child(operand, i), true);
}

// The operand as isa/ reads it, with the types of its registers.
OperandText Compiler::tree(const Operand& operand) const {
  OperandText out;
  out.text = out.name = operand.text;
  out.position = operand.position;
  out.negated = operand.negated;
  out.literal = operand.literal;
  out.offset = operand.offset;
  if (operand.second != -1) out.behind = '|';
  switch (operand.kind) {
    case Operand::Kind::reg:
      out.type = ptx::row(function_->registers[static_cast<std::size_t>(operand.index)].type).name;
      break;
    case Operand::Kind::special:
      if (const std::optional<Type> is = ptx::type_in_vector(operand.text)) out.type = ptx::row(*is).name;
      break;
    case Operand::Kind::symbol: out.behind = operand.offset == 0 ? '\0' : '+'; break;
    case Operand::Kind::literal: out.kind = OperandText::Kind::literal; break;
    case Operand::Kind::vector: out.kind = OperandText::Kind::vector; break;
    case Operand::Kind::list: out.kind = OperandText::Kind::list; break;
    case Operand::Kind::address:
      if (!operand.text.starts_with('['))
        out.behind = '[';  // symbol[4]
      else
        out.kind = OperandText::Kind::address;
      break;
    default: break;
  }
  for (int i = 0; i < operand.count; ++i) out.parts.push_back(tree(child(operand, i)));
  return out;
}

bool Compiler::tensor(const Error* scalar) {
  const Does does = statement_->is->does;
  const bool proxy = does == Does::fence && words().size() > 1 && word(0) == "proxy" && word(1) == "async" &&
                     !words().back().starts_with("sync_restrict");
  if (does != Does::tensor && does != Does::convert && !proxy) return false;
  warpbit::Statement read{statement_->opcode, {words().begin(), words().end()}, {}, true};
  for (int i = 0; i < count(); ++i) read.operands.push_back(tree(operand(i)));
  Result<Instruction> parsed = Instruction::decode(read, statement_->text, program_.target);
  // Where ptxas 13.0 does not ask for it, and the manual does (QualifierSlot::assembler_optional).
  if (!parsed && checks_ && parsed.error().code == Errc::undocumented_form && !has("aligned")) {
    read.qualifiers.push_back("aligned");
    if (Instruction::decode(read, statement_->text, program_.target)) return nothing(), true;
  }
  if (!parsed) refuse(scalar != nullptr ? ptx::nearer(*scalar, parsed.error()) : parsed.error());
  if (count() == 0 && !parsed->operands().empty()) refuse("no operands", "those of the form");
  for (int i = 0; i < count(); ++i)
    check_no_special(operand(i), !takes_special_in_vector(*statement_, words()));
  check_version();
  note(inference(*parsed));
  Step step;
  const CompiledAction& action = parsed->decoded().kernel;
  if (const auto* const of = std::get_if<TensorAction>(&action)) {
    if (!of->not_executed.empty()) return leave(of->not_executed), true;
    check_group(*of);
  }
  step.run = std::holds_alternative<Control>(action)        ? steps::control
             : std::holds_alternative<TensorAction>(action) ? steps::tensor_memory
                                                            : steps::tensor;
  std::vector<Place> places;
  // Operand by operand, in the statement's order: as many places as it has registers.
  int k = 0;
  for (const warpbit::Operand& one : parsed->operands()) {
    const Operand& written = operand(k++);
    if (one.registers == 0) continue;
    std::vector<Place> of;
    if (written.kind == Operand::Kind::address) {
      Access access;  // the offset is the instruction's own
      of.push_back(address(written, access));
      step.access.variable = access.variable;
    } else {
      of = elements(written,
                    one.register_bits == 64   ? Type::b64
                    : one.register_bits == 16 ? Type::b16
                                              : Type::f32,
                    one.is_destination());
    }
    of.resize(static_cast<std::size_t>(one.registers));
    places.insert(places.end(), of.begin(), of.end());
  }
  vectorise_pair(step, *parsed, places);
  step.extra = static_cast<std::int32_t>(program_.instructions.size());
  program_.tensor_plans.push_back(steps::tensor_plan(*parsed, places));
  step.target = keep(std::move(places));
  program_.instructions.push_back(*std::move(parsed));
  add(step);
  return true;
}

}  // namespace warpbit::grid
