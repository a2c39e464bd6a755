// SPDX-License-Identifier: Apache-2.0
// Integer products by mma.sync m16n8k32: D = A B + C of s8, clamped by .satfinite; E = A B + C with A as u8,
// which wraps; Q = D scaled and rounded to s8. A warp for each 16 x 8; fragments come straight from global
// memory.
#include <cstdint>

namespace kernel {

// The fragments of a step of 32 along K, four bytes a register. Rows of A and of B have K contiguous.
struct Fragments {
  unsigned a[4], b[2];
};
__device__ Fragments load(const int8_t* a, const int8_t* b, int k) {
  const int lane = threadIdx.x % 32, row = lane / 4, depth = lane % 4 * 4;
  const auto word = [](const int8_t* p) { return *reinterpret_cast<const unsigned*>(p); };
  return {{word(a + row * k + depth), word(a + (row + 8) * k + depth), word(a + row * k + depth + 16),
           word(a + (row + 8) * k + depth + 16)},
          {word(b + row * k + depth), word(b + row * k + depth + 16)}};
}

#define MMA(form, d, f)                                                  \
  asm("mma.sync.aligned.m16n8k32.row.col" form                           \
      " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                   \
      : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]))

__device__ int rounded(float x) {
  int r;
  asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

extern "C" __global__ void gemm_int8(const int8_t* a, const int8_t* b, const int* c, int* d, int* e, int8_t* q,
                                     int n, int k, float scale) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = blockIdx.y * 32 + warp % 2 * 16, column = blockIdx.x * 16 + warp / 2 * 8;
  int at[4], signed_sums[4], mixed_sums[4];
  for (int i = 0; i < 4; ++i) {
    at[i] = (row + lane / 4 + i / 2 * 8) * n + column + lane % 4 * 2 + i % 2;
    signed_sums[i] = mixed_sums[i] = c[at[i]];
  }
  for (int step = 0; step < k; step += 32) {
    const Fragments f = load(a + row * k + step, b + column * k + step, k);
    MMA(".satfinite.s32.s8.s8.s32", signed_sums, f);
    MMA(".s32.u8.s8.s32", mixed_sums, f);
  }
  for (int i = 0; i < 4; ++i) {
    d[at[i]] = signed_sums[i];
    e[at[i]] = mixed_sums[i];
    q[at[i]] = static_cast<int8_t>(rounded(static_cast<float>(signed_sums[i]) * scale));
  }
}

}  // namespace kernel
