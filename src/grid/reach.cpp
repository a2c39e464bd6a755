// SPDX-License-Identifier: Apache-2.0
#include "grid/reach.hpp"

#include <algorithm>

#include "assembler/flow.hpp"
#include "ptx/special.hpp"

namespace warpbit::grid {

void followers(const Program& program, int i, std::vector<int>& to) {
  const Step& step = program.steps[static_cast<std::size_t>(i)];
  const std::string_view opcode = opcode_of(program, step);
  if (assembler::goes_on(opcode, step.guard >= 0)) to.push_back(i + 1);
  if (opcode == "bra") to.push_back(step.target);
  if (opcode != "brx") return;
  const std::vector<std::int32_t>& targets = program.tables[static_cast<std::size_t>(step.extra)];
  to.insert(to.end(), targets.begin(), targets.end());
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
      if (operand.kind == ptx::Operand::Kind::special)
        out.reserved_shared =
            out.reserved_shared || ptx::is_of_reserved(static_cast<ptx::Special>(operand.index));
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
