// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "isa/instruction.hpp"
#include "warpbit/machine.hpp"

namespace warpbit {
namespace {

constexpr int kWarpLanes = 32, kGroupWarps = 4;

// The registers of one warp.
Registers slice(const Registers& registers, int first_lane) {
  Registers out(kWarpLanes, registers.registers());
  for (int lane = 0; lane < kWarpLanes; ++lane)
    for (int reg = 0; reg < registers.registers(); ++reg)
      out.write(lane, reg, registers.read(first_lane + lane, reg));
  return out;
}

// Renumbers the effects of one warp for its warpgroup.
void shift(Effects& effects, int first_lane) {
  for (Effects::Write& write : effects.writes) write.lane += first_lane;
  for (Effects::MemoryRead& read : effects.memory_reads)
    if (read.lane != Effects::kEveryLane) read.lane += first_lane;
  for (Effects::MemoryWrite& write : effects.memory_writes)
    if (write.lane != Effects::kEveryLane) write.lane += first_lane;
}

const Instruction* first_of(std::span<const Instruction* const> lanes) {
  const auto at = std::ranges::find_if(lanes, [](const Instruction* i) { return i != nullptr; });
  return at == lanes.end() ? nullptr : *at;
}

std::string host(int lane) {
  return fmt::format("host, lane {}", lane);
}

Result<void> result(const std::optional<AsyncViolation>& found) {
  if (found) return found->error;
  return {};
}

bool is_tensor(const Instruction& instruction) {
  return std::holds_alternative<TensorAction>(instruction.decoded().kernel);
}

// Refuses lanes of a warp that are missing, or that execute something else.
Result<void> check_together(const Instruction& tensor, std::span<const Instruction* const> lanes) {
  for (std::size_t first = 0; first < lanes.size(); first += kWarpLanes) {
    const auto warp = lanes.subspan(first, kWarpLanes);
    if (tensor.lanes() == kWarpLanes && first_of(warp) != nullptr &&
        std::ranges::find(warp, nullptr) != warp.end())
      return Error{Errc::lanes_missing, std::string(tensor.canonical()), "some lanes of the warp are missing",
                   "all of them must execute it"};
    for (const Instruction* const other : warp)
      if (other != nullptr && other->text() != tensor.text())
        return Error{Errc::lanes_disagree, std::string(tensor.canonical()),
                     fmt::format("{} besides it", other->text()),
                     "all lanes must execute the same instruction"};
  }
  return {};
}

bool takes_warpgroup(const Instruction* instruction) {
  return instruction != nullptr && instruction->lanes() > kWarpLanes;
}

}  // namespace

Machine::Machine(int warps, int registers, Memory memory, const MachineOptions& options)
    : options_(options), memory_(std::move(memory)) {
  for (int first = 0; first < warps; first += kGroupWarps)
    groups_.push_back(
        {Registers(std::min(warps - first, kGroupWarps) * kWarpLanes, registers), AsyncState(registers)});
}

Result<void> Machine::check_group(int warpgroup) const {
  if (warpgroup >= 0 && warpgroup < warpgroups()) return {};
  return Error{Errc::view_mismatch, "machine", fmt::format("warpgroup {}", warpgroup),
               fmt::format("one of {}, from 0", warpgroups())};
}

Result<void> Machine::check_register(int warpgroup, int lane, int reg) const {
  if (Result<void> checked = check_group(warpgroup); !checked) return checked;
  const Registers& r = group(warpgroup).registers;
  if (lane >= 0 && lane < r.lanes() && reg >= 0 && reg < r.registers()) return {};
  return Error{Errc::view_mismatch, "machine", fmt::format("register {} of lane {}", reg, lane),
               fmt::format("one of {} registers of {} lanes, from 0", r.registers(), r.lanes())};
}

// The effects of each warp that executes something, or of the warpgroup as a whole.
Result<std::vector<Machine::Step>> Machine::compute(const Group& g, std::span<const Instruction* const> lanes,
                                                    const Binding& binding) const {
  std::vector<Step> out;
  const auto together = std::ranges::find_if(lanes, takes_warpgroup);
  if (together != lanes.end() || first_of(lanes) == nullptr) {
    Result<Effects> effects =
        execute_warp(lanes, binding, g.async.ahead(g.registers), memory_, options_.execute);
    if (!effects) return effects.error();  // also if no lane executes anything
    out.push_back({std::string(first_of(lanes)->canonical()), *std::move(effects)});
    return out;
  }
  for (int first = 0; first < g.registers.lanes(); first += kWarpLanes) {
    const auto warp = lanes.subspan(static_cast<std::size_t>(first), kWarpLanes);
    const Instruction* instruction = first_of(warp);
    if (instruction == nullptr) continue;
    Result<Effects> effects = execute_warp(warp, binding, slice(g.registers, first), memory_, options_.execute);
    if (!effects) return effects.error();
    shift(*effects, first);
    out.push_back({std::string(instruction->canonical()), *std::move(effects)});
  }
  return out;
}

Result<void> Machine::check_store(std::string_view who, Space space, std::uint64_t address,
                                  std::uint64_t bytes) const {
  const std::optional<ByteRange> shared = memory_.in_shared(space, address, bytes);
  if (!shared) return {};
  for (const Group& g : groups_)
    if (Result<void> checked = result(g.async.check_store({who}, *shared)); !checked) return checked;
  return {};
}

Result<void> Machine::check(const Group& g, const Step& step) const {
  for (const Effects::MemoryWrite& write : step.effects.memory_writes)
    if (Result<void> checked = check_store(step.who, write.space, write.address, write.bytes.size()); !checked)
      return checked;
  return result(g.async.check({step.who}, step.effects, [this](std::uint64_t address, std::uint64_t bytes) {
    return memory_.unordered(address, bytes);
  }));
}

// Performs all steps or, if one is refused, none.
Result<void> Machine::perform(Group& g, std::vector<Step> steps) {
  if (options_.detect)
    for (const Step& step : steps)
      if (Result<void> checked = check(g, step); !checked) return checked;
  for (Step& step : steps) {
    for (const Effects::MemoryWrite& write : step.effects.memory_writes)
      if (Result<void> written = memory_.write(write.space, write.address, write.bytes); !written)
        return written;
    const std::optional<AsyncControl>& control = step.effects.control;
    if (control && control->kind == AsyncControl::Kind::proxy_fence && control->space != Space::global)
      memory_.fence_proxy();
    (void)g.async.apply({step.who}, std::move(step.effects), g.registers);
  }
  return {};
}

Result<Execution> Machine::execute(int warpgroup, std::span<const Instruction* const> lanes,
                                   const Binding& binding) {
  if (Result<void> checked = check_group(warpgroup); !checked) return checked.error();
  Group& g = groups_[static_cast<std::size_t>(warpgroup)];
  if (static_cast<int>(lanes.size()) != g.registers.lanes())
    return Error{Errc::view_mismatch, "machine", fmt::format("{} lanes given", lanes.size()),
                 fmt::format("{}", g.registers.lanes())};
  if (const Instruction* const tensor = first_of(lanes); tensor != nullptr && is_tensor(*tensor)) {
    if (Result<void> together = check_together(*tensor, lanes); !together) return together.error();
    return execute_tensor(g, warpgroup * kGroupWarps, *tensor, lanes, binding);
  }
  Result<std::vector<Step>> steps = compute(g, lanes, binding);
  if (!steps) return steps.error();
  Execution execution{false, kernels().back()};
  for (const Step& step : *steps) {
    execution.inferred |= step.effects.inferred;
    execution.kernel = std::min(execution.kernel, step.effects.kernel);
  }
  if (Result<void> done = perform(g, *std::move(steps)); !done) return done.error();
  return execution;
}

Result<Execution> Machine::execute(int warpgroup, const Instruction& instruction, const Binding& binding) {
  if (Result<void> checked = check_group(warpgroup); !checked) return checked.error();
  const std::vector<const Instruction*> all(static_cast<std::size_t>(lanes(warpgroup)), &instruction);
  return execute(warpgroup, all, binding);
}

Result<std::uint64_t> Machine::read_register(int warpgroup, int lane, int reg) {
  if (Result<void> checked = check_register(warpgroup, lane, reg); !checked) return checked.error();
  Group& g = groups_[static_cast<std::size_t>(warpgroup)];
  Effects effects;
  effects.reads = {reg};
  if (Result<void> done = perform(g, {{host(lane), std::move(effects)}}); !done) return done.error();
  return g.registers.read(lane, reg);
}

Result<void> Machine::write_register(int warpgroup, int lane, int reg, std::uint64_t value) {
  if (Result<void> checked = check_register(warpgroup, lane, reg); !checked) return checked;
  Effects effects;
  effects.writes = {{lane, reg, value}};
  return perform(groups_[static_cast<std::size_t>(warpgroup)], {{host(lane), std::move(effects)}});
}

Result<void> Machine::read_memory(Space space, std::uint64_t address, std::span<std::byte> out) const {
  return memory_.read(space, address, out);
}

Result<void> Machine::write_memory(Space space, std::uint64_t address, std::span<const std::byte> bytes) {
  if (options_.detect)
    if (Result<void> checked = check_store("host", space, address, bytes.size()); !checked) return checked;
  return memory_.write(space, address, bytes);
}

Result<void> Machine::copy_async(std::uint64_t address, std::span<const std::byte> bytes) {
  if (options_.detect)
    if (Result<void> checked = check_store("host, async proxy", Space::shared, address, bytes.size()); !checked)
      return checked;
  return memory_.write_async(address, bytes);
}

}  // namespace warpbit
