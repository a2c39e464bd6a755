// SPDX-License-Identifier: Apache-2.0
// Integers, bits, and moves of them.
#pragma once

#include "grid/body/lanes.hpp"

namespace warpbit::grid {
namespace {

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

// The highest bit that differs from the sign. parameter: 1, how far it must be shifted to be the highest of all.
template <class T>
bool bfind(Vectors& v) {
  constexpr u32 kBits = 8 * sizeof(T);
  const u32 flip = v.parameter != 0 ? kBits - 1 : 0;
  WARPBIT_EACH {
    const T a = get<T>(v.a, i);
    const u64 different = static_cast<Unsigned<T>>(a < 0 ? ~a : a);
    const u32 found = 63 - static_cast<u32>(__builtin_clzll(different | 1));
    put<u32>(v.d, i, different == 0 ? ~0U : found ^ flip);
  }
  return true;
}
template <class T>
bool brev(Vectors& v) {
  WARPBIT_EACH {
    T x = get<T>(v.a, i), mask = static_cast<T>(~T{0});
    for (u32 by = 4 * sizeof(T); by != 0; by /= 2) {
      mask ^= mask << by;
      x = (x >> by & mask) | (x & mask) << by;
    }
    put<T>(v.d, i, x);
  }
  return true;
}
// c + the products of bytes, or of two halves of a and two bytes of b. parameter: 1, a is signed; 2, b is; 4, the upper
// bytes of b.
inline s32 part_of(u32 x, int at, int size, bool is_signed) {
  const u32 upper = x << (32 - size - at);
  return is_signed ? static_cast<s32>(upper) >> (32 - size) : static_cast<s32>(upper >> (32 - size));
}
template <bool A, bool B>
inline u32 dot_bytes(u32 a, u32 b, u32 c) {
  return c + static_cast<u32>(
                 part_of(a, 0, 8, A) * part_of(b, 0, 8, B) + part_of(a, 8, 8, A) * part_of(b, 8, 8, B) +
                 part_of(a, 16, 8, A) * part_of(b, 16, 8, B) + part_of(a, 24, 8, A) * part_of(b, 24, 8, B));
}
template <bool A, bool B>
inline u32 dot_halves(u32 a, u32 b, u32 c) {
  return c + static_cast<u32>(part_of(a, 0, 16, A) * part_of(b, 0, 8, B) +
                              part_of(a, 16, 16, A) * part_of(b, 8, 8, B));
}
template <class F>
inline bool dots(Vectors& v, F f) {
  WARPBIT_EACH put<u32>(v.d, i, f(get<u32>(v.a, i), get<u32>(v.b, i), get<u32>(v.c, i)));
  return true;
}
bool dp4a(Vectors& v) {
  switch (v.parameter & 3) {
    case 0: return dots(v, dot_bytes<false, false>);
    case 1: return dots(v, dot_bytes<true, false>);
    case 2: return dots(v, dot_bytes<false, true>);
    default: return dots(v, dot_bytes<true, true>);
  }
}
bool dp2a(Vectors& v) {
  const bool a_signed = (v.parameter & 1) != 0, b_signed = (v.parameter & 2) != 0;
  const u32 at = (v.parameter & 4) != 0 ? 16 : 0;
  WARPBIT_EACH {
    const u32 a = get<u32>(v.a, i), b = get<u32>(v.b, i) >> at, c = get<u32>(v.c, i);
    const u32 of_signed = b_signed ? dot_halves<true, true>(a, b, c) : dot_halves<true, false>(a, b, c);
    const u32 of_unsigned = b_signed ? dot_halves<false, true>(a, b, c) : dot_halves<false, false>(a, b, c);
    put<u32>(v.d, i, a_signed ? of_signed : of_unsigned);
  }
  return true;
}

// ---- Sums with carries: mask is the carry that comes in, second the one that goes out

// x + y + the carry.
template <class T, class F>
inline bool sum_with_carry(Vectors& v, F f) {
  u32 out = 0;
  WARPBIT_EACH {
    const auto [x, y] = f(i);
    const T carry = v.mask >> i & 1, sum = x + y, total = sum + carry;
    out |= (sum < x || total < sum) ? 1U << i : 0;
    put<T>(v.d, i, total);
  }
  v.second = out;
  return true;
}
template <class T>
struct Addends {
  T x, y;
};
template <class T>
bool add_carry(Vectors& v) {
  using U = Unsigned<T>;
  return sum_with_carry<U>(
      v, [&v](int i) __attribute__((always_inline)) {
        return Addends<U>{get<U>(v.a, i), get<U>(v.b, i)};
      });
}
template <class T>
bool sub_carry(Vectors& v) {
  using U = Unsigned<T>;
  return sum_with_carry<U>(
      v, [&v](int i) __attribute__((always_inline)) {
        return Addends<U>{get<U>(v.a, i), static_cast<U>(~get<U>(v.b, i))};
      });
}
template <class T, class W, bool High>
bool mad_carry(Vectors& v) {
  using U = Unsigned<T>;
  return sum_with_carry<U>(
      v, [&v](int i) __attribute__((always_inline)) {
        const W product = static_cast<W>(get<T>(v.a, i)) * static_cast<W>(get<T>(v.b, i));
        return Addends<U>{static_cast<U>(product >> (High ? 8 * sizeof(T) : 0)), get<U>(v.c, i)};
      });
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
// a where c, a number of 32 bits, is not negative; of f32 neither a NaN.
template <class S, bool Single, bool Ftz>
bool slct(Vectors& v) {
  WARPBIT_EACH {
    const u32 c = get<u32>(v.c, i);
    const bool first = Single ? f32(taken<Ftz>(c)) >= 0 : static_cast<s32>(c) >= 0;
    static_cast<S*>(v.d)[i] = first ? static_cast<const S*>(v.a)[i] : static_cast<const S*>(v.b)[i];
  }
  return true;
}
template <class S>
Vector find_slct_of(const VectorKey& key) {
  if (key.third != Type::f32) return slct<S, false, false>;
  return key.ftz ? slct<S, true, true> : slct<S, true, false>;
}
Vector find_slct(const VectorKey& key) {
  return key.d_bits == 64 ? find_slct_of<u64>(key) : find_slct_of<u32>(key);
}
// Each lane takes a of another one, or of itself where that lies beyond its segment: by b; c has the segment's bits from
// bit 8 on, and its end. parameter: as steps::Shuffle. second: where it lies within.
bool shuffle(Vectors& v) {
  alignas(64) u32 a[32];
  WARPBIT_EACH a[i] = get<u32>(v.a, i);
  u32 out = 0;
  alignas(64) u32 d[32];
  for (u32 lane = 0; lane < 32; ++lane) {
    const u32 b = get<u32>(v.b, static_cast<int>(lane)) & 31, c = get<u32>(v.c, static_cast<int>(lane));
    const u32 segment = c >> 8 & 31, first = lane & segment, last = first | (c & 31 & ~segment);
    const u32 from = v.parameter == 0   ? lane - b
                     : v.parameter == 1 ? lane + b
                     : v.parameter == 2 ? lane ^ b
                                        : first | (b & ~segment);
    const bool inside = v.parameter == 0 ? static_cast<s32>(from) >= static_cast<s32>(last) : from <= last;
    out |= inside ? 1U << lane : 0;
    d[lane] = a[inside ? from & 31 : lane];
  }
  v.second = out;
  WARPBIT_EACH put<u32>(v.d, i, d[i]);
  return true;
}

}  // namespace
}  // namespace warpbit::grid
