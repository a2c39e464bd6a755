// SPDX-License-Identifier: Apache-2.0
// Instructions of the lanes of a warp together (PTX manual, "Parallel Synchronization and Communication Instructions").
// They need all lanes of their mask that have not ended; a path waits until the others are at the same step, or at another one
// with the same qualifiers and the same mask.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "grid/block.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {
namespace {

// A path at such an instruction.
struct Party {
  Path* path;
  const Step* step;
};

Lanes mask_of(Warp& warp, const Party& party, std::size_t mask, int lane) {
  return static_cast<Lanes>(warp.read(*party.path, party.step->place[mask], lane));
}

bool is_same_form(const Program& program, const Step& one, const Step& other) {
  return one.statement == other.statement ||
         (does(program, one) == does(program, other) &&
          form_of(program.origins[static_cast<std::size_t>(one.statement)]) ==
              form_of(program.origins[static_cast<std::size_t>(other.statement)]));
}

using Masks = std::array<Lanes, kLanes>;

// The lanes that name one whose mask is another (PTX manual: all of a mask execute it "with the same membermask"). Mostly there is
// one mask, for which they need not be compared two by two.
Lanes disagreeing(Lanes here, const Masks& masks) {
  const Lanes first = masks[static_cast<std::size_t>(std::countr_zero(here))];
  Lanes differing = 0, out = 0;
  for_each_lane(here, [&](int lane) { differing |= masks[static_cast<std::size_t>(lane)] ^ first; });
  if (differing == 0) return 0;
  for_each_lane(here, [&](int lane) {
    const Lanes own = masks[static_cast<std::size_t>(lane)];
    for_each_lane(own & here, [&](int other) {
      if (masks[static_cast<std::size_t>(other)] != own) out |= Lanes{1} << lane;
    });
  });
  return out;
}

// The paths without which this one cannot go on: where its lanes' masks have lanes that wait elsewhere, at an instruction
// with the same qualifiers (PTX manual, "bar.warp.sync": "with the same membermask", not at the same place). None if lanes are
// missing, or lanes that name each other differ in their masks.
std::vector<Party> meet(Warp& warp, Path& path, const Step& step, std::size_t mask, Masks& masks) {
  std::vector<Party> parties = {{&path, &step}};
  const Lanes alive = warp.alive();
  Lanes here = 0, needed = 0;
  const auto add = [&](const Party& party) {
    here |= party.path->lanes;
    for_each_lane(party.path->lanes, [&](int lane) {
      masks[static_cast<std::size_t>(lane)] = mask_of(warp, party, mask, lane) & alive;
      needed |= masks[static_cast<std::size_t>(lane)];
    });
  };
  add(parties.front());
  const auto comes = [&](const Path& other) {
    return other.waits && other.waits_for == Waits::none && !other.met && (other.lanes & needed & ~here) != 0 &&
           is_same_form(warp.program(), step, warp.program().steps[static_cast<std::size_t>(other.pc)]);
  };
  for (auto other = warp.paths().begin(); other != warp.paths().end();) {
    if (!comes(*other)) {
      ++other;
      continue;
    }
    parties.push_back({&*other, &warp.program().steps[static_cast<std::size_t>(other->pc)]});
    add(parties.back());
    other = warp.paths().begin();  // its masks may have more lanes
  }
  if ((needed & ~here) != 0 || disagreeing(here, masks) != 0) parties.clear();
  return parties;
}

// Those of a mask meet, not those of another one.
template <class Visit>
void for_each_mask(const Met& met, Visit visit) {
  for (Lanes left = met.lanes; left != 0;) {
    const Lanes mask = met.mask[static_cast<std::size_t>(std::countr_zero(left))] & met.lanes;
    visit(mask);
    left &= ~mask;
  }
}

Next fault_outside(Warp& warp, const Path& path, Lanes outside, Lanes mask) {
  return warp.fault(
      path, outside,
      {Errc::inactive_lane,
       {},
       fmt::format("its mask {:#010x} does not name {}, which {} it", mask, block::lanes_text(outside),
                   std::has_single_bit(outside) ? "executes" : "execute"),
       "the mask must name every lane that executes it"});
}

// `masks`: of lanes that have not ended.
Next fault_disagreeing(Warp& warp, const Path& path, Lanes here, const Masks& masks) {
  const Lanes differing = disagreeing(here, masks);
  const auto mask = [&](int lane) { return masks[static_cast<std::size_t>(lane)]; };
  const auto those_with = [&](Lanes one) {
    Lanes out = 0;
    for_each_lane(here, [&](int lane) { out |= Lanes{mask(lane) == one} << lane; });
    return out;
  };
  const Lanes own = mask(std::countr_zero(differing));
  int named = -1;
  for_each_lane(own & here, [&](int lane) {
    if (named < 0 && mask(lane) != own) named = lane;
  });
  return warp.fault(
      path, differing,
      {Errc::lanes_disagree,
       {},
       fmt::format("the mask of {} is {:#010x}, and that of {} is {:#010x}", block::lanes_text(those_with(own)),
                   own, block::lanes_text(those_with(mask(named))), mask(named)),
       "all lanes that a mask names must give the same mask"});
}

// Whether all lanes of the masks, which are in that place, are here: `step`, and `met` has them; else the path must wait, or a
// lane is not in its own mask.
Next together(Warp& warp, Path& path, const Step& step, std::size_t mask, Lanes lanes, Met& met) {
  if (path.met) {
    met = *std::exchange(path.met, nullptr);
    return Next::step;
  }
  warp.keep(path, lanes);
  const Lanes alive = warp.alive();
  Lanes named = 0, outside = 0;
  for_each_lane(lanes, [&](int lane) {
    const Lanes wanted = mask_of(warp, {&path, &step}, mask, lane);
    named |= wanted;
    met.mask[static_cast<std::size_t>(lane)] = wanted & alive;
    if ((wanted >> lane & 1) == 0) outside |= Lanes{1} << lane;
  });
  const Lanes needed = named & alive;
  if (outside != 0)
    return fault_outside(warp, path, outside, mask_of(warp, {&path, &step}, mask, std::countr_zero(outside)));
  const auto take = [&](const Party& party) {
    met.lanes |= party.path->lanes;
    for_each_lane(party.path->lanes, [&](int lane) {
      const auto i = static_cast<std::size_t>(lane);
      met.value[i] = warp.read(*party.path, party.step->place[2], lane);
      if (!warp.undefined().active()) return;
      met.undefined[i] = warp.undefined().read(*party.path, party.step->place[2], lane);
      met.unknown[i] = warp.undefined().unknown(*party.path, party.step->place[2], lane);
    });
  };
  if ((needed & ~lanes) == 0) {
    if (disagreeing(lanes, met.mask) != 0) return fault_disagreeing(warp, path, lanes, met.mask);
    take({&path, &step});
    for_each_mask(met, [&](Lanes one) { warp.meet(one); });
    return Next::step;
  }
  const std::vector<Party> parties = meet(warp, path, step, mask, met.mask);
  if (parties.empty()) {
    path.needs = needed;
    path.mask = named;
    return Next::wait;
  }
  for (const Party& one : parties) take(one);
  for_each_mask(met, [&](Lanes one) { warp.meet(one); });
  const auto shared = std::make_shared<const Met>(met);
  for (const Party& one : std::span(parties).subspan(1)) {
    one.path->met = shared;
    one.path->waits = false;
  }
  return Next::step;
}

}  // namespace

Next sync_warp(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const bool is_first = path.met == nullptr;
  Met met;
  const Next next = together(warp, path, step, 2, lanes, met);
  if (next == Next::step) warp.block().note_lanes(warp.number(), Block::who(warp, step, 0).at, lanes, is_first);
  if (next != Next::step || !is_first) return next;
  for_each_mask(met, [&](Lanes one) {
    warp.block().accesses().sync_warp(warp.number(), one);
    if (one != kAllLanes) warp.block().note_meeting(warp.number(), {Block::who(warp, step, 0).at, one});
  });
  return next;
}

Shuffled shuffled(Shuffle mode, int lane, int b, int c) {
  const int by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  const int max = (lane & segment) | (clamp & ~segment), min = lane & segment;
  switch (mode) {
    case Shuffle::up: return lane - by >= max ? Shuffled{lane - by, true} : Shuffled{lane, false};
    case Shuffle::down: return lane + by <= max ? Shuffled{lane + by, true} : Shuffled{lane, false};
    case Shuffle::butterfly: return (lane ^ by) <= max ? Shuffled{lane ^ by, true} : Shuffled{lane, false};
    case Shuffle::index: break;
  }
  const int from = min | (by & ~segment);
  return from <= max ? Shuffled{from, true} : Shuffled{lane, false};
}

namespace {

// The lane that each one reads.
Shuffled source_of(Warp& warp, Path& path, const Step& step, int lane) {
  return shuffled(static_cast<Shuffle>(step.extra), lane,
                  static_cast<int>(warp.read(path, step.place[3], lane)),
                  static_cast<int>(warp.read(path, step.place[4], lane)));
}

}  // namespace

Next shuffle(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Met met;
  if (const Next next = together(warp, path, step, 5, lanes, met); next != Next::step) return next;
  if (warp.undefined().active()) warp.undefined().meet(path, step, lanes, met);
  Lanes inside = 0, inactive = 0;
  std::array<std::uint64_t, kLanes> results = {};
  for_each_lane(lanes, [&](int lane) {
    const auto [from, in] = source_of(warp, path, step, lane);
    const Lanes named = met.lanes & met.mask[static_cast<std::size_t>(lane)];
    if ((named >> from & 1) == 0) inactive |= Lanes{1} << lane;
    results[static_cast<std::size_t>(lane)] = met.value[static_cast<std::size_t>(from)];
    inside |= Lanes{in} << lane;
  });
  for_each_lane(
      lanes, [&](int lane) { warp.write(path, step.place[0], lane, results[static_cast<std::size_t>(lane)]); });
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, inside);
  if (inactive == 0) return Next::step;
  // PTX manual: "results are undefined" there. Sums over a part of a warp have such lanes, and do not use them.
  warp.forget(path, step.place[0], inactive);
  if (warp.undefined().active())
    warp.undefined().come_from(path, {&step.place[0], 1},
                               {Undefined::Cause::From::lane, 0, 0, warp.site(step), inactive, warp.number()});
  return Next::step;
}

Next vote(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Met met;
  if (const Next next = together(warp, path, step, 3, lanes, met); next != Next::step) return next;
  if (warp.undefined().active()) warp.undefined().meet(path, step, lanes, met);
  Lanes value = 0;
  for_each_lane(met.lanes,
                [&](int lane) { value |= Lanes{met.value[static_cast<std::size_t>(lane)] != 0} << lane; });
  Lanes result = 0;
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[3], lane)) & met.lanes;
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
  Met met;
  if (const Next next = together(warp, path, step, 3, lanes, met); next != Next::step) return next;
  if (warp.undefined().active()) warp.undefined().meet(path, step, lanes, met);
  std::array<Lanes, kLanes> results = {};
  Lanes same = 0;
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[3], lane)) & met.lanes;
    const std::uint64_t mine = met.value[static_cast<std::size_t>(lane)];
    Lanes equal = 0;
    for_each_lane(
        mask, [&](int other) { equal |= Lanes{met.value[static_cast<std::size_t>(other)] == mine} << other; });
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
  Met met;
  if (const Next next = together(warp, path, step, 3, lanes, met); next != Next::step) return next;
  if (warp.undefined().active()) warp.undefined().meet(path, step, lanes, met);
  const scalar::Operation& operation = warp.program().operations[static_cast<std::size_t>(step.extra)];
  std::array<std::uint64_t, kLanes> results = {};
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[3], lane)) & met.lanes;
    bool first = true;
    std::uint64_t total = 0;
    for_each_lane(mask, [&](int other) {
      const std::uint64_t value = met.value[static_cast<std::size_t>(other)];
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
  Met met;
  if (const Next next = together(warp, path, step, 2, lanes, met); next != Next::step) return next;
  Lanes leaders = 0;
  for_each_lane(lanes, [&](int lane) {
    const auto mask = static_cast<Lanes>(warp.read(path, step.place[2], lane)) & met.lanes;
    const int leader = std::countr_zero(mask);
    warp.write(path, step.place[0], lane, static_cast<std::uint64_t>(leader));
    leaders |= Lanes{leader == lane} << lane;
  });
  if (step.place[1].exists()) warp.set(path, step.place[1], lanes, leaders);
  return Next::step;
}

}  // namespace warpbit::grid::steps
