// SPDX-License-Identifier: Apache-2.0
// D = A B of bf16 with f32 sums by wgmma m64n32k16: a warpgroup for each 64 x 32. The tiles are written by
// plain stores and made visible by fence.proxy.async; A with the 128-byte swizzle, B with N in a row and no
// swizzle.
#include <cstdint>

namespace kernel {

constexpr int kRows = 64, kColumns = 32, kStep = 64, kThreads = 128;

// Address, leading and stride offset in units of 16 bytes, swizzle (0 none, 1 128 bytes).
__device__ uint64_t descriptor(unsigned address, unsigned leading, unsigned stride, unsigned swizzle) {
  return uint64_t{swizzle} << 62 | uint64_t{stride / 16} << 32 | uint64_t{leading / 16} << 16 | address / 16;
}

// scale_d 0 drops the sums that were; the last two immediates say that A has K in a row and B has N in a row.
__device__ void wgmma(float (&d)[16], uint64_t a, uint64_t b, int scale_d) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %18, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, "
      "%12, %13, %14, %15}, %16, %17, p, 1, 1, 0, 1;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
      : "l"(a), "l"(b), "r"(scale_d)
      : "memory");
}

extern "C" __global__ void gemm_wgmma(const uint16_t* a, const uint16_t* b, float* d, int n, int k) {
  __shared__ __align__(1024) uint8_t tile_a[kRows * kStep * 2];
  __shared__ __align__(128) uint8_t tile_b[kStep * kColumns * 2];
  const int row = blockIdx.y * kRows, column = blockIdx.x * kColumns;
  const unsigned at_a = static_cast<unsigned>(__cvta_generic_to_shared(tile_a));
  const unsigned at_b = static_cast<unsigned>(__cvta_generic_to_shared(tile_b));

  float sums[16] = {};
  for (int step = 0; step < k; step += kStep) {
    __syncthreads();
    // Chunks of 16 bytes: a row of A has eight, whose places are exchanged by the row's number.
    for (int i = threadIdx.x; i < kRows * kStep / 8; i += kThreads)
      *reinterpret_cast<uint4*>(tile_a + i / 8 * 128 + (i % 8 ^ i / 8 % 8) * 16) =
          *reinterpret_cast<const uint4*>(a + (row + i / 8) * k + step + i % 8 * 8);
    // Eight rows of a chunk of B lie one after the other: core matrices of 128 bytes, first along K.
    for (int i = threadIdx.x; i < kStep * kColumns / 8; i += kThreads) {
      const int depth = i / (kColumns / 8), chunk = i % (kColumns / 8);
      *reinterpret_cast<uint4*>(tile_b + chunk * (kStep * 16) + depth * 16) =
          *reinterpret_cast<const uint4*>(b + (step + depth) * n + column + chunk * 8);
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();

    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int depth = 0; depth < kStep; depth += 16)
      wgmma(sums, descriptor(at_a + depth * 2, 16, 1024, 1), descriptor(at_b + depth * 16, 128, kStep * 16, 0),
            step + depth > 0);
    asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  }

  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = 0; i < 16; ++i)
    d[(row + 16 * warp + lane / 4 + i / 2 % 2 * 8) * n + column + i / 4 * 8 + lane % 4 * 2 + i % 2] = sums[i];
}

}  // namespace kernel
