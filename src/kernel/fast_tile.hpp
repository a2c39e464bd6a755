// SPDX-License-Identifier: Apache-2.0
// Tiles that the bodies compute, of whatever kind.
#pragma once

#include <cstddef>
#include <memory>
#include <variant>

#include "kernel/body.hpp"
#include "kernel/divided_tile.hpp"
#include "kernel/fused.hpp"
#include "kernel/gathered_tile.hpp"
#include "kernel/group_tile.hpp"
#include "kernel/native.hpp"
#include "kernel/tile.hpp"
#include "kernel/warpgroup.hpp"

namespace warpbit {

/// Such a tile, compiled.
struct FastTile {
  std::variant<FusedTile,      // fused nodes in the fragments of m16n8
               GatheredTile,   // fused nodes in other fragments
               WarpgroupTile,  // fused nodes with factors in shared memory
               DividedTile,    // anything else with factors in shared memory
               GroupTile,      // scaled groups
               NativeTile>     // what the processor's own arithmetic executes
      kind;
};

/// The tile as blocks of fused nodes in the fragments of m16n8, or nullptr.
inline const FusedTile* fused_tile(const Tile& tile) {
  return tile.fast ? std::get_if<FusedTile>(&tile.fast->kind) : nullptr;
}

/// Null if the bodies have nothing for the tile.
std::shared_ptr<const FastTile> compile_fast(const Tile& tile);

/// Computes cases [first, last): the same bits as run_tile, with its preconditions; D may be C. A tile that
/// uses memory has one case.
void run_fast(const Body& body, const FastTile& fast, const Tile& tile, const TileViews& views,
              const ResultView& d, std::size_t first, std::size_t last);

}  // namespace warpbit
