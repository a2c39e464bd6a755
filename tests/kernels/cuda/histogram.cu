// SPDX-License-Identifier: Apache-2.0
// How often each byte occurs, and where it occurs first and last: atomic operations on integers in shared
// memory, then in global memory. Each thread takes 16 bytes a time, by a loop over the grid; the end is taken
// byte by byte.
#include <cstdint>

namespace kernel {

struct Bins {
  unsigned count[256];
  int first[256], last[256];
};

__device__ void add(Bins& bins, unsigned byte, int at) {
  atomicAdd(&bins.count[byte], 1);
  atomicMin(&bins.first[byte], at);
  atomicMax(&bins.last[byte], at);
}

extern "C" __global__ void histogram(const uint8_t* x, unsigned* count, int* first, int* last, int n) {
  __shared__ Bins bins;
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    bins.count[i] = 0;
    bins.first[i] = n;
    bins.last[i] = -1;
  }
  __syncthreads();
  const int stride = 16 * gridDim.x * blockDim.x;
  for (int at = 16 * (blockIdx.x * blockDim.x + threadIdx.x); at < n; at += stride) {
    if (at + 16 > n) {
      for (int i = at; i < n; ++i) add(bins, x[i], i);
      continue;
    }
    const uint4 chunk = *reinterpret_cast<const uint4*>(x + at);
    const unsigned words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
    for (int i = 0; i < 16; ++i) add(bins, words[i / 4] >> i % 4 * 8 & 0xFF, at + i);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    if (bins.count[i] == 0) continue;
    atomicAdd(&count[i], bins.count[i]);
    atomicMin(&first[i], bins.first[i]);
    atomicMax(&last[i], bins.last[i]);
  }
}

}  // namespace kernel
