// SPDX-License-Identifier: Apache-2.0
// A cluster of blocks that run a program (PTX manual, "Cooperative Thread Arrays", "Clusters"): they take turns, may access
// each other's shared memory, and meet at barrier.cluster. A block that has no cluster is one of one block.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "block/cluster.hpp"
#include "grid/block.hpp"

namespace warpbit::grid {

/// A bulk copy on its way. `arrive` moves its bytes, and is false after a fault.
struct InFlight {
  std::function<bool()> arrive;
};

class Cluster {
 public:
  /// `number`: among all clusters; `first`: the index of its first block.
  Cluster(const Grid& grid, std::uint64_t number, Extent first);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Runs until all blocks have ended, or none can go on but by what other clusters do (yields), or a fault.
  Outcome run();

  std::uint64_t number() const { return number_; }
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
  /// By rank; nullptr if there is none.
  Block* block(std::uint64_t rank) { return rank < blocks_.size() ? blocks_[rank].get() : nullptr; }
  block::Cluster& state() { return *state_; }
  std::shared_ptr<block::Cluster> shared_state() { return state_; }

  /// Counts what may let a path go on that waits for others.
  std::uint64_t events() const { return events_; }
  void happened() { ++events_; }

  ChangedMaps& changed_maps() { return changed_maps_; }

  /// A copy begins. It arrives when no warp can go on without it, as those before it, or when it is waited for.
  void send(InFlight copy) { in_flight_.push_back(std::move(copy)); }
  /// All copies arrive. False after a fault.
  bool deliver();

  // ---- barrier.cluster

  /// Lanes of a warp arrive, or wait. A path that waits goes on when all threads have arrived.
  Next arrive(Warp& warp, Path& path, Lanes lanes, bool releases);
  Next wait(Warp& warp, Path& path, Lanes lanes, bool acquires);
  /// What lanes of a warp know, others know behind the phase at hand.
  void release(Warp& warp, Lanes lanes);

 private:
  struct Arrived {
    Lanes here = 0;  ///< in the phase at hand
    std::array<std::int64_t, kLanes> phase =
        {};  ///< in which each lane has arrived last, from 1 on; 0: it has waited
  };
  Arrived& arrived(const Warp& warp);
  void check_barrier();
  bool go_on_in_vain();
  void report_deadlock();

  const Grid& grid_;
  std::uint64_t number_;
  std::shared_ptr<block::Cluster> state_;
  std::vector<std::unique_ptr<Block>> blocks_;
  ChangedMaps changed_maps_;
  std::deque<InFlight> in_flight_;
  std::vector<Arrived> arrived_;  // by warp of the cluster
  std::int64_t phase_ = 1;
  block::Knowledge released_, complete_;
  std::uint64_t events_ = 0;
  int idle_ = 0;  // rounds in which tests have failed and nothing has happened
};

}  // namespace warpbit::grid
