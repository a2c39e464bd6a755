// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16, rounded to bf16, by blocks that take tile after tile of 64 x 64. Two warpgroups multiply
// in turn, each a whole tile; while one multiplies the other stores: by stmatrix into shared memory, from
// there by a tensor map.
#include "hopper.cuh"

namespace kernel {

constexpr int kTile = 64, kStep = 64, kStages = 4, kThreads = 384;
constexpr unsigned kTileBytes = kTile * kStep * 2;

struct Work {
  int block, blocks, tiles, columns, steps;  // columns: tiles of D in a row
  unsigned at_a, at_b, at_d, full, empty;

  __device__ int mine() const { return (tiles - block + blocks - 1) / blocks; }
  __device__ int row(int i) const { return (block + i * blocks) / columns * kTile; }
  __device__ int column(int i) const { return (block + i * blocks) % columns * kTile; }
};

__device__ void produce(const TensorMap& map_a, const TensorMap& map_b, const Work& work) {
  int filled = 0;
  for (int i = 0; i < work.mine(); ++i)
    for (int step = 0; step < work.steps; ++step, ++filled) {
      const int stage = filled % kStages;
      wait(work.empty + 8 * stage, filled / kStages % 2 ^ 1);
      arrive_expecting(work.full + 8 * stage, 2 * kTileBytes);
      load(work.at_a + stage * kTileBytes, map_a, step * kStep, work.row(i), work.full + 8 * stage);
      load(work.at_b + stage * kTileBytes, map_b, step * kStep, work.column(i), work.full + 8 * stage);
    }
}

__device__ void multiply(float (&sums)[32], const Work& work, int i) {
  for (int step = 0; step < work.steps; ++step) {
    const int number = i * work.steps + step, stage = number % kStages;
    wait(work.full + 8 * stage, number / kStages % 2);
    fence_products();
    products_of_step(sums, work.at_a + stage * kTileBytes, work.at_b + stage * kTileBytes, step == 0);
    commit_products();
    wait_products<0>();
    if (threadIdx.x % 32 == 0) arrive(work.empty + 8 * stage);
  }
}

// Four 8 x 8 matrices: lane l gives the address of row l % 8 of matrix l / 8.
__device__ void stmatrix(unsigned to, unsigned a, unsigned b, unsigned c, unsigned d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(a), "r"(b),
               "r"(c), "r"(d)
               : "memory");
}

// The upper and the lower eight rows of the warp's 16, of columns 16 j to 16 j + 7, then of the next eight.
__device__ void write(const float (&sums)[32], unsigned at) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
  for (int j = 0; j < 4; ++j) {
    const int chunk = 2 * j + lane / 16;
    const float* const s = sums + 8 * j;
    stmatrix(at + row * 128 + (chunk ^ row % 8) * 16, pack_bf16(s[0], s[1]), pack_bf16(s[2], s[3]),
             pack_bf16(s[4], s[5]), pack_bf16(s[6], s[7]));
  }
}

__device__ void consume(const TensorMap& map_d, const Work& work, int which) {
  const bool first = threadIdx.x % 128 == 0;
  for (int i = which; i < work.mine(); i += 2) {
    float sums[32] = {};
    if (i > 0) barrier_sync(1 + which, 256);  // the products of the tile before are complete
    multiply(sums, work, i);
    if (i + 1 < work.mine()) barrier_arrive(2 - which, 256);
    if (first) wait_bulk_read();  // the tile that was there is read
    barrier_sync(3 + which, 128);
    write(sums, work.at_d);
    fence_async_shared();
    barrier_sync(3 + which, 128);
    if (first) {
      store(map_d, work.column(i), work.row(i), work.at_d);
      commit_bulk();
    }
  }
  if (first) wait_bulk();
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    hopper_persistent(const __grid_constant__ TensorMap map_a, const __grid_constant__ TensorMap map_b,
                      const __grid_constant__ TensorMap map_d, int m, int n, int k) {
  extern __shared__ uint8_t dynamic[];
  const int columns = (n + kTile - 1) / kTile, which = threadIdx.x / 128;
  const unsigned at_a = (shared_address(dynamic) + 1023) / 1024 * 1024, at_b = at_a + kStages * kTileBytes,
                 at_d = at_b + kStages * kTileBytes, full = at_d + 2 * kTileBytes;
  Work work{static_cast<int>(blockIdx.x),
            static_cast<int>(gridDim.x),
            (m + kTile - 1) / kTile * columns,
            columns,
            (k + kStep - 1) / kStep,
            at_a,
            at_b,
            at_d,
            full,
            full + 8 * kStages};
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) {
      init(work.full + 8 * stage, 1);
      init(work.empty + 8 * stage, 4);
    }
    fence_barriers();
  }
  __syncthreads();
  if (which == 2) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x / 32 == 8 && elect()) produce(map_a, map_b, work);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    work.at_d += which * kTileBytes;
    consume(map_d, work, which);
  }
}

}  // namespace kernel
