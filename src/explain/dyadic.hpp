// SPDX-License-Identifier: Apache-2.0
// Sums of floating-point numbers without any rounding.
#pragma once

#include "format/number.hpp"
#include "numeric/value.hpp"
#include "warpbit/explain.hpp"

namespace warpbit {

/// magnitude * 2^exponent, or no finite number.
struct Dyadic {
  Class cls = Class::finite;  ///< zero, too, is finite
  bool negative = false;      ///< of an infinity
  cpp_int number = 0;
  int exponent = 0;

  explicit Dyadic(const Value& value);
  explicit Dyadic(const ExactNumber& x);
  Dyadic(std::int64_t units, int exponent_in) : number(units), exponent(exponent_in) {}

  bool is_finite() const { return cls == Class::finite; }
  /// IEEE's answers where one of them is not finite.
  Dyadic operator+(const Dyadic& x) const;
  Dyadic operator-() const;
  Dyadic magnitude() const { return number < 0 ? -*this : *this; }
  friend bool operator==(const Dyadic& x, const Dyadic& y);

  /// The exponent of its highest bit. Precondition: finite, not zero.
  int top() const { return static_cast<int>(msb(abs(number))) + exponent; }
  /// For encode: below the 120th bit there is one that says whether anything is. Precondition: finite.
  Exact rounded_to_odd() const;
  ExactNumber exact_number() const;
};

/// The magnitude of an error in ulps of the format at `x`. Precondition: finite; a floating-point format.
ExactNumber ulps(const Format& f, const Dyadic& x, const Dyadic& error);
/// True if a sum, or what it makes zero of, lies below the normal range of its format.
bool is_below_normal(const ExplainedSum& sum);
/// The nearest double, to be printed.
double approximate(const ExactNumber& x);

}  // namespace warpbit
