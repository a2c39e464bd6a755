// SPDX-License-Identifier: Apache-2.0
// Dense tiles with a plan of fused nodes whose fragments are not those that the bodies read (fused.hpp). They
// are computed in parts of 16 or 8 rows and 8 columns; the elements of a part are brought to where these
// fragments have them:
//
//     lane 4 p + t    A   a register (row p, k = n t ... n t + n - 1) of n elements, one (row p + 8, the same
//     k);
//                         if there are more, of the k that are 4 n later
//                     B   (the same k, column p)
//                     C   (row p, column 2 t), (p, 2 t + 1), (p + 8, 2 t), (p + 8, 2 t + 1); likewise D
//
// With 8 rows lane 4 p + t has those of pair p, which are two apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Runs of bytes that lie together both in an operand's registers ([lane][register]) and in a part's.
struct RegisterRuns {
  struct Run {
    std::uint16_t in_operand, in_part;  ///< the first byte
  };
  int bytes = 0;  ///< of a run: 2, 4, 8 or 16
  std::vector<Run> runs;
};

/// Where a part lies in the tile, and its elements in the registers.
struct GatheredPart {
  int product = 0, row = 0, column = 0;  ///< the first row and column
  RegisterRuns a, b, c, d;
};

/// Such a tile, compiled.
struct GatheredTile {
  FusedProgram program;
  Encoding a, b;             ///< of the parts
  bool by_register = false;  ///< as in FusedTile
  bool exchanged = false;    ///< the transposed product is computed: a part's A is in B, its rows are columns
  int pairs = 0, depth = 0;  ///< of rows of a part; of its panels
  std::vector<GatheredPart> parts;
};

/// Null if the bodies have nothing for the tile.
std::shared_ptr<const GatheredTile> compile_gathered(const Tile& tile);

/// Computes cases [first, last): the same bits as run_tile.
void run_gathered(const Body& body, const GatheredTile& gathered, const Tile& tile, const TileViews& views,
                  const ResultView& d, std::size_t first, std::size_t last);

}  // namespace warpbit
