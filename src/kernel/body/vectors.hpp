// SPDX-License-Identifier: Apache-2.0
// Vectors of the size that the extension has, in the compiler's own notation; what it has no notation for, or
// does badly, is here by extension.
//
// The bodies are compiled once for each extension. Nothing in them may have external linkage but the table of a
// body (body.hpp), and no standard header with inline functions may be used: code for one processor would be
// linked where another one runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(WARPBIT_NEON)
#include <arm_neon.h>
#endif

namespace warpbit {
namespace {

// As many 32-bit lanes as a register has; a block of 16 elements (body.hpp) is one part or several.
#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr const char* kExtension = "avx512";
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr const char* kExtension = "avx2";
#elif defined(WARPBIT_NEON)
constexpr int kLanes = 4;
constexpr const char* kExtension = "neon";
#else
constexpr int kLanes = 4;
constexpr const char* kExtension = "scalar";
#endif

// Whether bytes are looked up in tables of sixteen (look_up).
#if defined(__AVX2__) || defined(WARPBIT_NEON)
#define WARPBIT_LOOKS_UP
#endif

// Whether single cases of tf32 become fields of 16 bits (body.hpp), faster than powers.
#if defined(__AVX512BW__)
constexpr bool kTakesFields = true;
#else
constexpr bool kTakesFields = false;
#endif

template <class T, int kCount>
struct VectorOf {
  using type __attribute__((vector_size(sizeof(T) * kCount))) = T;
};
using F32 = VectorOf<float, kLanes>::type;
using I32 = VectorOf<std::int32_t, kLanes>::type;
using U32 = VectorOf<std::uint32_t, kLanes>::type;
using U64 = VectorOf<std::uint64_t, kLanes / 2>::type;
// Beside 32-bit lanes.
using I16 = VectorOf<std::int16_t, kLanes>::type;
using U16 = VectorOf<std::uint16_t, kLanes>::type;
using I8 = VectorOf<std::int8_t, kLanes>::type;
// A register of 16-bit lanes, and bytes beside these.
using Words = VectorOf<std::uint16_t, 2 * kLanes>::type;
using Shorts = VectorOf<std::int16_t, 2 * kLanes>::type;
using Bytes = VectorOf<std::int8_t, 2 * kLanes>::type;
inline Words repeat(std::uint16_t word) {
  return Words{} + word;
}

template <class V>
inline V load(const void* from) {
  V out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
template <class V>
inline void store(void* to, V v) {
  __builtin_memcpy(to, &v, sizeof v);
}
template <class To, class From>
inline To bits(From v) {
  static_assert(sizeof(To) == sizeof(From));
  To out;
  __builtin_memcpy(&out, &v, sizeof out);
  return out;
}
template <class To, class From>
inline To convert(From v) {
  return __builtin_convertvector(v, To);
}
template <class V>
inline V max(V x, V y) {
  return x > y ? x : y;
}
template <class V>
inline V min(V x, V y) {
  return x < y ? x : y;
}

// The vector of index(0), index(1), ...; for constant ones.
template <class V, class Index>
inline __attribute__((always_inline)) V lanes(Index index) {
  V out{};
#pragma GCC unroll 64
  for (int i = 0; i < static_cast<int>(sizeof(V) / sizeof(out[0])); ++i) {
    auto element = out[0];
    element = static_cast<decltype(element)>(index(i));
    out[i] = element;
  }
  return out;
}

// Lane i is lane index(i) of v; of x and y, one after the other. For constant ones, of integers.
template <class V, class Index>
inline __attribute__((always_inline)) V shuffle(V v, Index index) {
#if defined(__clang__)
  return lanes<V>([&](int i) { return v[index(i)]; });
#else
  return __builtin_shuffle(v, lanes<V>(index));
#endif
}
template <class V, class Index>
inline __attribute__((always_inline)) V shuffle(V x, V y, Index index) {
#if defined(__clang__)
  constexpr int kCount = sizeof(V) / sizeof(V{}[0]);
  return lanes<V>([&](int i) { return index(i) < kCount ? x[index(i)] : y[index(i) - kCount]; });
#else
  return __builtin_shuffle(x, y, lanes<V>(index));
#endif
}

// Between lanes of 16 and 32 bits, and of 8 and 16. Narrowing is for numbers that fit, without a sign.
inline U32 widen(U16 v) {
#if defined(__AVX512F__)
  return bits<U32>(_mm512_cvtepu16_epi32(bits<__m256i>(v)));
#elif defined(__AVX2__)
  return bits<U32>(_mm256_cvtepu16_epi32(bits<__m128i>(v)));
#else
  return convert<U32>(v);
#endif
}
inline U16 narrow(U32 v) {
#if defined(__AVX512F__)
  return bits<U16>(_mm512_cvtepi32_epi16(bits<__m512i>(v)));
#elif defined(__AVX2__)
  const __m256i halves = _mm256_packus_epi32(bits<__m256i>(v), bits<__m256i>(v));
  return bits<U16>(_mm256_castsi256_si128(_mm256_permute4x64_epi64(halves, 0b1000)));
#else
  return convert<U16>(v);
#endif
}
inline Bytes narrow(Words v) {
#if defined(__AVX512BW__)
  return bits<Bytes>(_mm512_cvtepi16_epi8(bits<__m512i>(v)));
#elif defined(__AVX2__)
  const __m256i halves = _mm256_packus_epi16(bits<__m256i>(v), bits<__m256i>(v));
  return bits<Bytes>(_mm256_castsi256_si128(_mm256_permute4x64_epi64(halves, 0b1000)));
#else
  return convert<Bytes>(v);
#endif
}
// Both, one after the other.
inline void store_narrow(void* to, Words x, Words y) {
#if defined(__AVX512BW__)
  const __m512i order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
  store(to, _mm512_permutexvar_epi64(order, _mm512_packus_epi16(bits<__m512i>(x), bits<__m512i>(y))));
#elif defined(__AVX2__)
  store(to, _mm256_permute4x64_epi64(_mm256_packus_epi16(bits<__m256i>(x), bits<__m256i>(y)), 0b11011000));
#elif defined(WARPBIT_NEON)
  store(to, vuzp1q_u8(bits<uint8x16_t>(x), bits<uint8x16_t>(y)));
#else
  store(to, narrow(x));
  store(static_cast<std::byte*>(to) + 2 * kLanes, narrow(y));
#endif
}

// The least lane.
inline int least(U16 v) {
#if defined(__AVX512F__)
  const __m256i all = bits<__m256i>(v);
  const __m128i half = _mm_min_epu16(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  return _mm_extract_epi16(_mm_minpos_epu16(half), 0);
#elif defined(__AVX2__)
  return _mm_extract_epi16(_mm_minpos_epu16(bits<__m128i>(v)), 0);
#elif defined(WARPBIT_NEON)
  return vminv_u16(bits<uint16x4_t>(v));
#else
  int out = v[0];
  for (int i = 1; i < kLanes; ++i) out = v[i] < out ? v[i] : out;
  return out;
#endif
}

// Of each four lanes the middle ones change places; its own inverse.
//
//     (0,0) (0,1) | (1,0) (1,1)    two registers of two elements, or four registers
//     (0,0) (1,0) | (0,1) (1,1)    rows side by side
template <class V>
inline V exchange_middle(V v) {
  return shuffle(v, [](int i) { return (i & ~3) | (i & 1) << 1 | (i & 2) >> 1; });
}

// The pair that begins at `from`, in each pair of lanes.
inline F32 repeat_pair(const float* from) {
  return bits<F32>(U64{} + load<std::uint64_t>(from));
}

// Of pairs that lie at `from`, the first ones or the second ones, each twice. The processor does that while it
// loads, if the instruction has its operand in memory; a compiler would load once for both, and shuffle.
template <bool kSecond>
inline F32 load_twice(const float* from) {
#if defined(__AVX2__)
  using InMemory __attribute__((aligned(4), may_alias)) = F32;
  const auto& pairs = *reinterpret_cast<const InMemory*>(from);
  F32 out;
  if constexpr (kSecond)
    asm("vmovshdup %1, %0" : "=v"(out) : "m"(pairs));
  else
    asm("vmovsldup %1, %0" : "=v"(out) : "m"(pairs));
  return out;
#else
  return bits<F32>(shuffle(load<U32>(from), [](int i) { return i / 2 * 2 + kSecond; }));
#endif
}

// Of finite numbers the one of larger magnitude, with or without its sign.
inline F32 larger(F32 x, F32 y) {
#if defined(__AVX512DQ__)
  constexpr int kMagnitudes = 0b1011;
  return bits<F32>(_mm512_range_ps(bits<__m512>(x), bits<__m512>(y), kMagnitudes));
#else
  return bits<F32>(max(bits<I32>(x) & 0x7FFFFFFF, bits<I32>(y) & 0x7FFFFFFF));
#endif
}

// Toward zero. What lies outside the integers gives any integer.
inline I32 truncate(F32 v) {
#if defined(__AVX512F__)
  return bits<I32>(_mm512_cvttps_epi32(bits<__m512>(v)));
#elif defined(__AVX2__)
  return bits<I32>(_mm256_cvttps_epi32(bits<__m256>(v)));
#elif defined(WARPBIT_NEON)
  return bits<I32>(vcvtq_s32_f32(bits<float32x4_t>(v)));
#else
  return convert<I32>(v);
#endif
}

// An integer as f32, rounded toward zero.
inline F32 to_f32_toward_zero(I32 v) {
#if defined(__AVX512F__)
  return bits<F32>(_mm512_cvt_roundepi32_ps(bits<__m512i>(v), _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
#elif defined(WARPBIT_NEON)
  // Moved down by 24, a magnitude has its first bit where half of the last place of f32 is. Without the bits that
  // it then has, it is rounded down.
  const uint32x4_t magnitude = vreinterpretq_u32_s32(vabsq_s32(bits<int32x4_t>(v)));
  const uint32x4_t cut = vbicq_u32(magnitude, vshrq_n_u32(magnitude, 24));
  return bits<F32>(
      vbslq_u32(vdupq_n_u32(0x80000000), bits<uint32x4_t>(v), vreinterpretq_u32_f32(vcvtq_f32_u32(cut))));
#else
  // The halves of the magnitude are exact, and so is the error of their sum (Dekker, 1971): if the sum was
  // rounded up, the float before it is meant.
  const U32 sign = bits<U32>(v >> 31), magnitude = (bits<U32>(v) ^ sign) - sign;
  const F32 high = convert<F32>(bits<I32>(magnitude >> 16)) * 65536.0F;
  const F32 low = convert<F32>(bits<I32>(magnitude & 0xFFFF));
  const F32 sum = high + low, error = low - (sum - high);
  const U32 code = bits<U32>(sum) + bits<U32>(error < 0.0F);  // true is -1
  return bits<F32>(code | (sign & 0x80000000U));
#endif
}

// f16 codes as f32. NaN gives anything.
inline F32 widen_half(U16 codes) {
#if defined(__AVX512F__)
  return bits<F32>(_mm512_cvtph_ps(bits<__m256i>(codes)));
#elif defined(__F16C__)
  return bits<F32>(_mm256_cvtph_ps(bits<__m128i>(codes)));
#elif defined(WARPBIT_NEON)
  return bits<F32>(vcvt_f32_f16(bits<float16x4_t>(codes)));
#else
  const U32 code = widen(codes), magnitude = code & 0x7FFF;
  const F32 subnormal = convert<F32>(bits<I32>(magnitude)) * 0x1p-24F;
  const U32 normal = (magnitude << 13) + (magnitude < 0x7C00 ? U32{} + (112U << 23) : U32{} + (224U << 23));
  return bits<F32>((magnitude < 0x400 ? bits<U32>(subnormal) : normal) | (code & 0x8000) << 16);
#endif
}

// f32 to f16, rounded to nearest even; beyond the largest, Inf. NaN gives anything.
inline U16 narrow_to_half(F32 v) {
#if defined(__AVX512F__)
  return bits<U16>(_mm512_cvtps_ph(bits<__m512>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__)
  return bits<U16>(_mm256_cvtps_ph(bits<__m256>(v), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(WARPBIT_NEON)
  return bits<U16>(vcvt_f16_f32(bits<float32x4_t>(v)));
#else
  // Below 2^-14 the sum with 1/2 has 2^-24 as its last place, and rounds to it.
  const U32 code = bits<U32>(v), magnitude = code & 0x7FFFFFFF;
  const U32 subnormal = bits<U32>(bits<F32>(magnitude) + 0.5F) - (126U << 23);
  const U32 normal = ((magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13) - (112U << 10);
  const U32 finite = magnitude < (113U << 23) ? subnormal : normal;
  return narrow((magnitude >= 0x477FF000U ? U32{} + 0x7C00 : finite) | (code >> 16 & 0x8000));
#endif
}

#if defined(WARPBIT_NEON)
// Whether a lane of a comparison is true; for others there is a template (panels.hpp).
inline bool any(U32 truth) {
  return vmaxvq_u32(bits<uint32x4_t>(truth)) != 0;
}
inline bool any(Shorts truth) {
  return any(bits<U32>(truth));
}
#endif

// Bit i: whether lane i is negative.
inline std::uint32_t negative_lanes(I32 v) {
#if defined(__AVX512DQ__)
  return _mm512_movepi32_mask(bits<__m512i>(v));
#elif defined(__AVX2__)
  return static_cast<std::uint32_t>(_mm256_movemask_ps(bits<__m256>(v)));
#elif defined(WARPBIT_NEON)
  const U32 lane = lanes<U32>([](int i) { return 1 << i; });
  return vaddvq_u32(bits<uint32x4_t>(bits<U32>(v >> 31) & lane));
#else
  std::uint32_t out = 0;
  for (int i = 0; i < kLanes; ++i) out |= v[i] < 0 ? 1U << i : 0;
  return out;
#endif
}

// Whether there was an f32 code of an Inf, NaN or subnormal.
#if defined(__AVX512DQ__)
class SpecialsFound {
 public:
  void add(U32 codes) { found_ |= _mm512_fpclass_ps_mask(bits<__m512>(codes), 0b10111001); }
  bool any() const { return found_ != 0; }

 private:
  __mmask16 found_ = 0;
};
#else
class SpecialsFound {
 public:
  void add(U32 codes) {
    const U32 magnitude = codes << 1;
    most_ = max(most_, magnitude);
    least_less_one_ = min(least_less_one_, magnitude - 1);  // above all others for zero
  }
  bool any() const {
    return negative_lanes(bits<I32>((most_ >= 0xFF000000U) | (least_less_one_ < 0x00FFFFFFU))) != 0;
  }

 private:
  U32 most_{}, least_less_one_ = ~U32{};
};
#endif

// The sum of the two products of 16 bits in each word.
inline I32 sum_of_products(Shorts x, Shorts y) {
#if defined(__AVX512BW__)
  return bits<I32>(_mm512_madd_epi16(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(__AVX2__)
  return bits<I32>(_mm256_madd_epi16(bits<__m256i>(x), bits<__m256i>(y)));
#elif defined(__SSE2__)
  return bits<I32>(_mm_madd_epi16(bits<__m128i>(x), bits<__m128i>(y)));
#elif defined(WARPBIT_NEON)
  const auto left = bits<int16x8_t>(x), right = bits<int16x8_t>(y);
  return bits<I32>(vpaddq_s32(vmull_s16(vget_low_s16(left), vget_low_s16(right)), vmull_high_s16(left, right)));
#else
  const I32 left = bits<I32>(x), right = bits<I32>(y);
  return (left << 16 >> 16) * (right << 16 >> 16) + (left >> 16) * (right >> 16);
#endif
}

#if defined(WARPBIT_LOOKS_UP)
// As many bytes as a register has, in sixteens.
using Octets = VectorOf<std::uint8_t, 4 * kLanes>::type;
inline Octets repeat(std::uint8_t byte) {
  return Octets{} + byte;
}

// In each sixteen table[index], or 0 where the index is 0x80.
inline Octets look_up(Octets table, Octets index) {
#if defined(__AVX512BW__)
  return bits<Octets>(_mm512_shuffle_epi8(bits<__m512i>(table), bits<__m512i>(index)));
#elif defined(WARPBIT_NEON)
  return bits<Octets>(vqtbl1q_u8(bits<uint8x16_t>(table), bits<uint8x16_t>(index)));
#else
  return bits<Octets>(_mm256_shuffle_epi8(bits<__m256i>(table), bits<__m256i>(index)));
#endif
}
// The sixteens that begin at from(0), from(1), ...
template <class From>
inline Octets load_sixteens(From from) {
#if defined(__AVX512BW__)
  __m512i v = _mm512_castsi128_si512(load<__m128i>(from(0)));
  v = _mm512_inserti32x4(v, load<__m128i>(from(1)), 1);
  v = _mm512_inserti32x4(v, load<__m128i>(from(2)), 2);
  return bits<Octets>(_mm512_inserti32x4(v, load<__m128i>(from(3)), 3));
#elif defined(WARPBIT_NEON)
  return load<Octets>(from(0));
#else
  return bits<Octets>(_mm256_set_m128i(load<__m128i>(from(1)), load<__m128i>(from(0))));
#endif
}
inline Octets repeat_sixteen(const void* from) {
#if defined(__AVX512BW__)
  return bits<Octets>(_mm512_broadcast_i32x4(load<__m128i>(from)));
#elif defined(WARPBIT_NEON)
  return load<Octets>(from);
#else
  return bits<Octets>(_mm256_broadcastsi128_si256(load<__m128i>(from)));
#endif
}
inline Octets largest_signed(Octets x, Octets y) {
#if defined(__AVX512BW__)
  return bits<Octets>(_mm512_max_epi8(bits<__m512i>(x), bits<__m512i>(y)));
#elif defined(WARPBIT_NEON)
  return bits<Octets>(vmaxq_s8(bits<int8x16_t>(x), bits<int8x16_t>(y)));
#else
  return bits<Octets>(_mm256_max_epi8(bits<__m256i>(x), bits<__m256i>(y)));
#endif
}
#endif

// Of numbers of 8 bits in pairs, one of each row, the largest of each four pairs: [column][4][2] -> 32-bit
// lanes [column][2], times 2^24.
//
//     a0 b0 a1 b1 a2 b2 a3 b3   ->   max(a0 .. a3) << 24, max(b0 .. b3) << 24
#if defined(WARPBIT_LOOKS_UP)
inline I32 largest_of_four(Octets v) {
  v = largest_signed(v, bits<Octets>(bits<U64>(v) >> 32));
  v = largest_signed(v, bits<Octets>(bits<U64>(v) >> 16));
  return bits<I32>(
      look_up(v, lanes<Octets>([](int i) { return i % 4 == 3 ? i % 16 / 8 * 8 + i % 8 / 4 : 0x80; })));
}
#endif

// The largest sums, times 2^24, of the exponents of a pair of rows, a: [k][2], and of columns,
// b: [k / 4][column][k % 4][2]; `b` points at the columns that are wanted. The count is a multiple of four.
inline I32 largest_sums(const std::int8_t* a, const std::int8_t* b, int count) {
#if defined(WARPBIT_LOOKS_UP)
  Octets most;
#pragma GCC unroll 8
  for (int k = 0; k < count; k += 4) {
    const auto left = bits<Octets>(U64{} + load<std::uint64_t>(a + 2 * k));
    const Octets sums = left + load<Octets>(b + 16 * k);
    most = k == 0 ? sums : largest_signed(most, sums);
  }
  return largest_of_four(most);
#else
  I32 most = I32{} - 128;
  for (int k = 0; k < count; ++k)
    most = max(most, lanes<I32>([&](int i) {
                 return a[2 * k + i % 2] + b[k / 4 * 64 + i / 2 * 8 + k % 4 * 2 + i % 2];
               }));
  return most * (1 << 24);
#endif
}

// The largest sums of fields (body.hpp), of an even number of k: where an f32 has its exponent. Sums are from
// -127 to kMaxField - 127 + kMaxField, and none leaves 16 bits.
//
//     S EEEEEEEE 0000000 | S EEEEEEEE 0000000   ->   S EEEEEEEE 00000000000000000000000
inline I32 largest_sums(const std::int16_t* a, const std::int16_t* b, int count) {
  Shorts most;
#pragma GCC unroll 4
  for (int k = 0; k < count; k += 2) {
    const auto left = bits<Shorts>(U64{} + load<std::uint64_t>(a + 2 * k));
    const Shorts sums = left + load<Shorts>(b + 16 * k);
    most = k == 0 ? sums : max(most, sums);
  }
  most = max(most, bits<Shorts>(bits<U32>(most) << 16));
  return bits<I32>(most) & ~0x7FFFFF;
}

// The same for entries of a sparse A (body.hpp, Selection), of which `b` points at the columns that are wanted.
inline I32 largest_sums(const std::int8_t* a, const std::int8_t* b, const std::uint8_t* places, int entries) {
#if defined(WARPBIT_LOOKS_UP)
  Octets even, odd;  // columns; four pairs of two rows
#pragma GCC unroll 4
  for (int i = 0; i < entries; ++i) {
    const Octets index = repeat_sixteen(places + 16 * i), left = repeat_sixteen(a + 16 * i);
    const Octets x = look_up(load<Octets>(b + 128 * i), index) + left,
                 y = look_up(load<Octets>(b + 128 * i + 64), index) + left;
    even = i == 0 ? x : largest_signed(even, x);
    odd = i == 0 ? y : largest_signed(odd, y);
  }
  // Two pairs of two rows, of an even column and of the odd one beside it; then one pair, then an element.
  constexpr int kCount = sizeof(U64) / 8;
  const auto first =
      shuffle(bits<U64>(even), bits<U64>(odd), [](int i) { return i % 2 == 0 ? i : kCount + i - 1; });
  const auto second =
      shuffle(bits<U64>(even), bits<U64>(odd), [](int i) { return i % 2 == 0 ? i + 1 : kCount + i; });
  Octets most = largest_signed(bits<Octets>(first), bits<Octets>(second));
  most = largest_signed(most, bits<Octets>(bits<U64>(most) >> 32));
  most = largest_signed(most, bits<Octets>(bits<U64>(most) >> 8));
  const Octets upper = lanes<Octets>([](int i) { return i % 4 == 3 ? i % 16 / 8 * 8 + i % 8 / 4 * 2 : 0x80; });
  return bits<I32>(look_up(most, upper));
#else
  I32 most = I32{} - 128;
  for (int i = 0; i < 16 * entries; i += 4)
    for (int k = 0; k < 2; ++k)
      most = max(most, lanes<I32>([&](int lane) {
                   const int at = i + lane % 2 * 2 + k;
                   return a[at] + b[128 * (i / 16) + 64 * (lane / 2 % 2) + 16 * (lane / 4) + places[at]];
                 }));
  return most * (1 << 24);
#endif
}

}  // namespace
}  // namespace warpbit
