// SPDX-License-Identifier: Apache-2.0
// Mistakes that `warpbit notice` plants in calls of kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/block.hpp"
#include "test_process.hpp"

namespace warpbit::device::calls {

/// Whether it is asked what the running thread calls on a line: only then a call needs its text.
inline bool is_watched(Place at) {
  const CallWatch* const watch = current_block().watch();
  return watch != nullptr && watch->looks_at(at.line);
}

/// What is planted in a call of the running thread; nullptr: nothing.
inline const PlantedCall* planted(std::string_view call, Place at) {
  return is_watched(at) ? current_block().watch()->at(call, at) : nullptr;
}
inline bool is_left_out(std::string_view call, Place at) {
  const PlantedCall* const change = planted(call, at);
  return change != nullptr && change->change == PlantedCall::Change::left_out;
}
/// How many groups a wait lets be pending; nothing if it is left out.
std::optional<unsigned> planted_pending(std::string_view wait, unsigned pending, Place at);
/// The access of an element; nothing if it is left out.
std::optional<View> planted_access(std::string_view name, const View& array, std::size_t bytes, Place at);

/// Executes an instruction with its mistake.
void execute_planted(const PlantedCall& change, const Statement& statement, const Operands& operands, Place at);
/// Without.
void execute_right(const Statement& statement, const Operands& operands, Place at);

/// Exchanges the first two of some registers.
void exchange(void* registers, std::size_t bytes_each);

}  // namespace warpbit::device::calls
