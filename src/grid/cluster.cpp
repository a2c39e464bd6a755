// SPDX-License-Identifier: Apache-2.0
#include "grid/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "block/shape.hpp"
#include "grid/reach.hpp"

namespace warpbit::grid {
namespace {

std::uint64_t product(const Extent& e) {
  return std::uint64_t{e[0]} * e[1] * e[2];
}

}  // namespace

Cluster::Cluster(const Grid& grid, std::uint64_t number, Extent first)
    : grid_(grid),
      number_(number),
      async_(static_cast<int>(product(grid.cluster)), static_cast<int>(product(grid.threads)),
             grid.check_shared) {
  async_.state()->flow = [this](block::Place one, block::Place other) {
    return flow(number_at(grid_.program, one), number_at(grid_.program, other));
  };
  const Extent& n = grid.cluster;
  async_.state()->order.judge_by(grid.program.strong_uses, async_.state()->stride(),
                                 !grid.program.has_weak_fences);
  if (grid.check_global && product(grid.blocks) > product(n)) async_.state()->order.number(number);
  for (std::uint64_t rank = 0; rank < product(n); ++rank) {
    const device::Index3 at = block::position(rank, {n[0], n[1], n[2]});
    blocks_.push_back(std::make_unique<Block>(grid, *this, static_cast<int>(rank),
                                              Extent{first[0] + at.x, first[1] + at.y, first[2] + at.z}));
    turns_.push_back(blocks_.back().get());
  }
}

Cluster::~Cluster() = default;

// Functions that are called are left out.
block::Cluster::Flow Cluster::flow(int first, int second) {
  using enum block::Cluster::Flow;
  const Program& program = grid_.program;
  const auto function = [&](int statement) {
    return program.origins[static_cast<std::size_t>(statement)].function;
  };
  const auto [at, is_new] = flows_.try_emplace({first, second}, unknown);
  if (!is_new || first == second || function(first) != function(second)) return at->second;
  if (leads_to(program, first, second, true) && !leads_to(program, second, first, true)) at->second = follows;
  if (!leads_to(program, first, second, false) && !leads_to(program, second, first, false)) at->second = apart;
  return at->second;
}

// ---- barrier.cluster

// By warp of the cluster.
std::vector<Lanes> Cluster::alive() const {
  std::vector<Lanes> out(blocks_.size() * static_cast<std::size_t>(async_.state()->stride() / kLanes));
  for (const std::unique_ptr<Block>& block : blocks_)
    for (const std::unique_ptr<Warp>& warp : block->warps())
      out[static_cast<std::size_t>(warp->number_in_cluster())] = warp->alive();
  return out;
}

// Threads that have ended count as arrived.
void Cluster::check_barrier() {
  if (!async_.barrier.check(alive())) return;
  async_.happened();
  for (const std::unique_ptr<Block>& block : blocks_) ++block->checked.barriers;
}

Next Cluster::arrive(Warp& warp, Path& path, Lanes lanes, bool releases) {
  const Step& step = grid_.program.steps[static_cast<std::size_t>(path.pc)];
  const Lanes twice =
      async_.barrier.arrive(warp.number_in_cluster(), lanes, releases, Block::who(warp, step, 0).at);
  if (twice != 0)
    return warp.fault(path, twice,
                      {Errc::barrier_misused,
                       {},
                       "a thread arrives a second time",
                       "barrier.cluster.wait must come between both arrivals"});
  check_barrier();
  return Next::step;
}

Next Cluster::wait(Warp& warp, Path& path, Lanes lanes, bool acquires) {
  const auto [never, is_complete] = async_.barrier.wait(warp.number_in_cluster(), lanes, acquires);
  if (never != 0)
    return warp.fault(path, never,
                      {Errc::barrier_misused,
                       {},
                       "a thread waits that has not arrived",
                       "barrier.cluster.arrive must come before barrier.cluster.wait"});
  if (!is_complete) return warp.wait_for(path, lanes, Waits::cluster);
  warp.block().depend(async_.barrier.completed_by());
  return Next::step;
}

// ---- Clusters that have not begun

std::optional<Extent> Cluster::request() {
  const std::optional<Extent> out = grid_.take_cluster(number_);
  has_failed_ = has_failed_ || !out;
  return out;
}

void Cluster::learn_failure(block::Who who) {
  if (has_failed_) failures_.try_emplace(who.thread, Failure{async_.state()->order.clock(who.thread), who.at});
}

std::optional<block::Who> Cluster::known_failure(block::Who who) const {
  const int threads = async_.state()->stride();
  for (const auto& [thread, failure] : failures_)
    if (thread / threads == who.thread / threads &&
        async_.state()->order.before(thread, failure.clock, who.thread))
      return block::Who{thread, failure.at};
  return std::nullopt;
}

// ---- Turns

// Tests that have waited for others fail now, as when their time is over.
bool Cluster::go_on_in_vain() {
  if (++idle_ > async::kIdleRounds) return false;
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

std::vector<FaultWaiters> Cluster::waiting() const {
  std::vector<FaultWaiters> out;
  for (const std::unique_ptr<Block>& block : blocks_)
    for (FaultWaiters& one : block->waiting(alive())) out.push_back(std::move(one));
  return out;
}

void Cluster::report_deadlock() {
  for (const std::unique_ptr<Block>& block : blocks_)
    if (block->report_cause()) return;
  const auto tells_most =
      std::ranges::max_element(blocks_, {}, [](const auto& block) { return block->tells(); });
  (*tells_most)->report_deadlock(waiting());
}

std::uint64_t Cluster::changes() const {
  std::uint64_t out = async_.events();
  for (const std::unique_ptr<Block>& block : blocks_) out += block->own_changes();
  return out;
}

bool Cluster::is_stuck() const {
  return std::ranges::all_of(blocks_, [](const std::unique_ptr<Block>& block) {
    return std::ranges::all_of(block->warps(),
                               [](const std::unique_ptr<Warp>& warp) { return warp->is_stuck(); });
  });
}

bool Cluster::is_endless() const {
  return is_stuck() && std::ranges::any_of(blocks_, [](const std::unique_ptr<Block>& block) {
           return std::ranges::any_of(block->warps(),
                                      [](const std::unique_ptr<Warp>& warp) { return warp->is_endless(); });
         });
}

void Cluster::report_endless() {
  const std::vector<FaultWaiters> all = waiting();
  for (const std::unique_ptr<Block>& block : blocks_)
    if (block->report_endless(all)) return;
}

Outcome Cluster::run(bool alone) {
  const std::uint64_t longest =
      grid_.schedule == nullptr || alone ? Schedule::kUntilWait : grid_.schedule->longest();
  while (true) {
    const std::uint64_t before = async_.events();
    bool ended = true, yielded = false, paused = false;
    if (grid_.schedule != nullptr) grid_.schedule->shuffle(turns_);
    for (Block* const block : turns_) {
      const Outcome outcome = block->run(longest);
      if (outcome == Outcome::fault) return outcome;
      ended = ended && outcome == Outcome::ended;
      yielded = yielded || outcome == Outcome::yields;
      paused = paused || outcome == Outcome::pauses;
    }
    async_.state()->actor = async_.state()->ended;
    check_barrier();
    const bool delivers = !paused || grid_.schedule->pick(2) == 0;
    if (delivers && !async_.deliver()) return Outcome::fault;
    if (ended) return Outcome::ended;
    if (async_.events() != before) idle_ = 0;
    if (paused) return Outcome::pauses;
    const auto polls = [](const auto& block) { return block->has_polled(); };
    const bool has_happened = async_.events() != before;
    if (has_happened && std::ranges::none_of(blocks_, polls)) continue;
    if (yielded && (has_happened || !is_stuck())) return ++yields_, Outcome::yields;
    if (go_on_in_vain()) continue;
    if (yielded && !alone) return ++yields_, Outcome::yields;
    yielded ? report_endless() : report_deadlock();
    return Outcome::fault;
  }
}

}  // namespace warpbit::grid
