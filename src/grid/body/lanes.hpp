// SPDX-License-Identifier: Apache-2.0
// What the functions of body.cpp share: lanes, and codes of f32. Nothing here may have a symbol that others share: what is
// compiled for an extension must not serve other files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

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

// ---- Codes of f32. The canonical NaN is 0x7FFFFFFF.

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

}  // namespace
}  // namespace warpbit::grid
