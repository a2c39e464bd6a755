// SPDX-License-Identifier: Apache-2.0
// What the warps of one block wait for, noted while they run (ptx::Timeline).
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "block/actor.hpp"
#include "grid/program.hpp"
#include "warpbit/ptx.hpp"

namespace warpbit::grid {

class Block;
class Warp;
struct Path;

class TimelineRecorder {
 public:
  TimelineRecorder(const Program& program, const Block& block, int warps);

  /// How many statements were executed.
  std::uint64_t statements() const { return out_.statements; }
  /// A path waits at a step, which it does again.
  void wait(const Warp& warp, const Path& path, const Step& step);
  /// What the step at hand waits for was there by this, as the last of it.
  void depend(const block::Actor& by);
  /// A path of a warp is through with a statement, which these lanes of it have executed. `waits`: they go on behind it once
  /// others have come.
  void execute(const Warp& warp, const Path& path, const Step& step, Lanes lanes, bool waits);
  /// Lanes of a warp that wait behind a statement may go on.
  void release(int warp, Lanes lanes, const block::Actor& by);
  /// A step begins.
  void begin() { depends_ = {}; }

  /// So far: waits that are not over are the last ones.
  ptx::Timeline timeline() const;

 private:
  /// The asynchronous work of a warp, in groups: of each group what came last.
  struct Groups {
    block::Actor open = {};
    std::vector<block::Actor> committed = {};
    std::size_t waited = 0;  ///< for so many of them

    void commit() { committed.push_back(std::exchange(open, {})); }
    /// All but so many have been waited for: what came last of those that had not.
    block::Actor wait(std::uint64_t pending);
  };
  void note_groups(const Step& step, Lanes lanes, const block::Actor& self);
  void note_gifts(const Step& step, const block::Actor& self);
  void extend_runs(int warp, int line);
  void close(int warp, const Step& step, Lanes lanes, std::uint64_t number);
  void keep(const ptx::Wait& wait);
  int line_of(std::int32_t statement) const;
  ptx::Release release_of(const block::Actor& by) const;

  const Program& program_;
  const Block& block_;
  ptx::Timeline out_;
  bool is_full_ = false;
  std::vector<ptx::Wait> open_;  // that are not over
  block::Actor depends_, gave_registers_, gave_columns_;
  std::map<std::pair<int, ptx::Awaited>, Groups> groups_;  // by warp
};

}  // namespace warpbit::grid
