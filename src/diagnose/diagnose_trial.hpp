// SPDX-License-Identifier: Apache-2.0
// What a hypothesis about a wrong kernel works on: the inputs that the kernel had in truth, and what it then
// made of D.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replay/loaded_capture.hpp"
#include "warpbit/result.hpp"

namespace warpbit {

/// From where each element of an operand is read, the same in every case: an index of a slot for each slot, in
/// the order (lane, register, slot). With the number of slots added n times, it is the slot of the n-th case
/// after this one.
using SlotMap = std::vector<std::int32_t>;
inline constexpr std::int32_t kElsewhere = -1;  ///< from outside what the file knows
inline constexpr std::int32_t kZero = -2;       ///< nowhere: it is 0

/// What is known about an element of D.
enum class Knowledge : std::uint8_t {
  exact,      ///< what it is
  unwritten,  ///< that the kernel does not write it: it is 0, or what was there before
  nothing,
};

/// The inputs of the kernel, and for each slot of D in each case whether they say all about it.
struct Trial {
  LoadedCapture capture;
  std::vector<Knowledge> known;
};

/// D as the kernel gave it; slots that are not known may hold anything.
struct Prediction {
  Array d;
  std::vector<Knowledge> known;
};

/// One mistake. `inputs` and `results` may be empty.
struct Hypothesis {
  std::string kind, operand, mistake, hint;
  int cost = 1;             ///< of two that explain the same, the one that costs less comes first
  bool pairs = false;       ///< common enough to be tried together with another
  bool neighbours = false;  ///< it takes something from another case
  std::function<void(Trial&)> inputs = {};
  std::function<void(const LoadedCapture& inputs, Prediction&)> results = {};
  /// Instead of one execution; what it returns has gone through `inputs`.
  std::function<Result<Array>(const LoadedCapture& inputs)> execution = {};
};

/// Everything that may have happened to this instruction, by tables. No two have the same effect on all inputs
/// by construction alone.
std::vector<Hypothesis> fragment_hypotheses(const LoadedCapture& capture);
std::vector<Hypothesis> statement_hypotheses(const LoadedCapture& capture);
std::vector<Hypothesis> depth_hypotheses(const LoadedCapture& capture);
std::vector<Hypothesis> word_hypotheses(const LoadedCapture& capture);
std::vector<Hypothesis> memory_hypotheses(const LoadedCapture& capture);

/// An order of the lanes of a warp that is not theirs.
struct LaneOrder {
  std::string_view text;
  int (*lane)(int);  ///< from which lane, both below 32
};
std::span<const LaneOrder> lane_orders();

/// The registers of a part in a capture, or nullptr if it has none there.
Array* registers_of(LoadedCapture& capture, Part part);

/// All items of an array, zero-extended.
std::vector<std::uint64_t> words_of(const Array& array);

/// Slots of an operand of a case.
inline std::size_t slots_of(const Operand& op, int lanes) {
  return static_cast<std::size_t>(lanes * op.registers * op.fragment.packing().per_register());
}

/// Reads each element of the operand from where the map says. Bits outside elements become 0.
void move_slots(const Operand& op, int lanes, const SlotMap& map, const Array& from, Array& to);

/// Changes each register of a part.
void change_registers(LoadedCapture& capture, Part part,
                      const std::function<std::uint64_t(std::uint64_t)>& change);

/// The element that each slot of an operand holds.
using SlotCoordinates = std::vector<Coordinate>;
SlotCoordinates coordinates_of(const Operand& op, int lanes);

/// What is known of D, whose slots hold `d`, if elements of the part, whose slots hold `op`, come from
/// elsewhere.
void forget(Part part, const SlotCoordinates& op, const SlotCoordinates& d, const SlotMap& map,
            std::uint64_t cases, std::vector<Knowledge>& known);

/// The library's answer, by one thread.
Result<Array> execute_trial(const LoadedCapture& capture);

}  // namespace warpbit
