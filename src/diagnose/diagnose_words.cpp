// SPDX-License-Identifier: Apache-2.0
// Mistakes in the words that decide about the factors: metadata and scale factors, a register of each lane.
#include <fmt/format.h>

#include "diagnose/diagnose_trial.hpp"
#include "numeric/formats.hpp"

namespace warpbit {
namespace {

class WordCollection {
 public:
  explicit WordCollection(const LoadedCapture& capture) : capture_(capture) {}

  std::vector<Hypothesis> run() {
    if (has(Part::metadata)) metadata();
    if (has(Part::scale_a) && has(Part::scale_b)) scales();
    return std::move(out_);
  }

 private:
  bool has(Part part) { return registers_of(capture_, part) != nullptr; }
  const Operand& operand(Part part) const { return *capture_.instruction.find(part); }
  void add_inputs(Hypothesis h, std::function<void(Trial&)> inputs) {
    h.inputs = std::move(inputs);
    out_.push_back(std::move(h));
  }

  // Registers of a lane each, whole.
  void lane_orders_of(const std::vector<Part>& parts, const std::string& kind, const std::string& role,
                      const std::string& what) {
    for (const LaneOrder& order : lane_orders())
      add_inputs({kind, role, fmt::format("{}: {}", what, order.text), "which lanes hold " + what, 2},
                 [parts, other = order.lane](Trial& trial) {
                   for (const Part part : parts) {
                     Array& array = *registers_of(trial.capture, part);
                     const Array old = array;
                     for (std::uint64_t i = 0; i < array.header.items(); ++i)
                       array.set(i, old.at((i & ~std::uint64_t{31}) |
                                           static_cast<std::uint64_t>(other(static_cast<int>(i % 32)))));
                   }
                 });
    for (std::uint64_t chosen = 0; chosen < 4; ++chosen)
      add_inputs({kind, role, fmt::format("{}: all lanes of four have those of lane {}", what, chosen),
                  "which lanes hold " + what, 2},
                 [parts, chosen](Trial& trial) {
                   for (const Part part : parts) {
                     Array& array = *registers_of(trial.capture, part);
                     const Array old = array;
                     for (std::uint64_t i = 0; i < array.header.items(); ++i)
                       array.set(i, old.at((i & ~std::uint64_t{3}) | chosen));
                   }
                 });
  }

  struct WordOrder {
    std::string_view text;
    std::uint64_t (*word)(std::uint64_t);  // of 32 bits
  };
  void word_orders(Part part, const std::string& kind, const std::string& role, const std::string& what,
                   std::span<const WordOrder> orders) {
    for (const WordOrder& order : orders)
      add_inputs({kind, role, fmt::format("{}: {}", what, order.text), "how " + what + " is packed", 1, true},
                 [part, word = order.word](Trial& trial) {
                   change_registers(trial.capture, part,
                                    [word](std::uint64_t x) { return word(x) & 0xFFFFFFFF; });
                 });
  }

  void metadata() {
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
    word_orders(Part::metadata, "metadata_order", "e", "the metadata", kOrders);
    lane_orders_of({Part::metadata}, "metadata_lane", "e", "the metadata");
  }

  void scales() {
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
    const std::uint64_t one = 0x01010101 * encode(*find_format(operand(Part::scale_a).format), {false, 1, 0},
                                                  Rounding::nearest_even, Overflow::saturate);
    for (int which = 1; which < 4; ++which) {
      const char* const names[] = {"", "A", "B", "A and B"};
      const char* const roles[] = {"", "scale_a", "scale_b", "scale_a scale_b"};
      add_inputs(
          {"scale_one", roles[which], fmt::format("the scale factors of {} are taken as 1", names[which]),
           "whether the scale factors are loaded", 1, true},
          [which, one](Trial& trial) {
            if (which & 1) change_registers(trial.capture, Part::scale_a, [one](std::uint64_t) { return one; });
            if (which & 2) change_registers(trial.capture, Part::scale_b, [one](std::uint64_t) { return one; });
          });
    }
    add_inputs({"scales_exchanged", "scale_a scale_b", "the scale factors of A and B are exchanged",
                "the order of the operands", 1, true},
               [](Trial& trial) {
                 std::swap(registers_of(trial.capture, Part::scale_a)->data,
                           registers_of(trial.capture, Part::scale_b)->data);
               });
    for (const Part part : {Part::scale_a, Part::scale_b}) {
      const std::string role = part == Part::scale_a ? "scale_a" : "scale_b";
      const std::string what = std::string("the scale factors of ") + (part == Part::scale_a ? "A" : "B");
      word_orders(part, "scale_order", role, what, kOrders);
      lane_orders_of({part}, "scale_lane", role, what);
    }
    lane_orders_of({Part::scale_a, Part::scale_b}, "scale_lane", "scale_a scale_b",
                   "the scale factors of A and B");
  }

  LoadedCapture capture_;
  std::vector<Hypothesis> out_;
};

}  // namespace

std::vector<Hypothesis> word_hypotheses(const LoadedCapture& capture) {
  return WordCollection(capture).run();
}

}  // namespace warpbit
