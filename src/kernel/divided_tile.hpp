// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (wgmma) as tiles of m16n8 in the registers of a warp: what has no panels of its own.
#pragma once

#include <memory>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Sixteen rows and eight columns of the tile, the same for each warp and each eight columns.
struct WarpPart;

/// Such a tile, compiled.
struct DividedTile {
  std::shared_ptr<const WarpPart> part;
};

/// Null if the bodies have nothing for the part.
std::shared_ptr<const DividedTile> compile_divided(const Tile& tile);

/// The same bits as run_tile for case 0, with its precondition. D may be C.
void run_divided(const Body& body, const DividedTile& compiled, const Tile& tile, const TileViews& views,
                 const ResultView& d);

}  // namespace warpbit
