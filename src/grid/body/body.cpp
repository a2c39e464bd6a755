// SPDX-License-Identifier: Apache-2.0
// The functions of grid/vector.hpp, compiled once for each vector extension. Nothing here may have a symbol that others
// share: what is compiled for an extension must not serve other files.
#include "grid/body/approximate.hpp"
#include "grid/body/comparisons.hpp"
#include "grid/body/conversions.hpp"
#include "grid/body/floats.hpp"
#include "grid/body/halves.hpp"
#include "grid/body/integers.hpp"

namespace warpbit::grid {
namespace {

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
#define WARPBIT_WORDS(function)           \
  switch (key.type) {                     \
    case Type::u32: return function<u32>; \
    case Type::s32: return function<s32>; \
    case Type::u64: return function<u64>; \
    case Type::s64: return function<s64>; \
    default: return nullptr;              \
  }
#define WARPBIT_FLAGS(function)                                             \
  return key.ftz ? (key.sat ? function<true, true> : function<true, false>) \
                 : (key.sat ? function<false, true> : function<false, false>)

template <int Compare>
Vector find_setp_of(const VectorKey& key) {
  const Vector of_half = find_half_setp<Compare>(key);
  return of_half != nullptr ? of_half : find_setp<Compare>(key);
}
Vector find_any_setp(const VectorKey& key) {
  switch (key.compare) {
    case kEq: return find_setp_of<kEq>(key);
    case kNe: return find_setp_of<kNe>(key);
    case kLt: return find_setp_of<kLt>(key);
    case kLe: return find_setp_of<kLe>(key);
    case kGt: return find_setp_of<kGt>(key);
    case kGe: return find_setp_of<kGe>(key);
    case kEqu: return find_setp_of<kEqu>(key);
    case kNeu: return find_setp_of<kNeu>(key);
    case kLtu: return find_setp_of<kLtu>(key);
    case kLeu: return find_setp_of<kLeu>(key);
    case kGtu: return find_setp_of<kGtu>(key);
    case kGeu: return find_setp_of<kGeu>(key);
    case kNum: return find_setp_of<kNum>(key);
    case kIsNan: return find_setp_of<kIsNan>(key);
    default: return nullptr;
  }
}

template <bool Max>
Vector find_extreme(const VectorKey& key) {
  if (key.ftz) return key.nan ? extreme_f32<Max, true, true> : extreme_f32<Max, true, false>;
  return key.nan ? extreme_f32<Max, false, true> : extreme_f32<Max, false, false>;
}

Vector find_float(const VectorKey& key) {
  const bool single = key.type == Type::f32;
  if (key.rounding != 0) return single ? find_directed(key) : nullptr;
  switch (key.code) {
    case Function::add:
      if (!single) return add_f64;
      WARPBIT_FLAGS(add_f32);
    case Function::sub:
      if (!single) return sub_f64;
      WARPBIT_FLAGS(sub_f32);
    case Function::mul:
      if (!single) return mul_f64;
      WARPBIT_FLAGS(mul_f32);
#if defined(__FMA__) || defined(WARPBIT_NEON)
    case Function::fma:
      if (!single) return fma_f64;
      WARPBIT_FLAGS(fma_f32);
#endif
    case Function::min: return single ? find_extreme<false>(key) : nullptr;
    case Function::max: return single ? find_extreme<true>(key) : nullptr;
    case Function::div:
      if (!single) return div_f64;
      return key.ftz ? div_f32<true> : div_f32<false>;
    case Function::rcp:
      if (!single) return rcp_f64;
      return key.ftz ? rcp_f32<true> : rcp_f32<false>;
    case Function::sqrt:
      if (!single) return sqrt_f64;
      return key.ftz ? sqrt_f32<true> : sqrt_f32<false>;
    case Function::abs: return !single ? nullptr : key.ftz ? abs_f32<true> : abs_f32<false>;
    case Function::neg: return !single ? nullptr : key.ftz ? neg_f32<true> : neg_f32<false>;
    default: return nullptr;
  }
}

Vector find_product(const VectorKey& key) {
  if (key.mode == Mode::wide) WARPBIT_TWICE(mul_wide)
  if (key.mode == Mode::high) WARPBIT_TWICE(mul_high)
  WARPBIT_INTEGERS(mul)
}
Vector find_mad(const VectorKey& key) {
  if (key.mode == Mode::wide) WARPBIT_TWICE(mad_wide)
  if (key.mode == Mode::high) return nullptr;
  WARPBIT_INTEGERS(mad)
}

template <bool High>
Vector find_mad_carry(Type type) {
  return type == Type::u32   ? mad_carry<u32, u64, High>
         : type == Type::s32 ? mad_carry<s32, s64, High>
                             : nullptr;
}
Vector find_carry(const VectorKey& key) {
  switch (key.code) {
    case Function::add: WARPBIT_WORDS(add_carry)
    case Function::sub: WARPBIT_WORDS(sub_carry)
    case Function::mad:
      return key.mode == Mode::low    ? find_mad_carry<false>(key.type)
             : key.mode == Mode::high ? find_mad_carry<true>(key.type)
                                      : nullptr;
    default: return nullptr;
  }
}

Vector find_integer(const VectorKey& key) {
  if (key.carry) return find_carry(key);
  switch (key.code) {
    case Function::add: WARPBIT_INTEGERS(add)
    case Function::sub: WARPBIT_INTEGERS(sub)
    case Function::mul: return find_product(key);
    case Function::mad: return find_mad(key);
    case Function::min: WARPBIT_INTEGERS(min)
    case Function::max: WARPBIT_INTEGERS(max)
    case Function::abs: WARPBIT_SIGNED(abs)
    case Function::neg: WARPBIT_SIGNED(neg)
    case Function::bit_and: WARPBIT_INTEGERS(bit_and)
    case Function::bit_or: WARPBIT_INTEGERS(bit_or)
    case Function::bit_xor: WARPBIT_INTEGERS(bit_xor)
    case Function::bit_not: WARPBIT_INTEGERS(bit_not)
    case Function::shl: WARPBIT_INTEGERS(shl)
    case Function::shr: WARPBIT_INTEGERS(shr)
    case Function::div: return key.type == Type::u32 ? div<u32> : key.type == Type::s32 ? div<s32> : nullptr;
    case Function::rem: return key.type == Type::u32 ? rem<u32> : key.type == Type::s32 ? rem<s32> : nullptr;
    case Function::bfe: return key.type == Type::u32 ? bfe<u32> : key.type == Type::s32 ? bfe<s32> : nullptr;
    case Function::bfi: return key.type == Type::b32 ? bfi : nullptr;
    case Function::popc: return key.type == Type::b32 ? popc<u32> : key.type == Type::b64 ? popc<u64> : nullptr;
    case Function::bfind: WARPBIT_WORDS(bfind)
    case Function::brev: return key.type == Type::b32 ? brev<u32> : key.type == Type::b64 ? brev<u64> : nullptr;
    case Function::dp4a: return dp4a;
    case Function::dp2a: return dp2a;
    case Function::clz: return key.type == Type::b32 ? clz<u32> : key.type == Type::b64 ? clz<u64> : nullptr;
    default: return nullptr;
  }
}

}  // namespace

Vector WARPBIT_FIND_VECTOR(const VectorKey& key) {
  const bool wide_a = key.a_bits == 64, wide_d = key.d_bits == 64;
  switch (key.code) {
    case Function::none: return nullptr;
    case Function::copy: return wide_d ? copy<u64> : copy<u32>;
    case Function::pack: return wide_d ? pack<u64, 32> : pack<u32, 16>;
    case Function::unpack_low: return wide_a ? unpack<u64, 32, false> : unpack<u32, 16, false>;
    case Function::unpack_high: return wide_a ? unpack<u64, 32, true> : unpack<u32, 16, true>;
    case Function::selp: return wide_d ? selp<u64> : selp<u32>;
    case Function::lop3: return lop3;
    case Function::funnel: return key.left ? funnel<true> : funnel<false>;
    case Function::prmt: return prmt;
    case Function::set:
    case Function::setp: return find_any_setp(key);
    case Function::cvt: return find_cvt(key);
    case Function::cvt_pair: return find_cvt_pair(key);
    case Function::slct: return find_slct(key);
    case Function::shuffle: return shuffle;
    default: break;
  }
  if (key.precision != 0) return find_approximate(key);
  if (const Vector of_half = key.rounding == 0 ? find_half(key) : nullptr) return of_half;
  return key.type == Type::f32 || key.type == Type::f64 ? find_float(key) : find_integer(key);
}

}  // namespace warpbit::grid
