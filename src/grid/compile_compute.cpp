// SPDX-License-Identifier: Apache-2.0
// Statements that compute in each lane alone: scalar operations, products and sums that are fused, moves, logic.
#include "grid/compiler.hpp"
#include "grid/memory.hpp"

namespace warpbit::grid {

// An instruction that computes by itself (scalar/).
void Compiler::scalar() {
  const scalar::Operation operation = scalar::operation(statement_->opcode, words());
  if (operation.execute == nullptr) refuse({Errc::instruction_not_modelled, {}, "it is not executed yet", {}});
  note_evidence();
  compute(operation);
}

void Compiler::compute(const scalar::Operation& operation) {
  Step step;
  step.run = steps::compute;
  step.place[0] = destination(operand(0));
  step.place[1] = operation.carry ? Place{Place::Kind::predicate, 1, false, carry_} : second(operand(0));
  if (operation.opcode == "addc" || operation.opcode == "subc" || operation.opcode == "madc")
    step.target = static_cast<std::int32_t>(carry_);
  for (int i = 1; i < count(); ++i) {
    Type type = operation.type;
    const Operand& from = operand(i);
    const bool amount = (operation.opcode == "shl" || operation.opcode == "shr") && i == 2;
    if (amount || (operation.opcode == "bfe" && i > 1) || (operation.opcode == "bfi" && i > 2))
      type = Type::u32;
    if (operation.opcode == "slct" && i == 3) type = operation.third;
    if (operation.mode == scalar::Mode::wide && i == 3) type = operation.to;
    if (operation.opcode.starts_with("dp") || operation.opcode == "cvt.pack") type = Type::b32;
    if (from.kind == Operand::Kind::reg &&
        function_->registers[static_cast<std::size_t>(from.index)].type == Type::pred)
      type = Type::pred;
    step.place[static_cast<std::size_t>(i + 1)] = source(from, type);
  }
  constexpr std::array<std::string_view, 4> kExchanged = {"add", "sub", "mul", "fma"};
  scalar::Operation as_assembled = operation;
  if (operation.to == Type::f64 && std::ranges::find(kExchanged, operation.opcode) != kExchanged.end())
    as_assembled.exchanged = definitions_->is_later(operand(1), operand(2));
  vectorise(step, &as_assembled);
  step.extra = keep(std::move(as_assembled));
  add(step);
}

// The factors of a mul that sums are fused with; where registers change before, what they have now.
void Compiler::product(int at, bool saves) {
  const Type type = scalar::operation("mul", words()).type;
  Product out{{source(operand(1), type), source(operand(2), type)},
              definitions_->is_later(operand(1), operand(2))};
  for (Place& factor : out.factors) {
    if (!saves || factor.kind != Place::Kind::reg) continue;
    Step step;
    step.run = steps::move;
    step.place[2] = factor;
    factor.slot = static_cast<std::uint32_t>(code_->slots);
    code_->slots += factor.bits <= 32 ? 1 : factor.bits / 32;
    step.place[0] = factor;
    add(step);
  }
  products_[at] = out;
}

// d = a b + c, where the statement is the sum and a mul before it is the product: each of a, b and c with its sign.
void Compiler::fused(const Fused& sum) {
  scalar::Operation operation = scalar::operation("fma", words());
  const Product& product = products_.at(sum.product);
  Step step;
  step.run = steps::compute;
  step.place[0] = destination(operand(0));
  step.place[2] = product.factors[0];
  step.place[3] = product.factors[1];
  step.place[4] = source(operand(3 - sum.operand), operation.type);
  const bool subtracts = statement_->opcode == "sub";
  operation.negate_product = (subtracts && sum.operand == 2) != sum.negated;
  operation.negate_addend = subtracts && sum.operand == 1;
  operation.exchanged = product.exchanged;
  step.extra = keep(operation);
  vectorise(step, &operation);
  program_.contracted = true;
  note_evidence();
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
    step.run = is_clock ? steps::clock : type == Type::b128 ? steps::move_128 : steps::move;
    step.place[0] = destination(d);
    if (!is_clock) step.place[2] = source(a, type);
    // The address of a parameter of the kernel is one of global memory; local ones lie in the frame of the call.
    if (is_kernel_parameter(a))
      step.place[2] = constant(kParameters + address_of(a), 64);
    else if (a.kind == Operand::Kind::symbol && local_.contains(a.variable))
      step.run = steps::frame_address;
  }
  if (step.run == steps::pack || step.run == steps::unpack)
    vectorise_halves(step, program_.places[static_cast<std::size_t>(step.extra)]);
  else
    vectorise(step, nullptr);
  add(step);
}

// Of predicates; other logic is that of scalar/.
void Compiler::logic() {
  if (last_type() != Type::pred) return scalar();
  constexpr std::array<std::string_view, 4> kNames = {"and", "or", "xor", "not"};
  Step step;
  step.run = steps::logic_predicates;
  step.extra = static_cast<std::int32_t>(std::ranges::find(kNames, statement_->opcode) - kNames.begin());
  step.place[0] = destination(operand(0));
  for (int i = 1; i < count(); ++i)
    step.place[static_cast<std::size_t>(i + 1)] = source(operand(i), Type::pred);
  add(step);
}

}  // namespace warpbit::grid
