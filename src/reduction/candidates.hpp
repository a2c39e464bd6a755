// SPDX-License-Identifier: Apache-2.0
// The orders that are tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "warpbit/reduction.hpp"

namespace warpbit::reduction {

/// What threads do, in all the ways that are tried for rows of that length: the first half of orders. Those that libraries have come
/// first: one block, a loop, several blocks.
std::vector<ReductionOrder> beginnings(std::size_t columns, const ReductionHints& hints);

/// The orders that begin like this one.
std::vector<ReductionOrder> endings(const ReductionOrder& begun);

/// Why an order is none: members that are too small or too large, words that exclude each other.
std::optional<Error> order_refusal(const ReductionOrder& order);

/// What a search found: orders that explain D, and how far it came.
struct Found {
  std::vector<ReductionOrder> orders;
  std::uint64_t tried = 0;
  bool complete = true;
  ReductionOrder nearest;
  std::size_t nearest_rows = 0;
};

/// Less is more likely: what libraries have, one block to a row, loads of 16 bytes.
std::size_t rank(const ReductionOrder& order);

}  // namespace warpbit::reduction
