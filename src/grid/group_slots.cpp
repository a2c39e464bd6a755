// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup with the registers of D in place.
#include <cstring>

#include "api/checks.hpp"
#include "grid/slot_words.hpp"
#include "grid/steps.hpp"
#include "isa/instruction.hpp"

namespace warpbit::grid::steps {
namespace {

constexpr std::size_t kMaxSums = 128;  // registers of D in a lane

// The value that all lanes of the warps have; nothing if they differ.
std::optional<std::uint64_t> common_value(std::span<const Gathered> warps, const Place& place) {
  const std::uint64_t first = warps.front().warp->read(*warps.front().path, place, 0);
  for (const Gathered& one : warps) {
    if (place.kind == Place::Kind::predicate) {
      if (one.warp->holds(*one.path, place) != (first != 0 ? kAllLanes : 0)) return {};
      continue;
    }
    const std::uint32_t* const slot = one.warp->at(*one.path, place);
    std::uint64_t different = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      std::uint64_t value = slot[lane];
      if (place.bits == 64) std::memcpy(&value, slot + 2 * lane, sizeof value);
      different |= value ^ first;
    }
    if (different != 0) return {};
  }
  return first;
}

// Records the product, if products are checked. False after a fault.
bool issue(std::span<const Gathered> warps, const Instruction& instruction, const WarpgroupSources& sources) {
  Block& block = warps.front().warp->block();
  if (!block.checks()) return true;
  return block.allows(block.products().suspicious(warps, instruction)) &&
         block.allows(block.products().issue(warps, instruction, sources));
}

// The same with D in its slots. Nothing if it is left to the general case.
std::optional<Next> compute_in_place(std::span<const Gathered> warps, const Instruction& instruction,
                                     const WarpgroupSources& sources, std::span<const Place> places) {
  Block& block = warps.front().warp->block();
  const auto kernel = static_cast<Kernel>(block.grid().extension + static_cast<int>(Kernel::scalar));
  const std::span<const std::byte> memory = block.memory().shared();
  if (!can_run_in_registers(instruction, kernel, sources, memory, block.grid().execute)) return std::nullopt;
  if (!issue(warps, instruction, sources)) return Next::end;
  const auto count = static_cast<std::size_t>(instruction.operands()[0].registers);
  std::array<std::uint32_t*, 4 * kMaxSums> registers;
  for (std::size_t w = 0; w < warps.size(); ++w)
    for (std::size_t r = 0; r < count; ++r)
      registers[w * count + r] = warps[w].warp->at(*warps[w].path, places[r]);
  run_in_registers(instruction, kernel, sources, memory, registers.data());
  return Next::step;
}

}  // namespace

std::optional<Next> tensor_group_slots(std::span<const Gathered> warps) {
  const auto& [warp, path, step] = warps.front();
  const Program& program = warp->program();
  const Instruction& instruction = program.instructions[static_cast<std::size_t>(step->extra)];
  const std::span<const Place> places = program.places[static_cast<std::size_t>(step->target)];
  const TensorPlan& plan = program.tensor_plans[static_cast<std::size_t>(step->extra)];
  Block& block = warp->block();
  if (block.grid().extension < 0 || warps.size() != 4 || instruction.inferred() ||
      !std::holds_alternative<Tile>(instruction.decoded().kernel))
    return std::nullopt;
  static thread_local std::array<std::vector<std::byte>, 3> sides;  // D, A, metadata
  const auto gathered = [&](std::vector<std::byte>& side, const warpbit::Operand& operand, std::size_t at) {
    const auto count = static_cast<std::size_t>(operand.registers);
    const std::size_t bytes = kLanes * count * static_cast<std::size_t>(operand.register_bits) / 8;
    side.resize(warps.size() * bytes);
    for (std::size_t w = 0; w < warps.size(); ++w)
      gather_slots({*warps[w].warp, *warps[w].path, places.subspan(at, count), operand.register_bits},
                   side.data() + w * bytes);
    return ResultView::dense(side.data(), 4 * kLanes, operand.registers, operand.register_bits);
  };
  WarpgroupSources sources;
  ResultView d;
  std::size_t at = 0;
  for (const warpbit::Operand& operand : instruction.operands()) {
    const std::size_t first = at;
    at += static_cast<std::size_t>(operand.registers);
    if (operand.kind == OperandKind::immediate || operand.is_all_literals()) continue;
    if (operand.part == Part::d) {
      if (!plan.d_in_place) d = gathered(sides[0], operand, first);
    } else if (operand.part == Part::a && operand.kind == OperandKind::vector) {
      sources.a = gathered(sides[1], operand, first);
    } else if (operand.part == Part::metadata) {
      sources.metadata = gathered(sides[2], operand, first);
    } else {
      const std::optional<std::uint64_t> value = common_value(warps, places[first]);
      if (!value) return std::nullopt;
      if (operand.part == Part::a)
        sources.a_descriptor = *value;
      else if (operand.part == Part::b)
        sources.b_descriptor = *value;
      else if (operand.part == Part::scale_d)
        sources.accumulate = *value != 0;
      else
        return std::nullopt;
    }
  }
  if (plan.d_in_place) return compute_in_place(warps, instruction, sources, places);
  const Result<Execution> done =
      execute_warpgroup(instruction, sources, block.memory().shared(), d, block.grid().execute);
  if (!done) return std::nullopt;
  if (!issue(warps, instruction, sources)) return Next::end;
  const warpbit::Operand& of = instruction.operands()[0];
  const auto count = static_cast<std::size_t>(of.registers);
  for (std::size_t w = 0; w < warps.size(); ++w)
    scatter_slots({*warps[w].warp, *warps[w].path, places.first(count), of.register_bits},
                  sides[0].data() + w * sides[0].size() / warps.size(), kAllLanes);
  return Next::step;
}

}  // namespace warpbit::grid::steps
