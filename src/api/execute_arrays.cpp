// SPDX-License-Identifier: Apache-2.0
// Executing on arrays of known size (warpbit/execute.hpp): checked once, then used as views, or as the
// registers of one warp.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/checks.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/machine.hpp"

namespace warpbit {
namespace {

// The arrays as views, one for each operand; they have the same number of cases.
struct Arrays {
  std::vector<OperandArray::Registers> operands;
  std::size_t cases = 0;
};
Result<Arrays> checked(const Instruction& instruction, const std::vector<OperandArray>& given) {
  const std::span<const Operand> operands = instruction.operands();
  if (given.size() != operands.size()) {
    std::string roles;
    for (const Operand& operand : operands) roles.append(roles.empty() ? "" : ", ").append(operand.role);
    return mismatch(instruction, fmt::format("{} arrays", given.size()),
                    fmt::format("{}: {}", operands.size(), roles));
  }
  Arrays out;
  const Operand* first = nullptr;
  for (std::size_t i = 0; i < given.size(); ++i) {
    out.operands.emplace_back();
    if (operands[i].registers == 0 || operands[i].is_all_literals()) continue;
    const Result<OperandArray::Registers> registers =
        given[i].registers(operands[i], instruction.lanes(), operands[i].is_destination());
    if (!registers) {
      Error error = registers.error();
      error.where = fmt::format("{}, {}", instruction.canonical(), error.where);
      return error;
    }
    out.operands.back() = *registers;
    if (first == nullptr) {
      first = &operands[i];
      out.cases = registers->cases;
    } else if (registers->cases != out.cases) {
      return mismatch(
          instruction,
          fmt::format("{} has {} cases, {} has {}", first->role, out.cases, operands[i].role, registers->cases),
          "the same number for all operands");
    }
  }
  return out;
}

// Copies the arrays into the registers of one warp, or, with `back`, its registers of D into their array.
void copy(const Instruction& instruction, const Arrays& arrays, const Binding& binding, Registers& registers,
          bool back) {
  for (std::size_t i = 0; i < binding.size(); ++i) {
    const Operand& operand = instruction.operands()[i];
    const ResultView& view = arrays.operands[i].view;
    if (view.base == nullptr || (back && !operand.is_destination())) continue;
    const auto bytes = static_cast<std::size_t>(operand.register_bits / 8);
    for (int lane = 0; lane < registers.lanes(); ++lane)
      for (int r = 0; r < operand.registers; ++r) {
        std::byte* at = view.at(0, lane, r);
        std::uint64_t value = registers.read(lane, binding[i] + r);
        if (back) {
          std::memcpy(at, &value, bytes);
        } else {
          std::memcpy(&value, at, bytes);
          registers.write(lane, binding[i] + r, value);
        }
      }
  }
}

}  // namespace

Result<Execution> execute(const Instruction& instruction, const std::vector<OperandArray>& operands,
                          const ExecuteOptions& options) {
  if (instruction.uses_memory() || instruction.find(Part::d) == nullptr)
    return execute_batch(instruction, {}, {}, 0, options);  // it is refused there
  const Result<Arrays> arrays = checked(instruction, operands);
  if (!arrays) return arrays.error();
  std::vector<OperandView> sources(arrays->operands.begin() + 1, arrays->operands.end());
  return execute_batch(instruction, sources, arrays->operands.front().view, arrays->cases, options);
}

Result<Execution> execute_warp(const Instruction& instruction, const std::vector<OperandArray>& operands,
                               std::span<std::byte> shared_memory, std::uint64_t window,
                               const ExecuteOptions& options) {
  const Result<Arrays> arrays = checked(instruction, operands);
  if (!arrays) return arrays.error();
  if (arrays->cases > 1)
    return mismatch(instruction, fmt::format("{} cases", arrays->cases), "the registers of one warp");
  if (window > UINT64_MAX - shared_memory.size())
    return Error{Errc::usage, "window", fmt::format("{:#x} and {} bytes", window, shared_memory.size()),
                 "an end below 2^64"};
  Memory memory(shared_memory.size(), window);
  if (Result<void> written = memory.write(Space::shared, 0, shared_memory); !shared_memory.empty() && !written)
    return written.error();
  Binding binding;  // operand after operand
  int next = 0;
  for (const Operand& operand : instruction.operands()) {
    binding.push_back(next);
    next += operand.registers;
  }
  Registers registers(instruction.lanes(), next);
  copy(instruction, *arrays, binding, registers, false);
  const std::vector<const Instruction*> lanes(static_cast<std::size_t>(instruction.lanes()), &instruction);
  const Result<Effects> effects = execute_warp(lanes, binding, registers, memory, options);
  if (!effects) return effects.error();
  if (Result<void> applied = apply(*effects, registers, memory); !applied) return applied.error();
  copy(instruction, *arrays, binding, registers, true);
  if (!effects->memory_writes.empty()) std::ranges::copy(memory.shared(), shared_memory.begin());
  return Execution{effects->inferred, effects->kernel};
}

}  // namespace warpbit
