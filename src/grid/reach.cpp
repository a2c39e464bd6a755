// SPDX-License-Identifier: Apache-2.0
#include "grid/reach.hpp"

#include <algorithm>
#include <array>

namespace warpbit::grid {
namespace {

// The statements that follow one by a jump.
void jumps(const ptx::FunctionText& function, const ptx::Statement& statement, std::vector<std::size_t>& to) {
  for (int i = 0; i < statement.operands; ++i) {
    const ptx::Operand& operand = function.operands[static_cast<std::size_t>(statement.first_operand + i)];
    if (operand.kind == ptx::Operand::Kind::label) to.push_back(static_cast<std::size_t>(operand.index));
    if (operand.kind != ptx::Operand::Kind::table) continue;
    for (const int label : function.tables[static_cast<std::size_t>(operand.index)].labels)
      to.push_back(static_cast<std::size_t>(label));
  }
}

bool goes_on(std::string_view opcode, bool has_guard) {
  constexpr std::array<std::string_view, 4> kLast = {"bra", "brx", "ret", "exit"};
  return has_guard || std::ranges::find(kLast, opcode) == kLast.end();
}

}  // namespace

void followers(const ptx::FunctionText& function, std::size_t i, std::vector<std::size_t>& to) {
  const ptx::Statement& statement = function.statements[i];
  if (goes_on(statement.opcode, statement.guard >= 0)) to.push_back(i + 1);
  jumps(function, statement, to);
}

void followers(const Program& program, int i, std::vector<int>& to) {
  const Step& step = program.steps[static_cast<std::size_t>(i)];
  const std::string_view opcode = opcode_of(program, step);
  if (goes_on(opcode, step.guard >= 0)) to.push_back(i + 1);
  if (opcode == "bra") to.push_back(step.target);
  if (opcode != "brx") return;
  const std::vector<std::int32_t>& targets = program.tables[static_cast<std::size_t>(step.extra)];
  to.insert(to.end(), targets.begin(), targets.end());
}

std::vector<bool> reached(const ptx::FunctionText& function) {
  std::vector<bool> out(function.statements.size(), false);
  std::vector<std::size_t> next = {0};
  while (!next.empty()) {
    const std::size_t i = next.back();
    next.pop_back();
    if (i >= out.size() || out[i]) continue;
    out[i] = true;
    followers(function, i, next);
  }
  return out;
}

namespace {

class Names {
 public:
  explicit Names(const ptx::ModuleText& module) : module_(module) {}

  void add(const ptx::FunctionText* function) {
    if (function == nullptr || !function->has_body) return;
    if (std::ranges::find(out.functions, function) == out.functions.end()) out.functions.push_back(function);
  }
  void add(const ptx::Variable& variable) {
    if (!out.variables.insert(&variable).second) return;
    for (const ptx::Relocation& relocation : variable.relocations) {
      add(module_.find(relocation.symbol));
      const auto named = std::ranges::find(module_.variables, relocation.symbol, &ptx::Variable::name);
      if (named != module_.variables.end()) add(*named);
    }
  }
  void add_all_of(const ptx::FunctionText& function) {
    for (const ptx::Operand& operand : function.operands) {
      if (operand.kind == ptx::Operand::Kind::function) add(module_.find(operand.text));
      if (operand.kind == ptx::Operand::Kind::symbol && operand.variable != nullptr) add(*operand.variable);
    }
    for (const ptx::LabelTable& table : function.tables)
      for (const std::string_view name : table.functions) add(module_.find(name));
  }
  Named out;

 private:
  const ptx::ModuleText& module_;
};

}  // namespace

Named named(const ptx::ModuleText& module, const ptx::FunctionText& kernel) {
  Names names(module);
  names.add(&kernel);
  for (std::size_t i = 0; i < names.out.functions.size(); ++i) names.add_all_of(*names.out.functions[i]);
  return std::move(names.out);
}

}  // namespace warpbit::grid
