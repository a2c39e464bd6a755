// SPDX-License-Identifier: Apache-2.0
// Trees of ranks: those of rings and of NCCL, and what they add.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpbit/all_reduce.hpp"
#include "warpbit/format.hpp"

namespace warpbit::reduction {

inline constexpr std::size_t kMostRanks = 1024;

/// The chain of a ring that ends at its rank `last`.
RankTree chain(std::span<const int> ring, std::size_t last);
/// NCCL's double binary tree: the two halves of an array.
std::vector<RankTree> double_tree(int ranks);
/// The same of hosts with so many ranks each. The first rank of a host, its head, adds what the next ones send along a chain, and then
/// what other hosts send. Where these are two, the first one goes to the host's second rank. Hosts of two ranks were recorded; of more it is assumed.
///
///     two hosts of two     0(1,2(3))        four, the first half     0(1,4(5(2(3)),6(7)))
std::vector<RankTree> double_tree_of_hosts(int hosts, int each);
/// Every tree of so many ranks. Precondition: at most six.
std::vector<RankTree> all_trees(int ranks);
/// Equal for trees that add the same, whatever the ranks have.
std::uint64_t sum_of(const RankTree& tree, bool is_mean, std::size_t ranks);

/// What the ranks have, as numbers; sums of them as a GPU rounds them.
class RankValues {
 public:
  /// Preconditions: the format is known, and the sizes fit.
  explicit RankValues(const AllReduceProblem& problem);
  /// By a tree, for the values [first, first + count).
  std::vector<std::uint64_t> sums(const RankTree& tree, std::size_t first, std::size_t count) const;

 private:
  std::vector<double> numbers(const RankTree& tree, std::size_t first, std::size_t count) const;
  double rounded(double x) const;
  double fused(double a, double c) const;

  const AllReduceProblem& problem_;
  Codec codec_;
  double scale_;
  std::vector<double> x_;
};

/// Why a problem or an order for it is none.
std::optional<Error> all_reduce_refusal(const AllReduceProblem& problem, bool has_d);
std::optional<Error> all_reduce_refusal(const AllReduceOrder& order, std::size_t ranks);

}  // namespace warpbit::reduction
