// SPDX-License-Identifier: Apache-2.0
#include "assembler/editor.hpp"

#include <algorithm>
#include <array>
#include <utility>  // exchange

#include "assembler/flow.hpp"

namespace warpbit::assembler {

Operand register_operand(int index) {
  Operand out;
  out.kind = Operand::Kind::reg;
  out.index = index;
  return out;
}
Operand literal_operand(std::uint64_t bits, ptx::Type type) {
  Operand out;
  out.kind = Operand::Kind::literal;
  const bool f32 = type == ptx::Type::f32;
  out.literal = {f32 || type == ptx::Type::f64, f32, bits};
  return out;
}
Operand negated(Operand operand) {
  operand.negated = !operand.negated;
  return operand;
}

const Operand& View::operand(int n) const {
  static const Operand none;
  return n < operands() ? f.operands[static_cast<std::size_t>(statement().first_operand + n)] : none;
}
bool View::has(std::string_view word) const {
  return std::ranges::find(words(), word) != words().end();
}
bool View::rounds() const {
  constexpr std::array<std::string_view, 4> kWords = {"rn", "rz", "rm", "rp"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return has(word); });
}

std::optional<std::uint64_t> View::literal(int n) const {
  if (n >= operands() || operand(n).kind != Operand::Kind::literal) return {};
  return ptx::literal_bits(operand(n).literal, ptx::find_type(type()).value_or(ptx::Type::b32));
}
int View::unit_factor() const {
  if (opcode() != "mul" || type() != "f32" || has("sat")) return 0;
  const auto factor = literal(2);
  return factor == 0x3F80'0000 ? 1 : factor == 0xBF80'0000 ? -1 : 0;
}

int Editor::temporary(ptx::Type type) {
  of_.function.registers.push_back({"a value of the assembler's", type});
  return static_cast<int>(of_.function.registers.size()) - 1;
}

Statement Editor::make(int at, std::string_view opcode, std::vector<std::string_view> words,
                       const std::vector<Operand>& operands) {
  FunctionText& f = of_.function;
  Statement out = f.statements[static_cast<std::size_t>(at)];
  out.opcode = opcode;
  out.is = &ptx::opcode(opcode);
  out.first_qualifier = static_cast<int>(f.qualifiers.size());
  out.qualifiers = static_cast<int>(words.size());
  f.qualifiers.insert(f.qualifiers.end(), words.begin(), words.end());
  out.first_operand = static_cast<int>(f.operands.size());
  out.operands = static_cast<int>(operands.size());
  f.operands.insert(f.operands.end(), operands.begin(), operands.end());
  return out;
}

void Editor::replace(int at, Statement statement) {
  edit(at).replaced = true;
  of_.function.statements[static_cast<std::size_t>(at)] = statement;
}

void Editor::acted(Rule rule, int at) {
  of_.uses.push_back({rule, of_.origins[static_cast<std::size_t>(at)]});
}

void Editor::keep_what_is_read() {
  const FunctionText& f = of_.function;
  std::vector<bool> is_read(f.registers.size());
  const auto read = [&](const Statement& s) {
    for (int n = writes_first(f, s) ? 1 : 0; n < s.operands; ++n)
      for_each_register(f, f.operands[static_cast<std::size_t>(s.first_operand + n)],
                        [&](int reg) { is_read[static_cast<std::size_t>(reg)] = true; });
  };
  for (std::size_t i = 0; i < edits_.size(); ++i) {
    std::ranges::for_each(edits_[i].before, read);
    if (!edits_[i].dropped && !edits_[i].removed) read(f.statements[i]);
  }
  for (bool changed = true; std::exchange(changed, false);)
    for (std::size_t i = 0; i < edits_.size(); ++i) {
      const View v{f, static_cast<int>(i)};
      if (!edits_[i].dropped || !v.is_register(0) || !is_read[static_cast<std::size_t>(v.operand(0).index)])
        continue;
      edits_[i].dropped = false;
      changed = true;
      read(f.statements[i]);
    }
}

bool Editor::apply() {
  if (!std::exchange(changed_, false)) return false;
  keep_what_is_read();
  FunctionText& f = of_.function;
  std::vector<Statement> statements;
  std::vector<int> origins, now;  // now: by old number, the new one
  std::vector<bool> made;
  for (std::size_t i = 0; i < f.statements.size(); ++i) {
    now.push_back(static_cast<int>(statements.size()));
    statements.insert(statements.end(), edits_[i].before.begin(), edits_[i].before.end());
    made.resize(statements.size(), true);
    for (const int from : edits_[i].from) origins.push_back(of_.origins[static_cast<std::size_t>(from)]);
    if (!edits_[i].dropped && !edits_[i].removed) {
      statements.push_back(f.statements[i]);
      made.push_back(of_.made[i] || edits_[i].replaced);
    }
    origins.resize(statements.size(), of_.origins[i]);
  }
  now.push_back(static_cast<int>(statements.size()));
  f.statements = std::move(statements);
  of_.origins = std::move(origins);
  of_.made = std::move(made);
  const auto renumber = [&](int& label) {
    if (label >= 0) label = now[static_cast<std::size_t>(label)];
  };
  for (Operand& one : f.operands)
    if (one.kind == Operand::Kind::label) renumber(one.index);
  for (ptx::LabelTable& table : f.tables) std::ranges::for_each(table.labels, renumber);
  of_.flow.reset();
  return true;
}

}  // namespace warpbit::assembler
