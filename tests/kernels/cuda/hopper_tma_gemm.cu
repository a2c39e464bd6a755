// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16 with f32 sums by wgmma m64n64k16; A and B with K in a row. One warpgroup for each 64 x 64
// fills a ring of three stages by tensor maps, which put zeros where a tile is not in the matrix, and
// multiplies.
#include "hopper.cuh"

namespace kernel {

constexpr int kTile = 64, kStep = 64, kStages = 3, kThreads = 128;
constexpr unsigned kTileBytes = kTile * kStep * 2;

extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_tma_gemm(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b, float* d,
                    int m, int n, int k) {
  extern __shared__ uint8_t dynamic[];
  // The driver aligns dynamic memory to 16 bytes only.
  const unsigned at = (shared_address(dynamic) + 1023) / 1024 * 1024;
  const unsigned at_a = at, at_b = at_a + kStages * kTileBytes, full = at_b + kStages * kTileBytes,
                 empty = full + 8 * kStages;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, steps = (k + kStep - 1) / kStep;

  const auto fill = [&](int step) {
    const int stage = step % kStages;
    arrive_expecting(full + 8 * stage, 2 * kTileBytes);
    load(at_a + stage * kTileBytes, map_a, step * kStep, row, full + 8 * stage);
    load(at_b + stage * kTileBytes, map_b, step * kStep, column, full + 8 * stage);
  };
  if (threadIdx.x == 0) {
    prefetch(map_a);
    prefetch(map_b);
    for (int stage = 0; stage < kStages; ++stage) {
      init(full + 8 * stage, 1);
      init(empty + 8 * stage, kThreads);
    }
    fence_barriers();
    for (int step = 0; step < kStages && step < steps; ++step) fill(step);
  }
  __syncthreads();

  float sums[32] = {};
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages, parity = step / kStages % 2;
    wait(full + 8 * stage, parity);
    fence_products();
    products_of_step(sums, at_a + stage * kTileBytes, at_b + stage * kTileBytes, step == 0);
    commit_products();
    wait_products<0>();
    arrive(empty + 8 * stage);
    if (threadIdx.x == 0 && step + kStages < steps) {
      wait(empty + 8 * stage, parity);
      fill(step + kStages);
    }
    __syncwarp();
  }
  for (int i = 0; i < 32; ++i)
    if (row + row_of(i) < m && column + column_of(i) < n)
      d[(row + row_of(i)) * n + column + column_of(i)] = sums[i];
}

}  // namespace kernel
