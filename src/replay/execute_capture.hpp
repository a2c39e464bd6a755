// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/tile.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/execute.hpp"
#include "warpbit/record.hpp"

namespace warpbit {

/// How a replay with these options executes.
inline ExecuteOptions execute_options(const ReplayOptions& options) {
  return {.undefined = options.undefined};
}

/// Writes what `m`, one of the fills of `member`, says of the cases [first, first + cases) into the array of
/// the member, as inputs::word does for each register.
void fill_inputs(const CaptureMember& member, const inputs::Member& m, inputs::Key key, inputs::Profile profile,
                 std::uint64_t first, std::uint64_t cases, std::byte* array);

/// Generated inputs (warpbit/replay.hpp), as if they were read; the results are zero. Errors: those of
/// capture_members.
Result<LoadedCapture> generated_inputs(const Instruction& instruction, const InputChoice& choice,
                                       std::uint64_t first, std::uint64_t cases);

/// The library's answer to the inputs of a capture, in the shape of the expected result. Errors: those of
/// execute_batch, execute_warp and execute_warpgroup.
Result<Array> execute(const LoadedCapture& capture, const ExecuteOptions& options);

/// Refuses an element of D that a capture has not, and a capture of what is no sum of products. In the layout
/// `elements` each case has only one. Errors: view_mismatch; usage.
Result<void> check_element(const LoadedCapture& capture, std::uint64_t index, Coordinate at);
/// What each of the elements is computed from. Preconditions: execute succeeds for the case, check_element for the
/// elements.
std::vector<ElementInputs> codes_of_executed(const LoadedCapture& capture, std::uint64_t index,
                                             std::span<const Coordinate> elements);

}  // namespace warpbit
