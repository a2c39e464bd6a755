// SPDX-License-Identifier: Apache-2.0
// The forms that the wrappers support, a row each. Both compilers make their specialisations from these, and
// a test compares them with the forms of the library.
#pragma once

#include "warpbit/device/common.hpp"

// ---- One lane's registers of D and C, of A, of B. `f`: float, `r`: 32 bits, `d`: double.

namespace warpbit::device {

/// The fragments of a product: number and type of the registers of each operand.
template <class D, int kD, class Factor, int kA, int kB>
struct Fragments {
  using Sum = Fragment<D, kD>;
  using A = Fragment<Factor, kA>;
  using B = Fragment<Factor, kB>;
};
using f4_r2_r1 = Fragments<float, 4, std::uint32_t, 2, 1>;
using f4_r2_r2 = Fragments<float, 4, std::uint32_t, 2, 2>;
using f4_r4_r2 = Fragments<float, 4, std::uint32_t, 4, 2>;
using f4_r4_r4 = Fragments<float, 4, std::uint32_t, 4, 4>;
using r4_r2_r1 = Fragments<std::uint32_t, 4, std::uint32_t, 2, 1>;
using r4_r2_r2 = Fragments<std::uint32_t, 4, std::uint32_t, 2, 2>;
using r4_r4_r2 = Fragments<std::uint32_t, 4, std::uint32_t, 4, 2>;
using r4_r4_r4 = Fragments<std::uint32_t, 4, std::uint32_t, 4, 4>;
using r2_r2_r1 = Fragments<std::uint32_t, 2, std::uint32_t, 2, 1>;
using r2_r2_r2 = Fragments<std::uint32_t, 2, std::uint32_t, 2, 2>;
using r2_r4_r2 = Fragments<std::uint32_t, 2, std::uint32_t, 4, 2>;
using r2_r4_r4 = Fragments<std::uint32_t, 2, std::uint32_t, 4, 4>;
using r2_r1_r1 = Fragments<std::uint32_t, 2, std::uint32_t, 1, 1>;
using d2_d1_d1 = Fragments<double, 2, double, 1, 1>;
using d4_d2_d1 = Fragments<double, 4, double, 2, 1>;
using d4_d4_d2 = Fragments<double, 4, double, 4, 2>;
using d4_d8_d4 = Fragments<double, 4, double, 8, 4>;

}  // namespace warpbit::device

// ---- mma (PTX manual, "Multiply-and-Accumulate Instruction: mma"): shape, type of D and C, of A, of B

// clang-format off
#define WARPBIT_PAIRS(X, shape, sum, x, y, ...) \
  X(shape, sum, x, x, __VA_ARGS__)              \
  X(shape, sum, x, y, __VA_ARGS__)              \
  X(shape, sum, y, x, __VA_ARGS__)              \
  X(shape, sum, y, y, __VA_ARGS__)

#define WARPBIT_MMA_ROWS(X)                                  \
  X(m8n8k4, f64, f64, f64, d2_d1_d1)                         \
  X(m16n8k4, f64, f64, f64, d4_d2_d1)                        \
  X(m16n8k8, f64, f64, f64, d4_d4_d2)                        \
  X(m16n8k16, f64, f64, f64, d4_d8_d4)                       \
  X(m16n8k8, f16, f16, f16, r2_r2_r1)                        \
  X(m16n8k8, f32, f16, f16, f4_r2_r1)                        \
  X(m16n8k16, f16, f16, f16, r2_r4_r2)                       \
  X(m16n8k16, f32, f16, f16, f4_r4_r2)                       \
  X(m16n8k8, f32, bf16, bf16, f4_r2_r1)                      \
  X(m16n8k16, f32, bf16, bf16, f4_r4_r2)                     \
  X(m16n8k4, f32, tf32, tf32, f4_r2_r1)                      \
  X(m16n8k8, f32, tf32, tf32, f4_r4_r2)                      \
  WARPBIT_PAIRS(X, m16n8k16, f16, e4m3, e5m2, r2_r2_r1)      \
  WARPBIT_PAIRS(X, m16n8k16, f32, e4m3, e5m2, f4_r2_r1)      \
  WARPBIT_PAIRS(X, m16n8k32, f16, e4m3, e5m2, r2_r4_r2)      \
  WARPBIT_PAIRS(X, m16n8k32, f32, e4m3, e5m2, f4_r4_r2)      \
  WARPBIT_PAIRS(X, m8n8k16, s32, s8, u8, r2_r1_r1)           \
  WARPBIT_PAIRS(X, m16n8k16, s32, s8, u8, r4_r2_r1)          \
  WARPBIT_PAIRS(X, m16n8k32, s32, s8, u8, r4_r4_r2)          \
  WARPBIT_PAIRS(X, m8n8k32, s32, s4, u4, r2_r1_r1)           \
  WARPBIT_PAIRS(X, m16n8k32, s32, s4, u4, r4_r2_r1)          \
  WARPBIT_PAIRS(X, m16n8k64, s32, s4, u4, r4_r4_r2)

#define WARPBIT_MMA_TEXT(shape, sum, a, b) "mma.sync.aligned." #shape ".row.col." #sum "." #a "." #b "." #sum

// ---- mma.sp::ordered_metadata (PTX manual, "mma.sp"): the same, and the number of selectors

#define WARPBIT_MMA_SP_ROWS(X)                                  \
  X(m16n8k8, f32, tf32, tf32, f4_r2_r2, 4)                      \
  X(m16n8k16, f32, tf32, tf32, f4_r4_r4, 2)                     \
  X(m16n8k16, f16, f16, f16, r2_r2_r2, 4)                       \
  X(m16n8k16, f32, f16, f16, f4_r2_r2, 4)                       \
  X(m16n8k32, f16, f16, f16, r2_r4_r4, 2)                       \
  X(m16n8k32, f32, f16, f16, f4_r4_r4, 2)                       \
  X(m16n8k16, f32, bf16, bf16, f4_r2_r2, 4)                     \
  X(m16n8k32, f32, bf16, bf16, f4_r4_r4, 2)                     \
  WARPBIT_PAIRS(X, m16n8k64, f32, e4m3, e5m2, f4_r4_r4, 1)      \
  WARPBIT_PAIRS(X, m16n8k32, s32, s8, u8, r4_r2_r2, 2)          \
  WARPBIT_PAIRS(X, m16n8k64, s32, s8, u8, r4_r4_r4, 1)          \
  WARPBIT_PAIRS(X, m16n8k64, s32, s4, u4, r4_r2_r2, 2)          \
  WARPBIT_PAIRS(X, m16n8k128, s32, s4, u4, r4_r4_r4, 1)

#define WARPBIT_MMA_SP_TEXT(shape, sum, a, b) \
  "mma.sp::ordered_metadata.sync.aligned." #shape ".row.col." #sum "." #a "." #b "." #sum

// ---- mma with block scaling (PTX manual, "Block Scaling"): shape, kind, factors of a row, types of A, of B and of
// the scale factors

#define WARPBIT_NARROW(X, a)                      \
  X(m16n8k32, mxf8f6f4, 1X, a, e4m3, ue8m0)       \
  X(m16n8k32, mxf8f6f4, 1X, a, e5m2, ue8m0)       \
  X(m16n8k32, mxf8f6f4, 1X, a, e3m2, ue8m0)       \
  X(m16n8k32, mxf8f6f4, 1X, a, e2m3, ue8m0)       \
  X(m16n8k32, mxf8f6f4, 1X, a, e2m1, ue8m0)

#define WARPBIT_BLOCK_SCALE_ROWS(X)               \
  WARPBIT_NARROW(X, e4m3)                         \
  WARPBIT_NARROW(X, e5m2)                         \
  WARPBIT_NARROW(X, e3m2)                         \
  WARPBIT_NARROW(X, e2m3)                         \
  WARPBIT_NARROW(X, e2m1)                         \
  X(m16n8k64, mxf4, 2X, e2m1, e2m1, ue8m0)        \
  X(m16n8k64, mxf4nvf4, 2X, e2m1, e2m1, ue8m0)    \
  X(m16n8k64, mxf4nvf4, 4X, e2m1, e2m1, ue4m3)

#define WARPBIT_BLOCK_SCALE_TEXT(shape, kind, vec, a, b, scale)                                            \
  "mma.sync.aligned." #shape ".row.col.kind::" #kind ".block_scale.scale_vec::" #vec ".f32." #a "." #b \
  ".f32." #scale

// ---- Moves (PTX manual, "ldmatrix", "stmatrix"): name, qualifiers, matrices, registers

#define WARPBIT_LDMATRIX_ROWS(X)                          \
  X(ldmatrix, "m8n8.x1.shared.b16", 1, 1)                 \
  X(ldmatrix, "m8n8.x2.shared.b16", 2, 2)                 \
  X(ldmatrix, "m8n8.x4.shared.b16", 4, 4)                 \
  X(ldmatrix_trans, "m8n8.x1.trans.shared.b16", 1, 1)     \
  X(ldmatrix_trans, "m8n8.x2.trans.shared.b16", 2, 2)     \
  X(ldmatrix_trans, "m8n8.x4.trans.shared.b16", 4, 4)     \
  X(ldmatrix_b8_trans, "m16n16.x1.trans.shared.b8", 1, 2) \
  X(ldmatrix_b8_trans, "m16n16.x2.trans.shared.b8", 2, 4)

#define WARPBIT_STMATRIX_ROWS(X)                      \
  X(stmatrix, "m8n8.x1.shared.b16", 1, 1)             \
  X(stmatrix, "m8n8.x2.shared.b16", 2, 2)             \
  X(stmatrix, "m8n8.x4.shared.b16", 4, 4)             \
  X(stmatrix_trans, "m8n8.x1.trans.shared.b16", 1, 1) \
  X(stmatrix_trans, "m8n8.x2.trans.shared.b16", 2, 2) \
  X(stmatrix_trans, "m8n8.x4.trans.shared.b16", 4, 4) \
  X(stmatrix_b8_trans, "m16n8.x1.trans.shared.b8", 1, 1) \
  X(stmatrix_b8_trans, "m16n8.x2.trans.shared.b8", 2, 2) \
  X(stmatrix_b8_trans, "m16n8.x4.trans.shared.b8", 4, 4)

// ---- Conversions of two f32 (PTX manual, "cvt"): name, type, register, its constraint in CUDA

#define WARPBIT_CVT_ROWS(X)                                \
  X(cvt_rn, "rn", f16x2, std::uint32_t, "=r")              \
  X(cvt_rn, "rn", bf16x2, std::uint32_t, "=r")             \
  X(cvt_rn_satfinite, "rn.satfinite", e4m3x2, std::uint16_t, "=h") \
  X(cvt_rn_satfinite, "rn.satfinite", e5m2x2, std::uint16_t, "=h")
// clang-format on

#define WARPBIT_CVT_TEXT(qualifiers, to)  "cvt." qualifiers "." #to ".f32"
#define WARPBIT_LDMATRIX_TEXT(qualifiers) "ldmatrix.sync.aligned." qualifiers
#define WARPBIT_STMATRIX_TEXT(qualifiers) "stmatrix.sync.aligned." qualifiers

// ---- Error messages for unsupported combinations

namespace warpbit::device {

template <class T, class... Of>
inline constexpr bool one_of = (__is_same(T, Of) || ...);

/// A form of mma: Sum, A and B are the fragments of a lane. Rows specialise it.
template <class Shape, class Sum_, class A_, class B_>
struct Mma : f4_r4_r2 {
  static constexpr char form[] = "";
  static_assert(!one_of<A_, f16>, "mma with A f16 has m16n8k8 and m16n8k16; B f16; C and D f16 or f32");
  static_assert(!one_of<A_, bf16>, "mma with A bf16 has m16n8k8 and m16n8k16; B bf16; C and D f32");
  static_assert(!one_of<A_, tf32>, "mma with A tf32 has m16n8k4 and m16n8k8; B tf32; C and D f32");
  static_assert(!one_of<A_, f64>,
                "mma with A f64 has m8n8k4, m16n8k4, m16n8k8 and m16n8k16; B f64; C and D f64");
  static_assert(!one_of<A_, e4m3, e5m2>,
                "mma with A e4m3 or e5m2 has m16n8k16 and m16n8k32; B e4m3 or e5m2; C and D f16 or f32");
  static_assert(!one_of<A_, s8, u8>,
                "mma with A s8 or u8 has m8n8k16, m16n8k16 and m16n8k32; B s8 or u8; C and D s32");
  static_assert(!one_of<A_, s4, u4>,
                "mma with A s4 or u4 has m8n8k32, m16n8k32 and m16n8k64; B s4 or u4; C and D s32");
  static_assert(one_of<A_, f16, bf16, tf32, f64, e4m3, e5m2, s8, u8, s4, u4>,
                "mma has A of f16, bf16, tf32, f64, e4m3, e5m2, s8, u8, s4 or u4");
};

/// A form of mma.sp::ordered_metadata.
template <class Shape, class Sum_, class A_, class B_>
struct MmaSp : f4_r4_r4 {
  static constexpr int selectors = 4;
  static constexpr char form[] = "";
  static_assert(!one_of<A_, f16>, "mma.sp with A f16 has m16n8k16 and m16n8k32; B f16; C and D f16 or f32");
  static_assert(!one_of<A_, bf16>, "mma.sp with A bf16 has m16n8k16 and m16n8k32; B bf16; C and D f32");
  static_assert(!one_of<A_, tf32>, "mma.sp with A tf32 has m16n8k8 and m16n8k16; B tf32; C and D f32");
  static_assert(!one_of<A_, e4m3, e5m2>,
                "mma.sp with A e4m3 or e5m2 has m16n8k64; B e4m3 or e5m2; C and D f32");
  static_assert(!one_of<A_, s8, u8>,
                "mma.sp with A s8 or u8 has m16n8k32 and m16n8k64; B s8 or u8; C and D s32");
  static_assert(!one_of<A_, s4, u4>,
                "mma.sp with A s4 or u4 has m16n8k64 and m16n8k128; B s4 or u4; C and D s32");
  static_assert(one_of<A_, f16, bf16, tf32, e4m3, e5m2, s8, u8, s4, u4>,
                "mma.sp has A of f16, bf16, tf32, e4m3, e5m2, s8, u8, s4 or u4");
};

/// A form of mma with block scaling.
template <class Shape, class Kind, class A_, class B_, class Scale>
struct MmaBlockScale {
  static constexpr char form[] = "";
  static_assert(!one_of<Kind, mxf8f6f4>,
                "kind::mxf8f6f4 has m16n8k32; A and B e4m3, e5m2, e3m2, e2m3 or e2m1; scale factors ue8m0");
  static_assert(!one_of<Kind, mxf4>, "kind::mxf4 has m16n8k64; A and B e2m1; scale factors ue8m0");
  static_assert(!one_of<Kind, mxf4nvf4>,
                "kind::mxf4nvf4 has m16n8k64; A and B e2m1; scale factors ue8m0 or ue4m3");
  static_assert(one_of<Kind, mxf8f6f4, mxf4, mxf4nvf4>,
                "block scaling has the kinds mxf8f6f4, mxf4 and mxf4nvf4");
};

#define WARPBIT_ROW(shape, sum, a, b, fragments)                       \
  template <>                                                          \
  struct Mma<shape, sum, a, b> : fragments {                           \
    static constexpr char form[] = WARPBIT_MMA_TEXT(shape, sum, a, b); \
  };
WARPBIT_MMA_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

#define WARPBIT_ROW(shape, sum, a, b, fragments, count)                   \
  template <>                                                             \
  struct MmaSp<shape, sum, a, b> : fragments {                            \
    static constexpr int selectors = count;                               \
    static constexpr char form[] = WARPBIT_MMA_SP_TEXT(shape, sum, a, b); \
  };
WARPBIT_MMA_SP_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

#define WARPBIT_ROW(shape, kind, vec, a, b, scale)                                          \
  template <>                                                                               \
  struct MmaBlockScale<shape, kind, a, b, scale> {                                          \
    static constexpr char form[] = WARPBIT_BLOCK_SCALE_TEXT(shape, kind, vec, a, b, scale); \
  };
WARPBIT_BLOCK_SCALE_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

}  // namespace warpbit::device
