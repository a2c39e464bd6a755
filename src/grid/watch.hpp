// SPDX-License-Identifier: Apache-2.0
// What a launch is asked to count or to show of its steps (ptx::Launch::profile and observe).
#pragma once

#include <optional>
#include <vector>

#include "grid/program.hpp"
#include "grid/timeline.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

class Block;
class Warp;
struct Path;

/// The watch of one block.
class Watch {
 public:
  /// `is_observed`: the block is the one that `how` names.
  Watch(const Program& program, const ptx::Launch& how, const Block& block, int warps, bool is_observed);

  /// A step begins, at `path`, for these lanes.
  void before(Warp& warp, const Path& path, const Step& step, Lanes lanes);
  /// It is done, or at a barrier and goes on behind it (`waits`). `before`: the path as it was. False if the launch is to
  /// end.
  bool after(Warp& warp, const Path& before, const Step& step, Lanes lanes, bool waits);
  /// It is not done: the path does it again.
  void wait(Warp& warp, const Path& path, const Step& step);
  bool counting() const { return !counts_.empty(); }
  /// The step at hand is part of a product or a copy, with these costs besides what its operands say.
  void add(const ptx::Counts& cost) { cost_ += cost; }
  /// Those of the block, if it is the observed one and that is asked for; else nullptr.
  TimelineRecorder* timeline() { return timeline_ ? &*timeline_ : nullptr; }
  const TimelineRecorder* timeline() const { return timeline_ ? &*timeline_ : nullptr; }
  /// By the number of a statement in Program::origins.
  const std::vector<ptx::Counts>& counts() const { return counts_; }

 private:
  bool observes(const Warp& warp) const;

  const Program& program_;
  const ptx::Launch& how_;
  bool observes_;
  std::vector<ptx::Counts> counts_;
  std::optional<TimelineRecorder> timeline_;
  // Of the step, before it.
  ptx::Counts cost_;
  std::vector<ptx::RegisterValues> results_, sources_;
  std::vector<ptx::MemoryAccess> accesses_;
  std::size_t in_flight_ = 0;  // copies of the cluster
  std::size_t found_ = 0;      // findings of the block at the statement before
};

/// The statements that have steps, by line.
std::vector<ptx::CodeLine> lines(const Program& program);
/// The statements that were executed, by line.
std::vector<ptx::LineCounts> profile(const Program& program, const std::vector<ptx::Counts>& counts);

}  // namespace warpbit::grid
