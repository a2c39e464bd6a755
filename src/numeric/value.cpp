// SPDX-License-Identifier: Apache-2.0
#include "numeric/value.hpp"

#include <algorithm>

namespace warpbit {
namespace {

// Shifts right by n >= 0 bits; if any nonzero bit is lost, bit 0 of the result is 1. n may exceed the width.
u128 shift_right_sticky(u128 x, int n) {
  if (n == 0) return x;
  if (n > 127) return x != 0;
  return (x >> n) | ((x << (128 - n)) != 0);
}

// Both nonzero. The operand with the larger exponent is moved up to 126 bits if necessary, the other one
// down.
//
//     125                         0
//     1xxxxxxxxxxxxxxx0000000000000     larger exponent
//          yyyyyyyyyyyyyyyyyyyyyyys     smaller, s sticky: then at least 124 bits of the sum survive
Exact add(Exact x, Exact y, Rounding rounding) {
  if (x.exponent < y.exponent) std::swap(x, y);
  const int apart = x.exponent - y.exponent;
  const int up = std::min(apart, 126 - bit_length(x.magnitude));
  x.magnitude <<= up;
  x.exponent -= up;
  y.magnitude = shift_right_sticky(y.magnitude, apart - up);
  if (x.negative == y.negative) return {x.negative, x.magnitude + y.magnitude, x.exponent};
  if (x.magnitude == y.magnitude) return {rounding == Rounding::down, 0, 0};
  if (x.magnitude > y.magnitude) return {x.negative, x.magnitude - y.magnitude, x.exponent};
  return {y.negative, y.magnitude - x.magnitude, x.exponent};
}

constexpr Value kNan{Class::nan, {}};

}  // namespace

Value value_of(const Decoded& d, const Format& format) {
  if (d.cls == Class::finite) return {d.cls, exact(d, format)};
  return {d.cls, {d.negative, 0, 0}};
}

Value product(const Value& a, const Value& b) {
  const bool negative = a.number.negative != b.number.negative;
  const auto either = [&](Class c) { return a.cls == c || b.cls == c; };
  if (either(Class::nan) || (either(Class::infinity) && either(Class::zero))) return kNan;
  if (either(Class::infinity)) return {Class::infinity, {negative, 0, 0}};
  if (either(Class::zero)) return {Class::zero, {negative, 0, 0}};
  return {Class::finite,
          {negative, a.number.magnitude * b.number.magnitude, a.number.exponent + b.number.exponent}};
}

Value sum(const Value& a, const Value& b, Rounding rounding) {
  if (a.cls == Class::nan || b.cls == Class::nan) return kNan;
  if (a.cls == Class::infinity && b.cls == Class::infinity && a.number.negative != b.number.negative)
    return kNan;
  if (a.cls == Class::infinity) return a;
  if (b.cls == Class::infinity) return b;
  if (a.cls == Class::zero && b.cls == Class::zero) {
    const bool down = rounding == Rounding::down;
    const bool negative =
        down ? a.number.negative || b.number.negative : a.number.negative && b.number.negative;
    return {Class::zero, {negative, 0, 0}};
  }
  if (a.cls == Class::zero) return b;
  if (b.cls == Class::zero) return a;
  const Exact total = add(a.number, b.number, rounding);
  return {total.magnitude == 0 ? Class::zero : Class::finite, total};
}

Value quotient(const Value& a, const Value& b) {
  const bool negative = a.number.negative != b.number.negative;
  if (a.cls == Class::nan || b.cls == Class::nan) return kNan;
  if (a.cls == b.cls && a.cls != Class::finite) return kNan;
  if (a.cls == Class::infinity || b.cls == Class::zero) return {Class::infinity, {negative, 0, 0}};
  if (a.cls == Class::zero || b.cls == Class::infinity) return {Class::zero, {negative, 0, 0}};
  // At least 62 bits of quotient: a moved up to 126 bits, b has 64 or less.
  const int up = 126 - bit_length(a.number.magnitude);
  const u128 whole = a.number.magnitude << up;
  const u128 out = whole / b.number.magnitude;
  const bool rest = whole % b.number.magnitude != 0;
  return {Class::finite, {negative, out << 1 | (rest ? 1 : 0), a.number.exponent - up - b.number.exponent - 1}};
}

Value square_root(const Value& a) {
  if (a.cls == Class::zero || a.cls == Class::nan) return a;
  if (a.number.negative) return kNan;
  if (a.cls == Class::infinity) return a;
  // Up to 125 or 126 bits with an even exponent: a root of 63 bits, found bit by bit from the top.
  int up = 126 - bit_length(a.number.magnitude);
  if ((a.number.exponent - up) % 2 != 0) --up;
  const u128 square = a.number.magnitude << up;
  u128 root = 0;
  for (int i = 63; i >= 0; --i) {
    const u128 trial = root | u128{1} << i;
    if (trial <= square / trial) root = trial;
  }
  const bool rest = root * root != square;
  return {Class::finite, {false, root << 1 | (rest ? 1 : 0), (a.number.exponent - up) / 2 - 1}};
}

std::uint64_t round(const Format& format, const Value& value, Rounding rounding) {
  if (value.cls == Class::nan) return format.canonical_nan;
  if (value.cls == Class::infinity) return infinity(format, value.number.negative);
  return encode(format, value.number, rounding, Overflow::ieee);
}

}  // namespace warpbit
