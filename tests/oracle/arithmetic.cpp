// SPDX-License-Identifier: Apache-2.0
#include "arithmetic.hpp"

#include <algorithm>
#include <cstdlib>  // abs

namespace oracle {
namespace {

cpp_int with_sign(bool negative, cpp_int magnitude) {
  return negative ? cpp_int(-magnitude) : magnitude;
}

// Facts 1.5, 1.6: `sum` counts units of 2^unit.
std::uint64_t convert_once(const Node& node, const Format& d, const cpp_int& sum, int unit) {
  if (sum == 0) return 0;
  const bool negative = sum < 0;
  const cpp_int magnitude = abs(sum);
  std::uint64_t code = 0;
  if (d.name == "f32") {
    const int e = floor_log2(magnitude, unit);
    if (e >= 128) return d.infinity(negative);
    const int step = std::max(e, d.min_exponent()) - node.kept;
    const cpp_int cut = scale_and_cut(magnitude, unit - step);
    code = encode(d, negative, cut, step, Round::toward_zero, false);
  } else {
    code = encode(d, negative, magnitude, unit, Round::nearest_even, false);
  }
  return code == d.sign_bit() ? 0 : code;
}

}  // namespace

Value product(const Value& a, const Value& b) {
  Value p;
  p.negative = a.negative != b.negative;
  const bool any_zero = a.kind == Value::zero || b.kind == Value::zero;
  const bool any_infinity = a.kind == Value::infinity || b.kind == Value::infinity;
  if (a.kind == Value::nan || b.kind == Value::nan || (any_zero && any_infinity)) {
    p.kind = Value::nan;
  } else if (any_infinity) {
    p.kind = Value::infinity;
  } else if (!any_zero) {
    p.kind = Value::finite;
    p.magnitude = a.magnitude * b.magnitude;
    p.exponent = a.exponent + b.exponent;
    p.raw_exponent = a.raw_exponent + b.raw_exponent;
  }
  return p;
}

std::uint64_t fused_sum(const Node& node, const Format& d, std::span<const Value> products, const Value& c) {
  bool nan = false, plus_infinity = false, minus_infinity = false;
  int largest = node.floor;
  const auto look_at = [&](const Value& v) {
    if (v.kind == Value::nan) nan = true;
    if (v.kind == Value::infinity) (v.negative ? minus_infinity : plus_infinity) = true;
    if (v.kind == Value::finite) largest = std::max(largest, v.raw_exponent);
  };
  for (const Value& p : products) look_at(p);
  look_at(c);
  if (nan || (plus_infinity && minus_infinity)) return d.canonical_nan;
  if (plus_infinity || minus_infinity) return d.infinity(minus_infinity);

  const int unit = largest - node.fraction_bits;
  cpp_int sum = 0;
  const auto add = [&](const Value& v) {
    if (v.kind == Value::finite) sum += with_sign(v.negative, scale_and_cut(v.magnitude, v.exponent - unit));
  };
  for (const Value& p : products) add(p);
  add(c);
  return convert_once(node, d, sum, unit);
}

Rational rational(const Value& v) {
  if (v.kind != Value::finite) return 0;
  const Rational magnitude(with_sign(v.negative, v.magnitude));
  const Rational power(cpp_int(1) << std::abs(v.exponent));
  return v.exponent < 0 ? Rational(magnitude / power) : Rational(magnitude * power);
}

std::uint64_t fused_sum(const Node& node, const Format& d, std::span<const Addend> addends) {
  int largest = node.floor;
  for (const Addend& x : addends)
    if (x.raises) largest = std::max(largest, x.exponent);
  const int unit = largest - node.fraction_bits;
  const Rational power(cpp_int(1) << std::abs(unit));
  cpp_int sum = 0;
  for (const Addend& x : addends) {
    const Rational units = unit < 0 ? Rational(x.value * power) : Rational(x.value / power);
    sum += numerator(units) / denominator(units);  // toward zero
  }
  return convert_once(node, d, sum, unit);
}

std::uint64_t ieee_sum(const Format& d, const Value& x, const Value& y, Round round) {
  const bool both_infinite = x.kind == Value::infinity && y.kind == Value::infinity;
  if (x.kind == Value::nan || y.kind == Value::nan || (both_infinite && x.negative != y.negative))
    return d.canonical_nan;
  if (x.kind == Value::infinity) return d.infinity(x.negative);
  if (y.kind == Value::infinity) return d.infinity(y.negative);

  int unit = std::min(x.exponent, y.exponent);
  if (x.kind == Value::zero) unit = y.exponent;
  if (y.kind == Value::zero) unit = x.exponent;
  cpp_int sum = 0;
  for (const Value* v : {&x, &y})
    if (v->kind == Value::finite) sum += with_sign(v->negative, v->magnitude << (v->exponent - unit));
  // IEEE 754-2019, 6.3: a zero sum of unlike signs is +0, or -0 when rounding down.
  const bool zero_sign = x.negative == y.negative ? x.negative : round == Round::down;
  const bool negative = sum == 0 ? zero_sign : sum < 0;
  return encode(d, negative, abs(sum), unit, round, false);
}

}  // namespace oracle
