// SPDX-License-Identifier: Apache-2.0
// setp.
#pragma once

#include "grid/body/lanes.hpp"

namespace warpbit::grid {
namespace {

alignas(64) constexpr u32 kLaneBits[32] = {1U << 0,  1U << 1,  1U << 2,  1U << 3,  1U << 4,  1U << 5,  1U << 6,
                                           1U << 7,  1U << 8,  1U << 9,  1U << 10, 1U << 11, 1U << 12, 1U << 13,
                                           1U << 14, 1U << 15, 1U << 16, 1U << 17, 1U << 18, 1U << 19, 1U << 20,
                                           1U << 21, 1U << 22, 1U << 23, 1U << 24, 1U << 25, 1U << 26, 1U << 27,
                                           1U << 28, 1U << 29, 1U << 30, 1U << 31};

template <class F>
inline bool mask_of(Vectors& v, F f) {
  u32 out = 0;
  WARPBIT_EACH out |= f(i) ? kLaneBits[i] : 0;
  v.mask = out;
  v.second = ~out;
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

}  // namespace
}  // namespace warpbit::grid
