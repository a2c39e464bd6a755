// SPDX-License-Identifier: Apache-2.0
#include "assembler/definitions.hpp"

#include <algorithm>
#include <limits>
#include <utility>  // exchange

#include "assembler/flow.hpp"

namespace warpbit::assembler {

using ptx::FunctionText, ptx::Operand, ptx::Statement;

Definitions::Definitions(const FunctionText& function)
    : f_(function),
      count_(function.registers.size()),
      last_(function.registers.size()),
      at_(function.registers.size()),
      joins_(function.statements.size() + 1) {
  for (const Operand& one : f_.operands)
    if (one.kind == Operand::Kind::label && one.index >= 0) joins_[static_cast<std::size_t>(one.index)] = true;
  for (const ptx::LabelTable& table : f_.tables)
    for (const int label : table.labels) joins_[static_cast<std::size_t>(label)] = true;
  std::vector<int> block_of(function.registers.size(), -1);  // of a register's last definition
  int block = 0;
  for (int i = 0; i < static_cast<int>(f_.statements.size()); ++i) {
    if (joins_[static_cast<std::size_t>(i)]) ++block;
    for_each_access(
        f_, i, [](int) {},
        [&](int reg) {
          if (std::exchange(block_of[static_cast<std::size_t>(reg)], block) != block)
            ++count_[static_cast<std::size_t>(reg)];
        });
    if (f_.statements[static_cast<std::size_t>(i)].opcode == "bra") ++block;
  }
}

int Definitions::at(const Operand& operand) const {
  if (operand.kind != Operand::Kind::reg) return std::numeric_limits<int>::max();
  const auto reg = static_cast<std::size_t>(operand.index);
  return count_[reg] > 1 && last_[reg] < join_ ? 2 * join_ + 1 : at_[reg];
}

void Definitions::pass(int i) {
  const Statement& s = f_.statements[static_cast<std::size_t>(i)];
  const auto has = [&](std::string_view word) {
    const auto first = f_.qualifiers.begin() + s.first_qualifier, last = first + s.qualifiers;
    return std::find(first, last, word) != last;
  };
  const bool is_parameter = f_.is_entry && s.opcode == "ld" && has("param");
  int place = is_parameter ? std::numeric_limits<int>::max() : 2 * i + 2;
  if ((s.opcode == "mov" || s.opcode == "neg" || s.opcode == "abs") && s.guard < 0) {
    const Operand& from = f_.operands[static_cast<std::size_t>(s.first_operand + 1)];
    if (from.kind != Operand::Kind::vector) place = at(from);
  }
  for_each_access(
      f_, i, [](int) {},
      [&](int reg) {
        at_[static_cast<std::size_t>(reg)] = place;
        last_[static_cast<std::size_t>(reg)] = i;
      });
  if (joins_[static_cast<std::size_t>(i) + 1]) join_ = i + 1;
}

}  // namespace warpbit::assembler
