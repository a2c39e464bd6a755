// SPDX-License-Identifier: Apache-2.0
// D = A B of f16 with f32 sums, A sparse 2:4, by wgmma.mma_async.sp m64n64k32 with both selectors. A is
// stored row by row, two elements of four; `metadata` has 16 bits for each 16 columns of a row of A. A step
// of 128 of K: a tile of A, and two of B, which has K in a row.
#include "hopper.cuh"

namespace kernel {

constexpr int kTile = 64, kStep = 128, kStages = 2, kThreads = 128;
constexpr unsigned kTileBytes = kTile * 128;

// Of product `number` of a step. Lanes of the first pair of four give the metadata of selector 0, those of
// the second of selector 1: 16 columns each, of row lane / 4 in the lower half, of the row 8 further in the
// upper half. The others have what must not be used.
__device__ unsigned metadata_of(const uint16_t* codes, int row_size, int number) {
  const int lane = threadIdx.x % 32;
  const uint16_t* const upper = codes + 2 * number + lane % 2;
  const unsigned here = upper[8 * row_size] << 16 | upper[0];
  return lane % 4 / 2 == number % 2 ? here : ~here;
}

template <int number>
__device__ void product_of_32(float (&sums)[32], unsigned a, unsigned b, unsigned metadata, bool first) {
  product_sparse_f16<number % 2>(sums, descriptor(a + 32 * number),
                                 descriptor(b + number / 2 * kTileBytes + number % 2 * 64), metadata,
                                 !first || number > 0);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_sparse(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                  const uint16_t* metadata, float* d, int n, int k) {
  extern __shared__ __align__(1024) uint8_t dynamic[];
  const unsigned at_a = shared_address(dynamic), at_b = at_a + kStages * kTileBytes,
                 full = at_b + 2 * kStages * kTileBytes;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, steps = k / kStep;
  const auto fill = [&](int step) {
    const int stage = step % kStages;
    const unsigned b = at_b + 2 * stage * kTileBytes, barrier = full + 8 * stage;
    arrive_expecting(barrier, 3 * kTileBytes);
    load(at_a + stage * kTileBytes, map_a, step * kStep / 2, row, barrier);
    load(b, map_b, step * kStep, column, barrier);
    load(b + kTileBytes, map_b, step * kStep + kStep / 2, column, barrier);
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) init(full + 8 * stage, 1);
    fence_barriers();
    for (int step = 0; step < kStages && step < steps; ++step) fill(step);
  }
  __syncthreads();

  float sums[32] = {};
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    const uint16_t* const codes = metadata + (row + row_of(0)) * (k / 16) + step * (kStep / 16);
    const unsigned a = at_a + stage * kTileBytes, b = at_b + 2 * stage * kTileBytes;
    unsigned e[4];
    for (int i = 0; i < 4; ++i) e[i] = metadata_of(codes, k / 16, i);
    wait(full + 8 * stage, step / kStages % 2);
    fence_products();
    product_of_32<0>(sums, a, b, e[0], step == 0);
    product_of_32<1>(sums, a, b, e[1], step == 0);
    product_of_32<2>(sums, a, b, e[2], step == 0);
    product_of_32<3>(sums, a, b, e[3], step == 0);
    commit_products();
    wait_products<0>();
    __syncthreads();  // the stage is free
    if (threadIdx.x == 0 && step + kStages < steps) fill(step + kStages);
    __syncwarp();
  }
  for (int i = 0; i < 32; ++i) d[(row + row_of(i)) * n + column + column_of(i)] = sums[i];
}

}  // namespace kernel
