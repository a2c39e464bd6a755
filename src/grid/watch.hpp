// SPDX-License-Identifier: Apache-2.0
// What a launch is asked to count or to show of its steps (ptx::Launch::profile and observe).
#pragma once

#include <optional>
#include <vector>

#include "grid/program.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

class Warp;
struct Path;

/// What one statement cost, by its number in Program::origins.
struct Counts {
  std::uint64_t warps = 0, lanes = 0, sectors = 0, conflicts = 0;
  Counts& operator+=(const Counts& other) {
    warps += other.warps;
    lanes += other.lanes;
    sectors += other.sectors;
    conflicts += other.conflicts;
    return *this;
  }
};

/// The watch of one block.
class Watch {
 public:
  /// `observes`: the block is the one that `how` names.
  Watch(const Program& program, const ptx::Launch& how, bool observes);

  void before(Warp& warp, const Path& path, const Step& step, Lanes lanes);
  /// `before`: the path as it was. False if the launch is to end.
  bool after(Warp& warp, const Path& before, const Step& step, Lanes lanes);
  const std::vector<Counts>& counts() const { return counts_; }

 private:
  bool observes(const Warp& warp) const;
  void count_access(Warp& warp, const Path& path, const Step& step, Lanes lanes, Counts& counts) const;

  const Program& program_;
  const ptx::Launch& how_;
  bool observes_;
  std::vector<Counts> counts_;
  std::vector<ptx::RegisterValues> results_;  // of the step, before it
};

/// The statements that were executed, by line.
std::vector<ptx::LineCounts> profile(const Program& program, const std::vector<Counts>& counts);

}  // namespace warpbit::grid
