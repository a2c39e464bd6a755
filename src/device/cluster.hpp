// SPDX-License-Identifier: Apache-2.0
// The blocks of a cluster, taking turns (PTX manual, "Cooperative Thread Arrays", "Clusters"). Without clusters it is one block.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "async/cluster.hpp"
#include "device/block.hpp"

namespace warpbit::device {

class Cluster {
 public:
  /// `number`: among all clusters of the grid, x fastest.
  Cluster(const Launch& how, std::uint64_t number, const std::function<void()>& thread, Worker& worker);

  /// Runs all threads. Rethrows exceptions of `thread`.
  void run();
  bool inferred() const;
  std::optional<Fault>& fault() { return fault_; }

  async::Cluster& async() { return async_; }
  int blocks() const { return static_cast<int>(blocks_.size()); }
  /// Precondition: 0 <= rank < blocks().
  Block& block(int rank) { return *blocks_[static_cast<std::size_t>(rank)]; }

 private:
  void check_barrier();
  bool run_turns();
  bool go_on_in_vain();
  std::vector<async::Lanes> alive() const;
  void report_deadlock();

  async::Cluster async_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::optional<Fault> fault_;
  int idle_ = 0;  // rounds in which tests have failed and nothing has happened
};

}  // namespace warpbit::device
