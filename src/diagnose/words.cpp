// SPDX-License-Identifier: Apache-2.0
// Mistakes in the words that decide about the factors: metadata and scale factors, a register of each lane.
#include <fmt/format.h>

#include "diagnose/hypothesis.hpp"
#include "numeric/formats.hpp"

namespace warpbit {
namespace {

// Registers of a lane each, whole.
void add_lane_orders(Collection& to, const std::vector<Part>& parts, const std::string& kind,
                     const std::string& role, const std::string& what) {
  static constexpr LaneOrder kOneOfFour[] = {
      {"all lanes of four have those of lane 0", [](int x) { return x & ~3; }},
      {"all lanes of four have those of lane 1", [](int x) { return (x & ~3) | 1; }},
      {"all lanes of four have those of lane 2", [](int x) { return (x & ~3) | 2; }},
      {"all lanes of four have those of lane 3", [](int x) { return x | 3; }},
  };
  for (const std::span<const LaneOrder> orders :
       {std::span<const LaneOrder>(kLaneOrders), std::span<const LaneOrder>(kOneOfFour)})
    for (const LaneOrder& order : orders)
      to.add_inputs({kind, role, fmt::format("{}: {}", what, order.text), "which lanes hold " + what, 2},
                    [parts, from = order.lane](Trial& trial) {
                      for (const Part part : parts) {
                        Array& array = *array_of(trial.capture, part);
                        const Array old = array;
                        for (std::uint64_t i = 0; i < array.header.items(); ++i)
                          array.set(i, old.at((i & ~std::uint64_t{31}) |
                                              static_cast<std::uint64_t>(from(static_cast<int>(i % 32)))));
                      }
                    });
}

struct WordOrder {
  std::string_view text;
  std::uint64_t (*word)(std::uint64_t);  // of 32 bits
};
void add_word_orders(Collection& to, Part part, const std::string& kind, const std::string& role,
                     const std::string& what, std::span<const WordOrder> orders) {
  for (const WordOrder& order : orders)
    to.add_change({kind, role, fmt::format("{}: {}", what, order.text), "how " + what + " is packed", 1, true},
                  {part}, [word = order.word](std::uint64_t x) { return word(x) & 0xFFFFFFFF; });
}

void collect_metadata(Collection& to) {
  static constexpr WordOrder kOrders[] = {
      {"its 16-bit halves are exchanged", [](std::uint64_t x) { return x >> 16 | x << 16; }},
      {"the indices of each pair are exchanged",
       [](std::uint64_t x) { return (x >> 2 & 0x33333333) | (x & 0x33333333) << 2; }},
      {"the nibbles of each byte are exchanged",
       [](std::uint64_t x) { return (x >> 4 & 0x0F0F0F0F) | (x & 0x0F0F0F0F) << 4; }},
      {"the bytes of each half are exchanged",
       [](std::uint64_t x) { return (x >> 8 & 0x00FF00FF) | (x & 0x00FF00FF) << 8; }},
      {"its bytes are reversed",
       [](std::uint64_t x) { return x >> 24 | (x >> 8 & 0xFF00) | (x & 0xFF00) << 8 | x << 24; }},
      {"shifted by a nibble to the right", [](std::uint64_t x) { return x >> 4; }},
      {"shifted by a nibble to the left", [](std::uint64_t x) { return x << 4; }},
      {"its upper half is that of the lower one", [](std::uint64_t x) { return (x & 0xFFFF) * 0x10001; }},
      {"its lower half is that of the upper one", [](std::uint64_t x) { return (x >> 16) * 0x10001; }},
      {"the upper half is 0", [](std::uint64_t x) { return x & 0xFFFF; }},
      {"the lower half is 0", [](std::uint64_t x) { return x & 0xFFFF0000; }},
      {"the first two of four everywhere", [](std::uint64_t) { return std::uint64_t{0x44444444}; }},
      {"the last two of four everywhere", [](std::uint64_t) { return std::uint64_t{0xEEEEEEEE}; }},
      {"0 everywhere", [](std::uint64_t) { return std::uint64_t{0}; }},
  };
  add_word_orders(to, Part::metadata, "metadata_order", "e", "the metadata", kOrders);
  add_lane_orders(to, {Part::metadata}, "metadata_lane", "e", "the metadata");
}

void collect_scales(Collection& to) {
  static constexpr WordOrder kOrders[] = {
      {"halves are exchanged", [](std::uint64_t x) { return x >> 16 | x << 16; }},
      {"bytes of each half are exchanged",
       [](std::uint64_t x) { return (x >> 8 & 0x00FF00FF) | (x & 0x00FF00FF) << 8; }},
      {"bytes are reversed",
       [](std::uint64_t x) { return x >> 24 | (x >> 8 & 0xFF00) | (x & 0xFF00) << 8 | x << 24; }},
      {"bytes are rotated", [](std::uint64_t x) { return x >> 8 | x << 24; }},
      {"bytes are rotated back", [](std::uint64_t x) { return x << 8 | x >> 24; }},
      {"byte 0 everywhere", [](std::uint64_t x) { return (x & 0xFF) * 0x01010101; }},
      {"byte 1 everywhere", [](std::uint64_t x) { return (x >> 8 & 0xFF) * 0x01010101; }},
      {"byte 2 everywhere", [](std::uint64_t x) { return (x >> 16 & 0xFF) * 0x01010101; }},
      {"byte 3 everywhere", [](std::uint64_t x) { return (x >> 24 & 0xFF) * 0x01010101; }},
  };
  const std::uint64_t one = 0x01010101 * encode(*find_format(to.instruction.find(Part::scale_a)->format),
                                                {false, 1, 0}, Rounding::nearest_even, Overflow::saturate);
  struct Row {
    std::string roles, names;
    std::vector<Part> parts;
  };
  const Row a{"scale_a", "the scale factors of A", {Part::scale_a}},
      b{"scale_b", "the scale factors of B", {Part::scale_b}},
      both{"scale_a scale_b", "the scale factors of A and B", {Part::scale_a, Part::scale_b}};
  for (const Row& row : {a, b, both})
    to.add_change({"scale_one", row.roles, row.names + " are taken as 1",
                   "whether the scale factors are loaded", 1, true},
                  row.parts, [one](std::uint64_t) { return one; });
  to.add_inputs({"scales_exchanged", "scale_a scale_b", "the scale factors of A and B are exchanged",
                 "the order of the operands", 1, true},
                [](Trial& trial) {
                  std::swap(array_of(trial.capture, Part::scale_a)->data,
                            array_of(trial.capture, Part::scale_b)->data);
                });
  for (const Row& row : {a, b, both}) {
    if (row.parts.size() == 1) add_word_orders(to, row.parts[0], "scale_order", row.roles, row.names, kOrders);
    add_lane_orders(to, row.parts, "scale_lane", row.roles, row.names);
  }
}

}  // namespace

void collect_words(Collection& to) {
  if (to.has(Part::metadata)) collect_metadata(to);
  if (to.has(Part::scale_a) && to.has(Part::scale_b)) collect_scales(to);
}

}  // namespace warpbit
