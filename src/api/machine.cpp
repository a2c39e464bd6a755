// SPDX-License-Identifier: Apache-2.0
#include "warpbit/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace warpbit {
namespace {

// "3, 7-9"
std::string ranges(const std::vector<int>& lanes) {
  std::string out;
  for (std::size_t i = 0; i < lanes.size();) {
    std::size_t last = i;
    while (last + 1 < lanes.size() && lanes[last + 1] == lanes[last] + 1) ++last;
    if (!out.empty()) out += ", ";
    out += last > i ? fmt::format("{}-{}", lanes[i], lanes[last]) : fmt::format("{}", lanes[i]);
    i = last + 1;
  }
  return out;
}

bool same(const Instruction& x, const Instruction& y) {
  if (&x.decoded() == &y.decoded()) return true;
  if (x.canonical() != y.canonical() || x.target() != y.target()) return false;
  for (std::size_t i = 0; i < x.operands().size(); ++i)
    if (x.operands()[i].literals != y.operands()[i].literals || x.operands()[i].sinks != y.operands()[i].sinks)
      return false;
  return true;
}

bool is_literal(const Operand& op, int reg) {
  return !op.literals.empty() && op.literals[static_cast<std::size_t>(reg)].has_value();
}

Result<const Instruction*> common_instruction(std::span<const Instruction* const> lanes) {
  const Instruction* first = nullptr;
  std::vector<int> missing, different;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (lanes[lane] == nullptr)
      missing.push_back(static_cast<int>(lane));
    else if (first == nullptr)
      first = lanes[lane];
    else if (!same(*first, *lanes[lane]))
      different.push_back(static_cast<int>(lane));
  }
  if (first == nullptr)
    return Error{Errc::lanes_missing, "warp", "no lane executes an instruction", "all lanes of a warp must"};
  for (int lane = static_cast<int>(lanes.size()); lane < first->lanes(); ++lane) missing.push_back(lane);
  if (!missing.empty())
    return Error{Errc::lanes_missing, std::string(first->canonical()),
                 fmt::format("missing of {} lanes: {}", first->lanes(), ranges(missing)),
                 "all lanes of the warp must execute it"};
  if (static_cast<int>(lanes.size()) > first->lanes())
    return Error{Errc::lanes_disagree, std::string(first->canonical()),
                 fmt::format("{} lanes given", lanes.size()), fmt::format("a warp has {}", first->lanes())};
  if (!different.empty())
    return Error{Errc::lanes_disagree, std::string(first->canonical()),
                 fmt::format("executed by lane 0, but {} by lanes {}",
                             lanes[static_cast<std::size_t>(different.front())]->text(), ranges(different)),
                 "all lanes of the warp must execute the same instruction"};
  return first;
}

}  // namespace

Result<Effects> execute_warp(std::span<const Instruction* const> lanes, const Binding& binding,
                             const Registers& registers, const ExecuteOptions& options) {
  const Result<const Instruction*> common = common_instruction(lanes);
  if (!common) return common.error();
  const Instruction& instruction = **common;
  const std::span<const Operand> operands = instruction.operands();

  if (binding.size() != operands.size() || registers.lanes() != instruction.lanes())
    return Error{Errc::view_mismatch, std::string(instruction.canonical()),
                 fmt::format("{} bound operands and {} lanes of registers", binding.size(), registers.lanes()),
                 fmt::format("{} and {}", operands.size(), instruction.lanes())};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].kind != OperandKind::immediate &&
        (binding[i] < 0 || binding[i] > registers.registers() - operands[i].registers))
      return Error{Errc::view_mismatch, std::string(instruction.canonical()),
                   fmt::format("operand {} is bound to registers {} to {}", operands[i].role, binding[i],
                               static_cast<std::int64_t>(binding[i]) + operands[i].registers - 1),
                   fmt::format("registers 0 to {}", registers.registers() - 1)};

  Effects effects;
  const auto cell = static_cast<std::ptrdiff_t>(sizeof(std::uint64_t));
  std::vector<OperandView> sources;
  for (std::size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].kind == OperandKind::immediate) {
      sources.emplace_back();
      continue;
    }
    sources.push_back({reinterpret_cast<const std::byte*>(registers.data() + binding[i]), 0,
                       cell * registers.registers(), cell});
    for (int r = 0; r < operands[i].registers; ++r)
      if (!is_literal(operands[i], r)) effects.reads.push_back(binding[i] + r);
  }
  const Operand& d = operands[0];
  std::vector<std::uint64_t> out(static_cast<std::size_t>(registers.lanes() * d.registers));
  const ResultView destination{reinterpret_cast<std::byte*>(out.data()), 0, cell * d.registers, cell};
  const Result<Execution> done = execute_batch(instruction, sources, destination, 1, options);
  if (!done) return done.error();
  effects.inferred = done->inferred;
  for (int lane = 0; lane < registers.lanes(); ++lane)
    for (int r = 0; r < d.registers; ++r)
      if (std::ranges::find(d.sinks, r) == d.sinks.end())
        effects.writes.push_back({lane, binding[0] + r, out[static_cast<std::size_t>(lane * d.registers + r)]});
  return effects;
}

}  // namespace warpbit
