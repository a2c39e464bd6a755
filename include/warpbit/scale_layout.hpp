// SPDX-License-Identifier: Apache-2.0
// Where the scale factors of a matrix with block scaling lie in memory. The order of 128 x 4 tiles is that of cuBLAS
// (cuBLAS documentation, "1D Block Scaling Factors Layout"), of CUTLASS (Sm1xxBlockScaledConfig, whose atom is
// ((32,4),(V,4)):((16,4),(0,1)) for blocks of V elements) and of PyTorch (torchao, to_blocked).
#pragma once

#include <cstdint>
#include <optional>

#pragma GCC visibility push(default)
namespace warpbit {

/// How scale factors follow each other. Each is a byte.
enum class ScaleOrder : std::uint8_t {
  tiles,   ///< tiles of 128 rows x 4 blocks, 512 bytes each
  linear,  ///< row by row, without padding
};

/// A scale factor: that of block `block` along K in row `row` of A, or in column `row` of B.
struct ScaleFactor {
  std::int64_t row = 0, block = 0;
  friend bool operator==(const ScaleFactor&, const ScaleFactor&) = default;
};

/// The scale factors of a matrix: `rows` rows of A or columns of B with `blocks` blocks along K each; neither is negative, and
/// their product with padding fits 63 bits.
/// In tiles the matrix is padded to whole tiles, which follow each other along K first. In a tile, 16 bytes hold four
/// blocks of each of four rows that are 32 apart:
///
///     tile = (row / 128) ceil(blocks / 4) + block / 4
///     offset = 512 tile + (row % 32) 16 + (row / 32 % 4) 4 + block % 4
///
///     byte    0        4         8         12       16 ...
///     [0,0-3]  [32,0-3]  [64,0-3]  [96,0-3]  [1,0-3] ...
struct ScaleLayout {
  static constexpr std::int64_t kTileRows = 128, kTileBlocks = 4, kTileBytes = 512;
  static constexpr std::int64_t kApart = 32, kLine = 16;  ///< the distance of rows in 16 bytes; those bytes

  std::int64_t rows = 0, blocks = 0;
  ScaleOrder order = ScaleOrder::tiles;

  /// Tiles along K.
  constexpr std::int64_t tiles_across() const { return (blocks + kTileBlocks - 1) / kTileBlocks; }
  /// Tiles along M or N.
  constexpr std::int64_t tiles_down() const { return (rows + kTileRows - 1) / kTileRows; }
  /// All bytes, padding included.
  constexpr std::int64_t bytes() const {
    return order == ScaleOrder::linear ? rows * blocks : tiles_down() * tiles_across() * kTileBytes;
  }

  /// The byte of a scale factor. Precondition: 0 <= row < rows and 0 <= block < blocks; in tiles also what pads them.
  constexpr std::int64_t offset(std::int64_t row, std::int64_t block) const {
    if (order == ScaleOrder::linear) return row * blocks + block;
    const std::int64_t tile = row / kTileRows * tiles_across() + block / kTileBlocks;
    return tile * kTileBytes + row % kApart * kLine + row % kTileRows / kApart * kTileBlocks +
           block % kTileBlocks;
  }

  /// The scale factor at a byte, and that of padding, too: its row may be `rows` or more, its block `blocks` or more.
  /// Precondition: 0 <= offset < bytes().
  constexpr ScaleFactor place(std::int64_t offset) const {
    if (order == ScaleOrder::linear) return {offset / blocks, offset % blocks};
    const std::int64_t tile = offset / kTileBytes, byte = offset % kTileBytes;
    return {tile / tiles_across() * kTileRows + byte % kLine / kTileBlocks * kApart + byte / kLine,
            tile % tiles_across() * kTileBlocks + byte % kTileBlocks};
  }

  /// The scale factor at a byte. Nothing for padding and outside.
  constexpr std::optional<ScaleFactor> at(std::int64_t offset) const {
    if (offset < 0 || offset >= bytes()) return std::nullopt;
    const ScaleFactor out = place(offset);
    return out.row < rows && out.block < blocks ? std::optional(out) : std::nullopt;
  }

  friend bool operator==(const ScaleLayout&, const ScaleLayout&) = default;
};

}  // namespace warpbit
#pragma GCC visibility pop
