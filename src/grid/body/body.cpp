// SPDX-License-Identifier: Apache-2.0
// The functions of grid/vector.hpp, compiled once for each vector extension. Nothing here may have a symbol that others
// share: what is compiled for an extension must not serve other files.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "grid/vector.hpp"

#ifdef __clang__
#define WARPBIT_EACH _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < 32; ++i)
#else
#define WARPBIT_EACH _Pragma("GCC ivdep") for (int i = 0; i < 32; ++i)
#endif

namespace warpbit::grid {
namespace {

using ptx::Type;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// ---- Lanes. A register of at most 32 bits lies in 32 of them, its upper bits 0.

template <class T>
using Slot = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <class T>
using Unsigned = std::make_unsigned_t<T>;
/// In which sums and products do not overflow.
template <class T>
using Wide = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T>
inline T get(const void* slot, int i) {
  return static_cast<T>(static_cast<const Slot<T>*>(slot)[i]);
}
template <class T>
inline void put(void* slot, int i, T value) {
  static_cast<Slot<T>*>(slot)[i] = static_cast<Unsigned<T>>(value);
}

inline float f32(u32 bits) {
  return __builtin_bit_cast(float, bits);
}
inline u32 bits(float value) {
  return __builtin_bit_cast(u32, value);
}
inline double f64(u64 bits) {
  return __builtin_bit_cast(double, bits);
}
inline u64 bits(double value) {
  return __builtin_bit_cast(u64, value);
}

template <class T, class F>
inline bool map1(Vectors& v, F f) {
  WARPBIT_EACH put<T>(v.d, i, static_cast<T>(f(get<T>(v.a, i))));
  return true;
}
template <class T, class F>
inline bool map2(Vectors& v, F f) {
  WARPBIT_EACH put<T>(v.d, i, static_cast<T>(f(get<T>(v.a, i), get<T>(v.b, i))));
  return true;
}

// ---- Integers

template <class T>
bool add(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return static_cast<Wide<T>>(a) + static_cast<Wide<T>>(b); });
}
template <class T>
bool sub(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return static_cast<Wide<T>>(a) - static_cast<Wide<T>>(b); });
}
template <class T>
bool mul(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b); });
}
template <class T>
bool mad(Vectors& v) {
  WARPBIT_EACH put<T>(
      v.d, i,
      static_cast<T>(static_cast<Wide<T>>(get<T>(v.a, i)) * static_cast<Wide<T>>(get<T>(v.b, i)) +
                     static_cast<Wide<T>>(get<T>(v.c, i))));
  return true;
}
// T of the factors, W of twice the bits.
template <class T, class W>
bool mul_wide(Vectors& v) {
  WARPBIT_EACH put<W>(v.d, i,
                      static_cast<W>(static_cast<Wide<W>>(static_cast<W>(get<T>(v.a, i))) *
                                     static_cast<Wide<W>>(static_cast<W>(get<T>(v.b, i)))));
  return true;
}
template <class T, class W>
bool mad_wide(Vectors& v) {
  WARPBIT_EACH put<W>(v.d, i,
                      static_cast<W>(static_cast<Wide<W>>(static_cast<W>(get<T>(v.a, i))) *
                                         static_cast<Wide<W>>(static_cast<W>(get<T>(v.b, i))) +
                                     static_cast<Wide<W>>(get<W>(v.c, i))));
  return true;
}
template <class T, class W>
bool mul_high(Vectors& v) {
  WARPBIT_EACH put<T>(v.d, i,
                      static_cast<T>(static_cast<W>(static_cast<Wide<W>>(static_cast<W>(get<T>(v.a, i))) *
                                                    static_cast<Wide<W>>(static_cast<W>(get<T>(v.b, i)))) >>
                                     8 * sizeof(T)));
  return true;
}
template <class T>
bool min(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return a < b ? a : b; });
}
template <class T>
bool max(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return a < b ? b : a; });
}
template <class T>
bool abs(Vectors& v) {
  return map1<T>(v, [](T a) {
    const auto u = static_cast<Wide<T>>(a);
    return a < 0 ? Wide<T>{0} - u : u;
  });
}
template <class T>
bool neg(Vectors& v) {
  return map1<T>(v, [](T a) { return Wide<T>{0} - static_cast<Wide<T>>(a); });
}
template <class T>
bool div(Vectors& v) {
  return map2<T>(v, [](T a, T b) {
    const s64 x = a, y = b;
    return static_cast<T>(y == 0 ? -1 : x / y);
  });
}
template <class T>
bool rem(Vectors& v) {
  return map2<T>(v, [](T a, T b) {
    const s64 x = a, y = b;
    return static_cast<T>(y == 0 ? -1 : x % y);
  });
}
template <class T>
bool bit_and(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return a & b; });
}
template <class T>
bool bit_or(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return a | b; });
}
template <class T>
bool bit_xor(Vectors& v) {
  return map2<T>(v, [](T a, T b) { return a ^ b; });
}
template <class T>
bool bit_not(Vectors& v) {
  return map1<T>(v, [](T a) { return ~a; });
}
// By 32 bits of a register; beyond the width nothing is left, or the sign.
template <class T>
bool shl(Vectors& v) {
  constexpr u32 kBits = 8 * sizeof(T);
  WARPBIT_EACH {
    const u32 by = get<u32>(v.b, i);
    const auto shifted = static_cast<T>(static_cast<Wide<T>>(get<T>(v.a, i)) << (by & (kBits - 1)));
    put<T>(v.d, i, by < kBits ? shifted : T{0});
  }
  return true;
}
template <class T>
bool shr(Vectors& v) {
  constexpr u32 kBits = 8 * sizeof(T);
  WARPBIT_EACH {
    const u32 by = get<u32>(v.b, i);
    const T a = get<T>(v.a, i);
    if constexpr (std::is_signed_v<T>)
      put<T>(v.d, i, static_cast<T>(a >> (by < kBits ? by : kBits - 1)));
    else
      put<T>(v.d, i, by < kBits ? static_cast<T>(a >> (by & (kBits - 1))) : T{0});
  }
  return true;
}
bool lop3(Vectors& v) {
  WARPBIT_EACH {
    const u32 a = get<u32>(v.a, i), b = get<u32>(v.b, i), c = get<u32>(v.c, i), table = get<u32>(v.e, i);
    const auto where = [table](int k) { return u32{0} - (table >> k & 1); };
    const u32 upper =
        a & ((b & ((c & where(7)) | (~c & where(6)))) | (~b & ((c & where(5)) | (~c & where(4)))));
    const u32 lower =
        ~a & ((b & ((c & where(3)) | (~c & where(2)))) | (~b & ((c & where(1)) | (~c & where(0)))));
    put<u32>(v.d, i, upper | lower);
  }
  return true;
}
// b above a; by c modulo 32, or at most 32 (parameter).
template <bool Left>
bool funnel(Vectors& v) {
  const bool clamps = v.parameter != 0;
  WARPBIT_EACH {
    const u64 both = static_cast<u64>(get<u32>(v.b, i)) << 32 | get<u32>(v.a, i);
    const u32 c = get<u32>(v.c, i);
    const u32 by = clamps ? (c < 32 ? c : 32) : c & 31;
    put<u32>(v.d, i, static_cast<u32>(Left ? both << by >> 32 : both >> by));
  }
  return true;
}
// A field of c bits from bit b on.
template <class T>
bool bfe(Vectors& v) {
  WARPBIT_EACH {
    const u32 at = get<u32>(v.b, i) & 0xFF, count = get<u32>(v.c, i) & 0xFF;
    // Of 64 bits above the register its sign, or 0.
    const s64 a = get<T>(v.a, i);
    const u32 from = at < 63 ? at : 63;
    const auto field = static_cast<u64>(a >> from);
    const u32 kept = count < 32 ? count : 32;
    const u64 cut = field & ((u64{1} << kept) - 1);
    const u32 top = at + count < 32 ? at + count - 1 : 31;  // where its sign is
    const bool negative = std::is_signed_v<T> && (a >> (top & 31) & 1) != 0;
    const u64 above = negative ? ~((u64{1} << kept) - 1) : 0;
    put<u32>(v.d, i, count == 0 ? 0 : static_cast<u32>(cut | above));
  }
  return true;
}
bool bfi(Vectors& v) {
  WARPBIT_EACH {
    const u32 at = get<u32>(v.c, i) & 0xFF, count = get<u32>(v.e, i) & 0xFF;
    const u32 kept = count < 32 ? count : 32, from = at < 32 ? at : 32;
    const auto mask = static_cast<u32>(((u64{1} << kept) - 1) << from);
    const auto moved = static_cast<u32>(static_cast<u64>(get<u32>(v.a, i)) << from);
    put<u32>(v.d, i, (get<u32>(v.b, i) & ~mask) | (moved & mask));
  }
  return true;
}
bool prmt(Vectors& v) {
  WARPBIT_EACH {
    const u64 both = static_cast<u64>(get<u32>(v.b, i)) << 32 | get<u32>(v.a, i);
    const u32 selector = get<u32>(v.c, i);
    u32 out = 0;
    for (int k = 0; k < 4; ++k) {
      const u32 from = selector >> 4 * k;
      const auto byte = static_cast<u32>(both >> 8 * (from & 7)) & 0xFF;
      const u32 sign = (byte >> 7) * 0xFF;
      out |= ((from & 8) != 0 ? sign : byte) << 8 * k;
    }
    put<u32>(v.d, i, out);
  }
  return true;
}
template <class T>
bool popc(Vectors& v) {
  WARPBIT_EACH put<u32>(v.d, i, static_cast<u32>(__builtin_popcountll(get<T>(v.a, i))));
  return true;
}
template <class T>
bool clz(Vectors& v) {
  constexpr u32 kBits = 8 * sizeof(T);
  WARPBIT_EACH {
    const u64 a = get<T>(v.a, i);
    put<u32>(v.d, i, a == 0 ? kBits : static_cast<u32>(__builtin_clzll(a)) - (64 - kBits));
  }
  return true;
}

// ---- Moves

template <class S>
bool copy(Vectors& v) {
  WARPBIT_EACH static_cast<S*>(v.d)[i] = static_cast<const S*>(v.a)[i];
  return true;
}
template <class S, int Bits>
bool pack(Vectors& v) {
  WARPBIT_EACH static_cast<S*>(v.d)[i] =
      static_cast<S>(get<u32>(v.a, i) & ((u64{1} << Bits) - 1)) | static_cast<S>(get<u32>(v.b, i)) << Bits;
  return true;
}
template <class S, int Bits, bool High>
bool unpack(Vectors& v) {
  WARPBIT_EACH static_cast<u32*>(v.d)[i] =
      static_cast<u32>(static_cast<const S*>(v.a)[i] >> (High ? Bits : 0) & ((u64{1} << Bits) - 1));
  return true;
}
template <class S>
bool selp(Vectors& v) {
  WARPBIT_EACH static_cast<S*>(v.d)[i] =
      (v.mask >> i & 1) != 0 ? static_cast<const S*>(v.a)[i] : static_cast<const S*>(v.b)[i];
  return true;
}

// ---- Floating point: nearest even. The canonical NaN of f32 is 0x7FFFFFFF; those of f64 are left to the specification.

constexpr u32 kNan = 0x7FFF'FFFF, kSign = 0x8000'0000, kInfinity = 0x7F80'0000, kLeastNormal = 0x0080'0000;

inline u32 flushed(u32 x) {
  return (x & ~kSign) < kLeastNormal ? x & kSign : x;
}
template <bool Ftz>
inline u32 taken(u32 x) {
  return Ftz ? flushed(x) : x;
}
template <bool Sat>
inline u32 finished(float result, bool ftz) {
  const u32 x = ftz ? flushed(bits(result)) : bits(result);
  if (Sat) {  // NaNs and what is negative become +0
    const bool positive = f32(x) > 0, large = f32(x) > 1;
    return !positive ? 0 : large ? 0x3F80'0000 : x;
  }
  return (x & ~kSign) > kInfinity ? kNan : x;
}
// With .ftz a result is flushed before it is rounded: of 2^-126 the specification knows whether it is smaller. A sum below
// it is exact.
inline bool is_least(float x) {
  return (bits(x) & ~kSign) == kLeastNormal;
}

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
#if defined(__FMA__)
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
#if defined(__FMA__)
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

// ---- Comparisons

alignas(64) constexpr u32 kBits[32] = {1U << 0,  1U << 1,  1U << 2,  1U << 3,  1U << 4,  1U << 5,  1U << 6,
                                       1U << 7,  1U << 8,  1U << 9,  1U << 10, 1U << 11, 1U << 12, 1U << 13,
                                       1U << 14, 1U << 15, 1U << 16, 1U << 17, 1U << 18, 1U << 19, 1U << 20,
                                       1U << 21, 1U << 22, 1U << 23, 1U << 24, 1U << 25, 1U << 26, 1U << 27,
                                       1U << 28, 1U << 29, 1U << 30, 1U << 31};

template <class F>
inline bool mask_of(Vectors& v, F f) {
  u32 out = 0;
  WARPBIT_EACH out |= f(i) ? kBits[i] : 0;
  v.mask = out;
  return true;
}

enum : int { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kIsNan };

template <int Compare, class T>
inline bool holds(T a, T b) {
  const bool less = a<b, greater = a> b, equal = a == b;
  switch (Compare) {
    case kEq: return equal;
    case kNe: return less || greater;
    case kLt: return less;
    case kLe: return a <= b;
    case kGt: return greater;
    case kGe: return a >= b;
    case kEqu: return !(less || greater);
    case kNeu: return !equal;
    case kLtu: return !(a >= b);
    case kLeu: return !greater;
    case kGtu: return !(a <= b);
    case kGeu: return !less;
    case kNum: return less || greater || equal;
    default: return !(less || greater || equal);
  }
}
template <int Compare, class T>
bool setp(Vectors& v) {
  return mask_of(
      v, [&v](int i) __attribute__((always_inline)) { return holds<Compare>(get<T>(v.a, i), get<T>(v.b, i)); });
}
template <int Compare, bool Ftz>
bool setp_f32(Vectors& v) {
  return mask_of(
      v, [&v](int i) __attribute__((always_inline)) {
        return holds<Compare>(f32(taken<Ftz>(get<u32>(v.a, i))), f32(taken<Ftz>(get<u32>(v.b, i))));
      });
}
template <int Compare>
bool setp_f64(Vectors& v) {
  return mask_of(
      v, [&v](int i) __attribute__((always_inline)) {
        return holds<Compare>(f64(get<u64>(v.a, i)), f64(get<u64>(v.b, i)));
      });
}

template <int Compare>
Vector find_setp(const VectorKey& key) {
  switch (key.type) {
    case Type::u16: return setp<Compare, u16>;
    case Type::b16: return setp<Compare, u16>;
    case Type::s16: return setp<Compare, s16>;
    case Type::u32: return setp<Compare, u32>;
    case Type::b32: return setp<Compare, u32>;
    case Type::s32: return setp<Compare, s32>;
    case Type::u64: return setp<Compare, u64>;
    case Type::b64: return setp<Compare, u64>;
    case Type::s64: return setp<Compare, s64>;
    case Type::f32: return key.ftz ? setp_f32<Compare, true> : setp_f32<Compare, false>;
    case Type::f64: return setp_f64<Compare>;
    default: return nullptr;
  }
}
Vector find_any_setp(const VectorKey& key) {
  switch (key.compare) {
    case kEq: return find_setp<kEq>(key);
    case kNe: return find_setp<kNe>(key);
    case kLt: return find_setp<kLt>(key);
    case kLe: return find_setp<kLe>(key);
    case kGt: return find_setp<kGt>(key);
    case kGe: return find_setp<kGe>(key);
    case kEqu: return find_setp<kEqu>(key);
    case kNeu: return find_setp<kNeu>(key);
    case kLtu: return find_setp<kLtu>(key);
    case kLeu: return find_setp<kLeu>(key);
    case kGtu: return find_setp<kGtu>(key);
    case kGeu: return find_setp<kGeu>(key);
    case kNum: return find_setp<kNum>(key);
    case kIsNan: return find_setp<kIsNan>(key);
    default: return nullptr;
  }
}

// ---- Conversions

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
#if defined(__F16C__) && defined(__AVX2__)
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
#if defined(__F16C__) && defined(__AVX2__)
  if (key.to == Type::f16) return cvt_f32_to_f16;
#endif
  if (!is_whole(key.to) || wide_d) return nullptr;
  return key.ftz ? find_from_f32<true>(key.rounding) : find_from_f32<false>(key.rounding);
}

// ---- The table

#define WARPBIT_INTEGERS(function)        \
  switch (key.type) {                     \
    case Type::u16: return function<u16>; \
    case Type::s16: return function<s16>; \
    case Type::b16: return function<u16>; \
    case Type::u32: return function<u32>; \
    case Type::s32: return function<s32>; \
    case Type::b32: return function<u32>; \
    case Type::u64: return function<u64>; \
    case Type::s64: return function<s64>; \
    case Type::b64: return function<u64>; \
    default: return nullptr;              \
  }
#define WARPBIT_SIGNED(function)          \
  switch (key.type) {                     \
    case Type::s16: return function<s16>; \
    case Type::s32: return function<s32>; \
    case Type::s64: return function<s64>; \
    default: return nullptr;              \
  }
#define WARPBIT_TWICE(function)                \
  switch (key.type) {                          \
    case Type::u16: return function<u16, u32>; \
    case Type::s16: return function<s16, s32>; \
    case Type::u32: return function<u32, u64>; \
    case Type::s32: return function<s32, s64>; \
    default: return nullptr;                   \
  }
#define WARPBIT_FLAGS(function)                                             \
  return key.ftz ? (key.sat ? function<true, true> : function<true, false>) \
                 : (key.sat ? function<false, true> : function<false, false>)

template <bool Max>
Vector find_extreme(const VectorKey& key) {
  if (key.ftz) return key.nan ? extreme_f32<Max, true, true> : extreme_f32<Max, true, false>;
  return key.nan ? extreme_f32<Max, false, true> : extreme_f32<Max, false, false>;
}

Vector find_float(const VectorKey& key) {
  const bool single = key.type == Type::f32;
  switch (key.code) {
    case VectorCode::add:
      if (!single) return add_f64;
      WARPBIT_FLAGS(add_f32);
    case VectorCode::sub:
      if (!single) return sub_f64;
      WARPBIT_FLAGS(sub_f32);
    case VectorCode::mul:
      if (!single) return mul_f64;
      WARPBIT_FLAGS(mul_f32);
#if defined(__FMA__)
    case VectorCode::fma:
      if (!single) return fma_f64;
      WARPBIT_FLAGS(fma_f32);
#endif
    case VectorCode::min: return single ? find_extreme<false>(key) : nullptr;
    case VectorCode::max: return single ? find_extreme<true>(key) : nullptr;
    case VectorCode::abs: return !single ? nullptr : key.ftz ? abs_f32<true> : abs_f32<false>;
    case VectorCode::neg: return !single ? nullptr : key.ftz ? neg_f32<true> : neg_f32<false>;
    default: return nullptr;
  }
}

Vector find_integer(const VectorKey& key) {
  switch (key.code) {
    case VectorCode::add: WARPBIT_INTEGERS(add)
    case VectorCode::sub: WARPBIT_INTEGERS(sub)
    case VectorCode::mul: WARPBIT_INTEGERS(mul)
    case VectorCode::mad: WARPBIT_INTEGERS(mad)
    case VectorCode::min: WARPBIT_INTEGERS(min)
    case VectorCode::max: WARPBIT_INTEGERS(max)
    case VectorCode::abs: WARPBIT_SIGNED(abs)
    case VectorCode::neg: WARPBIT_SIGNED(neg)
    case VectorCode::bit_and: WARPBIT_INTEGERS(bit_and)
    case VectorCode::bit_or: WARPBIT_INTEGERS(bit_or)
    case VectorCode::bit_xor: WARPBIT_INTEGERS(bit_xor)
    case VectorCode::bit_not: WARPBIT_INTEGERS(bit_not)
    case VectorCode::shl: WARPBIT_INTEGERS(shl)
    case VectorCode::shr: WARPBIT_INTEGERS(shr)
    case VectorCode::mul_wide: WARPBIT_TWICE(mul_wide)
    case VectorCode::mad_wide: WARPBIT_TWICE(mad_wide)
    case VectorCode::mul_high: WARPBIT_TWICE(mul_high)
    case VectorCode::div: return key.type == Type::u32 ? div<u32> : key.type == Type::s32 ? div<s32> : nullptr;
    case VectorCode::rem: return key.type == Type::u32 ? rem<u32> : key.type == Type::s32 ? rem<s32> : nullptr;
    case VectorCode::bfe: return key.type == Type::u32 ? bfe<u32> : key.type == Type::s32 ? bfe<s32> : nullptr;
    case VectorCode::bfi: return key.type == Type::b32 ? bfi : nullptr;
    case VectorCode::popc:
      return key.type == Type::b32 ? popc<u32> : key.type == Type::b64 ? popc<u64> : nullptr;
    case VectorCode::clz: return key.type == Type::b32 ? clz<u32> : key.type == Type::b64 ? clz<u64> : nullptr;
    default: return nullptr;
  }
}

}  // namespace

Vector WARPBIT_FIND_VECTOR(const VectorKey& key) {
  const bool wide_a = key.a_bits == 64, wide_d = key.d_bits == 64;
  switch (key.code) {
    case VectorCode::none: return nullptr;
    case VectorCode::copy: return wide_d ? copy<u64> : copy<u32>;
    case VectorCode::pack: return wide_d ? pack<u64, 32> : pack<u32, 16>;
    case VectorCode::unpack_low: return wide_a ? unpack<u64, 32, false> : unpack<u32, 16, false>;
    case VectorCode::unpack_high: return wide_a ? unpack<u64, 32, true> : unpack<u32, 16, true>;
    case VectorCode::selp: return wide_d ? selp<u64> : selp<u32>;
    case VectorCode::lop3: return lop3;
    case VectorCode::funnel_left: return funnel<true>;
    case VectorCode::funnel_right: return funnel<false>;
    case VectorCode::prmt: return prmt;
    case VectorCode::setp: return find_any_setp(key);
    case VectorCode::cvt: return find_cvt(key);
    default: break;
  }
  return key.type == Type::f32 || key.type == Type::f64 ? find_float(key) : find_integer(key);
}

}  // namespace warpbit::grid
