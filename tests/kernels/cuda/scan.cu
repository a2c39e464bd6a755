// SPDX-License-Identifier: Apache-2.0
// Inclusive prefix sums in one pass by decoupled look-back: tiles are numbered by an atomic counter; each tells
// its sum, then its prefix, in one word of 64 bits with a flag, by a release store that those after it wait for
// by acquire loads. Twice: with st.release and ld.acquire, and with volatile accesses and __threadfence.
#include <cstdint>

namespace kernel {

enum : unsigned { kNothing, kSum, kPrefix };

__device__ void tell(uint64_t* to, unsigned flag, unsigned value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(uint64_t{flag} << 32 | value) : "memory");
}
__device__ uint64_t ask(const uint64_t* from) {
  uint64_t word;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
  return word;
}

// The sum of all tiles before `tile`, by words that have flag and value together.
__device__ unsigned look_back(uint64_t* words, int tile, unsigned sum) {
  if (tile > 0) tell(words + tile, kSum, sum);
  unsigned before = 0;
  for (int at = tile - 1; at >= 0;) {
    const uint64_t word = ask(words + at);
    if (word >> 32 == kNothing) continue;
    before += static_cast<unsigned>(word);
    if (word >> 32 == kPrefix) break;
    --at;
  }
  tell(words + tile, kPrefix, before + sum);
  return before;
}

// The same by a flag apart: the value first, a fence, then the flag.
__device__ unsigned look_back_volatile(volatile unsigned* flags, volatile unsigned* sums,
                                       volatile unsigned* prefixes, int tile, unsigned sum) {
  sums[tile] = sum;
  __threadfence();
  flags[tile] = kSum;
  unsigned before = 0;
  for (int at = tile - 1; at >= 0; --at) {
    unsigned flag;
    while ((flag = flags[at]) == kNothing) continue;
    __threadfence();
    before += flag == kPrefix ? prefixes[at] : sums[at];
    if (flag == kPrefix) break;
  }
  prefixes[tile] = before + sum;
  __threadfence();
  flags[tile] = kPrefix;
  return before;
}

__device__ unsigned scan_of_warp(unsigned x) {
  for (int distance = 1; distance < 32; distance *= 2) {
    const unsigned other = __shfl_up_sync(~0u, x, distance);
    if (threadIdx.x % 32 >= distance) x += other;
  }
  return x;
}

// Four warps with a tile of 128 elements. `flags` holds three numbers for each tile.
extern "C" __global__ void scan(const unsigned* x, unsigned* y, unsigned* z, uint64_t* words, unsigned* flags,
                                unsigned* counter, int n) {
  __shared__ unsigned sums[4], before[2];
  __shared__ int number;
  const int t = threadIdx.x, tiles = gridDim.x;
  if (t == 0) number = atomicAdd(counter, 1);
  __syncthreads();
  const int tile = number, at = tile * 128 + t;
  unsigned sum = scan_of_warp(at < n ? x[at] : 0);
  if (t % 32 == 31) sums[t / 32] = sum;
  __syncthreads();
  for (int i = 0; i < t / 32; ++i) sum += sums[i];
  if (t == 127) {
    before[0] = look_back(words, tile, sum);
    before[1] = look_back_volatile(flags, flags + tiles, flags + 2 * tiles, tile, sum);
  }
  __syncthreads();
  if (at < n) {
    y[at] = before[0] + sum;
    z[at] = before[1] + sum;
  }
}

}  // namespace kernel
