// SPDX-License-Identifier: Apache-2.0
// A scan by one cooperative launch: blocks meet by grid.sync(), tiles of threads by cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include "common.cuh"

namespace groups = cooperative_groups;

__global__ void scan(const int* x, int* y, int* totals, int n) {
  __shared__ int sums[32];
  const groups::grid_group grid = groups::this_grid();
  const groups::thread_block block = groups::this_thread_block();
  const auto warp = groups::tiled_partition<32>(block);
  const unsigned i = grid.thread_rank();
  const int value = i < n ? x[i] : 0;
  int sum = groups::inclusive_scan(warp, value);
  if (warp.thread_rank() == 31) sums[warp.meta_group_rank()] = sum;
  block.sync();
  for (unsigned before = 0; before < warp.meta_group_rank(); ++before) sum += sums[before];
  if (block.thread_rank() == block.size() - 1) totals[blockIdx.x] = sum;
  grid.sync();
  for (unsigned before = 0; before < blockIdx.x; ++before) sum += totals[before];
  if (i < n) y[i] = sum;
}

/// Tiles of 8 lanes: the sum of squares of each row of 8, by shuffles of the tile, and votes.
__global__ void rows(const float* x, float* y, unsigned* positive) {
  const auto tile = groups::tiled_partition<8>(groups::this_thread_block());
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = x[i] * x[i];
  for (unsigned step = tile.size() / 2; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  const unsigned votes = tile.ballot(x[i] > 0);
  if (tile.thread_rank() == 0) y[i / 8] = sum, positive[i / 8] = votes;
}

int main() {
  int n = 700;
  Numbers numbers;
  std::vector<int> values(n);
  for (int& value : values) value = static_cast<int>(numbers.next() * 1000);
  int *x = on_gpu(values), *y = on_gpu<int>(n), *totals = on_gpu<int>(3);
  void* arguments[] = {&x, &y, &totals, &n};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(scan), 3, 256, arguments, 0, nullptr));
  report(y, n);
  float* squares = on_gpu<float>(64);
  unsigned* positive = on_gpu<unsigned>(64);
  rows<<<4, 128>>>(on_gpu(numbers.draw<float>(512)), squares, positive);
  report(squares, 64);
  report(positive, 64);
}
