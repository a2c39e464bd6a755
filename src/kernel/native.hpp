// SPDX-License-Identifier: Apache-2.0
// Tiles that the bodies compute with the processor's own arithmetic (body.hpp, NativeProgram): integers, bits,
// chains of IEEE operations; whatever their fragments are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernel/body.hpp"
#include "kernel/tile.hpp"

namespace warpbit {

/// Where the items that a body takes come from: item i is number numbers[i] among those of the registers side
/// by side.
struct ItemTable {
  int bytes = 4;  ///< of an item: 2, 4, 8 or 16
  std::vector<std::uint32_t> numbers;
  bool in_place = false;             ///< item i is number i, for all registers
  std::ptrdiff_t product_bytes = 0;  ///< from one product to the next
};

/// Such a tile, compiled.
struct NativeTile {
  NativeProgram program;
  ItemTable a, b, c, d;
  int items = 0;  ///< of a row of A, as NativeBlocks has it
  /// If A is sparse: its items are the 16 bits that are stored of each 32; which of the tile's metadata says
  /// where they belong. The selector of a statement decides where that lies.
  std::vector<std::uint32_t> nibbles;
};

/// Null if the bodies have nothing for the tile.
std::shared_ptr<const NativeTile> compile_native(const Tile& tile);

/// Computes case `index`: the same bits as run_tile. False, with nothing done, if a sparse row stores two
/// elements of the same place.
bool run_native(const Body& body, const NativeTile& native, const Tile& tile, const TileViews& views,
                const ResultView& d, std::size_t index);

}  // namespace warpbit
