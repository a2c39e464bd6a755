// SPDX-License-Identifier: Apache-2.0
// Sorts of f32 keys, each block its tile of 256: a bitonic sort in shared memory of keys that order as
// integers, with their places as the lower half; and a stable pass of a radix sort by four bits, by match.any
// and counts in shared memory.
#include <cstdint>

namespace kernel {

constexpr int kTile = 256, kWarps = kTile / 32, kDigits = 16;

// -NaN < -Inf < ... < -0 < +0 < ... < Inf < NaN as unsigned integers.
__device__ unsigned ordered(float x) {
  const unsigned bits = __float_as_uint(x);
  return bits ^ (static_cast<unsigned>(static_cast<int>(bits) >> 31) | 0x80000000u);
}

__device__ void bitonic_sort(uint64_t* keys) {
  const int t = threadIdx.x;
  for (int size = 2; size <= kTile; size *= 2)
    for (int distance = size / 2; distance > 0; distance /= 2) {
      __syncthreads();
      const int other = t ^ distance;
      if (other < t) continue;
      const uint64_t x = keys[t], y = keys[other];
      if ((x > y) == ((t & size) == 0)) {
        keys[t] = y;
        keys[other] = x;
      }
    }
  __syncthreads();
}

// Where the thread's key belongs among all that have been sorted by their digits.
__device__ int place_of(unsigned digit, unsigned (*counts)[kWarps]) {
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (t < kDigits * kWarps) counts[t / kWarps][t % kWarps] = 0;
  __syncthreads();
  const unsigned peers = __match_any_sync(~0u, digit);
  const unsigned earlier = __popc(peers & ((1u << lane) - 1));
  if (earlier == 0) counts[digit][warp] = __popc(peers);
  __syncthreads();
  unsigned place = earlier;
  for (unsigned d = 0; d <= digit; ++d)
    for (int w = 0; w < kWarps && (d < digit || w < warp); ++w) place += counts[d][w];
  return place;
}

extern "C" __global__ void sort(const float* x, float* sorted, unsigned* places, float* by_digit, int shift) {
  __shared__ uint64_t keys[kTile];
  __shared__ unsigned counts[kDigits][kWarps];
  const int t = threadIdx.x, first = blockIdx.x * kTile;
  const unsigned key = ordered(x[first + t]);
  keys[t] = uint64_t{key} << 32 | t;
  bitonic_sort(keys);
  const unsigned place = static_cast<unsigned>(keys[t]);
  sorted[first + t] = x[first + place];
  places[first + t] = place;
  by_digit[first + place_of(key >> shift & (kDigits - 1), counts)] = x[first + t];
}

}  // namespace kernel
