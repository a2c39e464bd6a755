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
/// Of the shared memory of any block of the cluster.
WARPBIT_DEVICE unsigned cluster_address(const void* pointer) {
  std::uint64_t address;
  asm("cvta.to.shared::cluster.u64 %0, %1;" : "=l"(address) : "l"(pointer));
  return static_cast<unsigned>(address);
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
WARPBIT_DEVICE typename Row::Registers load_tensor(unsigned address, Place) {
  typename Row::Registers r;
  issue(Row{}, r, address);
  return r;
}
template <class Row>
WARPBIT_DEVICE void store_tensor(unsigned address, const typename Row::Registers& r, Place) {
  issue(Row{}, address, r);
}
template <class Row>
WARPBIT_DEVICE typename Row::Registers convert(float upper, float lower, Place) {
  typename Row::Registers d;
  issue(Row{}, d, upper, lower);
  return d;
}

// ---- Tensor memory

template <class T>
WARPBIT_DEVICE std::uint64_t tensor_matrix(T* start, int leading_bytes, int stride_bytes, Swizzle swizzle) {
  const auto field = [](unsigned bytes) { return static_cast<std::uint64_t>((bytes & 0x3FFFF) >> 4); };
  const auto code = swizzle == Swizzle::bytes_128_atoms_32 ? 1 : 2 * static_cast<std::uint64_t>(swizzle);
  return field(shared_address(start)) | field(leading_bytes) << 16 | field(stride_bytes) << 32 |
         std::uint64_t{1} << 46 | code << 61;
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

// ---- Clusters

/// x, y and z.
struct Index3 {
  unsigned x = 0, y = 0, z = 0;
  WARPBIT_DEVICE friend bool operator==(const Index3& a, const Index3& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

WARPBIT_DEVICE unsigned special_cluster_ctarank() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
WARPBIT_DEVICE Index3 special_cluster_ctaid() {
  Index3 at;
  asm("mov.u32 %0, %%cluster_ctaid.x;\n\tmov.u32 %1, %%cluster_ctaid.y;\n\tmov.u32 %2, %%cluster_ctaid.z;"
      : "=r"(at.x), "=r"(at.y), "=r"(at.z));
  return at;
}
WARPBIT_DEVICE Index3 special_cluster_nctaid() {
  Index3 size;
  asm("mov.u32 %0, %%cluster_nctaid.x;\n\tmov.u32 %1, %%cluster_nctaid.y;\n\tmov.u32 %2, %%cluster_nctaid.z;"
      : "=r"(size.x), "=r"(size.y), "=r"(size.z));
  return size;
}
template <class T>
WARPBIT_DEVICE T* mapped(T* array, unsigned rank) {
  T* out;
  asm("mapa.u64 %0, %1, %2;" : "=l"(out) : "l"(array), "r"(rank));
  return out;
}

// ---- Copies of boxes of a tensor. The text of a statement has as many coordinates as the map has dimensions. Operands: %0 the
// map, %1 the tile, %2 the barrier object, %3 the mask, %4 to %8 the coordinates, then offsets.

#define WARPBIT_TENSOR(N, before, vector, behind, ...)                                         \
  asm volatile(before vector behind ::"l"(&map), "r"(tile), "r"(object), "h"(mask), "r"(c[0]), \
               "r"(c[N < 2 ? 0 : 1]), "r"(c[N < 3 ? 0 : 2]), "r"(c[N < 4 ? 0 : 3]),            \
               "r"(c[N < 5 ? 0 : 4]) __VA_OPT__(, ) __VA_ARGS__                                \
               : "memory")
#define WARPBIT_OF_RANKS(N, before, behind, ...)                                               \
  if constexpr (N == 1)                                                                        \
    WARPBIT_TENSOR(N, before("1"), "{%4}", behind __VA_OPT__(, ) __VA_ARGS__);                 \
  else if constexpr (N == 2)                                                                   \
    WARPBIT_TENSOR(N, before("2"), "{%4, %5}", behind __VA_OPT__(, ) __VA_ARGS__);             \
  else if constexpr (N == 3)                                                                   \
    WARPBIT_TENSOR(N, before("3"), "{%4, %5, %6}", behind __VA_OPT__(, ) __VA_ARGS__);         \
  else if constexpr (N == 4)                                                                   \
    WARPBIT_TENSOR(N, before("4"), "{%4, %5, %6, %7}", behind __VA_OPT__(, ) __VA_ARGS__);     \
  else {                                                                                       \
    WARPBIT_TENSOR(N, before("5"), "{%4, %5, %6, %7, %8}", behind __VA_OPT__(, ) __VA_ARGS__); \
  }

#define WARPBIT_LOAD(rank) \
  "cp.async.bulk.tensor." rank "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%1], [%0, "
template <class T, int N>
WARPBIT_DEVICE void load_tensor(T* to, const TensorMapParameter& map, const int (&c)[N],
                                const std::uint64_t* barrier) {
  const unsigned tile = cluster_address(to), object = cluster_address(barrier);
  const std::uint16_t mask = 0;
  WARPBIT_OF_RANKS(N, WARPBIT_LOAD, "], [%2];")
}
#undef WARPBIT_LOAD

#define WARPBIT_LOAD(rank)                                                         \
  "cp.async.bulk.tensor." rank                                                     \
  "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster " \
  "[%1], [%0, "
template <class T, int N>
WARPBIT_DEVICE void load_tensor_multicast(T* to, const TensorMapParameter& map, const int (&c)[N],
                                          const std::uint64_t* barrier, std::uint16_t mask) {
  const unsigned tile = cluster_address(to), object = cluster_address(barrier);
  WARPBIT_OF_RANKS(N, WARPBIT_LOAD, "], [%2], %3;")
}
#undef WARPBIT_LOAD

#define WARPBIT_LOAD(rank) \
  "cp.async.bulk.tensor." rank "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%1], [%0, "
template <class T, int N, int M>
WARPBIT_DEVICE void load_tensor_im2col(T* to, const TensorMapParameter& map, const int (&c)[N],
                                       const std::uint16_t (&offsets)[M], const std::uint64_t* barrier) {
  const unsigned tile = cluster_address(to), object = cluster_address(barrier);
  const std::uint16_t mask = 0;
  if constexpr (N == 3)
    WARPBIT_TENSOR(N, WARPBIT_LOAD("3"), "{%4, %5, %6}", "], [%2], {%9};", "h"(offsets[0]));
  else if constexpr (N == 4)
    WARPBIT_TENSOR(N, WARPBIT_LOAD("4"), "{%4, %5, %6, %7}", "], [%2], {%9, %10};", "h"(offsets[0]),
                   "h"(offsets[1]));
  else
    WARPBIT_TENSOR(N, WARPBIT_LOAD("5"), "{%4, %5, %6, %7, %8}", "], [%2], {%9, %10, %11};", "h"(offsets[0]),
                   "h"(offsets[1]), "h"(offsets[2]));
}
#undef WARPBIT_LOAD

#define WARPBIT_STORE(rank) "cp.async.bulk.tensor." rank "d.global.shared::cta.tile.bulk_group [%0, "
template <class T, int N>
WARPBIT_DEVICE void store_tensor(const TensorMapParameter& map, const int (&c)[N], const T* from) {
  const unsigned tile = shared_address(from), object = 0;
  const std::uint16_t mask = 0;
  WARPBIT_OF_RANKS(N, WARPBIT_STORE, "], [%1];")
}
#undef WARPBIT_STORE

#define WARPBIT_STORE(rank) "cp.reduce.async.bulk.tensor." rank "d.global.shared::cta%9.tile.bulk_group [%0, "
template <class Text, class T, int N>
WARPBIT_DEVICE void reduce_tensor(const TensorMapParameter& map, const int (&c)[N], const T* from) {
  const unsigned tile = shared_address(from), object = 0;
  const std::uint16_t mask = 0;
  WARPBIT_OF_RANKS(N, WARPBIT_STORE, "], [%1];", "C"(Text::operation))
}
#undef WARPBIT_STORE
#undef WARPBIT_OF_RANKS
#undef WARPBIT_TENSOR

}  // namespace warpbit::device
