// SPDX-License-Identifier: Apache-2.0
// The wrappers as they run in this library. A fault names the place of the call. Precondition of all: they
// are called by a kernel that warpbit::launch runs. Functions with a mask, matrix instructions of a warp, and
// barriers wait until the lanes that they need have arrived.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>  // std::cmp_less

#include "warpbit/device/calls.hpp"
#include "warpbit/device/common.hpp"
#include "warpbit/device/rows.hpp"

namespace warpbit::device {

// ---- Arrays in memory. Under nvcc both are plain pointers. a[i] reads and writes whole elements. Each
// access is checked against the bounds of its array; `as` reinterprets the same bytes as elements of another
// type.

/// at + elements * size bytes; on overflow the nearest 64-bit number, which is outside any array.
template <std::integral I>
constexpr std::int64_t moved(std::int64_t at, I elements, std::int64_t size) {
  std::int64_t bytes = 0, out = 0;
  if (!__builtin_mul_overflow(elements, size, &bytes) && !__builtin_add_overflow(at, bytes, &out)) return out;
  using Limits = std::numeric_limits<std::int64_t>;
  return std::cmp_less(elements, 0) == (size < 0) ? Limits::max() : Limits::min();
}

/// An index, and its place in the source.
struct Index {
  std::int64_t value;
  Place at;

  template <std::integral I>
  constexpr Index(I i, Place place = Place::here()) : value(moved(0, i, 1)), at(place) {}
};

/// A proxy for an element of an array: conversion reads it, assignment writes it.
template <class Array>
class Element {
 public:
  using Value = std::remove_const_t<typename Array::Type>;

  Element(Array array, Place at) : array_(array), at_(at) {}
  Element(const Element&) = default;

  operator Value() const { return array_.load(at_); }
  const Element& operator=(const Value& value) const { return array_.store(value, at_), *this; }
  const Element& operator=(const Element& other) const { return *this = static_cast<Value>(other); }
  const Element& operator+=(const Value& value) const {
    return *this = static_cast<Value>(Value(*this) + value);
  }
  Array operator&() const { return array_; }

 private:
  Array array_;
  Place at_;
};

/// Common to both kinds of arrays: a cursor over elements of T.
template <class Array, class T>
struct Cursor {
  using Type = T;

  friend Array operator+(Array array, std::integral auto elements) {
    array.view.at = moved(array.view.at, elements, sizeof(T));
    return array;
  }
  friend Array operator+(std::integral auto elements, Array array) { return array + elements; }
  friend Array operator-(Array array, std::integral auto elements) {
    array.view.at = moved(array.view.at, elements, -static_cast<std::int64_t>(sizeof(T)));
    return array;
  }
  friend Array& operator+=(Array& array, std::integral auto elements) { return array = array + elements; }
  Element<Array> operator[](Index i) const { return {self() + i.value, i.at}; }

  std::remove_const_t<T> load(Place at) const {
    std::remove_const_t<T> out;
    calls::load(self().view, &out, sizeof out, alignof(T), at);
    return out;
  }
  void store(const T& value, Place at) const requires(!std::is_const_v<T>) {
    calls::store(self().view, &value, sizeof value, alignof(T), at);
  }

 private:
  const Array& self() const { return static_cast<const Array&>(*this); }
  static_assert(std::is_trivially_copyable_v<T>);
  friend Array;
  Cursor() = default;
};

/// A cursor over elements in the block's shared memory.
template <class T>
struct SharedArray : Cursor<SharedArray<T>, T> {
  calls::SharedView view;

  explicit SharedArray(calls::SharedView bytes) : view(bytes) {}
  /// Converts from mutable to const elements.
  template <class U>
  requires std::same_as<const U, T> SharedArray(const SharedArray<U>& other) : view(other.view) {}
};

/// A cursor over elements in global memory. The caller of launch owns the bytes.
template <class T>
struct GlobalArray : Cursor<GlobalArray<T>, T> {
  calls::GlobalView view;

  GlobalArray(std::span<T> elements)
      : view{reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(elements.data())),
             static_cast<std::int64_t>(elements.size_bytes()), 0} {}
  explicit GlobalArray(calls::GlobalView bytes) : view(bytes) {}
  template <class U>
  requires std::same_as<const U, T> GlobalArray(const GlobalArray<U>& other) : view(other.view) {}
};

/// `elements` elements at byte `offset` of the block's dynamic shared memory. Not checked under nvcc.
template <class T>
SharedArray<T> shared_array(std::int64_t offset, std::int64_t elements, Place at = Place::here()) {
  return SharedArray<T>(calls::shared_view(offset, moved(0, elements, sizeof(T)), alignof(T), at));
}

/// The same bytes as elements of another type.
template <class U, class T>
SharedArray<U> as(SharedArray<T> array) {
  return SharedArray<U>(array.view);
}
template <class U, class T>
GlobalArray<U> as(GlobalArray<T> array) {
  return GlobalArray<U>(array.view);
}

// ---- Threads (CUDA C++ Programming Guide, "Built-in Variables", "Synchronization Functions", "Warp Vote
// Functions", "Warp Shuffle Functions")

inline constexpr int warpSize = 32;
inline constexpr std::uint32_t kWholeWarp = 0xFFFF'FFFF;

/// All threads of the block that have not ended must arrive here, at the same place of the source.
inline void __syncthreads(Place at = Place::here()) {
  calls::barrier(at);
}
inline void __syncwarp(std::uint32_t mask = kWholeWarp, Place at = Place::here()) {
  calls::sync_warp(mask, at);
}
/// The lanes at the same place once no lane of the warp can proceed.
inline std::uint32_t __activemask(Place at = Place::here()) {
  return calls::active_mask(at);
}
inline std::uint32_t __ballot_sync(std::uint32_t mask, bool predicate, Place at = Place::here()) {
  return calls::vote("__ballot_sync", mask, predicate, at);
}
inline bool __any_sync(std::uint32_t mask, bool predicate, Place at = Place::here()) {
  return calls::vote("__any_sync", mask, predicate, at) != 0;
}
inline bool __all_sync(std::uint32_t mask, bool predicate, Place at = Place::here()) {
  return calls::vote("__all_sync", mask, !predicate, at) == 0;
}

/// The value of another lane; T has 4 or 8 bytes.
template <class T>
T shuffled(calls::Shuffle how, std::uint32_t mask, T value, int operand, int width, Place at) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle exchanges values of 4 or 8 bytes");
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(
      static_cast<Bits>(calls::shuffle(how, mask, std::bit_cast<Bits>(value), operand, width, at)));
}
template <class T>
T __shfl_sync(std::uint32_t mask, T value, int lane, int width = warpSize, Place at = Place::here()) {
  return shuffled(calls::Shuffle::index, mask, value, lane, width, at);
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned delta, int width = warpSize, Place at = Place::here()) {
  return shuffled(calls::Shuffle::up, mask, value, static_cast<int>(delta), width, at);
}
template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned delta, int width = warpSize,
                   Place at = Place::here()) {
  return shuffled(calls::Shuffle::down, mask, value, static_cast<int>(delta), width, at);
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int lane_mask, int width = warpSize, Place at = Place::here()) {
  return shuffled(calls::Shuffle::exclusive_or, mask, value, lane_mask, width, at);
}

// ---- Numbers (CUDA Math API, "Single Precision Intrinsics", "Type Casting Intrinsics"): rounded once to
// nearest even, never fused, whatever the compiler's options

inline float __fmaf_rn(float x, float y, float z) {
  return std::fma(x, y, z);
}
inline float __fadd_rn(float x, float y) {
  return std::fma(x, 1.0F, y);
}
inline float __fmul_rn(float x, float y) {
  return std::fma(x, y, -0.0F);
}
inline float __fdiv_rn(float x, float y) {
  return x / y;
}
inline std::uint32_t __float_as_uint(float x) {
  return std::bit_cast<std::uint32_t>(x);
}
inline float __uint_as_float(std::uint32_t x) {
  return std::bit_cast<float>(x);
}

// cvt_rn<f16x2>, ...: convert two numbers, the first into the upper half, as in the instruction.
#define WARPBIT_ROW(name, qualifiers, to, type, constraint)                                       \
  template <class To>                                                                             \
  requires std::same_as<To, to> type name(float upper, float lower, Place at = Place::here()) {   \
    return static_cast<type>(calls::convert(WARPBIT_CVT_TEXT(qualifiers, to), upper, lower, at)); \
  }
WARPBIT_CVT_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

// ---- Asynchronous copies (PTX manual, "cp.async", "cp.async.commit_group", "cp.async.wait_group")

/// Copies 16 bytes: the first `bytes` from global memory, zeros for the rest.
template <class T, class U>
void cp_async_cg(SharedArray<T> to, GlobalArray<U> from, int bytes = 16, Place at = Place::here()) {
  calls::copy_async("cp.async.cg.shared.global", to.view, from.view, 16, bytes, at);
}
/// The same for 4, 8 or 16 bytes.
template <int Bytes, class T, class U>
void cp_async_ca(SharedArray<T> to, GlobalArray<U> from, int bytes = Bytes, Place at = Place::here()) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async.ca copies 4, 8 or 16 bytes");
  calls::copy_async("cp.async.ca.shared.global", to.view, from.view, Bytes, bytes, at);
}
/// Groups the thread's copies since the last commit.
inline void cp_async_commit_group(Place at = Place::here()) {
  calls::commit_group(at);
}
/// Waits until at most the N latest groups of the thread are pending.
template <int N>
void cp_async_wait_group(Place at = Place::here()) {
  static_assert(N >= 0, "cp.async.wait_group takes a number of groups, 0 or more");
  calls::wait_group(N, at);
}
/// Waits for all copies of the thread, grouped or not.
inline void cp_async_wait_all(Place at = Place::here()) {
  calls::wait_all(at);
}

// ---- Matrices between shared memory and registers

/// Computes D from each lane's registers, in the order of the statement.
template <class D, class... Sources>
D executed(const char* form, Place at, const Sources&... sources) {
  D d{};
  const void* const given[] = {&sources...};
  calls::execute(form, &d, given, at);
  return d;
}

// ldmatrix<N>, ldmatrix_trans<N>, ldmatrix_b8_trans<N>: N matrices; each lane gives the address of a row.
#define WARPBIT_ROW(name, qualifiers, matrices, registers)                                    \
  template <int N, class T>                                                                   \
  requires(N == matrices) Fragment<std::uint32_t, registers> name(SharedArray<T> row,         \
                                                                  Place at = Place::here()) { \
    Fragment<std::uint32_t, registers> r{};                                                   \
    calls::load_matrix(WARPBIT_LDMATRIX_TEXT(qualifiers), row.view, r.r, at);                 \
    return r;                                                                                 \
  }
WARPBIT_LDMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

// stmatrix<N>, stmatrix_trans<N>, stmatrix_b8_trans<N>
#define WARPBIT_ROW(name, qualifiers, matrices, registers)                                           \
  template <int N, class T>                                                                          \
  requires(N == matrices) void name(SharedArray<T> row, const Fragment<std::uint32_t, registers>& r, \
                                    Place at = Place::here()) {                                      \
    static_assert(!std::is_const_v<T>, "it stores: the elements must not be const");                 \
    calls::store_matrix(WARPBIT_STMATRIX_TEXT(qualifiers), row.view, r.r, at);                       \
  }
WARPBIT_STMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

/// Transposes an 8x8 matrix of 16-bit elements in registers.
inline std::uint32_t movmatrix_trans(std::uint32_t a, Place at = Place::here()) {
  return executed<std::uint32_t>("movmatrix.sync.aligned.m8n8.trans.b16", at, a);
}

// ---- Products

/// D = A B + C.
template <class Shape, class Sum, class A, class B = A>
typename Mma<Shape, Sum, A, B>::Sum mma(const typename Mma<Shape, Sum, A, B>::A& a,
                                        const typename Mma<Shape, Sum, A, B>::B& b,
                                        const typename Mma<Shape, Sum, A, B>::Sum& c,
                                        Place at = Place::here()) {
  using Row = Mma<Shape, Sum, A, B>;
  return executed<typename Row::Sum>(Row::form, at, a, b, c);
}

/// The same with a sparse A: mma.sp::ordered_metadata. Selector: the lanes that provide the metadata.
template <class Shape, class Sum, class A, class B = A, int Selector = 0>
typename MmaSp<Shape, Sum, A, B>::Sum mma_sp(const typename MmaSp<Shape, Sum, A, B>::A& a,
                                             const typename MmaSp<Shape, Sum, A, B>::B& b,
                                             const typename MmaSp<Shape, Sum, A, B>::Sum& c,
                                             std::uint32_t metadata, Place at = Place::here()) {
  using Row = MmaSp<Shape, Sum, A, B>;
  static_assert(Selector >= 0 && Selector < Row::selectors,
                "the selector of mma.sp is 0, or 0 to 1, or 0 to 3: as many as lanes in four hold metadata");
  typename Row::Sum d{};
  const void* const given[] = {&a, &b, &c, &metadata};
  calls::execute_sparse(Row::form, Selector, &d, given, at);
  return d;
}

/// Selects the bytes and lanes that hold the scale factors of an operand: {byte-id, thread-id}.
struct ScaleSelector {
  std::uint16_t byte_id = 0, thread_id = 0;
};

/// D = A B + C with scale factors for blocks of A and B.
template <class Shape, class Kind, class A, class B, class Scale>
Fragment<float, 4> mma_block_scale(const Fragment<std::uint32_t, 4>& a, const Fragment<std::uint32_t, 2>& b,
                                   const Fragment<float, 4>& c, std::uint32_t scale_a, ScaleSelector of_a,
                                   std::uint32_t scale_b, ScaleSelector of_b, Place at = Place::here()) {
  return executed<Fragment<float, 4>>(MmaBlockScale<Shape, Kind, A, B, Scale>::form, at, a, b, c, scale_a, of_a,
                                      scale_b, of_b);
}

}  // namespace warpbit::device
