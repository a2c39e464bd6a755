// SPDX-License-Identifier: Apache-2.0
// One source of kernel code for a GPU and for a machine without one. nvcc compiles these declarations to
// inline PTX and plain pointers. With any other compiler the same names run in this library
// (warpbit::launch), which checks for behaviour that a GPU leaves undefined.
//
//     using namespace warpbit::device;
//
//     WARPBIT_KERNEL void product(GlobalArray<const unsigned short> a, ..., GlobalArray<float> d) {
//       const SharedArray<unsigned short> tile = shared_array<unsigned short>(0, 16 * 16);
//       cp_async_cg(tile + 8 * threadIdx.x, a + 8 * threadIdx.x);
//       cp_async_commit_group();
//       cp_async_wait_group<0>();
//       __syncthreads();
//       ...
//       sums = mma<m16n8k16, f32, bf16>(ldmatrix<4>(tile + ...), ..., sums);
//     }
//
// Kernels may call: cp.async with its groups; movmatrix; mma, mma.sp, mma with block scaling; wgmma with its
// fence, groups and descriptors, fence.proxy.async; __syncthreads, __syncwarp, __activemask, votes and
// shuffles; the built-in variables. warpbit/device/forms.hpp, which the build makes from the tables of the
// library, has their types, shapes and kinds in the PTX manual's spelling, and more functions:
//
//     ldmatrix<N>, ldmatrix_trans<N>, ldmatrix_b8_trans<N>: N matrices; each lane gives the address of a row
//     stmatrix<N>, stmatrix_trans<N>, stmatrix_b8_trans<N>
//     cvt_rn<f16x2>, cvt_rn_satfinite<e4m3x2> ...: convert two f32, the first into the upper half
//
//     mbarrier_..., cp_async_bulk_..., barrier_cluster_...: warpbit/device/async.hpp
//     tcgen05_ld<shape32x32b, N>, tcgen05_st<shape16x256b, N> ...: loads and stores of tensor memory
//     tcgen05_...: warpbit/device/tensor.hpp
//
// Atomics and other fences are not supported.
//
// Accumulators of wgmma, and an A in registers, are AsyncFragments. Under nvcc these are Fragments. Here
// every access to them is checked, since products read and write them until a wait.
//
// Do not catch exceptions (faults unwind by one). Write `float x = a[i]`, not `auto`: `a[i]` is a proxy that
// loads on conversion. The host compiler computes the kernel's own sums and products; it may fuse them
// differently from nvcc.
#pragma once

#if __cplusplus < 202002L
#error "warpbit/device.hpp needs -std=c++20"
#else

#include "warpbit/device/async.hpp"
#include "warpbit/device/forms.hpp"
#ifndef __CUDACC__
#include "warpbit/device/launch.hpp"
#endif
#include "warpbit/device/tensor.hpp"

namespace warpbit::device {

// ---- Asynchronous copies (PTX manual, "cp.async", "cp.async.commit_group", "cp.async.wait_group")

/// Copies 16 bytes: the first `bytes` from global memory, zeros for the rest.
template <class T, class U>
WARPBIT_DEVICE void cp_async_cg(SharedArray<T> to, GlobalArray<U> from, int bytes = 16,
                                Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)),
                              "l"(from), "r"(bytes)
                              : "memory"),
                 calls::copy_async("cp.async.cg.shared.global", to.view, from.view, 16, bytes, at));
}
/// The same for 4, 8 or 16 bytes.
template <int Bytes, class T, class U>
WARPBIT_DEVICE void cp_async_ca(SharedArray<T> to, GlobalArray<U> from, int bytes = Bytes,
                                Place at = Place::here()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async.ca copies 4, 8 or 16 bytes");
  WARPBIT_EITHER(asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(shared_address(to)),
                              "l"(from), "n"(Bytes), "r"(bytes)
                              : "memory"),
                 calls::copy_async("cp.async.ca.shared.global", to.view, from.view, Bytes, bytes, at));
}
/// Groups the thread's copies since the last commit.
WARPBIT_DEVICE void cp_async_commit_group(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("cp.async.commit_group;" ::: "memory"), calls::commit_group(at));
}
/// Waits until at most the N latest groups of the thread are pending.
template <int N>
WARPBIT_DEVICE void cp_async_wait_group(Place at = Place::here()) {
  static_assert(N >= 0, "cp.async.wait_group takes a number of groups, 0 or more");
  WARPBIT_EITHER(asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"), calls::wait_group(N, at));
}
/// Waits for all copies of the thread, grouped or not.
WARPBIT_DEVICE void cp_async_wait_all(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("cp.async.wait_all;" ::: "memory"), calls::wait_all(at));
}

// ---- Products of a warp

/// Transposes an 8x8 matrix of 16-bit elements in registers.
WARPBIT_DEVICE std::uint32_t movmatrix_trans(std::uint32_t a, Place at = Place::here()) {
  std::uint32_t d;
  WARPBIT_EITHER(asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
                              : "=r"(d)
                              : "r"(a)),
                 d = executed<std::uint32_t>({"movmatrix.sync.aligned.m8n8.trans.b16"}, at, a));
  return d;
}

/// D = A B + C.
template <class Shape, class Sum, class A, class B = A>
WARPBIT_DEVICE typename Mma<Shape, Sum, A, B>::Sum mma(const typename Mma<Shape, Sum, A, B>::A& a,
                                                       const typename Mma<Shape, Sum, A, B>::B& b,
                                                       const typename Mma<Shape, Sum, A, B>::Sum& c,
                                                       Place at = Place::here()) {
  using Row = Mma<Shape, Sum, A, B>;
  typename Row::Sum d;
  WARPBIT_EITHER(issue(Row{}, d, a, b, c), d = executed<typename Row::Sum>({Row::form}, at, a, b, c));
  return d;
}

/// The same with a sparse A: mma.sp::ordered_metadata. Selector: the lanes that provide the metadata.
template <class Shape, class Sum, class A, class B = A, int Selector = 0>
WARPBIT_DEVICE typename MmaSp<Shape, Sum, A, B>::Sum mma_sp(const typename MmaSp<Shape, Sum, A, B>::A& a,
                                                            const typename MmaSp<Shape, Sum, A, B>::B& b,
                                                            const typename MmaSp<Shape, Sum, A, B>::Sum& c,
                                                            std::uint32_t metadata, Place at = Place::here()) {
  using Row = MmaSp<Shape, Sum, A, B>;
  static_assert(Selector >= 0 && Selector < Row::selectors,
                "the selector of mma.sp is 0, or 0 to 1, or 0 to 3: as many as lanes in four hold metadata");
  typename Row::Sum d;
  WARPBIT_EITHER(issue(Row{}, d, a, b, c, metadata, Literal<Selector>{}),
                 d = executed<typename Row::Sum>({Row::form, kSelected<Selector>}, at, a, b, c, metadata));
  return d;
}

/// D = A B + C with scale factors for blocks of A and B.
template <class Shape, class Kind, class A, class B, class Scale>
WARPBIT_DEVICE typename MmaBlockScale<Shape, Kind, A, B, Scale>::Sum mma_block_scale(
    const typename MmaBlockScale<Shape, Kind, A, B, Scale>::A& a,
    const typename MmaBlockScale<Shape, Kind, A, B, Scale>::B& b,
    const typename MmaBlockScale<Shape, Kind, A, B, Scale>::Sum& c, std::uint32_t scale_a, ScaleSelector of_a,
    std::uint32_t scale_b, ScaleSelector of_b, Place at = Place::here()) {
  using Row = MmaBlockScale<Shape, Kind, A, B, Scale>;
  typename Row::Sum d;
  WARPBIT_EITHER(
      issue(Row{}, d, a, b, c, scale_a, of_a, scale_b, of_b),
      d = executed<typename Row::Sum>({Row::form, kSelectors}, at, a, b, c, scale_a, of_a, scale_b, of_b));
  return d;
}

// ---- Products of a warpgroup (PTX manual, "Asynchronous Warpgroup Level Matrix Instructions"). All 128 lanes of
// four warps, the first of which is a multiple of four, execute the same instruction at the same place. A product
// reads shared memory and registers when it is issued, and writes D when a wait completes its group. Accesses in
// between that the rules of AsyncState (warpbit/state.hpp) leave undefined are faults.

/// Orders earlier writes to shared memory through the generic proxy before reads of later products: the
/// thread's own writes, its cp.async that it has waited for, and writes of other threads that a barrier has
/// ordered before. It usually stands after the writes and before the barrier.
WARPBIT_DEVICE void fence_proxy_async(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("fence.proxy.async;" ::
                                  : "memory"),
                 calls::execute({"fence.proxy.async"}, {.lanes = 1}, at));
}
/// The same for shared memory alone.
WARPBIT_DEVICE void fence_proxy_async_shared_cta(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("fence.proxy.async.shared::cta;" ::
                                  : "memory"),
                 calls::execute({"fence.proxy.async.shared::cta"}, {.lanes = 1}, at));
}

/// Orders the threads' register accesses before those of later products.
WARPBIT_DEVICE void wgmma_fence(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("wgmma.fence.sync.aligned;" ::
                                  : "memory"),
                 calls::execute({"wgmma.fence.sync.aligned"}, {.lanes = 128}, at));
}
/// The same; nvcc moves no access to the fragments (one or an array) across it.
template <class Fragments>
WARPBIT_DEVICE void wgmma_fence(Fragments& fragments, Place at = Place::here()) {
  changed(fragments);
  wgmma_fence(at);
}

/// Groups the warpgroup's products since the last commit.
WARPBIT_DEVICE void wgmma_commit_group(Place at = Place::here()) {
  WARPBIT_EITHER(asm volatile("wgmma.commit_group.sync.aligned;" ::
                                  : "memory"),
                 calls::execute({"wgmma.commit_group.sync.aligned"}, {.lanes = 128}, at));
}

/// Waits until at most the N latest groups of the warpgroup are pending.
template <int N>
WARPBIT_DEVICE void wgmma_wait_group(Place at = Place::here()) {
  static_assert(N >= 0, "wgmma.wait_group takes a number of groups, 0 or more");
  WARPBIT_EITHER(asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N)
                              : "memory"),
                 calls::execute({"wgmma.wait_group.sync.aligned ", kNumber<N>}, {.lanes = 128}, at));
}
/// The same; nvcc moves no access to the fragments (one or an array) across it.
template <int N, class Fragments>
WARPBIT_DEVICE void wgmma_wait_group(Fragments& fragments, Place at = Place::here()) {
  wgmma_wait_group<N>(at);
  changed(fragments);
}

/// D = A B + D, or A B if scale_d is false, with A and B in shared memory. ScaleA, ScaleB: 1, or -1 to
/// negate; TransA, TransB: 1 if M or N is contiguous instead of K.
template <class Shape, class Sum, class A, class B = A, int ScaleA = 1, int ScaleB = 1, int TransA = 0,
          int TransB = 0>
WARPBIT_DEVICE void wgmma(typename Wgmma<Shape, Sum, A, B>::Sum& d, std::uint64_t a, std::uint64_t b,
                          bool scale_d, Place at = Place::here()) {
  multiply<WgmmaStatement<Wgmma<Shape, Sum, A, B>, true, ScaleA, ScaleB, TransA, TransB> >(d, a, b, scale_d,
                                                                                           at);
}
/// The same with A in registers.
template <class Shape, class Sum, class A, class B = A, int ScaleA = 1, int ScaleB = 1, int TransA = 0,
          int TransB = 0>
WARPBIT_DEVICE void wgmma(typename Wgmma<Shape, Sum, A, B>::Sum& d,
                          const typename Wgmma<Shape, Sum, A, B>::A& a, std::uint64_t b, bool scale_d,
                          Place at = Place::here()) {
  multiply<WgmmaStatement<Wgmma<Shape, Sum, A, B>, false, ScaleA, ScaleB, TransA, TransB> >(d, a, b, scale_d,
                                                                                            at);
}

}  // namespace warpbit::device

#endif
