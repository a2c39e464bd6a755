// SPDX-License-Identifier: Apache-2.0
// cvt.
#pragma once

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(WARPBIT_NEON)
#include <arm_neon.h>
#endif

#include "grid/body/floats.hpp"

namespace warpbit::grid {
namespace {

// An integer, by the bits of its types (parameter): those of the source, whether it is signed; those of the result,
// whether it is; those of its register.
inline u32 field(u32 parameter, int at) {
  return parameter >> at & 0x7F;
}
template <class From, class To>
bool cvt_integer(Vectors& v) {
  const u32 from = 64 - field(v.parameter, 0), to = 64 - field(v.parameter, 8),
            reg = 64 - field(v.parameter, 16);
  const bool from_signed = (v.parameter & 0x80) != 0, to_signed = (v.parameter & 0x8000) != 0;
  WARPBIT_EACH {
    const u64 upper = static_cast<u64>(static_cast<const From*>(v.a)[i]) << from;
    const u64 x = (from_signed ? static_cast<u64>(static_cast<s64>(upper) >> from) : upper >> from) << to;
    const u64 y = (to_signed ? static_cast<u64>(static_cast<s64>(x) >> to) : x >> to) << reg >> reg;
    static_cast<To*>(v.d)[i] = static_cast<To>(y);
  }
  return true;
}
template <class From>
bool cvt_to_f32(Vectors& v) {
  WARPBIT_EACH put<u32>(v.d, i, bits(static_cast<float>(get<From>(v.a, i))));
  return true;
}
template <class From>
bool cvt_to_f64(Vectors& v) {
  WARPBIT_EACH static_cast<u64*>(v.d)[i] = bits(static_cast<double>(get<From>(v.a, i)));
  return true;
}
// Beyond the integers the nearest of them; of a NaN 0.
template <int Rounding, bool Ftz>
bool cvt_from_f32(Vectors& v) {
  const u32 to_bits = field(v.parameter, 8), reg = field(v.parameter, 16);
  const bool is_signed = (v.parameter & 0x8000) != 0;
  const s64 least = is_signed ? -(s64{1} << (to_bits - 1)) : 0,
            most = (s64{1} << (to_bits - (is_signed ? 1 : 0))) - 1;
  const u32 mask = reg >= 32 ? ~0U : (1U << reg) - 1;
  WARPBIT_EACH {
    const u32 code = taken<Ftz>(get<u32>(v.a, i));
    const bool nan = (code & ~kSign) > kInfinity;
    double x = nan ? 0.0 : static_cast<double>(f32(code));
    x = x < -0x1p40 ? -0x1p40 : x > 0x1p40 ? 0x1p40 : x;
    s64 whole;
    if (Rounding == 0) {
      whole = static_cast<s64>((x + 0x1.8p52) - 0x1.8p52);
    } else {
      whole = static_cast<s64>(x);
      if (Rounding == 2) whole -= static_cast<double>(whole) > x ? 1 : 0;
      if (Rounding == 3) whole += static_cast<double>(whole) < x ? 1 : 0;
    }
    whole = whole < least ? least : whole > most ? most : whole;
    static_cast<u32*>(v.d)[i] = static_cast<u32>(whole) & mask;
  }
  return true;
}
// To an integer of the same type.
template <int Rounding>
inline float whole(float x) {
  return Rounding == 0   ? __builtin_rintf(x)
         : Rounding == 1 ? __builtin_truncf(x)
         : Rounding == 2 ? __builtin_floorf(x)
                         : __builtin_ceilf(x);
}
template <int Rounding, bool Ftz, bool Sat>
bool integral_f32(Vectors& v) {
  WARPBIT_EACH put<u32>(v.d, i, finished<Sat>(whole<Rounding>(f32(taken<Ftz>(get<u32>(v.a, i)))), false));
  return true;
}
template <int Rounding>
Vector find_integral_of(const VectorKey& key) {
  if (key.ftz) return key.sat ? integral_f32<Rounding, true, true> : integral_f32<Rounding, true, false>;
  return key.sat ? integral_f32<Rounding, false, true> : integral_f32<Rounding, false, false>;
}
Vector find_integral(const VectorKey& key) {
  switch (key.rounding) {
    case 0: return find_integral_of<0>(key);
    case 1: return find_integral_of<1>(key);
    case 2: return find_integral_of<2>(key);
    default: return find_integral_of<3>(key);
  }
}
// NaNs are left to the specification.
bool cvt_bf16_to_f32(Vectors& v) {
  u32 nan = 0;
  WARPBIT_EACH nan |= (get<u32>(v.a, i) & 0x7FFF) > 0x7F80 ? 1U : 0U;
  if (nan != 0) return false;
  WARPBIT_EACH put<u32>(v.d, i, get<u32>(v.a, i) << 16);
  return true;
}
bool cvt_f32_to_bf16(Vectors& v) {
  u32 nan = 0;
  WARPBIT_EACH nan |= (get<u32>(v.a, i) & ~kSign) > kInfinity ? 1U : 0U;
  if (nan != 0) return false;
  WARPBIT_EACH {
    const u32 x = get<u32>(v.a, i);
    put<u32>(v.d, i, (x + 0x7FFF + (x >> 16 & 1)) >> 16);
  }
  return true;
}
bool cvt_f32_to_f64(Vectors& v) {
  return doubles(
      v, [&v](int i) __attribute__((always_inline)) { return static_cast<double>(f32(get<u32>(v.a, i))); });
}
bool cvt_f64_to_f32(Vectors& v) {
  u64 nan = 0;
  WARPBIT_EACH nan |= (get<u64>(v.a, i) << 1) > u64{0x7FF} << 53 ? 1U : 0U;
  if (nan != 0) return false;
  WARPBIT_EACH put<u32>(v.d, i, finished<false>(static_cast<float>(f64(get<u64>(v.a, i))), false));
  return true;
}
#if defined(__F16C__) && defined(__AVX2__)
bool cvt_f16_to_f32(Vectors& v) {
  const auto* a = static_cast<const __m256i*>(v.a);
  u32 nan = 0;
  WARPBIT_EACH nan |= (get<u32>(v.a, i) & 0x7FFF) > 0x7C00 ? 1U : 0U;
  if (nan != 0) return false;
  for (int i = 0; i < 4; ++i) {
    const __m256i words = _mm256_loadu_si256(a + i);
    const __m128i halves = _mm256_castsi256_si128(_mm256_permute4x64_epi64(
        _mm256_packus_epi32(_mm256_and_si256(words, _mm256_set1_epi32(0xFFFF)), words), 8));
    _mm256_storeu_ps(static_cast<float*>(v.d) + 8 * i, _mm256_cvtph_ps(halves));
  }
  return true;
}
bool cvt_f32_to_f16(Vectors& v) {
  u32 nan = 0;
  WARPBIT_EACH nan |= (get<u32>(v.a, i) & ~kSign) > kInfinity ? 1U : 0U;
  if (nan != 0) return false;
  for (int i = 0; i < 4; ++i) {
    const __m128i halves =
        _mm256_cvtps_ph(_mm256_loadu_ps(static_cast<const float*>(v.a) + 8 * i), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(static_cast<__m256i*>(v.d) + i, _mm256_cvtepu16_epi32(halves));
  }
  return true;
}
#elif defined(WARPBIT_NEON)
bool cvt_f16_to_f32(Vectors& v) {
  u32 nan = 0;
  WARPBIT_EACH nan |= (get<u32>(v.a, i) & 0x7FFF) > 0x7C00 ? 1U : 0U;
  if (nan != 0) return false;
  for (int i = 0; i < 32; i += 4) {
    const uint16x4_t halves = vmovn_u32(vld1q_u32(static_cast<const u32*>(v.a) + i));
    vst1q_f32(static_cast<float*>(v.d) + i, vcvt_f32_f16(vreinterpret_f16_u16(halves)));
  }
  return true;
}
bool cvt_f32_to_f16(Vectors& v) {
  u32 nan = 0;
  WARPBIT_EACH nan |= (get<u32>(v.a, i) & ~kSign) > kInfinity ? 1U : 0U;
  if (nan != 0) return false;
  for (int i = 0; i < 32; i += 4) {
    const float16x4_t halves = vcvt_f16_f32(vld1q_f32(static_cast<const float*>(v.a) + i));
    vst1q_u32(static_cast<u32*>(v.d) + i, vmovl_u16(vreinterpret_u16_f16(halves)));
  }
  return true;
}
#endif

bool is_whole(Type type) {
  return type <= Type::b64;
}

template <bool Ftz>
Vector find_from_f32(int rounding) {
  switch (rounding) {
    case 0: return cvt_from_f32<0, Ftz>;
    case 1: return cvt_from_f32<1, Ftz>;
    case 2: return cvt_from_f32<2, Ftz>;
    case 3: return cvt_from_f32<3, Ftz>;
    default: return nullptr;
  }
}

Vector find_cvt(const VectorKey& key) {
  const bool wide_a = key.a_bits == 64, wide_d = key.d_bits == 64;
  if (is_whole(key.type) && is_whole(key.to)) {
    if (wide_a) return wide_d ? cvt_integer<u64, u64> : cvt_integer<u64, u32>;
    return wide_d ? cvt_integer<u32, u64> : cvt_integer<u32, u32>;
  }
  if (key.to == Type::f32 && key.type == Type::f32) return find_integral(key);
  if (key.to == Type::f32) {
    switch (key.type) {
      case Type::u16: return cvt_to_f32<u16>;
      case Type::s16: return cvt_to_f32<s16>;
      case Type::u32: return cvt_to_f32<u32>;
      case Type::s32: return cvt_to_f32<s32>;
      case Type::u64: return cvt_to_f32<u64>;
      case Type::s64: return cvt_to_f32<s64>;
      case Type::f64: return cvt_f64_to_f32;
      case Type::bf16: return cvt_bf16_to_f32;
#if (defined(__F16C__) && defined(__AVX2__)) || defined(WARPBIT_NEON)
      case Type::f16: return cvt_f16_to_f32;
#endif
      default: return nullptr;
    }
  }
  if (key.to == Type::f64) {
    switch (key.type) {
      case Type::u32: return cvt_to_f64<u32>;
      case Type::s32: return cvt_to_f64<s32>;
      case Type::u64: return cvt_to_f64<u64>;
      case Type::s64: return cvt_to_f64<s64>;
      case Type::f32: return cvt_f32_to_f64;
      default: return nullptr;
    }
  }
  if (key.type != Type::f32) return nullptr;
  if (key.to == Type::bf16) return cvt_f32_to_bf16;
#if (defined(__F16C__) && defined(__AVX2__)) || defined(WARPBIT_NEON)
  if (key.to == Type::f16) return cvt_f32_to_f16;
#endif
  if (!is_whole(key.to) || wide_d) return nullptr;
  return key.ftz ? find_from_f32<true>(key.rounding) : find_from_f32<false>(key.rounding);
}

}  // namespace
}  // namespace warpbit::grid
