// SPDX-License-Identifier: Apache-2.0
// Reductions of a block, and of the grid by the block that comes last: shuffles, shared memory, barriers that
// count and vote (bar.red), named barriers of a part of the warps (bar.sync with a number and threads,
// bar.arrive), fences.

namespace kernel {

struct Result {
  float sum, most;
  int positive, any_nan, all_finite;
};

__device__ float sum_of_warp(float x) {
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}
__device__ float most_of_warp(float x) {
  for (int distance = 16; distance > 0; distance /= 2) x = fmaxf(x, __shfl_down_sync(~0u, x, distance));
  return __shfl_sync(~0u, x, 0);
}

// Warps 0 and 1 hand their sums to warps 2 and 3, which wait for them: barrier 1 has 128 threads.
__device__ void hand_over(float x, float* box, float* out) {
  const int t = threadIdx.x;
  if (t < 64) {
    box[t] = x;
    __threadfence_block();
    asm volatile("barrier.cta.arrive 1, 128;" ::: "memory");
  } else {
    asm volatile("barrier.cta.sync 1, 128;" ::: "memory");
    out[blockIdx.x * 64 + t - 64] = x - box[127 - t];
  }
}

// Four warps; `x` has an element for each thread, `results` one for each block and one for the grid.
extern "C" __global__ void reduction(const float* x, Result* results, float* differences, unsigned* tickets) {
  __shared__ float sums[4], mosts[4], box[64];
  __shared__ bool last;
  const int t = threadIdx.x, warp = t / 32;
  const float mine = x[blockIdx.x * blockDim.x + t];
  const bool is_nan = !(mine == mine), is_finite = fabsf(mine) < __int_as_float(0x7f800000);

  Result r = {};
  r.positive = __syncthreads_count(mine > 0);
  r.any_nan = __syncthreads_or(is_nan);
  r.all_finite = __syncthreads_and(is_finite);
  sums[warp] = sum_of_warp(mine);
  mosts[warp] = most_of_warp(mine);
  __syncthreads();
  r.sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  r.most = fmaxf(fmaxf(mosts[0], mosts[1]), fmaxf(mosts[2], mosts[3]));
  hand_over(mine, box, differences);

  if (t == 0) {
    results[blockIdx.x] = r;
    __threadfence();
    last = atomicAdd(tickets, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || t != 0) return;
  __threadfence();
  Result all = {0, -__int_as_float(0x7f800000), 0, 0, 1};
  for (unsigned i = 0; i < gridDim.x; ++i) {
    const volatile Result& one = results[i];
    all.sum += one.sum;
    all.most = fmaxf(all.most, one.most);
    all.positive += one.positive;
    all.any_nan |= one.any_nan;
    all.all_finite &= one.all_finite;
  }
  results[gridDim.x] = all;
}

}  // namespace kernel
