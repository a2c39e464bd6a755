// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace warpbit::block {

/// A statement that a warp executes, or to which a copy or a product on its way belongs, for those who note what lets whom go
/// on (grid/timeline.hpp).
struct Actor {
  int rank = -1;                ///< of its block in the cluster; -1: nobody takes note
  int warp = 0;                 ///< in its block
  std::int32_t statement = -1;  ///< of grid::Program::origins
  std::uint64_t number = 0;     ///< among those of the block that is noted
  std::uint64_t done = 0;       ///< how many of those were executed when what it did was complete

  bool is_known() const { return rank >= 0; }
};

}  // namespace warpbit::block
