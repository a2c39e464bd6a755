// SPDX-License-Identifier: Apache-2.0
#include "device/cluster.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "block/shape.hpp"

namespace warpbit::device {

Cluster::Cluster(const Launch& how, std::uint64_t number, const std::function<void()>& thread, Worker& worker)
    : async_(static_cast<int>(block::product(how.cluster)), static_cast<int>(block::product(how.block))) {
  const Dim3 &n = how.cluster, clusters{how.grid.x / n.x, how.grid.y / n.y, how.grid.z / n.z};
  const Index3 first = block::position(number, clusters);
  for (int rank = 0; rank < async_.state()->blocks(); ++rank) {
    const Index3 at = block::position(static_cast<std::uint64_t>(rank), n);
    const Index3 index{first.x * n.x + at.x, first.y * n.y + at.y, first.z * n.z + at.z};
    blocks_.push_back(std::make_unique<Block>(how, *this, rank, index, thread, worker));
  }
}

bool Cluster::inferred() const {
  return std::ranges::any_of(blocks_, [](const auto& block) { return block->inferred(); });
}

// By warp of the cluster.
std::vector<async::Lanes> Cluster::alive() const {
  std::vector<async::Lanes> out;
  for (const auto& block : blocks_)
    for (int warp = 0; warp < async_.state()->stride() / block::kWarp; ++warp)
      out.push_back(block->alive(warp));
  return out;
}

// The phase of barrier.cluster is complete if all threads have arrived that have not ended.
void Cluster::check_barrier() {
  if (async_.barrier.check(alive())) async_.happened();
}

// ---- Turns

// Tests that have waited for others fail now, as when their time is over.
bool Cluster::go_on_in_vain() {
  if (++idle_ > async::kIdleRounds) return false;
  bool any = false;
  for (const auto& block : blocks_) any = block->meeting.look_again(true) || any;
  return any;
}

void Cluster::report_deadlock() {
  for (const auto& block : blocks_) {
    block->meeting.report_stuck();
    if (block->meeting.fault()) return;
  }
  std::vector<FaultWaiters> waiting;
  for (const auto& block : blocks_)
    for (FaultWaiters& one : block->waiting(alive())) waiting.push_back(std::move(one));
  for (const auto& block : blocks_)
    if (block->report_deadlock(waiting)) return;
}

// False after a fault or an exception.
bool Cluster::run_turns() {
  while (true) {
    const std::uint64_t before = async_.events();
    bool ended = true;
    for (const auto& block : blocks_) {
      const Block::Outcome outcome = block->run();
      if (outcome == Block::Outcome::fault) return false;
      ended = ended && outcome == Block::Outcome::ended;
    }
    const auto is_faulty = [](const auto& block) { return block->fault().has_value(); };
    if (std::ranges::any_of(blocks_, is_faulty)) return false;
    check_barrier();
    if (!async_.deliver()) return false;
    if (ended) return true;
    if (async_.events() != before) {
      idle_ = 0;
    } else if (!go_on_in_vain()) {
      report_deadlock();
      return false;
    }
  }
}

void Cluster::run() {
  const Running running;
  const bool done = run_turns();
  for (const auto& block : blocks_) {
    if (!done) block->unwind();
    if (!fault_ || block->found()) fault_ = block->fault();
  }
  if (fault_) {
    async_.explain_by_phase(*fault_);
    if (fault_->error.code == Errc::phase_mistaken) fault_->error.where = "a wait by parity";
    async_.locate(*fault_, [&](int rank) { return block(rank).index(); });
  }
  for (const auto& block : blocks_)
    if (block->exception()) std::rethrow_exception(block->exception());
}

}  // namespace warpbit::device
