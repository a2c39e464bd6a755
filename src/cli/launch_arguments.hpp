// SPDX-License-Identifier: Apache-2.0
// What people type for the parameters of a kernel.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "warpbit/capture.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {

/// An array of an argument, and the file that it is written to.
struct LaunchArray {
  Array array;
  std::string out;
  std::string type;        ///< of zeros, as it was typed
  bool unwritten = false;  ///< it begins without values
};

/// An argument for each parameter; `arrays` has the memory that they reach, and must not move. What is none is refused.
std::vector<ptx::Argument> parse_arguments(const std::vector<std::string>& texts, const ptx::Function& kernel,
                                           std::deque<LaunchArray>& arrays);

}  // namespace warpbit::cli
