// SPDX-License-Identifier: Apache-2.0
#include "grid/register_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "api/checks.hpp"

namespace warpbit::grid {
namespace {

constexpr int kGroup = block::kGroupWarps;
constexpr std::string_view kSame = "all warps of a warpgroup must execute the same setmaxnreg";

Fault of_group(block::Who who, std::string seen, std::string accepted,
               KernelRule rule = KernelRule::setmaxnreg_of_group) {
  Fault out = block::fault_of(who, {Errc::protocol_violation, {}, std::move(seen), std::move(accepted)}, rule);
  out.lanes = block::lanes_of(block::kAllLanes);
  return out;
}
}  // namespace

RegisterPool::RegisterPool(int warps, std::int64_t most) : executed_(static_cast<std::size_t>(warps)) {
  constexpr int kRegisters = 65536, kMaxRegisters = 255;
  const int shared = kRegisters / block::kWarp / warps;
  const bool is_fixed = most > 0 && most < shared;
  count_.assign(executed_.size(), std::min(is_fixed ? static_cast<int>(most) : shared / 8 * 8, kMaxRegisters));
  free_ = is_fixed ? 0 : (shared - count_[0]) * warps;
  first_free_ = free_;
  first_count_ = count_[0];
}

Fault RegisterPool::ignored(block::Who who) {
  return of_group(who,
                  "it does nothing: ptxas ignores it (C7508), as it does not know how many registers a thread "
                  "has at the launch",
                  "the kernel must have .maxnreg, or .minnctapersm beside .maxntid or .reqntid "
                  "(__launch_bounds__ with its second argument)",
                  KernelRule::setmaxnreg_ignored);
}

bool RegisterPool::set(int warp, int count) {
  int& has = count_[static_cast<std::size_t>(warp)];
  if (count - has > free_) return false;
  free_ -= count - has;
  has = count;
  return true;
}

block::Found RegisterPool::executed(int warp, block::Who who, const block::Order& order) {
  std::vector<Executed>& mine = executed_[static_cast<std::size_t>(warp)];
  const std::size_t number = mine.size();
  mine.push_back({who, order.clock(who.thread)});
  const std::size_t first = static_cast<std::size_t>(warp / kGroup * kGroup);
  for (std::size_t w = first; w < std::min(first + kGroup, executed_.size()); ++w) {
    const std::vector<Executed>& others = executed_[w];
    if (number < others.size() && others[number].who.at != who.at) {
      Fault out = of_group(
          who, fmt::format("warp {} executes it, and warp {} of the same warpgroup another one", warp, w),
          std::string(kSame));
      out.other = block::side_of_warp(others[number].who, fmt::format("the setmaxnreg of warp {}", w));
      return out;
    }
    if (number == 0 || number > others.size()) continue;
    const Executed& last = others[number - 1];
    if (order.before(last.who.thread, last.clock, who.thread)) continue;
    Fault out = of_group(
        who,
        fmt::format("warp {} executes it, and no barrier orders it after the previous setmaxnreg of "
                    "warp {}, which is of the same warpgroup",
                    warp, w),
        "the four warps of the warpgroup must execute a barrier of their 128 threads between both setmaxnreg "
        "(such as bar.sync 1, 128, with another number than 1 in each other warpgroup)",
        KernelRule::setmaxnreg_order);
    out.other = block::side_of_warp(last.who, fmt::format("the previous setmaxnreg of warp {}", w));
    return out;
  }
  return std::nullopt;
}

std::vector<RegisterPool::LeftOut> RegisterPool::groups(std::span<const Wanted> waiting) const {
  std::vector<LeftOut> out;
  const int warps = static_cast<int>(executed_.size());
  for (int first = 0; first < warps; first += kGroup) {
    const int end = std::min(first + kGroup, warps);
    const auto executed = [&](int warp) -> const std::vector<Executed>& {
      return executed_[static_cast<std::size_t>(warp)];
    };
    const auto count = [&](int warp) {
      return executed(warp).size() + static_cast<std::size_t>(std::ranges::count(waiting, warp, &Wanted::warp));
    };
    std::size_t number = count(first);  // that some have left out
    for (int warp = first; warp < end; ++warp) number = std::min(number, count(warp));
    LeftOut group;
    for (int warp = first; warp < end; ++warp) {
      (count(warp) > number ? group.with : group.without).push_back(warp);
      if (executed(warp).size() > number && group.who.at.line == 0) group.who = executed(warp)[number].who;
    }
    if (group.who.at.line != 0) out.push_back(std::move(group));
  }
  return out;
}

std::string RegisterPool::LeftOut::words() const {
  return fmt::format("{} ha{} executed it, and {} of the same warpgroup ha{} not", block::warps_text(with),
                     with.size() == 1 ? "s" : "ve", block::warps_text(without),
                     without.size() == 1 ? "s" : "ve");
}

std::vector<Fault> RegisterPool::left_out() const {
  std::vector<Fault> out;
  for (const LeftOut& one : groups({})) out.push_back(of_group(one.who, one.words(), std::string(kSame)));
  return out;
}

// ---- Deadlocks

std::string RegisterPool::lacking(int warp, int count) const {
  const auto of_warp = [](int of_thread) {
    return block::grouped(static_cast<std::uint64_t>(of_thread) * block::kWarp);
  };
  return fmt::format("{} more registers, and {} are free",
                     of_warp(count - count_[static_cast<std::size_t>(warp)]), of_warp(free_));
}

block::Cause RegisterPool::cause(block::Who waits, std::span<const Wanted> waiting) const {
  std::vector<int> takers, givers;
  int taken = 0, given = 0;  // for a thread of each warp
  for (int warp = 0; warp < static_cast<int>(count_.size()); ++warp) {
    const auto wanted = std::ranges::find(waiting, warp, &Wanted::warp);
    const int more =
        (wanted != waiting.end() ? wanted->count : count_[static_cast<std::size_t>(warp)]) - first_count_;
    if (more == 0) continue;
    (more > 0 ? takers : givers).push_back(warp);
    (more > 0 ? taken : given) += std::abs(more);
  }
  const auto number = [](int of_threads) {
    return block::grouped(static_cast<std::uint64_t>(of_threads) * block::kWarp);
  };
  block::Cause out{waits,
                   {},
                   "other warps must give as many back by setmaxnreg.dec, or these must take fewer",
                   {},
                   block::kAllLanes};
  out.what = fmt::format("{} need{} {} more registers, and ", block::warps_text(takers),
                         takers.size() == 1 ? "s" : "", number(taken));
  if (first_free_ != 0) out.what += fmt::format("{} were free and ", number(first_free_));
  out.what += given == 0 ? "none were given back"
                         : fmt::format("{} were given back by {}", number(given), block::warps_text(givers));
  const std::vector<LeftOut> all = groups(waiting);
  if (all.empty()) return out;
  const LeftOut& group = all.front();
  const std::string without = block::warps_text(group.without);
  const std::string_view have = group.without.size() == 1 ? "has" : "have";
  out.what += fmt::format(" ({} {} not executed the setmaxnreg of {}, of the same warpgroup)", without, have,
                          block::warps_text(group.with));
  out.who = group.who;
  out.label = fmt::format("{} of its warpgroup {} not executed it", without, have);
  out.accepted = kSame;
  return out;
}

}  // namespace warpbit::grid
