// SPDX-License-Identifier: Apache-2.0
#include "grid/cas_loops.hpp"

#include <algorithm>

#include "assembler/flow.hpp"

namespace warpbit::grid {

using ptx::Operand;

namespace {

bool is_register(const Operand& operand) {
  return operand.kind == Operand::Kind::reg;
}

bool has_word(const ptx::FunctionText& function, const ptx::Statement& statement, std::string_view word) {
  const auto words = words_of(function, statement);
  return std::ranges::find(words, word) != words.end();
}

// A mov; of a value a change between 16 and 32 bits, too.
bool moves(const ptx::FunctionText& function, const ptx::Statement& statement, bool are_addresses) {
  if (statement.is->does == ptx::Does::move) return true;
  return !are_addresses && statement.is->does == ptx::Does::convert && has_word(function, statement, "u16") &&
         has_word(function, statement, "u32");
}

}  // namespace

CasLoops::CasLoops(const ptx::FunctionText& function, const ptx::ModuleText& module, Parameters& known)
    : function_(function) {
  for (const ptx::Statement& statement : function.statements) {
    if (statement.is->does == ptx::Does::atomic) add_atomic(statement);
    if (statement.is->does == ptx::Does::call) add_call(statement, module, known);
  }
}

void CasLoops::add(int base, std::int64_t offset, int value) {
  if (definitions_.empty())
    for (const ptx::Statement& statement : function_.statements)
      if (statement.operands > 0 && assembler::writes_first(function_, statement))
        assembler::for_each_register(function_, operand(statement, 0), [&](int reg) { ++definitions_[reg]; });
  Cas one{{base}, offset, {value}};
  add_moved(one.bases, true);
  add_moved(one.values, false);
  all_.push_back(std::move(one));
}

void CasLoops::add_atomic(const ptx::Statement& statement) {
  if (statement.operands < 4 || !has_word(function_, statement, "cas")) return;
  const Operand &where = operand(statement, 1), &value = operand(statement, 2);
  if (where.kind != Operand::Kind::address || !is_register(child(where, 0)) || !is_register(value)) return;
  add(child(where, 0).index, where.offset, value.index);
}

void CasLoops::add_call(const ptx::Statement& statement, const ptx::ModuleText& module, Parameters& known) {
  const int callee = operand(statement, 0).kind == Operand::Kind::list ? 1 : 0;
  if (callee + 1 >= statement.operands || operand(statement, callee).kind != Operand::Kind::function) return;
  const ptx::FunctionText* const called = module.find(operand(statement, callee).text);
  const Operand& arguments = operand(statement, callee + 1);
  if (called == nullptr || arguments.kind != Operand::Kind::list) return;
  for (const auto& [base, value] : parameters_of(*called, module, known)) {
    if (std::max(base, value) >= arguments.count) continue;
    const ptx::Variable *const of_base = child(arguments, base).variable, *const of_value =
                                                                              child(arguments, value).variable;
    if (of_base == nullptr || of_value == nullptr) continue;
    const int address = stored_to(*of_base), compared = stored_to(*of_value);
    if (address >= 0 && compared >= 0) add(address, 0, compared);
  }
}

// Adds the registers that statements move to those in the set; of addresses those that are written once.
void CasLoops::add_moved(std::set<int>& registers, bool are_addresses) const {
  const auto is_kept = [&](int reg) {
    const auto found = definitions_.find(reg);
    return !are_addresses || found == definitions_.end() || found->second <= 1;
  };
  for (std::size_t known = 0; known != registers.size();) {
    known = registers.size();
    for (const ptx::Statement& statement : function_.statements) {
      if (statement.operands < 2 || !moves(function_, statement, are_addresses)) continue;
      const Operand &to = operand(statement, 0), &from = operand(statement, 1);
      if (is_register(to) && is_register(from) && registers.contains(to.index) && is_kept(to.index) &&
          is_kept(from.index))
        registers.insert(from.index);
    }
  }
}

// [variable], or [variable+0]
bool CasLoops::is_whole(const Operand& address, const ptx::Variable& variable) const {
  if (address.kind != Operand::Kind::address) return false;
  const Operand& base = child(address, 0);
  return base.kind == Operand::Kind::symbol && base.variable == &variable && base.offset + address.offset == 0;
}

// The register that is stored to an argument of a call; -1 if it is none, or there are several.
int CasLoops::stored_to(const ptx::Variable& variable) const {
  int out = -1;
  for (const ptx::Statement& statement : function_.statements) {
    if (statement.is->does != ptx::Does::store || statement.operands < 2) continue;
    if (!is_whole(operand(statement, 0), variable)) continue;
    if (out >= 0 || !is_register(operand(statement, 1))) return -1;
    out = operand(statement, 1).index;
  }
  return out;
}

// The number of the function's parameter that is loaded to one of the registers; -1 if there is none.
int CasLoops::parameter_of(const std::set<int>& registers) const {
  for (const ptx::Statement& statement : function_.statements) {
    if (statement.is->does != ptx::Does::load || statement.operands < 2) continue;
    const Operand& to = operand(statement, 0);
    if (!is_register(to) || !registers.contains(to.index)) continue;
    for (std::size_t i = 0; i < function_.parameters.size(); ++i)
      if (is_whole(operand(statement, 1), function_.parameters[i])) return static_cast<int>(i);
  }
  return -1;
}

const std::vector<std::pair<int, int>>& CasLoops::parameters_of(const ptx::FunctionText& function,
                                                                const ptx::ModuleText& module,
                                                                Parameters& known) {
  const auto [at, is_new] = known.try_emplace(&function);  // empty for who calls it while it is looked at
  if (!is_new) return at->second;
  const CasLoops inside(function, module, known);
  for (const Cas& one : inside.all_) {
    const int base = inside.parameter_of(one.bases), value = inside.parameter_of(one.values);
    if (one.offset == 0 && base >= 0 && value >= 0) at->second.emplace_back(base, value);
  }
  return at->second;
}

bool CasLoops::compares(const Operand& where, const Operand& value) const {
  if (all_.empty() || where.kind != Operand::Kind::address || !is_register(value)) return false;
  const Operand& base = child(where, 0);
  return is_register(base) && std::ranges::any_of(all_, [&](const Cas& one) {
           return one.offset == where.offset && one.bases.contains(base.index) &&
                  one.values.contains(value.index);
         });
}

}  // namespace warpbit::grid
