// SPDX-License-Identifier: Apache-2.0
// Tensor maps: the 128 bytes of a CUtensorMap, by which bulk copies know a tensor in global memory (the layout is
// measured, src/tensor_map/LAYOUT.md; arguments are those of cuTensorMapEncodeTiled and its companions).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// How coordinates become addresses: the function that makes the map.
enum class TensorMapMode : std::uint8_t {
  tiled,   ///< cuTensorMapEncodeTiled
  im2col,  ///< cuTensorMapEncodeIm2col
};
/// CUtensorMapDataType, the same numbers under PTX's names. Behind an x: 16 numbers of 4 or 6 bits each, in shared
/// memory with gaps of 8 bytes (p64) or 4 (p32).
enum class TensorType : std::uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  b4x16,
  b4x16_p64,
  b6x16_p32,
};
/// CUtensorMapInterleave: channels in slices of so many bytes, NC/8HWC8 and NC/16HWC16 of 16-bit elements.
enum class TensorInterleave : std::uint8_t { none, bytes_16, bytes_32 };
/// CUtensorMapSwizzle: the span and, if they are not 16 bytes, the chunks that change places within it.
enum class TensorSwizzle : std::uint8_t {
  none,
  bytes_32,
  bytes_64,
  bytes_128,
  bytes_128_atom_32,
  bytes_128_atom_32_flip_8,
  bytes_128_atom_64,
};
/// CUtensorMapL2promotion: bytes that the L2 cache fetches at once.
enum class L2Promotion : std::uint8_t { none, bytes_64, bytes_128, bytes_256 };
/// CUtensorMapFloatOOBfill: what stands for elements outside the tensor.
enum class TensorFill : std::uint8_t { zeros, nan };

/// The arguments of a tensor map. Entries of arrays beyond the rank are 0, as are those of the other mode.
struct TensorMap {
  TensorMapMode mode = TensorMapMode::tiled;
  TensorType elemtype = TensorType::u8;
  int rank = 1;                                    ///< dimensions, 1 to 5; with im2col or an interleave 3 to 5
  std::uint64_t global_address = 0;
  std::array<std::uint64_t, 5> global_dim{};       ///< elements, the innermost dimension first
  std::array<std::uint64_t, 4> global_stride{};    ///< bytes, of the dimensions from the second on
  std::array<std::uint32_t, 5> box_dim{};          ///< tiled: elements of a copy
  std::array<std::int32_t, 3> lower_corner{};      ///< im2col: pixelBoxLowerCorner, W, then H, then D
  std::array<std::int32_t, 3> upper_corner{};      ///< im2col: pixelBoxUpperCorner
  std::uint32_t channels_per_pixel = 0;            ///< im2col
  std::uint32_t pixels_per_column = 0;             ///< im2col
  std::array<std::uint32_t, 5> element_stride{};
  TensorInterleave interleave_layout = TensorInterleave::none;
  TensorSwizzle swizzle_mode = TensorSwizzle::none;
  L2Promotion l2_promotion = L2Promotion::none;
  TensorFill fill_mode = TensorFill::zeros;

  friend bool operator==(const TensorMap&, const TensorMap&) = default;
};

}  // namespace warpbit
#pragma GCC visibility pop
