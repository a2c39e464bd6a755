// SPDX-License-Identifier: Apache-2.0
// As kernels run in this library: arrays, what CUDA itself has, and how rows are executed. A fault names the
// place of the call. Precondition of all: they are called by a kernel that warpbit::launch runs. Functions
// with a mask, matrix instructions of a warp, and barriers wait until the lanes that they need have arrived.
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

/// A cursor over elements of T in the block's shared memory, or in global memory, whose bytes the caller of launch
/// owns.
template <class T, bool kIsShared>
struct Array {
  using Type = T;
  calls::View view;

  explicit Array(calls::View bytes) : view(bytes) {}
  Array(std::span<T> elements) requires(!kIsShared)
      : view{0, static_cast<std::int64_t>(elements.size_bytes()), 0, true,
             reinterpret_cast<std::byte*>(const_cast<std::remove_const_t<T>*>(elements.data()))} {}
  /// Converts from mutable to const elements.
  template <class U>
  requires std::same_as<const U, T> Array(const Array<U, kIsShared>& other) : view(other.view) {}

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
  Element<Array> operator[](Index i) const { return {*this + i.value, i.at}; }

  std::remove_const_t<T> load(Place at) const {
    std::remove_const_t<T> out;
    calls::load(view, &out, sizeof out, alignof(T), at);
    return out;
  }
  void store(const T& value, Place at) const requires(!std::is_const_v<T>) {
    calls::store(view, &value, sizeof value, alignof(T), at);
  }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
};
template <class T>
using SharedArray = Array<T, true>;
template <class T>
using GlobalArray = Array<T, false>;

/// `elements` elements at byte `offset` of the block's dynamic shared memory. Not checked under nvcc.
template <class T>
SharedArray<T> shared_array(std::int64_t offset, std::int64_t elements, Place at = Place::here()) {
  return SharedArray<T>(calls::shared_view(offset, moved(0, elements, sizeof(T)), alignof(T), at));
}

/// The same bytes as elements of another type.
template <class U, class T, bool kIsShared>
Array<U, kIsShared> as(Array<T, kIsShared> array) {
  return Array<U, kIsShared>(array.view);
}

// ---- Threads (CUDA C++ Programming Guide, "Built-in Variables", "Synchronization Functions", "Warp Vote
// Functions", "Warp Shuffle Functions")

inline constexpr int warpSize = 32;
inline constexpr std::uint32_t kWholeWarp = 0xFFFF'FFFF;

/// All threads of the block that have not ended must arrive here, at the same place of the source.
inline void __syncthreads(Place at = Place::here()) {
  calls::meet({calls::Request::Kind::barrier, "__syncthreads", at});
}
inline void __syncwarp(std::uint32_t mask = kWholeWarp, Place at = Place::here()) {
  calls::meet({calls::Request::Kind::sync_warp, "__syncwarp", at, mask});
}
/// The lanes at the same place once no lane of the warp can proceed.
inline std::uint32_t __activemask(Place at = Place::here()) {
  return static_cast<std::uint32_t>(calls::meet({calls::Request::Kind::active_mask, "__activemask", at}));
}
/// The lanes in the mask whose predicate is true.
inline std::uint32_t voted(const char* name, std::uint32_t mask, bool predicate, Place at) {
  return static_cast<std::uint32_t>(calls::meet({calls::Request::Kind::vote, name, at, mask, predicate}));
}
inline std::uint32_t __ballot_sync(std::uint32_t mask, bool predicate, Place at = Place::here()) {
  return voted("__ballot_sync", mask, predicate, at);
}
inline bool __any_sync(std::uint32_t mask, bool predicate, Place at = Place::here()) {
  return voted("__any_sync", mask, predicate, at) != 0;
}
inline bool __all_sync(std::uint32_t mask, bool predicate, Place at = Place::here()) {
  return voted("__all_sync", mask, !predicate, at) == 0;
}

/// The value of another lane; T has 4 or 8 bytes.
template <class T>
T shuffled(const char* name, calls::Shuffle how, std::uint32_t mask, T value, int operand, int width,
           Place at) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle exchanges values of 4 or 8 bytes");
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<T>(static_cast<Bits>(calls::meet(
      {calls::Request::Kind::shuffle, name, at, mask, std::bit_cast<Bits>(value), how, operand, width})));
}
template <class T>
T __shfl_sync(std::uint32_t mask, T value, int lane, int width = warpSize, Place at = Place::here()) {
  return shuffled("__shfl_sync", calls::Shuffle::index, mask, value, lane, width, at);
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned delta, int width = warpSize, Place at = Place::here()) {
  return shuffled("__shfl_up_sync", calls::Shuffle::up, mask, value, static_cast<int>(delta), width, at);
}
template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned delta, int width = warpSize,
                   Place at = Place::here()) {
  return shuffled("__shfl_down_sync", calls::Shuffle::down, mask, value, static_cast<int>(delta), width, at);
}
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int lane_mask, int width = warpSize, Place at = Place::here()) {
  return shuffled("__shfl_xor_sync", calls::Shuffle::exclusive_or, mask, value, lane_mask, width, at);
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

// ---- Rows

/// D from the registers of each of these lanes, in the order of the statement.
template <class D, int kLanes = 32, class... Sources>
D executed(const calls::Statement& statement, Place at, const Sources&... sources) {
  D d{};
  const void* const given[] = {&sources...};
  calls::execute(statement, {.lanes = kLanes, .d = &d, .sources = given}, at);
  return d;
}

/// What follows the form of a sparse product.
template <int Selector>
inline constexpr calls::Piece kSelected[] = {{" {d}, {a}, {b}, {c}, e, ", Selector}, {";"}};

/// What follows the form of a product with block scaling: in a bare form the selectors are 0.
inline constexpr calls::Piece kSelectors[] = {
    {" {d}, {a}, {b}, {c}, scale_a, {byte_a, thread_a}, scale_b, {byte_b, thread_b};"}};

/// The number that ends a statement.
template <int N>
inline constexpr calls::Piece kNumber[] = {{"", N}, {";"}};

template <class Row, class T>
typename Row::Registers load_matrix(SharedArray<T> row, Place at) {
  typename Row::Registers r{};
  calls::execute({Row::form}, {.d = &r, .row = &row.view}, at);
  return r;
}
template <class Row, class T>
void store_matrix(SharedArray<T> row, const typename Row::Registers& r, Place at) {
  static_assert(!std::is_const_v<T>, "it stores: the elements must not be const");
  const void* const given[] = {&r};
  calls::execute({Row::form}, {.sources = given, .row = &row.view}, at);
}
template <class Row>
typename Row::Registers load_tensor(std::uint32_t address, Place at) {
  typename Row::Registers r{};
  calls::tensor_by_warp(calls::Tensor::ld, 1, {.address = address, .words = Row::form, .to = r.r}, at);
  return r;
}
template <class Row>
void store_tensor(std::uint32_t address, const typename Row::Registers& r, Place at) {
  calls::tensor_by_warp(calls::Tensor::st, 1, {.address = address, .words = Row::form, .from = r.r}, at);
}
template <class Row>
typename Row::Registers convert(float upper, float lower, Place at) {
  return executed<typename Row::Registers, 1>({Row::form}, at, upper, lower);
}

// ---- Registers that products read and write behind the thread's back

/// A register of an AsyncFragment.
template <class R>
struct AsyncRegister {
  using Type = R;
  calls::AsyncRegister view;

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

// ---- Products of a warpgroup

/// nvcc moves no access to the fragments (one or an array) across it.
template <class Fragments>
void changed(Fragments&) {}

/// What follows wgmma.mma_async.sync.aligned.m64n.
template <class S, bool kDescribed>
inline constexpr calls::Piece kProduct[] = {{"", S::Row::columns},
                                            {S::Row::form},
                                            {kDescribed ? " {d}, a_desc, b_desc, p" : " {d}, {a}, b_desc, p"},
                                            {S::SignA::text},
                                            {S::SignB::text},
                                            {S::TransposedA::text},
                                            {S::TransposedB::text},
                                            {";"}};

/// A by its descriptor, or as a fragment.
template <class Statement, class R, int N, class A>
void multiply(const AsyncFragment<R, N>& d, const A& a, std::uint64_t b, bool scale_d, Place at) {
  constexpr bool kDescribed = std::is_same_v<A, std::uint64_t>;
  calls::WarpgroupProduct product{.d = d.first(), .a = 0, .b = b, .scale_d = scale_d};
  if constexpr (kDescribed)
    product.a = a;
  else
    product.a = static_cast<std::uint64_t>(a.first());
  calls::execute({"wgmma.mma_async.sync.aligned.m64n", kProduct<Statement, kDescribed>},
                 {.lanes = 128, .product = &product}, at);
}

}  // namespace warpbit::device
