// SPDX-License-Identifier: Apache-2.0
// Tiles whose plans are fused nodes (FusedProgram in body.hpp).
#pragma once

#include <vector>

#include "kernel/parts.hpp"

namespace warpbit {

class FusedTile : public PartsTile {
 public:
  /// False if the bodies have nothing for the tile.
  bool compile(const Tile& tile);
  void run(const FastRun& run) const override;
  std::string source() const override;

  /// D = A B + D of each of `of_rows` fragments of A with each of `of_columns` of B, [fragment][lane][register], A and B
  /// decoded once. D: [row][lane][column][register]. Precondition: is_dense() without a conversion, D of f32.
  void run_all(const Body& body, const Tile& tile, int of_rows, int of_columns, const std::byte* left,
               const std::byte* right, std::byte* sums) const;

  /// D = A B + D, or A B, of a tile that uses memory, with D in the registers of warps as BlockView has them.
  /// Precondition: takes_registers().
  void run_in_registers(const Body& body, const Tile& tile, const TileViews& views,
                        std::uint32_t* const* registers) const;
  bool takes_registers(const Tile& tile) const;

  /// Whether A and B in registers are panels as they are, with nothing that is not in a matrix.
  bool is_dense() const { return is_dense_; }
  /// Whether whole matrices may become panels: each k of a tile has a place in `order`, and no place is empty.
  bool has_panels() const { return has_panels_; }

  FusedProgram program;
  Encoding of_a, of_b;
  std::vector<int> order;  ///< the k at each place of the panels

 private:
  void compute(const FastRun& run, const Parts& given, std::size_t first) const override;
  bool find_order(const Tile& tile, bool by_register_or_even_first);
  void run_whole(const FastRun& run) const;
  void run_rows(const FastRun& run) const;
  void decode_whole(const Body& body, const Tile& tile, const FactorLines& lines, FusedBlocks& blocks) const;

  bool by_register_ = false;  // the order of k in the panels (body/panels.hpp)
  bool even_first_ = false;   // the order of pairs of a sparse A; else by k
  bool is_dense_ = false;
  bool has_panels_ = false;
  bool is_whole_ = false;  // factors in shared memory are decoded once, not part by part
  bool has_rows_ = false;  // likewise, with C and D in rows of a matrix
  int depth_ = 0, b_depth_ = 0;
};

/// The tile as one of these with dense panels, or nullptr.
inline const FusedTile* fused_tile(const Tile& tile) {
  const auto* fused = dynamic_cast<const FusedTile*>(tile.fast.get());
  return fused != nullptr && fused->is_dense() ? fused : nullptr;
}

/// The tile as one of these whose matrices may become panels, or nullptr.
inline const FusedTile* panel_tile(const Tile& tile) {
  const auto* fused = dynamic_cast<const FusedTile*>(tile.fast.get());
  return fused != nullptr && fused->has_panels() ? fused : nullptr;
}

}  // namespace warpbit
