// SPDX-License-Identifier: Apache-2.0
// What one tensor copy moves (PTX manual, "Tensors" and "cp.async.bulk.tensor"; COPIES.md has what was measured): which
// bytes of global memory go to which bytes of shared memory, or the other way round. No grid, no memory: the caller moves
// the bytes of the runs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"
#include "warpbit/tensor_map.hpp"

#pragma GCC visibility push(default)  // the tests use it
namespace warpbit::tensor_map {

/// The load and store modes of PTX. Those behind im2col_no_offs are of sm_100, and refused: they were not recorded.
enum class CopyMode : std::uint8_t {
  tile,
  im2col,          ///< loads: coordinates and offsets
  im2col_no_offs,  ///< stores, reductions: im2col without offsets
  tile_gather4,
  tile_scatter4,
  im2col_w,
  im2col_w_128,
};
/// The name as PTX has it: "tile", "im2col_no_offs", "tile::gather4".
std::string_view name(CopyMode mode);

/// The operands of one copy.
struct TensorCopy {
  CopyMode mode = CopyMode::tile;
  std::array<std::int32_t, 5>
      coordinates{};  ///< the contiguous dimension first; those beyond the rank are ignored
  std::array<std::uint16_t, 3> offsets{};  ///< of im2col: W first; added to the coordinates of each pixel
  std::uint32_t shared = 0;                ///< address of the tile in the shared window
  bool to_global = false;                  ///< a store or a reduction
};

/// Bytes that are contiguous on both sides. Of an `outside` run `global` means nothing: a load fills its bytes, a
/// store leaves them out. A store writes 16 bytes at a time, so it goes on behind the last element of a dimension that is
/// not a multiple of them; there is only padding, since strides are multiples of 16.
struct CopyRun {
  std::uint64_t global = 0;  ///< address in global memory
  bool outside = false;
  std::uint32_t shared = 0;  ///< address in the shared window
  std::uint32_t bytes = 0;   ///< whole elements
  friend bool operator==(const CopyRun&, const CopyRun&) = default;
};

/// What a copy moves, by ascending places in the tile. As long as bytes stay contiguous a run goes on, so a tile without
/// a swizzle may be one run; with one, runs are chunks of 16 bytes and what happens to lie in a row. Preconditions: the
/// driver takes the map (TensorMap::refusals is empty) or it is decoded; the instruction has its rank. Errors: for what a
/// GPU does not take (COPIES.md) address_misaligned and descriptor_field; instruction_not_modelled for what was not
/// recorded.
Result<std::vector<CopyRun>> runs(const TensorMap& map, const TensorCopy& copy);

/// What a load moves if all of it lies in the tensor and each line fills whole spans of the swizzle: lines, one behind the
/// other in shared memory, whose chunks of 16 bytes are swizzled.
struct CopyLines {
  std::uint64_t global = 0;              ///< address of the first line
  std::uint32_t shared = 0, bytes = 0;   ///< of the first line; of each line
  std::array<std::uint32_t, 4> count{};  ///< of lines, by dimension from the second one on
  std::array<std::uint64_t, 4> stride{};
  Swizzle swizzle = Swizzle::none;

  /// All bytes, and the distance from the first byte in global memory to the end of the last line.
  std::uint64_t all() const { return std::uint64_t{bytes} * count[0] * count[1] * count[2] * count[3]; }
  std::uint64_t reach() const;
};

/// The lines of a load that `runs` accepts; nothing if it moves other than such lines, or changes elements.
std::optional<CopyLines> lines(const TensorMap& map, const TensorCopy& copy);

/// Moves them. `from`: the first line in global memory.
void move(const CopyLines& lines, const std::byte* from, std::byte* shared);

/// An error as of `runs`.
Result<void> check(const TensorMap& map, const TensorCopy& copy);

/// The bytes that a load counts on its mbarrier, elements outside included.
std::uint64_t counted_bytes(const TensorMap& map);

/// The bytes of shared memory that a tile takes: more than are counted if a swizzle has a longer span than its lines.
std::uint64_t tile_bytes(const TensorMap& map);

/// The alignment that `shared` must have.
std::uint32_t shared_alignment(const TensorMap& map);

/// Writes what stands for elements outside the tensor. Precondition: whole elements.
void fill(const TensorMap& map, std::span<std::byte> elements);

/// Whether `convert` changes anything: tf32, tf32_ftz. A load does not flush subnormals, whatever the type's name.
bool converts(TensorType type);
/// Changes elements as a load does on their way: tf32 and tf32_ftz are rounded. Precondition: whole elements.
void convert(TensorType type, std::span<std::byte> elements);

/// Where bits 4 to 6 of an address in shared memory lie with a swizzle: an XOR with bits 7 to 9.
inline std::uint32_t swizzled(std::uint32_t address, Swizzle swizzle) {
  constexpr std::uint32_t kMasks[] = {0, 7, 3, 1};  // none, 128, 64, 32 bytes
  return address ^ (address >> 7 & kMasks[static_cast<std::size_t>(swizzle)]) << 4;
}

}  // namespace warpbit::tensor_map
#pragma GCC visibility pop
