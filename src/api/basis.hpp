// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warpbit/execute.hpp"

namespace warpbit {

/// Refuses an instruction whose arithmetic is inferred where the options do not allow it.
Result<void> check_basis(const Instruction& instruction, const ExecuteOptions& options);

}  // namespace warpbit
