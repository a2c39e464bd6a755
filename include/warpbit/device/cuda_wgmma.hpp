// SPDX-License-Identifier: Apache-2.0
// Asynchronous products of a warpgroup under nvcc, for targets with wgmma (sm_90a): inline PTX, whose
// statements take their text by the constraint "C", which nvcc 13 has. warpbit/device/host_wgmma.hpp
// documents the wrappers.
#pragma once

#include "warpbit/device/cuda.hpp"
#include "warpbit/device/wgmma.hpp"
#include "warpbit/device/wgmma_asm.hpp"

namespace warpbit::device {

template <class T>
WARPBIT_DEVICE std::uint64_t matrix_descriptor(T* start, int leading_bytes, int stride_bytes, Swizzle swizzle,
                                               int base_offset = 0) {
  const auto field = [](std::uint64_t bytes) { return (bytes & 0x3FFFF) >> 4; };
  return field(shared_address(start)) | field(leading_bytes) << 16 | field(stride_bytes) << 32 |
         static_cast<std::uint64_t>(base_offset) << 49 | static_cast<std::uint64_t>(swizzle) << 62;
}

WARPBIT_DEVICE void fence_proxy_async() {
  asm volatile("fence.proxy.async;" ::: "memory");
}
WARPBIT_DEVICE void fence_proxy_async_shared_cta() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- Fences, groups. nvcc cannot see when products change registers, so each asm names the registers that
// it must not move across.

template <int N>
WARPBIT_DEVICE void changed(Fragment<float, N>& fragment) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(fragment[i])::"memory");
}
template <int N>
WARPBIT_DEVICE void changed(Fragment<std::uint32_t, N>& fragment) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+r"(fragment[i])::"memory");
}
template <class F, int Count>
WARPBIT_DEVICE void changed(F (&fragments)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) changed(fragments[i]);
}

WARPBIT_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
template <class Fragments>
WARPBIT_DEVICE void wgmma_fence(Fragments& fragments) {
  changed(fragments);
  wgmma_fence();
}
WARPBIT_DEVICE void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int N>
WARPBIT_DEVICE void wgmma_wait_group() {
  static_assert(N >= 0, "wgmma.wait_group takes a number of groups, 0 or more");
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}
template <int N, class Fragments>
WARPBIT_DEVICE void wgmma_wait_group(Fragments& fragments) {
  wgmma_wait_group<N>();
  changed(fragments);
}

// ---- Products: for each number of registers, of either kind, A by a descriptor and in registers

// clang-format off
#define WARPBIT_ROW(type, how, count, i0, i1, i2, i3, i4, i5, i6, i7)                                        \
  template <class Form, class Immediates>                                                                    \
  WARPBIT_DEVICE void issue(Fragment<type, count>& d, std::uint64_t a, std::uint64_t b, int scale_d) {       \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " i2 ", 0;\n"                                            \
                 i3 " {" WARPBIT_WGMMA_TEXT_##count "}, " i0 ", " i1 ", p" i4 ";\n}"                         \
                 : WARPBIT_WGMMA_D_##count(how)                                                              \
                 : "l"(a), "l"(b), "r"(scale_d), "C"(Form::text), "C"(Immediates::text)                      \
                 : "memory");                                                                                \
  }                                                                                                          \
  template <class Form, class Immediates>                                                                    \
  WARPBIT_DEVICE void issue(Fragment<type, count>& d, const Fragment<std::uint32_t, 4>& a, std::uint64_t b,  \
                            int scale_d) {                                                                   \
    asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " i5 ", 0;\n" i6 " {" WARPBIT_WGMMA_TEXT_##count "}, {"  \
                 i0 ", " i1 ", " i2 ", " i3 "}, " i4 ", p" i7 ";\n}"                                         \
                 : WARPBIT_WGMMA_D_##count(how)                                                              \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(scale_d), "C"(Form::text),        \
                   "C"(Immediates::text)                                                                     \
                 : "memory");                                                                                \
  }
// clang-format on
#define WARPBIT_ROW_OF_FLOAT(count, ...) WARPBIT_ROW(float, "+f", count, __VA_ARGS__)
#define WARPBIT_ROW_OF_WORDS(count, ...) WARPBIT_ROW(std::uint32_t, "+r", count, __VA_ARGS__)
WARPBIT_WGMMA_COUNTS_OF_F32(WARPBIT_ROW_OF_FLOAT)
WARPBIT_WGMMA_COUNTS_OF_F32(WARPBIT_ROW_OF_WORDS)
WARPBIT_WGMMA_COUNTS_OF_F16(WARPBIT_ROW_OF_WORDS)
#undef WARPBIT_ROW_OF_FLOAT
#undef WARPBIT_ROW_OF_WORDS
#undef WARPBIT_ROW

template <class Shape, class Sum, class A, class B = A, int ScaleA = 1, int ScaleB = 1, int TransA = 0,
          int TransB = 0>
WARPBIT_DEVICE void wgmma(typename Wgmma<Shape, Sum, A, B>::Sum& d, std::uint64_t a, std::uint64_t b,
                          bool scale_d) {
  using Row = Wgmma<Shape, Sum, A, B>;
  issue<Literal<WgmmaForm<Row>>, Literal<WgmmaImmediates<Row, true, ScaleA, ScaleB, TransA, TransB>>>(
      d, a, b, scale_d ? 1 : 0);
}
template <class Shape, class Sum, class A, class B = A, int ScaleA = 1, int ScaleB = 1, int TransA = 0,
          int TransB = 0>
WARPBIT_DEVICE void wgmma(typename Wgmma<Shape, Sum, A, B>::Sum& d,
                          const typename Wgmma<Shape, Sum, A, B>::A& a, std::uint64_t b, bool scale_d) {
  using Row = Wgmma<Shape, Sum, A, B>;
  issue<Literal<WgmmaForm<Row>>, Literal<WgmmaImmediates<Row, false, ScaleA, ScaleB, TransA, TransB>>>(
      d, a, b, scale_d ? 1 : 0);
}

}  // namespace warpbit::device
