// SPDX-License-Identifier: Apache-2.0
// What the kernels of hopper_*.cu have in common: instructions of sm_90a under short names. Addresses of
// shared memory are numbers of 32 bits, barriers are addresses of 64-bit words there. Tiles have rows of 128
// bytes with the 128-byte swizzle, as a tensor map lays them: they begin at multiples of 1024 bytes.
#pragma once

#include <cstdint>

namespace kernel {

struct alignas(64) TensorMap {
  uint64_t words[16];
};

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ inline bool elect() {
  unsigned elected;
  asm volatile(
      "{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(elected));
  return elected != 0;
}

// The same place in a block of the cluster.
__device__ inline unsigned at_rank(unsigned address, unsigned rank) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}

// ---- barriers

__device__ inline void init(unsigned barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Initialised barriers are seen by the asynchronous proxy and the cluster.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ inline void arrive_expecting(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// The barrier at the same place in a block of the cluster.
__device__ inline void arrive_at(unsigned barrier, unsigned rank) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}

// Until the phase of this parity is complete.
__device__ inline void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra over;\nbra again;\nover:\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// The same for arrivals from other blocks.
__device__ inline void wait_cluster(unsigned barrier, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ inline void barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ inline void barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ inline unsigned cluster_rank() {
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ inline void fence_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- bulk copies

__device__ inline void load(unsigned to, const TensorMap& map, int x, int y, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

__device__ inline void load(unsigned to, const TensorMap& map, int x, int y, int z, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3, %4}], [%5];" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(z), "r"(barrier)
      : "memory");
}

// To the same place in each block of the cluster whose bit is set; so are the bytes counted there.
__device__ inline void load_multicast(unsigned to, const TensorMap& map, int x, int y, unsigned barrier,
                                      uint16_t blocks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks)
      : "memory");
}

__device__ inline void store(const TensorMap& map, int x, int y, unsigned from) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
               "r"(x), "r"(y), "r"(from)
               : "memory");
}

__device__ inline void commit_bulk() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Until all groups have read their sources.
__device__ inline void wait_bulk_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

__device__ inline void wait_bulk() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

__device__ inline void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// ---- wgmma

// Swizzle of 128 bytes; eight rows of 128 bytes lie one after the other. The leading offset has no effect.
__device__ inline uint64_t descriptor(unsigned address) {
  return uint64_t{1} << 62 | uint64_t{1024 / 16} << 32 | uint64_t{1} << 16 | (address & 0x3FFFF) / 16;
}

__device__ inline void fence_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ inline void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int pending>
__device__ inline void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

#define KERNEL_SUMS                                                                                       \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
#define KERNEL_FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define KERNEL_OPERANDS(d)                                                                         \
  KERNEL_FOUR(d, 0), KERNEL_FOUR(d, 4), KERNEL_FOUR(d, 8), KERNEL_FOUR(d, 12), KERNEL_FOUR(d, 16), \
      KERNEL_FOUR(d, 20), KERNEL_FOUR(d, 24), KERNEL_FOUR(d, 28)

// D (64 x 64) += A B of bf16, both with K in a row; scale_d 0 drops the sums that were.
__device__ inline void product_bf16(float (&d)[32], uint64_t a, uint64_t b, int scale_d) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " KERNEL_SUMS "%32, %33, p, 1, 1, 0, 0;\n}"
      : KERNEL_OPERANDS(d)
      : "l"(a), "l"(b), "r"(scale_d)
      : "memory");
}

// A from registers; B with N in a row.
__device__ inline void product_bf16(float (&d)[32], const unsigned (&a)[4], uint64_t b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " KERNEL_SUMS
      "{%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
      : KERNEL_OPERANDS(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)
      : "memory");
}

__device__ inline void product_e4m3(float (&d)[32], uint64_t a, uint64_t b, int scale_d) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " KERNEL_SUMS "%32, %33, p, 1, 1;\n}"
      : KERNEL_OPERANDS(d)
      : "l"(a), "l"(b), "r"(scale_d)
      : "memory");
}

// A has two of each four columns; lanes 2 selector and 2 selector + 1 of each four give `metadata`.
template <int selector>
__device__ inline void product_sparse_f16(float (&d)[32], uint64_t a, uint64_t b, unsigned metadata,
                                          int scale_d) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %35, 0;\n"
      "wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16 " KERNEL_SUMS
      "%32, %33, %34, %36, p, 1, 1, 0, 0;\n}"
      : KERNEL_OPERANDS(d)
      : "l"(a), "l"(b), "r"(metadata), "r"(scale_d), "n"(selector)
      : "memory");
}

// The products of a step of 64 bf16 (128 bytes) of K. `first` drops the sums that were.
__device__ inline void products_of_step(float (&d)[32], unsigned a, unsigned b, bool first) {
#pragma unroll
  for (int k = 0; k < 4; ++k) product_bf16(d, descriptor(a + 32 * k), descriptor(b + 32 * k), !first || k > 0);
}

// Sum i of a lane is in this row and column of the 64 x 64.
__device__ inline int row_of(int i) {
  return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
}

__device__ inline int column_of(int i) {
  return threadIdx.x % 4 * 2 + i % 2 + i / 4 * 8;
}

// Two bf16, the first in the lower half.
__device__ inline unsigned pack_bf16(float low, float high) {
  unsigned out;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

}  // namespace kernel
