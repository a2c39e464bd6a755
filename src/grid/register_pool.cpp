// SPDX-License-Identifier: Apache-2.0
#include "grid/register_pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/checks.hpp"

namespace warpbit::grid {
namespace {

constexpr int kGroup = block::kGroupWarps;

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
          "all warps of a warpgroup must execute the same setmaxnreg");
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

std::vector<Fault> RegisterPool::left_out() const {
  std::vector<Fault> out;
  for (auto first = executed_.begin(); first < executed_.end();) {
    const auto end = executed_.end() - first > kGroup ? first + kGroup : executed_.end();
    const auto count = [](const auto& of) { return of.size(); };
    const auto most = std::ranges::max_element(first, end, {}, count);
    const std::size_t number =
        std::ranges::min_element(first, end, {}, count)->size();  // that some have left out
    std::vector<int> with, without;
    for (auto warp = first; warp < end; ++warp)
      (warp->size() > number ? with : without).push_back(static_cast<int>(warp - executed_.begin()));
    if (most->size() > number)
      out.push_back(of_group(
          (*most)[number].who,
          fmt::format("{} {} executed it, and {} {} of the same warpgroup ha{} not",
                      with.size() == 1 ? "warp" : "warps", ranges(with) + (with.size() == 1 ? " has" : " have"),
                      without.size() == 1 ? "warp" : "warps", ranges(without),
                      without.size() == 1 ? "s" : "ve"),
          "all warps of a warpgroup must execute the same setmaxnreg"));
    first = end;
  }
  return out;
}

}  // namespace warpbit::grid
