// SPDX-License-Identifier: Apache-2.0
// Tiles by TMA: the driver makes a tensor map, a barrier counts the bytes, the result leaves by a bulk store.
#include <cuda.h>
#include <cuda/barrier>

#include "common.cuh"

using Barrier = cuda::barrier<cuda::thread_scope_block>;
namespace device = cuda::device::experimental;

constexpr int width = 72, height = 50, box_width = 32, box_height = 16;

__global__ void brighten(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                         float factor) {
  __shared__ alignas(128) float tile[box_height][box_width];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ Barrier barrier;
  const int x = blockIdx.x * box_width, y = blockIdx.y * box_height;
  if (threadIdx.x == 0) {
    init(&barrier, blockDim.x);
    device::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    device::cp_async_bulk_tensor_2d_global_to_shared(&tile, &from, x, y, barrier);
    token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof tile);
  } else {
    token = barrier.arrive();
  }
  barrier.wait(std::move(token));
  for (int i = threadIdx.x; i < box_width * box_height; i += blockDim.x) {
    float& value = tile[i / box_width][i % box_width];
    value = value * factor + static_cast<float>(blockIdx.x);
  }
  device::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    device::cp_async_bulk_tensor_2d_shared_to_global(&to, x, y, &tile);
    device::cp_async_bulk_commit_group();
    device::cp_async_bulk_wait_group_read<0>();
  }
  __syncthreads();
  if (threadIdx.x == 0) (&barrier)->~Barrier();
}

CUtensorMap map_of(float* place) {
  CUtensorMap map;
  const cuuint64_t extents[] = {width, height}, strides[] = {width * sizeof(float)};
  const cuuint32_t box[] = {box_width, box_height}, steps[] = {1, 1};
  const CUresult status =
      cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, place, extents, strides, box, steps,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                             CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS) std::exit(1);
  return map;
}

int main() {
  Numbers numbers;
  float *x = on_gpu(numbers.draw<float>(width * height)), *y = on_gpu(std::vector<float>(width * height, -1));
  brighten<<<dim3(3, 4), 128>>>(map_of(x), map_of(y), 1.5f);
  report(y, width * height);
}
