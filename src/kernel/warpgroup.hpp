// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup (wgmma) as blocks: factors in shared memory are first brought into lines of K, in the
// order in which registers have them if A is in registers.
#pragma once

#include <memory>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Such a tile, compiled.
struct WarpgroupTile {
  FusedProgram program;
  Encoding a, b;
};

/// Null if the bodies have nothing for the tile.
std::shared_ptr<const WarpgroupTile> compile_warpgroup(const Tile& tile);

/// The same bits as run_tile for case 0, with its precondition. D may be C.
void run_warpgroup(const Body& body, const WarpgroupTile& compiled, const Tile& tile, const TileViews& views,
                   const ResultView& d);

}  // namespace warpbit
