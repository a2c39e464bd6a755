// SPDX-License-Identifier: Apache-2.0
// Hopper's asynchronous machine for kernels' source: barrier objects, bulk and tensor copies, clusters (PTX manual,
// "mbarrier", "cp.async.bulk", "barrier.cluster"). From sm_90 on. Without a GPU, src/async/ASYNCHRONOUS.md has what happens
// when, and which faults there are: barrier_misused, phase_mistaken, copy_pending, data_race, never_written,
// protocol_violation, deadlock, address_out_of_bounds, address_misaligned, descriptor_field,
// undefined_operand, not_on_target.
//
//     const SharedArray<Mbarrier> full = shared_array<Mbarrier>(0, 1);
//     if (threadIdx.x == 0) {
//       mbarrier_init(full, 1);
//       fence_mbarrier_init();
//     }
//     __syncthreads();
//     if (threadIdx.x == 0) {
//       mbarrier_arrive_expect_tx(full, kBytes);
//       cp_async_bulk_tensor_global_to_shared(tile, map, {column, row}, full);
//     }
//     mbarrier_wait_parity(full, 0);
#pragma once

#include <type_traits>

#include "warpbit/device/forms.hpp"

namespace warpbit::device {

// ---- Clusters (Launch::cluster; cudaLaunchAttributeClusterDimension)

/// The rank of the block in its cluster.
WARPBIT_DEVICE unsigned cluster_ctarank(Place at = Place::here()) {
  WARPBIT_EITHER(return special_cluster_ctarank(), return calls::cluster_ctarank(at));
}
/// Its index in the cluster.
WARPBIT_DEVICE Index3 cluster_ctaid(Place at = Place::here()) {
  WARPBIT_EITHER(return special_cluster_ctaid(), return calls::cluster_ctaid(at));
}
/// The cluster's size in blocks.
WARPBIT_DEVICE Index3 cluster_nctaid(Place at = Place::here()) {
  WARPBIT_EITHER(return special_cluster_nctaid(), return calls::cluster_nctaid(at));
}
/// The same array in the shared memory of another block of the cluster. Loads, stores, arrivals and copies may use it, when
/// that block has begun, and before it ends: a barrier_cluster must lie between.
template <class T>
WARPBIT_DEVICE SharedArray<T> mapa(SharedArray<T> array, unsigned rank, Place at = Place::here()) {
  WARPBIT_EITHER(return mapped(array, rank), return SharedArray<T>(calls::mapa(array.view, rank, at)));
}

/// All threads of the cluster that have not ended must arrive, and what they did before is ordered before what follows the
/// wait. Each thread waits before it arrives again.
WARPBIT_DEVICE void barrier_cluster_arrive(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("barrier.cluster.arrive.release;" ::
                                  : "memory"),
                 calls::barrier_cluster_arrive(true, at));
}
/// The same without an order of what came before, but for what a fence_mbarrier_init has ordered.
WARPBIT_DEVICE void barrier_cluster_arrive_relaxed(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("barrier.cluster.arrive.relaxed;" ::
                                  : "memory"),
                 calls::barrier_cluster_arrive(false, at));
}
/// Waits until all have arrived.
WARPBIT_DEVICE void barrier_cluster_wait(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("barrier.cluster.wait.acquire;" ::: "memory"), calls::barrier_cluster_wait(at));
}
/// Both.
WARPBIT_DEVICE void cluster_sync(Place at = Place::here()) {
  barrier_cluster_arrive(at);
  barrier_cluster_wait(at);
}

// ---- Barrier objects. A phase is complete when as many arrivals have come as mbarrier_init expects, and all bytes that
// arrivals have announced; then the next one begins. The first phase has parity 0.

/// A barrier object lies in 8 bytes of shared memory.
using Mbarrier = std::uint64_t;

/// Begins an object of the own block that expects `count` arrivals in each phase: 1 to 2^20 - 1.
WARPBIT_DEVICE void mbarrier_init(SharedArray<Mbarrier> object, std::uint32_t count, Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(object)), "r"(count)
                   : "memory"),
      calls::mbarrier(calls::Mbarrier::init, object.view, count, at));
}
/// Ends an object of the own block: the bytes may be used for other things.
WARPBIT_DEVICE void mbarrier_inval(SharedArray<Mbarrier> object, Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shared_address(object))
                              : "memory"),
                 calls::mbarrier(calls::Mbarrier::inval, object.view, 0, at));
}
/// Orders the thread's mbarrier_init before the use by other blocks and by copies.
WARPBIT_DEVICE void fence_mbarrier_init(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("fence.mbarrier_init.release.cluster;" ::
                                  : "memory"),
                 calls::fence_mbarrier_init(at));
}

/// Arrives `count` times at an object of the own block; returns the state of the phase for mbarrier_wait.
WARPBIT_DEVICE std::uint64_t mbarrier_arrive(SharedArray<Mbarrier> object, std::uint32_t count = 1,
                                             Place at = Place::here()) {
  std::uint64_t state;
  WARPBIT_EITHER(asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;"
                              : "=l"(state)
                              : "r"(shared_address(object)), "r"(count)
                              : "memory"),
                 state = calls::mbarrier(calls::Mbarrier::arrive, object.view, count, at));
  return state;
}
/// The same, and the phases that follow expect `count` arrivals less.
WARPBIT_DEVICE std::uint64_t mbarrier_arrive_drop(SharedArray<Mbarrier> object, std::uint32_t count = 1,
                                                  Place at = Place::here()) {
  std::uint64_t state;
  WARPBIT_EITHER(asm volatile("mbarrier.arrive_drop.release.cta.shared::cta.b64 %0, [%1], %2;"
                              : "=l"(state)
                              : "r"(shared_address(object)), "r"(count)
                              : "memory"),
                 state = calls::mbarrier(calls::Mbarrier::arrive_drop, object.view, count, at));
  return state;
}
/// Expects `bytes` more bytes in this phase of an object of the own block, up to 2^20 - 1 together, and arrives once.
WARPBIT_DEVICE std::uint64_t mbarrier_arrive_expect_tx(SharedArray<Mbarrier> object, std::uint32_t bytes,
                                                       Place at = Place::here()) {
  std::uint64_t state;
  WARPBIT_EITHER(asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %0, [%1], %2;"
                              : "=l"(state)
                              : "r"(shared_address(object)), "r"(bytes)
                              : "memory"),
                 state = calls::mbarrier(calls::Mbarrier::arrive_expect_tx, object.view, bytes, at));
  return state;
}
/// Arrives at an object of any block of the cluster (mapa).
WARPBIT_DEVICE void mbarrier_arrive_cluster(SharedArray<Mbarrier> object, std::uint32_t count = 1,
                                            Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(
                                  cluster_address(object)),
                              "r"(count)
                              : "memory"),
                 calls::mbarrier(calls::Mbarrier::arrive_cluster, object.view, count, at));
}
/// Expects `bytes` more bytes in this phase of an object of the own block, up to 2^20 - 1 together.
WARPBIT_DEVICE void mbarrier_expect_tx(SharedArray<Mbarrier> object, std::uint32_t bytes,
                                       Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(object)),
                   "r"(bytes)
                   : "memory"),
      calls::mbarrier(calls::Mbarrier::expect_tx, object.view, bytes, at));
}
/// Counts bytes on an object of the own block, as a copy does.
WARPBIT_DEVICE void mbarrier_complete_tx(SharedArray<Mbarrier> object, std::uint32_t bytes,
                                         Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(object)),
                   "r"(bytes)
                   : "memory"),
      calls::mbarrier(calls::Mbarrier::complete_tx, object.view, bytes, at));
}
/// Arrives when the thread's cp.async up to now are done; the phase expects one arrival more.
WARPBIT_DEVICE void cp_async_mbarrier_arrive(SharedArray<Mbarrier> object, Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(object))
                              : "memory"),
                 calls::mbarrier(calls::Mbarrier::cp_async_arrive, object.view, 0, at));
}
/// The same; the arrival is one of those that mbarrier_init expects.
WARPBIT_DEVICE void cp_async_mbarrier_arrive_noinc(SharedArray<Mbarrier> object, Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(object))
                   : "memory"),
      calls::mbarrier(calls::Mbarrier::cp_async_arrive_noinc, object.view, 0, at));
}
/// How many arrivals were pending in a state.
WARPBIT_DEVICE std::uint32_t mbarrier_pending_count(std::uint64_t state) {
  std::uint32_t count;
  WARPBIT_EITHER(asm("mbarrier.pending_count.b64 %0, %1;"
                     : "=r"(count)
                     : "l"(state)),
                 count = calls::mbarrier_pending_count(state));
  return count;
}

#define WARPBIT_TEST(words, constraint, phase, is_parity)                                               \
  WARPBIT_EITHER(std::uint32_t done;                                                                    \
                 asm volatile("{\n.reg .pred p;\nmbarrier." words                                       \
                              ".acquire.cluster.shared::cta.b64 p, [%1], %2;\nselp.b32 %0, 1, 0, p;\n}" \
                              : "=r"(done)                                                              \
                              : "r"(shared_address(object)), constraint(phase)                          \
                              : "memory");                                                              \
                 return done != 0,                                                                      \
                        return calls::mbarrier_test("mbarrier." words, object.view, phase, is_parity, at))

/// Whether the phase of a state is complete. If it is, what was released and copied in it is ordered before what follows.
WARPBIT_DEVICE bool mbarrier_test_wait(SharedArray<Mbarrier> object, std::uint64_t state,
                                       Place at = Place::here()) {
  WARPBIT_TEST("test_wait", "l", state, false);
}
/// The same of the last phase with this parity.
WARPBIT_DEVICE bool mbarrier_test_wait_parity(SharedArray<Mbarrier> object, std::uint32_t parity,
                                              Place at = Place::here()) {
  WARPBIT_TEST("test_wait.parity", "r", parity, true);
}
/// As mbarrier_test_wait, but may wait for a while first.
WARPBIT_DEVICE bool mbarrier_try_wait(SharedArray<Mbarrier> object, std::uint64_t state,
                                      Place at = Place::here()) {
  WARPBIT_TEST("try_wait", "l", state, false);
}
/// The same of the last phase with this parity.
WARPBIT_DEVICE bool mbarrier_try_wait_parity(SharedArray<Mbarrier> object, std::uint32_t parity,
                                             Place at = Place::here()) {
  WARPBIT_TEST("try_wait.parity", "r", parity, true);
}
#undef WARPBIT_TEST
/// Waits until the phase of a state is complete.
WARPBIT_DEVICE void mbarrier_wait(SharedArray<Mbarrier> object, std::uint64_t state, Place at = Place::here()) {
  while (!mbarrier_try_wait(object, state, at)) continue;
}
/// Waits until the last phase with this parity is complete.
WARPBIT_DEVICE void mbarrier_wait_parity(SharedArray<Mbarrier> object, std::uint32_t parity,
                                         Place at = Place::here()) {
  while (!mbarrier_try_wait_parity(object, parity, at)) continue;
}

// ---- Reductions in bulk

/// The words of a statement for the type of elements: of an operation on numbers, of one on bits, of a sum.
template <class T, int Kind>
struct TypeText {
  static_assert(one_of<T, void>,
                "elements that are reduced are 32- or 64-bit integers, float, double, f16 or bf16");
};
#define WARPBIT_REDUCED(T, name, bits, bits_type, sum)                                 \
  template <>                                                                          \
  struct TypeText<T, 0> {                                                              \
    static constexpr char type[] = "." #name;                                          \
    WARPBIT_EITHER(, static constexpr TensorType tensor_type = TensorType::name;)      \
  };                                                                                   \
  template <>                                                                          \
  struct TypeText<T, 1> : TypeText<T, 0> {                                             \
    static constexpr char type[] = bits;                                               \
    WARPBIT_EITHER(, static constexpr TensorType tensor_type = TensorType::bits_type;) \
  };                                                                                   \
  template <>                                                                          \
  struct TypeText<T, 2> : TypeText<T, 0> {                                             \
    static constexpr char type[] = sum;                                                \
  };
WARPBIT_REDUCED(std::uint32_t, u32, ".b32", u32, ".u32")
WARPBIT_REDUCED(std::int32_t, s32, ".b32", u32, ".s32")
WARPBIT_REDUCED(std::uint64_t, u64, ".b64", u64, ".u64")
WARPBIT_REDUCED(std::int64_t, s64, ".b64", u64, ".s64")
WARPBIT_REDUCED(float, f32, ".f32", f32, ".f32")
WARPBIT_REDUCED(double, f64, ".f64", f64, ".f64")
WARPBIT_REDUCED(f16, f16, ".f16", f16, ".noftz.f16")
WARPBIT_REDUCED(bf16, bf16, ".bf16", bf16, ".noftz.bf16")
#undef WARPBIT_REDUCED

/// Of the operation and the type.
template <Reduction Of, class Type, class Element>
struct ReductionText : OperationText<Of>,
                       TypeText<std::conditional_t<std::is_void_v<Type>, std::remove_const_t<Element>, Type>,
                                Of == Reduction::add    ? 2
                                : Of >= Reduction::and_ ? 1
                                                        : 0> {};

// ---- Bulk copies of one thread. Addresses and `bytes` are multiples of 16.

/// From global memory; the bytes are counted on the object, which lies in the same block as `to` (mapa).
template <class T, class U>
WARPBIT_DEVICE void cp_async_bulk_global_to_shared(SharedArray<T> to, GlobalArray<U> from, int bytes,
                                                   SharedArray<Mbarrier> object, Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
              cluster_address(to)),
          "l"(from), "r"(bytes), "r"(cluster_address(object))
          : "memory"),
      calls::copy_global_to_shared({.form = "cp.async.bulk.shared::cluster.global",
                                    .to = &to.view,
                                    .from = &from.view,
                                    .bytes = bytes,
                                    .barrier = &object.view},
                                   at));
}
/// The same into the blocks of a mask, whose bit i is the block of rank i, at the same places of each; each object counts the
/// bytes of its block.
template <class T, class U>
WARPBIT_DEVICE void cp_async_bulk_global_to_shared_multicast(SharedArray<T> to, GlobalArray<U> from, int bytes,
                                                             SharedArray<Mbarrier> object, std::uint16_t mask,
                                                             Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::"
                   "cluster [%0], [%1], %2, [%3], %4;" ::"r"(cluster_address(to)),
                   "l"(from), "r"(bytes), "r"(cluster_address(object)), "h"(mask)
                   : "memory"),
      calls::copy_global_to_shared({.form = "cp.async.bulk.shared::cluster.global.multicast::cluster",
                                    .to = &to.view,
                                    .from = &from.view,
                                    .bytes = bytes,
                                    .barrier = &object.view,
                                    .mask = &mask},
                                   at));
}
/// From the block's own shared memory to that of a block of the cluster (mapa), where the object lies, too.
template <class T, class U>
WARPBIT_DEVICE void cp_async_bulk_shared_to_cluster(SharedArray<T> to, SharedArray<U> from, int bytes,
                                                    SharedArray<Mbarrier> object, Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], "
                   "%2, [%3];" ::"r"(cluster_address(to)),
                   "r"(shared_address(from)), "r"(bytes), "r"(cluster_address(object))
                   : "memory"),
      calls::copy_shared_to_cluster({.form = "cp.async.bulk.shared::cluster.shared::cta",
                                     .to = &to.view,
                                     .from = &from.view,
                                     .bytes = bytes,
                                     .barrier = &object.view},
                                    at));
}
/// From the block's own shared memory to global memory, in the thread's bulk group.
template <class T, class U>
WARPBIT_DEVICE void cp_async_bulk_shared_to_global(GlobalArray<T> to, SharedArray<U> from, int bytes,
                                                   Place at = Place::here()) {
  WARPBIT_EITHER(
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
                   "r"(shared_address(from)), "r"(bytes)
                   : "memory"),
      calls::copy_shared_to_global(
          {.form = "cp.async.bulk.global.shared::cta", .to = &to.view, .from = &from.view, .bytes = bytes},
          at));
}
/// The same; elements there become what the operation makes of both. Type: u32, s32, u64, s64, f32 or f64 by the element of
/// `from`, or f16 or bf16 by name.
template <Reduction Of, class Type = void, class T, class U>
WARPBIT_DEVICE void cp_reduce_async_bulk_shared_to_global(GlobalArray<T> to, SharedArray<U> from, int bytes,
                                                          Place at = Place::here()) {
  using Text = ReductionText<Of, Type, U>;
  WARPBIT_EITHER(
      asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group%3%4 [%0], [%1], %2;" ::"l"(to),
                   "r"(shared_address(from)), "r"(bytes), "C"(Text::operation), "C"(Text::type)
                   : "memory"),
      const Reduction operation = Of;
      calls::copy_shared_to_global({.form = "cp.reduce.async.bulk.global.shared::cta",
                                    .to = &to.view,
                                    .from = &from.view,
                                    .bytes = bytes,
                                    .reduction = &operation,
                                    .type = Text::tensor_type},
                                   at));
}

/// Groups the thread's bulk copies to global memory since the last commit.
WARPBIT_DEVICE void cp_async_bulk_commit_group(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("cp.async.bulk.commit_group;" ::: "memory"), calls::bulk_commit_group(at));
}
/// Waits until at most the N latest groups of the thread are pending.
template <int N>
WARPBIT_DEVICE void cp_async_bulk_wait_group(Place at = Place::here()) {
  static_assert(N >= 0, "cp.async.bulk.wait_group takes a number of groups, 0 or more");
  WARPBIT_EITHER(asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N)
                              : "memory"),
                 calls::bulk_wait_group(N, at));
}
/// The same, until their sources have been read.
template <int N>
WARPBIT_DEVICE void cp_async_bulk_wait_group_read(Place at = Place::here()) {
  static_assert(N >= 0, "cp.async.bulk.wait_group takes a number of groups, 0 or more");
  WARPBIT_EITHER(asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N)
                              : "memory"),
                 calls::bulk_wait_group(N, at));
}

// ---- Copies of boxes of a tensor by one thread. Tiles begin at multiples of 128 bytes. Coordinates are those of the first element, the contiguous dimension first:
// as many as the map has dimensions, 1 to 5.

/// From global memory; all bytes of the box are counted on the object, which lies in the same block as `to` (mapa).
template <class T, int N>
WARPBIT_DEVICE void cp_async_bulk_tensor_global_to_shared(SharedArray<T> to, const TensorMapParameter& map,
                                                          const int (&coordinates)[N],
                                                          SharedArray<Mbarrier> object,
                                                          Place at = Place::here()) {
  static_assert(N <= 5, "a tensor has 1 to 5 dimensions");
  WARPBIT_EITHER(load_tensor(to, map, coordinates, object),
                 calls::copy_global_to_shared({.form = "cp.async.bulk.tensor.shared::cluster.global.tile",
                                               .to = &to.view,
                                               .barrier = &object.view,
                                               .map = &map,
                                               .coordinates = coordinates},
                                              at));
}
/// The same into the blocks of a mask, whose bit i is the block of rank i, at the same places of each; each object counts the
/// bytes of its block.
template <class T, int N>
WARPBIT_DEVICE void cp_async_bulk_tensor_global_to_shared_multicast(
    SharedArray<T> to, const TensorMapParameter& map, const int (&coordinates)[N], SharedArray<Mbarrier> object,
    std::uint16_t mask, Place at = Place::here()) {
  static_assert(N <= 5, "a tensor has 1 to 5 dimensions");
  WARPBIT_EITHER(load_tensor_multicast(to, map, coordinates, object, mask),
                 calls::copy_global_to_shared(
                     {.form = "cp.async.bulk.tensor.shared::cluster.global.tile.multicast::cluster",
                      .to = &to.view,
                      .barrier = &object.view,
                      .mask = &mask,
                      .map = &map,
                      .coordinates = coordinates},
                     at));
}
/// By a map of im2col, with the offsets of the filter: rank - 2 of them, W first.
template <class T, int N, int M>
WARPBIT_DEVICE void cp_async_bulk_tensor_im2col_global_to_shared(
    SharedArray<T> to, const TensorMapParameter& map, const int (&coordinates)[N],
    const std::uint16_t (&offsets)[M], SharedArray<Mbarrier> object, Place at = Place::here()) {
  static_assert(N >= 3 && M == N - 2,
                "im2col has 3 to 5 coordinates, and an offset for all but the first and the last");
  WARPBIT_EITHER(load_tensor_im2col(to, map, coordinates, offsets, object),
                 calls::copy_global_to_shared({.form = "cp.async.bulk.tensor.shared::cluster.global.im2col",
                                               .to = &to.view,
                                               .barrier = &object.view,
                                               .map = &map,
                                               .coordinates = coordinates,
                                               .offsets = offsets,
                                               .is_im2col = true},
                                              at));
}
/// From the block's own shared memory to global memory, in the thread's bulk group.
template <class T, int N>
WARPBIT_DEVICE void cp_async_bulk_tensor_shared_to_global(const TensorMapParameter& map,
                                                          const int (&coordinates)[N], SharedArray<T> from,
                                                          Place at = Place::here()) {
  static_assert(N <= 5, "a tensor has 1 to 5 dimensions");
  WARPBIT_EITHER(store_tensor(map, coordinates, from),
                 calls::copy_shared_to_global({.form = "cp.async.bulk.tensor.global.shared::cta.tile",
                                               .from = &from.view,
                                               .map = &map,
                                               .coordinates = coordinates},
                                              at));
}
/// The same; elements there become what the operation makes of both.
template <Reduction Of, class T, int N>
WARPBIT_DEVICE void cp_reduce_async_bulk_tensor_shared_to_global(const TensorMapParameter& map,
                                                                 const int (&coordinates)[N],
                                                                 SharedArray<T> from,
                                                                 Place at = Place::here()) {
  static_assert(N <= 5, "a tensor has 1 to 5 dimensions");
  WARPBIT_EITHER(reduce_tensor<OperationText<Of> >(map, coordinates, from), const Reduction operation = Of;
                 calls::copy_shared_to_global({.form = "cp.reduce.async.bulk.tensor.global.shared::cta.tile",
                                               .from = &from.view,
                                               .map = &map,
                                               .coordinates = coordinates,
                                               .reduction = &operation},
                                              at));
}

}  // namespace warpbit::device
