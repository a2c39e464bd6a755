// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16, rounded to bf16, 128 x 64 for each block: a warpgroup that only copies and gives its
// registers away, and two that take them and multiply 64 rows each. A warp of those arrives once at a stage's
// empty barrier.
#include "hopper.cuh"

namespace kernel {

constexpr int kRows = 128, kColumns = 64, kStep = 64, kStages = 3, kThreads = 384;
constexpr unsigned kBytesOfA = kRows * kStep * 2, kBytesOfB = kColumns * kStep * 2;

__device__ void produce(const TensorMap& map_a, const TensorMap& map_b, unsigned at_a, unsigned at_b,
                        unsigned full, unsigned empty, int steps) {
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    wait(empty + 8 * stage, step / kStages % 2 ^ 1);  // the phase before the first is complete
    arrive_expecting(full + 8 * stage, kBytesOfA + kBytesOfB);
    load(at_a + stage * kBytesOfA, map_a, step * kStep, blockIdx.y * kRows, full + 8 * stage);
    load(at_b + stage * kBytesOfB, map_b, step * kStep, blockIdx.x * kColumns, full + 8 * stage);
  }
}

__device__ void consume(uint16_t* d, int m, int n, unsigned at_a, unsigned at_b, unsigned full, unsigned empty,
                        int steps) {
  float sums[32] = {};
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages, before = (step + kStages - 1) % kStages;
    wait(full + 8 * stage, step / kStages % 2);
    fence_products();
    products_of_step(sums, at_a + stage * kBytesOfA, at_b + stage * kBytesOfB, step == 0);
    commit_products();
    // The products of the step before are complete: its stage is free.
    wait_products<1>();
    if (step > 0 && threadIdx.x % 32 == 0) arrive(empty + 8 * before);
  }
  wait_products<0>();
  const int row = blockIdx.y * kRows + (threadIdx.x / 128 - 1) * 64, column = blockIdx.x * kColumns;
  for (int i = 0; i < 32; i += 2)
    if (row + row_of(i) < m && column + column_of(i) < n)
      *reinterpret_cast<unsigned*>(d + (row + row_of(i)) * n + column + column_of(i)) =
          pack_bf16(sums[i], sums[i + 1]);
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    hopper_warp_specialised(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                            uint16_t* d, int m, int n, int k) {
  extern __shared__ uint8_t dynamic[];
  const unsigned at_a = (shared_address(dynamic) + 1023) / 1024 * 1024, at_b = at_a + kStages * kBytesOfA,
                 full = at_b + kStages * kBytesOfB, empty = full + 8 * kStages;
  const int steps = (k + kStep - 1) / kStep;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      init(full + 8 * stage, 1);
      init(empty + 8 * stage, 8);
    }
    fence_barriers();
  }
  __syncthreads();
  const int warpgroup = __shfl_sync(~0u, threadIdx.x / 128, 0);  // the same in all lanes
  if (warpgroup == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x / 32 == 0 && elect()) produce(map_a, map_b, at_a, at_b, full, empty, steps);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    consume(d, m, n, at_a + (warpgroup - 1) * (kBytesOfA / 2), at_b, full, empty, steps);
  }
}

}  // namespace kernel
