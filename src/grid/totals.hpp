// SPDX-License-Identifier: Apache-2.0
// What the clusters of a launch leave: of all, or of those up to the first faulty one, whichever host thread ran them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "grid/cluster.hpp"
#include "grid/printed.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

/// What blocks leave, one after another.
struct Totals {
  std::int32_t inferred = -1;  ///< as in Block, of all of them the first
  std::uint64_t blocks = 0;    ///< that have ended
  std::uint64_t steps = 0;
  ptx::Checked checked;
  Printed printed;
  std::vector<ptx::Counts> counts;  ///< if they are wanted
  ptx::Timeline timeline;           ///< of the observed block, likewise
  std::vector<Finding>
      findings;  ///< of a launch that is lenient, by block; what several do is of the first one

  /// What those have left that are behind these.
  void add(const Totals& later);
  void add(const Finding& found);
};

/// Those of clusters that have ended in any order.
class TotalsByCluster {
 public:
  void add(std::uint64_t cluster, Totals left);
  /// Leaves those out that are behind a cluster, which was not added so far.
  void forget_behind(std::uint64_t cluster);
  Totals all() const;

 private:
  struct Run {
    std::uint64_t end;  // the first cluster behind it
    Totals totals;
  };
  std::map<std::uint64_t, Run> runs_;  // of consecutive clusters, by the first one
};

}  // namespace warpbit::grid
