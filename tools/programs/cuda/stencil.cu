// SPDX-License-Identifier: Apache-2.0
// Heat on two grids in two streams: constant memory, variables of the module, shared tiles, events.
#include "common.cuh"

__constant__ float weights[5];
__constant__ float weights_of_slow[5] = {0.9f, 0.025f, 0.025f, 0.025f, 0.025f};
__device__ unsigned long long visited;
__device__ float hottest_of_block[64];

constexpr int tile = 16;

__global__ void heat(const float* from, float* to, int width, int height, bool slow) {
  __shared__ float cell[tile + 2][tile + 2];
  const int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
  const auto at = [&](int i, int j) {
    return i < 0 || j < 0 || i >= width || j >= height ? 0.0f : from[j * width + i];
  };
  for (int j = threadIdx.y; j < tile + 2; j += tile)
    for (int i = threadIdx.x; i < tile + 2; i += tile)
      cell[j][i] = at(blockIdx.x * tile + i - 1, blockIdx.y * tile + j - 1);
  __syncthreads();
  if (x >= width || y >= height) return;
  const int i = threadIdx.x + 1, j = threadIdx.y + 1;
  const float* w = slow ? weights_of_slow : weights;
  to[y * width + x] = w[0] * cell[j][i] + w[1] * cell[j][i - 1] + w[2] * cell[j][i + 1] +
                      w[3] * cell[j - 1][i] + w[4] * cell[j + 1][i];
  atomicAdd(&visited, 1ull);
}

__global__ void hottest(const float* cells, int n) {
  float best = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) best = fmaxf(best, cells[i]);
  best = __int_as_float(__reduce_max_sync(0xffffffff, __float_as_int(best)));
  if (threadIdx.x % 32 == 0) hottest_of_block[threadIdx.x / 32] = best;
}

int main() {
  const int width = 50, height = 35, n = width * height;
  Numbers numbers;
  const float factors[5] = {0.6f, 0.1f, 0.1f, 0.1f, 0.1f};
  CHECK(cudaMemcpyToSymbol(weights, factors, sizeof factors));
  const dim3 grid((width + tile - 1) / tile, (height + tile - 1) / tile), block(tile, tile);
  float* cells[2][2];
  cudaStream_t streams[2];
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int s = 0; s < 2; ++s) {
    CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
    cells[s][0] = on_gpu(numbers.draw<float>(n, 100)), cells[s][1] = on_gpu<float>(n);
    for (int step = 0; step < 3; ++step)
      heat<<<grid, block, 0, streams[s]>>>(cells[s][step % 2], cells[s][1 - step % 2], width, height, s == 1);
  }
  CHECK(cudaEventRecord(done, streams[1]));
  CHECK(cudaStreamWaitEvent(streams[0], done));
  hottest<<<1, 128, 0, streams[0]>>>(cells[1][1], n);
  CHECK(cudaDeviceSynchronize());
  for (auto& pair : cells) report(pair[1], n);
  unsigned long long count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, visited, sizeof count));
  std::printf("%llu\n", count);
}
