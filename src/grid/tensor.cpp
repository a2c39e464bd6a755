// SPDX-License-Identifier: Apache-2.0
// Tensor instructions and matrix moves: the registers of their operands are gathered, executed as everywhere, and put
// back. A product of a warpgroup is executed when its four warps have met.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "grid/bounds.hpp"
#include "grid/resolver.hpp"
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

// What it is of ("lane 16", "line 3 of the tile") stands before what was seen.
Next fault(Warp& warp, Path& path, Lanes lanes, Error error) {
  const std::string where = std::exchange(error.where, {});
  if (where.starts_with("lane ") || where.starts_with("line ")) error.seen = where + ": " + error.seen;
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

/// The undefined bits of what a matrix move reads, at the same addresses, and where the first of them come from.
struct UndefinedSource {
  explicit UndefinedSource(Block& block) : bits(block.shared().size(), kSharedWindow) {}

  Memory bits;
  Undefined::Cause cause = {};  ///< without lanes: all are defined
};

// The bytes of a line, which execute_warp has found in shared or global memory. No data after a fault.
Target line_at(Warp& warp, Path& path, Space space, std::uint64_t address, std::uint64_t bytes, bool writes) {
  Block& block = warp.block();
  if (const std::optional<ByteRange> found = block.memory().in_shared(space, address, bytes))
    return {block.shared().data() + found->first, ptx::StateSpace::shared, nullptr, nullptr, found->first};
  const GlobalMemory::Range* const range = block.grid().memory.find(address, bytes);
  if (range != nullptr) return bytes_of(*range, address, bytes, writes);
  warp.fault(path, kAllLanes, beyond_global(block.grid(), address, bytes));  // released, or never allocated
  return {};
}

// Of a line that has been recorded. Unwritten bytes of its memory are found piece by piece.
void take_undefined(Warp& warp, const Step& step, const Target& line, const Effects::MemoryRead& read,
                    Records& records, UndefinedSource& out) {
  const bool is_shared = line.space == ptx::StateSpace::shared;
  if (!is_shared) (void)out.bits.add_global(read.address, read.bytes);  // lines do not overlap
  for (std::size_t at = 0; at < read.bytes; at += kMaxAccess) {
    const std::size_t bytes = std::min<std::size_t>(kMaxAccess, read.bytes - at);
    Target piece = line;
    piece.data += at;
    if (piece.defined != nullptr) piece.defined += at;
    const Buffer found = records.undefined(piece, bytes);
    (void)out.bits.write(is_shared ? Space::shared : Space::global, line.address + at,
                         std::span(found).first(bytes));
    for (std::size_t i = 0; i < bytes; ++i) {
      if (found[i] == std::byte{0}) continue;
      const auto byte = static_cast<std::int64_t>(line.address + at + i);
      if (out.cause.lanes == 0)
        out.cause = {undefined_memory(line.space, line.address, warp.block().grid().memory),
                     byte,
                     byte,
                     warp.site(step),
                     kAllLanes,
                     warp.number(),
                     records.race()};
      else if (out.cause.last + 1 == byte)
        out.cause.last = byte;
    }
  }
}

// What began without a value has one now.
void mark_written(Block& block, const Effects::MemoryWrite& write) {
  const GlobalMemory::Range* const range = block.grid().memory.find(write.address, write.bytes.size());
  if (write.space != Space::shared && range != nullptr && range->defined != nullptr)
    std::fill_n(range->defined_at(write.address), write.bytes.size(), std::byte{0xFF});
}

// Records what the lanes read and write, each in the variable of the step, and stores it at once: equal bytes are stored by several
// lanes without harm.
Next record(Warp& warp, Path& path, const Step& step, const Effects& effects,
            std::optional<UndefinedSource>& undefined) {
  Records records(warp, step);
  const auto line = [&](const auto& one, std::uint64_t bytes, bool writes) {
    const Target out = line_at(warp, path, one.space, one.address, bytes, writes);
    const bool lies =
        out.data != nullptr && lies_in_variable(warp, path, step, std::max(one.lane, 0), out.address, bytes);
    return lies ? out : Target{};
  };
  for (const Effects::MemoryRead& read : effects.memory_reads) {
    const Target from = line(read, read.bytes, false);
    if (from.data == nullptr) return Next::end;
    if (!records.loads(std::max(read.lane, 0), from, read.bytes)) return records.refused();
    if (undefined) take_undefined(warp, step, from, read, records, *undefined);
  }
  for (const Effects::MemoryWrite& write : effects.memory_writes) {
    const Target to = line(write, write.bytes.size(), true);
    if (to.data == nullptr || !records.writes(std::max(write.lane, 0), to, write.bytes)) return Next::end;
    if (Result<void> written = warp.block().memory().write(write.space, write.address, write.bytes); !written)
      return fault(warp, path, kAllLanes, written.error());
    mark_written(warp.block(), write);
  }
  return Next::step;
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
        const int bit = std::countr_zero(word & kPaddingOfBytes);
        Error error{
            Errc::protocol_violation,
            {},
            fmt::format(
                "bit {} of byte {} of {}'s register {} ({:#010x}) is 1, and a GPU reads bits 5 to 0 as {}",
                bit % 8, bit / 8, operand.role, r - first, word, factor->container->name),
            fmt::format("an {} lies in bits 5 to 2 of its byte, and bits 1 and 0 must be 0", operand.format)};
        return warp.block().allows(
            block::fault_of(Block::who(warp, step, lane), std::move(error), KernelRule::dirty_padding));
      }
    first += count;
  }
  return true;
}

}  // namespace

const Move* matrix_move(const Program& program, const Step& step) {
  if (what_runs(step) != tensor) return nullptr;
  const Instruction& instruction = program.instructions[static_cast<std::size_t>(step.extra)];
  const auto* const found = std::get_if<std::reference_wrapper<const Move>>(&instruction.decoded().kernel);
  return found == nullptr ? nullptr : &found->get();
}

namespace {

// What is stored has undefined bits: bytes of shared memory that have some are undefined again. False after a fault.
bool store_undefined(Warp& warp, const Path& path, const Step& step, const Effects::MemoryWrite& write) {
  const auto range = warp.block().memory().in_shared(write.space, write.address, write.bytes.size());
  for (std::size_t i = 0; i < write.bytes.size(); ++i) {
    if (write.bytes[i] == std::byte{0}) continue;
    if (range) {
      warp.block().accesses().forget(static_cast<std::int64_t>(range->first + i), 1);
      continue;
    }
    for (const Place& place : places_of(warp, step))
      if (const Lanes lanes = warp.undefined().lanes_of(path, place, kAllLanes); lanes != 0)
        return warp.undefined().fault(path, step, place, lanes);
  }
  return true;
}

// A matrix move moves undefined bits as it does others: it is executed on them. False after a fault.
bool move_undefined(Warp& warp, Path& path, const Step& step, std::span<const Instruction* const> who,
                    const Binding& binding, Registers registers, const Effects& effects,
                    const UndefinedSource& source) {
  const std::vector<Place>& places = places_of(warp, step);
  const Instruction& instruction = instruction_of(warp, step);
  for (std::size_t i = 0; i < binding.size(); ++i) {
    const warpbit::Operand& operand = instruction.operands()[i];
    for (int r = binding[i]; operand.part == Part::source && r < binding[i] + operand.registers; ++r)
      for (int lane = 0; lane < kLanes; ++lane)
        registers.write(lane, r, warp.undefined().read(path, places[static_cast<std::size_t>(r)], lane));
  }
  const bool loads = !effects.memory_reads.empty();
  if (loads && source.cause.lanes == 0) {
    for (const Effects::Write& write : effects.writes)
      warp.undefined().write(path, places[static_cast<std::size_t>(write.reg)], write.lane, 0);
    return true;
  }
  const ExecuteOptions& how = warp.block().grid().execute;
  const Result<Effects> moved =
      execute_warp(who, binding, registers, loads ? source.bits : warp.block().memory(), how);
  if (!moved) return fault(warp, path, kAllLanes, moved.error()), false;
  for (const Effects::MemoryWrite& write : moved->memory_writes)
    if (!store_undefined(warp, path, step, write)) return false;
  for (const Effects::Write& write : moved->writes)
    warp.undefined().write(path, places[static_cast<std::size_t>(write.reg)], write.lane, write.value);
  if (loads) warp.undefined().come_from(path, places, source.cause);
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
  const Instruction& instruction = instruction_of(warp, step);
  const bool follows = warp.undefined().active() &&
                       std::holds_alternative<std::reference_wrapper<const Move>>(instruction.decoded().kernel);
  if (lanes == kAllLanes && !follows)
    if (const std::optional<Next> done = tensor_slots(warp, path, step, lanes)) return *done;
  warp.keep(path, lanes);
  const bool each_alone = instruction.lanes() == 1;
  if (!each_alone && lanes != kAllLanes) {
    return need_all(warp, path, lanes);
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
  std::optional<UndefinedSource> undefined;
  if (follows) undefined.emplace(block);
  if (const Next next = record(warp, path, step, *effects, undefined); next != Next::step) return next;
  if (!takes_tiles(warp, step, rows_of(warp, instruction, *effects))) return Next::end;
  if (follows && !move_undefined(warp, path, step, who, binding, registers, *effects, *undefined))
    return Next::end;
  scatter({&warp, &path, &step}, 0, *effects, lanes);
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
  ++block.checked.products;
  if (const std::optional<Next> done = tensor_group_slots(warps)) return *done;
  int count = 0;
  const Binding binding = binding_of(instruction, count);
  Registers registers(4 * kLanes, count);
  for (std::size_t w = 0; w < warps.size(); ++w) gather(warps[w], static_cast<int>(w) * kLanes, registers);
  const std::vector<const Instruction*> who(4 * kLanes, &instruction);
  const Result<Effects> effects = execute_warp(who, binding, registers, block.memory(), block.grid().execute);
  if (!effects) return group_fault(block, first, effects.error());
  if (block.checks())
    if (!block.allows(block.products().suspicious(warps, instruction)) ||
        !block.allows(block.products().issue(warps, instruction, *effects)))
      return Next::end;
  for (std::size_t w = 0; w < warps.size(); ++w)
    scatter(warps[w], static_cast<int>(w) * kLanes, *effects, kAllLanes);
  return Next::step;
}

}  // namespace warpbit::grid::steps
