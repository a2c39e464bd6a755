// SPDX-License-Identifier: Apache-2.0
// Random turns of clusters, blocks and warps (ptx::Launch::schedule): who goes next, and for how many steps. A kernel that is
// right only in one order of its threads is caught by another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace warpbit::grid {

class Schedule {
 public:
  /// A turn of so many steps ends where the warp waits.
  static constexpr std::uint64_t kUntilWait = std::numeric_limits<std::uint64_t>::max();

  /// `steps`: those of the program.
  Schedule(std::uint64_t seed, std::size_t steps);

  /// Any number below `count`, which is not 0.
  std::uint64_t pick(std::uint64_t count) { return random_() % count; }

  /// The most steps of a warp in the next turn of its cluster; kUntilWait now and then, so that waits for ever are seen.
  std::uint64_t longest();

  template <class T>
  void shuffle(std::vector<T>& all) {
    for (std::size_t left = all.size(); left > 1; --left) std::swap(all[left - 1], all[pick(left)]);
  }

 private:
  int lengths_;
  std::mt19937_64 random_;
};

}  // namespace warpbit::grid
