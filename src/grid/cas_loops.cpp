// SPDX-License-Identifier: Apache-2.0
#include "grid/cas_loops.hpp"

#include <algorithm>

namespace warpbit::grid {

using ptx::Operand;

namespace {

bool is_register(const Operand& operand) {
  return operand.kind == Operand::Kind::reg;
}

// Adds the registers that statements move to those in the set.
void add_moved(const ptx::FunctionText& function, std::set<int>& values) {
  for (std::size_t known = 0; known != values.size();) {
    known = values.size();
    for (const ptx::Statement& statement : function.statements) {
      if (statement.is->does != ptx::Does::move || statement.operands < 2) continue;
      const Operand* const of = &function.operands[static_cast<std::size_t>(statement.first_operand)];
      if (is_register(of[0]) && is_register(of[1]) && values.contains(of[0].index)) values.insert(of[1].index);
    }
  }
}

}  // namespace

CasLoops::CasLoops(const ptx::FunctionText& function) : function_(function) {
  for (const ptx::Statement& statement : function.statements) {
    if (statement.is->does != ptx::Does::atomic || statement.operands < 4) continue;
    const auto words = words_of(function, statement);
    if (std::ranges::find(words, "cas") == words.end()) continue;
    const Operand* const of = &function.operands[static_cast<std::size_t>(statement.first_operand)];
    const Operand& base = function.operands[static_cast<std::size_t>(of[1].first)];
    if (of[1].kind != Operand::Kind::address || !is_register(base) || !is_register(of[2])) continue;
    Cas one{base.index, of[1].offset, {of[2].index}};
    add_moved(function, one.values);
    all_.push_back(std::move(one));
  }
}

bool CasLoops::compares(const Operand& where, const Operand& value) const {
  if (all_.empty() || where.kind != Operand::Kind::address || !is_register(value)) return false;
  const Operand& base = function_.operands[static_cast<std::size_t>(where.first)];
  return is_register(base) && std::ranges::any_of(all_, [&](const Cas& one) {
           return one.base == base.index && one.offset == where.offset && one.values.contains(value.index);
         });
}

}  // namespace warpbit::grid
