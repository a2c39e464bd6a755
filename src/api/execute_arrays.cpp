// SPDX-License-Identifier: Apache-2.0
// Executing on arrays of known size (warpbit/registers.hpp): checked once, then used as views, or as the
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
  const auto refuse = [&](std::string seen, std::string accepted) {
    return Error{Errc::view_mismatch, std::string(instruction.canonical()), std::move(seen),
                 std::move(accepted)};
  };
  if (given.size() != operands.size()) {
    std::string roles;
    for (const Operand& operand : operands) roles.append(roles.empty() ? "" : ", ").append(operand.role);
    return refuse(fmt::format("{} arrays", given.size()), fmt::format("{}: {}", operands.size(), roles));
  }
  Arrays out;
  const Operand* first = nullptr;
  for (std::size_t i = 0; i < given.size(); ++i) {
    out.operands.emplace_back();
    if (operands[i].registers == 0 || all_literals(operands[i])) continue;
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
      return refuse(
          fmt::format("{} has {} cases, {} has {}", first->role, out.cases, operands[i].role, registers->cases),
          "the same number for all operands");
    }
  }
  return out;
}

// The registers of one warp, operand after operand.
class WarpRegisters {
 public:
  WarpRegisters(const Instruction& instruction, const Arrays& arrays)
      : operands_(instruction.operands()), arrays_(arrays), registers_(instruction.lanes(), bind()) {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      for_each(i, [&](std::byte* at, std::size_t bytes, int lane, int reg) {
        std::uint64_t value = 0;
        std::memcpy(&value, at, bytes);
        registers_.write(lane, reg, value);
      });
  }

  const Binding& binding() const { return binding_; }
  Registers& registers() { return registers_; }

  // Copies D's registers into its array.
  void store() {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (operands_[i].is_destination())
        for_each(i, [&](std::byte* at, std::size_t bytes, int lane, int reg) {
          const std::uint64_t value = registers_.read(lane, reg);
          std::memcpy(at, &value, bytes);
        });
  }

 private:
  int bind() {
    int next = 0;
    for (const Operand& operand : operands_) {
      binding_.push_back(next);
      next += operand.registers;
    }
    return next;
  }
  template <class Visit>
  void for_each(std::size_t operand, Visit visit) const {
    const ResultView& view = arrays_.operands[operand].view;
    if (view.base == nullptr) return;
    const auto bytes = static_cast<std::size_t>(operands_[operand].register_bits / 8);
    for (int lane = 0; lane < registers_.lanes(); ++lane)
      for (int r = 0; r < operands_[operand].registers; ++r)
        visit(view.base + lane * view.lane_stride + r * view.register_stride, bytes, lane,
              binding_[operand] + r);
  }

  std::span<const Operand> operands_;
  const Arrays& arrays_;
  Binding binding_;
  Registers registers_;
};

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
  const std::string where(instruction.canonical());
  if (arrays->cases > 1)
    return Error{Errc::view_mismatch, where, fmt::format("{} cases", arrays->cases),
                 "the registers of one warp"};
  if (window > UINT64_MAX - shared_memory.size())
    return Error{Errc::usage, "window", fmt::format("{:#x} and {} bytes", window, shared_memory.size()),
                 "an end below 2^64"};
  Memory memory(shared_memory.size(), window);
  if (Result<void> written = memory.write(Space::shared, 0, shared_memory); !shared_memory.empty() && !written)
    return written.error();
  WarpRegisters warp(instruction, *arrays);
  const std::vector<const Instruction*> lanes(static_cast<std::size_t>(instruction.lanes()), &instruction);
  const Result<Effects> effects = execute_warp(lanes, warp.binding(), warp.registers(), memory, options);
  if (!effects) return effects.error();
  if (Result<void> applied = apply(*effects, warp.registers(), memory); !applied) return applied.error();
  warp.store();
  if (!effects->memory_writes.empty()) std::ranges::copy(memory.shared(), shared_memory.begin());
  return Execution{effects->inferred, effects->kernel};
}

}  // namespace warpbit
