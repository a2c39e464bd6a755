// SPDX-License-Identifier: Apache-2.0
// Can a write that is behind a relaxed flag come before a read that is before it? A block reads words that no cache holds, meets at a
// barrier and sets the flag; another block sees it and writes there. The value of the read is taken before the flag, or behind it.
//
//     nvcc -O3 -arch=sm_90 reads_before_flags.cu && ./a.out
//
// Two runs on an H200: 0 of 691,200,000 reads had what was written if their value was taken before, and 13,912 of as many if behind.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

constexpr int kPairs = 60, kRounds = 2000, kLaunches = 6, kWordsApart = 8;
constexpr std::size_t kTraffic = std::size_t{1} << 26;  // words that other blocks read meanwhile

void check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(result));
  std::exit(1);
}

__device__ void load_elsewhere(const int* words, int loads, unsigned seed, unsigned long long* unused) {
  int sum = 0;
  for (int i = 0; i < loads; ++i) {
    seed = seed * 1664525U + 1013904223U;
    sum += __ldcg(words + seed % kTraffic);
  }
  if (sum == 12345) *unused = 1;  // so that the loads stay
}

// Blocks 2 i and 2 i + 1 are a pair; those behind the pairs make traffic.
template <bool is_taken_before>
__global__ void exchange(int* words, unsigned* flags, unsigned long long* counts, unsigned salt) {
  const int pair = blockIdx.x / 2, thread = threadIdx.x;
  if (pair >= kPairs) {
    load_elsewhere(words, kRounds * 8, blockIdx.x * 7919 + thread * 104729 + salt, counts + 1);
    return;
  }
  unsigned* const flag = flags + pair * 32;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t number = (std::size_t{1} * pair * kRounds + round) * blockDim.x + thread;
    int* const at = words + kTraffic + number * kWordsApart;
    if (blockIdx.x % 2 == 0) {
      int value;
      asm volatile("ld.weak.global.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
      if (is_taken_before) {
        if (value != 0) atomicAdd(counts, 1ULL);
        asm volatile("bar.sync 0;" ::: "memory");
      } else {
        asm volatile("bar.sync 0;" ::: "memory");
      }
      if (thread == 0)
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(round + 1) : "memory");
      if (!is_taken_before && value != 0) atomicAdd(counts, 1ULL);
    } else {
      for (unsigned seen = 0; thread == 0 && seen <= static_cast<unsigned>(round);)
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
      asm volatile("bar.sync 0;" ::: "memory");
      asm volatile("st.weak.global.s32 [%0], 1;" ::"l"(at) : "memory");
    }
  }
}

template <bool is_taken_before>
void measure(int traffic, int threads) {
  const std::size_t bytes =
      (kTraffic + std::size_t{1} * kPairs * kRounds * threads * kWordsApart) * sizeof(int);
  int* words;
  unsigned* flags;
  unsigned long long *counts, count;
  check(cudaMalloc(&words, bytes));
  check(cudaMalloc(&flags, kPairs * 128));
  check(cudaMalloc(&counts, 16));
  check(cudaMemset(counts, 0, 16));
  for (int launch = 0; launch < kLaunches; ++launch) {
    check(cudaMemset(words, 0, bytes));
    check(cudaMemset(flags, 0, kPairs * 128));
    exchange<is_taken_before><<<2 * kPairs + traffic, threads>>>(words, flags, counts, launch * 977);
    check(cudaDeviceSynchronize());
  }
  check(cudaMemcpy(&count, counts, sizeof count, cudaMemcpyDeviceToHost));
  std::printf("taken %s, %d other blocks, %d threads: %llu of %lld reads have what was written\n",
              is_taken_before ? "before" : "behind", traffic, threads, count,
              1LL * kLaunches * kPairs * kRounds * threads);
  check(cudaFree(words));
  check(cudaFree(flags));
  check(cudaFree(counts));
}

int main() {
  for (const int threads : {32, 128})
    for (const int traffic : {0, 12, 400}) {
      measure<false>(traffic, threads);
      measure<true>(traffic, threads);
    }
}
