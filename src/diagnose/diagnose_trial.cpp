// SPDX-License-Identifier: Apache-2.0
#include "diagnose/diagnose_trial.hpp"

#include <algorithm>
#include <cstring>  // memcpy
#include <map>

#include "replay/execute_capture.hpp"

namespace warpbit {
namespace {

template <class Item>
void read_items(const Array& array, std::vector<std::uint64_t>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Item item;
    std::memcpy(&item, array.data.data() + i * sizeof(Item), sizeof(Item));
    out[i] = item;
  }
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
    {"lanes rotated back by one within their groups of four", [](int x) { return (x & 28) | ((x + 3) & 3); }},
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
  if (part == Part::c && capture.before) return &*capture.before;
  const auto operands = capture.instruction.operands();
  for (std::size_t i = 1; i < operands.size(); ++i)
    if (operands[i].part == part && operands[i].kind != OperandKind::descriptor &&
        !capture.sources[i - 1].data.empty())
      return &capture.sources[i - 1];
  return nullptr;
}

std::vector<std::uint64_t> words_of(const Array& array) {
  std::vector<std::uint64_t> out(array.header.items());
  switch (array.header.item_bytes) {
    case 1: read_items<std::uint8_t>(array, out); break;
    case 2: read_items<std::uint16_t>(array, out); break;
    case 4: read_items<std::uint32_t>(array, out); break;
    default: read_items<std::uint64_t>(array, out); break;
  }
  return out;
}

void move_slots(const Operand& op, int lanes, const SlotMap& map, const Array& from, Array& to) {
  const Packing& packing = op.fragment.packing();
  const std::size_t per = static_cast<std::size_t>(packing.per_register());
  const std::size_t per_case = static_cast<std::size_t>(lanes) * static_cast<std::size_t>(op.registers);
  const std::uint64_t mask = packing.mask();
  std::vector<int> lows;
  for (int slot = 0; slot < packing.per_register(); ++slot) lows.push_back(packing.low_bit_of(slot));
  const std::vector<std::uint64_t> in = words_of(from);
  const std::size_t cases = in.size() / per_case, slots = map.size();
  const std::size_t bytes = to.header.item_bytes;
  for (std::size_t n = 0; n < cases; ++n)
    for (std::size_t j = 0, slot = 0; j < per_case; ++j) {
      std::uint64_t bits = 0;
      for (std::size_t e = 0; e < per; ++e, ++slot) {
        if (map[slot] < 0) continue;
        auto source = static_cast<std::size_t>(map[slot]);
        std::size_t other = n;
        for (; source >= slots; source -= slots) ++other;
        if (other >= cases) continue;
        bits |= (in[other * per_case + source / per] >> lows[source % per] & mask) << lows[e];
      }
      std::memcpy(to.data.data() + (n * per_case + j) * bytes, &bits, bytes);  // little-endian, as arrays are
    }
}

void change_registers(LoadedCapture& capture, Part part,
                      const std::function<std::uint64_t(std::uint64_t)>& change) {
  Array& array = *registers_of(capture, part);
  for (std::uint64_t i = 0; i < array.header.items(); ++i) array.set(i, change(array.at(i)));
}

SlotCoordinates coordinates_of(const Operand& op, int lanes) {
  SlotCoordinates out;
  for (int lane = 0; lane < lanes; ++lane)
    for (int reg = 0; reg < op.registers; ++reg)
      for (int slot = 0; slot < op.fragment.packing().per_register(); ++slot)
        out.push_back(op.fragment.at(lane, reg, slot).value_or(Coordinate{}));
  return out;
}

void forget(Part part, const SlotCoordinates& op, const SlotCoordinates& d, const SlotMap& map,
            std::uint64_t cases, std::vector<Knowledge>& known) {
  const auto slots_in_case = static_cast<std::int32_t>(map.size());
  const auto inside = [&](std::int32_t slot) { return slot != kElsewhere && slot < slots_in_case; };
  if (std::ranges::all_of(map, inside)) return;
  // What an element of the part decides in D: a row, a column or one element.
  const auto decided = [&](Coordinate c) {
    if (part == Part::a) c.column = 0;
    if (part == Part::b) c.row = 0;
    return c;
  };
  // For each of those, how many cases from the last one on know nothing about it.
  std::map<Coordinate, std::uint64_t> lost;
  for (std::size_t slot = 0; slot < map.size(); ++slot) {
    if (inside(map[slot])) continue;
    const std::uint64_t count =
        map[slot] == kElsewhere ? cases : static_cast<std::uint64_t>(map[slot] / slots_in_case);
    std::uint64_t& most = lost[decided(op[slot])];
    most = std::max(most, std::min(count, cases));
  }
  for (std::size_t slot = 0; slot < d.size(); ++slot) {
    const auto found = lost.find(decided(d[slot]));
    if (found == lost.end()) continue;
    for (std::uint64_t n = cases - found->second; n < cases; ++n)
      known[n * d.size() + slot] = Knowledge::nothing;
  }
}

Result<Array> execute_trial(const LoadedCapture& capture) {
  ExecuteOptions options;
  options.undefined = Undefined::as_measured;
  options.threads = 1;
  return execute(capture, options);
}

}  // namespace warpbit
