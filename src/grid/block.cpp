// SPDX-License-Identifier: Apache-2.0
#include "grid/block.hpp"

#include "async/tensor.hpp"
#include "grid/bounds.hpp"
#include "grid/cluster.hpp"
#include "grid/pending.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace warpbit::grid {
Block::Block(const Grid& grid, Cluster& cluster, int rank, Extent index)
    : grid_(grid),
      cluster_(cluster),
      rank_(rank),
      index_(index),
      async_(
          cluster.async(), rank, grid.shared_bytes,
          [this](block::Found found) { return allows(std::move(found)); }, kSharedWindow, grid.check_shared) {
  async_.shared.give(grid.program.reserved_bytes);
  async_.shared.name_of = [this](std::int64_t byte) { return name_of_shared(grid_.program, byte); };
  if (is_told(KernelRule::proxy_fence_read)) async_.shared.fence_reads();
  if (is_told(KernelRule::mbarrier_init_proxy)) async_.mbarriers.fence_own_inits();
  if (is_told(KernelRule::scope_by_default)) async_.mbarriers.take_default_scope();
  for (const GlobalMemory::Range& range : grid.memory.ranges())
    (void)memory().view_global(range.address, {range.data, range.bytes});  // ranges do not overlap
  const std::uint32_t threads = grid.threads[0] * grid.threads[1] * grid.threads[2];
  const int warps = static_cast<int>((threads + kLanes - 1) / kLanes);
  if (grid.watched != nullptr) {
    const device::Index3& at = grid.watched->observed_block;
    watch_.emplace(grid.program, *grid.watched, *this, warps, index == Extent{at.x, at.y, at.z});
  }
  for (int w = 0; w < warps; ++w) {
    warps_.push_back(std::make_unique<Warp>(*this, grid.program, w, lanes_of(static_cast<std::size_t>(w))));
    turns_.push_back(warps_.back().get());
  }
  for (Barrier& barrier : barriers_) barrier.warps.resize(static_cast<std::size_t>(warps));
  ended_.resize(static_cast<std::size_t>(warps));
  narrow_.resize(static_cast<std::size_t>(warps));
  lanes_.resize(static_cast<std::size_t>(warps));
}

void Block::ends(const Warp& warp, block::Who who) {
  last_ = ended_[static_cast<std::size_t>(warp.number())] = who;
  async_.shared.cluster().ended = async_.shared.cluster().actor;
}

// Those that a warp begins with.
Lanes Block::lanes_of(std::size_t warp) const {
  const std::size_t rest = std::size_t{grid_.threads[0]} * grid_.threads[1] * grid_.threads[2] - warp * kLanes;
  return rest >= kLanes ? kAllLanes : (Lanes{1} << rest) - 1;
}

// Static and dynamic ones, in the unit in which they are allocated (PTX manual, "%total_smem_size").
std::uint64_t Block::own_shared_bytes() const {
  const std::uint64_t unit = grid_.program.target.row().features.has(Feature::sm_80) ? 128 : 256;
  return (grid_.shared_bytes - grid_.program.reserved_bytes + unit - 1) / unit * unit;
}

std::uint64_t Block::special(ptx::Special special, int warp, int lane) const {
  using enum ptx::Special;
  const auto thread = static_cast<std::uint32_t>(warp * kLanes + lane);
  const Extent &n = grid_.threads, &c = grid_.cluster;
  const std::uint64_t lane_bit = std::uint64_t{1} << lane;
  switch (special) {
    case tid_x: return thread % n[0];
    case tid_y: return thread / n[0] % n[1];
    case tid_z: return thread / n[0] / n[1];
    case ntid_x: return n[0];
    case ntid_y: return n[1];
    case ntid_z: return n[2];
    case ctaid_x: return index_[0];
    case ctaid_y: return index_[1];
    case ctaid_z: return index_[2];
    case nctaid_x: return grid_.blocks[0];
    case nctaid_y: return grid_.blocks[1];
    case nctaid_z: return grid_.blocks[2];
    case clusterid_x: return index_[0] / c[0];
    case clusterid_y: return index_[1] / c[1];
    case clusterid_z: return index_[2] / c[2];
    case nclusterid_x: return grid_.blocks[0] / c[0];
    case nclusterid_y: return grid_.blocks[1] / c[1];
    case nclusterid_z: return grid_.blocks[2] / c[2];
    case cluster_ctaid_x: return index_[0] % c[0];
    case cluster_ctaid_y: return index_[1] % c[1];
    case cluster_ctaid_z: return index_[2] % c[2];
    case cluster_nctaid_x: return c[0];
    case cluster_nctaid_y: return c[1];
    case cluster_nctaid_z: return c[2];
    case tid_w:
    case ntid_w:
    case ctaid_w:
    case nctaid_w:
    case clusterid_w:
    case nclusterid_w:
    case cluster_ctaid_w:
    case cluster_nctaid_w: return 0;
    case cluster_ctarank: return static_cast<std::uint64_t>(rank_);
    case cluster_nctarank: return std::uint64_t{c[0]} * c[1] * c[2];
    case is_explicit_cluster: return grid_.has_clusters ? 1 : 0;
    case laneid: return static_cast<std::uint64_t>(lane);
    case warpid: return static_cast<std::uint64_t>(warp);
    case nwarpid: return warps_.size();
    case lanemask_eq: return lane_bit;
    case lanemask_lt: return lane_bit - 1;
    case lanemask_le: return 2 * lane_bit - 1;
    case lanemask_gt: return kAllLanes & ~(2 * lane_bit - 1);
    case lanemask_ge: return kAllLanes & ~(lane_bit - 1);
    case nsmid: return 132;  // of an H100; the manual leaves it open
    case reserved_smem_offset_begin:
    case reserved_smem_offset_0: return shared_base();
    case total_smem_size: return own_shared_bytes();
    case aggr_smem_size: return own_shared_bytes() + kReservedShared;
    case reserved_smem_offset_cap: return kReservedShared;
    case reserved_smem_offset_end: return shared_base() + kReservedShared;
    case reserved_smem_offset_1: return shared_base() + kReservedShared / 2;  // left to the driver
    case envreg1: return kWorkspace >> 32;
    case envreg2: return kWorkspace & 0xFFFF'FFFF;
    case dynamic_smem_size: return grid_.shared_bytes - grid_.program.shared_bytes;
    default: return 0;
  }
}

Products& Block::products() {
  if (!products_) products_ = std::make_unique<Products>(*this);
  return *products_;
}

bool Block::touches(Warp& warp, const Path& path, const Step& step, Lanes lanes) {
  if (!products_) return true;
  return allows(products_->touch(warp, path, step, lanes));
}

void Block::executed(std::int32_t freedom, const Warp& warp, Lanes lanes) const {
  const Extent &n = grid_.threads, &blocks = grid_.blocks;
  const std::uint64_t block = (std::uint64_t{index_[2]} * blocks[1] + index_[1]) * blocks[0] + index_[0];
  const auto in_block = static_cast<std::uint64_t>(warp.number() * kLanes + std::countr_zero(lanes));
  const std::uint64_t thread = block * n[0] * n[1] * n[2] + in_block;
  grid_.executors[freedom].add(std::has_single_bit(lanes) ? thread : Executors::kSeveral - 1);
}

Next Block::set_registers(Warp& warp, Path& path, Lanes lanes, int count, bool more) {
  const Program& program = grid_.program;
  const block::Who by = who(warp, program.steps[static_cast<std::size_t>(path.pc)], 0);
  const ptx::FunctionText& kernel = *program.functions[static_cast<std::size_t>(program.entry)].function;
  if (!RegisterPool::is_known(kernel))
    return !checks() || allows(RegisterPool::ignored(by)) ? Next::step : Next::end;
  if (!registers_) registers_.emplace(static_cast<int>(warps_.size()), kernel.max_registers);
  const int has = registers_->count(warp.number());
  if (more ? count < has : count > has)
    return warp.fault(path, lanes,
                      {Errc::barrier_misused,
                       {},
                       fmt::format("{} registers, but the thread already has {}", count, has),
                       more ? "setmaxnreg.inc takes more than that" : "setmaxnreg.dec takes fewer than that"});
  if (!registers_->set(warp.number(), count)) return warp.wait_for(path, lanes, Waits::registers);
  async_.cluster.happened();
  if (!checks()) return Next::step;
  return allows(registers_->executed(warp.number(), by, async_.shared.order())) ? Next::step : Next::end;
}

// Other blocks must not access its memory any more.
void Block::end() {
  async_.ended = last_;
  async_.cluster.happened();
  if (checks() && !async::end_tensor(async_, last_)) return;
  if (checks() && registers_)
    for (Fault& one : registers_->left_out())
      if (!allows(std::move(one))) return;
  if (checks())
    for (Fault& one : pending_at_end(async_, products_.get(), last_))
      if (!allows(std::move(one))) return;
  if (checks())
    for (auto of : {&block::Mbarriers::overwritten, &block::Mbarriers::early_arrivals})
      for (Fault& one : (async_.mbarriers.*of)())
        if (!allows(std::move(one))) return;
  if (async_.shared.cluster().blocks() > 1 && checks())
    allows(async_.shared.ends(last_, [this](std::int64_t byte) { return async_.mbarriers.has(byte); }));
}

// How many steps its next turn may have is decided, too.
std::uint64_t Block::turn_of(std::uint64_t longest) {
  if (longest == Schedule::kUntilWait) return grid_.step_limit;
  return std::min(grid_.step_limit, steps_ + grid_.schedule->pick(longest + 1));
}

Outcome Block::run(std::uint64_t longest) {
  if (async_.ended) return Outcome::ended;
  polls_ = false;
  while (true) {
    bool ended = true, yielded = false, paused = false;
    moved_ = false;
    if (grid_.schedule != nullptr) grid_.schedule->shuffle(turns_);
    for (Warp* const warp : turns_) {
      stop_after_ = turn_of(longest);
      warp->wake(async_.cluster.events());
      const Outcome outcome = warp->run();
      if (has_fault()) return Outcome::fault;
      ended = ended && outcome == Outcome::ended;
      yielded = yielded || outcome == Outcome::yields;
      paused = paused || outcome == Outcome::pauses;
    }
    async_.shared.cluster().actor = async_.shared.cluster().ended;
    check_barriers();
    if (ended) end();
    if (has_fault()) return Outcome::fault;
    if (ended) return Outcome::ended;
    if (paused) return Outcome::pauses;
    if (moved_ && !polls_) continue;
    return yielded ? Outcome::yields : Outcome::waits;
  }
}

}  // namespace warpbit::grid
