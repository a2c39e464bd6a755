// SPDX-License-Identifier: Apache-2.0
// Tensor instructions and matrix moves: the registers of their operands are gathered, executed as everywhere, and put
// back. A product of a warpgroup is executed when its four warps have met.
#include <fmt/format.h>

#include <bit>

#include "grid/records.hpp"
#include "grid/steps.hpp"
#include "isa/instruction.hpp"
#include "warpbit/machine.hpp"

namespace warpbit::grid::steps {
namespace {

constexpr std::uint32_t kPaddingOfBytes = 0x03030303;  // below e2m1

const Instruction& instruction_of(Warp& warp, const Step& step) {
  return warp.program().instructions[static_cast<std::size_t>(step.extra)];
}
const std::vector<Place>& places_of(Warp& warp, const Step& step) {
  return warp.program().places[static_cast<std::size_t>(step.target)];
}

/// Where each operand's registers begin among all; those of immediates are none.
Binding binding_of(const Instruction& instruction, int& registers) {
  Binding out;
  registers = 0;
  for (const warpbit::Operand& operand : instruction.operands()) {
    out.push_back(registers);
    registers += operand.registers;
  }
  return out;
}

Next fault(Warp& warp, Path& path, Lanes lanes, Error error) {
  error.where.clear();
  return warp.fault(path, lanes, std::move(error));
}

void gather(const Gathered& from, int first_lane, Registers& registers) {
  const std::vector<Place>& places = places_of(*from.warp, *from.step);
  for (int r = 0; r < static_cast<int>(places.size()); ++r)
    for (int lane = 0; lane < kLanes; ++lane)
      registers.write(first_lane + lane, r,
                      places[static_cast<std::size_t>(r)].exists()
                          ? from.warp->read(*from.path, places[static_cast<std::size_t>(r)], lane)
                          : 0);
}
// Addresses of the block's own shared memory as its memory counts them, without the block's rank.
void remove_rank(const Gathered& from, const Instruction& instruction, const Binding& binding,
                 Registers& registers) {
  const std::uint64_t base = from.warp->block().shared_base();
  if (base == 0) return;
  for (std::size_t i = 0; i < binding.size(); ++i) {
    if (instruction.operands()[i].kind != OperandKind::address) continue;
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t address = registers.read(lane, binding[i]);
      const std::uint64_t window = address >= kSharedWindow ? kSharedWindow : 0;
      if (address - window - base < (std::uint64_t{1} << kRankShift))
        registers.write(lane, binding[i], address - base);
    }
  }
}
void scatter(const Gathered& to, int first_lane, const Effects& effects, Lanes lanes) {
  const std::vector<Place>& places = places_of(*to.warp, *to.step);
  for (const Effects::Write& write : effects.writes) {
    const int lane = write.lane - first_lane;
    if (lane < 0 || lane >= kLanes || (lanes >> lane & 1) == 0) continue;
    to.warp->write(*to.path, places[static_cast<std::size_t>(write.reg)], lane, write.value);
  }
}

// Records what the lanes read and write in shared memory. False after a fault.
bool record(Warp& warp, const Step& step, const Effects& effects) {
  Records records(warp, step);
  const auto in_shared = [&](Space space, std::uint64_t address,
                             std::uint64_t bytes) -> std::optional<std::int64_t> {
    const std::optional<ByteRange> range = warp.block().memory().in_shared(space, address, bytes);
    return range ? std::optional(static_cast<std::int64_t>(range->first)) : std::nullopt;
  };
  for (const Effects::MemoryRead& read : effects.memory_reads)
    if (const auto first = in_shared(read.space, read.address, read.bytes))
      if (!records.reads(std::max(read.lane, 0), *first, read.bytes)) return false;
  for (const Effects::MemoryWrite& write : effects.memory_writes)
    if (const auto first = in_shared(write.space, write.address, write.bytes.size()))
      if (!records.writes(std::max(write.lane, 0), *first, write.bytes)) return false;
  return true;
}

// Where the rows of an ldmatrix begin in shared memory; nothing of other instructions.
std::vector<std::int64_t> rows_of(Warp& warp, const Instruction& instruction, const Effects& effects) {
  std::vector<std::int64_t> out;
  const auto* const kernel = std::get_if<std::reference_wrapper<const Move>>(&instruction.decoded().kernel);
  if (kernel == nullptr || kernel->get().addressing != Addressing::rows || warp.block().async().tiles.empty())
    return out;
  for (const Effects::MemoryRead& read : effects.memory_reads)
    if (const auto range = warp.block().memory().in_shared(read.space, read.address, read.bytes))
      out.push_back(static_cast<std::int64_t>(range->first));
  return out;
}

// Global memory that the kernel may not write, among what an instruction writes; nullptr if there is none.
const GlobalMemory::Range* read_only(Warp& warp, const Effects& effects) {
  for (const Effects::MemoryWrite& write : effects.memory_writes) {
    if (warp.block().memory().in_shared(write.space, write.address, write.bytes.size())) continue;
    const GlobalMemory::Range* const range = warp.block().grid().memory.find(write.address, write.bytes.size());
    if (range != nullptr && !range->writable) return range;
  }
  return nullptr;
}

// Bits below elements in bytes of their own that a GPU reads with them, though the manual does not say so. False after a fault.
bool has_clean_padding(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  const Instruction& instruction = instruction_of(warp, step);
  const auto* const tile = std::get_if<Tile>(&instruction.decoded().kernel);
  if (tile == nullptr || !warp.block().checks()) return true;
  const std::vector<Place>& places = places_of(warp, step);
  std::size_t first = 0;
  for (const warpbit::Operand& operand : instruction.operands()) {
    const auto count = static_cast<std::size_t>(operand.registers);
    const TileOperand* const factor = operand.part == Part::a   ? &tile->a
                                      : operand.part == Part::b ? &tile->b
                                                                : nullptr;
    for (std::size_t r = first; factor != nullptr && factor->container != nullptr && r < first + count; ++r)
      for (int lane = 0; lane < kLanes; ++lane) {
        if ((lanes >> lane & 1) == 0 || !places[r].exists()) continue;
        const auto word = static_cast<std::uint32_t>(warp.read(path, places[r], lane));
        if ((word & kPaddingOfBytes) == 0) continue;
        Error error{Errc::undefined_operand,
                    {},
                    fmt::format("{:#010x} in register {} of {} has bits below its elements of {}", word,
                                r - first, operand.role, operand.format),
                    fmt::format("zeros in bits 1 and 0 of each byte; the GPU reads bits 5 to 0 as {}",
                                factor->container->name)};
        return warp.block().allows(
            block::fault_of(Block::who(warp, step, lane), std::move(error), KernelRule::dirty_padding));
      }
    first += count;
  }
  return true;
}

}  // namespace

bool takes_tiles(Warp& warp, const Step& step, std::span<const std::int64_t> rows) {
  Block& block = warp.block();
  if (!block.checks() || block.async().tiles.empty()) return true;
  return block.allows(block.async().tiles.mistaken({}, rows, Block::who(warp, step, 0)));
}

Next tensor(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (!has_clean_padding(warp, path, step, lanes)) return Next::end;
  if (lanes == kAllLanes)
    if (const std::optional<Next> done = tensor_slots(warp, path, step, lanes)) return *done;
  const Instruction& instruction = instruction_of(warp, step);
  warp.keep(path, lanes);
  const bool each_alone = instruction.lanes() == 1;
  if (!each_alone && lanes != kAllLanes) {
    path.needs = kAllLanes;
    if ((warp.alive() & ~lanes) != 0) return Next::wait;
    return warp.fault(
        path, ~lanes,
        {Errc::lanes_missing, {}, fmt::format("lanes {:#010x} have ended", ~lanes), "all lanes of the warp"});
  }
  if (instruction.lanes() == 4 * kLanes) return warp.block().meet_group(warp, path, step);
  if (lanes != kAllLanes)  // each alone
    if (const std::optional<Next> done = tensor_slots(warp, path, step, lanes)) return *done;

  int count = 0;
  const Binding binding = binding_of(instruction, count);
  Registers registers(kLanes, count);
  gather({&warp, &path, &step}, 0, registers);
  remove_rank({&warp, &path, &step}, instruction, binding, registers);
  std::array<const Instruction*, kLanes> who = {};
  for (int lane = 0; lane < kLanes; ++lane)
    who[static_cast<std::size_t>(lane)] = (lanes >> lane & 1) != 0 ? &instruction : nullptr;
  Block& block = warp.block();
  const Result<Effects> effects = execute_warp(who, binding, registers, block.memory(), block.grid().execute);
  if (!effects) return fault(warp, path, lanes, effects.error());
  if (const GlobalMemory::Range* const range = read_only(warp, *effects))
    return warp.fault(path, lanes, written_to(*range));
  if (!record(warp, step, *effects)) return Next::end;
  if (!takes_tiles(warp, step, rows_of(warp, instruction, *effects))) return Next::end;
  scatter({&warp, &path, &step}, 0, *effects, lanes);
  for (const Effects::MemoryWrite& write : effects->memory_writes)
    if (Result<void> written = block.memory().write(write.space, write.address, write.bytes); !written)
      return fault(warp, path, lanes, written.error());
  return Next::step;
}

// Without checks there is nothing to do: products are complete when they are issued.
Next control(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Block& block = warp.block();
  if (!block.checks()) return Next::step;
  const Instruction& instruction = instruction_of(warp, step);
  if (instruction.lanes() != 1) return tensor(warp, path, step, lanes);
  if (std::get<Control>(instruction.decoded().kernel).control.space != Space::global)
    block.accesses().fence_proxy(warp.number(), lanes);
  return Next::step;
}

namespace {

// The fault of all lanes of a warpgroup.
Next group_fault(Block& block, const Gathered& first, Error error) {
  error.where.clear();
  block.fault(block::of_group(first.warp->number_in_cluster() / block::kGroupWarps,
                              block::fault_of(Block::who(*first.warp, *first.step, 0), std::move(error))));
  return Next::end;
}

}  // namespace

Next tensor_group(std::span<const Gathered> warps) {
  const Gathered& first = warps.front();
  const Instruction& instruction = instruction_of(*first.warp, *first.step);
  Block& block = first.warp->block();
  if (std::holds_alternative<Control>(instruction.decoded().kernel))
    return block.products().control(warps, instruction), Next::step;
  if (const std::optional<Next> done = tensor_group_slots(warps)) return *done;
  int count = 0;
  const Binding binding = binding_of(instruction, count);
  Registers registers(4 * kLanes, count);
  for (std::size_t w = 0; w < warps.size(); ++w) gather(warps[w], static_cast<int>(w) * kLanes, registers);
  const std::vector<const Instruction*> who(4 * kLanes, &instruction);
  const Result<Effects> effects = execute_warp(who, binding, registers, block.memory(), block.grid().execute);
  if (!effects) return group_fault(block, first, effects.error());
  if (block.checks())
    if (!block.allows(block.products().issue(warps, instruction, *effects))) return Next::end;
  for (std::size_t w = 0; w < warps.size(); ++w)
    scatter(warps[w], static_cast<int>(w) * kLanes, *effects, kAllLanes);
  return Next::step;
}

}  // namespace warpbit::grid::steps
