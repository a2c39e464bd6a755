// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16 by clusters of two blocks that need the same rows of A: each loads half of them into both
// blocks. A stage is filled again when the warps of both blocks have read it, so they arrive at both empty
// barriers. The size of the cluster is an argument of the launch. Warp 4 copies, warps 0 to 3 multiply.
#include "hopper.cuh"

namespace kernel {

constexpr int kTile = 64, kStep = 64, kStages = 2, kThreads = 160, kBlocks = 2;
constexpr unsigned kTileBytes = kTile * kStep * 2, kPart = kTileBytes / kBlocks;

extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_cluster_multicast(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                             float* d, int n, int k) {
  extern __shared__ uint8_t dynamic[];
  const unsigned at_a = (shared_address(dynamic) + 1023) / 1024 * 1024, at_b = at_a + kStages * kTileBytes,
                 full = at_b + kStages * kTileBytes, empty = full + 8 * kStages;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, steps = k / kStep;
  const unsigned rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      init(full + 8 * stage, 1);
      init(empty + 8 * stage, 4 * kBlocks);
    }
    fence_barriers();
  }
  cluster_sync();  // no bytes arrive before the barriers are there

  if (threadIdx.x / 32 == 4) {
    if (elect())
      for (int step = 0; step < steps; ++step) {
        const int stage = step % kStages;
        wait_cluster(empty + 8 * stage, step / kStages % 2 ^ 1);
        arrive_expecting(full + 8 * stage, 2 * kTileBytes);
        load_multicast(at_a + stage * kTileBytes + rank * kPart, map_a, step * kStep,
                       row + rank * (kTile / kBlocks), full + 8 * stage, (1 << kBlocks) - 1);
        load(at_b + stage * kTileBytes, map_b, step * kStep, column, full + 8 * stage);
      }
  } else {
    float sums[32] = {};
    for (int step = 0; step < steps; ++step) {
      const int stage = step % kStages;
      wait(full + 8 * stage, step / kStages % 2);
      fence_products();
      products_of_step(sums, at_a + stage * kTileBytes, at_b + stage * kTileBytes, step == 0);
      commit_products();
      wait_products<0>();
      if (threadIdx.x % 32 < kBlocks) arrive_at(empty + 8 * stage, threadIdx.x % 32);
      __syncwarp();
    }
    for (int i = 0; i < 32; ++i) d[(row + row_of(i)) * n + column + column_of(i)] = sums[i];
  }
  __syncwarp();
  cluster_sync();  // no block ends before the others have arrived at its barriers
}

}  // namespace kernel
