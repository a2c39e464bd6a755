// SPDX-License-Identifier: Apache-2.0
// Tiles that the bodies compute as blocks (body.hpp): plans of fused nodes, in the fragments that mma and wgmma
// have in common.
#pragma once

#include <vector>

#include "kernel/body.hpp"
#include "kernel/fast_tile.hpp"

namespace warpbit {

class FusedTile : public FastTile {
 public:
  void run(const FastRun& run) const override;

  FusedProgram program;
  Encoding a, b;
  bool by_register = false;  ///< the order of k in the panels (body/panels.hpp)
  bool even_first = false;   ///< the order of pairs of a sparse A; else by k
  std::vector<int> order;    ///< that order: the k at each place of A's
};

/// The tile as one of these, or nullptr.
inline const FusedTile* fused_tile(const Tile& tile) {
  return dynamic_cast<const FusedTile*>(tile.fast.get());
}

}  // namespace warpbit
