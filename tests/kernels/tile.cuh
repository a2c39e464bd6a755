// SPDX-License-Identifier: Apache-2.0
// What the kernels of this folder share.
#pragma once

#include <cstdint>

#include "warpbit/device.hpp"

namespace kernels {

using namespace warpbit::device;

/// Rows in shared memory are longer than their elements by 16 bytes, so that eight of them lie in different
/// banks.
inline constexpr int kPadding = 16;

/// Starts to copy rows of `row_bytes`, a multiple of 16, by all threads of the block.
template <class T, class U>
WARPBIT_DEVICE void copy_tile(SharedArray<T> to, GlobalArray<U> from, int rows, int row_bytes,
                              int from_stride_bytes) {
  const int lines = row_bytes / 16, all = rows * lines;
  for (int line = static_cast<int>(threadIdx.x); line < all; line += static_cast<int>(blockDim.x)) {
    const int row = line / lines, column = line % lines * 16;
    cp_async_cg(as<std::uint8_t>(to) + (row * (row_bytes + kPadding) + column),
                as<const std::uint8_t>(from) + (row * from_stride_bytes + column));
  }
}

/// Copies are there, for all threads.
WARPBIT_DEVICE void wait_for_tiles() {
  cp_async_commit_group();
  cp_async_wait_group<0>();
  __syncthreads();
}

/// Stores a tile of m16n8 of f32 sums: rows lane / 4 and the row 8 further, two columns of each.
WARPBIT_DEVICE void store_sums(GlobalArray<float> to, int stride, const Fragment<float, 4>& sums) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int half = 0; half < 2; ++half) {
    const GlobalArray<float> at = to + ((lane / 4 + 8 * half) * stride + lane % 4 * 2);
    at[0] = sums[2 * half];
    at[1] = sums[2 * half + 1];
  }
}

}  // namespace kernels
