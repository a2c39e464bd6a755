// SPDX-License-Identifier: Apache-2.0
// Tiles that a body computes: from where the operands are, by which arithmetic.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Cases [first, last) of a tile; one that uses memory has one case.
struct FastRun {
  const Body& body;
  const Tile& tile;
  const TileViews& views;
  const ResultView& d;
  std::size_t first, last;
};

/// A tile, compiled.
class FastTile {
 public:
  virtual ~FastTile() = default;
  /// Computes D: the same bits as run_tile, with its preconditions; D may be C.
  virtual void run(const FastRun& run) const = 0;

  /// Where the operands are, e.g. "fragments".
  virtual std::string source() const = 0;

  std::string path;  ///< what it does, e.g. "fused sums from fragments"
};

/// Null if the bodies have nothing for the tile; plans are compared as a whole with what the bodies compute.
std::shared_ptr<const FastTile> compile_fast(const Tile& tile);

/// The rows of compile_fast: null if one has nothing for the tile.
using FastMaker = std::shared_ptr<FastTile>(const Tile& tile);
FastMaker compile_fused;   ///< fused sums
FastMaker compile_groups;  ///< scaled groups
FastMaker compile_native;  ///< what the processor's own arithmetic executes

}  // namespace warpbit
