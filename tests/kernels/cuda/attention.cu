// SPDX-License-Identifier: Apache-2.0
// Causal attention with an online softmax, as FlashAttention has it: O = softmax(scale Q K^T) V of f16 with
// heads of 32, and the logarithm of each row's sum. A block of two warps has 32 rows and goes over the keys 32
// at a time. mma.sync, ldmatrix with and without .trans, ex2.approx and lg2.approx, shuffles among four lanes,
// cvt to f16x2.
#include <cstdint>

namespace kernel {

constexpr int kHead = 32, kKeys = 32, kRow = kHead + 8;

__device__ unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#define LDMATRIX(form, r, p)                                                              \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" form ".shared.b16 {%0, %1, %2, %3}, [%4];" \
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                           \
               : "r"(shared_address(p))                                                   \
               : "memory")

__device__ float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ unsigned pack(float low, float high) {
  unsigned r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

// Rows `first` to `first` + 31 of 32 elements; zeros beyond the last row.
__device__ void load(uint16_t (*to)[kRow], const uint16_t* from, int first, int rows) {
  for (int i = threadIdx.x; i < 32 * kHead / 8; i += blockDim.x) {
    uint4 chunk = {};
    if (first + i / 4 < rows)
      chunk = *reinterpret_cast<const uint4*>(from + (first + i / 4) * kHead + i % 4 * 8);
    *reinterpret_cast<uint4*>(&to[i / 4][i % 4 * 8]) = chunk;
  }
}

// What a thread has of its warp's 16 rows: rows lane / 4 and 8 further.
struct Rows {
  float out[kHead / 8][4], most[2], sum[2];
};

// Products of the warp's queries with 32 keys; minus infinity where a key is later than its query, or beyond
// the last.
__device__ void scores(float (&s)[kKeys / 8][4], const unsigned (&q)[2][4], uint16_t (*keys)[kRow], int query,
                       int key, int length) {
  const int lane = threadIdx.x % 32;
  for (int j = 0; j < kKeys / 8; ++j) {
    unsigned k[4];
    LDMATRIX("", k, &keys[8 * j + lane % 8][lane / 8 * 8]);
    for (int i = 0; i < 4; ++i) s[j][i] = 0;
    mma(s[j], q[0], k[0], k[1]);
    mma(s[j], q[1], k[2], k[3]);
    for (int i = 0; i < 4; ++i) {
      const int at = key + 8 * j + lane % 4 * 2 + i % 2;
      if (at > query + lane / 4 + i / 2 * 8 || at >= length) s[j][i] = -__int_as_float(0x7f800000);
    }
  }
}

// Scales what was there to the new maximum, and makes weights of the scores.
__device__ void soften(Rows& r, float (&s)[kKeys / 8][4], float scale) {
  for (int half = 0; half < 2; ++half) {
    float most = r.most[half];
    for (int j = 0; j < kKeys / 8; ++j) most = fmaxf(most, fmaxf(s[j][2 * half], s[j][2 * half + 1]));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
    const float factor = exp2_approx((r.most[half] - most) * scale);
    float sum = 0;
    for (int j = 0; j < kKeys / 8; ++j)
      for (int i = 2 * half; i < 2 * half + 2; ++i)
        sum += s[j][i] = exp2_approx(s[j][i] * scale - most * scale);
    r.sum[half] = r.sum[half] * factor + sum;
    r.most[half] = most;
    for (int j = 0; j < kHead / 8; ++j)
      for (int i = 2 * half; i < 2 * half + 2; ++i) r.out[j][i] *= factor;
  }
}

// Adds weights times values: the accumulators of two tiles of scores are one fragment of A.
__device__ void add_values(Rows& r, const float (&s)[kKeys / 8][4], uint16_t (*values)[kRow]) {
  const int lane = threadIdx.x % 32;
  for (int key = 0; key < kKeys; key += 16) {
    const float(*p)[4] = &s[key / 8];
    const unsigned a[4] = {pack(p[0][0], p[0][1]), pack(p[0][2], p[0][3]), pack(p[1][0], p[1][1]),
                           pack(p[1][2], p[1][3])};
    for (int j = 0; j < kHead / 8; j += 2) {
      unsigned v[4];
      LDMATRIX(".trans", v, &values[key + lane % 16][8 * j + lane / 16 * 8]);
      mma(r.out[j], a, v[0], v[1]);
      mma(r.out[j + 1], a, v[2], v[3]);
    }
  }
}

// A quarter of the row's sum in each of four lanes.
__device__ void store(const Rows& r, unsigned* o, float* logs, int query, int length, float scale) {
  const int lane = threadIdx.x % 32;
  for (int half = 0; half < 2; ++half) {
    float sum = r.sum[half];
    sum += __shfl_xor_sync(~0u, sum, 1);
    sum += __shfl_xor_sync(~0u, sum, 2);
    const int row = query + lane / 4 + 8 * half;
    if (row >= length) continue;
    const float inverse = __fdividef(1.0f, sum);
    for (int j = 0; j < kHead / 8; ++j)
      o[row * (kHead / 2) + 4 * j + lane % 4] =
          pack(r.out[j][2 * half] * inverse, r.out[j][2 * half + 1] * inverse);
    if (lane % 4 == 0) logs[row] = r.most[half] * scale + __log2f(sum);
  }
}

// Each of Q, K, V and O: heads x length x 32. `scale` is for exponents of two.
extern "C" __global__ void attention(const uint16_t* q, const uint16_t* k, const uint16_t* v, unsigned* o,
                                     float* logs, int length, float scale) {
  __shared__ __align__(16) uint16_t queries[32][kRow], keys[kKeys][kRow], values[kKeys][kRow];
  const int head = blockIdx.y * length * kHead, first = blockIdx.x * 32;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  load(queries, q + head, first, length);
  __syncthreads();
  unsigned a[2][4];
  for (int i = 0; i < 2; ++i) LDMATRIX("", a[i], &queries[16 * warp + lane % 16][16 * i + lane / 16 * 8]);

  Rows r = {};
  r.most[0] = r.most[1] = -__int_as_float(0x7f800000);
  for (int key = 0; key <= first; key += kKeys) {
    __syncthreads();
    load(keys, k + head, key, length);
    load(values, v + head, key, length);
    __syncthreads();
    float s[kKeys / 8][4];
    scores(s, a, keys, first + 16 * warp, key, length);
    soften(r, s, scale);
    add_values(r, s, values);
  }
  store(r, o + head / 2, logs + blockIdx.y * length, first + 16 * warp, length, scale);
}

}  // namespace kernel
