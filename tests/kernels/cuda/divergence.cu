// SPDX-License-Identifier: Apache-2.0
// Lanes that part: nested loops left early by break, continue and return, a lock that lanes of all warps spin
// on, with __nanosleep, local arrays with indices that only the run knows, constant and static arrays, dynamic
// shared memory of two types, and barriers that are reached from a loop of its own length for each block.

namespace kernel {

__constant__ int kWeights[16] = {3, -1, 4, -1, 5, -9, 2, -6, 5, -3, 5, -8, 9, -7, 9, -3};
__constant__ double kScale = 0.1;
__device__ unsigned table[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31};
__device__ unsigned visits[4];  // by all blocks
__device__ int lock;

// The least divisor above 1 by a table and then by search; 0 if a search of `limit` steps ends without one.
__device__ unsigned divisor(unsigned x, int limit) {
  for (const unsigned prime : table)
    if (x % prime == 0) return prime;
  for (unsigned candidate = 37; limit-- > 0; candidate += 2) {
    if (candidate % 3 == 0 || candidate % 5 == 0) continue;
    if (x % candidate == 0) return candidate;
    if (candidate * candidate > x) break;
  }
  return 0;
}

// How many cells of a triangle a path meets; the lanes leave both loops at different times.
__device__ unsigned path(unsigned x) {
  unsigned met = 0;
  for (unsigned i = 1; i < 12; ++i) {
    if ((x >> i & 3) == 3) continue;
    for (unsigned j = i; j < 12; ++j) {
      if ((x ^ j * 5) % 7 == 0) break;
      if ((x + i * j) % 13 == 0) goto out;
      do {
        ++met;
        x = x * 1664525 + 1013904223;
      } while ((x >> 28) > 11);
    }
  }
out:
  return met << 16 ^ x >> 16;
}

// A sort by insertion of an array of the thread's own, whose indices the compiler does not know.
__device__ unsigned by_insertion(unsigned x, unsigned* sorted) {
  unsigned moves = 0;
  for (int i = 0; i < 10; ++i) {
    const unsigned value = x >> 2 * i & 0xFF;
    int at = i;
    for (; at > 0 && sorted[at - 1] > value; --at, ++moves) sorted[at] = sorted[at - 1];
    sorted[at] = value;
  }
  return moves;
}

// Every lane takes the lock once. A lane that got it works and releases it before the others try again.
__device__ void with_lock(unsigned x, volatile unsigned* total) {
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence();
      total[0] += x;
      total[1] = total[1] * 2 + 1 | 0x80000000;  // after 31 steps always the same
      __threadfence();
      atomicExch(&lock, 0);
      done = true;
    } else {
      __nanosleep(50);
    }
  }
}

// `out` has rows of results; `totals` two words that the lock guards. Dynamic shared memory: a float and a byte
// each.
extern "C" __global__ void divergence(const unsigned* x, unsigned* out, double* scaled, unsigned* totals,
                                      int limit) {
  extern __shared__ float floats[];
  auto* const bytes = reinterpret_cast<unsigned char*>(floats + blockDim.x);
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = gridDim.x * blockDim.x;
  const unsigned mine = x[i];
  out[i] = divisor(mine, limit);
  out[n + i] = path(mine);
  unsigned sorted[10];
  out[2 * n + i] = by_insertion(mine, sorted);
  out[3 * n + i] = sorted[mine % 10] << 8 | sorted[mine / 16 % 10];
  out[4 * n + i] = kWeights[mine % 16] * static_cast<int>(table[mine % 11]);
  scaled[i] = kScale * kWeights[mine / 16 % 16];

  floats[t] = static_cast<float>(mine);
  bytes[t] = static_cast<unsigned char>(mine);
  for (unsigned round = 0; round <= blockIdx.x; ++round) {
    __syncthreads();
    const float other = floats[(t + 37) % blockDim.x];
    const unsigned char byte = bytes[(t * 5 + 1) % blockDim.x];
    __syncthreads();
    floats[t] = floats[t] * 0.5f + other;
    bytes[t] ^= byte + round;
  }
  out[5 * n + i] = __float_as_uint(floats[t]);
  out[6 * n + i] = bytes[t];

  with_lock(mine, totals);
  if (mine % 3 == 1) return;
  atomicAdd(&visits[mine % 4], 1);
  out[7 * n + i] = atomicAdd(&visits[mine % 4], 0) != 0;
}

}  // namespace kernel
