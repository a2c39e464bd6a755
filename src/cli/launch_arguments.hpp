// SPDX-License-Identifier: Apache-2.0
// What people type for the parameters of a kernel.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "cli/launch_arrays.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {

/// An argument for each parameter; `arrays` has the memory that they reach, and must not move. What is none is refused.
std::vector<ptx::Argument> parse_arguments(const std::vector<std::string>& texts, const ptx::Function& kernel,
                                           std::deque<LaunchArray>& arrays);

/// Gives variables of a module what they stand for: "NAME=texture:SHAPE:ARRAY" and the like. What is none is refused.
void bind_references(const std::vector<std::string>& texts, const ptx::Module& module,
                     std::deque<LaunchArray>& arrays);

}  // namespace warpbit::cli
