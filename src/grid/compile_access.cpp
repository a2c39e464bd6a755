// SPDX-License-Identifier: Apache-2.0
// Statements that access memory, or that concern addresses.
#include <fmt/format.h>

#include <bit>
#include <limits>

#include "grid/compiler.hpp"

namespace warpbit::grid {

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

// Of an access, or of a fence.
block::Strength Compiler::strength() const {
  const bool both = has("acq_rel");
  return {both || has("acquire"), both || has("release"), has("volatile"),
          has("cta")       ? block::Scope::cta
          : has("cluster") ? block::Scope::cluster
                           : block::Scope::gpu};
}

// An access by which threads may wait for each other.
bool Compiler::is_strong(Access& access) {
  access.order = strength();
  const bool ordered = access.order.acquires || access.order.releases || access.order.unsaid;
  program_.orders_by_memory = program_.orders_by_memory || ordered;
  return ordered || has("relaxed") || has("mmio");
}

// A register and an offset; -1: another address.
std::pair<int, std::int64_t> Compiler::in_register(const Operand& where) const {
  const bool has = where.kind == Operand::Kind::address && child(where, 0).kind == Operand::Kind::reg;
  return {has ? child(where, 0).index : -1, where.offset};
}

// The addresses of the function's stores, of which a load may have one.
void Compiler::find_stores() {
  stores_.clear();
  for (const Statement& statement : function_->statements)
    if (statement.is->does == ptx::Does::store && statement.operands > 0)
      stores_.insert(in_register(function_->operands[static_cast<std::size_t>(statement.first_operand)]));
}

bool Compiler::is_stored_to(const Operand& where) const {
  const auto address = in_register(where);
  return address.first >= 0 && stores_.contains(address);
}

void Compiler::access(bool loads) {
  Step step;
  const Type type = last_type();
  step.access.space = space(step.access.generic);
  step.access.cluster = has("shared::cluster");
  const Operand& where = operand(loads ? 1 : 0);
  step.place[2] = address(where, step.access);
  // A parameter of a function or of a call lies in local memory; those of the kernel in a buffer of their own.
  const bool of_parameter = step.access.space == StateSpace::param;
  if (of_parameter) {
    const Operand& base = child(where, 0);
    if (base.kind == Operand::Kind::reg) {
      if (!loads && !(checks_ && !declared_->is_entry))
        refuse("an address in a register", "the name of a parameter, which st.param writes to");
      step.access.space = StateSpace::global;
      step.access.generic = step.access.of_parameter = true;
    } else if (!is_kernel_parameter(base)) {
      step.access.space = StateSpace::local;
    }
    if (base.kind == Operand::Kind::symbol && (loads ? results_ : parameters_).contains(base.variable))
      refuse(fmt::format("{} '{}', which is {} of the function", loads ? "a load of" : "a store to", base.text,
                         loads ? "a result" : "a parameter"),
             loads ? "a store" : "a load");
  }
  const Operand& values = operand(loads ? 0 : 1);
  std::vector<Place> places = elements(values, type, loads);
  step.access.bytes = static_cast<std::uint8_t>(ptx::bits(type) / 8);
  step.access.count = static_cast<std::uint8_t>(places.size());
  step.access.sign_extends = ptx::is_signed(type);
  step.access.strong = is_strong(step.access);
  program_.orders_by_memory = program_.orders_by_memory || step.access.strong;
  step.access.non_coherent = has("nc") || has("proxy::readonly");
  step.access.before_cas = loads && !step.access.strong && cas_loops_->compares(where, values);
  step.access.is_replaced = loads && !step.access.strong && is_stored_to(where);
  step.run = steps::access(step, places, loads);
  step.extra = keep(std::move(places));
  add(step);
}

// Of atom, red and redux.
std::string_view Compiler::named_operation() const {
  constexpr std::array<std::string_view, 6> kOperations = {"add", "min", "max", "and", "or", "xor"};
  const auto name = std::ranges::find_if(kOperations, [&](std::string_view one) { return has(one); });
  return name == kOperations.end() ? std::string_view() : *name;
}

void Compiler::atomic_of(bool returns) {
  Step step;
  const Type type = last_type();
  step.run = steps::atomic;
  step.access.space = space(step.access.generic);
  step.access.cluster = has("shared::cluster");
  step.access.bytes = static_cast<std::uint8_t>(ptx::bits(type) / 8);
  const int first = returns ? 1 : 0;
  step.access.order.unsaid = !is_strong(step.access);
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
    step.access.noftz = has("noftz");
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

// st.bulk: zeros to shared memory.
void Compiler::fill() {
  Step step;
  step.run = steps::fill;
  step.access.space = StateSpace::shared;
  step.access.generic = !has("shared::cta");
  step.place[2] = address(operand(0), step.access);
  step.extra = keep({source(operand(1), Type::u64)});
  add(step);
}

void Compiler::discard() {
  Step step;
  step.run = steps::discard;
  step.access.space = space(step.access.generic);
  step.place[2] = address(operand(0), step.access);
  step.access.bytes = static_cast<std::uint8_t>(operand(1).literal.bits);
  program_.discards = true;
  add(step);
}

void Compiler::copy_async() {
  if (has("bulk")) return bulk();
  if (has("mbarrier")) return copies_arrive();
  if (has("commit_group")) return add({.run = steps::commit_group});
  if (has("wait_all")) return add({.run = steps::wait_group, .target = -1});
  constexpr auto kMax = std::numeric_limits<std::int32_t>::max();
  if (has("wait_group")) {
    const auto pending = std::min<std::uint64_t>(operand(0).literal.bits, kMax);
    return add({.run = steps::wait_group, .target = static_cast<std::int32_t>(pending)});
  }
  Step step;
  step.run = steps::copy_async;
  Access from;
  step.place[2] = address(operand(0), step.access);
  step.place[3] = address(operand(1), from);
  if (from.offset != static_cast<std::int32_t>(from.offset))
    refuse(fmt::format("offset {}", from.offset), "an offset that 32 bits hold");
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

// What a call has allocated goes when it returns.
void Compiler::allocate() {
  Step step{.run = steps::allocate_on_stack};
  step.place[0] = destination(operand(0));
  step.place[2] = source(operand(1), last_type());
  const std::uint64_t alignment = count() > 2 ? operand(2).literal.bits : 8;
  if (!std::has_single_bit(alignment)) refuse(fmt::format("an alignment of {}", alignment), "a power of two");
  step.access.offset = static_cast<std::int64_t>(alignment);
  add(step);
}

void Compiler::save_stack() {
  Step step{.run = steps::save_stack};
  step.place[0] = destination(operand(0));
  add(step);
}

void Compiler::restore_stack() {
  Step step{.run = steps::restore_stack};
  step.place[2] = source(operand(0), last_type());
  add(step);
}

// Of an address, in or for a state space.
Step Compiler::of_space(Run what) {
  Step step{.run = what};
  bool generic = false;
  step.access.space = space(generic);
  step.access.cluster = has("shared::cluster");
  step.place[0] = destination(operand(0));
  step.place[2] = source(operand(1), Type::u64);
  return step;
}

// cvta, cvta.to
void Compiler::window() {
  add(of_space(has("to") ? steps::from_generic : steps::to_generic));
}

void Compiler::is_space() {
  add(of_space(steps::is_space));
}

void Compiler::map_address() {
  Step step{.run = steps::map_address};
  step.place[0] = destination(operand(0));
  step.place[2] = source(operand(1), last_type());
  step.place[3] = source(operand(2), Type::u32);
  add(step);
}

void Compiler::rank_of_address() {
  Step step{.run = steps::rank_of_address};
  step.place[0] = destination(operand(0));
  step.place[2] = source(operand(1), last_type());
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

}  // namespace warpbit::grid
