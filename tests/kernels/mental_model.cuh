// SPDX-License-Identifier: Apache-2.0
// One tile, D = A B of f16 with f16 sums, as a tutorial on PTX has it: cp.async, ldmatrix, mma, scatter. A is
// 16 x 16, B and D are 16 x 8, all row-major.
#pragma once

#include <cstdint>

#include "warpbit/device.hpp"

namespace kernels {

using namespace warpbit::device;

/// How the tutorial differs from a kernel that computes D = A B.
enum class Tutorial {
  fixed,
  stride_of_b,   ///< rows of B are taken to be 16 elements apart in global memory
  transposed_a,  ///< the four matrices of A come transposed, and the middle two in each other's place
};

template <Tutorial tutorial = Tutorial::fixed>
WARPBIT_KERNEL void mental_model(GlobalArray<const std::uint16_t> a, GlobalArray<const std::uint16_t> b,
                                 GlobalArray<std::uint16_t> d) {
  const int lane = static_cast<int>(threadIdx.x);
  const SharedArray<std::uint16_t> tile_a = shared_array<std::uint16_t>(0, 16 * 16);
  const SharedArray<std::uint16_t> tile_b = shared_array<std::uint16_t>(512, 16 * 8);

  // Global memory to shared memory
  for (int chunk = lane; chunk < 32; chunk += static_cast<int>(blockDim.x))
    cp_async_cg(tile_a + chunk * 8, a + chunk * 8);
  const int stride = tutorial == Tutorial::stride_of_b ? 16 : 8;
  for (int row = lane; row < 16; row += static_cast<int>(blockDim.x))
    cp_async_cg(tile_b + row * 8, b + row * stride);
  cp_async_commit_group();
  cp_async_wait_group<0>();
  __syncthreads();

  // Shared memory to registers
  const int quad = lane / 8, row = lane % 8;
  Fragment<std::uint32_t, 4> left;
  if constexpr (tutorial == Tutorial::transposed_a)
    left = ldmatrix_trans<4>(tile_a + ((quad / 2 * 8 + row) * 16 + quad % 2 * 8));
  else
    left = ldmatrix<4>(tile_a + ((quad % 2 * 8 + row) * 16 + quad / 2 * 8));
  const Fragment<std::uint32_t, 2> right = ldmatrix_trans<2>(tile_b + lane % 16 * 8);

  const Fragment<std::uint32_t, 2> sums = mma<m16n8k16, f16, f16>(left, right, {});

  // Registers to global memory: row lane / 4 and the row 8 further, two columns of each
  for (int half = 0; half < 2; ++half) {
    const auto at = d + ((lane / 4 + 8 * half) * 8 + lane % 4 * 2);
    at[0] = static_cast<std::uint16_t>(sums[half]);
    at[1] = static_cast<std::uint16_t>(sums[half] >> 16);
  }
}

}  // namespace kernels
