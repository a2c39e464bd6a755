// SPDX-License-Identifier: Apache-2.0
// O = softmax(Q K^T / 8) V of bf16, rows of 64: 64 queries for each block of four warps, keys by 64, with the
// largest score and the sum so far of each query (Dao, Fu, Ermon, Rudra, Re: FlashAttention, 2022). All
// matrices are row-major, O is f32.
#pragma once

#include "tile.cuh"

namespace kernels {

struct Attention {
  static constexpr int depth = 64, tile = 64, threads = 128;
  static constexpr int row = depth + kPadding / 2;  // elements
  static constexpr int shared_bytes = 3 * 2 * tile * row;
};

/// 2^x, for x <= 0; below 2^-126 that. A polynomial of 2^f - 1 on [-1/2, 1/2], in sums and products that round
/// alike everywhere: the GPU's own instruction approximates.
WARPBIT_DEVICE float exp2_of(float x) {
  const float bounded = x > -126.0F ? x : -126.0F;
  const float shifted = __fadd_rn(bounded, 12582912.0F);  // 3 * 2^22: the integer is in the low bits
  const float f = __fadd_rn(bounded, -__fadd_rn(shifted, -12582912.0F));
  float p = 1.3390923e-3F;  // Taylor: ln(2)^n / n!
  p = __fmaf_rn(p, f, 9.6181291e-3F);
  p = __fmaf_rn(p, f, 5.5504109e-2F);
  p = __fmaf_rn(p, f, 2.4022651e-1F);
  p = __fmaf_rn(p, f, 6.9314718e-1F);
  p = __fmaf_rn(p, f, 1.0F);
  return __uint_as_float(__float_as_uint(p) + (__float_as_uint(shifted) << 23));
}

/// What f leaves of two values, among the four lanes that share a row.
template <class F>
WARPBIT_DEVICE float reduce_row(float x, F f) {
  x = f(x, __shfl_xor_sync(0xFFFFFFFF, x, 1));
  return f(x, __shfl_xor_sync(0xFFFFFFFF, x, 2));
}

/// Of the two rows of a lane.
struct Softmax {
  float largest[2], sum[2];
};

/// Scores become 2^(score - largest score), sums so far are scaled to the new largest score.
WARPBIT_DEVICE void soften(Fragment<float, 4> (&scores)[8], Fragment<float, 4> (&out)[8], Softmax& state) {
  const auto larger = [](float x, float y) { return x > y ? x : y; };
  const auto plus = [](float x, float y) { return __fadd_rn(x, y); };
  for (int half = 0; half < 2; ++half) {
    float largest = state.largest[half];
    for (int j = 0; j < 8; ++j)
      for (int i = 0; i < 2; ++i) largest = larger(largest, scores[j][2 * half + i]);
    largest = reduce_row(largest, larger);
    float sum = 0;
    for (int j = 0; j < 8; ++j)
      for (int i = 0; i < 2; ++i) {
        float& score = scores[j][2 * half + i];
        score = exp2_of(__fadd_rn(score, -largest));
        sum = __fadd_rn(sum, score);
      }
    const float scale = exp2_of(__fadd_rn(state.largest[half], -largest));
    state.sum[half] = __fmaf_rn(state.sum[half], scale, reduce_row(sum, plus));
    state.largest[half] = largest;
    for (int j = 0; j < 8; ++j)
      for (int i = 0; i < 2; ++i) out[j][2 * half + i] = __fmul_rn(out[j][2 * half + i], scale);
  }
}

/// 64 queries for each block of the grid; `keys` is a multiple of 64.
WARPBIT_KERNEL void attention(GlobalArray<const std::uint16_t> q, GlobalArray<const std::uint16_t> k,
                              GlobalArray<const std::uint16_t> v, GlobalArray<float> o, int keys) {
  using Is = Attention;
  const int row = static_cast<int>(blockIdx.x) * Is::tile;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp_row = static_cast<int>(threadIdx.x) / 32 * 16;
  const SharedArray<std::uint16_t> tile_q = shared_array<std::uint16_t>(0, Is::tile * Is::row);
  const SharedArray<std::uint16_t> tile_k =
      shared_array<std::uint16_t>(2 * Is::tile * Is::row, Is::tile * Is::row);
  const SharedArray<std::uint16_t> tile_v =
      shared_array<std::uint16_t>(4 * Is::tile * Is::row, Is::tile * Is::row);

  copy_tile(tile_q, q + row * Is::depth, Is::tile, 2 * Is::depth, 2 * Is::depth);
  Fragment<float, 4> out[8] = {};
  Softmax state = {{-3.0e38F, -3.0e38F}, {0, 0}};
  for (int at = 0; at < keys; at += Is::tile) {
    copy_tile(tile_k, k + at * Is::depth, Is::tile, 2 * Is::depth, 2 * Is::depth);
    copy_tile(tile_v, v + at * Is::depth, Is::tile, 2 * Is::depth, 2 * Is::depth);
    wait_for_tiles();

    // Scores: rows of K are columns of K^T.
    Fragment<float, 4> scores[8] = {};
    for (int depth = 0; depth < Is::depth; depth += 16) {
      const Fragment<std::uint32_t, 4> queries =
          ldmatrix<4>(tile_q + ((warp_row + lane % 16) * Is::row + depth + lane / 16 * 8));
      for (int j = 0; j < 8; j += 2) {
        const Fragment<std::uint32_t, 4> columns =
            ldmatrix<4>(tile_k + ((8 * j + lane / 16 * 8 + lane % 8) * Is::row + depth + lane / 8 % 2 * 8));
        scores[j] = mma<m16n8k16, f32, bf16>(queries, {columns[0], columns[1]}, scores[j]);
        scores[j + 1] = mma<m16n8k16, f32, bf16>(queries, {columns[2], columns[3]}, scores[j + 1]);
      }
    }
    for (int j = 0; j < 8; ++j)
      for (int i = 0; i < 4; ++i) scores[j][i] = __fmul_rn(scores[j][i], 0.18033688F);  // log2(e) / 8
    soften(scores, out, state);

    // Sums: two tiles of scores side by side are one of A.
    for (int j = 0; j < 8; j += 2) {
      Fragment<std::uint32_t, 4> weights;
      for (int i = 0; i < 4; ++i)
        weights[i] = cvt_rn<bf16x2>(scores[j + i / 2][i % 2 * 2 + 1], scores[j + i / 2][i % 2 * 2]);
      for (int column = 0; column < 8; column += 2) {
        const Fragment<std::uint32_t, 4> values =
            ldmatrix_trans<4>(tile_v + ((8 * j + lane % 16) * Is::row + 8 * column + lane / 16 * 8));
        out[column] = mma<m16n8k16, f32, bf16>(weights, {values[0], values[1]}, out[column]);
        out[column + 1] = mma<m16n8k16, f32, bf16>(weights, {values[2], values[3]}, out[column + 1]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 8; ++j) {
    for (int i = 0; i < 4; ++i) out[j][i] = __fdiv_rn(out[j][i], state.sum[i / 2]);
    store_sums(o + ((row + warp_row) * Is::depth + 8 * j), Is::depth, out[j]);
  }
}

}  // namespace kernels
