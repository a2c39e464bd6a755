// SPDX-License-Identifier: Apache-2.0
#include "explain/dyadic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>  // std::ldexp, to print a number; no result depends on it

namespace warpbit {
namespace {

cpp_int from_bits(const ExactNumber& x) {
  cpp_int out = 0;
  for (const char bit : x.bits) out = out * 2 + (bit == '1' ? 1 : 0);
  return out;
}

std::string no_number(const ExactNumber& x) {
  return x.kind == ExactNumber::Kind::nan ? "nan" : x.negative ? "-inf" : "inf";
}

}  // namespace

Dyadic::Dyadic(const Value& value)
    : cls(value.cls == Class::zero ? Class::finite : value.cls), negative(value.number.negative) {
  if (value.cls != Class::finite) return;
  number = value.number.magnitude;
  if (negative) number = -number;
  exponent = value.number.exponent;
}

Dyadic::Dyadic(const ExactNumber& x)
    : cls(x.kind == ExactNumber::Kind::finite     ? Class::finite
          : x.kind == ExactNumber::Kind::infinity ? Class::infinity
                                                  : Class::nan),
      negative(x.negative),
      number(x.negative ? cpp_int(-from_bits(x)) : from_bits(x)),
      exponent(x.exponent) {}

Dyadic Dyadic::operator+(const Dyadic& x) const {
  if (cls == Class::nan || (x.is_finite() && !is_finite())) return *this;
  if (x.cls == Class::nan || (is_finite() && !x.is_finite())) return x;
  if (!is_finite()) return negative == x.negative ? *this : Dyadic(Value{Class::nan, {}});
  Dyadic out(0, std::min(exponent, x.exponent));
  out.number = (number << (exponent - out.exponent)) + (x.number << (x.exponent - out.exponent));
  return out;
}

Dyadic Dyadic::operator-() const {
  Dyadic out = *this;
  out.number = -out.number;
  out.negative = !out.negative;
  return out;
}

bool operator==(const Dyadic& x, const Dyadic& y) {
  if (!x.is_finite() || !y.is_finite())
    return x.cls == y.cls && (x.cls == Class::nan || x.negative == y.negative);
  return (x + -y).number == 0;
}

Exact Dyadic::rounded_to_odd() const {
  Number out{Class::finite, number < 0, abs(number), 1};
  (exponent < 0 ? out.denominator : out.numerator) <<= exponent < 0 ? -exponent : exponent;
  return for_encoding(out, false, false);
}

ExactNumber Dyadic::exact_number() const {
  ExactNumber out;
  if (!is_finite()) {
    out.kind = cls == Class::nan ? ExactNumber::Kind::nan : ExactNumber::Kind::infinity;
    out.negative = cls != Class::nan && negative;
    return out;
  }
  out.negative = number < 0;
  cpp_int bits = abs(number);
  if (bits == 0) return out;
  const auto zeros = lsb(bits);
  bits >>= zeros;
  out.exponent = exponent + static_cast<int>(zeros);
  for (; bits != 0; bits >>= 1) out.bits += (bits & 1) != 0 ? '1' : '0';
  std::ranges::reverse(out.bits);
  return out;
}

ExactNumber ulps(const Format& f, const Dyadic& x, const Dyadic& error) {
  Dyadic out = error.magnitude();
  out.exponent -= (x.number == 0 ? f.min_exponent() : std::max(x.top(), f.min_exponent())) - f.fraction_bits;
  return out.exact_number();
}

bool is_below_normal(const ExplainedSum& sum) {
  const Format& f = *find_format(sum.format);
  const auto is_below = [&](const ExactNumber& x) {
    return x.kind == ExactNumber::Kind::finite && !x.bits.empty() && Dyadic(x).top() < f.min_exponent();
  };
  if (f.is_integer) return false;
  return is_below(sum.total) ||
         (sum.total.is_zero() && std::ranges::any_of(sum.addends, is_below, &ExplainedAddend::value));
}

double approximate(const ExactNumber& x) {
  constexpr std::size_t kDoubleBits = 53;
  const std::size_t held = std::min(x.bits.size(), kDoubleBits);
  double out = 0;
  for (std::size_t i = 0; i < held; ++i) out = 2 * out + (x.bits[i] - '0');
  out = std::ldexp(out, x.exponent + static_cast<int>(x.bits.size() - held));
  return x.negative ? -out : out;
}

std::string ExactNumber::decimal() const {
  if (kind != Kind::finite) return no_number(*this);
  return exact_decimal(negative, from_bits(*this), exponent);
}

std::string ExactNumber::ratio() const {
  if (kind != Kind::finite) return no_number(*this);
  if (bits.empty()) return "0";
  const std::string numerator = (negative ? "-" : "") + from_bits(*this).str();
  if (exponent >= 0 && exponent + static_cast<int>(bits.size()) <= 63) return decimal();
  if (exponent >= 0) return fmt::format("{} x 2^{}", numerator, exponent);
  if (exponent >= -20) return fmt::format("{}/{}", numerator, std::uint64_t{1} << -exponent);
  return fmt::format("{}/2^{}", numerator, -exponent);
}

}  // namespace warpbit
