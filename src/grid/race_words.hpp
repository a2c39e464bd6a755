// SPDX-License-Identifier: Apache-2.0
// What is said of two accesses to global memory that nothing orders: what should have, by what the program has around them.
#pragma once

#include <string>
#include <string_view>

#include "grid/global_accesses.hpp"
#include "grid/program.hpp"

namespace warpbit::grid {

struct Grid;

/// One of them is an ld.global.nc.
inline bool is_stale(const GlobalConflict& found) {
  return found.before.non_coherent || found.now.non_coherent;
}
/// "that write and this read"
std::string_view both_of(const GlobalConflict& found);

/// What must come between accesses by lanes of one warp.
std::string must_meet(const Grid& grid, const GlobalConflict& found);

/// What a plain store to a flag must be.
constexpr std::string_view kStrongStore =
    "must be an atomic, st.volatile or st.relaxed, with a __threadfence before it if it hands over other bytes";
/// Of a plain store and a load that waits for it, the store; nullptr: they are others.
const GlobalSide* flag_store(const Grid& grid, const GlobalConflict& found);

/// What is said of accesses of two blocks between which there is no flag.
struct BetweenBlocks {
  std::string cause, advice;
};
BetweenBlocks between_blocks(const Grid& grid, const GlobalConflict& found);

}  // namespace warpbit::grid
