// SPDX-License-Identifier: Apache-2.0
#include "assembler/definitions.hpp"

#include <algorithm>
#include <utility>  // exchange

#include "assembler/editor.hpp"
#include "assembler/flow.hpp"

namespace warpbit::assembler {

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

Definitions::Place Definitions::at(const Operand& operand) const {
  if (operand.kind != Operand::Kind::reg) return {Place::Class::constant};
  const auto reg = static_cast<std::size_t>(operand.index);
  return count_[reg] > 1 && last_[reg] < join_ ? Place{Place::Class::choice, -join_block_} : at_[reg];
}

Definitions::Place Definitions::defined_by(int i) const {
  const View v{f_, i};
  if (f_.is_entry && v.opcode() == "ld" && v.has("param")) return {Place::Class::constant};
  const bool moves = v.opcode() == "mov" || v.opcode() == "neg" || v.opcode() == "abs";
  if (moves && !v.is_guarded() && v.operand(1).kind != Operand::Kind::vector) return at(v.operand(1));
  const bool is_directed = v.has("rz") || v.has("rm") || v.has("rp");  // the result of a call
  if (v.type() == "f64" && becomes_branches(v) && !is_directed) return {Place::Class::choice, -block_ - 1};
  if (v.is_guarded() || v.opcode() == "selp" || v.opcode() == "rsqrt") return {Place::Class::choice, -block_, i};
  return {Place::Class::instruction, 0, i};
}

void Definitions::pass(int i) {
  const Place place = defined_by(i);
  for_each_access(
      f_, i, [](int) {},
      [&](int reg) {
        at_[static_cast<std::size_t>(reg)] = place;
        last_[static_cast<std::size_t>(reg)] = i;
      });
  const View v{f_, i};
  const bool joins = joins_[static_cast<std::size_t>(i) + 1];
  if (joins || v.opcode() == "bra" || becomes_branches(v)) ++block_;
  if (!joins) return;
  join_ = i + 1;
  join_block_ = block_;
}

}  // namespace warpbit::assembler
