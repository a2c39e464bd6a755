// SPDX-License-Identifier: Apache-2.0
// A launch of a kernel in which `warpbit notice` has planted a mistake, beside the same launch without it.
//
//     memory before -- the kernel as it was --> bytes -.
//           `-- again, with the mistake ------> bytes -+- equal? Then both once more with other values, and with other sizes
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "grid/memory.hpp"
#include "test_process.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

using LaunchOnce = std::function<ptx::Report(const ptx::Launch&, std::span<const ptx::Argument>)>;

/// One of the two kernels, with the variables of its module.
struct Twin {
  LaunchOnce launch;
  std::span<const GlobalMemory::Range> variables;
};

/// What is launched.
struct TwinLaunch {
  const TestProcess& process;
  const std::string& kernel;
  std::span<const ptx::Parameter> parameters;
  const ptx::Launch& how;
  std::span<const ptx::Argument> arguments;
  int line = 0;  ///< of the mistake, in the module's text
};

/// Launches the kernel `with` the mistake on the caller's memory, compares it with the one `without`, and writes an event:
///
///     {"event": "launch", "kernel": name, "outcome": one of these, "inputs": how many others were tried, "what": of a fault}
///     fault     a fault, and none without the mistake
///     bytes     other bytes in memory, or in what was printed, or no fault where there was one
///     finding   the same bytes, and a finding of a rule that was kept without the mistake
///     values    the same; but other bytes, or a finding, for other values in the arrays or numbers
///     sizes     the same; but that where an integer argument is less: by one, half of it, or 1; or the grid has a block more
///     same      the same for all of these
///     no_effect the same, and no other statement of the first block reads or writes anything else with the test's inputs
///
/// Once other bytes are known in this process the kernel without the mistake is not launched any more.
ptx::Report launch_twins(const TwinLaunch& what, const Twin& with, const Twin& without);

/// The module of a kernel that is launched: its key, and the file that it was loaded from.
struct RecordedModule {
  const std::string &key, &file;
};
/// Launches a kernel that has no mistake, and writes which lines of its module are executed, those alone that are new; and
/// remarks (review.hpp) on it:
///
///     {"event": "launch", "kernel": name, "module": key, "file": file, "lines": [...], "ok": true}
ptx::Report launch_recorded(const TwinLaunch& what, const RecordedModule& module, const LaunchOnce& launch);

}  // namespace warpbit::grid
