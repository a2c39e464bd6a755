// SPDX-License-Identifier: Apache-2.0
// All blocks of a launch.
#pragma once

#include <functional>

#include "grid/cluster.hpp"
#include "grid/compile.hpp"
#include "grid/totals.hpp"

namespace warpbit::grid {

/// Gives the module's variables their places in global memory. Errors: unknown symbols; more bytes than a GPU has.
Result<Addresses> place_variables(const ptx::ModuleText& module, GlobalMemory& memory);
/// Gives them their bytes and their initial values. Throws std::bad_alloc.
void fill_variables(const ptx::ModuleText& module, const Addresses& addresses, GlobalMemory& memory);

struct Report : Totals {
  std::optional<Fault>
      fault;  ///< of the first faulty block; then the totals are those of the clusters up to its own
  std::uint64_t cancelled = 0;  ///< blocks that have not begun: their clusters were taken
  bool stopped = false;         ///< by what observes it
};

/// Runs the clusters on as many host threads. A cluster that waits for others lets them go first.
Report run(const Grid& grid, int threads, const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace warpbit::grid
