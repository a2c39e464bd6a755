// SPDX-License-Identifier: Apache-2.0
// Threads that wait for locks of each other: who holds what, where no thread changes anything any more.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "grid/cluster.hpp"
#include "grid/global_races.hpp"
#include "grid/locks.hpp"
#include "grid/resolver.hpp"

namespace warpbit::grid {

std::optional<Lock> Block::awaited_lock(Warp& warp, const Path& path) const {
  for (int i = path.pc; !path.waits && i <= path.last_jump_back; ++i) {
    const Step& step = grid_.program.steps[static_cast<std::size_t>(i)];
    if (does(grid_.program, step) != ptx::Does::atomic || !step.place[kFreeValue].exists()) continue;
    const std::uint64_t at = steps::address_of(warp, path, step, 2, std::countr_zero(path.lanes));
    if (grid_.memory.find(at, step.access.bytes) != nullptr) return Lock{0, at};
  }
  return std::nullopt;
}

namespace {

/// A thread that holds a lock.
struct Holder {
  Block* block;
  Warp* warp;
  const HeldLocks::Held* held;
  int lane() const { return held->thread % kLanes; }
};

std::optional<Holder> holder_of(const std::vector<const Cluster*>& all, const Lock& lock) {
  for (const Cluster* const cluster : all)
    for (const std::unique_ptr<Block>& block : cluster->blocks())
      for (const std::unique_ptr<Warp>& warp : block->warps())
        for (const HeldLocks::Held& held : warp->locks().all())
          if (held.lock == lock) return Holder{block.get(), warp.get(), &held};
  return std::nullopt;
}

std::optional<Lock> wanted_by(const Holder& holder) {
  for (const Path& path : holder.warp->paths())
    if ((path.lanes >> holder.lane() & 1) != 0) return holder.block->awaited_lock(*holder.warp, path);
  return std::nullopt;
}

}  // namespace

void explain_by_locks(const Grid& grid, const std::vector<const Cluster*>& all, const Lock& wanted,
                      Fault& fault) {
  constexpr std::size_t kMost = 8;  // threads that are named
  const auto side = [&](const Holder& of, std::string what) {
    FaultSide out = block::side_of({of.held->thread, Block::place(of.held->site)}, std::move(what));
    const std::uint64_t cluster = of.block->cluster().number();
    if (cluster != all.front()->number()) place_elsewhere(grid, cluster, of.held->thread, out);
    return out;
  };
  Fault sides;  // that are not located yet
  std::vector<Lock> seen;
  for (std::optional<Lock> next = wanted;
       next && seen.size() < kMost && std::ranges::find(seen, *next) == seen.end();) {
    const std::optional<Holder> holder = holder_of(all, *next);
    if (!holder) break;
    const std::optional<Lock> wants = wanted_by(*holder);
    const std::string name = name_of(grid, *next);
    if (seen.empty()) {
      const Extent at = holder->block->index();
      fault.error.seen = fmt::format(
          "it waits for the lock at {}, which lane {} of warp {} of block ({}, {}, {}) holds, and no thread changes "
          "anything any more",
          name, holder->lane(), holder->warp->number(), at[0], at[1], at[2]);
      fault.error.accepted =
          !wants ? "that thread must release it, and may wait for nobody who needs it"
          : wants == wanted
              ? "a thread must not take a lock that it holds"
              : fmt::format(
                    "that thread waits for the lock at {}: all threads must take these locks in one order",
                    name_of(grid, *wants));
    }
    sides.related.push_back(
        side(*holder, fmt::format("takes the lock at {}, holds it{}", name,
                                  wants ? ", and waits for the one at " + name_of(grid, *wants) : "")));
    seen.push_back(*next);
    next = wants;
  }
  locate(grid.program, sides);
  fault.related.insert(fault.related.end(), sides.related.begin(), sides.related.end());
}

}  // namespace warpbit::grid
