// SPDX-License-Identifier: Apache-2.0
// Where the fields of a tensor map lie (LAYOUT.md, which has the proof). 32 words, little-endian; bits 31 to 0:
//
//   word 0, 1   global_address
//   word 2      promotion:2 tf32:1 fill:1 swizzle:2 interleave:2 elemtype:4 rank-1:3 0:3 im2col:1     (bits 18 to 0)
//   word 3-6    global_stride[0..3] / 16, the lower 32 bits
//   word 7      their upper four bits: [3]:4 [2]:4 [1]:4 [0]:4                                        (bits 15 to 0)
//   word 8-12   global_dim[0..4] - 1
//   word 13     box_dim[0]-1 or channels-1 :8   0:9   element_stride-1: [4]:3 [3]:3 [2]:3 [1]:3 [0]:3
//   word 14     tiled: box_dim-1: [4]:8 [3]:8 [2]:8 [1]:8
//               im2col, rank 3: upper[0]:16  lower[0]:16
//                       rank 4: upper[1]:8 upper[0]:8  lower[1]:8 lower[0]:8
//                       rank 5: 0:1 upper[2]:5 upper[1]:5 upper[0]:5  0:1 lower[2]:5 lower[1]:5 lower[0]:5
//   word 15     im2col: pixels-1 (10 bits)
//   word 16     bytes of a copy          derived from the fields by the driver; `tensormap.replace` leaves them
//   word 18     alignment of its place   as they are
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "warpbit/tensor_map.hpp"

namespace warpbit::tensor_map {

using Words = std::array<std::uint32_t, 32>;

/// A field: its value v is stored as (v - less) >> shift.
struct Field {
  unsigned bit, bits;
  std::uint64_t less = 0;
  unsigned shift = 0;
};

// With what they decide, these are decoded first: how many dimensions there are, and which members.
inline constexpr Field kMode{64, 1}, kRank{68, 3}, kElemtype{71, 4}, kInterleave{75, 2}, kSwizzle{77, 2},
    kTf32{80, 1};
inline constexpr Field kBoxBytes{512, 32}, kAlignment{576, 32};
/// The code of tf32 is that of f32, with the bit; that of tf32_ftz is of f32_ftz.
inline constexpr std::uint64_t kTf32Distance = 4;

/// 0 to 3: none, 32, 64, 128 bytes. Also the swizzle of such a code.
inline unsigned swizzle_code(Swizzle swizzle) {
  return (4 - static_cast<unsigned>(swizzle)) % 4;
}
/// Of a corner's offset.
inline unsigned corner_bits(int rank) {
  return rank == 3 ? 16 : rank == 4 ? 8 : 5;
}

/// Calls visit(place, member, its name, its index) for each field of the other members. A stride has two.
template <class Map, class Visit>
void visit_fields(Map& m, Visit visit) {
  const auto rank = static_cast<unsigned>(m.rank);
  visit(Field{0, 64}, m.global_address, "global_address", 0U);
  visit(Field{79, 1}, m.fill_mode, "fill_mode", 0U);
  visit(Field{81, 2}, m.l2_promotion, "l2_promotion", 0U);
  for (unsigned i = 0; i < rank; ++i) visit(Field{256 + 32 * i, 32, 1}, m.global_dim[i], "global_dim", i);
  for (unsigned i = 0; i + 1 < rank; ++i)
    visit(Field{96 + 32 * i, 32, 0, 4}, m.global_stride[i], "global_stride", i);
  for (unsigned i = 0; i + 1 < rank; ++i)
    visit(Field{224 + 4 * i, 4, 0, 36}, m.global_stride[i], "global_stride", i);
  for (unsigned i = 0; i < rank; ++i) visit(Field{416 + 3 * i, 3, 1}, m.element_stride[i], "element_stride", i);
  if (m.mode == TensorMapMode::tiled) {
    for (unsigned i = 0; i < rank; ++i) visit(Field{440 + 8 * i, 8, 1}, m.box_dim[i], "box_dim", i);
    return;
  }
  visit(Field{440, 8, 1}, m.channels_per_pixel, "channels_per_pixel", 0U);
  visit(Field{480, 10, 1}, m.pixels_per_column, "pixels_per_column", 0U);
  const unsigned bits = corner_bits(m.rank);
  for (unsigned i = 0; i + 2 < rank; ++i)
    visit(Field{448 + bits * i, bits}, m.pixel_box_lower[i], "pixel_box_lower", i);
  for (unsigned i = 0; i + 2 < rank; ++i)
    visit(Field{464 + bits * i, bits}, m.pixel_box_upper[i], "pixel_box_upper", i);
}

/// The words of a map, and back. Precondition of `packed`: element strides are not 0.
Words words_of(std::span<const std::byte, 128> map);
Words packed(const TensorMap& map);

}  // namespace warpbit::tensor_map
