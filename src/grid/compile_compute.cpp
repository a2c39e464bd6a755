// SPDX-License-Identifier: Apache-2.0
// Statements that compute in each lane alone: scalar operations, products and sums that are fused, moves, logic.
#include "grid/compiler.hpp"
#include "grid/memory.hpp"

namespace warpbit::grid {

// An instruction that computes by itself (scalar/).
void Compiler::scalar() {
  scalar::Operation operation = scalar::operation(statement_->opcode, words());
  if (operation.execute == nullptr) refuse({Errc::instruction_not_modelled, {}, "it is not executed yet", {}});
  for (int i = 0; i < count(); ++i)
    if (const std::string_view part = operand(i).part; !part.empty())
      scalar::select_part(operation, static_cast<std::size_t>(i), part);
  compute(operation);
}

void Compiler::compute(const scalar::Operation& operation) {
  Step step;
  step.run = steps::compute;
  step.place[0] = destination(operand(0));
  step.place[1] = operation.carry ? Place{Place::Kind::predicate, 1, false, carry_} : second(operand(0));
  if (operation.takes_carry) step.target = static_cast<std::int32_t>(carry_);
  using scalar::Function;
  scalar::Operation as_assembled = operation;
  for (int i = 1; i < count(); ++i) {
    const Type type = scalar::source_type(operation, i - 1);
    const Operand& from = operand(i);
    if (type == Type::pred && from.kind == Operand::Kind::literal)  // of selp, set and setp the last source
      as_assembled.predicate = ptx::literal_bits(from.literal, type) != 0;
    else
      step.place[static_cast<std::size_t>(i + 1)] = source(from, type);
  }
  // Signs that the assembler has put there, or of the statement.
  if (operation.function == Function::fma || operation.function == Function::vmad) {
    as_assembled.negate_product = operand(1).negated != operand(2).negated;
    as_assembled.negate_addend = operand(3).negated;
    for (std::size_t i = 2; i < 5; ++i) step.place[i].negated = false;
  }
  // A literal cannot be the first source of an instruction of the machine; that of min and max lies in registers.
  constexpr std::array kExchanged = {Function::add, Function::sub, Function::mul,
                                     Function::fma, Function::min, Function::max};
  if (operation.to == Type::f64 && std::ranges::find(kExchanged, operation.function) != kExchanged.end())
    as_assembled.exchanged = rules_.has(assembler::Rule::exchange)
                                 ? definitions_->is_later(operand(1), operand(2))
                                 : operand(1).kind == Operand::Kind::literal &&
                                       operation.function != Function::min &&
                                       operation.function != Function::max;
  vectorise(step, &as_assembled);
  step.extra = keep(std::move(as_assembled));
  add(step);
}

void Compiler::move() {
  const Type type = last_type();
  Step step;
  const Operand &d = operand(0), &a = operand(1);
  if (d.kind == Operand::Kind::vector) {
    step.run = steps::unpack;
    step.extra = keep(elements(d, type, true));
    step.place[2] = source(a, type);
    step.place[2].bits = static_cast<std::uint8_t>(ptx::bits(type));
  } else if (a.kind == Operand::Kind::vector) {
    step.run = steps::pack;
    step.place[0] = destination(d);
    step.extra = keep(elements(a, type, false));
  } else {
    const bool is_clock = a.kind == Operand::Kind::special &&
                          (a.text.starts_with("%clock") || a.text.starts_with("%globaltimer"));
    changes_ = is_clock;  // it is never twice the same
    step.run = is_clock ? steps::clock : type == Type::b128 ? steps::move_128 : steps::move;
    step.place[0] = destination(d);
    if (!is_clock) step.place[2] = source(a, type);
    // The address of a parameter of the kernel is one of global memory; local ones lie in the frame of the call.
    if (is_kernel_parameter(a))
      step.place[2] = constant(kParameters + address_of(a), 64);
    else if (a.kind == Operand::Kind::symbol && local_.contains(a.variable)) {
      step.run = steps::frame_address;
      if (a.variable->space == ptx::StateSpace::param)  // it lies in local memory from now on
        code_->locals.push_back({a.variable, static_cast<std::uint64_t>(local_.at(a.variable))});
    }
  }
  if (step.run == steps::pack || step.run == steps::unpack)
    vectorise_halves(step, program_.places[static_cast<std::size_t>(step.extra)]);
  else
    vectorise(step, nullptr);
  add(step);
}

// Dense elements, of metadata and elements. Registers in two of the vectors have no defined result.
void Compiler::decompress() {
  std::vector<Place> all = elements(operand(0), Type::b32, true);
  Step step;
  step.run = steps::decompress;
  step.access.count = static_cast<std::uint8_t>(all.size());
  for (const int i : {1, 2}) {
    const std::vector<Place> sources = elements(operand(i), Type::b32, false);
    all.insert(all.end(), sources.begin(), sources.end());
  }
  const auto is_twice = [&](const Place& one) {
    return one.kind == Place::Kind::reg && std::ranges::count_if(all, [&](const Place& other) {
                                             return other.kind == one.kind && other.slot == one.slot;
                                           }) > 1;
  };
  if (std::ranges::any_of(all, is_twice))
    return leave("a register is in two places of its vectors, which is undefined");
  step.target = keep(std::move(all));
  program_.compressions.push_back(ptx::compression(words()));
  step.extra = static_cast<std::int32_t>(program_.compressions.size()) - 1;
  add(step);
}

// Of predicates; other logic is that of scalar/.
void Compiler::logic() {
  if (last_type() != Type::pred) return scalar();
  Step step;
  step.run = steps::logic_predicates;
  // and, or, xor, not: 0 to 3.
  const scalar::Function function = scalar::operation(statement_->opcode, {}).function;
  step.extra = static_cast<std::int32_t>(function) - static_cast<std::int32_t>(scalar::Function::bit_and);
  step.place[0] = destination(operand(0));
  for (int i = 1; i < count(); ++i)
    step.place[static_cast<std::size_t>(i + 1)] = source(operand(i), Type::pred);
  add(step);
}

}  // namespace warpbit::grid
