// SPDX-License-Identifier: Apache-2.0
// In which order the clusters of a launch begin, and which of them a running one takes (PTX manual, "clusterlaunchcontrol").
// They stand in lines. The first of each line begins at once; the next one begins when the one before has ended, unless that
// one takes it. So who takes which depends on the schedule alone, whoever runs the clusters and however fast.
//
//     12 clusters, 3 lines:    0  3  6  9      0 runs, takes 3 and ends; 6 begins, takes 9 and ends
//                              1  4  7  10
//                              2  5  8  11
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "warpbit/ptx.hpp"

namespace warpbit::grid {

class Lines {
 public:
  /// `may_take`: the program has requests; else each cluster is a line of its own.
  Lines(std::uint64_t clusters, ptx::Cancel schedule, std::uint64_t seed, bool may_take);

  /// The next cluster that begins by itself; nothing if none may begin at present.
  std::optional<std::uint64_t> begin();
  /// A cluster has ended, or may wait for others: the next one of its line may begin, and takes those behind it from now on.
  void pass(std::uint64_t cluster);
  /// The cluster that a request of another one takes; nothing if it fails.
  std::optional<std::uint64_t> take(std::uint64_t by);

 private:
  struct Line {
    std::uint64_t next, running;
  };
  std::uint64_t line_of(std::uint64_t cluster) const;
  /// The first cluster of a line from this one on; `clusters_`: none is left.
  std::uint64_t find(std::uint64_t line, std::uint64_t from) const;
  void advance(std::uint64_t line, std::uint64_t running);

  std::uint64_t clusters_, lines_;
  std::optional<std::uint64_t> seed_;             // of the random schedule
  std::uint64_t begun_ = 0;                       // lines
  std::unordered_map<std::uint64_t, Line> left_;  // those that have begun and have clusters left
  std::deque<std::uint64_t> ready_;               // lines whose next cluster may begin
};

}  // namespace warpbit::grid
