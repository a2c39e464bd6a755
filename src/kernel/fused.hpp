// SPDX-License-Identifier: Apache-2.0
// Tiles that the bodies compute as blocks (body.hpp): plans of fused nodes, in the fragments that mma and wgmma
// have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Such a tile, compiled.
struct FusedTile {
  FusedProgram program;
  Encoding a, b;
  bool by_register = false;  ///< the order of k in the panels (body/panels.hpp)
  bool even_first = false;   ///< the order of pairs of a sparse A; else by k
  std::vector<int> order;    ///< that order: the k at each place of A's
};

/// Null if the bodies have nothing for the tile.
std::shared_ptr<const FusedTile> compile_fused(const Tile& tile);

/// Computes cases [first, last): the same bits as run_tile.
void run_fused(const Body& body, const FusedTile& fused, const Tile& tile, const TileViews& views,
               const ResultView& d, std::size_t first, std::size_t last);

}  // namespace warpbit
