// SPDX-License-Identifier: Apache-2.0
// Codes of C and D: a part of a block in memory, by pieces (BlockView), and in vectors.
#pragma once

#include "kernel/body/vectors.hpp"

namespace warpbit {
namespace {

template <class V>
inline V load_part(const std::byte* from, std::ptrdiff_t piece_stride) {
  constexpr std::ptrdiff_t kPiece = 4 * sizeof(V{}[0]);
  if (kLanes == 4 || piece_stride == kPiece) return exchange_middle(load<V>(from));
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    __m512i v = _mm512_castsi128_si512(load<__m128i>(from));
    v = _mm512_inserti32x4(v, load<__m128i>(from + piece_stride), 1);
    v = _mm512_inserti32x4(v, load<__m128i>(from + 2 * piece_stride), 2);
    return exchange_middle(bits<V>(_mm512_inserti32x4(v, load<__m128i>(from + 3 * piece_stride), 3)));
  }
#endif
  std::byte pieces[sizeof(V)];
  for (int t = 0; t < kLanes / 4; ++t) __builtin_memcpy(pieces + t * kPiece, from + t * piece_stride, kPiece);
  return exchange_middle(load<V>(pieces));
}
template <class V>
inline void store_part(std::byte* to, std::ptrdiff_t piece_stride, V v) {
  constexpr std::ptrdiff_t kPiece = 4 * sizeof(V{}[0]);
  v = exchange_middle(v);
  if (kLanes == 4 || piece_stride == kPiece) return store(to, v);
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) {
    const __m512i all = bits<__m512i>(v);
    store(to, _mm512_castsi512_si128(all));
    store(to + piece_stride, _mm512_extracti32x4_epi32(all, 1));
    store(to + 2 * piece_stride, _mm512_extracti32x4_epi32(all, 2));
    return store(to + 3 * piece_stride, _mm512_extracti32x4_epi32(all, 3));
  }
#endif
  std::byte pieces[sizeof(V)];
  store(pieces, v);
  for (int t = 0; t < kLanes / 4; ++t) __builtin_memcpy(to + t * piece_stride, pieces + t * kPiece, kPiece);
}

// Codes of C and D, in 32 bits, or in 16 where it is known that they are f16.
template <bool kHalves>
struct CodesIn {
  using type = U32;
};
template <>
struct CodesIn<true> {
  using type = U16;
};

inline U16 as_halves(U16 codes) {
  return codes;
}
inline U16 as_halves(U32 codes) {
  return narrow(codes);
}
inline U32 as_words(U16 codes) {
  return widen(codes);
}
inline U32 as_words(U32 codes) {
  return codes;
}

}  // namespace
}  // namespace warpbit
