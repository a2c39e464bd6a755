// SPDX-License-Identifier: Apache-2.0
// Atomic operations whose results do not depend on an order. First each thread at a place of its own, where the
// old value is a result, too, in global and in shared memory; then all threads at the same places: integers,
// floating-point numbers whose sums are exact, and a loop of compare-and-swap for an operation that hardware
// lacks.
#include <cuda_fp16.h>

#include <cstdint>

namespace kernel {

// What of a thread's own there is, in global memory; a copy of it goes through shared memory.
struct Own {
  unsigned u[11];
  int s[2];
  float f;
  uint64_t w[9];
  long long l[2];
  double d;
  __half2 h;
  unsigned unused;
};

__device__ unsigned code(__half2 x) {
  return *reinterpret_cast<const unsigned*>(&x);
}

// Does each operation once at the thread's own places, and stores what was there before.
__device__ void alone(Own& own, uint64_t* old, int columns, unsigned x, uint64_t w, float f, double d) {
  const auto put = [&](uint64_t value) {
    *old = value;
    old += columns;
  };
  put(atomicAdd(&own.u[0], x)), put(atomicSub(&own.u[1], x)), put(atomicExch(&own.u[2], x));
  put(atomicMin(&own.u[3], x)), put(atomicMax(&own.u[4], x)), put(atomicInc(&own.u[5], x));
  put(atomicDec(&own.u[6], x)), put(atomicAnd(&own.u[7], x)), put(atomicOr(&own.u[8], x));
  put(atomicXor(&own.u[9], x)), put(atomicCAS(&own.u[10], x, ~x));
  put(atomicMin(&own.s[0], static_cast<int>(x))), put(atomicMax(&own.s[1], static_cast<int>(x)));
  put(__float_as_uint(atomicAdd(&own.f, f)));
  auto* const wide = reinterpret_cast<unsigned long long*>(own.w);
  const unsigned long long value = w;
  put(atomicAdd(&wide[0], value)), put(atomicExch(&wide[1], value)), put(atomicMin(&wide[2], value));
  put(atomicMax(&wide[3], value)), put(atomicAnd(&wide[4], value)), put(atomicOr(&wide[5], value));
  put(atomicXor(&wide[6], value)), put(atomicCAS(&wide[7], value, ~value)),
      put(atomicCAS(&wide[8], wide[8], value));
  put(atomicMin(&own.l[0], static_cast<long long>(w))), put(atomicMax(&own.l[1], static_cast<long long>(w)));
  put(__double_as_longlong(atomicAdd(&own.d, d)));
  put(code(atomicAdd(&own.h, *reinterpret_cast<const __half2*>(&x))));
}

// The largest by magnitude, which no instruction has.
__device__ void most_by_magnitude(float* at, float x) {
  auto* const word = reinterpret_cast<unsigned*>(at);
  unsigned seen = *reinterpret_cast<volatile unsigned*>(word);
  while (fabsf(x) > fabsf(__uint_as_float(seen))) {
    const unsigned before = atomicCAS(word, seen, __float_as_uint(x));
    if (before == seen) break;
    seen = before;
  }
}

// What all threads share.
struct All {
  unsigned sum, inc, dec, least, most, both, either, odd;
  int signed_least, signed_most;
  float float_sum, magnitude;
  uint64_t wide_sum, wide_most, wide_odd;
  double double_sum;
  __half2 halves;
  unsigned block_scope;
};

__device__ void together(All& all, unsigned x, uint64_t w, int i) {
  atomicAdd(&all.sum, x), atomicInc(&all.inc, 40), atomicDec(&all.dec, 40), atomicMin(&all.least, x);
  atomicMax(&all.most, x), atomicAnd(&all.both, x | 0xFF), atomicOr(&all.either, x & 0xFF00),
      atomicXor(&all.odd, x);
  atomicMin(&all.signed_least, static_cast<int>(x)), atomicMax(&all.signed_most, static_cast<int>(x));
  atomicAdd(&all.float_sum, static_cast<float>(i % 9 - 3) * 0.25f);
  most_by_magnitude(&all.magnitude, static_cast<float>(static_cast<int>(x)));
  atomicAdd(reinterpret_cast<unsigned long long*>(&all.wide_sum), static_cast<unsigned long long>(w));
  atomicMax(reinterpret_cast<unsigned long long*>(&all.wide_most), static_cast<unsigned long long>(w));
  atomicXor(reinterpret_cast<unsigned long long*>(&all.wide_odd), static_cast<unsigned long long>(w));
  atomicAdd(&all.double_sum, static_cast<double>(i) * 0.125);
  atomicAdd(&all.halves, __floats2half2_rn(1.0f, static_cast<float>(i % 3 - 1)));
}

// `old` has a row for each operation: in global memory first, then in shared memory.
extern "C" __global__ void atomics(Own* own, Own* copies, uint64_t* old, All* all, All* of_blocks,
                                   const unsigned* x, const uint64_t* w, const float* f, const double* d) {
  __shared__ Own shared[32];
  __shared__ All block;
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = gridDim.x * blockDim.x;
  shared[t] = own[i];
  if (t == 0) block = of_blocks[blockIdx.x];
  __syncthreads();
  alone(own[i], old + i, n, x[i], w[i], f[i], d[i]);
  alone(shared[t], old + 27 * n + i, n, x[i], w[i], f[i], d[i]);
  copies[i] = shared[t];

  together(*all, x[i], w[i], i);
  together(block, x[i], w[i], i);
  atomicAdd_block(&block.block_scope, 3);
  atomicAdd_system(&all->block_scope, 5);
  __syncthreads();
  if (t == 0) of_blocks[blockIdx.x] = block;
}

}  // namespace kernel
