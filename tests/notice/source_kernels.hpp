// SPDX-License-Identifier: Apache-2.0
// Kernels in source, in which notice_source_test.cpp plants mistakes: one for each line that has a comment.
#pragma once

#include <cstdint>

#include "warpbit/device.hpp"

namespace notice_source {

using namespace warpbit::device;

// D (16 x 8) = A B of f16 with f32 sums by one warp: A is row-major, B column-major. Two stages, filled by cp.async while the other
// one is read.
WARPBIT_KERNEL void gemm(GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> b,
                         GlobalArray<float> d, int depth) {
  const int lane = static_cast<int>(threadIdx.x), steps = depth / 16;
  const SharedArray<std::uint16_t> tiles_a = shared_array<std::uint16_t>(0, 2 * 256);
  const SharedArray<std::uint16_t> tiles_b = shared_array<std::uint16_t>(1024, 2 * 128);
  const auto copy = [&](int step) {
    const int chunk = lane / 2 * depth + step * 16 + lane % 2 * 8;
    cp_async_cg(tiles_a + (step % 2 * 256 + lane * 8), a + chunk);                 // copy of A
    if (lane < 16) cp_async_cg(tiles_b + (step % 2 * 128 + lane * 8), b + chunk);  // copy of B
  };
  copy(0);
  cp_async_commit_group();  // first commit
  Fragment<float, 4> sums = {};
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) copy(step + 1);
    cp_async_commit_group();   // commit
    cp_async_wait_group<1>();  // wait for a stage
    __syncwarp();              // stage is full
    const auto left = ldmatrix<4>(tiles_a + (step % 2 * 256 + lane % 16 * 16 + lane / 16 * 8));     // load of A
    const auto right = ldmatrix<2>(tiles_b + (step % 2 * 128 + lane % 8 * 16 + lane / 8 % 2 * 8));  // load of B
    sums = mma<m16n8k16, f32, f16>(left, right, sums);                                              // product
    __syncwarp();  // stage is empty
  }
  for (int i = 0; i < 4; ++i) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sums[i];  // store
}

// Pairs of f16: the sum of each of the columns of a matrix of 32 columns of f32, row by row into one of two stages by a bulk
// copy, beside that of its neighbour.
WARPBIT_KERNEL void column_sums(GlobalArray<const float> in, GlobalArray<std::uint32_t> out, int rows) {
  const int lane = static_cast<int>(threadIdx.x);
  const SharedArray<float> stages = shared_array<float>(0, 64);
  const SharedArray<Mbarrier> full = shared_array<Mbarrier>(256, 2);
  const auto copy = [&](int row) {
    mbarrier_arrive_expect_tx(full + row % 2, 128);                                             // arrival
    cp_async_bulk_global_to_shared(stages + row % 2 * 32, in + row * 32, 128, full + row % 2);  // bulk copy
  };
  if (lane == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(full + 1, 1);
    fence_mbarrier_init();  // fence of the objects
    copy(0);
  }
  __syncwarp();  // objects are there
  float sum = 0;
  for (int row = 0; row < rows; ++row) {
    if (lane == 0 && row + 1 < rows) copy(row + 1);
    mbarrier_wait_parity(full + row % 2, row / 2 % 2);  // wait for a row
    sum += stages[row % 2 * 32 + lane];                 // load of a row
    __syncwarp();                                       // row is read
  }
  const float other = __shfl_xor_sync(kWholeWarp, sum, 1);  // exchange
  out[lane] = cvt_rn<f16x2>(sum, other);                    // conversion
}

// Words that are other ones with each mistake. Two blocks of a cluster exchange theirs.
WARPBIT_KERNEL void moves(GlobalArray<std::uint32_t> out) {
  const int lane = static_cast<int>(threadIdx.x), rank = static_cast<int>(cluster_ctarank());
  const std::uint32_t word = static_cast<std::uint32_t>(lane + 32 * rank) * 0x10001 + 0x3c003c00;
  const SharedArray<std::uint32_t> tile = shared_array<std::uint32_t>(0, 64);
  stmatrix<2>(as<std::uint16_t>(tile) + lane % 16 * 8, {word, word + 1});  // store of a matrix
  cluster_sync();                                                          // all have stored
  const std::uint32_t other = mapa(tile, static_cast<unsigned>(1 - rank))[lane];
  cluster_sync();  // all have read
  const Fragment<std::uint32_t, 4> a = {word, word + 1, other, other + 1}, b = {word, other, word, other};
  const std::uint32_t metadata = lane % 4 < 2 ? 0x4444'4444 : 0xEEEE'EEEE;
  const auto sums = mma_sp<m16n8k32, f32, f16>(a, b, {}, metadata);  // sparse product
  out[64 * rank + lane] = other;
  out[64 * rank + 32 + lane] = __float_as_uint(sums[0]);
}

// A product of e4m3 whose scale factors are other ones in each byte.
using Scaled = MmaBlockScale<m16n8k32, mxf8f6f4, e4m3, e4m3, ue8m0>;
WARPBIT_DEVICE Scaled::Sum scaled_product(Scaled::A a, Scaled::B b, Place at = Place::here()) {
  return mma_block_scale<m16n8k32, mxf8f6f4, e4m3, e4m3, ue8m0>(a, b, {}, 0x82817f7e, {}, 0x7e7f8182, {}, at);
}
WARPBIT_KERNEL void scaled(GlobalArray<float> out) {
  constexpr std::uint32_t kWord = 0x38393a3b;
  const auto sums = scaled_product({kWord, kWord, kWord, kWord}, {kWord, kWord});  // scaled product
  out[threadIdx.x] = sums[0];
}

// Two words of each lane to tensor memory and back.
WARPBIT_KERNEL void tensor_words(GlobalArray<std::uint32_t> out) {
  const std::uint32_t lane = threadIdx.x;
  const SharedArray<std::uint32_t> address = shared_array<std::uint32_t>(0, 1);
  tcgen05_alloc(address, 32);
  const std::uint32_t at = address[0];
  tcgen05_st<shape32x32b, 2>(at, {lane, 2 * lane + 100});                   // store of words
  tcgen05_wait_st();                                                        // wait for the store
  const Fragment<std::uint32_t, 2> words = tcgen05_ld<shape32x32b, 2>(at);  // load of words
  tcgen05_wait_ld();                                                        // wait for the load
  out[lane] = words[0];
  tcgen05_dealloc(at, 32);
}

}  // namespace notice_source
