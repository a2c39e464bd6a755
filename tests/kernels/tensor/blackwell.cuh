// SPDX-License-Identifier: Apache-2.0
// What the kernels here have in common: instructions of sm_100a under short names.
#pragma once

#include "../cuda/hopper.cuh"

namespace kernel {

// ---- tensor memory: 128 lanes of 512 columns

template <int group>
__device__ inline void allocate(unsigned to, unsigned columns) {
  if constexpr (group == 1)
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to), "r"(columns)
                 : "memory");
  else
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(to), "r"(columns)
                 : "memory");
}

template <int group>
__device__ inline void deallocate(unsigned address, unsigned columns) {
  if constexpr (group == 1)
    asm volatile(
        "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n"
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address),
        "r"(columns)
        : "memory");
  else
    asm volatile(
        "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;\n"
        "tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address),
        "r"(columns)
        : "memory");
}

struct Words8 {
  unsigned word[8];
};

// Eight columns of the warp's 32 lanes.
__device__ inline Words8 load_columns(unsigned address) {
  Words8 x;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x8.b32 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8];"
               : "=r"(x.word[0]), "=r"(x.word[1]), "=r"(x.word[2]), "=r"(x.word[3]), "=r"(x.word[4]),
                 "=r"(x.word[5]), "=r"(x.word[6]), "=r"(x.word[7])
               : "r"(address)
               : "memory");
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  return x;
}

__device__ inline void store_columns(unsigned address, const Words8& x) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x8.b32 [%8], {%0, %1, %2, %3, %4, %5, %6, %7};" ::"r"(x.word[0]),
               "r"(x.word[1]), "r"(x.word[2]), "r"(x.word[3]), "r"(x.word[4]), "r"(x.word[5]), "r"(x.word[6]),
               "r"(x.word[7]), "r"(address)
               : "memory");
}

__device__ inline void store_column(unsigned address, unsigned word) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(address), "r"(word) : "memory");
}

__device__ inline void wait_stores() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

__device__ inline void before_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
__device__ inline void after_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

// All threads of the block, or of both of a pair.
template <int group>
__device__ inline void sync_all() {
  before_sync();
  if constexpr (group == 1)
    __syncthreads();
  else
    cluster_sync();
  after_sync();
}

// An arrival when all that this thread has issued is complete: at the barrier of the block, or of both.
template <int group>
__device__ inline void commit(unsigned barrier) {
  if constexpr (group == 1)
    asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
                 : "memory");
  else
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%0], %1;" ::
            "r"(barrier),
        "h"(static_cast<unsigned short>(3))
        : "memory");
}

// Bits 0-13 start, 16-29 leading and 32-45 stride byte offset, 46-48 version, 61-63 swizzle.
__device__ inline unsigned long long matrix_descriptor(unsigned start, int leading, int stride, int swizzle) {
  return static_cast<unsigned long long>((start & 0x3FFFF) >> 4) |
         static_cast<unsigned long long>((leading & 0x3FFFF) >> 4) << 16 |
         static_cast<unsigned long long>((stride & 0x3FFFF) >> 4) << 32 | 1ULL << 46 |
         static_cast<unsigned long long>(swizzle) << 61;
}

}  // namespace kernel
