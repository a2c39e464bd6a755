// SPDX-License-Identifier: Apache-2.0
// A bitonic sort of pairs: in shared memory above 48 KB while it fits, by launches of single steps beyond.
#include "common.cuh"

template <class Key>
__device__ void exchange(Key& a, Key& b, unsigned& x, unsigned& y, bool up) {
  if ((a > b) == up) {
    const Key key = a;
    const unsigned value = x;
    a = b, b = key, x = y, y = value;
  }
}

template <class Key>
__global__ void sort_blocks(Key* keys, unsigned* values, unsigned size) {
  extern __shared__ unsigned char memory[];
  Key* key = reinterpret_cast<Key*>(memory);
  unsigned* value = reinterpret_cast<unsigned*>(key + size);
  const unsigned first = blockIdx.x * size;
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x)
    key[i] = keys[first + i], value[i] = values[first + i];
  for (unsigned length = 2; length <= size; length *= 2)
    for (unsigned step = length / 2; step > 0; step /= 2) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size; i += blockDim.x)
        if ((i ^ step) > i)
          exchange(key[i], key[i ^ step], value[i], value[i ^ step], ((first + i) & length) == 0);
    }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < size; i += blockDim.x)
    keys[first + i] = key[i], values[first + i] = value[i];
}

template <class Key>
__global__ void merge_step(Key* keys, unsigned* values, unsigned length, unsigned step) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if ((i ^ step) > i) exchange(keys[i], keys[i ^ step], values[i], values[i ^ step], (i & length) == 0);
}

template <class Key>
void run(Numbers& numbers, unsigned n, unsigned block, unsigned shared) {
  std::vector<unsigned> order(n);
  for (unsigned i = 0; i < n; ++i) order[i] = i;
  Key* keys = on_gpu(numbers.draw<Key>(n, 1000));
  unsigned* values = on_gpu(order);
  CHECK(cudaFuncSetAttribute(sort_blocks<Key>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  sort_blocks<Key><<<n / block, 128, shared>>>(keys, values, block);
  for (unsigned length = block * 2; length <= n; length *= 2)
    for (unsigned step = length / 2; step > 0; step /= 2)
      merge_step<Key><<<n / 128, 128>>>(keys, values, length, step);
  report(keys, n);
  report(values, n);
}

int main() {
  Numbers numbers;
  run<float>(numbers, 1024, 256, 64 * 1024);
  run<int>(numbers, 256, 256, 4096);
  run<double>(numbers, 512, 128, 4096);
}
