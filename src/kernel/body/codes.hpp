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

// The same in registers of a warp: the lanes of four registers from the first one of a part on.
//
//     r0[0] r2[0] r1[0] r3[0]  r0[1] r2[1] ...   <->   r0[0] r0[1] ..  r1[0] r1[1] ..  r2[0] ..  r3[0] ..
inline U32 load_part(std::uint32_t* const* registers, int first_lane) {
  constexpr int kEach = kLanes / 4;
  std::uint32_t pieces[kLanes];
  U32 v;
#if defined(__AVX512F__)
  __m512i all = _mm512_castsi128_si512(load<__m128i>(registers[0] + first_lane));
  all = _mm512_inserti32x4(all, load<__m128i>(registers[1] + first_lane), 1);
  all = _mm512_inserti32x4(all, load<__m128i>(registers[2] + first_lane), 2);
  v = bits<U32>(_mm512_inserti32x4(all, load<__m128i>(registers[3] + first_lane), 3));
  (void)pieces;
#else
  for (int r = 0; r < 4; ++r)
    __builtin_memcpy(pieces + r * kEach, registers[r] + first_lane, kEach * sizeof(std::uint32_t));
  v = load<U32>(pieces);
#endif
  return shuffle(v, [](int i) { return (i % 2 * 2 + i % 4 / 2) * kEach + i / 4; });
}
inline void store_part(std::uint32_t* const* registers, int first_lane, U32 v) {
  constexpr int kEach = kLanes / 4;
  v = shuffle(v, [](int i) { return i % kEach * 4 + i / kEach % 2 * 2 + i / kEach / 2; });
#if defined(__AVX512F__)
  const __m512i all = bits<__m512i>(v);
  store(registers[0] + first_lane, _mm512_castsi512_si128(all));
  store(registers[1] + first_lane, _mm512_extracti32x4_epi32(all, 1));
  store(registers[2] + first_lane, _mm512_extracti32x4_epi32(all, 2));
  store(registers[3] + first_lane, _mm512_extracti32x4_epi32(all, 3));
#else
  std::uint32_t pieces[kLanes];
  store(pieces, v);
  for (int r = 0; r < 4; ++r)
    __builtin_memcpy(registers[r] + first_lane, pieces + r * kEach, kEach * sizeof(std::uint32_t));
#endif
}

// The same in rows of a matrix: the columns of a part in one of them, and eight rows further.
//
//     x0 y0 x1 y1 ...   <->   x0 x1 ..  y0 y1 ..
inline U32 load_rows(const std::byte* row, std::ptrdiff_t row_bytes) {
  constexpr int kEach = kLanes / 2;
  std::uint32_t both[kLanes];
  __builtin_memcpy(both, row, kEach * sizeof(std::uint32_t));
  __builtin_memcpy(both + kEach, row + 8 * row_bytes, kEach * sizeof(std::uint32_t));
  return shuffle(load<U32>(both), [](int i) { return i % 2 * kEach + i / 2; });
}
inline void store_rows(std::byte* row, std::ptrdiff_t row_bytes, U32 v) {
  constexpr int kEach = kLanes / 2;
  std::uint32_t both[kLanes];
  store(both, shuffle(v, [](int i) { return i % kEach * 2 + i / kEach; }));
  __builtin_memcpy(row, both, kEach * sizeof(std::uint32_t));
  __builtin_memcpy(row + 8 * row_bytes, both + kEach, kEach * sizeof(std::uint32_t));
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
