// SPDX-License-Identifier: Apache-2.0
// What moves words of tensor memory: loads and stores of each shape, copies from shared memory, shifts. A block of four warps
// fills tensor memory from `in`, does one thing, and leaves tensor memory or registers in `out`.
#include "blackwell.cuh"

namespace kernel {

extern __shared__ __align__(1024) unsigned char memory[];
__shared__ unsigned long long done;
__shared__ unsigned address;

inline constexpr int kThreads = 128, kColumns = 128;

#define WORDS32                                                                                                \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, " \
  "%23, %24, %25, %26, %27, %28, %29, %30, %31}"
#define EACH4(x, w, i) x(w[i]), x(w[i + 1]), x(w[i + 2]), x(w[i + 3])
#define EACH32(x, w)                                                                                 \
  EACH4(x, w, 0), EACH4(x, w, 4), EACH4(x, w, 8), EACH4(x, w, 12), EACH4(x, w, 16), EACH4(x, w, 20), \
      EACH4(x, w, 24), EACH4(x, w, 28)

// The address of the window of the warp.
__device__ __noinline__ unsigned begin(const unsigned* in, int columns) {
  const int thread = threadIdx.x;
  if (thread < 32) allocate<1>(shared_address(&address), kColumns);
  if (thread == 0) {
    init(shared_address(&done), 1);
    fence_barriers();
  }
  sync_all<1>();
  const unsigned window = address + (thread / 32 * 32 << 16);
#pragma unroll 1
  for (int column = 0; column < columns; column += 8) {
    Words8 words;
    for (int i = 0; i < 8; ++i) words.word[i] = in[thread * columns + column + i];
    store_columns(window + column, words);
  }
  wait_stores();
  return window;
}

__device__ __noinline__ void end(unsigned* out, int columns) {
  const int thread = threadIdx.x;
#pragma unroll 1
  for (int column = 0; column < columns; column += 8) {
    const Words8 words = load_columns(address + (thread / 32 * 32 << 16) + column);
    for (int i = 0; i < 8; ++i) out[thread * columns + column + i] = words.word[i];
  }
  sync_all<1>();
  if (thread < 32) deallocate<1>(address, kColumns);
}

// 32 registers of each thread, from lane 0 and lane 16 of the window; .32x32b from two sets of columns.
#define LOAD(name, shape, tail, next)                                                                     \
  extern "C" __global__ void __launch_bounds__(kThreads) load_##name(const unsigned* in, unsigned* out) { \
    const unsigned window = begin(in, kColumns);                                                          \
    _Pragma("unroll 1") for (int half = 0; half < 2; ++half) {                                            \
      unsigned w[32];                                                                                     \
      asm volatile("tcgen05.ld.sync.aligned." shape ".b32 " WORDS32 ", [%32]" tail ";"                    \
                   : EACH32("=r", w)                                                                      \
                   : "r"(window + half * next)                                                            \
                   : "memory");                                                                           \
      asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");                                        \
      for (int i = 0; i < 32; ++i) out[(half * kThreads + threadIdx.x) * 32 + i] = w[i];                  \
    }                                                                                                     \
    end(out, 0);                                                                                          \
  }
// Stores of them, into tensor memory that `fill` has filled.
#define STORE(name, shape, tail, next)                                                                   \
  extern "C" __global__ void __launch_bounds__(kThreads)                                                 \
      store_##name(const unsigned* fill, const unsigned* in, unsigned* out) {                            \
    const unsigned window = begin(fill, kColumns);                                                       \
    _Pragma("unroll 1") for (int half = 0; half < 2; ++half) {                                           \
      unsigned w[32];                                                                                    \
      for (int i = 0; i < 32; ++i) w[i] = in[(half * kThreads + threadIdx.x) * 32 + i];                  \
      asm volatile("tcgen05.st.sync.aligned." shape ".b32 [%32]" tail ", " WORDS32 ";" ::EACH32("r", w), \
                   "r"(window + half * next)                                                             \
                   : "memory");                                                                          \
      wait_stores();                                                                                     \
    }                                                                                                    \
    end(out, kColumns);                                                                                  \
  }
#define MOVES(name, shape, tail, next)              \
  LOAD(name, shape, tail, next)                     \
  LOAD(name##_pack, shape ".pack::16b", tail, next) \
  STORE(name, shape, tail, next)                    \
  STORE(name##_unpack, shape ".unpack::16b", tail, next)

#if __CUDA_ARCH__ != 1030

#define UPPER (16 << 16)
MOVES(32x32b, "32x32b.x32", "", 64)
MOVES(16x64b, "16x64b.x32", "", UPPER)
MOVES(16x128b, "16x128b.x16", "", UPPER)
MOVES(16x256b, "16x256b.x8", "", UPPER)
MOVES(16x32bx2, "16x32bx2.x32", ", 64", UPPER)

#define COPY(number, shape)                                                                      \
  case number:                                                                                   \
    asm volatile("tcgen05.cp.cta_group::1." shape " [%0], %1;" ::"r"(to), "l"(from) : "memory"); \
    break;
#define COPIES(number, shape)                    \
  COPY(3 * number, shape)                        \
  COPY(3 * number + 1, shape ".b8x16.b4x16_p64") \
  COPY(3 * number + 2, shape ".b8x16.b6x16_p32")

// A copy from shared memory, which holds `source`; number 18 is a shift. The descriptor lacks its start.
extern "C" __global__ void __launch_bounds__(kThreads)
    operate(const unsigned* in, const uint4* source, int bytes, unsigned long long descriptor, unsigned at,
            int operation, unsigned* out) {
  begin(in, 16);
  const unsigned shared = shared_address(memory);
  for (int i = threadIdx.x; i < bytes / 16; i += kThreads) reinterpret_cast<uint4*>(memory)[i] = source[i];
  fence_async_shared();
  sync_all<1>();
  if (threadIdx.x < 32 && elect()) {
    const unsigned to = address + at;
    const unsigned long long from = descriptor + (shared >> 4);
    switch (operation) {
      COPIES(0, "128x256b")
      COPIES(1, "128x128b")
      COPIES(2, "4x256b")
      COPIES(3, "64x128b.warpx2::02_13")
      COPIES(4, "64x128b.warpx2::01_23")
      COPIES(5, "32x128b.warpx4")
      case 18: asm volatile("tcgen05.shift.cta_group::1.down [%0];" ::"r"(to) : "memory"); break;
    }
    commit<1>(shared_address(&done));
  }
  wait(shared_address(&done), 0);
  after_sync();
  end(out, 16);
}

#else

#define REDUCE(number, shape, what)                                                    \
  case number:                                                                         \
    asm volatile("tcgen05.ld.red.sync.aligned." shape "." what                         \
                 " {%0, %1, %2, %3, %4, %5, %6, %7}, %8, [%9]" REDUCE_TAIL(number) ";" \
                 : EACH4("=r", w, 0), EACH4("=r", w, 4), "=r"(reduced)                 \
                 : "r"(window)                                                         \
                 : "memory");                                                          \
    break;
// Eight words of each thread and what they reduce to; operations from 7 on have two halves of lanes.
#define REDUCTIONS(first, shape)          \
  REDUCE(first, shape, "min.u32")         \
  REDUCE(first + 1, shape, "max.u32")     \
  REDUCE(first + 2, shape, "min.s32")     \
  REDUCE(first + 3, shape, "max.s32")     \
  REDUCE(first + 4, shape, "min.f32")     \
  REDUCE(first + 5, shape, "max.f32")     \
  REDUCE(first + 6, shape, "min.abs.f32") \
  REDUCE(first + 7, shape, "max.abs.f32") \
  REDUCE(first + 8, shape, "min.NaN.f32") \
  REDUCE(first + 9, shape, "max.abs.NaN.f32")

extern "C" __global__ void __launch_bounds__(kThreads)
    reduce(const unsigned* in, int operation, unsigned* out) {
  const unsigned window = begin(in, 16);
  unsigned w[8] = {}, reduced = 0;
  switch (operation) {
#define REDUCE_TAIL(number) ""
    REDUCTIONS(0, "32x32b.x8")
#undef REDUCE_TAIL
#define REDUCE_TAIL(number) ", 8"
    REDUCTIONS(10, "16x32bx2.x8")
  }
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 9 + i] = w[i];
  out[threadIdx.x * 9 + 8] = reduced;
  end(out, 0);
}

#endif

}  // namespace kernel
