// SPDX-License-Identifier: Apache-2.0
// The operations that the rules are made of.
#pragma once

#include <span>

#include "formats.hpp"

namespace oracle {

using Rational = boost::multiprecision::cpp_rational;

// The exact product; raw exponents add. NaN for a NaN or Inf x 0. `code` is left 0.
Value product(const Value& a, const Value& b);

// One node: facts 1, steps 3 to 7.
struct Node {
  int fraction_bits;  // F: addends are multiples of 2^(E - F)
  int floor;          // E is never below this
  int kept;           // an f32 result keeps this many fraction bits, cut toward zero
};
// Returns the code, in D's format (f32 or f16), of round(sum of products + c).
std::uint64_t fused_sum(const Node&, const Format& d, std::span<const Value> products, const Value& c);

// facts 8. An addend that is known as a fraction. What raises E is said apart, since it is not always its size.
struct Addend {
  Rational value;
  int exponent = 0;  // of which E is the largest
  bool raises = false;
};
// The node again (facts 1, steps 3 to 6), for numbers only: cuts quotients instead of shifting significands.
std::uint64_t fused_sum(const Node&, const Format& d, std::span<const Addend>);

// The number of a finite value, or 0.
Rational rational(const Value&);

// x + y rounded once, by IEEE 754; every NaN is the canonical one.
std::uint64_t ieee_sum(const Format& d, const Value& x, const Value& y, Round);

}  // namespace oracle
