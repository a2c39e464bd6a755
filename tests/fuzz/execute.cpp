// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: one warp executes any form on any registers and memory; it is either refused with a
// sentence or has effects that apply.
//
//     bytes 0-1       byte 2         byte 3       the rest
//     index of the    index of the   how to read  registers and memory; zeros
//     form            target         the rest     where it ends
#include <cstddef>
#include <cstdint>
#include <cstdlib>  // abort

#include "warpbit/machine.hpp"

namespace {

using namespace warpbit;

// Bits of byte 3.
constexpr unsigned kWild = 1,  // addresses of 64 bits, instead of small multiples of 16
    kByLane = 2,               // each lane has its own address and stride, instead of all the same
    kStrange = 4,              // strides of 32 bits, instead of small multiples of 8
    kAbsent = 8,               // operands are symbols, and the stride is absent
    kMissing = 16,             // every other lane executes nothing
    kMeasured = 32,            // undefined operands as measured
    kNoise = 64;               // memory is the rest, instead of zeros
constexpr std::uint64_t kBytes = 1024, kWindow = 0x10000;

struct Input {
  const std::uint8_t* data;
  std::size_t size;

  std::uint64_t take(int bytes) {
    std::uint64_t out = 0;
    for (int i = 0; i < bytes && size > 0; ++i, ++data, --size) out |= std::uint64_t{*data} << (8 * i);
    return out;
  }
};

std::uint64_t value(Part part, unsigned mode, bool generic, Input& input) {
  if (part == Part::address && !(mode & kWild)) return 16 * input.take(1) + (generic ? kWindow : 0);
  if (part == Part::stride && !(mode & kStrange)) return 8 * input.take(1);
  return input.take(8);
}

void fill(const Instruction& instruction, const Binding& binding, unsigned mode, Input& input,
          Registers& registers) {
  const bool generic = instruction.canonical().find(".shared") == std::string_view::npos;
  for (std::size_t i = 0; i < binding.size(); ++i) {
    const Operand& operand = instruction.operands()[i];
    const bool uniform =
        (operand.part == Part::address || operand.part == Part::stride) && (mode & kByLane) == 0;
    for (int r = 0; r < operand.registers; ++r) {
      const std::uint64_t common = uniform ? value(operand.part, mode, generic, input) : 0;
      for (int lane = 0; lane < registers.lanes(); ++lane)
        registers.write(lane, binding[i] + r, uniform ? common : value(operand.part, mode, generic, input));
    }
  }
}

Memory memory_from(unsigned mode, Input& input) {
  Memory memory(kBytes, kWindow);
  std::vector<std::byte> image(kBytes);
  if (mode & kNoise)
    for (std::byte& b : image) b = static_cast<std::byte>(input.take(1));
  if (!memory.write(Space::shared, 0, image) || !memory.add_global(0, kBytes)) std::abort();
  return memory;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<FormInfo> known = forms();
  Input input{data, size};
  const FormInfo& form = known[input.take(2) % known.size()];
  const Target target = form.targets[input.take(1) % form.targets.size()];
  const auto mode = static_cast<unsigned>(input.take(1));
  const Result<Instruction> instruction = mode & kAbsent
                                              ? Instruction::parse(form.canonical, target)
                                              : Instruction::parse(form.canonical, form.operands, target);
  if (!instruction) std::abort();

  Binding binding;
  int used = 0;
  for (const Operand& operand : instruction->operands()) {
    binding.push_back(used);
    used += operand.registers;
  }
  Registers registers(32, used);
  fill(*instruction, binding, mode, input, registers);
  Memory memory = memory_from(mode, input);
  std::vector<const Instruction*> lanes(32, &*instruction);
  if (mode & kMissing)
    for (std::size_t lane = 0; lane < lanes.size(); lane += 2) lanes[lane] = nullptr;

  const ExecuteOptions options{.undefined = mode & kMeasured ? Undefined::as_measured : Undefined::error,
                               .threads = 1};
  const Result<Effects> effects = execute_warp(lanes, binding, registers, memory, options);
  if (!effects) {
    if (effects.error().message().empty()) std::abort();
    return 0;
  }
  for (const Effects::Write& write : effects->writes)
    if (lanes[static_cast<std::size_t>(write.lane)] == nullptr || write.reg >= used) std::abort();
  for (const Effects::MemoryRead& read : effects->memory_reads)
    if (!memory.contains(read.space, read.address, read.bytes)) std::abort();
  if (!apply(*effects, registers, memory)) std::abort();
  return 0;
}
