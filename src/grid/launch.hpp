// SPDX-License-Identifier: Apache-2.0
// All blocks of a launch.
#pragma once

#include <functional>

#include "grid/cluster.hpp"
#include "grid/compile.hpp"

namespace warpbit::grid {

/// Gives the module's variables their places in global memory. Errors: unknown symbols; more bytes than a GPU has.
Result<Addresses> place_variables(const ptx::ModuleText& module, GlobalMemory& memory);
/// Gives them their bytes and their initial values. Throws std::bad_alloc.
void fill_variables(const ptx::ModuleText& module, const Addresses& addresses, GlobalMemory& memory);

struct Report {
  std::optional<Fault> fault;   ///< of the first faulty block
  std::int32_t inferred = -1;   ///< as in Block, of all of them the first
  std::uint64_t blocks = 0;     ///< that have ended
  std::uint64_t cancelled = 0;  ///< that have not begun: their clusters were taken
  std::uint64_t steps = 0;
  ptx::Checked checked;
  Printed printed;
  std::vector<ptx::Counts> counts;  ///< if they are wanted
  bool stopped = false;             ///< by what observes it
  std::vector<Finding> findings;    ///< of a launch that is lenient, by cluster
};

/// Runs the clusters on as many host threads. A cluster that waits for others lets them go first.
Report run(const Grid& grid, int threads, const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace warpbit::grid
