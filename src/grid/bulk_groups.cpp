// SPDX-License-Identifier: Apache-2.0
// Groups of bulk copies.
#include "grid/cluster.hpp"
#include "grid/records.hpp"
#include "grid/steps.hpp"

namespace warpbit::grid::steps {

Next bulk_commit(Warp& warp, Path&, const Step& step, Lanes lanes) {
  for_each_lane(lanes,
                [&](int lane) { warp.block().async().groups.commit(Block::who(warp, step, lane).thread); });
  return Next::step;
}

// What nobody has waited for is known to nobody.
void end_copies(Warp& warp, const Step& step, Lanes lanes) {
  for (const int lane : block::lanes_of(lanes)) {
    const auto rows = warp.block().async().groups.take_written(Block::who(warp, step, lane).thread, true);
    if (!rows.empty() && !Records(warp, step).written(rows)) return;
  }
}

Next bulk_wait(Warp& warp, Path&, const Step& step, Lanes lanes) {
  async::Block& block = warp.block().async();
  for (const int lane : block::lanes_of(lanes)) {
    const block::Who who = Block::who(warp, step, lane);
    if (!block.cluster.deliver_groups(who.thread)) return Next::end;
    block.groups.wait(who, static_cast<std::uint32_t>(step.target), step.extra == kReadsOnly);
    if (!Records(warp, step).written(block.groups.take_written(who.thread))) return Next::end;
  }
  return Next::step;
}

}  // namespace warpbit::grid::steps
