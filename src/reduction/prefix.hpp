// SPDX-License-Identifier: Apache-2.0
// The sums of all beginnings of a row (a scan): cumulative sums.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reduction/candidates.hpp"

namespace warpbit::reduction {

/// Each value becomes the sum of those up to it, as threads of a block have it (Sklansky): they take 2 * threads values at a time, to
/// the first of which the sum of all before is added. Then runs of 1, 2, 4, ... values get what the run before them has at its end.
///
///     threads=2     a  b  c  d      a  a+b  c  c+d      a  a+b  (a+b)+c  (a+b)+(c+d)
///
/// With one thread that is a sum from the first value to the last. It begins with 0 + x[0].
template <class Value>
void add_prefixes(std::span<Value> row, std::size_t threads) {
  Value before{};
  for (std::size_t first = 0; first < row.size(); first += 2 * threads) {
    const std::span<Value> of = row.subspan(first, std::min(2 * threads, row.size() - first));
    of[0] = of[0] + before;
    for (std::size_t run = 1; run <= threads; run *= 2)
      for (std::size_t at = run; at < of.size(); at += 2 * run)
        for (std::size_t i = at; i < std::min(at + run, of.size()); ++i) of[i] = of[i] + of[at - 1];
    before = of.back();
  }
}

/// Equal for orders that give the same sums of any row of so many values.
std::uint64_t prefix_identity(const ReductionOrder& order, std::size_t columns);

/// Codes of D. Preconditions: the problem is one of cumsum, and prefix_refusal has nothing against the order.
std::vector<std::uint64_t> prefix_sums(const ReductionProblem& problem, const ReductionOrder& order);

/// Why an order is none of cumulative sums.
std::optional<Error> prefix_refusal(const ReductionOrder& order);

/// The orders that explain D.
Found find_prefix_sums(const ReductionProblem& problem, const ReductionOptions& options);

}  // namespace warpbit::reduction
