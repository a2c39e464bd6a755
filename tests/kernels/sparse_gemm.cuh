// SPDX-License-Identifier: Apache-2.0
// D = A B of f16 with f32 sums, A sparse 2:4: a tile of 64 x 64 for each block of four warps. A is stored row
// by row, two elements of four; `metadata` has 16 bits for each 16 columns of a row of A, a nibble for each
// group of four, two bits for the column of each element, the first in the lowest. B and D are row-major.
#pragma once

#include "tile.cuh"

namespace kernels {

struct SparseGemm {
  static constexpr int tile = 64, step = 64, threads = 128;
  static constexpr int row_of_a = step / 2 + kPadding / 2, row_of_b = tile + kPadding / 2;  // elements
  static constexpr int elements_of_a = tile * row_of_a, elements_of_b = step * row_of_b;
  static constexpr int shared_bytes = 2 * (elements_of_a + elements_of_b);
};

/// M and N are the grid's in tiles, K a multiple of the step.
WARPBIT_KERNEL void sparse_gemm(GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> metadata,
                                GlobalArray<const std::uint16_t> b, GlobalArray<float> d, int k) {
  using Is = SparseGemm;
  const int n = static_cast<int>(gridDim.x) * Is::tile;
  const int row = static_cast<int>(blockIdx.y) * Is::tile, column = static_cast<int>(blockIdx.x) * Is::tile;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  const SharedArray<std::uint16_t> tile_a = shared_array<std::uint16_t>(0, Is::elements_of_a);
  const SharedArray<std::uint16_t> tile_b =
      shared_array<std::uint16_t>(2 * Is::elements_of_a, Is::elements_of_b);

  Fragment<float, 4> sums[8] = {};
  for (int at = 0; at < k; at += Is::step) {
    copy_tile(tile_a, a + (row * (k / 2) + at / 2), Is::tile, Is::step, k);
    copy_tile(tile_b, b + (at * n + column), Is::step, 2 * Is::tile, 2 * n);
    wait_for_tiles();
    for (int depth = 0; depth < Is::step; depth += 32) {
      const Fragment<std::uint32_t, 4> left =
          ldmatrix<4>(tile_a + ((warp_row + lane % 16) * Is::row_of_a + depth / 2 + lane / 16 * 8));
      // Of each four lanes the first two give the metadata of rows lane / 4 and the row 8 further, of 16
      // columns.
      const int groups = (at + depth) / 16 + lane % 2, upper = (row + warp_row + lane / 4) * (k / 16) + groups;
      const std::uint32_t low = metadata[upper], high = metadata[upper + 8 * (k / 16)];
      for (int j = 0; j < 8; ++j) {
        const Fragment<std::uint32_t, 4> right =
            ldmatrix_trans<4>(tile_b + ((depth + lane) * Is::row_of_b + 8 * j));
        sums[j] = mma_sp<m16n8k32, f32, f16>(left, right, sums[j], high << 16 | low);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j) store_sums(d + ((row + warp_row) * n + column + 8 * j), n, sums[j]);
}

}  // namespace kernels
