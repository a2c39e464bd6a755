// SPDX-License-Identifier: Apache-2.0
// Tiles of scaled groups that the bodies compute (GroupCase in body.hpp): mma and mma.sp of kind::mxf4 and
// kind::mxf4nvf4.
#pragma once

#include <cstddef>
#include <memory>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Such a tile, compiled.
struct GroupTile {
  bool fractions = false;  ///< scale factors are ue4m3
  int floor = 0;           ///< of E
};

/// Null if the bodies have nothing for the tile.
std::shared_ptr<const GroupTile> compile_groups(const Tile& tile);

/// Computes cases [first, last): the same bits as run_tile.
void run_groups(const Body& body, const GroupTile& groups, const Tile& tile, const TileViews& views,
                const ResultView& d, std::size_t first, std::size_t last);

}  // namespace warpbit
