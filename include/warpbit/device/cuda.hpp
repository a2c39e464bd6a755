// SPDX-License-Identifier: Apache-2.0
// Under nvcc: arrays are pointers, and rows are issued as inline PTX. warpbit/device/host.hpp documents them.
#pragma once

#include "warpbit/device/common.hpp"

namespace warpbit::device {

template <class T>
using SharedArray = T*;
template <class T>
using GlobalArray = T*;

template <class T>
WARPBIT_DEVICE SharedArray<T> shared_array(long long offset, long long) {
  extern __shared__ __align__(1024) unsigned char warpbit_shared_memory[];
  return reinterpret_cast<T*>(warpbit_shared_memory + offset);
}

template <class U, class T>
WARPBIT_DEVICE U* as(T* array) {
  return reinterpret_cast<U*>(array);
}

WARPBIT_DEVICE unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// ---- Rows

template <class Row, class T>
WARPBIT_DEVICE typename Row::Registers load_matrix(T* row, Place) {
  typename Row::Registers r;
  issue(Row{}, r, shared_address(row));
  return r;
}
template <class Row, class T>
WARPBIT_DEVICE void store_matrix(T* row, const typename Row::Registers& r, Place) {
  issue(Row{}, shared_address(row), r);
}
template <class Row>
WARPBIT_DEVICE typename Row::Registers convert(float upper, float lower, Place) {
  typename Row::Registers d;
  issue(Row{}, d, upper, lower);
  return d;
}

// ---- wgmma

template <class T>
WARPBIT_DEVICE std::uint64_t matrix_descriptor(T* start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                               int base_offset = 0) {
  const auto field = [](std::uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; };
  return field(shared_address(start)) | field(leading_bytes) << 16 | field(stride_bytes) << 32 |
         static_cast<std::uint64_t>(base_offset) << 49 | static_cast<std::uint64_t>(swizzle) << 62;
}

// nvcc cannot see when products change registers: names those that it must not move across.
template <class R, int N>
WARPBIT_DEVICE void changed(Fragment<R, N>& fragment) {
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if constexpr (__is_same(R, float))
      asm volatile("" : "+f"(fragment[i])::"memory");
    else
      asm volatile("" : "+r"(fragment[i])::"memory");
  }
}
template <class F, int Count>
WARPBIT_DEVICE void changed(F (&fragments)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) changed(fragments[i]);
}

template <class Statement, class D, class A>
WARPBIT_DEVICE void multiply(D& d, const A& a, std::uint64_t b, bool scale_d, Place) {
  issue(Statement{}, d, a, b, scale_d ? 1 : 0);
}

}  // namespace warpbit::device
