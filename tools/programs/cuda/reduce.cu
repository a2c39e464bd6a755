// SPDX-License-Identifier: Apache-2.0
// Reductions as templates of types and operations: dynamic shared memory, shuffles, and the last block adds the parts.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common.cuh"

struct Sum {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Largest {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

template <class T, class Operation>
__device__ T reduce_warp(T value, Operation operation) {
  for (int step = 16; step > 0; step /= 2) value = operation(value, __shfl_xor_sync(0xffffffff, value, step));
  return value;
}

template <class In, class T, class Operation>
__global__ void reduce(const In* x, T* parts, T* result, unsigned* arrived, int n) {
  extern __shared__ unsigned char memory[];
  T* shared = reinterpret_cast<T*>(memory);
  __shared__ bool last;
  Operation operation;
  const auto reduce_block = [&](T value) {
    value = reduce_warp(value, operation);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
    __syncthreads();
    value = shared[threadIdx.x % (blockDim.x / 32)];
    return reduce_warp(value, operation);
  };
  T value = static_cast<T>(static_cast<float>(x[0]));
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    value = operation(value, static_cast<T>(static_cast<float>(x[i])));
  value = reduce_block(value);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = value;
    __threadfence();
    last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  value = reduce_block(parts[threadIdx.x % gridDim.x]);
  if (threadIdx.x == 0) *result = value;
}

template <class In, class T, class Operation>
void run(Numbers& numbers) {
  const int n = 2500, blocks = 4, threads = 256;
  const In* x = on_gpu(numbers.draw<In>(n, 3));
  T *parts = on_gpu<T>(blocks), *result = on_gpu<T>(1);
  unsigned* arrived = on_gpu(std::vector<unsigned>(1));
  reduce<In, T, Operation><<<blocks, threads, threads / 32 * sizeof(T)>>>(x, parts, result, arrived, n);
  report(result, 1);
}

int main() {
  Numbers numbers;
  run<float, float, Sum>(numbers);
  run<float, double, Sum>(numbers);
  run<__half, float, Sum>(numbers);
  run<__nv_bfloat16, float, Largest>(numbers);
  run<float, int, Largest>(numbers);
}
