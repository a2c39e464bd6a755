// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <vector>

#include "grid/program.hpp"

namespace warpbit::grid {

/// Which statements of a function can be executed: those to which control can flow from the first one.
std::vector<bool> reached(const ptx::FunctionText& function);

/// Adds the statements that may follow one.
void followers(const ptx::FunctionText& function, std::size_t statement, std::vector<std::size_t>& to);
/// The same of the steps of a function. Behind its last one is none of its own.
void followers(const Program& program, int step, std::vector<int>& to);

/// What a kernel may use.
struct Named {
  std::vector<const ptx::FunctionText*> functions;  ///< with a body; the kernel first
  std::set<const ptx::Variable*> variables;
};
/// What a kernel names, and what these functions and variables name in turn.
Named named(const ptx::ModuleText& module, const ptx::FunctionText& kernel);

}  // namespace warpbit::grid
