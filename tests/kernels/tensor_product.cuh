// SPDX-License-Identifier: Apache-2.0
// A product by tcgen05: 128 x 16 by 16 x 16, f16. It runs without a GPU, and compiles for one.
#pragma once

#include "warpbit/device.hpp"

namespace kernels::tensor_product {

using namespace warpbit::device;

enum class Mistake { none, no_wait, no_deallocation, no_columns, other_address };

constexpr int kThreads = 128, kShared = 8448, kInstruction = 0x8040010;  // M 128, N 16, f32 = f16 x f16

/// a and b: a row, or a column, of 16 f16 for each thread; d: 16 f32 for each thread, in words.
template <Mistake mistake>
WARPBIT_KERNEL void product(GlobalArray<const std::uint32_t> a, GlobalArray<const std::uint32_t> b,
                            GlobalArray<std::uint32_t> d) {
  const SharedArray<std::uint32_t> tiles = shared_array<std::uint32_t>(0, 2048);
  const SharedArray<Mbarrier> done = shared_array<Mbarrier>(8192, 1);
  const SharedArray<std::uint32_t> where = shared_array<std::uint32_t>(8200, 1);
  const unsigned thread = threadIdx.x, warp = thread / 32, lane_of_warp = warp << 21;
  constexpr unsigned kColumns = mistake == Mistake::no_columns ? 48 : 32;
  if (warp == 0) {
    tcgen05_alloc(where, kColumns);
    tcgen05_relinquish_alloc_permit();
  }
  if (thread == 0) mbarrier_init(done, 1);
  const unsigned row = thread % 8 * 4 + thread / 8 * 64;  // 8 rows of 16 bytes, and the same for the next bytes
  for (unsigned i = 0; i < 8; ++i) {
    tiles[row + i / 4 * 32 + i % 4] = a[8 * thread + i];
    if (thread < 16) tiles[1024 + row + i / 4 * 32 + i % 4] = b[8 * thread + i];
  }
  fence_proxy_async();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const std::uint32_t columns = where[0];
  if (thread == 0) {
    tcgen05_mma<MmaKind::f16>(columns, tensor_descriptor(tiles, 128, 256, warpbit::Swizzle::none),
                              tensor_descriptor(tiles + 1024, 128, 256, warpbit::Swizzle::none), kInstruction,
                              false);
    tcgen05_commit(done);
  }
  if (mistake == Mistake::no_wait)
    __syncthreads();
  else
    mbarrier_wait_parity(done, 0);
  tcgen05_fence_after_thread_sync();
  const auto r =
      tcgen05_ld<shape32x32b, 16>(columns + (mistake == Mistake::other_address ? thread : lane_of_warp));
  tcgen05_wait_ld();
  for (int i = 0; i < 16; ++i) d[static_cast<int>(16 * thread) + i] = r[i];
  // There and back.
  const auto half = tcgen05_ld<shape16x256b, 2>(columns + lane_of_warp);
  tcgen05_wait_ld();
  tcgen05_st<shape16x256b, 2>(columns + lane_of_warp, half);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  if (warp == 0 && mistake != Mistake::no_deallocation) tcgen05_dealloc(columns, kColumns);
}

/// The same of 32 e4m3, in as many bytes, all scale factors 2^-1: those of a row or a column lie in 16 bytes, of which one
/// counts.
template <int kScale>
WARPBIT_KERNEL void scaled(GlobalArray<const std::uint32_t> a, GlobalArray<const std::uint32_t> b,
                           GlobalArray<std::uint32_t> d) {
  constexpr std::uint32_t kScaled = 0x8840000;  // M 128, N 16, e4m3, ue8m0
  const SharedArray<std::uint32_t> tiles = shared_array<std::uint32_t>(0, 2048);
  const SharedArray<Mbarrier> done = shared_array<Mbarrier>(8192, 1);
  const SharedArray<std::uint32_t> where = shared_array<std::uint32_t>(8200, 1);
  const unsigned thread = threadIdx.x, warp = thread / 32;
  if (warp == 0) tcgen05_alloc(where, 32);
  if (thread == 0) mbarrier_init(done, 1);
  const unsigned row = thread % 8 * 4 + thread / 8 * 64;
  for (unsigned i = 0; i < 8; ++i) {
    tiles[row + i / 4 * 32 + i % 4] = a[8 * thread + i];
    if (thread < 16) tiles[1024 + row + i / 4 * 32 + i % 4] = b[8 * thread + i];
  }
  tiles[1536 + thread] = 0x01010101u * kScale;
  fence_proxy_async();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const std::uint32_t columns = where[0], scale_a = columns + 16, scale_b = columns + 20;
  if (thread == 0) {
    const std::uint64_t scales = tensor_descriptor(tiles + 1536, 128, 128, warpbit::Swizzle::none);
    tcgen05_cp<CopyShape::s32x128b>(scale_a, scales);
    tcgen05_cp<CopyShape::s32x128b>(scale_b, scales);
    tcgen05_mma_block_scale<ScaledMmaKind::mxf8f6f4_1X>(
        columns, tensor_descriptor(tiles, 128, 256, warpbit::Swizzle::none),
        tensor_descriptor(tiles + 1024, 128, 256, warpbit::Swizzle::none), kScaled, scale_a, scale_b, false);
    tcgen05_commit(done);
  }
  mbarrier_wait_parity(done, 0);
  tcgen05_fence_after_thread_sync();
  const auto r = tcgen05_ld<shape32x32b, 16>(columns + (warp << 21));
  tcgen05_wait_ld();
  for (int i = 0; i < 16; ++i) d[static_cast<int>(16 * thread) + i] = r[i];
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  if (warp == 0) tcgen05_dealloc(columns, 32);
}

}  // namespace kernels::tensor_product
