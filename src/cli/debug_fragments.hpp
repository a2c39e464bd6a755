// SPDX-License-Identifier: Apache-2.0
// The operands of a tensor instruction as the matrices that they are.
#pragma once

#include <string>
#include <vector>

#include "warpbit/debug.hpp"

namespace warpbit::cli {

struct DebugFragment {
  std::string role, format;  ///< "a", "f16"
  std::size_t rows = 0, columns = 0;
  std::vector<double> numbers;  ///< row by row
};

/// A statement without its guard: "@%p1 mma.sync ..." is "mma.sync ...".
std::string_view without_guard(std::string_view statement);

/// Those of the statement that a warp has executed last, in registers, as they are now: of a product of a warpgroup with those of
/// its four warps. None of a statement that is no tensor instruction.
std::vector<DebugFragment> fragments_of(const DebugState& state, int warp, Target target);

}  // namespace warpbit::cli
