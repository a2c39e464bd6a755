// SPDX-License-Identifier: Apache-2.0
// The wrappers under nvcc: inline PTX and plain pointers. warpbit/device/host.hpp documents them.
#pragma once

#include "warpbit/device/common.hpp"
#include "warpbit/device/rows.hpp"

namespace warpbit::device {

// ---- Arrays in memory

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

// ---- Conversions

#define WARPBIT_ROW(name, qualifiers, to, type, constraint)                                        \
  template <class To>                                                                              \
  requires(__is_same(To, to)) WARPBIT_DEVICE type name(float upper, float lower) {                 \
    type d;                                                                                        \
    asm(WARPBIT_CVT_TEXT(qualifiers, to) " %0, %1, %2;" : constraint(d) : "f"(upper), "f"(lower)); \
    return d;                                                                                      \
  }
WARPBIT_CVT_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

// ---- Asynchronous copies

template <class T, class U>
WARPBIT_DEVICE void cp_async_cg(T* to, U* from, int bytes = 16) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(shared_address(to)), "l"(from), "r"(bytes)
               : "memory");
}
template <int Bytes, class T, class U>
WARPBIT_DEVICE void cp_async_ca(T* to, U* from, int bytes = Bytes) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16, "cp.async.ca copies 4, 8 or 16 bytes");
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
               :
               : "r"(shared_address(to)), "l"(from), "n"(Bytes), "r"(bytes)
               : "memory");
}
WARPBIT_DEVICE void cp_async_commit_group() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int N>
WARPBIT_DEVICE void cp_async_wait_group() {
  static_assert(N >= 0, "cp.async.wait_group takes a number of groups, 0 or more");
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
WARPBIT_DEVICE void cp_async_wait_all() {
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// ---- Matrices between shared memory and registers

// clang-format off
#define WARPBIT_LOAD_1(form)       \
  asm volatile(form " {%0}, [%1];" \
               : "=r"(r[0])        \
               : "r"(address)      \
               : "memory")
#define WARPBIT_STORE_1(form)            \
  asm volatile(form " [%0], {%1};"       \
               :                         \
               : "r"(address), "r"(r[0]) \
               : "memory")
#define WARPBIT_LOAD_2(form)            \
  asm volatile(form " {%0, %1}, [%2];"  \
               : "=r"(r[0]), "=r"(r[1]) \
               : "r"(address)           \
               : "memory")
#define WARPBIT_STORE_2(form)                       \
  asm volatile(form " [%0], {%1, %2};"              \
               :                                    \
               : "r"(address), "r"(r[0]), "r"(r[1]) \
               : "memory")
#define WARPBIT_LOAD_4(form)                                    \
  asm volatile(form " {%0, %1, %2, %3}, [%4];"                  \
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) \
               : "r"(address)                                   \
               : "memory")
#define WARPBIT_STORE_4(form)                                             \
  asm volatile(form " [%0], {%1, %2, %3, %4};"                            \
               :                                                          \
               : "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) \
               : "memory")
// clang-format on

#define WARPBIT_ROW(name, qualifiers, matrices, registers)                                 \
  template <int N, class T>                                                                \
  requires(N == matrices) WARPBIT_DEVICE Fragment<std::uint32_t, registers> name(T* row) { \
    const unsigned address = shared_address(row);                                          \
    Fragment<std::uint32_t, registers> r;                                                  \
    WARPBIT_LOAD_##registers(WARPBIT_LDMATRIX_TEXT(qualifiers));                           \
    return r;                                                                              \
  }
WARPBIT_LDMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

#define WARPBIT_ROW(name, qualifiers, matrices, registers)                                                \
  template <int N, class T>                                                                               \
  requires(N == matrices) WARPBIT_DEVICE void name(T* row, const Fragment<std::uint32_t, registers>& r) { \
    const unsigned address = shared_address(row);                                                         \
    WARPBIT_STORE_##registers(WARPBIT_STMATRIX_TEXT(qualifiers));                                         \
  }
WARPBIT_STMATRIX_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

WARPBIT_DEVICE std::uint32_t movmatrix_trans(std::uint32_t a) {
  std::uint32_t d;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(d) : "r"(a));
  return d;
}

// ---- Products: the operands as the fragments of a row have them

// clang-format off
#define WARPBIT_ASM_f4_r2_r1(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                   \
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]))
#define WARPBIT_ASM_f4_r4_r2(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"    \
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), \
                 "f"(c[1]), "f"(c[2]), "f"(c[3]))
#define WARPBIT_ASM_r2_r2_r1(form)                                      \
  asm volatile(form " {%0, %1}, {%2, %3}, {%4}, {%5, %6};"              \
               : "=r"(d[0]), "=r"(d[1])                                 \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]))
#define WARPBIT_ASM_r2_r4_r2(form)                                                            \
  asm volatile(form " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"                        \
               : "=r"(d[0]), "=r"(d[1])                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), \
                 "r"(c[1]))
#define WARPBIT_ASM_r4_r2_r1(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                   \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]))
#define WARPBIT_ASM_r4_r4_r2(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"    \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), \
                 "r"(c[1]), "r"(c[2]), "r"(c[3]))
#define WARPBIT_ASM_r2_r1_r1(form)                           \
  asm volatile(form " {%0, %1}, {%2}, {%3}, {%4, %5};"       \
               : "=r"(d[0]), "=r"(d[1])                      \
               : "r"(a[0]), "r"(b[0]), "r"(c[0]), "r"(c[1]))
#define WARPBIT_ASM_d2_d1_d1(form)                           \
  asm volatile(form " {%0, %1}, {%2}, {%3}, {%4, %5};"       \
               : "=d"(d[0]), "=d"(d[1])                      \
               : "d"(a[0]), "d"(b[0]), "d"(c[0]), "d"(c[1]))
#define WARPBIT_ASM_d4_d2_d1(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %8, %9, %10};"                   \
               : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])                               \
               : "d"(a[0]), "d"(a[1]), "d"(b[0]), "d"(c[0]), "d"(c[1]), "d"(c[2]), "d"(c[3]))
#define WARPBIT_ASM_d4_d4_d2(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"    \
               : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])                               \
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]), "d"(c[0]), \
                 "d"(c[1]), "d"(c[2]), "d"(c[3]))
#define WARPBIT_ASM_d4_d8_d4(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, " \
               "%15}, {%16, %17, %18, %19};"                                                  \
               : "=d"(d[0]), "=d"(d[1]), "=d"(d[2]), "=d"(d[3])                               \
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), \
                 "d"(a[7]), "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]), "d"(c[0]), "d"(c[1]), \
                 "d"(c[2]), "d"(c[3]))
// clang-format on

#define WARPBIT_ROW(shape, sum, x, y, fragments)                                             \
  WARPBIT_DEVICE void issue(Mma<shape, sum, x, y>, fragments::Sum& d, const fragments::A& a, \
                            const fragments::B& b, const fragments::Sum& c) {                \
    WARPBIT_ASM_##fragments(WARPBIT_MMA_TEXT(shape, sum, x, y));                             \
  }
WARPBIT_MMA_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

template <class Shape, class Sum, class A, class B = A>
WARPBIT_DEVICE typename Mma<Shape, Sum, A, B>::Sum mma(const typename Mma<Shape, Sum, A, B>::A& a,
                                                       const typename Mma<Shape, Sum, A, B>::B& b,
                                                       const typename Mma<Shape, Sum, A, B>::Sum& c) {
  typename Mma<Shape, Sum, A, B>::Sum d;
  issue(Mma<Shape, Sum, A, B>{}, d, a, b, c);
  return d;
}

// With metadata and a selector.
// clang-format off
#define WARPBIT_ASM_f4_r2_r2(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %9, %10, %11}, %12, %13;"    \
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), \
                 "f"(c[3]), "r"(metadata), "n"(Selector))
#define WARPBIT_ASM_f4_r4_r4(form)                                                              \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, " \
               "%15}, %16, %17;"                                                                \
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),   \
                 "r"(b[3]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "r"(metadata),          \
                 "n"(Selector))
#define WARPBIT_ASM_r2_r2_r2(form)                                                                \
  asm volatile(form " {%0, %1}, {%2, %3}, {%4, %5}, {%6, %7}, %8, %9;"                            \
               : "=r"(d[0]), "=r"(d[1])                                                           \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(metadata), \
                 "n"(Selector))
#define WARPBIT_ASM_r2_r4_r4(form)                                                            \
  asm volatile(form " {%0, %1}, {%2, %3, %4, %5}, {%6, %7, %8, %9}, {%10, %11}, %12, %13;"    \
               : "=r"(d[0]), "=r"(d[1])                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), \
                 "r"(b[3]), "r"(c[0]), "r"(c[1]), "r"(metadata), "n"(Selector))
#define WARPBIT_ASM_r4_r2_r2(form)                                                            \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %9, %10, %11}, %12, %13;"    \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), \
                 "r"(c[3]), "r"(metadata), "n"(Selector))
#define WARPBIT_ASM_r4_r4_r4(form)                                                              \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9, %10, %11}, {%12, %13, %14, " \
               "%15}, %16, %17;"                                                                \
               : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                 \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]),   \
                 "r"(b[3]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(metadata),          \
                 "n"(Selector))
// clang-format on

#define WARPBIT_ROW(shape, sum, x, y, fragments, count)                                               \
  template <int Selector>                                                                             \
  WARPBIT_DEVICE void issue(MmaSp<shape, sum, x, y>, fragments::Sum& d, const fragments::A& a,        \
                            const fragments::B& b, const fragments::Sum& c, std::uint32_t metadata) { \
    WARPBIT_ASM_##fragments(WARPBIT_MMA_SP_TEXT(shape, sum, x, y));                                   \
  }
WARPBIT_MMA_SP_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

template <class Shape, class Sum, class A, class B = A, int Selector = 0>
WARPBIT_DEVICE typename MmaSp<Shape, Sum, A, B>::Sum mma_sp(const typename MmaSp<Shape, Sum, A, B>::A& a,
                                                            const typename MmaSp<Shape, Sum, A, B>::B& b,
                                                            const typename MmaSp<Shape, Sum, A, B>::Sum& c,
                                                            std::uint32_t metadata) {
  using Row = MmaSp<Shape, Sum, A, B>;
  static_assert(Selector >= 0 && Selector < Row::selectors,
                "the selector of mma.sp is 0, or 0 to 1, or 0 to 3: as many as lanes in four hold metadata");
  typename Row::Sum d;
  issue<Selector>(Row{}, d, a, b, c, metadata);
  return d;
}

struct ScaleSelector {
  std::uint16_t byte_id = 0, thread_id = 0;
};

// With scale factors and their selectors.
// clang-format off
#define WARPBIT_ASM_block_scale(form)                                                         \
  asm volatile(form " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13}, "   \
               "{%14}, {%15, %16}, {%17}, {%18, %19};"                                        \
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                               \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), \
                 "f"(c[1]), "f"(c[2]), "f"(c[3]), "r"(scale_a), "h"(of_a.byte_id),            \
                 "h"(of_a.thread_id), "r"(scale_b), "h"(of_b.byte_id), "h"(of_b.thread_id))
// clang-format on

#define WARPBIT_ROW(shape, kind, vec, x, y, scale)                                                    \
  WARPBIT_DEVICE void issue(MmaBlockScale<shape, kind, x, y, scale>, Fragment<float, 4>& d,           \
                            const Fragment<std::uint32_t, 4>& a, const Fragment<std::uint32_t, 2>& b, \
                            const Fragment<float, 4>& c, std::uint32_t scale_a, ScaleSelector of_a,   \
                            std::uint32_t scale_b, ScaleSelector of_b) {                              \
    WARPBIT_ASM_block_scale(WARPBIT_BLOCK_SCALE_TEXT(shape, kind, vec, x, y, scale));                 \
  }
WARPBIT_BLOCK_SCALE_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

template <class Shape, class Kind, class A, class B, class Scale>
WARPBIT_DEVICE Fragment<float, 4> mma_block_scale(const Fragment<std::uint32_t, 4>& a,
                                                  const Fragment<std::uint32_t, 2>& b,
                                                  const Fragment<float, 4>& c, std::uint32_t scale_a,
                                                  ScaleSelector of_a, std::uint32_t scale_b,
                                                  ScaleSelector of_b) {
  Fragment<float, 4> d;
  issue(MmaBlockScale<Shape, Kind, A, B, Scale>{}, d, a, b, c, scale_a, of_a, scale_b, of_b);
  return d;
}

}  // namespace warpbit::device
