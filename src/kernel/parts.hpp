// SPDX-License-Identifier: Apache-2.0
// Tiles that the bodies compute part by part (body.hpp): one way from where the operands are to the fragments of
// m16n8 and back, whatever the arithmetic.
#pragma once

#include <vector>

#include "kernel/exact.hpp"
#include "kernel/fast_tile.hpp"
#include "kernel/gather.hpp"

namespace warpbit {

class PartsTile : public FastTile {
 public:
  void run(const FastRun& run) const override;
  std::string source() const override;

 protected:
  /// Finds the parts of the tile and where its operands have their elements; false if that is nowhere.
  bool find_parts(const Tile& tile, const WordLayout& a, const WordLayout& b);

  /// Computes the parts from number `first` on: that of the case, times how many a case has, plus that in the
  /// case.
  virtual void compute(const FastRun& run, const Parts& given, std::size_t first) const = 0;
  /// Whether C and D may have gaps between lanes.
  virtual bool takes_gaps() const { return true; }

  /// Whether all elements lie in the operands' registers as the bodies take them.
  bool is_in_place() const;

  bool exchanged = false;  ///< the transposed product is computed: A of a part is in B, its rows are columns
  int rows = 16;           ///< of a part
  std::vector<TilePart> parts;
  std::vector<Gather> a, b, c, d;  ///< of lines of A and B, if they have registers; of parts

 private:
  class Route;

  int a_bytes_ = 0, b_bytes_ = 0;  // of the lines of a part
};

/// Whether parts of the transposed tile are computed.
inline bool is_exchanged(const Tile& tile) {
  return !tile.uses_memory() && tile.columns > tile.rows;
}

/// Whether the registers of a tile with B in memory are matrices by rows, as tensor memory has them: lane i has row i of A, C
/// and D.
bool has_rows(const Tile& tile);
/// The same with one element of C or D after the other, each in a register of 32 bits.
bool has_rows_of_f32(const Tile& tile);

/// The lines of A and B in a tile that uses memory, in words of four bytes as in the fragments of m16n8, one
/// sixteen rows or eight columns after the other. They lie in scratch.
struct FactorLines {
  const std::byte *a, *b;
};
FactorLines load_lines(const FastRun& run);

/// Whether each warp has its metadata where the first one has its own.
bool has_metadata_by_warp(const Tile& tile);

/// Where the scale factors of case `index` lie, of the first 16 rows and eight columns; those of other parts lie alike, where
/// the tile has rows. Precondition: they are there.
ScaleBytes scale_bytes(const FastRun& run, std::size_t index);

}  // namespace warpbit
