// SPDX-License-Identifier: Apache-2.0
// D = scale A B of e4m3 with f32 sums: a tile of 64 x 64 for each block of four warps. A is row-major, B
// column-major, as FP8 instructions take them, D row-major.
#pragma once

#include "tile.cuh"

namespace kernels {

struct Fp8Gemm {
  static constexpr int tile = 64, step = 64, threads = 128;
  static constexpr int row = step + kPadding;  // bytes
  static constexpr int shared_bytes = 2 * tile * row;
};

/// M and N are the grid's in tiles, K a multiple of the step.
WARPBIT_KERNEL void fp8_gemm(GlobalArray<const std::uint8_t> a, GlobalArray<const std::uint8_t> b,
                             GlobalArray<float> d, int k, float scale) {
  using Is = Fp8Gemm;
  const int n = static_cast<int>(gridDim.x) * Is::tile;
  const int row = static_cast<int>(blockIdx.y) * Is::tile, column = static_cast<int>(blockIdx.x) * Is::tile;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  const SharedArray<std::uint8_t> tile_a = shared_array<std::uint8_t>(0, Is::tile * Is::row);
  const SharedArray<std::uint8_t> tile_b = shared_array<std::uint8_t>(Is::tile * Is::row, Is::tile * Is::row);

  Fragment<float, 4> sums[8] = {};
  for (int at = 0; at < k; at += Is::step) {
    copy_tile(tile_a, a + (row * k + at), Is::tile, Is::step, k);
    copy_tile(tile_b, b + (column * k + at), Is::tile, Is::step, k);
    wait_for_tiles();
    for (int depth = 0; depth < Is::step; depth += 32) {
      const Fragment<std::uint32_t, 4> left =
          ldmatrix<4>(tile_a + ((warp_row + lane % 16) * Is::row + depth + lane / 16 * 16));
      for (int j = 0; j < 8; j += 2) {
        // Columns 8 j to 8 j + 7 and the next eight, the two halves of the depth of each.
        const Fragment<std::uint32_t, 4> right =
            ldmatrix<4>(tile_b + ((8 * j + lane / 16 * 8 + lane % 8) * Is::row + depth + lane / 8 % 2 * 16));
        sums[j] = mma<m16n8k32, f32, e4m3>(left, {right[0], right[1]}, sums[j]);
        sums[j + 1] = mma<m16n8k32, f32, e4m3>(left, {right[2], right[3]}, sums[j + 1]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j) {
    for (int i = 0; i < 4; ++i) sums[j][i] = __fmul_rn(scale, sums[j][i]);
    store_sums(d + ((row + warp_row) * n + column + 8 * j), n, sums[j]);
  }
}

}  // namespace kernels
