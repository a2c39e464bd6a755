// SPDX-License-Identifier: Apache-2.0
// D = A B + C, a tile of f16 with f32 sums for each block of one warp, whose fragments are loaded and stored by
// hand (PTX manual, "Matrix Fragments for mma.m16n8k16 with floating point type"). All matrices are row-major.
#pragma once

#include <cstdint>

#include "warpbit/device.hpp"

namespace kernels {

using namespace warpbit::device;

/// Mistakes of layout: tests make them one by one.
enum class Layout {
  right,
  a_registers_swapped,  ///< 1 and 2
  a_transposed,         ///< rows and columns
  a_stride,             ///< of 8 instead of 16 elements
  b_halves_swapped,     ///< of each register
  b_row_too_far,        ///< by one
  b_of_next_tile,
  a_register_not_loaded,  ///< register 1 stays 0
  c_missing,              ///< the accumulator starts at 0
  c_registers_swapped,    ///< 1 and 2
  d_transposed,           ///< stored by columns
  lanes_exchanged,        ///< lane % 8 and lane / 8 for lane / 4 and lane % 4, of all operands
};

template <Layout layout>
WARPBIT_KERNEL void by_hand(GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> b,
                            GlobalArray<const float> c, GlobalArray<float> d) {
  const int lane = static_cast<int>(threadIdx.x), tile = static_cast<int>(blockIdx.x);
  constexpr bool exchanged = layout == Layout::lanes_exchanged;
  const int group = exchanged ? lane % 8 : lane / 4, thread = exchanged ? lane / 8 : lane % 4;

  Fragment<std::uint32_t, 4> left = {};
  for (int r = 0; r < 4; r += layout == Layout::a_register_not_loaded && r == 0 ? 2 : 1)
    for (int half = 0; half < 2; ++half) {
      const int from = layout == Layout::a_registers_swapped && r % 3 != 0 ? 3 - r : r;
      const int row = group + from % 2 * 8, column = 2 * thread + half + from / 2 * 8;
      const int at = layout == Layout::a_transposed ? column * 16 + row
                     : layout == Layout::a_stride   ? row * 8 + column
                                                    : row * 16 + column;
      const std::uint32_t element = a[tile * 256 + at];
      left[r] |= element << 16 * half;
    }
  Fragment<std::uint32_t, 2> right = {};
  for (int r = 0; r < 2; ++r)
    for (int half = 0; half < 2; ++half) {
      const int further = layout == Layout::b_row_too_far ? 1 : 0;
      const int row = 2 * thread + half + r * 8 + further;
      const int from = layout == Layout::b_of_next_tile ? tile + 1 : tile;
      const std::uint32_t element = b[from * 128 + row * 8 + group];
      right[r] |= element << 16 * (layout == Layout::b_halves_swapped ? 1 - half : half);
    }
  Fragment<float, 4> sums = {};
  for (int r = 0; r < (layout == Layout::c_missing ? 0 : 4); ++r) {
    const int from = layout == Layout::c_registers_swapped && r % 3 != 0 ? 3 - r : r;
    sums[r] = c[tile * 128 + (group + from / 2 * 8) * 8 + 2 * thread + from % 2];
  }
  sums = mma<m16n8k16, f32, f16>(left, right, sums);
  for (int r = 0; r < 4; ++r) {
    const int row = group + r / 2 * 8, column = 2 * thread + r % 2;
    d[tile * 128 + (layout == Layout::d_transposed ? column * 16 + row : row * 8 + column)] = sums[r];
  }
}

}  // namespace kernels
