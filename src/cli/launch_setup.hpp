// SPDX-License-Identifier: Apache-2.0
// What is to be launched, as people type it: a kernel of a module, its shape and its arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <string>
#include <vector>

#include "cli/launch_arguments.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::cli {

struct LaunchSetup {
  std::string file, entry, target, grid = "1", block = "1", cluster;
  std::vector<std::string> arguments, bound;
  ptx::Launch how;
  bool unchecked = false, unchecked_global = false;
  std::vector<std::string> grades;

  /// Adds the options to a command. Precondition: this outlives the parsing.
  void add_to(CLI::App& command);
};

/// The same, ready to be launched; it stays where it is.
struct LoadedLaunch {
  ptx::Module module;
  ptx::Function kernel;
  std::deque<LaunchArray> arrays;
  std::vector<ptx::Argument> arguments;
  ptx::Launch how;

  /// Refuses what cannot be launched.
  explicit LoadedLaunch(const LaunchSetup& setup);
  LoadedLaunch(const LoadedLaunch&) = delete;
};

}  // namespace warpbit::cli
