// SPDX-License-Identifier: Apache-2.0
// The approximate functions, as scalar/approximate.cpp: there is what they are made of. All integers of an interpolation are
// below 2^53 and so are exact in f64.
#pragma once

#include "grid/body/halves.hpp"

namespace warpbit::grid {
namespace {

struct Segment {
  double a, b, c;
};
#include "scalar/approximate_tables.inc"

constexpr u32 kUnit = 1U << 23, kOne = 0x3F80'0000;  // kUnit: of a significand

// ---- Codes

inline u32 magnitude_of(u32 x) {
  return x & ~kSign;
}
inline s32 exponent_of(u32 x) {
  return static_cast<s32>(magnitude_of(x) >> 23) - 127;
}
inline u32 fraction_of(u32 x) {
  return x & (kUnit - 1);
}
inline bool is_nan(u32 x) {
  return magnitude_of(x) > kInfinity;
}
/// Subnormals too: they are zeros to the unit.
inline bool is_zero(u32 x) {
  return magnitude_of(x) < kUnit;
}
inline bool is_huge(u32 x) {
  return magnitude_of(x) > bits(0x1p126F) && magnitude_of(x) <= kInfinity;
}
inline u32 significand_of(u32 x) {
  return is_zero(x) ? 0 : fraction_of(x) | kUnit;
}
/// x * 2^by, cut; modulo 2^32.
inline u32 shifted(u32 x, s32 by) {
  const s32 left = by < 0 ? 0 : by, right = by > 0 ? 0 : by < -31 ? 31 : -by;
  return x << (left & 31) >> right;
}
/// y / 2^23 * 2^exponent, y in [2^23, 2^24].
inline u32 assembled(u32 sign, s32 y, s32 exponent) {
  const s32 code = (exponent + 127) * static_cast<s32>(kUnit) + (y - static_cast<s32>(kUnit));
  const u32 magnitude = code < static_cast<s32>(kUnit)       ? 0
                        : code > static_cast<s32>(kInfinity) ? kInfinity
                                                             : static_cast<u32>(code);
  return sign | magnitude;
}
/// v / 2^q, cut to 24 bits. v >= 0.
inline u32 cut_to_float(double v, s32 q) {
  const s32 field = static_cast<s32>(bits(v) >> 52) - (1023 - 127) - q;
  const u32 fraction = static_cast<u32>(bits(v) >> 29) & (kUnit - 1);
  return field < 1 ? 0 : static_cast<u32>(field) << 23 | fraction;
}

template <int... I>
inline u32 partial_products(u32 l) {
  return (((0 - (l >> I & 1)) & l >> (18 - I)) + ...);
}
/// The truncated squarer.
inline u32 square(u32 l) {
  return partial_products<2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16>(l) >> 1;
}

// ---- The unit: where x lies among the segments (l: of 17 bits); their sum, not yet shifted; the result

struct Point {
  u32 segment, l;
  s32 exponent;  ///< what else `result` takes
};

struct UnitEx2 {
  static constexpr const Segment* kTable = kEx2;
  static Point point(u32 x) {
    const s32 e = exponent_of(x);
    const u32 fixed = shifted(significand_of(x), e < 7 ? e : 6), part = fraction_of(fixed);
    const bool negative = (x & kSign) != 0, between = part != 0;
    const auto n = static_cast<s32>(fixed >> 23);
    const u32 f = (negative & between) ? fraction_of(~part) : part;
    const s32 down = between ? -n - 1 : -n;
    return {f >> 17, f & 0x1FFFF, negative ? down : n};
  }
  static double sum(double a, double bl, double cs, s32) { return a * 0x1p13 + bl + cs + 0x77E2; }
  static u32 result(u32 x, double sum, s32 n) {
    const u32 beyond = (x & kSign) != 0 ? 0 : kInfinity;
    const u32 out = assembled(0, static_cast<s32>(sum * 0x1p-15), n);
    return is_nan(x) ? kNan : exponent_of(x) >= 7 ? beyond : out;
  }
};

struct UnitLg2 {
  static constexpr const Segment* kTable = kLg2;
  static Point point(u32 x) { return {fraction_of(x) >> 17, x & 0x1FFFF, exponent_of(x)}; }
  static double sum(double a, double bl, double cs, s32) { return a * 0x1p12 + bl + 2 * cs + 0x3345; }
  static u32 result(u32 x, double sum, s32 exponent) {
    const double v = __builtin_floor(sum * 0.25) + static_cast<double>(exponent) * 0x1p36;
    const double positive = v < 0 ? -v - 1 : v;
    const u32 code = cut_to_float(positive, 36) | (v < 0 ? kSign : 0);
    const u32 number = x == kOne || positive == 0 ? 0 : x == kInfinity ? kInfinity : code;
    return is_nan(x) ? kNan : is_zero(x) ? kSign | kInfinity : (x & kSign) != 0 ? kNan : number;
  }
};

struct UnitRcp {
  static constexpr const Segment* kTable = kRcp;
  // Twice the l of 16 bits.
  static Point point(u32 x) { return {fraction_of(x) >> 16, (x & 0xFFFF) * 2, exponent_of(x)}; }
  static double sum(double a, double bl, double cs, s32) { return a * 0x1p13 + bl * 0.5 + cs + 0x47E7; }
  static u32 result(u32 x, double sum, s32 exponent) {
    const u32 sign = x & kSign, out = assembled(sign, static_cast<s32>(sum * 0x1p-15), -exponent - 1);
    return is_nan(x) ? kNan : is_zero(x) ? sign | kInfinity : magnitude_of(x) == kInfinity ? sign : out;
  }
};

inline Point root_point(u32 x) {
  return {((exponent_of(x) & 1) != 0 ? 64U : 0U) + (fraction_of(x) >> 17), x & 0x1FFFF, exponent_of(x)};
}
struct UnitRsqrt {
  static constexpr const Segment* kTable = kRsqrt;
  static Point point(u32 x) { return root_point(x); }
  static double sum(double a, double bl, double cs, s32) { return a * 0x1p14 + bl + 4 * cs + 0x7FFF; }
  static u32 result(u32 x, double sum, s32 exponent) {
    const bool is_one = (exponent & 1) == 0 && fraction_of(x) == 0;
    const s32 y = is_one ? 2 * static_cast<s32>(kUnit) : static_cast<s32>(sum * 0x1p-16);
    const u32 number = x == kInfinity ? 0 : assembled(0, y, -(exponent >> 1) - 1);
    const u32 of_zero = (x & kSign) | kInfinity;
    return is_nan(x) ? kNan : is_zero(x) ? of_zero : (x & kSign) != 0 ? kNan : number;
  }
};
struct UnitSqrt {
  static constexpr const Segment* kTable = kSqrt;
  static Point point(u32 x) { return root_point(x); }
  static double sum(double a, double bl, double cs, s32 exponent) {
    const bool odd = (exponent & 1) != 0;
    return (odd ? a * 0x1p14 + 0x3FFF : a * 0x1p15 + 0x7FFF) + bl + cs;
  }
  static u32 result(u32 x, double sum, s32 exponent) {
    const auto y = static_cast<s32>(sum * ((exponent & 1) != 0 ? 0x1p-16 : 0x1p-17));
    const u32 number = x == kInfinity ? kInfinity : assembled(0, y, exponent >> 1);
    return is_nan(x) ? kNan : is_zero(x) ? x & kSign : (x & kSign) != 0 ? kNan : number;
  }
};

// Of an angle in turns. `exponent` is the sign of the result.
template <bool Cosine>
struct UnitSin {
  static constexpr const Segment* kTable = kSin;
  static Point point(u32 t) {
    // |t| * 2^25, modulo 2^25.
    const s32 e = exponent_of(t) + 2;
    const u32 fixed = shifted(significand_of(t), e), angle = e >= 25 ? 0 : fixed & 0x1FF'FFFF;
    const u32 all = Cosine ? angle + kUnit : angle, quadrant = all >> 23 & 3;
    const u32 f = fraction_of(all ^ (0 - (quadrant & 1)));
    const u32 sign = (Cosine ? 0 : t & kSign) ^ (quadrant >> 1) << 31;
    return {f >> 17, f & 0x1FFFF, static_cast<s32>(sign)};
  }
  static double sum(double a, double bl, double cs, s32) { return a * 0x1p11 + bl + cs; }
  static u32 result(u32 t, double sum, s32 sign) {
    return magnitude_of(t) >= kInfinity ? kNan : static_cast<u32>(sign) | cut_to_float(sum, 37);
  }
};

struct UnitTanh {
  static constexpr const Segment* kTable = kTanh;
  // By exponent from -8 to 2, 0, 0, 0, 1, 1, 2, 2, 2, 3, 4 and 3 bits of the fraction choose the segment.
  static Point point(u32 x) {
    const s32 e = exponent_of(x);
    const auto is = [e](s32 least, u32 value) __attribute__((always_inline)) {
      return (0U - static_cast<u32>(e >= least)) & value;
    };
    const u32 k = is(-5, 1) + is(-3, 1) + is(0, 1) + is(1, 1) - is(2, 1);
    const u32 first = is(-7, 1) + is(-6, 1) + is(-5, 1) + is(-4, 2) + is(-3, 2) + is(-2, 4) + is(-1, 4) +
                      is(0, 4) + is(1, 8) + is(2, 16);
    const u32 chosen = fraction_of(x) >> (23 - k);  // of numbers below 2^-8 none, to be within the table
    return {first + (e < -8 ? 0 : chosen), fraction_of(x) >> (6 - k) & 0x1FFFF, e};
  }
  static double sum(double a, double bl, double cs, s32) { return a * 0x1p17 + bl + 2 * cs; }
  static u32 result(u32 x, double sum, s32 e) {
    const u32 sign = x & kSign, one = sign | kOne, out = sign | cut_to_float(sum, 41);
    const u32 large = e >= 3 ? one : out, number = e < -8 ? x : large;
    return is_nan(x) ? kNan : number;
  }
};

struct alignas(64) Codes {
  u32 of[32];
};

template <class U>
inline void unit(const Codes& x, Codes& y) {
  alignas(64) u32 segment[32], l[32], squared[32];
  alignas(64) s32 exponent[32];
  alignas(64) double sum[32];
  WARPBIT_EACH {
    const Point p = U::point(x.of[i]);
    segment[i] = p.segment;
    l[i] = p.l;
    squared[i] = square(p.l);
    exponent[i] = p.exponent;
  }
  WARPBIT_EACH {
    const Segment* const s = U::kTable + segment[i];
    sum[i] = U::sum(s->a, s->b * static_cast<double>(static_cast<s32>(l[i])),
                    s->c * static_cast<double>(static_cast<s32>(squared[i])), exponent[i]);
  }
  WARPBIT_EACH y.of[i] = U::result(x.of[i], sum[i], exponent[i]);
}

// ---- What is around it

// a * b, to nearest.
inline u32 times(u32 a, float b) {
  return finished<false>(f32(a) * b, false);
}

// Subnormals by 2^24.
template <bool Ftz>
inline u32 raised(u32 x) {
  return !Ftz && is_zero(x) ? bits(f32(x) * 0x1p24F) : x;
}

template <bool Ftz>
inline bool is_scaled_ex2(u32 x) {
  return !Ftz && x > (kSign | 0x42FC'0000) && x <= (kSign | kInfinity);  // x < -126
}
template <bool Ftz>
bool ex2(Vectors& v) {
  Codes x, y;
  WARPBIT_EACH {
    const u32 a = get<u32>(v.a, i);
    x.of[i] = is_scaled_ex2<Ftz>(a) ? bits(f32(a) * 0.5F) : a;
  }
  unit<UnitEx2>(x, y);
  WARPBIT_EACH {
    const u32 a = get<u32>(v.a, i), half = y.of[i];
    put<u32>(v.d, i, is_scaled_ex2<Ftz>(a) ? bits(f32(half) * f32(half)) : half);
  }
  return true;
}

template <bool Ftz>
bool lg2(Vectors& v) {
  Codes x, y;
  WARPBIT_EACH x.of[i] = raised<Ftz>(get<u32>(v.a, i));
  unit<UnitLg2>(x, y);
  WARPBIT_EACH {
    const u32 scaled = finished<false>(f32(y.of[i]) - 24, false);
    put<u32>(v.d, i, !Ftz && is_zero(get<u32>(v.a, i)) ? scaled : y.of[i]);
  }
  return true;
}

template <bool Ftz>
inline float rcp_scale(u32 x) {
  return Ftz ? 1.0F : is_zero(x) ? 0x1p24F : is_huge(x) ? 0x1p-2F : 1.0F;
}
template <bool Ftz>
bool rcp(Vectors& v) {
  Codes x, y;
  WARPBIT_EACH {
    const u32 a = get<u32>(v.a, i);
    x.of[i] = Ftz ? a : bits(f32(a) * rcp_scale<Ftz>(a));
  }
  unit<UnitRcp>(x, y);
  WARPBIT_EACH put<u32>(v.d, i, Ftz ? y.of[i] : times(y.of[i], rcp_scale<Ftz>(get<u32>(v.a, i))));
  return true;
}

// Of subnormals by 2^24, the result by `back`.
template <class U, bool Ftz>
inline bool root(Vectors& v, float back) {
  Codes x, y;
  WARPBIT_EACH x.of[i] = raised<Ftz>(get<u32>(v.a, i));
  unit<U>(x, y);
  WARPBIT_EACH {
    const u32 scaled = times(y.of[i], back);
    put<u32>(v.d, i, !Ftz && is_zero(get<u32>(v.a, i)) ? scaled : y.of[i]);
  }
  return true;
}
template <bool Ftz>
bool rsqrt(Vectors& v) {
  return root<UnitRsqrt, Ftz>(v, 0x1p12F);
}
template <bool Ftz>
bool sqrt_approximate(Vectors& v) {
  return root<UnitSqrt, Ftz>(v, 0x1p-12F);
}

// x times the f32 next to 1 / (2 pi), cut.
inline u32 turns(u32 x) {
  constexpr double kTurn = 0xA2F983;  // / 2^26
  const double product = static_cast<double>(static_cast<s32>(significand_of(x))) * kTurn;
  const u32 out = (x & kSign) | cut_to_float(product, 23 + 26 - exponent_of(x));
  return is_zero(x) || magnitude_of(x) >= kInfinity ? x : out;
}
template <bool Cosine>
bool sine(Vectors& v) {
  Codes x, y;
  WARPBIT_EACH x.of[i] = turns(get<u32>(v.a, i));
  unit<UnitSin<Cosine>>(x, y);
  WARPBIT_EACH put<u32>(v.d, i, y.of[i]);
  return true;
}

bool tanh(Vectors& v) {
  Codes x, y;
  WARPBIT_EACH x.of[i] = get<u32>(v.a, i);
  unit<UnitTanh>(x, y);
  WARPBIT_EACH put<u32>(v.d, i, y.of[i]);
  return true;
}

// a / b as a times 1 / b, both scaled before.
template <bool Full, bool Ftz>
inline float div_scale(u32 b) {
  return Full && is_huge(b) ? 0x1p-2F : !Ftz && is_zero(b) ? 0x1p24F : 1.0F;
}
template <bool Full, bool Ftz>
bool div_approximate(Vectors& v) {
  Codes x, y;
  WARPBIT_EACH {
    const u32 b = get<u32>(v.b, i);
    x.of[i] = bits(f32(b) * div_scale<Full, Ftz>(b));
  }
  unit<UnitRcp>(x, y);
  return products<Ftz, false>(
      v, [&v, &y ](int i) __attribute__((always_inline)) {
        const u32 a = get<u32>(v.a, i), b = get<u32>(v.b, i);
        // A fourth of a may be subnormal and is not flushed: by such a b the quotient is a zero anyhow.
        const u32 kept = Ftz && is_zero(a) ? a & kSign : a;
        return f32(y.of[i]) * (f32(kept) * div_scale<Full, Ftz>(b));
      });
}

// ---- Of halves: exact to f32, the unit, cut

inline u32 cut_to_half(F16, u32 y) {
  const u32 magnitude = magnitude_of(y);
  const auto subnormal = static_cast<u32>(static_cast<s32>(f32(magnitude < kOne ? magnitude : 0) * 0x1p24F));
  const u32 code = magnitude < bits(0x1p-14F)   ? subnormal
                   : magnitude >= bits(0x1p16F) ? F16::kInfinity
                                                : (magnitude >> 13) - (112U << 10);
  return is_nan(y) ? kHalfNan : (y >> 16 & kHalfSign) | code;
}
inline u32 cut_to_half(Bf16, u32 y) {
  return is_nan(y) ? kHalfNan : y >> 16;
}
template <class U, class H, bool Packed>
bool unit_of_half(Vectors& v) {
  Codes x, low, high;
  WARPBIT_EACH x.of[i] = bits(H::wide(get<u32>(v.a, i) & 0xFFFF));
  unit<U>(x, low);
  if (Packed) {
    WARPBIT_EACH x.of[i] = bits(H::wide(get<u32>(v.a, i) >> 16));
    unit<U>(x, high);
  }
  WARPBIT_EACH put<u32>(v.d, i,
                        cut_to_half(H{}, low.of[i]) | (Packed ? cut_to_half(H{}, high.of[i]) << 16 : 0));
  return true;
}

// ---- Which one

template <class U>
Vector find_unit_of_half(Type type) {
  switch (type) {
    case Type::f16: return unit_of_half<U, F16, false>;
    case Type::f16x2: return unit_of_half<U, F16, true>;
    case Type::bf16: return unit_of_half<U, Bf16, false>;
    case Type::bf16x2: return unit_of_half<U, Bf16, true>;
    default: return nullptr;
  }
}
Vector find_approximate(const VectorKey& key) {
  if (key.type != Type::f32) {
    if (key.code == Function::ex2) return find_unit_of_half<UnitEx2>(key.type);
    return key.code == Function::tanh ? find_unit_of_half<UnitTanh>(key.type) : nullptr;
  }
  switch (key.code) {
    case Function::ex2: return key.ftz ? ex2<true> : ex2<false>;
    case Function::lg2: return key.ftz ? lg2<true> : lg2<false>;
    case Function::rcp: return key.ftz ? rcp<true> : rcp<false>;
    case Function::rsqrt: return key.ftz ? rsqrt<true> : rsqrt<false>;
    case Function::sqrt: return key.ftz ? sqrt_approximate<true> : sqrt_approximate<false>;
    case Function::sin: return sine<false>;
    case Function::cos: return sine<true>;
    case Function::tanh: return tanh;
    case Function::div:
      if (key.precision == kFull) return key.ftz ? div_approximate<true, true> : div_approximate<true, false>;
      return key.ftz ? div_approximate<false, true> : div_approximate<false, false>;
    default: return nullptr;
  }
}

}  // namespace
}  // namespace warpbit::grid
