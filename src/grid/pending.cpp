// SPDX-License-Identifier: Apache-2.0
#include "grid/pending.hpp"

#include <fmt/format.h>

#include <bit>

#include "api/checks.hpp"
#include "async/cluster.hpp"

namespace warpbit::grid {
namespace {

Fault pending(block::Who who, std::string_view what, std::string must,
              KernelRule rule = KernelRule::pending_at_end) {
  return block::fault_of(
      who, {Errc::protocol_violation, {}, fmt::format("the block ends, and {}", what), std::move(must)}, rule);
}

}  // namespace

std::vector<Fault> pending_at_end(const async::Block& block, const Products* products, block::Who last) {
  std::vector<Fault> out;
  for (const auto& [who, is_committed] : block.groups.pending())
    out.push_back(pending(
        who,
        is_committed
            ? "this copy, which reads shared memory of the block, has not been waited for"
            : "this copy, which reads shared memory of the block, is in no group that can be waited for",
        is_committed ? "this thread must execute cp.async.bulk.wait_group.read 0 before it ends"
                     : "this thread must execute cp.async.bulk.commit_group after it, and then "
                       "cp.async.bulk.wait_group.read 0, before it ends"));
  for (const auto& [who, address, phase] : block.mbarriers.pending())
    out.push_back(pending(
        who, "this copy to shared memory of the block has not been waited for",
        fmt::format("a thread must wait for phase {} (parity {}) of the mbarrier at {:#x} before the end",
                    phase, phase & 1, address)));
  if (products != nullptr)
    for (const block::Who& who : products->pending())
      out.push_back(block::of_group(who.thread / block::kWarpgroup,
                                    pending(who, "this wgmma has not been waited for",
                                            "all four warps must execute wgmma.wait_group 0 before they end")));
  const int warps = block.shared.cluster().stride() / kLanes;
  for (int warp = block.shared.first_warp(); warp < block.shared.first_warp() + warps; ++warp)
    if (const Lanes lanes = block.cluster.barrier.arrived(warp); lanes != 0) {
      out.push_back(pending({warp * kLanes + std::countr_zero(lanes), last.at},
                            "these lanes have arrived at barrier.cluster and not waited",
                            "these lanes must execute barrier.cluster.wait after each barrier.cluster.arrive"));
      out.back().lanes = block::lanes_of(lanes);
      out.back().other =
          block::side_of_warp({warp * kLanes, block.cluster.barrier.arrived_at(warp)}, "they arrive");
      out.back().other->lanes = out.back().lanes;
    }
  for (const block::Who& who : block.shared.pending_copies())
    out.push_back(
        pending(who, "this copy has not been waited for",
                "this thread must execute cp.async.wait_all before it ends, or the copy must be removed if "
                "nothing reads its bytes",
                KernelRule::cp_async_at_end));
  return out;
}

}  // namespace warpbit::grid
