// SPDX-License-Identifier: Apache-2.0
#include "grid/compile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <unordered_map>

#include "grid/contract.hpp"
#include "grid/flow.hpp"
#include "grid/memory.hpp"
#include "grid/reach.hpp"
#include "grid/steps.hpp"
#include "grid/written.hpp"
#include "isa/instruction.hpp"
#include "ptx/forms.hpp"
#include "ptx/operands.hpp"

namespace warpbit::grid {
namespace {

using ptx::Operand, ptx::Statement, ptx::StateSpace, ptx::Type;

/// Thrown inside this file alone; compile returns it.
struct Refused {
  Error error;
};

struct Key {
  std::uint64_t value, upper;
  int bits;
  int special;
  auto operator<=>(const Key&) const = default;
};

/// One function at a time; what all share is in the program.
class Compiler {
 public:
  Compiler(Program& program, const Addresses& addresses) : program_(program), addresses_(addresses) {
    lay_out_shared();
  }
  /// Every refusal is kept in `refused`, if there is one, instead of being thrown.
  void function(std::size_t index, std::vector<Error>* refused = nullptr);
  std::size_t index_of(std::string_view name, const Statement* at);

 private:
  // ---- The statement at hand
  std::string_view word(int i) const {
    return function_->qualifiers[static_cast<std::size_t>(statement_->first_qualifier + i)];
  }
  std::span<const std::string_view> words() const {
    return std::span(function_->qualifiers)
        .subspan(static_cast<std::size_t>(statement_->first_qualifier),
                 static_cast<std::size_t>(statement_->qualifiers));
  }
  bool has(std::string_view wanted) const { return std::ranges::find(words(), wanted) != words().end(); }
  int count() const { return statement_->operands; }
  const Operand& operand(int i) const {
    return function_->operands[static_cast<std::size_t>(statement_->first_operand + i)];
  }
  const Operand& child(const Operand& parent, int i) const {
    return function_->operands[static_cast<std::size_t>(parent.first + i)];
  }
  [[noreturn]] void refuse(Error error) const;
  [[noreturn]] void refuse(std::string seen, std::string accepted) const;

  // ---- Places
  void lay_out_shared();
  void lay_out_registers();
  void lay_out_variables();
  Place constant(std::uint64_t value, int bits, std::uint64_t upper = 0,
                 std::optional<ptx::Special> special = {});
  Place reg(int index) const;
  Place second(const Operand& operand) const;
  Place predicate(int index, bool negated) const;
  Place source(const Operand& operand, Type type);
  Place destination(const Operand& operand) const;
  std::uint64_t address_of(const Operand& symbol);
  bool is_kernel_parameter(const Operand& symbol) const;
  Place address(const Operand& operand, Access& access);
  std::vector<Place> elements(const Operand& operand, Type type, bool destinations);
  int keep(std::vector<Place> places) {
    program_.places.push_back(std::move(places));
    return static_cast<int>(program_.places.size()) - 1;
  }
  int keep(scalar::Operation operation) {
    program_.operations.push_back(std::move(operation));
    return static_cast<int>(program_.operations.size()) - 1;
  }

  // ---- Statements
  /// What an opcode becomes; one that has no row is a scalar operation.
  struct Maker {
    std::string_view opcode;
    void (Compiler::*make)();
  };
  static const Maker kMakers[];
  void statement();
  const Result<std::vector<ptx::MatchedForm>>& matched();
  bool is_unmeasured(const ptx::MatchedForm& form) const;
  bool tensor();
  void note_evidence() {
    if (program_.inferred.empty() && !scalar::is_captured(statement_->opcode, words(), program_.target))
      program_.inferred = fmt::format("{}.{}", statement_->opcode, fmt::join(words(), "."));
  }
  void compute(const scalar::Operation& operation);
  void product(int at, bool saves);
  void fused(const Fused& sum);
  void scalar();
  void branch();
  void fence();
  template <Run kRun>
  void run() {
    add({.run = kRun});
  }
  void nothing() { run<steps::nothing>(); }
  void move();
  void logic();
  bool is_strong();
  void load() { access(true); }
  void store() { access(false); }
  void access(bool loads);
  void atomic() { atomic_of(true); }
  void reduction() { atomic_of(false); }
  void atomic_of(bool returns);
  void stack();
  void cluster_address();
  void policy();
  void copy_async();
  void branch_indexed();
  void call();
  void barrier();
  void lanes();
  void window();
  void add(Step step);
  Type last_type() const;
  std::string_view named_operation() const;
  StateSpace space(bool& generic) const;

  Program& program_;
  const Addresses& addresses_;
  const ptx::FunctionText* function_ = nullptr;
  FunctionCode* code_ = nullptr;
  const Statement* statement_ = nullptr;
  std::optional<Definitions> definitions_;  // above the statement
  std::vector<std::uint32_t> slot_;         // by register
  std::uint32_t carry_ = 0;
  std::unordered_map<const ptx::Variable*, std::int64_t> local_;    // of the function at hand
  std::unordered_map<const ptx::Variable*, std::uint64_t> shared_;  // of all
  std::map<Key, std::uint32_t> constants_;
  std::unordered_map<std::string, Result<std::vector<ptx::MatchedForm>>> matched_;  // by opcode and qualifiers
  struct Pending {
    std::size_t step;
    int statement;
  };
  std::vector<Pending> pending_;
  struct Product {
    std::array<Place, 2> factors;
    bool exchanged;
  };
  std::map<int, Product> products_;  // by statement
  std::vector<std::pair<std::size_t, const ptx::LabelTable*>> pending_tables_;
};

void Compiler::refuse(Error error) const {
  if (statement_ != nullptr)
    error.where = fmt::format("{}: {}", ptx::text(statement_->position),
                              error.where.empty() ? std::string(statement_->text) : error.where);
  throw Refused{std::move(error)};
}
void Compiler::refuse(std::string seen, std::string accepted) const {
  refuse({Errc::operand_kind, {}, std::move(seen), std::move(accepted)});
}

// ---- Places

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

// The variables of the module and of all its functions; behind them what the launch adds.
void Compiler::lay_out_shared() {
  std::uint64_t& size = program_.shared_bytes;
  std::uint64_t alignment = 16;
  const auto place = [&](const ptx::Variable& variable) {
    if (variable.space != StateSpace::shared) return;
    const auto aligned = static_cast<std::uint64_t>(variable.alignment);
    if (variable.bytes == 0) {
      alignment = std::max(alignment, aligned);
      return;
    }
    size = (size + aligned - 1) / aligned * aligned;
    shared_[&variable] = size;
    size += static_cast<std::uint64_t>(variable.bytes);
  };
  for (const ptx::Variable& variable : program_.module->variables) place(variable);
  for (const ptx::FunctionText& function : program_.module->functions)
    for (const ptx::Variable& variable : function.variables) place(variable);
  size = (size + alignment - 1) / alignment * alignment;
}

// Local variables, and the parameters of functions and of calls, lie in local memory; shared ones one after another.
void Compiler::lay_out_variables() {
  local_.clear();
  std::int64_t at = 0;
  const auto place = [&](const ptx::Variable& variable) {
    at = (at + variable.alignment - 1) / variable.alignment * variable.alignment;
    local_[&variable] = at;
    at += variable.bytes;
    return local_[&variable];
  };
  if (!function_->is_entry) {
    for (const ptx::Variable& one : function_->parameters)
      code_->parameters.push_back(one.space == StateSpace::param ? place(one) : -1);
    for (const ptx::Variable& one : function_->returns)
      code_->returns.push_back(one.space == StateSpace::param ? place(one) : -1);
  } else {
    for (const ptx::Variable& one : function_->parameters) {  // places in the buffer of all parameters
      at = (at + one.alignment - 1) / one.alignment * one.alignment;
      local_[&one] = at;
      at += one.bytes;
    }
    at = 0;
  }
  for (const ptx::Variable& one : function_->variables) {
    if (one.space == StateSpace::local || one.space == StateSpace::param) place(one);
  }
  if (std::ranges::find(function_->statements, "alloca", &Statement::opcode) != function_->statements.end()) {
    code_->saved_stack = (at + 7) / 8 * 8;
    at = code_->saved_stack + 8;
  }
  code_->local_bytes = at;
}

Place Compiler::constant(std::uint64_t value, int bits, std::uint64_t upper,
                         std::optional<ptx::Special> special) {
  const Key key{value, upper, bits, special ? static_cast<int>(*special) : -1};
  const auto [found, added] = constants_.try_emplace(key, static_cast<std::uint32_t>(program_.constant_slots));
  if (added) {
    program_.constants.push_back({found->second, bits, value, upper, special});
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

bool Compiler::is_kernel_parameter(const Operand& symbol) const {
  return symbol.kind == Operand::Kind::symbol && function_->is_entry &&
         std::ranges::any_of(function_->parameters,
                             [&](const ptx::Variable& one) { return &one == symbol.variable; });
}

Place Compiler::source(const Operand& operand, Type type) {
  switch (operand.kind) {
    case Operand::Kind::reg: {
      Place out = reg(operand.index);
      out.negated = operand.negated;
      return out;
    }
    case Operand::Kind::literal: {
      const std::uint64_t value = ptx::literal_bits(operand.literal, type);
      return constant(type == Type::pred ? operand.literal.bits != 0 : value, std::max(ptx::bits(type), 8));
    }
    case Operand::Kind::special: {
      const auto special = static_cast<ptx::Special>(operand.index);
      const Type of = ptx::find_special(operand.text)->type;
      return constant(0, std::max(ptx::bits(of), 32), 0, special);
    }
    case Operand::Kind::symbol: return constant(address_of(operand), 64);
    case Operand::Kind::function: {
      index_of(operand.text, statement_);
      return constant(function_address(*program_.module, operand.text), 64);
    }
    default: refuse(fmt::format("operand '{}'", operand.text), "a register or a constant");
  }
}

Place Compiler::destination(const Operand& operand) const {
  if (operand.kind == Operand::Kind::sink) return {};
  if (operand.kind != Operand::Kind::reg) refuse(fmt::format("destination '{}'", operand.text), "a register");
  return reg(operand.index);
}

// [base + offset]: the base as a place.
Place Compiler::address(const Operand& operand, Access& access) {
  if (operand.kind != Operand::Kind::address) refuse("an operand without brackets", "an address");
  const Operand& base = child(operand, 0);
  access.offset = operand.offset;
  if (base.kind == Operand::Kind::literal) return constant(base.literal.bits, 64);
  if (base.kind == Operand::Kind::symbol) {
    access.in_frame = local_.contains(base.variable) && !is_kernel_parameter(base);
    return constant(address_of(base), 64);
  }
  if (base.kind == Operand::Kind::reg) return reg(base.index);
  refuse(fmt::format("address '{}'", base.text), "a register, a variable or a constant");
}

std::vector<Place> Compiler::elements(const Operand& operand, Type type, bool destinations) {
  std::vector<Place> out;
  const auto one = [&](const Operand& item) {
    out.push_back(destinations ? destination(item) : source(item, type));
  };
  if (operand.kind != Operand::Kind::vector)
    one(operand);
  else
    for (int i = 0; i < operand.count; ++i) one(child(operand, i));
  return out;
}

// ---- Statements

void Compiler::add(Step step) {
  step.statement = static_cast<std::int32_t>(program_.origins.size()) - 1;
  if (statement_->guard >= 0) {
    step.guard = static_cast<int>(slot_[static_cast<std::size_t>(statement_->guard)]);
    step.guard_negated = statement_->guard_negated;
  }
  program_.steps.push_back(step);
}

Type Compiler::last_type() const {
  Type out = Type::b32;
  for (const std::string_view one : words())
    if (const auto type = ptx::find_type(one)) out = *type;
  return out;
}

// Of atom, red and redux.
std::string_view Compiler::named_operation() const {
  constexpr std::array<std::string_view, 6> kOperations = {"add", "min", "max", "and", "or", "xor"};
  const auto name = std::ranges::find_if(kOperations, [&](std::string_view one) { return has(one); });
  return name == kOperations.end() ? std::string_view() : *name;
}

StateSpace Compiler::space(bool& generic) const {
  generic = false;
  for (const std::string_view one : words()) {
    if (one == "global") return StateSpace::global;
    if (one.starts_with("shared")) return StateSpace::shared;
    if (one == "local") return StateSpace::local;
    if (one == "const") return StateSpace::constant;
    if (one.starts_with("param")) return StateSpace::param;
  }
  generic = true;
  return StateSpace::global;
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

// An access by which threads may wait for each other.
bool Compiler::is_strong() {
  const bool ordered = has("acquire") || has("release") || has("acq_rel") || has("volatile");
  program_.orders_by_memory = program_.orders_by_memory || ordered;
  return ordered || has("relaxed") || has("mmio");
}

void Compiler::access(bool loads) {
  Step step;
  const Type type = last_type();
  step.access.space = space(step.access.generic);
  const Operand& where = operand(loads ? 1 : 0);
  step.place[2] = address(where, step.access);
  // A parameter of a function or of a call lies in local memory; those of the kernel in a buffer of their own.
  if (step.access.space == StateSpace::param) {
    const Operand& base = child(where, 0);
    if (base.kind == Operand::Kind::reg) {
      step.access.space = StateSpace::global;
      step.access.generic = true;
    } else if (!is_kernel_parameter(base)) {
      step.access.space = StateSpace::local;
    }
  }
  const Operand& values = operand(loads ? 0 : 1);
  std::vector<Place> places = elements(values, type, loads);
  step.access.bytes = static_cast<std::uint8_t>(ptx::bits(type) / 8);
  step.access.count = static_cast<std::uint8_t>(places.size());
  step.access.sign_extends = ptx::is_signed(type);
  step.access.strong = is_strong();
  step.run = steps::access(step, places, loads);
  step.extra = keep(std::move(places));
  add(step);
}

void Compiler::atomic_of(bool returns) {
  Step step;
  const Type type = last_type();
  step.run = steps::atomic;
  step.access.space = space(step.access.generic);
  step.access.bytes = static_cast<std::uint8_t>(ptx::bits(type) / 8);
  const int first = returns ? 1 : 0;
  is_strong();  // of its order
  step.access.strong = true;
  step.place[2] = address(operand(first), step.access);
  std::vector<Place> addends = elements(operand(first + 1), type, false);
  const bool is_vector = operand(first + 1).kind == Operand::Kind::vector;
  std::vector<Place> old = returns ? elements(operand(0), type, true) : std::vector<Place>(addends.size());
  step.place[0] = old[0];
  step.place[3] = addends[0];
  steps::Atomic kind = steps::Atomic::operation;
  if (has("exch")) kind = steps::Atomic::exchange;
  if (has("cas")) kind = steps::Atomic::compare;
  if (has("inc")) kind = steps::Atomic::increment;
  if (has("dec")) kind = steps::Atomic::decrement;
  if (kind == steps::Atomic::compare) step.place[4] = source(operand(first + 2), type);
  step.target = static_cast<std::int32_t>(kind);
  if (kind == steps::Atomic::operation) {
    const std::array<std::string_view, 1> of = {ptx::row(type).name};
    step.extra = keep(scalar::operation(named_operation(), of));
  }
  if (is_vector) {
    step.run = steps::atomic_vector;
    step.access.count = static_cast<std::uint8_t>(addends.size());
    old.insert(old.end(), addends.begin(), addends.end());
    step.target = keep(std::move(old));
  } else if (type == Type::b128) {
    step.run = steps::atomic_128;
  }
  add(step);
}

// alloca, stacksave, stackrestore. What a call has allocated goes when it returns.
void Compiler::stack() {
  Step step;
  const std::string_view opcode = statement_->opcode;
  if (opcode == "stackrestore") {
    step.run = steps::restore_stack;
    step.place[2] = source(operand(0), last_type());
    return add(step);
  }
  step.run = opcode == "stacksave" ? steps::save_stack : steps::allocate_on_stack;
  step.place[0] = destination(operand(0));
  if (opcode == "alloca") {
    step.place[2] = source(operand(1), last_type());
    const std::uint64_t alignment = count() > 2 ? operand(2).literal.bits : 8;
    if (!std::has_single_bit(alignment)) refuse(fmt::format("an alignment of {}", alignment), "a power of two");
    step.access.offset = static_cast<std::int64_t>(alignment);
  }
  add(step);
}

// In a cluster of one block each address is its own, and the rank is 0.
void Compiler::cluster_address() {
  Step step;
  const bool maps = statement_->opcode == "mapa";
  step.run = maps ? steps::map_address : steps::move;
  step.place[0] = destination(operand(0));
  step.place[2] = maps ? source(operand(1), last_type()) : constant(0, 32);
  if (maps) step.place[3] = source(operand(2), Type::u32);
  add(step);
}

// What policies are is not modelled: they change no result.
void Compiler::policy() {
  Step step;
  step.run = steps::move;
  step.place[0] = destination(operand(0));
  step.place[2] = constant(0, 64);
  add(step);
}

void Compiler::copy_async() {
  if (has("commit_group")) return add({.run = steps::commit_group});
  if (has("wait_all")) return add({.run = steps::wait_group, .target = -1});
  if (has("wait_group"))
    return add({.run = steps::wait_group, .target = static_cast<std::int32_t>(operand(0).literal.bits)});
  if (has("mbarrier")) refuse({Errc::instruction_not_modelled, {}, "it needs mbarrier objects", {}});
  Step step;
  step.run = steps::copy_async;
  Access from;
  step.place[2] = address(operand(0), step.access);
  step.place[3] = address(operand(1), from);
  step.target = static_cast<std::int32_t>(from.offset);
  step.access.bytes = static_cast<std::uint8_t>(operand(2).literal.bits);
  const int last = has("L2::cache_hint") ? count() - 1 : count();
  if (last > 3) {
    const Operand& size = operand(3);
    const bool ignore = size.kind == Operand::Kind::reg &&
                        function_->registers[static_cast<std::size_t>(size.index)].type == Type::pred;
    step.place[4] = source(size, ignore ? Type::pred : Type::u32);
  }
  add(step);
}

void Compiler::branch_indexed() {
  Step step;
  step.run = steps::branch_indexed;
  step.place[2] = source(operand(0), Type::u32);
  pending_tables_.push_back(
      {program_.steps.size(), &function_->tables[static_cast<std::size_t>(operand(1).index)]});
  add(step);
}

// call{.uni} (results), function, (arguments){, table}; without results or arguments their lists are absent.
void Compiler::call() {
  if (Result<void> taken = ptx::check_call(*program_.module, *function_, *statement_); !taken)
    throw Refused{taken.error()};
  Step step;
  step.run = steps::call;
  Call call;
  int i = 0;
  const Operand* results = nullptr;
  if (operand(i).kind == Operand::Kind::list) results = &operand(i++);
  const Operand& callee = operand(i++);
  const Operand* arguments = i < count() && operand(i).kind == Operand::Kind::list ? &operand(i++) : nullptr;
  if (callee.kind == Operand::Kind::function) {
    if (program_.module->find(callee.text)->has_body)
      call.function = static_cast<int>(index_of(callee.text, statement_));
    else
      step.run = steps::system_call(callee.text);
    program_.allocates = program_.allocates || callee.text == "malloc";
    if (step.run == nullptr)
      refuse({Errc::instruction_not_modelled,
              fmt::format("a call of '{}'", callee.text),
              "the module does not define it, and no device has it",
              {}});
  } else {
    step.place[2] = source(callee, Type::u64);
  }
  const auto copies = [&](const Operand* list, std::vector<Call::Copy>& out) {
    for (int k = 0; list != nullptr && k < list->count; ++k) {
      const Operand& item = child(*list, k);
      if (item.kind != Operand::Kind::symbol)
        refuse("an argument that is not in .param", "the name of a .param variable");
      const std::int64_t at = local_.at(item.variable);
      out.push_back({at, at, item.variable->bytes});
    }
  };
  copies(arguments, call.arguments);
  copies(results, call.results);
  step.extra = static_cast<std::int32_t>(program_.calls.size());
  program_.calls.push_back(std::move(call));
  add(step);
}

void Compiler::barrier() {
  if (has("warp")) return lanes();
  Step step;
  step.run = steps::barrier;
  int i = 0;
  const bool reduces = has("red");
  if (reduces) step.place[0] = destination(operand(i++));
  step.place[2] = source(operand(i++), Type::u32);
  const int last = reduces ? count() - 1 : count();
  if (i < last) step.place[3] = source(operand(i++), Type::u32);
  if (reduces) {
    step.place[4] = source(operand(count() - 1), Type::pred);
    step.access.count = has("popc") ? 1 : has("and") ? 2 : 3;
  } else {
    step.access.count = 0;
  }
  const bool aligned = statement_->opcode == "bar" || has("aligned");
  step.target = (has("arrive") ? 0 : steps::kWaits) | (aligned ? steps::kAligned : 0);
  add(step);
}

// shfl, vote, match, redux, activemask, elect, bar.warp.sync.
void Compiler::lanes() {
  Step step;
  const std::string_view opcode = statement_->opcode;
  const Type type = last_type();
  if (opcode == "bar") {
    step.run = steps::sync_warp;
    step.place[2] = source(operand(0), Type::b32);
    return add(step);
  }
  step.place[0] = destination(operand(0));
  step.place[1] = second(operand(0));
  if (opcode == "activemask") {
    step.run = steps::active_mask;
    return add(step);
  }
  for (int i = 1; i < count(); ++i)
    step.place[static_cast<std::size_t>(i + 1)] = source(operand(i), opcode == "vote" && i == 1 ? Type::pred
                                                                     : i == 1                   ? type
                                                                                                : Type::b32);
  if (opcode == "shfl") {
    step.run = steps::shuffle;
    step.extra = static_cast<std::int32_t>(has("up")     ? steps::Shuffle::up
                                           : has("down") ? steps::Shuffle::down
                                           : has("bfly") ? steps::Shuffle::butterfly
                                                         : steps::Shuffle::index);
  } else if (opcode == "vote") {
    step.run = steps::vote;
    step.extra = static_cast<std::int32_t>(has("all")   ? steps::Vote::all
                                           : has("any") ? steps::Vote::any
                                           : has("uni") ? steps::Vote::uniform
                                                        : steps::Vote::ballot);
  } else if (opcode == "match") {
    step.run = steps::match;
    step.extra = has("all") ? 1 : 0;
  } else if (opcode == "redux") {
    step.run = steps::reduce;
    const std::array<std::string_view, 1> of = {ptx::row(type).name};
    step.extra = keep(scalar::operation(named_operation(), of));
  } else {
    step.run = steps::elect;
  }
  add(step);
}

// cvta, cvta.to, isspacep
void Compiler::window() {
  Step step;
  bool generic = false;
  step.access.space = space(generic);
  step.run = statement_->opcode == "isspacep" ? steps::is_space
             : has("to")                      ? steps::from_generic
                                              : steps::to_generic;
  step.place[0] = destination(operand(0));
  step.place[2] = source(operand(1), Type::u64);
  add(step);
}

// ---- Tensor instructions, matrix moves, conversions of small formats

bool Compiler::tensor() {
  const std::string_view opcode = statement_->opcode;
  constexpr std::array<std::string_view, 7> kOpcodes = {"mma",      "wmma",      "wgmma", "ldmatrix",
                                                        "stmatrix", "movmatrix", "cvt"};
  const bool proxy = opcode == "fence" && statement_->qualifiers > 0 && word(0) == "proxy";
  if (std::ranges::find(kOpcodes, opcode) == kOpcodes.end() && !proxy) return false;
  // Names of registers, as this statement's scope has them.
  const std::function<const Operand*(const Operand&, std::string_view)> find =
      [&](const Operand& in, std::string_view name) -> const Operand* {
    if (in.kind == Operand::Kind::reg && in.text == name) return &in;
    for (int i = 0; i < in.count; ++i)
      if (const Operand* found = find(child(in, i), name)) return found;
    return nullptr;
  };
  const auto types = [&](std::string_view name) -> std::optional<std::string> {
    for (int i = 0; i < count(); ++i)
      if (const Operand* found = find(operand(i), name))
        return std::string(ptx::row(function_->registers[static_cast<std::size_t>(found->index)].type).name);
    return {};
  };
  Result<Instruction> parsed = Instruction::parse(statement_->text, program_.target, types);
  if (!parsed) refuse(parsed.error());
  Step step;
  step.run = std::holds_alternative<Control>(parsed->decoded().kernel) ? steps::nothing : steps::tensor;
  std::vector<Place> places;
  // Operand by operand, in the statement's order: as many places as it has registers.
  int k = 0;
  for (const warpbit::Operand& one : parsed->operands()) {
    const Operand& written = operand(k++);
    if (one.registers == 0) continue;
    std::vector<Place> of;
    if (written.kind == Operand::Kind::address) {
      Access ignored;  // the offset is the instruction's own
      of.push_back(address(written, ignored));
    } else {
      of = elements(written,
                    one.register_bits == 64   ? Type::b64
                    : one.register_bits == 16 ? Type::b16
                                              : Type::b32,
                    one.is_destination());
    }
    of.resize(static_cast<std::size_t>(one.registers));
    places.insert(places.end(), of.begin(), of.end());
  }
  step.target = keep(std::move(places));
  step.extra = static_cast<std::int32_t>(program_.instructions.size());
  program_.tensor_plans.push_back(steps::tensor_plan(*parsed));
  program_.instructions.push_back(*std::move(parsed));
  add(step);
  return true;
}

// Forms that the assembler takes, and whose results were not measured: of sm_100 (sums of two types, min and max of three,
// redux of f32), of clusters, and those that the manual does not have (testp without its test, exch with a second operand).
bool Compiler::is_unmeasured(const ptx::MatchedForm& form) const {
  const std::string_view opcode = statement_->opcode;
  const Type type = form.types.empty() ? Type::b32 : form.types.back();
  if (opcode == "fma" && ptx::row(type).element == Type::bf16 && !has("rn")) return true;
  if (opcode == "madc") return ptx::bits(type) == 16 || has("sat");
  if (opcode == "add" || opcode == "sub" || opcode == "fma") return form.types.size() == 2;
  if (opcode == "min" || opcode == "max") return count() == 4;
  if (opcode == "redux") return form.types[0] == Type::f32;
  if (opcode == "barrier") return has("cluster");
  if (opcode == "testp") return statement_->qualifiers == 1;
  return opcode == "atom" && has("exch") && count() == 4 && !has("L2::cache_hint");
}

// The forms of the statement's words, which many statements share.
const Result<std::vector<ptx::MatchedForm>>& Compiler::matched() {
  std::string key(statement_->opcode);
  for (const std::string_view one : words()) key.append(".").append(one);
  const auto found = matched_.find(key);
  if (found != matched_.end()) return found->second;
  return matched_.emplace(std::move(key), ptx::match_scalar(statement_->opcode, words(), program_.target))
      .first->second;
}

const Compiler::Maker Compiler::kMakers[] = {
    {"bra", &Compiler::branch},
    {"brx", &Compiler::branch_indexed},
    {"ret", &Compiler::run<steps::go_back>},
    {"exit", &Compiler::run<steps::exit>},
    {"trap", &Compiler::run<steps::trap>},
    {"brkpt", &Compiler::run<steps::trap>},
    {"mov", &Compiler::move},
    {"ld", &Compiler::load},
    {"ldu", &Compiler::load},
    {"st", &Compiler::store},
    {"atom", &Compiler::atomic},
    {"red", &Compiler::reduction},
    {"alloca", &Compiler::stack},
    {"stacksave", &Compiler::stack},
    {"stackrestore", &Compiler::stack},
    {"mapa", &Compiler::cluster_address},
    {"getctarank", &Compiler::cluster_address},
    {"createpolicy", &Compiler::policy},
    {"cvta", &Compiler::window},
    {"isspacep", &Compiler::window},
    {"cp", &Compiler::copy_async},
    {"shfl", &Compiler::lanes},
    {"vote", &Compiler::lanes},
    {"match", &Compiler::lanes},
    {"redux", &Compiler::lanes},
    {"activemask", &Compiler::lanes},
    {"elect", &Compiler::lanes},
    {"bar", &Compiler::barrier},
    {"barrier", &Compiler::barrier},
    {"membar", &Compiler::fence},
    {"fence", &Compiler::fence},
    {"and", &Compiler::logic},
    {"or", &Compiler::logic},
    {"xor", &Compiler::logic},
    {"not", &Compiler::logic},
    // Hints, and what only time tells.
    {"prefetch", &Compiler::nothing},
    {"prefetchu", &Compiler::nothing},
    {"applypriority", &Compiler::nothing},
    {"discard", &Compiler::nothing},
    {"nanosleep", &Compiler::nothing},
    {"pmevent", &Compiler::nothing},
    {"setmaxnreg", &Compiler::nothing},
    {"griddepcontrol", &Compiler::nothing},
};

void Compiler::statement() {
  const std::string_view opcode = statement_->opcode;
  if (opcode == "call") return call();
  if (opcode != "cvt" && tensor()) return;
  const Result<std::vector<ptx::MatchedForm>>& form = matched();
  if (!form && opcode == "cvt" && tensor()) return;
  if (!form) refuse(form.error());
  const Result<const ptx::MatchedForm*> taken = ptx::check_operands(*function_, *statement_, *form);
  if (!taken) throw Refused{taken.error()};
  if (is_unmeasured(**taken))
    refuse({Errc::instruction_not_modelled, {}, "its results have not been measured", {}});
  const auto row = std::ranges::find(kMakers, opcode, &Maker::opcode);
  row == std::end(kMakers) ? scalar() : (this->*row->make)();
}

// An instruction that computes by itself (scalar/).
void Compiler::scalar() {
  const scalar::Operation operation = scalar::operation(statement_->opcode, words());
  if (operation.execute == nullptr) refuse({Errc::instruction_not_modelled, {}, "it is not executed yet", {}});
  note_evidence();
  compute(operation);
}

void Compiler::branch() {
  pending_.push_back({program_.steps.size(), operand(0).index});
  add({.run = steps::branch});
}

// Threads may wait for each other by what is ordered so.
void Compiler::fence() {
  program_.orders_by_memory = program_.orders_by_memory || words().empty() || word(0) != "proxy";
  nothing();
}

std::size_t Compiler::index_of(std::string_view name, const Statement* at) {
  for (std::size_t i = 0; i < program_.functions.size(); ++i)
    if (program_.functions[i].function->name == name) return i;
  const ptx::FunctionText* found = program_.module->find(name);
  if (found == nullptr || !found->has_body) {
    statement_ = at;
    refuse(fmt::format("function '{}'", name), "a function that is defined in the module");
  }
  program_.functions.emplace_back().function = found;
  const std::uint64_t number = function_address(*program_.module, name) / 16 - 1;
  program_.function_of.resize(program_.module->functions.size(), -1);
  program_.function_of[number] = static_cast<std::int32_t>(program_.functions.size()) - 1;
  return program_.functions.size() - 1;
}

void Compiler::function(std::size_t index, std::vector<Error>* refused) {
  FunctionCode code = program_.functions[index];
  function_ = code.function;
  code_ = &code;
  code.first_step = static_cast<int>(program_.steps.size());
  lay_out_registers();
  lay_out_variables();
  const Contraction contraction = program_.contracts ? contract(*function_) : Contraction{};
  std::vector<bool> is_product(function_->statements.size());
  for (const Fused& sum : contraction.sums)
    if (sum.product >= 0) is_product[static_cast<std::size_t>(sum.product)] = true;
  products_.clear();
  const std::vector<bool> is_reached =
      refused == nullptr ? reached(*function_) : std::vector<bool>(function_->statements.size(), true);
  definitions_.emplace(*function_);
  pending_.clear();
  pending_tables_.clear();
  std::vector<std::int32_t> step_of;
  for (std::size_t i = 0; i < function_->statements.size(); ++i) {
    statement_ = &function_->statements[i];
    if (i > 0) definitions_->pass(static_cast<int>(i) - 1);
    step_of.push_back(static_cast<std::int32_t>(program_.steps.size()));
    program_.origins.push_back({function_, static_cast<int>(i)});
    if (!is_reached[i]) continue;
    try {
      if (is_product[i]) product(static_cast<int>(i), contraction.saved[i]);
      if (program_.contracts && contraction.dropped[i]) continue;
      if (program_.contracts && contraction.sums[i].product >= 0)
        fused(contraction.sums[i]);
      else
        statement();
    } catch (Refused& refusal) {
      if (refused == nullptr) throw;
      refused->push_back(std::move(refusal.error));
    }
  }
  step_of.push_back(static_cast<std::int32_t>(program_.steps.size()));
  program_.steps.push_back({.run = steps::go_back});  // behind the last statement
  for (const Pending& one : pending_)
    program_.steps[one.step].target = step_of[static_cast<std::size_t>(one.statement)];
  for (const auto& [step, table] : pending_tables_) {
    std::vector<std::int32_t> targets;
    for (const int label : table->labels) targets.push_back(step_of[static_cast<std::size_t>(label)]);
    program_.steps[step].extra = static_cast<std::int32_t>(program_.tables.size());
    program_.tables.push_back(std::move(targets));
  }
  statement_ = nullptr;
  code.slot = slot_;
  steps::find_product_runs(program_, static_cast<std::size_t>(code.first_step));
  if (refused == nullptr &&
      may_read_unwritten(program_, code, code.first_step, static_cast<int>(program_.steps.size())))
    program_.follows_written = true;
  program_.functions[index] = std::move(code);
}

}  // namespace

std::uint64_t function_address(const ptx::ModuleText& module, std::string_view name) {
  const auto found = std::ranges::find(module.functions, name, &ptx::FunctionText::name);
  return found == module.functions.end()
             ? 0
             : static_cast<std::uint64_t>(found - module.functions.begin() + 1) * 16;
}

Result<Program> compile(std::shared_ptr<const ptx::ModuleText> module, std::string_view entry, Target target,
                        const Addresses& addresses, bool contracts) {
  Program out(std::move(module), target);
  out.contracts = contracts;
  Compiler compiler(out, addresses);
  try {
    compiler.index_of(entry, nullptr);
    // Functions whose address a variable has may be called.
    for (const ptx::Variable& variable : out.module->variables)
      for (const ptx::Relocation& relocation : variable.relocations)
        if (const ptx::FunctionText* named = out.module->find(relocation.symbol);
            named != nullptr && named->has_body)
          compiler.index_of(relocation.symbol, nullptr);
    for (std::size_t i = 0; i < out.functions.size(); ++i) compiler.function(i);
  } catch (Refused& refused) {
    return std::move(refused.error);
  }
  return out;
}

std::vector<Error> check(std::shared_ptr<const ptx::ModuleText> module, Target target,
                         const Addresses& addresses) {
  std::vector<Error> out;
  Program program(std::move(module), target);
  program.contracts = false;
  Compiler compiler(program, addresses);
  for (const ptx::FunctionText& function : program.module->functions)
    if (function.has_body) compiler.index_of(function.name, nullptr);
  for (std::size_t i = 0; i < program.functions.size(); ++i) compiler.function(i, &out);
  return out;
}

}  // namespace warpbit::grid
