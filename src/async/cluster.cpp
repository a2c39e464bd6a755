// SPDX-License-Identifier: Apache-2.0
#include "async/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "block/tensor.hpp"
#include "target/target.hpp"

namespace warpbit::async {

// ---- barrier.cluster

ClusterBarrier::ClusterBarrier(block::Cluster& state, bool records)
    : state_(state),
      records_(records),
      warps_(static_cast<std::size_t>(state.blocks() * state.stride() / block::kWarp)) {}

Lanes ClusterBarrier::arrive(int warp, Lanes lanes, bool releases, block::Place at) {
  Warp& one = of(warp);
  Lanes twice = one.here & lanes;
  for (const int lane : block::lanes_of(lanes))
    twice |= Lanes{one.phase[static_cast<std::size_t>(lane)] != 0} << lane;
  if (twice != 0) return twice;
  one.here |= lanes;
  one.at = at;
  for (const int lane : block::lanes_of(lanes)) one.phase[static_cast<std::size_t>(lane)] = phase_;
  if (releases) {
    release(warp, lanes);
  } else if (records_) {
    state_.order.release_relaxed(warp, lanes, released_, block::Scope::cluster);
    const block::FlagUse write{at, 0, warp * block::kWarp + std::countr_zero(lanes), true};
    (void)state_.order.nearly_release(warp, lanes, released_,
                                      {block::Flaw::Kind::arrival, block::Scope::cluster, write});
  }
  return 0;
}

void ClusterBarrier::release(int warp, Lanes lanes) {
  if (records_) state_.order.release(warp, lanes, released_);
}

bool ClusterBarrier::check(std::span<const Lanes> alive) {
  bool any = false, all = true;
  for (std::size_t warp = 0; warp < warps_.size(); ++warp) {
    any = any || warps_[warp].here != 0;
    all = all && (alive[warp] & ~warps_[warp].here) == 0;
  }
  if (!any || !all) return false;
  ++phase_;
  for (Warp& one : warps_) one.here = 0;
  complete_ = released_;
  completed_by_ = state_.actor;
  completed_by_.done = state_.noted;
  return true;
}

ClusterBarrier::Wait ClusterBarrier::wait(int warp, Lanes lanes, bool acquires) {
  Warp& one = of(warp);
  Wait out{0, true};
  for (const int lane : block::lanes_of(lanes)) {
    const std::int64_t phase = one.phase[static_cast<std::size_t>(lane)];
    out.never |= Lanes{phase == 0} << lane;
    out.is_complete = out.is_complete && phase < phase_;
  }
  if (out.never != 0 || !out.is_complete) return out;
  one.has_met = true;
  for (const int lane : block::lanes_of(lanes)) one.phase[static_cast<std::size_t>(lane)] = 0;
  if (!records_) return out;
  acquires ? state_.order.acquire(warp, complete_)
           : state_.order.acquire_relaxed(warp, complete_, block::Scope::cluster);
  return out;
}

int ClusterBarrier::first_arrived(int first, int warps) const {
  for (int warp = first; warp < first + warps; ++warp)
    if (of(warp).at.line != 0) return warp;
  return -1;
}

Lanes ClusterBarrier::arrived(int warp) const {
  Lanes out = 0;
  for (int lane = 0; lane < block::kWarp; ++lane)
    out |= Lanes{of(warp).phase[static_cast<std::size_t>(lane)] != 0} << lane;
  return out;
}

std::string ClusterBarrier::awaited(std::span<const Lanes> alive) const {
  std::int64_t arrived = 0, all = 0;
  for (std::size_t warp = 0; warp < warps_.size(); ++warp) {
    arrived += std::popcount(alive[warp] & warps_[warp].here);
    all += std::popcount(alive[warp]);
  }
  return "barrier.cluster: " + block::arrivals_text(arrived, all);
}

// ---- Blocks

Cluster::Cluster(int blocks, int threads, bool records)
    : state_(std::make_shared<block::Cluster>(blocks, threads)), barrier(*state_, records) {}

Cluster::~Cluster() = default;

block::TensorOrder& Cluster::tensor_order() {
  if (!tensor_) tensor_ = std::make_unique<block::TensorOrder>(*state_);
  return *tensor_;
}

bool Cluster::may_access(Block& here, const Block& other, block::Who who, bool arrives) const {
  const auto violation = [&](KernelRule rule, std::string_view what, std::string must) {
    return block::fault_of(who,
                           {Errc::protocol_violation,
                            {},
                            fmt::format("block {} of the cluster {}", other.shared.rank(), what),
                            std::move(must)},
                           rule);
  };
  if (other.ended) {
    Fault out = violation(arrives ? KernelRule::arrival_at_ended_block : KernelRule::block_ended,
                          "has ended, and its shared memory is gone", block::must_meet_at_end(arrives));
    out.other = block::side_of(*other.ended, fmt::format("block {} of the cluster ends", other.shared.rank()));
    return here.allows(std::move(out));
  }
  if (!here.shared.records() || barrier.has_met(who.thread / block::kWarp) ||
      state_->order.knows_of(other.shared.first_thread(), state_->stride(), who.thread))
    return true;
  Fault out =
      violation(KernelRule::block_not_begun, "may not have begun",
                "all threads of the cluster must execute barrier.cluster.arrive and barrier.cluster.wait "
                "before the first access to another block's shared memory");
  const int warp = who.thread / block::kWarp;
  const int arrived = barrier.first_arrived(here.shared.first_warp(), state_->stride() / block::kWarp);
  if (arrived >= 0 && barrier.arrived_at(warp).line == 0) {
    out.error.seen += fmt::format(", and warp {} has not executed the barrier.cluster of other warps",
                                  warp - here.shared.first_warp());
    out.other = block::side_of_warp({arrived * block::kWarp, barrier.arrived_at(arrived)},
                                    fmt::format("warp {} arrives", arrived - here.shared.first_warp()));
  }
  return here.allows(std::move(out));
}

void Cluster::explain_by_phase(Fault& fault) const {
  if (explain_by_object(fault)) return;
  const bool is_of_copy = fault.rule == KernelRule::copy_pending || fault.rule == KernelRule::data_race;
  const auto mistaken = [&](const FaultSide& side) -> std::optional<block::Mbarriers::Repeated> {
    for (int warp = side.warp; warp < side.warp + side.warps; ++warp) {
      const block::Mbarriers& of = mbarriers_of(warp);
      if (const auto* const found = of.repeated(warp)) return *found;
      if (const auto found = of.early(warp); found && is_of_copy) return found;
    }
    return std::nullopt;
  };
  std::optional<block::Mbarriers::Repeated> found = mistaken(fault);
  if (!found && fault.other) found = mistaken(*fault.other);
  if (!found && fault.rule == KernelRule::data_race) found = repeated_for(fault.warp);
  if (!found && fault.rule == KernelRule::data_race && fault.other) found = repeated_for(fault.other->warp);
  if (!found) return;
  fault = block::told_at_cause(std::move(fault), found->who,
                               {Errc::phase_mistaken,
                                {},
                                found->what,
                                "the parity must follow from how often the object has been used"});
}

const block::Mbarriers& Cluster::mbarriers_of(int warp) const {
  return blocks_[static_cast<std::size_t>(warp / (state_->stride() / block::kWarp))]->mbarriers;
}

// A warp that waits twice for one phase, and arrives twice, has completed a phase in the place of another one.
std::optional<block::Mbarriers::Repeated> Cluster::repeated_for(int warp) const {
  for (const int one : mbarriers_of(warp).arrived_for(warp))
    if (const auto* const found = mbarriers_of(one).repeated(one)) return *found;
  return std::nullopt;
}

// The bytes that are accessed too early belong to another object than the warp has waited at.
bool Cluster::explain_by_object(Fault& fault) const {
  if (fault.error.code != Errc::copy_pending || !fault.address || fault.address->space != Space::shared)
    return false;
  const Block& of = *blocks_[static_cast<std::size_t>(fault.warp / (state_->stride() / block::kWarp))];
  const auto write = of.shared.last_write(fault.address->byte);
  const auto object = write ? of.mbarriers.counted_by(write->thread) : std::nullopt;
  const auto waited = of.mbarriers.waited(fault.warp);
  if (!object || !waited || *object == waited->address) return false;
  fault.error.accepted +=
      fmt::format(" (the last wait of this warp was at the mbarrier at {:#x})", waited->address);
  return true;
}

void Cluster::locate(Fault& fault, const std::function<device::Index3(int rank)>& index) const {
  const int warps = state_->stride() / block::kWarp, rank = fault.warp / warps;
  fault.block = index(rank);
  fault.warp %= warps;
  const auto side = [&](FaultSide& of) {
    if (const int other = of.warp / warps; other != rank) of.elsewhere = index(other);
    of.warp %= warps;
  };
  if (fault.address && fault.address->rank >= 0 && fault.address->rank != rank)
    fault.address->elsewhere = index(fault.address->rank);
  if (fault.other) side(*fault.other);
  for (FaultSide& one : fault.related) side(one);
}

std::optional<Error> not_on(Target target, std::string_view form) {
  const auto has_none = [](Target one) { return !one.row().features.has(Feature::sm_90); };
  if (!has_none(target)) return std::nullopt;
  std::vector<Target> others = Target::all();
  std::erase_if(others, has_none);
  return Error{Errc::not_on_target, std::string(form), std::string(target.name()), names(others)};
}

bool Cluster::arrives(const InFlight& one) {
  happened();
  const block::Actor before = std::exchange(state_->actor, one.by);
  const bool goes_on = one.arrive();
  state_->actor = before;
  return goes_on;
}

bool Cluster::deliver() {
  while (!in_flight_.empty()) {
    const InFlight& next = in_flight_.front();
    if (next.counts != nullptr && next.counts->mbarriers.must_let_go(next.object, next.arrivals)) return true;
    const InFlight one = std::move(in_flight_.front());
    in_flight_.pop_front();
    if (!arrives(one)) return false;
  }
  return true;
}

bool Cluster::deliver_groups(int thread) {
  std::deque<InFlight> own;
  std::erase_if(in_flight_, [&](InFlight& one) {
    if (one.group != thread) return false;
    own.push_back(std::move(one));
    return true;
  });
  return std::ranges::all_of(own, [&](const InFlight& one) { return arrives(one); });
}

}  // namespace warpbit::async
