// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: one warp or warpgroup executes any form on any registers and memory; it is either refused
// with a sentence or has effects that apply.
//
//     bytes 0-1       byte 2         byte 3       the rest
//     index of the    index of the   how to read  registers and memory; zeros
//     form            target         the rest     where it ends
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>  // abort

#include "warpbit/machine.hpp"

namespace {

using namespace warpbit;

// Bits of byte 3.
constexpr unsigned kWild = 1,  // addresses and descriptors of 64 bits, instead of small multiples of 16
    kByLane = 2,     // each lane has its own address, stride, descriptor and scale-d, instead of all the same
    kStrange = 4,    // strides of 32 bits, instead of small multiples of 8
    kAbsent = 8,     // operands are symbols, and the stride is absent
    kMissing = 16,   // every other lane executes nothing
    kMeasured = 32,  // undefined operands as measured
    kNoise = 64;     // memory is the rest, instead of zeros
constexpr std::uint64_t kBytes = 2048, kWindow = 0x10000;
constexpr int kMostProducts = 1 << 17;  // of a form: larger ones are slow, and no different

struct Input {
  const std::uint8_t* data;
  std::size_t size;

  std::uint64_t take(int bytes) {
    std::uint64_t out = 0;
    for (int i = 0; i < bytes && size > 0; ++i, ++data, --size) out |= std::uint64_t{*data} << (8 * i);
    return out;
  }
};

// Start, leading and stride offset of 8 bits, base offset, swizzle.
std::uint64_t descriptor(Input& input) {
  std::uint64_t out = 0;
  for (const int field : {0, 16, 32}) out |= input.take(1) << field;
  const std::uint64_t rest = input.take(1);
  return out | (rest & 7) << 49 | (rest >> 3 & 3) << 62;
}

bool is_common(const Operand& operand) {
  return operand.part == Part::address || operand.part == Part::stride || operand.part == Part::scale_d ||
         operand.kind == OperandKind::descriptor;
}

std::uint64_t value(const Operand& operand, unsigned mode, bool generic, Input& input) {
  if (operand.part == Part::address && !(mode & kWild)) return 16 * input.take(1) + (generic ? kWindow : 0);
  if (operand.kind == OperandKind::descriptor && !(mode & kWild)) return descriptor(input);
  if (operand.part == Part::stride && !(mode & kStrange)) return 8 * input.take(1);
  return input.take(8);
}

void fill(const Instruction& instruction, const Binding& binding, unsigned mode, Input& input,
          Registers& registers) {
  const bool generic = instruction.canonical().find(".shared") == std::string_view::npos;
  for (std::size_t i = 0; i < binding.size(); ++i) {
    const Operand& operand = instruction.operands()[i];
    const bool uniform = is_common(operand) && (mode & kByLane) == 0;
    for (int r = 0; r < operand.registers; ++r) {
      const std::uint64_t common = uniform ? value(operand, mode, generic, input) : 0;
      for (int lane = 0; lane < registers.lanes(); ++lane)
        registers.write(lane, binding[i] + r, uniform ? common : value(operand, mode, generic, input));
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

std::vector<FormInfo> small_forms() {
  std::vector<FormInfo> out;
  for (const FormInfo& form : forms()) {
    const Result<Instruction> i = Instruction::parse(form.canonical, form.targets.front());
    if (!i) std::abort();
    if (i->rows() * i->columns() * i->depth() <= kMostProducts) out.push_back(form);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<FormInfo> known = small_forms();
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
  Registers registers(std::max(32, instruction->lanes()), used);
  fill(*instruction, binding, mode, input, registers);
  Memory memory = memory_from(mode, input);
  std::vector<const Instruction*> lanes(static_cast<std::size_t>(registers.lanes()), &*instruction);
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
