// SPDX-License-Identifier: Apache-2.0
#include "cli/debug_fragments.hpp"

#include <algorithm>
#include <cstring>

#include "cli/commands.hpp"
#include "warpbit/execute.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kLanesOfWarp = 32;

// "%f0, %f1, %f2": the names in the label of an operand.
std::vector<std::string> names_of(const std::string& label) {
  std::vector<std::string> out(1);
  for (const char c : label)
    if (c == ',')
      out.emplace_back();
    else if (c != ' ' && c != '{' && c != '}')
      out.back() += c;
  return out;
}

// The registers of an operand, lane by lane, from the first warp on; what no statement has named is 0.
std::vector<std::byte> registers_of(const DebugState& state, int first, std::size_t lanes,
                                    const Operand& operand, const std::vector<std::string>& names) {
  const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
  std::vector<std::byte> out(lanes * names.size() * bytes);
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const auto warp = state.warps.find(first + static_cast<int>(lane / kLanesOfWarp));
    if (warp == state.warps.end()) continue;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (const auto found = warp->second.registers.find(names[i]); found != warp->second.registers.end())
        std::memcpy(&out[(lane * names.size() + i) * bytes], &found->second.values[lane % kLanesOfWarp], bytes);
  }
  return out;
}

}  // namespace

std::string_view without_guard(std::string_view statement) {
  if (statement.starts_with('@')) statement.remove_prefix(std::min(statement.find(' ') + 1, statement.size()));
  return statement;
}

std::vector<DebugFragment> fragments_of(const DebugState& state, int warp, Target target) {
  const std::string text(without_guard(state.warps.at(warp).statement));
  const Result<Instruction> parsed = Instruction::parse(text + ";", target);
  if (!parsed) return {};
  const Instruction& instruction = *parsed;
  const auto lanes = static_cast<std::size_t>(instruction.lanes());
  std::vector<DebugFragment> out;
  for (const Operand& operand : instruction.operands()) {
    const std::vector<std::string> names = names_of(operand.label);
    if (operand.kind != OperandKind::vector || operand.registers == 0 ||
        names.size() != static_cast<std::size_t>(operand.registers))
      continue;
    const std::vector<std::byte> registers =
        registers_of(state, lanes > kLanesOfWarp ? warp / 4 * 4 : warp, lanes, operand, names);
    out.push_back({std::string(operand.role), std::string(operand.format),
                   static_cast<std::size_t>(operand.fragment.rows()),
                   static_cast<std::size_t>(operand.fragment.columns()),
                   required(gather_values(operand, OperandArray{registers}))});
  }
  return out;
}

}  // namespace warpbit::cli
