// SPDX-License-Identifier: Apache-2.0
// Arithmetic of f32 and f64.
#pragma once

#include "grid/body/lanes.hpp"

namespace warpbit::grid {
namespace {

// ---- Nearest even. NaNs of f64 are left to the specification.

template <bool Ftz, bool Sat>
bool add_f32(Vectors& v) {
  WARPBIT_EACH static_cast<u32*>(v.d)[i] =
      finished<Sat>(f32(taken<Ftz>(get<u32>(v.a, i))) + f32(taken<Ftz>(get<u32>(v.b, i))), Ftz);
  return true;
}
template <bool Ftz, bool Sat>
bool sub_f32(Vectors& v) {
  WARPBIT_EACH static_cast<u32*>(v.d)[i] =
      finished<Sat>(f32(taken<Ftz>(get<u32>(v.a, i))) - f32(taken<Ftz>(get<u32>(v.b, i))), Ftz);
  return true;
}
// f of a lane; d is left as it is where one of the results is 2^-126.
template <bool Ftz, bool Sat, class F>
inline bool products(Vectors& v, F f) {
  alignas(64) u32 out[32];
  u32 least = 0;
  WARPBIT_EACH {
    const float result = f(i);
    least |= Ftz && is_least(result) ? 1U : 0U;
    out[i] = finished<Sat>(result, Ftz);
  }
  if (Ftz && least != 0) return false;
  WARPBIT_EACH static_cast<u32*>(v.d)[i] = out[i];
  return true;
}
template <bool Ftz, bool Sat>
bool mul_f32(Vectors& v) {
  return products<Ftz, Sat>(
      v, [&v](int i) __attribute__((always_inline)) {
        return f32(taken<Ftz>(get<u32>(v.a, i))) * f32(taken<Ftz>(get<u32>(v.b, i)));
      });
}
#if defined(__FMA__) || defined(WARPBIT_NEON)
// parameter: 1, the product is negated; 2, the addend.
template <bool Ftz, bool Sat>
bool fma_f32(Vectors& v) {
  const u32 product = (v.parameter & 1) != 0 ? kSign : 0, addend = (v.parameter & 2) != 0 ? kSign : 0;
  return products<Ftz, Sat>(
      v, [&v, product, addend ](int i) __attribute__((always_inline)) {
        return __builtin_fmaf(f32(taken<Ftz>(get<u32>(v.a, i)) ^ product), f32(taken<Ftz>(get<u32>(v.b, i))),
                              f32(taken<Ftz>(get<u32>(v.c, i)) ^ addend));
      });
}
#endif

template <class F>
inline bool doubles(Vectors& v, F f) {
  alignas(64) u64 out[32];
  u64 nan = 0;
  WARPBIT_EACH {
    const double result = f(i);
    nan |= result != result ? u64{1} : u64{0};
    out[i] = bits(result);
  }
  if (nan != 0) return false;
  WARPBIT_EACH static_cast<u64*>(v.d)[i] = out[i];
  return true;
}
bool add_f64(Vectors& v) {
  return doubles(
      v, [&v](int i) __attribute__((always_inline)) { return f64(get<u64>(v.a, i)) + f64(get<u64>(v.b, i)); });
}
bool sub_f64(Vectors& v) {
  return doubles(
      v, [&v](int i) __attribute__((always_inline)) { return f64(get<u64>(v.a, i)) - f64(get<u64>(v.b, i)); });
}
bool mul_f64(Vectors& v) {
  return doubles(
      v, [&v](int i) __attribute__((always_inline)) { return f64(get<u64>(v.a, i)) * f64(get<u64>(v.b, i)); });
}
#if defined(__FMA__) || defined(WARPBIT_NEON)
bool fma_f64(Vectors& v) {
  const u64 sign = u64{1} << 63, product = (v.parameter & 1) != 0 ? sign : 0,
            addend = (v.parameter & 2) != 0 ? sign : 0;
  return doubles(
      v, [&v, product, addend ](int i) __attribute__((always_inline)) {
        return __builtin_fma(f64(get<u64>(v.a, i) ^ product), f64(get<u64>(v.b, i)),
                             f64(get<u64>(v.c, i) ^ addend));
      });
}
#endif

template <bool Ftz>
bool div_f32(Vectors& v) {
  return products<Ftz, false>(
      v, [&v](int i) __attribute__((always_inline)) {
        return f32(taken<Ftz>(get<u32>(v.a, i))) / f32(taken<Ftz>(get<u32>(v.b, i)));
      });
}
template <bool Ftz>
bool rcp_f32(Vectors& v) {
  return products<Ftz, false>(
      v, [&v](int i) __attribute__((always_inline)) { return 1.0F / f32(taken<Ftz>(get<u32>(v.a, i))); });
}
template <bool Ftz>
bool sqrt_f32(Vectors& v) {
  WARPBIT_EACH static_cast<u32*>(v.d)[i] =
      finished<false>(__builtin_sqrtf(f32(taken<Ftz>(get<u32>(v.a, i)))), false);
  return true;
}
bool div_f64(Vectors& v) {
  return doubles(
      v, [&v](int i) __attribute__((always_inline)) { return f64(get<u64>(v.a, i)) / f64(get<u64>(v.b, i)); });
}
bool rcp_f64(Vectors& v) {
  return doubles(
      v, [&v](int i) __attribute__((always_inline)) { return 1.0 / f64(get<u64>(v.a, i)); });
}
bool sqrt_f64(Vectors& v) {
  return doubles(
      v, [&v](int i) __attribute__((always_inline)) { return __builtin_sqrt(f64(get<u64>(v.a, i))); });
}

// ---- Roundings of more than a number of f32

// s + e, where `near` is s to nearest: the sign is that of what `near` lacks; a zero where it is exact, a NaN where there is
// no number. It may be as small as 2^-298.
inline float toward_exact(double s, double e, float near) {
  const double rest = s - static_cast<double>(near);
  return static_cast<float>((rest != 0 ? rest : e) * 0x1p200);
}
inline float toward_exact(float, float e, float) {
  return e;
}

// ---- Other roundings of f32: 1 toward zero, 2 down, 3 up

// s + e, to f32. What lies between two numbers of f32 is moved from the nearer to the other, if that is the wanted one. Where
// the result is a zero, or with .ftz below the least normal number or next to it, d is left as it is.
template <int Rounding, bool Ftz, bool Sat, class F>
inline bool directed(Vectors& v, F f) {
  alignas(64) u32 out[32];
  u32 left = 0;
  WARPBIT_EACH {
    const auto [s, e] = f(i);
    const float near = static_cast<float>(s);
    const float toward = toward_exact(s, e, near);
    const u32 code = bits(near), sign = code >> 31, differs = (bits(toward) ^ code) >> 31;
    const u32 moved = Rounding == 1   ? code - differs
                      : Rounding == 2 ? code + 2 * sign - 1
                                      : code + 1 - 2 * sign;
    const bool moves = Rounding == 1 ? (toward < 0) | (toward > 0) : Rounding == 2 ? toward < 0 : toward > 0;
    const u32 magnitude = code & ~kSign;
    left |= magnitude <= (Ftz ? kLeastNormal : 0) ? 1U : 0U;
    out[i] = finished<Sat>(f32(moves ? moved : code), false);
  }
  if (left != 0) return false;
  WARPBIT_EACH static_cast<u32*>(v.d)[i] = out[i];
  return true;
}
struct Sum {
  double s, e;
};
// a + b, and what the sum lacks.
inline Sum sum_of(double a, double b) {
  const double s = a + b, of_b = s - a;
  return {s, (a - (s - of_b)) + (b - of_b)};
}
template <bool Ftz>
inline double wide(const void* slot, int i, u32 sign = 0) {
  return static_cast<double>(f32(taken<Ftz>(get<u32>(slot, i)) ^ sign));
}
template <int Rounding, bool Ftz, bool Sat>
bool add_directed(Vectors& v) {
  return directed<Rounding, Ftz, Sat>(
      v, [&v](int i) __attribute__((always_inline)) { return sum_of(wide<Ftz>(v.a, i), wide<Ftz>(v.b, i)); });
}
template <int Rounding, bool Ftz, bool Sat>
bool sub_directed(Vectors& v) {
  return directed<Rounding, Ftz, Sat>(
      v, [&v](int i)
             __attribute__((always_inline)) { return sum_of(wide<Ftz>(v.a, i), wide<Ftz>(v.b, i, kSign)); });
}
template <int Rounding, bool Ftz, bool Sat>
bool mul_directed(Vectors& v) {
  return directed<Rounding, Ftz, Sat>(
      v, [&v](int i) __attribute__((always_inline)) {
        return Sum{wide<Ftz>(v.a, i) * wide<Ftz>(v.b, i), 0};
      });
}
template <int Rounding, bool Ftz, bool Sat>
bool fma_directed(Vectors& v) {
  const u32 product = (v.parameter & 1) != 0 ? kSign : 0, addend = (v.parameter & 2) != 0 ? kSign : 0;
  return directed<Rounding, Ftz, Sat>(
      v, [&v, product, addend ](int i) __attribute__((always_inline)) {
        return sum_of(wide<Ftz>(v.a, i, product) * wide<Ftz>(v.b, i), wide<Ftz>(v.c, i, addend));
      });
}
template <int Rounding, bool Ftz, bool Sat>
Vector find_directed_of(Function code) {
  switch (code) {
    case Function::add: return add_directed<Rounding, Ftz, Sat>;
    case Function::sub: return sub_directed<Rounding, Ftz, Sat>;
    case Function::mul: return mul_directed<Rounding, Ftz, Sat>;
    case Function::fma: return fma_directed<Rounding, Ftz, Sat>;
    default: return nullptr;
  }
}
template <int Rounding>
Vector find_directed_to(const VectorKey& key) {
  if (key.ftz)
    return key.sat ? find_directed_of<Rounding, true, true>(key.code)
                   : find_directed_of<Rounding, true, false>(key.code);
  return key.sat ? find_directed_of<Rounding, false, true>(key.code)
                 : find_directed_of<Rounding, false, false>(key.code);
}
Vector find_directed(const VectorKey& key) {
  switch (key.rounding) {
    case 1: return find_directed_to<1>(key);
    case 2: return find_directed_to<2>(key);
    default: return find_directed_to<3>(key);
  }
}

template <bool Ftz>
bool abs_f32(Vectors& v) {
  WARPBIT_EACH {
    const u32 x = taken<Ftz>(get<u32>(v.a, i)) & ~kSign;
    put<u32>(v.d, i, x > kInfinity ? kNan : x);
  }
  return true;
}
template <bool Ftz>
bool neg_f32(Vectors& v) {
  WARPBIT_EACH {
    const u32 x = taken<Ftz>(get<u32>(v.a, i));
    put<u32>(v.d, i, (x & ~kSign) > kInfinity ? kNan : x ^ kSign);
  }
  return true;
}
// A number that orders codes as their values; -0 is below +0.
inline s32 rank(u32 x) {
  return static_cast<s32>(x ^ ((x & kSign) != 0 ? ~kSign : 0));
}
// The smaller or the larger of those that are numbers; with Nan, any NaN is the result.
template <bool Max, bool Ftz, bool Nan>
bool extreme_f32(Vectors& v) {
  WARPBIT_EACH {
    const u32 a = taken<Ftz>(get<u32>(v.a, i)), b = taken<Ftz>(get<u32>(v.b, i));
    const bool a_nan = (a & ~kSign) > kInfinity, b_nan = (b & ~kSign) > kInfinity;
    const bool first = Max ? rank(a) > rank(b) : rank(a) < rank(b);
    const u32 number = a_nan ? b : b_nan ? a : first ? a : b;
    put<u32>(v.d, i, (Nan ? a_nan || b_nan : a_nan && b_nan) ? kNan : number);
  }
  return true;
}

}  // namespace
}  // namespace warpbit::grid
