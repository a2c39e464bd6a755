// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/loaded_capture.hpp"
#include "warpbit/execute.hpp"

namespace warpbit {

/// The library's answer to the inputs of a capture, in the shape of the expected result. Errors: those of
/// execute_batch, execute_warp and execute_warpgroup.
Result<Array> execute(const LoadedCapture& capture, const ExecuteOptions& options);

}  // namespace warpbit
