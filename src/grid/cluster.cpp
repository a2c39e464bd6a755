// SPDX-License-Identifier: Apache-2.0
#include "grid/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace warpbit::grid {
namespace {

// Rounds in which all tests of barrier objects fail and nothing else happens, before nothing will.
constexpr int kIdleRounds = 200;

std::uint64_t product(const Extent& e) {
  return std::uint64_t{e[0]} * e[1] * e[2];
}

}  // namespace

Cluster::Cluster(const Grid& grid, std::uint64_t number, Extent first)
    : grid_(grid),
      number_(number),
      state_(std::make_shared<block::Cluster>(static_cast<int>(product(grid.cluster)),
                                              static_cast<int>(product(grid.threads)))) {
  const Extent& n = grid.cluster;
  for (std::uint32_t rank = 0; rank < product(n); ++rank)
    blocks_.push_back(std::make_unique<Block>(
        grid, *this, static_cast<int>(rank),
        Extent{first[0] + rank % n[0], first[1] + rank / n[0] % n[1], first[2] + rank / n[0] / n[1]}));
  arrived_.resize(blocks_.size() * static_cast<std::size_t>(state_->stride() / kLanes));
}

Cluster::~Cluster() = default;

bool Cluster::deliver() {
  while (!in_flight_.empty()) {
    const InFlight copy = std::move(in_flight_.front());
    in_flight_.pop_front();
    happened();
    if (!copy.arrive()) return false;
  }
  return true;
}

// ---- barrier.cluster

Cluster::Arrived& Cluster::arrived(const Warp& warp) {
  return arrived_[static_cast<std::size_t>(warp.number_in_cluster())];
}

// Threads that have ended count as arrived.
void Cluster::check_barrier() {
  bool any = false, all = true;
  for (const std::unique_ptr<Block>& block : blocks_)
    for (const std::unique_ptr<Warp>& warp : block->warps()) {
      const Lanes here = arrived(*warp).here;
      any = any || here != 0;
      all = all && (warp->alive() & ~here) == 0;
    }
  if (!any || !all) return;
  ++phase_;
  for (Arrived& one : arrived_) one.here = 0;
  complete_ = released_;
  happened();
}

Next Cluster::arrive(Warp& warp, Path& path, Lanes lanes, bool releases) {
  Arrived& of = arrived(warp);
  Lanes twice = of.here & lanes;
  for_each_lane(lanes,
                [&](int lane) { twice |= Lanes{of.phase[static_cast<std::size_t>(lane)] != 0} << lane; });
  if (twice != 0)
    return warp.fault(
        path, twice,
        {Errc::barrier_misused, {}, "a thread arrives a second time", "barrier.cluster.wait between"});
  of.here |= lanes;
  for_each_lane(lanes, [&](int lane) { of.phase[static_cast<std::size_t>(lane)] = phase_; });
  if (releases) release(warp, lanes);
  check_barrier();
  return Next::step;
}

void Cluster::release(Warp& warp, Lanes lanes) {
  if (grid_.check_shared) state_->order.release(warp.number_in_cluster(), lanes, released_);
}

Next Cluster::wait(Warp& warp, Path& path, Lanes lanes, bool acquires) {
  Arrived& of = arrived(warp);
  bool all = true;
  Lanes never = 0;
  for_each_lane(lanes, [&](int lane) {
    const std::int64_t phase = of.phase[static_cast<std::size_t>(lane)];
    never |= Lanes{phase == 0} << lane;
    all = all && phase < phase_;
  });
  if (never != 0)
    return warp.fault(
        path, never,
        {Errc::barrier_misused, {}, "a thread waits that has not arrived", "barrier.cluster.arrive before"});
  if (!all) return warp.wait_for(path, lanes, Waits::cluster);
  for_each_lane(lanes, [&](int lane) { of.phase[static_cast<std::size_t>(lane)] = 0; });
  if (acquires && grid_.check_shared) state_->order.acquire(warp.number_in_cluster(), complete_);
  return Next::step;
}

// ---- Turns

// Tests that have waited for others fail now, as when their time is over.
bool Cluster::go_on_in_vain() {
  if (++idle_ > kIdleRounds) return false;
  bool any = false;
  for (const std::unique_ptr<Block>& block : blocks_)
    for (const std::unique_ptr<Warp>& warp : block->warps())
      for (Path& path : warp->paths())
        if (path.waits_for == Waits::test) {
          path.waits_for = Waits::none;
          path.waits = false;
          path.gives_up = any = true;
        }
  return any;
}

void Cluster::report_deadlock() {
  for (const std::unique_ptr<Block>& block : blocks_)
    if (block->report_cause()) return;
  std::string waiting;
  for (const std::unique_ptr<Block>& block : blocks_) waiting += block->waiting();
  for (const std::unique_ptr<Block>& block : blocks_)
    if (block->report_deadlock(waiting)) return;
}

Outcome Cluster::run() {
  while (true) {
    const std::uint64_t before = events_;
    bool ended = true, yielded = false;
    for (const std::unique_ptr<Block>& block : blocks_) {
      const Outcome outcome = block->run();
      if (outcome == Outcome::fault) return outcome;
      ended = ended && outcome == Outcome::ended;
      yielded = yielded || outcome == Outcome::yields;
    }
    if (!deliver()) return Outcome::fault;
    if (ended) return Outcome::ended;
    check_barrier();
    if (events_ != before) {
      idle_ = 0;
      continue;
    }
    if (yielded) return Outcome::yields;
    if (go_on_in_vain()) continue;
    report_deadlock();
    return Outcome::fault;
  }
}

}  // namespace warpbit::grid
