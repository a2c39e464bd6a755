// SPDX-License-Identifier: Apache-2.0
// IEEE 754 arithmetic on exact values: products and sums are exact (except for a sticky last bit far below
// any rounding position), and one rounding makes a code of them.
#pragma once

#include <cstdint>

#include "numeric/formats.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// A classified number. `number` is meaningful for zero (its sign), finite and infinity (its sign).
struct Value {
  Class cls = Class::zero;
  Exact number;
};

/// The value of a decoded code.
Value value_of(const Decoded& d, const Format& format);

/// a * b. Inf * 0 is a NaN. Precondition: significands of at most 64 bits.
Value product(const Value& a, const Value& b);

/// a + b. An exact zero of unequal signs is +0, or -0 when rounding down (IEEE 754-2019, 6.3); Inf - Inf is a
/// NaN. Bits below the top 125 of the larger operand are folded into a sticky last bit. Precondition:
/// magnitudes of at most 126 bits.
Value sum(const Value& a, const Value& b, Rounding rounding);

/// a / b and the square root of a, exact but for a sticky last bit far below any rounding position. 0 / 0, Inf / Inf and
/// the root of a negative number other than -0 are NaNs; a / 0 is an infinity. Precondition: significands of at most 64
/// bits.
Value quotient(const Value& a, const Value& b);
Value square_root(const Value& a);

/// One rounding; NaN canonical; overflow as in IEEE 754-2019, 7.4.
std::uint64_t round(const Format& format, const Value& value, Rounding rounding);

}  // namespace warpbit
#pragma GCC visibility pop
