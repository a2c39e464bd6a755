// SPDX-License-Identifier: Apache-2.0
// O = softmax(Q K^T) V of bf16, causal, a head of 64 for each block row: one warp copies, two warpgroups
// compute 64 queries each. They issue their products in turn, so that one computes its softmax while the
// other multiplies; the probabilities stay in registers. `logs` gets the logarithms (base 2) of the sums.
#include "hopper.cuh"

namespace kernel {

constexpr int kSize = 64, kKeys = 64, kStages = 2, kThreads = 384;
constexpr unsigned kTileBytes = 64 * kSize * 2;

struct Places {
  unsigned q, k, v, queries, full_k, full_v, empty_k, empty_v;

  __device__ explicit Places(unsigned at)
      : q(at),
        k(q + 2 * kTileBytes),
        v(k + kStages * kTileBytes),
        queries(v + kStages * kTileBytes),
        full_k(queries + 8),
        full_v(full_k + 8 * kStages),
        empty_k(full_v + 8 * kStages),
        empty_v(empty_k + 8 * kStages) {}
};

__device__ void produce(const TensorMap& q, const TensorMap& k, const TensorMap& v, const Places& at,
                        int blocks) {
  arrive_expecting(at.queries, 2 * kTileBytes);
  for (int half = 0; half < 2; ++half)
    load(at.q + half * kTileBytes, q, 0, blockIdx.x * 128 + half * 64, blockIdx.y, at.queries);
  for (int j = 0; j < blocks; ++j) {
    const unsigned stage = j % kStages, parity = j / kStages % 2 ^ 1;
    wait(at.empty_k + 8 * stage, parity);
    arrive_expecting(at.full_k + 8 * stage, kTileBytes);
    load(at.k + stage * kTileBytes, k, 0, j * kKeys, blockIdx.y, at.full_k + 8 * stage);
    wait(at.empty_v + 8 * stage, parity);
    arrive_expecting(at.full_v + 8 * stage, kTileBytes);
    load(at.v + stage * kTileBytes, v, 0, j * kKeys, blockIdx.y, at.full_v + 8 * stage);
  }
}

__device__ float exp2_approx(float x) {
  asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
  return x;
}

// Of the four lanes that share a row.
template <class Function>
__device__ float over_row(float x, Function function) {
  x = function(x, __shfl_xor_sync(~0u, x, 1));
  return function(x, __shfl_xor_sync(~0u, x, 2));
}

struct Softmax {
  float scale, most[2] = {-INFINITY, -INFINITY}, sum[2] = {};

  // Scores to probabilities; what was computed with a smaller maximum is scaled.
  __device__ void operator()(float (&s)[32], float (&o)[32]) {
    for (int h = 0; h < 2; ++h) {
      float top = most[h];
      for (int i = 0; i < 32; ++i)
        if (i / 2 % 2 == h) top = fmaxf(top, s[i]);
      top = over_row(top, fmaxf);
      const float again = exp2_approx((most[h] - top) * scale), shift = -top * scale;
      most[h] = top;
      sum[h] *= again;
      for (int i = 0; i < 32; ++i)
        if (i / 2 % 2 == h) {
          s[i] = exp2_approx(fmaf(s[i], scale, shift));
          sum[h] += s[i];
          o[i] *= again;
        }
    }
  }
};

__device__ void consume(const Places& at, int which, int queries, int keys, float scale, uint16_t* out,
                        float* logs) {
  const int blocks = (keys + kKeys - 1) / kKeys, row = blockIdx.x * 128 + which * 64;
  float o[32] = {}, s[32] = {};
  Softmax softmax{scale};
  wait(at.queries, 0);
  for (int j = 0; j < blocks; ++j) {
    const unsigned stage = j % kStages, parity = j / kStages % 2;
    wait(at.full_k + 8 * stage, parity);
    if (j > 0 || which > 0) barrier_sync(1 + which, 256);
    fence_products();
    products_of_step(s, at.q + which * kTileBytes, at.k + stage * kTileBytes, true);
    commit_products();
    if (j + 1 < blocks || which == 0) barrier_arrive(2 - which, 256);
    wait_products<0>();
    if (threadIdx.x % 32 == 0) arrive(at.empty_k + 8 * stage);

    for (int i = 0; i < 32; ++i) {
      const int key = j * kKeys + column_of(i);
      if (key >= keys || key > row + row_of(i) + keys - queries) s[i] = -INFINITY;
    }
    softmax(s, o);
    unsigned p[16];
    for (int i = 0; i < 16; ++i) p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);

    wait(at.full_v + 8 * stage, parity);
    fence_products();
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const unsigned a[4] = {p[4 * k], p[4 * k + 1], p[4 * k + 2], p[4 * k + 3]};
      product_bf16(o, a, descriptor(at.v + stage * kTileBytes + k * 2048));
    }
    commit_products();
    wait_products<0>();
    if (threadIdx.x % 32 == 0) arrive(at.empty_v + 8 * stage);
  }
  for (int h = 0; h < 2; ++h) {
    const int query = row + row_of(2 * h);
    const float sum = over_row(softmax.sum[h], [](float x, float y) { return x + y; });
    float factor, log;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(factor) : "f"(sum));
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log) : "f"(sum));
    if (query >= queries) continue;
    if (threadIdx.x % 4 == 0) logs[blockIdx.y * queries + query] = fmaf(softmax.most[h], scale, log);
    unsigned* const to = reinterpret_cast<unsigned*>(out + (blockIdx.y * queries + query) * kSize);
    for (int i = 2 * h; i < 32; i += 4) to[column_of(i) / 2] = pack_bf16(o[i] * factor, o[i + 1] * factor);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    hopper_attention(const __grid_constant__ TensorMap map_q, const __grid_constant__ TensorMap map_k,
                     const __grid_constant__ TensorMap map_v, uint16_t* out, float* logs, int queries, int keys,
                     float scale) {
  extern __shared__ __align__(1024) uint8_t dynamic[];
  const Places at(shared_address(dynamic));
  if (threadIdx.x == 0) {
    init(at.queries, 1);
    for (int stage = 0; stage < kStages; ++stage) {
      init(at.full_k + 8 * stage, 1);
      init(at.full_v + 8 * stage, 1);
      init(at.empty_k + 8 * stage, 8);
      init(at.empty_v + 8 * stage, 8);
    }
    fence_barriers();
  }
  __syncthreads();
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x / 32 == 0 && elect()) produce(map_q, map_k, map_v, at, (keys + kKeys - 1) / kKeys);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    consume(at, threadIdx.x / 128 - 1, queries, keys, scale, out, logs);
  }
}

}  // namespace kernel
