// SPDX-License-Identifier: Apache-2.0
// Where registers, variables and operands lie.
#include "grid/compiler.hpp"
#include "grid/memory.hpp"
#include "grid/references.hpp"
#include "ptx/operands.hpp"

namespace warpbit::grid {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

void Compiler::lay_out_registers() {
  slot_.clear();
  std::uint32_t slots = 0, predicates = 0;
  for (const ptx::Register& one : function_->registers) {
    if (one.type == Type::pred) {
      slot_.push_back(predicates++);
      continue;
    }
    const int bits = ptx::bits(one.type);
    slot_.push_back(slots);
    slots += bits <= 32 ? 1 : static_cast<std::uint32_t>(bits / 32);
  }
  carry_ = predicates++;
  code_->slots = static_cast<int>(slots);
  code_->predicates = static_cast<int>(predicates);
}

// As ptxas lays them out (tests/isa/shared.tsv): what is named, of the kernel, of the module, and of the functions that it may
// call in the order of the text; then what these functions have and nobody names. Behind them what the launch adds.
void Compiler::lay_out_shared(const Named& names) {
  if (names.reserved_shared) program_.shared_bytes = program_.reserved_bytes = kReservedShared;
  const auto place = [&](const ptx::Variable& variable) {
    const auto aligned = static_cast<std::uint64_t>(variable.alignment);
    program_.shared_alignment = std::max(program_.shared_alignment, aligned);
    shared_[&variable] = round_up(program_.shared_bytes, aligned);
    (void)placed(&variable);
    program_.shared_bytes = shared_[&variable] + static_cast<std::uint64_t>(variable.bytes);
  };
  const auto place_all = [&](const auto& variables, bool named) {
    for (const ptx::Variable& one : variables)
      if (one.space == StateSpace::shared && one.bytes != 0 && names.variables.contains(&one) == named)
        place(one);
  };
  const ptx::ModuleText& module = *program_.module;
  const ptx::FunctionText* const kernel = names.functions.front();
  const std::set<const ptx::FunctionText*> called(names.functions.begin(), names.functions.end());
  for (const bool named : {true, false}) {
    place_all(kernel->variables, named);
    if (named) place_all(module.variables, named);
    for (const ptx::FunctionText& one : module.functions)
      if (&one != kernel && called.contains(&one)) place_all(one.variables, named);
  }
  std::uint64_t dynamic = 0;  // its alignment
  for (const ptx::Variable& one : module.variables)
    if (one.space == StateSpace::shared && one.bytes == 0)
      dynamic = std::max({dynamic, std::uint64_t{16}, static_cast<std::uint64_t>(one.alignment)});
  if (dynamic == 0) return;
  program_.shared_alignment = std::max(program_.shared_alignment, dynamic);
  program_.shared_bytes = round_up(program_.shared_bytes, dynamic);
  for (const ptx::Variable& one : module.variables)
    if (one.space == StateSpace::shared && one.bytes == 0) (void)placed(&one);
}

// Local variables, and the parameters of functions and of calls, lie in local memory; shared ones one after another.
void Compiler::lay_out_variables() {
  local_.clear();
  parameters_.clear();
  results_.clear();
  for (const ptx::Variable& one : declared_->parameters) parameters_.insert(&one);
  for (const ptx::Variable& one : declared_->returns) results_.insert(&one);
  std::int64_t at = 0;
  const auto place = [&](const ptx::Variable& variable) {
    at = (at + variable.alignment - 1) / variable.alignment * variable.alignment;
    local_[&variable] = at;
    at += variable.bytes;
    return local_[&variable];
  };
  if (!declared_->is_entry) {
    for (const ptx::Variable& one : declared_->parameters) code_->parameters.push_back(place(one));
    for (const ptx::Variable& one : declared_->returns) code_->returns.push_back(place(one));
  } else {
    for (const ptx::Variable& one : declared_->parameters) {  // places in the buffer of all parameters
      at = (at + one.alignment - 1) / one.alignment * one.alignment;
      local_[&one] = at;
      at += one.bytes;
    }
    at = 0;
  }
  for (const ptx::Variable& one : declared_->variables) {
    if (one.space == StateSpace::local)
      code_->locals.push_back({&one, static_cast<std::uint64_t>(place(one))});
    else if (one.space == StateSpace::param)
      place(one);
  }
  if (std::ranges::any_of(function_->statements,
                          [](const Statement& one) { return one.is->does == Does::allocate; })) {
    code_->saved_stack = (at + 7) / 8 * 8;
    at = code_->saved_stack + 8;
  }
  code_->local_bytes = at;
}

Place Compiler::constant(std::uint64_t value, int bits, std::uint64_t upper,
                         std::optional<ptx::Special> special, bool in_shared) {
  const Key key{value, upper, bits, special ? static_cast<int>(*special) : -1, in_shared};
  const auto [found, added] = constants_.try_emplace(key, static_cast<std::uint32_t>(program_.constant_slots));
  if (added) {
    program_.constants.push_back({found->second, bits, value, upper, special, in_shared});
    program_.constant_slots += bits <= 32 ? 1 : bits / 32;
  }
  return {Place::Kind::constant, static_cast<std::uint8_t>(bits), false, found->second};
}

Place Compiler::predicate(int index, bool negated) const {
  return {Place::Kind::predicate, 1, negated, slot_[static_cast<std::size_t>(index)]};
}

Place Compiler::reg(int index) const {
  const Type type = function_->registers[static_cast<std::size_t>(index)].type;
  if (type == Type::pred) return predicate(index, false);
  return {Place::Kind::reg, static_cast<std::uint8_t>(ptx::bits(type)), false,
          slot_[static_cast<std::size_t>(index)]};
}

Place Compiler::second(const Operand& operand) const {
  return operand.second >= 0 ? predicate(operand.second, false) : Place{};
}

// The address of a variable in its own space, and of a function.
std::uint64_t Compiler::address_of(const Operand& symbol) {
  const ptx::Variable* variable = symbol.variable;
  const auto offset = static_cast<std::uint64_t>(symbol.offset);
  if (const auto local = local_.find(variable); local != local_.end())
    return static_cast<std::uint64_t>(local->second) + offset;
  if (const auto shared = shared_.find(variable); shared != shared_.end()) return shared->second + offset;
  if (variable->space == StateSpace::shared)
    return program_.shared_bytes + offset;  // of the size that the launch gives
  for (const auto& [one, address] : addresses_)
    if (one == variable) return address + offset;
  refuse(fmt::format("'{}'", variable->name), "a variable that is defined in the module");
}

namespace {

bool is_of_module(const ptx::ModuleText& module, const ptx::Variable& variable) {
  return std::ranges::any_of(module.variables, [&](const ptx::Variable& one) { return &one == &variable; });
}

}  // namespace

// Of what it stands for: the launch knows.
Place Compiler::reference(const Operand& operand) {
  if (operand.variable->linkage == ptx::Linkage::external)
    refuse(fmt::format("'{}'", operand.variable->name), "a variable that is defined in the module");
  if (std::ranges::find(program_.references, operand.variable) == program_.references.end())
    program_.references.push_back(operand.variable);
  // An H200 reads by a variable what it reads by a handle; the driver loads neither samplers nor references as parameters
  // (tools/capture/texture_references.py).
  if (program_.module->has_samplers || !is_of_module(*program_.module, *operand.variable))
    note(Inference{-1, "what a name of a texture, sampler or surface stands for", "its handle"});
  return constant(reference_address(*program_.module, *operand.variable), 64);
}

Place Compiler::symbol(const Operand& operand, int bits) {
  if (operand.variable->opaque != ptx::Opaque::none) return reference(operand);
  return constant(address_of(operand), bits, 0, {}, operand.variable->space == StateSpace::shared);
}

bool Compiler::is_kernel_parameter(const Operand& symbol) const {
  return symbol.kind == Operand::Kind::symbol && symbol.variable->opaque == ptx::Opaque::none &&
         declared_->is_entry && std::ranges::any_of(declared_->parameters, [&](const ptx::Variable& one) {
           return &one == symbol.variable;
         });
}

Place Compiler::source(const Operand& operand, Type type) {
  switch (operand.kind) {
    case Operand::Kind::reg: {
      Place out = reg(operand.index);
      out.negated = operand.negated;
      return out;
    }
    case Operand::Kind::literal:
      return constant(ptx::literal_bits(operand.literal, type), std::max(ptx::bits(type), 8));
    case Operand::Kind::special: {
      const auto special = static_cast<ptx::Special>(operand.index);
      const Type of = ptx::find_special(operand.text)->type;
      program_.has_workspace = program_.has_workspace || special == ptx::Special::envreg1;
      return constant(0, std::max(ptx::bits(of), 32), 0, special);
    }
    case Operand::Kind::symbol: return symbol(operand, ptx::bits(type) == 32 ? 32 : 64);
    case Operand::Kind::function: {
      index_of(operand.text, statement_);
      return constant(function_address(*program_.module, operand.text), 64);
    }
    default: refuse(fmt::format("operand '{}'", operand.text), "a register or a constant");
  }
}

Place Compiler::destination(const Operand& operand) const {
  if (operand.kind == Operand::Kind::sink || operand.kind == Operand::Kind::special) return {};
  if (operand.kind != Operand::Kind::reg) refuse(fmt::format("destination '{}'", operand.text), "a register");
  return reg(operand.index);
}

// Its number in Program::variables; -1: it lies nowhere.
std::int32_t Compiler::placed(const ptx::Variable* variable) {
  if (variable == nullptr || (variable->bytes == 0 && variable->space != StateSpace::shared)) return -1;
  const auto [found, is_new] = placed_.try_emplace(variable, -1);
  if (!is_new) return found->second;
  std::optional<std::uint64_t> first;
  if (const auto local = local_.find(variable); local != local_.end())
    first = static_cast<std::uint64_t>(local->second);
  else if (const auto shared = shared_.find(variable); shared != shared_.end())
    first = shared->second;
  else if (variable->space == StateSpace::shared)
    first = program_.shared_bytes;
  for (const auto& [one, address] : addresses_)
    if (one == variable) first = address;
  if (!first) return -1;
  program_.variables.push_back({variable, *first});
  return found->second = static_cast<std::int32_t>(program_.variables.size()) - 1;
}

// [base + offset]: the base as a place.
Place Compiler::address(const Operand& operand, Access& access) {
  if (operand.kind != Operand::Kind::address) refuse("an operand without brackets", "an address");
  const Operand& base = child(operand, 0);
  access.offset = operand.offset;
  access.variable = placed(provenance_->variable(base));
  if (base.kind == Operand::Kind::literal) return constant(base.literal.bits, 64);
  if (base.kind == Operand::Kind::symbol) {
    access.in_frame = local_.contains(base.variable) && !is_kernel_parameter(base);
    return symbol(base, 64);
  }
  if (base.kind == Operand::Kind::reg) return reg(base.index);
  if (base.kind == Operand::Kind::special) return source(base, Type::b64);
  refuse(fmt::format("address '{}'", base.text), "a register, a variable or a constant");
}

std::vector<Place> Compiler::elements(const Operand& operand, Type type, bool destinations) {
  std::vector<Place> out;
  const auto one = [&](Operand item) {
    if (!ptx::is_floating(type)) item.literal.is_float = false;  // the lowest bits stand for an integer
    out.push_back(destinations ? destination(item) : source(item, type));
  };
  if (operand.kind != Operand::Kind::vector)
    one(operand);
  else
    for (int i = 0; i < operand.count; ++i) one(child(operand, i));
  return out;
}

}  // namespace warpbit::grid
