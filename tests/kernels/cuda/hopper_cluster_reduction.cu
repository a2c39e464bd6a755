// SPDX-License-Identifier: Apache-2.0
// Rows to mean 0 and variance 1 by clusters of four blocks, a quarter of a row each, through each other's
// shared memory: sums are read there (ld.shared::cluster and generic loads), those of squares are sent
// (st.async), and counts of integers are made where all send (red.async, atom). Sums are added in the order
// of the blocks. `counts` and `places` show what arrived.
#include "hopper.cuh"

namespace kernel {

constexpr int kBlocks = 4, kThreads = 128, kPart = 256;

__device__ float load_there(unsigned there) {
  float x;
  asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(there) : "memory");
  return x;
}

__device__ void send(unsigned to, float x, unsigned barrier) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.f32 [%0], %1, [%2];" ::"r"(to),
               "f"(x), "r"(barrier)
               : "memory");
}

__device__ void send(unsigned to, uint4 x, unsigned barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
          to),
      "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w), "r"(barrier)
      : "memory");
}

#define SEND_TO_REDUCE(operation, to, constraint, x, barrier)                                      \
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." operation \
               " [%0], %1, [%2];" ::"r"(to),                                                       \
               constraint(x), "r"(barrier)                                                         \
               : "memory")

__device__ unsigned special(int i) {
  unsigned x[8];
  asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x[0]));
  asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(x[1]));
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(x[2]));
  asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(x[3]));
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(x[4]));
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(x[5]));
  asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(x[6]));
  asm volatile("{\n.reg .pred p;\nmov.pred p, %%is_explicit_cluster;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(x[7]));
  return x[i];
}

struct Shared {
  float sum, squares[kBlocks], warps[kThreads / 32];
  int negative, most;
  unsigned mask, parity;
  unsigned long long total;
  unsigned at_once;
  uint4 message[kBlocks];
  uint64_t barrier;
};

// Of the block, in all threads.
__device__ float sum_of_block(float x, float* warps) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
  __syncthreads();
  x = (warps[0] + warps[1]) + (warps[2] + warps[3]);
  __syncthreads();
  return x;
}

extern "C" __global__ void __cluster_dims__(kBlocks, 1, 1) __launch_bounds__(kThreads)
    hopper_cluster_reduction(const float* from, float* to, const int* words, unsigned long long* counts,
                             unsigned* places) {
  __shared__ __align__(16) Shared here;
  const unsigned rank = cluster_rank(), barrier = shared_address(&here.barrier), t = threadIdx.x;
  const int at = (blockIdx.y * kBlocks + rank) * kPart + t;
  const float x = from[at], y = from[at + kThreads];
  if (t == 0) {
    init(barrier, 1);
    here.negative = here.mask = here.parity = here.total = here.at_once = 0;
    here.most = INT32_MIN;
    fence_barriers();
    // From each block: a sum of squares, a message, four words to reduce and one of 64 bits.
    arrive_expecting(barrier, kBlocks * (4 + 16 + 4 * 4 + 8));
  }
  const float sum = sum_of_block(x + y, here.warps);
  if (t == 0) here.sum = sum;
  cluster_sync();

  float mean = 0;
  for (unsigned r = 0; r < kBlocks; ++r) mean += load_there(at_rank(shared_address(&here.sum), r));
  mean /= kBlocks * kPart;
  const float dx = x - mean, dy = y - mean;
  const float squares = sum_of_block(dx * dx + dy * dy, here.warps);
  if (t < kBlocks) {
    const unsigned there = at_rank(barrier, t);
    const int word = words[(blockIdx.y * kBlocks + rank) * kBlocks + t];
    send(at_rank(shared_address(&here.squares[rank]), t), squares, there);
    send(at_rank(shared_address(&here.message[rank]), t), uint4{rank, t, blockIdx.y, __float_as_uint(sum)},
         there);
    SEND_TO_REDUCE("add.s32", at_rank(shared_address(&here.negative), t), "r", word < 0 ? 1 : 0, there);
    SEND_TO_REDUCE("max.s32", at_rank(shared_address(&here.most), t), "r", word, there);
    SEND_TO_REDUCE("or.b32", at_rank(shared_address(&here.mask), t), "r", 1u << (4 * rank + t), there);
    SEND_TO_REDUCE("xor.b32", at_rank(shared_address(&here.parity), t), "r", word, there);
    SEND_TO_REDUCE("add.u64", at_rank(shared_address(&here.total), t), "l", static_cast<int64_t>(word), there);
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(
                     at_rank(shared_address(&here.at_once), t)),
                 "r"(rank + 1)
                 : "memory");
  }
  wait_cluster(barrier, 0);
  float variance = 0;
  for (int r = 0; r < kBlocks; ++r) variance += here.squares[r];
  variance /= kBlocks * kPart;
  float factor;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(factor) : "f"(variance + 1e-5f));
  to[at] = dx * factor;
  to[at + kThreads] = dy * factor;
  cluster_sync();  // what was added at once is there

  const int block = blockIdx.y * kBlocks + rank;
  if (t < 6) {
    const unsigned long long all[6] = {static_cast<unsigned>(here.negative),
                                       static_cast<unsigned>(here.most),
                                       here.mask,
                                       here.parity,
                                       here.total,
                                       here.at_once};
    counts[block * 6 + t] = all[t];
  }
  if (t < 8) places[block * 28 + t] = special(t);
  if (t < kBlocks) {
    // The neighbour's messages, by a generic address of its shared memory.
    uint64_t there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&here.message[t]), "r"((rank + 1) % kBlocks));
    const uint4 message = *reinterpret_cast<const uint4*>(there);
    unsigned* const row = places + block * 28 + 8 + 5 * t;
    unsigned owner;
    asm volatile("getctarank.u64 %0, %1;" : "=r"(owner) : "l"(there));
    row[0] = message.x, row[1] = message.y, row[2] = message.z, row[3] = message.w, row[4] = owner;
  }
  cluster_sync();  // no block ends before its memory is read
}

}  // namespace kernel
