// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f16 and bf16, and of two of them in 32 bits: in f32 or f64, then to nearest even once. NaNs are canonical.
#pragma once

#include "grid/body/comparisons.hpp"
#include "grid/body/floats.hpp"

namespace warpbit::grid {
namespace {

constexpr u32 kHalfSign = 0x8000, kHalfNan = 0x7FFF;

struct F16 {
  static constexpr u32 kInfinity = 0x7C00, kOne = 0x3C00, kLeastNormal = 0x0400;
  using Exact = float;  ///< holds any product

  static float wide(u32 code) {
    const u32 magnitude = code & 0x7FFF, sign = (code & kHalfSign) << 16;
    const u32 normal = (magnitude << 13) + (112U << 23), special = magnitude << 13 | grid::kInfinity,
              subnormal = bits(static_cast<float>(static_cast<s32>(magnitude)) * 0x1p-24F);
    return f32(sign | (magnitude < kLeastNormal ? subnormal : magnitude < kInfinity ? normal : special));
  }
  static u32 narrow(float x) {
    const u32 magnitude = bits(x) & ~kSign, sign = bits(x) >> 16 & kHalfSign;
    const u32 rounded = ((magnitude + 0xFFF + (magnitude >> 13 & 1)) >> 13) - (112U << 10);
    const u32 normal = rounded < kInfinity ? rounded : kInfinity;
    // The last bit of what is next to 0.5 is 2^-24.
    const u32 subnormal = bits(f32(magnitude) + 0.5F) - bits(0.5F);
    const u32 code = sign | (magnitude < bits(0x1p-14F) ? subnormal : normal);
    return magnitude > grid::kInfinity ? kHalfNan : code;
  }
};

struct Bf16 {
  static constexpr u32 kInfinity = 0x7F80, kOne = 0x3F80, kLeastNormal = 0x0080;
  using Exact = double;

  static float wide(u32 code) { return f32(code << 16); }
  static u32 narrow(float x) {
    const u32 code = bits(x);
    return (code & ~kSign) > grid::kInfinity ? kHalfNan : (code + 0x7FFF + (code >> 16 & 1)) >> 16;
  }
};

template <bool Ftz, class H>
inline u32 half_taken(u32 code) {
  return Ftz && (code & 0x7FFF) < H::kLeastNormal ? code & kHalfSign : code;
}

enum class End { none, sat, relu };

// x is exact, or has enough bits to round it once more. With .ftz what is below the normal numbers after rounding is a
// zero: 2^-14 (1 - 2^-12) becomes 2^-14.
template <class H, bool Ftz, End E>
inline u32 half_finished(float x) {
  const u32 magnitude = bits(x) & ~kSign;
  u32 code = H::narrow(x);
  if (Ftz) code = magnitude < bits(0x1.FFEp-15F) ? code & kHalfSign : code;
  const bool negative = (code & kHalfSign) != 0;
  if (E == End::sat) code = negative || magnitude > kInfinity ? 0 : code < H::kOne ? code : H::kOne;
  if (E == End::relu) code = negative ? 0 : code;
  return code;
}

// s + e, cut to f32 with an odd last bit where it is not exact: then another rounding errs no more.
template <class T>
inline float to_odd(T s, T e) {
  const float near = static_cast<float>(s), toward = toward_exact(s, e, near);
  const u32 code = bits(near), differs = (bits(toward) ^ code) >> 31;
  const u32 moved = code + ((1 - 2 * differs) & ((code & 1) - 1));
  const bool moves = (toward < 0) | (toward > 0);
  return f32(moves ? moved : code);
}

// f of each half, of as many sources.
template <int Sources, bool Packed, class F>
inline bool each_half(Vectors& v, F f) {
  WARPBIT_EACH {
    const u32 a = get<u32>(v.a, i);
    u32 b = 0, c = 0;
    if constexpr (Sources > 1) b = get<u32>(v.b, i);
    if constexpr (Sources > 2) c = get<u32>(v.c, i);
    u32 out = f(a & 0xFFFF, b & 0xFFFF, c & 0xFFFF);
    if constexpr (Packed) out |= f(a >> 16, b >> 16, c >> 16) << 16;
    put<u32>(v.d, i, out);
  }
  return true;
}

// Sums and products of halves rounded to f32 first: its 24 bits are at least two more than twice those of a half. A product
// of two bf16 below 2^-126 has 16 bits; of those that f32 rounds, none comes to lie in the middle between two bf16.
template <class H, bool Packed, bool Ftz, End E>
bool add_half(Vectors& v) {
  return each_half<2, Packed>(
      v, [](u32 a, u32 b, u32) __attribute__((always_inline)) {
        return half_finished<H, Ftz, E>(H::wide(half_taken<Ftz, H>(a)) + H::wide(half_taken<Ftz, H>(b)));
      });
}
template <class H, bool Packed, bool Ftz, End E>
bool sub_half(Vectors& v) {
  return each_half<2, Packed>(
      v, [](u32 a, u32 b, u32) __attribute__((always_inline)) {
        return half_finished<H, Ftz, E>(H::wide(half_taken<Ftz, H>(a)) - H::wide(half_taken<Ftz, H>(b)));
      });
}
template <class H, bool Packed, bool Ftz, End E>
bool mul_half(Vectors& v) {
  return each_half<2, Packed>(
      v, [](u32 a, u32 b, u32) __attribute__((always_inline)) {
        return half_finished<H, Ftz, E>(H::wide(half_taken<Ftz, H>(a)) * H::wide(half_taken<Ftz, H>(b)));
      });
}
// The sum of the product and c, and what it lacks. parameter: 1, the product is negated; 2, the addend.
template <class H, bool Packed, bool Ftz, End E>
bool fma_half(Vectors& v) {
  using T = typename H::Exact;
  const u32 product = (v.parameter & 1) != 0 ? kHalfSign : 0, addend = (v.parameter & 2) != 0 ? kHalfSign : 0;
  return each_half<3, Packed>(
      v, [ product, addend ](u32 a, u32 b, u32 c) __attribute__((always_inline)) {
        const T p = static_cast<T>(H::wide(half_taken<Ftz, H>(a) ^ product)) *
                    static_cast<T>(H::wide(half_taken<Ftz, H>(b)));
        const T q = static_cast<T>(H::wide(half_taken<Ftz, H>(c) ^ addend));
        const T s = p + q, of_q = s - p;
        return half_finished<H, Ftz, E>(to_odd<T>(s, (p - (s - of_q)) + (q - of_q)));
      });
}

template <class H, bool Packed, bool Ftz>
bool abs_half(Vectors& v) {
  return each_half<1, Packed>(
      v, [](u32 a, u32, u32) __attribute__((always_inline)) {
        const u32 magnitude = half_taken<Ftz, H>(a) & 0x7FFF;
        return magnitude > H::kInfinity ? kHalfNan : magnitude;
      });
}
template <class H, bool Packed, bool Ftz>
bool neg_half(Vectors& v) {
  return each_half<1, Packed>(
      v, [](u32 a, u32, u32) __attribute__((always_inline)) {
        const u32 code = half_taken<Ftz, H>(a);
        return (code & 0x7FFF) > H::kInfinity ? kHalfNan : code ^ kHalfSign;
      });
}
// As extreme_f32.
template <class H, bool Packed, bool Ftz, bool Max, bool Nan>
bool extreme_half(Vectors& v) {
  return each_half<2, Packed>(
      v, [](u32 x, u32 y, u32) __attribute__((always_inline)) {
        const u32 a = half_taken<Ftz, H>(x), b = half_taken<Ftz, H>(y);
        const bool a_nan = (a & 0x7FFF) > H::kInfinity, b_nan = (b & 0x7FFF) > H::kInfinity;
        const s32 p = rank(a << 16), q = rank(b << 16);
        const bool first = Max ? p > q : p < q;
        const u32 number = a_nan ? b : b_nan ? a : first ? a : b;
        return (Nan ? a_nan || b_nan : a_nan && b_nan) ? kHalfNan : number;
      });
}

// A number of f32 that is ordered as the half is.
template <class H, bool Ftz>
inline float half_order(u32 code) {
  const u32 magnitude = half_taken<Ftz, H>(code) & 0x7FFF;
  const u32 ordered = magnitude > H::kInfinity ? kNan : magnitude << 13;
  return f32((code & kHalfSign) << 16 | ordered);
}
template <int Compare, class H, bool Packed, bool Ftz>
bool setp_half(Vectors& v) {
  const auto of = [&v](int at) __attribute__((always_inline)) {
    u32 out = 0;
    WARPBIT_EACH out |= holds<Compare>(half_order<H, Ftz>(get<u32>(v.a, i) >> at & 0xFFFF),
                                       half_order<H, Ftz>(get<u32>(v.b, i) >> at & 0xFFFF))
                            ? kLaneBits[i]
                            : 0;
    return out;
  };
  v.mask = of(0);
  v.second = Packed ? of(16) : ~v.mask;
  return true;
}

// a above b.
template <class H, bool Relu>
bool cvt_pair(Vectors& v) {
  constexpr End kEnd = Relu ? End::relu : End::none;
  WARPBIT_EACH put<u32>(v.d, i,
                        half_finished<H, false, kEnd>(f32(get<u32>(v.a, i))) << 16 |
                            half_finished<H, false, kEnd>(f32(get<u32>(v.b, i))));
  return true;
}

// ---- Which one

template <class H, bool Packed, bool Ftz, End E>
Vector find_half_sum(Function code) {
  switch (code) {
    case Function::add: return add_half<H, Packed, Ftz, E>;
    case Function::sub: return sub_half<H, Packed, Ftz, E>;
    case Function::mul: return mul_half<H, Packed, Ftz, E>;
    default: return nullptr;
  }
}
template <class H, bool Packed, bool Ftz>
Vector find_half_of(const VectorKey& key) {
  // What only f16 has.
  constexpr End kSat = sizeof(typename H::Exact) == 4 ? End::sat : End::none;
  switch (key.code) {
    case Function::fma:
      return key.sat    ? fma_half<H, Packed, Ftz, kSat>
             : key.relu ? fma_half<H, Packed, Ftz, End::relu>
                        : fma_half<H, Packed, Ftz, End::none>;
    case Function::abs: return abs_half<H, Packed, Ftz>;
    case Function::neg: return neg_half<H, Packed, Ftz>;
    case Function::min:
      return key.nan ? extreme_half<H, Packed, Ftz, false, true> : extreme_half<H, Packed, Ftz, false, false>;
    case Function::max:
      return key.nan ? extreme_half<H, Packed, Ftz, true, true> : extreme_half<H, Packed, Ftz, true, false>;
    default:
      return key.sat ? find_half_sum<H, Packed, Ftz, kSat>(key.code)
                     : find_half_sum<H, Packed, Ftz, End::none>(key.code);
  }
}
Vector find_half(const VectorKey& key) {
  switch (key.type) {
    case Type::f16: return key.ftz ? find_half_of<F16, false, true>(key) : find_half_of<F16, false, false>(key);
    case Type::f16x2: return key.ftz ? find_half_of<F16, true, true>(key) : find_half_of<F16, true, false>(key);
    case Type::bf16: return find_half_of<Bf16, false, false>(key);
    case Type::bf16x2: return find_half_of<Bf16, true, false>(key);
    default: return nullptr;
  }
}
template <int Compare>
Vector find_half_setp(const VectorKey& key) {
  switch (key.type) {
    case Type::f16:
      return key.ftz ? setp_half<Compare, F16, false, true> : setp_half<Compare, F16, false, false>;
    case Type::f16x2:
      return key.ftz ? setp_half<Compare, F16, true, true> : setp_half<Compare, F16, true, false>;
    case Type::bf16: return setp_half<Compare, Bf16, false, false>;
    case Type::bf16x2: return setp_half<Compare, Bf16, true, false>;
    default: return nullptr;
  }
}
Vector find_cvt_pair(const VectorKey& key) {
  if (key.to == Type::f16x2) return key.relu ? cvt_pair<F16, true> : cvt_pair<F16, false>;
  return key.relu ? cvt_pair<Bf16, true> : cvt_pair<Bf16, false>;
}

}  // namespace
}  // namespace warpbit::grid
