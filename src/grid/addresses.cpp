// SPDX-License-Identifier: Apache-2.0
// Statements on addresses, and the stack of alloca.
#include <fmt/format.h>

#include <bit>
#include <span>

#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {

namespace {

using ptx::StateSpace;

std::uint64_t window(StateSpace space) {
  return space == StateSpace::shared ? kSharedWindow : space == StateSpace::local ? kLocalWindow : 0;
}

}  // namespace

Next to_generic(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::uint64_t base = window(step.access.space);
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane, base + warp.read(path, step.place[2], lane));
  });
  return Next::step;
}
// PTX manual, "cvta": "the resulting address is undefined in case the generic address ... does not fall within the address window".
Next from_generic(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::uint64_t base = window(step.access.space);
  Lanes outside = 0;
  std::uint64_t first = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t address = warp.read(path, step.place[2], lane);
    if (base != 0 && address - base >= kWindowBytes) {
      if (outside == 0) first = address;
      outside |= Lanes{1} << lane;
    }
    warp.write(path, step.place[0], lane, address - base);
  });
  if (outside == 0) return Next::step;
  warp.forget(path, step.place[0], outside);
  if (!warp.undefined().active()) return Next::step;
  Undefined::Cause cause{Undefined::Cause::From::converted, 0, 0, warp.site(step), outside, warp.number()};
  cause.name = in_another_space(warp.block().grid(), step.access.space, first);
  warp.undefined().come_from(path, std::span(&step.place[0], 1), cause);
  return Next::step;
}
Next is_space(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  Lanes value = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::uint64_t address = warp.read(path, step.place[2], lane);
    StateSpace in = StateSpace::global;
    if (address - kSharedWindow < kWindowBytes)
      in = StateSpace::shared;
    else if (address - kLocalWindow < kWindowBytes)
      in = StateSpace::local;
    else if (address >= kConstants && address < kParameters)
      in = StateSpace::constant;
    else if (address >= kParameters && address < kBuffers)
      in = StateSpace::param;
    const bool is_others =
        in == StateSpace::shared && !step.access.cluster &&
        (address - kSharedWindow) >> kRankShift != static_cast<std::uint64_t>(warp.block().rank());
    const bool is = in == step.access.space && !is_others;
    value |= Lanes{is} << lane;
  });
  warp.set(path, step.place[0], lanes, value);
  return Next::step;
}

Next map_address(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  constexpr std::uint64_t kRank = std::uint64_t{0xFF} << kRankShift;
  const std::size_t blocks = warp.block().cluster().blocks().size();
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t rank = warp.read(path, step.place[3], lane);
    if (rank >= blocks)
      return warp.fault(path, Lanes{1} << lane,
                        {Errc::address_out_of_bounds,
                         {},
                         fmt::format("addresses of block {}, which the cluster does not have,", rank),
                         blocks == 1 ? std::string("the rank must be 0, as the cluster has one block")
                                     : fmt::format("the rank must be 0 to {}", blocks - 1)});
    const std::uint64_t address = warp.read(path, step.place[2], lane);
    warp.write(path, step.place[0], lane, (address & ~kRank) | rank << kRankShift);
  }
  return Next::step;
}
Next rank_of_address(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane, warp.read(path, step.place[2], lane) >> kRankShift & 0xFF);
  });
  return Next::step;
}

// ---- The stack of alloca

Next allocate_on_stack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const auto alignment = static_cast<std::uint64_t>(step.access.offset);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t bytes = warp.read(path, step.place[2], lane);
    const std::uint64_t at =
        (static_cast<std::uint64_t>(warp.stack(lane)) + alignment - 1) / alignment * alignment;
    if (bytes > kStackEnd || at + bytes > kStackEnd)
      return warp.fault(
          path, Lanes{1} << lane,
          {Errc::stack_overflow, {}, fmt::format("alloca of {} bytes", bytes), "a thread has 512 KiB"});
    warp.stack(lane) = static_cast<std::int64_t>(at + bytes);
    warp.write(path, step.place[0], lane, at);
  }
  return Next::step;
}
Next save_stack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for_each_lane(lanes, [&](int lane) {
    warp.write(path, step.place[0], lane, static_cast<std::uint64_t>(warp.stack(lane)));
  });
  return Next::step;
}
Next restore_stack(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const std::uint64_t to = warp.read(path, step.place[2], lane);
    if (to < kStack || to > static_cast<std::uint64_t>(warp.stack(lane)))
      return warp.fault(path, Lanes{1} << lane,
                        {Errc::address_out_of_bounds,
                         {},
                         fmt::format("stackrestore to {:#x}", to),
                         "what stacksave has returned"});
    warp.stack(lane) = static_cast<std::int64_t>(to);
  }
  return Next::step;
}

}  // namespace warpbit::grid::steps
