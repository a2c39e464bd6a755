// SPDX-License-Identifier: Apache-2.0
// Instructions of the lanes of a warp together (PTX manual, "Parallel Synchronization and Communication Instructions").
// They need all lanes of their mask that have not ended; a path waits until the others are at the same step.
#include <fmt/format.h>

#include <bit>

#include "grid/block.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {
namespace {

/// Whether all lanes of the masks are here: `step`; else the path must wait, or a lane is not in its own mask.
Next together(Warp& warp, Path& path, const Place& mask, Lanes lanes) {
  warp.keep(path, lanes);
  Lanes needed = 0, outside = 0;
  for_each_lane(lanes, [&](int lane) {
    const auto wanted = static_cast<Lanes>(warp.read(path, mask, lane));
    needed |= wanted & warp.alive();
    if ((wanted >> lane & 1) == 0) outside |= Lanes{1} << lane;
  });
  if (outside != 0)
    return warp.fault(path, outside, {Errc::inactive_lane, {}, "a lane is not in its own mask", {}});
  if ((needed & ~lanes) == 0) return Next::step;
  path.needs = needed;
  return Next::wait;
}

}  // namespace

Next sync_warp(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const Next next = together(warp, path, step.place[2], lanes);
  if (next == Next::step) warp.block().accesses().sync_warp(warp.number(), lanes);
  return next;
}

// The lane that is read, and whether it lies in the segment; beyond it, the lane itself.
Next shuffle(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (const Next next = together(warp, path, step.place[5], lanes); next != Next::step) return next;
  std::array<std::uint64_t, kLanes> values = {};
  for_each_lane(
      lanes, [&](int lane) { values[static_cast<std::size_t>(lane)] = warp.read(path, step.place[2], lane); });
  Lanes inside = 0, inactive = 0;
  std::array<std::uint64_t, kLanes> results = {};
  for_each_lane(lanes, [&](int lane) {
    const auto b = static_cast<int>(warp.read(path, step.place[3], lane) & 31);
    const auto c = static_cast<int>(warp.read(path, step.place[4], lane));
    const int clamp = c & 31, segment = c >> 8 & 31;
    const int max = (lane & segment) | (clamp & ~segment), min = lane & segment;
    int from = lane;
    bool in = false;
    switch (static_cast<Shuffle>(step.extra)) {
      case Shuffle::up:
        from = lane - b;
        in = from >= max;
        break;
      case Shuffle::down:
        from = lane + b;
        in = from <= max;
        break;
      case Shuffle::butterfly:
        from = lane ^ b;
        in = from <= max;
        break;
      case Shuffle::index:
        from = min | (b & ~segment);
        in = from <= max;
        break;
    }
    if (!in) from = lane;
    if ((lanes >> from & 1) == 0) inactive |= Lanes{1} << lane;
    results[static_cast<std::size_t>(lane)] = values[static_cast<std::size_t>(from)];
    inside |= Lanes{in} << lane;
  });
  if (inactive != 0)
    return warp.fault(path, inactive,
                      {Errc::inactive_lane, {}, "a lane reads from one that is not active", {}});
  for_each_lane(
      lanes, [&](int lane) { warp.write(path, step.place[0], lane, results[static_cast<std::size_t>(lane)]); });
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, inside);
  return Next::step;
}

Next vote(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (const Next next = together(warp, path, step.place[3], lanes); next != Next::step) return next;
  Lanes value = 0;
  for_each_lane(lanes, [&](int lane) { value |= Lanes{warp.read(path, step.place[2], lane) != 0} << lane; });
  Lanes result = 0;
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[3], lane)) & lanes;
    const Lanes of_mask = value & mask;
    switch (static_cast<Vote>(step.extra)) {
      case Vote::all: result |= Lanes{of_mask == mask} << lane; break;
      case Vote::any: result |= Lanes{of_mask != 0} << lane; break;
      case Vote::uniform: result |= Lanes{of_mask == mask || of_mask == 0} << lane; break;
      case Vote::ballot: warp.write(path, step.place[0], lane, of_mask); break;
    }
  });
  if (static_cast<Vote>(step.extra) != Vote::ballot) warp.set(path, step.place[0], lanes, result);
  return Next::step;
}

Next match(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (const Next next = together(warp, path, step.place[3], lanes); next != Next::step) return next;
  std::array<Lanes, kLanes> results = {};
  Lanes same = 0;
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[3], lane)) & lanes;
    const std::uint64_t mine = warp.read(path, step.place[2], lane);
    Lanes equal = 0;
    for_each_lane(mask,
                  [&](int other) { equal |= Lanes{warp.read(path, step.place[2], other) == mine} << other; });
    const bool all = equal == mask;
    results[static_cast<std::size_t>(lane)] = step.extra == 0 || all ? equal : 0;
    same |= Lanes{all} << lane;
  });
  for_each_lane(
      lanes, [&](int lane) { warp.write(path, step.place[0], lane, results[static_cast<std::size_t>(lane)]); });
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, same);
  return Next::step;
}

Next reduce(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (const Next next = together(warp, path, step.place[3], lanes); next != Next::step) return next;
  const scalar::Operation& operation = warp.program().operations[static_cast<std::size_t>(step.extra)];
  std::array<std::uint64_t, kLanes> results = {};
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[3], lane)) & lanes;
    bool first = true;
    std::uint64_t total = 0;
    for_each_lane(mask, [&](int other) {
      const std::uint64_t value = warp.read(path, step.place[2], other);
      scalar::Sources sources;
      sources.value = {total, value};
      sources.count = 2;
      total = first ? value : scalar::execute(operation, sources).value;
      first = false;
    });
    results[static_cast<std::size_t>(lane)] = total;
  });
  for_each_lane(
      lanes, [&](int lane) { warp.write(path, step.place[0], lane, results[static_cast<std::size_t>(lane)]); });
  return Next::step;
}

Next active_mask(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for_each_lane(lanes, [&](int lane) { warp.write(path, step.place[0], lane, lanes); });
  return Next::step;
}

Next elect(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  if (const Next next = together(warp, path, step.place[2], lanes); next != Next::step) return next;
  Lanes leaders = 0;
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[2], lane)) & lanes;
    const int leader = std::countr_zero(mask);
    warp.write(path, step.place[0], lane, static_cast<std::uint64_t>(leader));
    leaders |= Lanes{leader == lane} << lane;
  });
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, leaders);
  return Next::step;
}

}  // namespace warpbit::grid::steps
