// SPDX-License-Identifier: Apache-2.0
// Clusters: a histogram over the shared memory of four blocks, and a transposition that writes into other blocks.
#include <cooperative_groups.h>

#include "common.cuh"

namespace groups = cooperative_groups;

constexpr int bins_of_block = 64;

__global__ void histogram(const unsigned char* x, int n, unsigned* bins) {
  extern __shared__ unsigned mine[];
  const groups::cluster_group cluster = groups::this_cluster();
  for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x) mine[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(cluster.map_shared_rank(mine, x[i] / bins_of_block) + x[i] % bins_of_block, 1u);
  cluster.sync();
  for (int i = threadIdx.x; i < bins_of_block; i += blockDim.x)
    atomicAdd(&bins[cluster.block_rank() * bins_of_block + i], mine[i]);
}

__global__ void __cluster_dims__(2, 2, 1) transpose(const float* x, float* y) {
  __shared__ float tile[16][17];
  const groups::cluster_group cluster = groups::this_cluster();
  const unsigned column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  const unsigned other = blockIdx.x % 2 * 2 + blockIdx.y % 2;  // blocks of a cluster change places
  cluster.sync();
  (*cluster.map_shared_rank(&tile, other))[threadIdx.x][threadIdx.y] = x[row * 32 + column];
  cluster.sync();
  y[row * 32 + column] = tile[threadIdx.y][threadIdx.x];
}

int main() {
  const int n = 3000;
  Numbers numbers;
  std::vector<unsigned char> values(n);
  for (auto& value : values) value = static_cast<unsigned char>((numbers.next() + 1) * 127.9);
  unsigned* bins = on_gpu(std::vector<unsigned>(256));
  cudaLaunchConfig_t config = {};
  config.gridDim = 8, config.blockDim = 128, config.dynamicSmemBytes = bins_of_block * sizeof(unsigned);
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 4, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
  config.attrs = &attribute, config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, histogram, static_cast<const unsigned char*>(on_gpu(values)), n, bins));
  report(bins, 256);
  float* y = on_gpu<float>(1024);
  transpose<<<dim3(2, 2), dim3(16, 16)>>>(on_gpu(numbers.draw<float>(1024)), y);
  report(y, 1024);
}
