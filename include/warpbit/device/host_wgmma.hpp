// SPDX-License-Identifier: Apache-2.0
// Asynchronous products of a warpgroup as they run in this library (PTX manual, "Asynchronous Warpgroup Level
// Matrix Instructions"). All 128 lanes of four warps, the first of which is a multiple of four, execute the
// same instruction at the same place. A product reads shared memory and registers when it is issued, and
// writes D when a wait completes its group. Accesses in between that the rules of AsyncState
// (warpbit/state.hpp) leave undefined are faults.
#pragma once

#include "warpbit/device/host.hpp"
#include "warpbit/device/wgmma.hpp"

namespace warpbit::device {

// ---- Registers that products read and write behind the thread's back

/// A register of an AsyncFragment.
template <class R>
struct AsyncRegister {
  using Type = R;
  calls::RegisterView view;

  R load(Place at) const { return std::bit_cast<R>(calls::read_register(view, at)); }
  void store(const R& value, Place at) const {
    calls::write_register(view, std::bit_cast<std::uint32_t>(value), at);
  }
};

/// One lane's part of D, or of an A in registers: N registers, initially zero. Under nvcc it is a Fragment,
/// whose registers are uninitialised without `= {}` or an assignment. Every access is checked. So is
/// destruction: no pending product may use the registers. It must be a local variable of the kernel, as
/// registers are.
template <class R, int N>
class AsyncFragment {
 public:
  AsyncFragment(Place at = Place::here()) : first_(calls::make_registers(N, at)), made_(at) {}
  AsyncFragment(const Fragment<R, N>& registers, Place at = Place::here()) : AsyncFragment(at) {
    for (int i = 0; i < N; ++i) (*this)[{i, at}] = registers[i];
  }
  AsyncFragment(const AsyncFragment& other, Place at = Place::here()) : AsyncFragment(at) {
    for (int i = 0; i < N; ++i) (*this)[{i, at}] = other[{i, at}];
  }
  AsyncFragment& operator=(AsyncFragment other) {
    for (int i = 0; i < N; ++i) (*this)[{i, other.made_}] = other[{i, other.made_}];
    return *this;
  }
  ~AsyncFragment() { calls::release_registers(first_, N, made_); }

  Element<AsyncRegister<R>> operator[](Index i) { return {{{first_, N, i.value}}, i.at}; }
  R operator[](Index i) const { return AsyncRegister<R>{{first_, N, i.value}}.load(i.at); }

  /// The number of its first register in the thread.
  int first() const { return first_; }

 private:
  int first_;
  Place made_;
};

// ---- Descriptors

/// Describes a matrix in shared memory (PTX manual, "Matrix Descriptor Format"): its start, the leading and
/// the stride dimension byte offset, and the swizzle. Fails if a field cannot hold its value.
template <class T>
std::uint64_t matrix_descriptor(SharedArray<T> start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                int base_offset = 0, Place at = Place::here()) {
  return calls::matrix_descriptor(start.view, leading_bytes, stride_bytes, swizzle, base_offset, at);
}

// ---- Ordering products and waiting for them

/// Orders earlier writes to shared memory through the generic proxy before reads of later products: the
/// thread's own writes, its cp.async that it has waited for, and writes of other threads that a barrier has
/// ordered before. It usually stands after the writes and before the barrier.
inline void fence_proxy_async(Place at = Place::here()) {
  calls::fence_proxy("fence.proxy.async", at);
}
/// The same for shared memory alone.
inline void fence_proxy_async_shared_cta(Place at = Place::here()) {
  calls::fence_proxy("fence.proxy.async.shared::cta", at);
}

/// Orders the threads' register accesses before those of later products.
inline void wgmma_fence(Place at = Place::here()) {
  calls::warpgroup("wgmma.fence.sync.aligned", nullptr, at);
}
/// The same; nvcc moves no access to the fragments (one or an array) across it.
template <class Fragments>
void wgmma_fence(Fragments&, Place at = Place::here()) {
  wgmma_fence(at);
}

/// Groups the warpgroup's products since the last commit.
inline void wgmma_commit_group(Place at = Place::here()) {
  calls::warpgroup("wgmma.commit_group.sync.aligned", nullptr, at);
}

/// The text of a wait.
template <int N>
struct WgmmaWait {
  static_assert(N >= 0, "wgmma.wait_group takes a number of groups, 0 or more");
  static constexpr Text make() { return Text{} + "wgmma.wait_group.sync.aligned " + N + ";"; }
};
/// Waits until at most the N latest groups of the warpgroup are pending.
template <int N>
void wgmma_wait_group(Place at = Place::here()) {
  calls::warpgroup(Literal<WgmmaWait<N>>::text, nullptr, at);
}
/// The same; nvcc moves no access to the fragments (one or an array) across it.
template <int N, class Fragments>
void wgmma_wait_group(Fragments&, Place at = Place::here()) {
  wgmma_wait_group<N>(at);
}

// ---- Products

/// The text of a product.
template <class Row, bool described, int ScaleA, int ScaleB, int TransA, int TransB>
struct WgmmaStatement {
  static constexpr Text make() {
    return WgmmaForm<Row>::make() + (described ? " {d}, a_desc, b_desc, p" : " {d}, {a}, b_desc, p") +
           WgmmaImmediates<Row, described, ScaleA, ScaleB, TransA, TransB>::make() + ";";
  }
};

/// D = A B + D, or A B if scale_d is false, with A and B in shared memory. ScaleA, ScaleB: 1, or -1 to
/// negate; TransA, TransB: 1 if M or N is contiguous instead of K.
template <class Shape, class Sum, class A, class B = A, int ScaleA = 1, int ScaleB = 1, int TransA = 0,
          int TransB = 0>
void wgmma(typename Wgmma<Shape, Sum, A, B>::Sum& d, std::uint64_t a, std::uint64_t b, bool scale_d,
           Place at = Place::here()) {
  using Statement = WgmmaStatement<Wgmma<Shape, Sum, A, B>, true, ScaleA, ScaleB, TransA, TransB>;
  const calls::WarpgroupProduct product{d.first(), a, b, scale_d};
  calls::warpgroup(Literal<Statement>::text, &product, at);
}
/// The same with A in registers.
template <class Shape, class Sum, class A, class B = A, int ScaleA = 1, int ScaleB = 1, int TransA = 0,
          int TransB = 0>
void wgmma(typename Wgmma<Shape, Sum, A, B>::Sum& d, const typename Wgmma<Shape, Sum, A, B>::A& a,
           std::uint64_t b, bool scale_d, Place at = Place::here()) {
  using Statement = WgmmaStatement<Wgmma<Shape, Sum, A, B>, false, ScaleA, ScaleB, TransA, TransB>;
  const calls::WarpgroupProduct product{d.first(), static_cast<std::uint64_t>(a.first()), b, scale_d};
  calls::warpgroup(Literal<Statement>::text, &product, at);
}

}  // namespace warpbit::device
