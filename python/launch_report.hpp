// SPDX-License-Identifier: Apache-2.0
// What a launch of PTX gives, as Python has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "module.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::python {

using Block = std::tuple<unsigned, unsigned, unsigned>;

struct LaunchFaultSide {
  int warp = 0;
  std::vector<int> lanes;
  std::string file;
  unsigned line = 0;
  int ptx_line = 0;
  std::vector<SourceLink> chain;
  std::optional<Block> elsewhere;
  std::string what;
};

struct LaunchRelatedSide {
  LaunchFaultSide at;
  std::string what;
};

struct LaunchWaiters {
  std::vector<Block> blocks;
  std::vector<int> warps, lanes;
  std::string file;
  unsigned line = 0;
  int ptx_line = 0;
  std::vector<SourceLink> chain;
  std::string statement, awaits;
};

struct LaunchFault {
  Error error;
  std::string rule;
  std::string kernel;
  std::string message;
  Block block;
  LaunchFaultSide at;
  std::optional<LaunchFaultSide> other;
  std::optional<std::string> space;
  std::optional<std::int64_t> byte;
  std::vector<LaunchWaiters> waiting;
  std::vector<LaunchRelatedSide> related;
};

struct LaunchFinding {
  LaunchFault fault;
  std::uint64_t times = 0;
  std::string grade;
  std::vector<int> warps, lanes;
  std::uint64_t blocks = 0;
  std::optional<int> cause;
};

struct LaunchReport {
  std::optional<LaunchFault> fault;
  bool inferred = false, contracted = false;
  std::uint64_t blocks = 0, cancelled = 0, steps = 0, checked_shared = 0, checked_global = 0;
  std::uint64_t checked_barriers = 0, checked_copies = 0, checked_products = 0;
  std::vector<std::string> not_looked_for;
  std::string printed;
  std::uint64_t printed_dropped = 0;
  std::vector<LaunchFinding> findings;
  std::vector<ptx::OrderDependence> order_dependent;
  std::vector<ptx::Inference> inferences;
  std::vector<ptx::AssembledLine> assembled;
  std::vector<ptx::LineCounts> profile;
  ptx::Timeline timeline;
  std::vector<ptx::AssemblerNote> notes;
};

struct LaunchStore {
  Block block;
  LaunchFaultSide at;
  std::string statement;
  std::string message;
};

/// The places of a fault that stands for a store.
LaunchStore store_of(const Fault& fault);
LaunchReport report_of(const ptx::Report& report);

/// The classes of these, and the rules.
void add_report(py::module_& m);

}  // namespace warpbit::python
