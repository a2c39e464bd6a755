// SPDX-License-Identifier: Apache-2.0
// Bulk copies without a tensor map, and reductions in bulk: into memory, by address and by a tensor map, and
// into shared memory of the other block of a cluster. Every element is reduced once. A block for each kind; hints
// of caches and prefetches change nothing.
#include "hopper.cuh"

namespace kernel {

constexpr int kThreads = 64, kBytes = 512, kWords = kBytes / 4;

#define REDUCE(operation, to)                                                                                \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." operation " [%0], [%1], %2;" ::"l"(to), \
               "r"(from), "n"(kBytes)                                                                        \
               : "memory")
#define REDUCE_SHARED(operation)                                                                          \
  asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." operation \
               " [%0], [%1], %2, [%3];" ::"r"(to),                                                        \
               "r"(from), "n"(kBytes), "r"(barrier)                                                       \
               : "memory")
#define REDUCE_TENSOR(operation)                                              \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." operation \
               ".tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),          \
               "r"(4), "r"(2 * static_cast<int>(kind)), "r"(from)             \
               : "memory")

__device__ void reduce(uint8_t* to, unsigned from, unsigned kind) {
  switch (kind) {
    case 0: REDUCE("add.f32", to); break;
    case 1: REDUCE("add.noftz.f16", to); break;
    case 2: REDUCE("add.noftz.bf16", to); break;
    case 3: REDUCE("add.f64", to); break;
    case 4: REDUCE("min.f16", to); break;
    case 5: REDUCE("max.bf16", to); break;
    case 6: REDUCE("add.u32", to); break;
    case 7: REDUCE("min.s32", to); break;
    case 8: REDUCE("max.u64", to); break;
    case 9: REDUCE("min.s64", to); break;
    case 10: REDUCE("inc.u32", to); break;
    case 11: REDUCE("dec.u32", to); break;
    case 12: REDUCE("and.b32", to); break;
    case 13: REDUCE("or.b64", to); break;
    case 14: REDUCE("xor.b32", to); break;
    case 15: REDUCE("add.u64", to); break;
  }
}

__device__ void reduce_shared(unsigned to, unsigned from, unsigned barrier, unsigned kind) {
  switch (kind % 8) {
    case 0: REDUCE_SHARED("add.u32"); break;
    case 1: REDUCE_SHARED("min.s32"); break;
    case 2: REDUCE_SHARED("max.u32"); break;
    case 3: REDUCE_SHARED("inc.u32"); break;
    case 4: REDUCE_SHARED("dec.u32"); break;
    case 5: REDUCE_SHARED("and.b32"); break;
    case 6: REDUCE_SHARED("xor.b32"); break;
    case 7: REDUCE_SHARED("add.u64"); break;
  }
}

// The box of the map is 32 x 2 words, of which the last four columns are not in memory.
__device__ void reduce_tensor(const TensorMap& map, unsigned from, unsigned kind) {
  switch (kind % 8) {
    case 0: REDUCE_TENSOR("add"); break;
    case 1: REDUCE_TENSOR("min"); break;
    case 2: REDUCE_TENSOR("max"); break;
    case 3: REDUCE_TENSOR("inc"); break;
    case 4: REDUCE_TENSOR("dec"); break;
    case 5: REDUCE_TENSOR("and"); break;
    case 6: REDUCE_TENSOR("or"); break;
    case 7: REDUCE_TENSOR("xor"); break;
  }
}

// Rows of 512 bytes: `from`, what is added; `memory`, `shared` (by the other block) and what the map is of, what it
// is added to. `copy` is a plain copy.
extern "C" __global__ void __launch_bounds__(kThreads)
    hopper_bulk_copies(const uint8_t* from, uint8_t* memory, unsigned* shared, uint8_t* copy,
                       const __grid_constant__ TensorMap map) {
  __shared__ __align__(128) uint8_t source[kBytes];
  __shared__ __align__(128) unsigned target[kWords];
  __shared__ uint64_t barriers[2];
  const unsigned kind = blockIdx.x, first = shared_address(barriers), second = first + 8,
                 at = shared_address(source), other = cluster_rank() ^ 1;
  const uint8_t* const mine = from + kind * kBytes;
  for (int i = threadIdx.x; i < kWords; i += kThreads) target[i] = shared[kind * kWords + i];
  fence_async_shared();
  if (threadIdx.x == 0) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(mine), "n"(kBytes) : "memory");
    asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %1}];" ::"l"(&map), "r"(0)
                 : "memory");
    prefetch(map);
    init(first, 1);
    init(second, 1);
    fence_barriers();
    arrive_expecting(first, kBytes);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], "
        "%4;" ::"r"(at),
        "l"(mine), "n"(kBytes), "r"(first), "l"(policy)
        : "memory");
  }
  cluster_sync();
  wait(first, 0);
  if (threadIdx.x == 0) {
    reduce(memory + kind * kBytes, at, kind);
    commit_bulk();
    if (kind < 8) reduce_tensor(map, at, kind);
    commit_bulk();
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(copy + kind * kBytes),
                 "r"(at), "n"(kBytes)
                 : "memory");
    commit_bulk();
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    arrive_expecting(second, kBytes);
    reduce_shared(at_rank(shared_address(target), other), at, at_rank(second, other), kind);
    wait_bulk();
  }
  wait_cluster(second, 0);
  for (int i = threadIdx.x; i < kWords; i += kThreads) shared[kind * kWords + i] = target[i];
  cluster_sync();  // a block's shared memory is there until the other one is done
}

}  // namespace kernel
