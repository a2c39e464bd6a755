// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptx/module.hpp"

namespace warpbit::grid {

/// Which statements of a function can be executed: those to which control can flow from the first one.
std::vector<bool> reached(const ptx::FunctionText& function);

/// Adds the statements that may follow one.
void followers(const ptx::FunctionText& function, std::size_t statement, std::vector<std::size_t>& to);

}  // namespace warpbit::grid
