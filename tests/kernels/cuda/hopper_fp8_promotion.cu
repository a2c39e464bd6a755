// SPDX-License-Identifier: Apache-2.0
// D = A B of e4m3, scaled: a factor for each row of A and 128 of K, one for each 64 columns of B and 128 of
// K. The sums of wgmma, which keep few bits, are added to f32 registers after each 128 of K. D is rounded to
// bf16.
#include "hopper.cuh"

namespace kernel {

constexpr int kTile = 64, kStep = 128, kStages = 2, kThreads = 128;
constexpr unsigned kTileBytes = kTile * kStep;

extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_fp8_promotion(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                         const float* scales_a, const float* scales_b, uint16_t* d, int n, int k) {
  extern __shared__ __align__(1024) uint8_t dynamic[];
  const unsigned at_a = shared_address(dynamic), at_b = at_a + kStages * kTileBytes,
                 full = at_b + kStages * kTileBytes, empty = full + 8 * kStages;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile, steps = k / kStep;
  const auto fill = [&](int step) {
    const int stage = step % kStages;
    arrive_expecting(full + 8 * stage, 2 * kTileBytes);
    load(at_a + stage * kTileBytes, map_a, step * kStep, row, full + 8 * stage);
    load(at_b + stage * kTileBytes, map_b, step * kStep, column, full + 8 * stage);
  };
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      init(full + 8 * stage, 1);
      init(empty + 8 * stage, 4);
    }
    fence_barriers();
    for (int step = 0; step < kStages && step < steps; ++step) fill(step);
  }
  __syncthreads();

  float sums[32] = {}, part[32] = {};
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages, parity = step / kStages % 2;
    const float* const of_rows = scales_a + (row + row_of(0)) * steps + step;
    const float factor = scales_b[blockIdx.x * steps + step];
    const float factors[2] = {of_rows[0] * factor, of_rows[8 * steps] * factor};
    wait(full + 8 * stage, parity);
    fence_products();
#pragma unroll
    for (int k = 0; k < 4; ++k)
      product_e4m3(part, descriptor(at_a + stage * kTileBytes + 32 * k),
                   descriptor(at_b + stage * kTileBytes + 32 * k), k > 0);
    commit_products();
    wait_products<0>();
    if (threadIdx.x % 32 == 0) arrive(empty + 8 * stage);
    if (threadIdx.x == 0 && step + kStages < steps) {
      wait(empty + 8 * stage, parity);
      fill(step + kStages);
    }
    __syncwarp();
    for (int i = 0; i < 32; ++i) sums[i] = fmaf(part[i], factors[i / 2 % 2], sums[i]);
  }
  for (int i = 0; i < 32; i += 2)
    *reinterpret_cast<unsigned*>(d + (row + row_of(i)) * n + column + column_of(i)) =
        pack_bf16(sums[i], sums[i + 1]);
}

}  // namespace kernel
