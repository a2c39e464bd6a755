// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel/tile.hpp"
#include "replay/loaded_capture.hpp"
#include "warpbit/execute.hpp"

namespace warpbit {

/// The library's answer to the inputs of a capture, in the shape of the expected result. Errors: those of
/// execute_batch, execute_warp and execute_warpgroup.
Result<Array> execute(const LoadedCapture& capture, const ExecuteOptions& options);

/// What one element of D is computed from in case `index`; in the layout `elements` the only one. Errors: those
/// of execute; view_mismatch, if it is no sum of products; usage, if there is no such case or element.
Result<OwnedElementCodes> codes_of_element(const LoadedCapture& capture, std::uint64_t index, Coordinate at,
                                           const ExecuteOptions& options);
/// The same of several elements. Preconditions: execute succeeds for the capture; there are such a case and
/// elements.
std::vector<OwnedElementCodes> codes_of_executed(const LoadedCapture& capture, std::uint64_t index,
                                                 std::span<const Coordinate> elements);

}  // namespace warpbit
