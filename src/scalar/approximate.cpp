// SPDX-License-Identifier: Apache-2.0
// The approximate functions (src/target/NUMERICS.md, "Approximate functions"): a unit that interpolates from tables, and
// what the assembler puts around it. The results are those of an H100 for all 2^32 inputs.
#include <algorithm>
#include <array>

#include "scalar/floating.hpp"

namespace warpbit::scalar {
namespace {

struct Segment {
  std::int64_t a, b, c;
};
#include "scalar/approximate_tables.inc"

constexpr std::uint32_t kNan = 0x7FFF'FFFF, kInfinity = 0x7F80'0000, kSign = 0x8000'0000, kOne = 0x3F80'0000;
constexpr std::int64_t kUnit = 1 << 23;  // of a significand

/// A code of f32, taken apart; subnormals are zeros to the unit.
struct Source {
  std::uint32_t code;
  std::uint32_t sign() const { return code & kSign; }
  std::uint32_t magnitude() const { return code & ~kSign; }
  bool is_nan() const { return magnitude() > kInfinity; }
  bool is_infinite() const { return magnitude() == kInfinity; }
  bool is_zero() const { return magnitude() < kUnit; }
  int exponent() const { return static_cast<int>(magnitude() >> 23) - 127; }
  std::int64_t fraction() const { return code & (kUnit - 1); }
};

/// The truncated squarer: about l * l / 2^18, of 17 bits.
std::int64_t square(std::int64_t l) {
  std::int64_t sum = 0;
  for (int i = 0; i < 17; ++i) sum += (l >> i & 1) * (l >> (18 - i));
  return sum >> 1;
}

std::int64_t low(std::int64_t x, int bits) {
  return x & ((std::int64_t{1} << bits) - 1);
}

/// significand / 2^23 * 2^exponent, significand in [2^23, 2^24]; zero below the normal numbers, infinity above.
std::uint32_t assemble(std::uint32_t sign, std::int64_t significand, int exponent) {
  if (significand == 2 * kUnit) {
    significand = kUnit;
    ++exponent;
  }
  const int field = exponent + 127;
  if (field < 1) return sign;
  if (field > 254) return sign | kInfinity;
  return sign | static_cast<std::uint32_t>(field) << 23 | static_cast<std::uint32_t>(significand - kUnit);
}

/// v / 2^q, cut to 24 bits. Precondition: v > 0.
std::uint32_t cut_to_float(std::uint32_t sign, std::int64_t v, int q) {
  const int top = bit_length(static_cast<std::uint64_t>(v)) - 1;
  const std::int64_t significand = top >= 23 ? v >> (top - 23) : v << (23 - top);
  return assemble(sign, significand, top - q);
}

// ---- The unit

std::uint32_t unit_ex2(Source x) {
  if (x.is_nan()) return kNan;
  // |x| as 7.23 bits, cut.
  const int e = x.exponent();
  if (e >= 7) return x.sign() != 0 ? 0 : kInfinity;
  std::int64_t f = x.is_zero() ? 0 : x.fraction() | kUnit;
  f = e >= 0 ? f << e : e > -25 ? f >> -e : 0;
  auto n = static_cast<int>(f >> 23);
  f = low(f, 23);
  if (x.sign() != 0) {
    n = f != 0 ? -n - 1 : -n;
    if (f != 0) f = low(~f, 23);
  }
  const Segment& s = kEx2[f >> 17];
  const std::int64_t l = low(f, 17);
  return assemble(0, ((s.a << 13) + s.b * l + s.c * square(l) + 0x77E2) >> 15, n);
}

std::uint32_t unit_lg2(Source x) {
  if (x.is_nan()) return kNan;
  if (x.is_zero()) return kSign | kInfinity;
  if (x.sign() != 0) return kNan;
  if (x.is_infinite()) return kInfinity;
  const Segment& s = kLg2[x.fraction() >> 17];
  const std::int64_t l = low(x.fraction(), 17);
  std::int64_t v = (((s.a << 12) + s.b * l + 2 * s.c * square(l) + 0x3345) >> 2) +
                   static_cast<std::int64_t>(x.exponent()) * (std::int64_t{1} << 36);
  if (x.code == kOne || v == 0) return 0;
  const bool negative = v < 0;
  if (negative) v = ~v;
  return v == 0 ? 0 : cut_to_float(negative ? kSign : 0, v, 36);
}

/// 2^47 / (2^23 + fraction): the reciprocal of a significand, in [2^23, 2^24].
std::int64_t reciprocal(std::int64_t fraction) {
  const Segment& s = kRcp[fraction >> 16];
  const std::int64_t l = low(fraction, 16);
  return ((s.a << 13) + s.b * l + s.c * square(2 * l) + 0x47E7) >> 15;
}
std::uint32_t unit_rcp(Source x) {
  if (x.is_nan()) return kNan;
  if (x.is_zero()) return x.sign() | kInfinity;
  if (x.is_infinite()) return x.sign();
  return assemble(x.sign(), reciprocal(x.fraction()), -x.exponent() - 1);
}

/// The segment of rsqrt and sqrt: the first 64 are of even exponents.
std::size_t root_segment(std::int64_t fraction, bool odd) {
  return (odd ? 64 : 0) + static_cast<std::size_t>(fraction >> 17);
}
/// The same for 1 / sqrt, of a significand with an even or an odd exponent; 2^24 for 1.
std::int64_t reciprocal_root(std::int64_t fraction, bool odd) {
  if (!odd && fraction == 0) return 2 * kUnit;
  const Segment& s = kRsqrt[root_segment(fraction, odd)];
  const std::int64_t l = low(fraction, 17);
  return ((s.a << 14) + s.b * l + 4 * s.c * square(l) + 0x7FFF) >> 16;
}
std::uint32_t unit_rsqrt(Source x) {
  if (x.is_nan()) return kNan;
  if (x.is_zero()) return x.sign() | kInfinity;
  if (x.sign() != 0) return kNan;
  if (x.is_infinite()) return 0;
  return assemble(0, reciprocal_root(x.fraction(), (x.exponent() & 1) != 0), -(x.exponent() >> 1) - 1);
}
std::uint32_t unit_sqrt(Source x) {
  if (x.is_nan()) return kNan;
  if (x.is_zero()) return x.sign();
  if (x.sign() != 0) return kNan;
  if (x.is_infinite()) return kInfinity;
  const bool odd = (x.exponent() & 1) != 0;
  const Segment& s = kSqrt[root_segment(x.fraction(), odd)];
  const std::int64_t l = low(x.fraction(), 17);
  const std::int64_t y = odd ? ((s.a << 14) + s.b * l + s.c * square(l) + 0x3FFF) >> 16
                             : ((s.a << 15) + s.b * l + s.c * square(l) + 0x7FFF) >> 17;
  return assemble(0, y, x.exponent() >> 1);
}

/// Of an angle in turns.
std::uint32_t unit_sin(Source t, bool cosine) {
  if (t.is_nan() || t.is_infinite()) return kNan;
  const int e = t.exponent() + 25 - 23;  // |t| * 2^25 = significand * 2^e, modulo 2^25
  std::int64_t f = t.is_zero() ? 0 : t.fraction() | kUnit;
  f = e >= 25 ? 0 : low(e >= 0 ? f << e : e > -25 ? f >> -e : 0, 25);
  std::uint32_t sign = cosine ? 0 : t.sign();
  if (cosine) f += kUnit;
  const std::int64_t quadrant = f >> 23 & 3;
  f = low(f, 23);
  if ((quadrant & 1) != 0) f = low(~f, 23);
  if ((quadrant >> 1) != 0) sign ^= kSign;
  const Segment& s = kSin[f >> 17];
  const std::int64_t l = low(f, 17);
  const std::int64_t v = (s.a << 11) + s.b * l + s.c * square(l);
  return v == 0 ? sign : cut_to_float(sign, v, 37);
}

std::uint32_t unit_tanh(Source x) {
  if (x.is_nan()) return kNan;
  const int e = x.exponent();
  if (e < -8) return x.code;
  if (e >= 3) return x.sign() | kOne;
  // By exponent from -8 on: how many bits of the fraction choose the segment.
  constexpr std::array kIndexBits = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
  std::size_t segment = 0;
  for (int i = -8; i < e; ++i) segment += std::size_t{1} << kIndexBits[static_cast<std::size_t>(i + 8)];
  const int k = kIndexBits[static_cast<std::size_t>(e + 8)];
  segment += static_cast<std::size_t>(x.fraction() >> (23 - k));
  const std::int64_t l = x.fraction() >> (6 - k) & 0x1FFFF;
  const Segment& s = kTanh[segment];
  return cut_to_float(x.sign(), (s.a << 17) + s.b * l + 2 * s.c * square(l), 41);
}

// ---- What the assembler puts around it

/// a * b in f32, to nearest.
std::uint32_t times(std::uint32_t a, std::uint32_t b, bool ftz) {
  Operation o;
  o.type = o.to = Type::f32;
  o.ftz = ftz;
  return static_cast<std::uint32_t>(
      finished(o, product(value_taken(o, a, Type::f32), value_taken(o, b, Type::f32)), Type::f32));
}
std::uint32_t plus(std::uint32_t a, std::uint32_t b) {
  Operation o;
  o.type = o.to = Type::f32;
  return static_cast<std::uint32_t>(
      finished(o, sum(value_taken(o, a, Type::f32), value_taken(o, b, Type::f32), o.rounding), Type::f32));
}
constexpr std::uint32_t power(int exponent) {
  return static_cast<std::uint32_t>(exponent + 127) << 23;
}
/// |x| < 2^-126, a zero too.
bool is_tiny(std::uint32_t x) {
  return (x & ~kSign) < kUnit;
}
bool is_huge(std::uint32_t x) {
  return (x & ~kSign) > power(126) && (x & ~kSign) <= kInfinity;
}

std::uint32_t ex2(std::uint32_t x, bool ftz) {
  const bool small = (x & kSign) != 0 && (x & ~kSign) > 0x42FC'0000 && (x & ~kSign) <= kInfinity;  // x < -126
  if (ftz || !small) return unit_ex2({x});
  const std::uint32_t half = unit_ex2({times(x, power(-1), false)});
  return times(half, half, false);
}
std::uint32_t lg2(std::uint32_t x, bool ftz) {
  if (ftz || !is_tiny(x)) return unit_lg2({x});
  return plus(unit_lg2({times(x, power(24), false)}), 0xC1C0'0000);  // -24
}
std::uint32_t rcp(std::uint32_t x, bool ftz) {
  if (ftz || (!is_tiny(x) && !is_huge(x))) return unit_rcp({x});
  const std::uint32_t scale = is_tiny(x) ? power(24) : power(-2);
  return times(unit_rcp({times(x, scale, false)}), scale, false);
}
std::uint32_t rsqrt(std::uint32_t x, bool ftz) {
  if (ftz || !is_tiny(x)) return unit_rsqrt({x});
  return times(unit_rsqrt({times(x, power(24), false)}), power(12), false);
}
std::uint32_t sqrt(std::uint32_t x, bool ftz) {
  if (ftz || !is_tiny(x)) return unit_sqrt({x});
  return times(unit_sqrt({times(x, power(24), false)}), power(-12), false);
}
// x times the f32 next to 1 / (2 pi), cut; below the normal numbers it is a zero to the unit, with .ftz or without.
std::uint32_t turns(Source x) {
  constexpr std::int64_t kTurn = 0xA2F983;  // / 2^26
  if (x.is_zero() || x.magnitude() >= kInfinity) return x.code;
  return cut_to_float(x.sign(), (x.fraction() | kUnit) * kTurn, 23 + 26 - x.exponent());
}
/// By which div multiplies both its sources, so that the reciprocal of b is a normal number: nothing, 2^24 or 1/4.
std::uint32_t scaling(std::uint32_t b, bool full, bool ftz) {
  if (full && is_huge(b)) return power(-2);
  return !ftz && is_tiny(b) ? power(24) : power(0);
}
std::uint32_t scaled(std::uint32_t x, std::uint32_t by, bool ftz) {
  return by == power(0) ? x : times(x, by, ftz);
}
std::uint32_t div(std::uint32_t a, std::uint32_t b, bool full, bool ftz) {
  const std::uint32_t by = scaling(b, full, ftz);
  return times(unit_rcp({scaled(b, by, ftz)}), scaled(a, by, ftz), ftz);
}

std::uint32_t of_f32(const Operation& o, const Sources& s) {
  const auto x = static_cast<std::uint32_t>(s[0]), y = static_cast<std::uint32_t>(s[1]);
  const bool full = o.precision == Precision::full;
  switch (o.function) {
    case Function::ex2: return ex2(x, o.ftz);
    case Function::lg2: return lg2(x, o.ftz);
    case Function::rcp: return rcp(x, o.ftz);
    case Function::rsqrt: return rsqrt(x, o.ftz);
    case Function::sqrt: return sqrt(x, o.ftz);
    case Function::tanh: return unit_tanh({x});
    case Function::div: return o.scaled ? scaled(x, scaling(y, full, o.ftz), o.ftz) : div(x, y, full, o.ftz);
    default: return unit_sin({turns({x})}, o.function == Function::cos);
  }
}

// ---- f64: the upper 20 bits of the fraction through the unit, the result cut to 20 bits; the lower word is 0

std::uint64_t assemble64(std::uint64_t sign, std::int64_t significand, int exponent) {
  if (significand == 2 * kUnit) {
    significand = kUnit;
    ++exponent;
  }
  const int field = exponent + 1023;
  if (field < 1) return sign;
  return sign | static_cast<std::uint64_t>(field) << 52 |
         static_cast<std::uint64_t>((significand - kUnit) >> 3) << 32;
}

std::uint64_t rcp64(std::uint64_t x) {
  const std::uint64_t sign = x & std::uint64_t{1} << 63, upper = x >> 32 & 0x7FFF'FFFF;
  if (upper > 0x7FF0'0000) return 0x7FFF'FFFF'0000'0000;
  if (upper == 0x7FF0'0000) return sign;
  if (upper < 0x0010'0000) return sign | std::uint64_t{0x7FF0'0000} << 32;
  const int exponent = static_cast<int>(upper >> 20) - 1023;
  return assemble64(sign, reciprocal(static_cast<std::int64_t>(upper & 0xFFFFF) << 3), -exponent - 1);
}

std::uint64_t rsqrt64(std::uint64_t x) {
  const std::uint64_t sign = x & std::uint64_t{1} << 63, upper = x >> 32 & 0x7FFF'FFFF;
  if (upper > 0x7FF0'0000) return 0x7FFF'FFFF'0000'0000;
  if (upper < 0x0010'0000) return sign | std::uint64_t{0x7FF0'0000} << 32;
  if (sign != 0) return 0x7FFF'FFFF'0000'0000;
  if (upper == 0x7FF0'0000) return 0;
  const int exponent = static_cast<int>(upper >> 20) - 1023;
  return assemble64(0, reciprocal_root(static_cast<std::int64_t>(upper & 0xFFFFF) << 3, (exponent & 1) != 0),
                    -(exponent >> 1) - 1);
}

std::uint64_t fma64(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const Format& f = format(FormatId::f64);
  const auto value = [&](std::uint64_t code) { return value_of(decode(f, code), f); };
  return round(f, sum(product(value(a), value(b)), value(c), Rounding::nearest_even), Rounding::nearest_even);
}
constexpr std::uint64_t power64(int exponent) {
  return static_cast<std::uint64_t>(exponent + 1023) << 52;
}

// Without .ftz one step of Newton's, of second order, follows.
std::uint64_t rsqrt_f64(std::uint64_t x, bool ftz) {
  constexpr std::uint64_t kMinusZero = std::uint64_t{1} << 63;
  if (ftz) return rsqrt64(x);
  if ((x & ~kMinusZero) > power64(1024)) return x | std::uint64_t{1} << 51;
  const bool subnormal = (x << 1) != 0 && (x << 1 >> 53) == 0;
  if (subnormal) x = fma64(x, power64(54), kMinusZero);
  const std::uint64_t y = rsqrt64(x);
  if ((x << 1) == 0 || x == power64(1024)) return y;
  if (x >> 63 != 0) return 0xFFF8'0000'0000'0000;
  const std::uint64_t e = fma64(x ^ kMinusZero, fma64(y, y, kMinusZero), power64(0));
  const std::uint64_t p = fma64(e, 0x3FD8'0000'0000'0000, power64(-1));  // 0.375 e + 0.5
  const std::uint64_t out = fma64(p, fma64(e, y, kMinusZero), y);
  return subnormal ? fma64(out, power64(27), kMinusZero) : out;
}

// f16: exact to f32, the unit, cut to f16. bf16: x << 16, the unit, the upper half.
std::uint64_t of_half(const Operation& o, std::uint64_t code) {
  Operation wide = o;
  wide.type = wide.to = Type::f32;
  wide.ftz = true;
  Sources s;
  s.count = 1;
  if (o.type == Type::bf16) {
    s.value[0] = code << 16;
    const std::uint32_t y = of_f32(wide, s);
    return (y & ~kSign) > kInfinity ? 0x7FFF : y >> 16;
  }
  const Format &f16 = format(FormatId::f16), &f32 = format(FormatId::f32);
  s.value[0] = round(f32, value_of(decode(f16, code), f16), Rounding::nearest_even);
  const Value y = value_of(decode(f32, of_f32(wide, s)), f32);
  const std::uint64_t out = round(f16, y, Rounding::toward_zero);
  const bool beyond = y.cls == Class::finite && bit_length(y.number.magnitude) + y.number.exponent > 16;
  return beyond ? infinity(f16, y.number.negative) : out;
}

}  // namespace

Results approximate(const Operation& o, const Sources& s) {
  if (o.type == Type::f16 || o.type == Type::bf16) return {of_half(o, s[0])};
  if (o.type == Type::f64) return {o.function == Function::rcp ? rcp64(s[0]) : rsqrt_f64(s[0], o.ftz)};
  return {of_f32(o, s)};
}

std::uint32_t approximate_reciprocal(std::uint32_t x) {
  return rcp(x, true);
}

}  // namespace warpbit::scalar
