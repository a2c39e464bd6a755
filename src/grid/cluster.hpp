// SPDX-License-Identifier: Apache-2.0
// A cluster of blocks that run a program (PTX manual, "Cooperative Thread Arrays", "Clusters"): they take turns, may access
// each other's shared memory, and meet at barrier.cluster. A block that has no cluster is one of one block.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "async/cluster.hpp"
#include "grid/block.hpp"
#include "grid/tensor_maps.hpp"

namespace warpbit::grid {

class Cluster {
 public:
  /// `number`: among all clusters; `first`: the index of its first block.
  Cluster(const Grid& grid, std::uint64_t number, Extent first);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Runs until all blocks have ended, or none can go on but by what other clusters do (yields), or its turn is over (pauses),
  /// or a fault. `alone`: no other cluster will do anything any more.
  Outcome run(bool alone);
  /// Whether it has yielded, and will do the same for ever if no other cluster changes anything.
  bool is_stuck() const;
  /// Whether it will never end, whatever it and others change.
  bool is_endless() const;
  /// Counts all that its threads do but to compute.
  std::uint64_t changes() const;

  std::uint64_t number() const { return number_; }
  /// It may wait for clusters that have not begun. This depends on nothing but what its threads do.
  bool has_waited_long() const { return yields_ > kMaxYields; }
  const std::vector<std::unique_ptr<Block>>& blocks() const { return blocks_; }
  /// By rank; nullptr if there is none.
  Block* block(std::uint64_t rank) { return rank < blocks_.size() ? blocks_[rank].get() : nullptr; }
  async::Cluster& async() { return async_; }
  /// Lanes that have not ended, by warp of the cluster.
  std::vector<Lanes> alive() const;
  ChangedMaps& changed_maps() { return changed_maps_; }

  // ---- Clusters that have not begun

  /// Takes one: the index of its first block. Nothing: the request fails.
  std::optional<Extent> request();
  /// A thread learns from a response that a request has failed. Kernels make such responses themselves, too: those of a
  /// cluster whose requests have not failed do not count.
  void learn_failure(block::Who who);
  /// Who has learned so in the block of a thread and before its current action; nothing: nobody.
  std::optional<block::Who> known_failure(block::Who who) const;

  // ---- barrier.cluster

  /// Lanes of a warp arrive, or wait. A path that waits goes on when all threads have arrived.
  Next arrive(Warp& warp, Path& path, Lanes lanes, bool releases);
  Next wait(Warp& warp, Path& path, Lanes lanes, bool acquires);

 private:
  static constexpr int kMaxYields = 20;
  block::Cluster::Flow flow(int first, int second);
  void check_barrier();
  bool go_on_in_vain();
  std::vector<FaultWaiters> waiting() const;
  void report_deadlock();
  void report_endless();

  const Grid& grid_;
  std::uint64_t number_;
  async::Cluster async_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<Block*> turns_;  // the same, in the order of their turns
  ChangedMaps changed_maps_;
  struct Failure {
    std::uint32_t clock;
    block::Place at;
  };
  bool has_failed_ = false;                                    // a request
  std::map<int, Failure> failures_;                            // by thread, the first that each has learned of
  std::map<std::pair<int, int>, block::Cluster::Flow> flows_;  // of statements that were asked for
  int yields_ = 0;
  int idle_ = 0;  // rounds in which tests have failed and nothing has happened
};

}  // namespace warpbit::grid
