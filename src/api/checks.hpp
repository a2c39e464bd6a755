// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "kernel/tile.hpp"
#include "warpbit/execute.hpp"

namespace warpbit {

/// Refuses an instruction whose arithmetic is inferred where the options do not allow it.
Result<void> check_basis(const Instruction& instruction, const ExecuteOptions& options);

/// Refuses metadata that the manual leaves undefined where the options do not allow it.
Result<void> check_metadata(const Instruction& instruction, const Tile& tile, const OperandView& e,
                            std::size_t cases, const ExecuteOptions& options);

}  // namespace warpbit
