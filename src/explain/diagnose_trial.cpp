// SPDX-License-Identifier: Apache-2.0
#include "explain/diagnose_trial.hpp"

#include <algorithm>

#include "api/execute_capture.hpp"

namespace warpbit {
namespace {

// Slot number `slot`: of which item of an array, and its lowest bit.
struct SlotPlace {
  std::uint64_t item;
  int low;
};
SlotPlace place_of_slot(const Packing& packing, std::int32_t slot) {
  const int per = packing.per_register();
  return {static_cast<std::uint64_t>(slot / per), packing.low_bit_of(slot % per)};
}

constexpr LaneOrder kLaneOrders[] = {
    {"row from lane % 8 and column from lane / 8", [](int x) { return x % 8 * 4 + x / 8; }},
    {"row from lane / 4 and column from lane % 4 exchanged", [](int x) { return x % 4 * 8 + x / 4; }},
    {"lanes reversed", [](int x) { return 31 - x; }},
    {"lane off by one (lane + 1)", [](int x) { return (x + 1) % 32; }},
    {"lane off by one (lane - 1)", [](int x) { return (x + 31) % 32; }},
    {"halves of the warp exchanged", [](int x) { return x ^ 16; }},
    {"groups of four lanes rotated by one", [](int x) { return (x + 4) % 32; }},
    {"groups of four lanes rotated back by one", [](int x) { return (x + 28) % 32; }},
    {"lanes rotated by one within their groups of four", [](int x) { return (x & 28) | ((x + 1) & 3); }},
    {"lanes rotated back by one within their groups of four",
     [](int x) { return (x & 28) | ((x + 3) & 3); }},
    {"neighbouring lanes exchanged", [](int x) { return x ^ 1; }},
    {"lanes two apart exchanged", [](int x) { return x ^ 2; }},
    {"neighbouring groups of four exchanged", [](int x) { return x ^ 4; }},
    {"groups of four, two apart, exchanged", [](int x) { return x ^ 8; }},
    {"lanes of each group of four reversed", [](int x) { return x ^ 3; }},
    {"groups of four reversed", [](int x) { return x ^ 28; }},
    {"lane from lane % 16 and lane / 16", [](int x) { return x % 16 * 2 + x / 16; }},
    {"lane from lane % 2 and lane / 2", [](int x) { return x % 2 * 16 + x / 2; }},
};

}  // namespace

std::span<const LaneOrder> lane_orders() {
  return kLaneOrders;
}

Array* registers_of(LoadedCapture& capture, Part part) {
  if (part == Part::accumulator && capture.before) return &*capture.before;
  const auto operands = capture.instruction.operands();
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (operands[i].part == part && operands[i].kind != OperandKind::descriptor &&
        !capture.sources[i - 1].data.empty())
      return &capture.sources[i - 1];
  return nullptr;
}

void move_slots(const Operand& op, int lanes, const SlotMap& map, const Array& from, Array& to) {
  const Packing& packing = op.fragment.packing();
  const std::uint64_t per_case = static_cast<std::uint64_t>(lanes) * static_cast<std::uint64_t>(op.registers);
  const std::uint64_t mask =
      packing.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << packing.bits) - 1;
  const std::uint64_t cases = from.header.items() / per_case;
  std::vector<std::uint64_t> in(per_case), out(per_case);
  for (std::uint64_t i = 0; i < cases; ++i) {
    for (std::uint64_t j = 0; j < per_case; ++j) in[j] = from.at(i * per_case + j);
    std::ranges::fill(out, 0);
    for (std::size_t slot = 0; slot < map.size(); ++slot) {
      if (map[slot] < 0) continue;
      const SlotPlace source = place_of_slot(packing, map[slot]);
      const SlotPlace destination = place_of_slot(packing, static_cast<std::int32_t>(slot));
      out[destination.item] |= (in[source.item] >> source.low & mask) << destination.low;
    }
    for (std::uint64_t j = 0; j < per_case; ++j) to.set(i * per_case + j, out[j]);
  }
}

void forget(const Instruction& instruction, Part part, const SlotMap& map, std::vector<bool>& known) {
  if (std::ranges::find(map, kElsewhere) == map.end()) return;
  const int lanes = instruction.lanes();
  const auto coordinate = [&](const Operand& op, std::size_t slot) {
    const int per = op.fragment.packing().per_register(), index = static_cast<int>(slot);
    return *op.fragment.at(index / per / op.registers, index / per % op.registers, index % per);
  };
  const Operand& d = instruction.operands()[0];
  const Operand* operand = operand_of(instruction, part);
  const Operand& op = operand == nullptr ? d : *operand;  // where D is the accumulator, its fragment is C's
  const auto rows = static_cast<std::size_t>(d.fragment.rows());
  const auto columns = static_cast<std::size_t>(d.fragment.columns());
  const auto index = [&](const Coordinate& c) {
    return (static_cast<std::size_t>(c.product) * rows + static_cast<std::size_t>(c.row)) * columns +
           static_cast<std::size_t>(c.column);
  };
  std::vector<bool> lost(static_cast<std::size_t>(d.fragment.products()) * rows * columns);
  for (std::size_t slot = 0; slot < map.size(); ++slot) {
    if (map[slot] != kElsewhere) continue;
    Coordinate at = coordinate(op, slot);
    if (part == Part::accumulator) lost[index(at)] = true;
    if (part == Part::left_factor)
      for (at.column = 0; at.column < d.fragment.columns(); ++at.column) lost[index(at)] = true;
    if (part == Part::right_factor)
      for (at.row = 0; at.row < d.fragment.rows(); ++at.row) lost[index(at)] = true;
  }
  for (std::size_t slot = 0; slot < slots_of(d, lanes); ++slot)
    if (lost[index(coordinate(d, slot))]) known[slot] = false;
}

Result<Array> execute_trial(const LoadedCapture& capture) {
  ExecuteOptions options;
  options.undefined = Undefined::as_measured;
  options.threads = 1;
  return execute(capture, options);
}

}  // namespace warpbit
