// SPDX-License-Identifier: Apache-2.0
// Asynchronous products of a warpgroup, for both compilers: shapes, supported forms, and the text of their
// statements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>  // std::index_sequence

#include "warpbit/detail/swizzle.hpp"
#include "warpbit/device/common.hpp"
#include "warpbit/device/rows.hpp"

namespace warpbit::device {

using warpbit::Swizzle;

/// The shape 64 x N x K.
template <int N, int K>
struct m64nNkK {};

#ifdef __CUDACC__
template <class R, int N>
using AsyncFragment = Fragment<R, N>;
#else
template <class R, int N>
class AsyncFragment;
#endif

}  // namespace warpbit::device

// ---- wgmma.mma_async (PTX manual, "Asynchronous Warpgroup Level Matrix Operation"): K, type of D, of A, of B

// clang-format off
#define WARPBIT_WGMMA_ROWS(X)                \
  X(16, f16, f16, f16)                       \
  X(16, f32, f16, f16)                       \
  X(16, f32, bf16, bf16)                     \
  X(8, f32, tf32, tf32)                      \
  X(32, f16, e4m3, e4m3)                     \
  X(32, f16, e4m3, e5m2)                     \
  X(32, f16, e5m2, e4m3)                     \
  X(32, f16, e5m2, e5m2)                     \
  X(32, f32, e4m3, e4m3)                     \
  X(32, f32, e4m3, e5m2)                     \
  X(32, f32, e5m2, e4m3)                     \
  X(32, f32, e5m2, e5m2)                     \
  X(32, s32, s8, s8)                         \
  X(32, s32, s8, u8)                         \
  X(32, s32, u8, s8)                         \
  X(32, s32, u8, u8)
// clang-format on

namespace warpbit::device {

/// One lane's part of D.
template <int N, class Sum_>
struct WgmmaSum {
  using Type = AsyncFragment<std::uint32_t, N / 2>;
};
/// For f32.
template <int N>
struct WgmmaSum<N, f32> {
  using Type = AsyncFragment<float, N / 2>;
};
/// For f16, two per register.
template <int N>
struct WgmmaSum<N, f16> {
  using Type = AsyncFragment<std::uint32_t, N / 4>;
};

/// One lane's parts of D and of an A in registers, and the immediates of the form.
template <int N, class Sum_, class A_>
struct WgmmaOperands {
  using Sum = typename WgmmaSum<N, Sum_>::Type;
  using A = AsyncFragment<std::uint32_t, 4>;
  static constexpr int columns = N;
  static constexpr bool scales = !one_of<A_, s8, u8>, transposes = one_of<A_, f16, bf16>;
  static_assert(!scales || (N >= 8 && N <= 256 && N % 8 == 0), "N of wgmma is a multiple of 8 from 8 to 256");
  static_assert(scales || N == 8 || N == 24 || (N >= 16 && N <= 256 && N % 16 == 0),
                "N of wgmma with A s8 or u8 is 8, 24 or a multiple of 16 from 16 to 256");
};

/// A form of wgmma.mma_async. Rows specialise it.
template <class Shape, class Sum_, class A_, class B_>
struct Wgmma : WgmmaOperands<8, f32, f16> {
  static constexpr char types[] = "";
  static_assert(!one_of<A_, f16>, "wgmma with A f16 has m64nNk16; B f16; D f16 or f32");
  static_assert(!one_of<A_, bf16>, "wgmma with A bf16 has m64nNk16; B bf16; D f32");
  static_assert(!one_of<A_, tf32>, "wgmma with A tf32 has m64nNk8; B tf32; D f32");
  static_assert(!one_of<A_, e4m3, e5m2>,
                "wgmma with A e4m3 or e5m2 has m64nNk32; B e4m3 or e5m2; D f16 or f32");
  static_assert(!one_of<A_, s8, u8>, "wgmma with A s8 or u8 has m64nNk32; B s8 or u8; D s32");
  static_assert(one_of<A_, f16, bf16, tf32, e4m3, e5m2, s8, u8>,
                "wgmma has A of f16, bf16, tf32, e4m3, e5m2, s8 or u8");
};

#define WARPBIT_ROW(k, sum, a, b)                                     \
  template <int N>                                                    \
  struct Wgmma<m64nNkK<N, k>, sum, a, b> : WgmmaOperands<N, sum, a> { \
    static constexpr char types[] = "k" #k "." #sum "." #a "." #b;    \
  };
WARPBIT_WGMMA_ROWS(WARPBIT_ROW)
#undef WARPBIT_ROW

// ---- The text of a statement, made at compile time

/// Characters with a terminating zero.
struct Text {
  char characters[128] = {};
  std::size_t size = 0;

  constexpr Text operator+(const char* more) const {
    Text out = *this;
    for (; *more != '\0'; ++more) out.characters[out.size++] = *more;
    return out;
  }
  constexpr Text operator+(const Text& more) const { return *this + more.characters; }
  constexpr Text operator+(int number) const {
    if (number < 0) return *this + "-" + -number;
    const char digit[] = {static_cast<char>('0' + number % 10), '\0'};
    return (number < 10 ? *this : *this + number / 10) + digit;
  }
};

/// Source::make(), evaluated once.
template <class Source>
inline constexpr Text made = Source::make();

/// The text of Source::make() as a character array, one object per program.
template <class Source, class = std::make_index_sequence<made<Source>.size>>
struct Literal;
/// Character by character.
template <class Source, std::size_t... I>
struct Literal<Source, std::index_sequence<I...>> {
  static constexpr const char text[] = {made<Source>.characters[I]..., '\0'};
};

/// The form of a row.
template <class Row>
struct WgmmaForm {
  static constexpr Text make() {
    return Text{} + "wgmma.mma_async.sync.aligned.m64n" + Row::columns + Row::types;
  }
};

/// ", imm-scale-a, imm-scale-b, imm-trans-a, imm-trans-b", as far as the form has them.
template <class Row, bool described, int ScaleA, int ScaleB, int TransA, int TransB>
struct WgmmaImmediates {
  static_assert((ScaleA == 1 || ScaleA == -1) && (ScaleB == 1 || ScaleB == -1),
                "imm-scale-a and imm-scale-b of wgmma are 1 or -1");
  static_assert(Row::scales || (ScaleA == 1 && ScaleB == 1),
                "wgmma with A s8 or u8 negates nothing: imm-scale-a and imm-scale-b are 1");
  static_assert((TransA == 0 || TransA == 1) && (TransB == 0 || TransB == 1),
                "imm-trans-a and imm-trans-b of wgmma are 0 or 1");
  static_assert(Row::transposes || (TransA == 0 && TransB == 0), "wgmma transposes f16 and bf16 alone");
  static_assert(described || TransA == 0, "wgmma does not transpose an A in registers");

  static constexpr Text make() {
    Text out;
    if (Row::scales) out = out + ", " + ScaleA + ", " + ScaleB;
    if (Row::transposes && described) out = out + ", " + TransA;
    if (Row::transposes) out = out + ", " + TransB;
    return out;
  }
};

}  // namespace warpbit::device
