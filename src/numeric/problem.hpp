// SPDX-License-Identifier: Apache-2.0
// What the steps of a plan are given and share: the elements, the running value, the trace, specials and the cut.
#pragma once

#include <cstdint>
#include <utility>

#include "numeric/node.hpp"
#include "numeric/value.hpp"

namespace warpbit::node {

/// The running value: a code in a format, times 2^-scale.
struct Running {
  const Format* format;
  std::uint64_t code;
  Addend::What what = Addend::What::running;  // for the trace
  int scale = 0;

  Decoded decoded() const {
    Decoded out = decode(*format, code);
    out.exponent -= scale;
    return out;
  }
  Value value() const { return value_of(decoded(), *format); }
};

/// The scale of the block that holds element k. Precondition: there are scales.
inline const Decoded& scale_of(const Elements& x, std::size_t k) {
  return x.scales[k * x.scales.size() / x.values.size()];
}

/// What a plan computes with.
struct Problem {
  Elements a, b;
  Running c;
  Trace* trace = nullptr;

  std::size_t size() const { return a.values.size(); }
  // The raw exponent of product k, including those of its scales.
  int exponent(std::size_t k) const {
    const int unscaled = a.values[k].exponent + b.values[k].exponent;
    return a.scales.empty() ? unscaled : unscaled + scale_of(a, k).exponent + scale_of(b, k).exponent;
  }
  // The exponent that counts for E. Precondition: the product is finite.
  int exponent(std::size_t k, Exponents which) const {
    const std::uint64_t x = a.values[k].significand, y = b.values[k].significand;
    const int raw = exponent(k), fraction_bits = a.format->fraction_bits + b.format->fraction_bits;
    switch (which) {
      case Exponents::raw: return raw;
      case Exponents::normalised: return raw + bit_length(x) - 1 + bit_length(y) - 1 - fraction_bits;
      case Exponents::of_products: return raw + bit_length(x * y) - 1 - fraction_bits;
    }
    return raw;
  }
  Value value_of_product(std::size_t k) const {
    return product(value_of(a.values[k], *a.format), value_of(b.values[k], *b.format));
  }
  // The product times its scales.
  Value value_of_scaled_product(std::size_t k) const {
    Value out = value_of_product(k);
    for (const Elements& x : {a, b})
      if (!x.scales.empty()) out = product(out, value_of(scale_of(x, k), *x.scale_format));
    return out;
  }
};

/// Records one sum of a trace as it is computed; does nothing without a trace. Returns its arguments.
class Tracer {
 public:
  Tracer(const Problem& p, const Format& result) : p_(p) {
    if (p_.trace != nullptr) sum_.format = &result;
  }
  void cut(int e, int window) { sum_.cut = {e, window}; }
  std::int64_t add(const Running& running, std::int64_t units = 0) {
    if (p_.trace != nullptr)
      sum_.addends.push_back({running.what, 0, 0, running.value(), running.decoded().exponent, units});
    return units;
  }
  std::int64_t add_product(std::size_t k, std::int64_t units = 0) {
    if (p_.trace == nullptr) return units;
    return add_products(k, k, p_.value_of_scaled_product(k), p_.exponent(k), units);
  }
  std::int64_t add_products(std::size_t first, std::size_t last, const Value& value, int exponent = 0,
                            std::int64_t units = 0) {
    if (p_.trace != nullptr)
      sum_.addends.push_back({Addend::What::products, first, last, value, exponent, units});
    return units;
  }
  // Ends the sum.
  std::uint64_t result(std::uint64_t code) {
    if (p_.trace == nullptr) return code;
    sum_.code = code;
    p_.trace->push_back(std::move(sum_));
    return code;
  }

 private:
  const Problem& p_;
  TracedSum sum_;
};

/// The effect of the special addends on the sum, determined before any arithmetic.
struct SpecialSum {
  bool nan = false, plus = false, minus = false;

  void add_infinity(bool negative) { (negative ? minus : plus) = true; }
  void add(const Decoded& d) {
    if (d.cls == Class::nan) nan = true;
    if (d.cls == Class::infinity) add_infinity(d.negative);
  }
  void add_product(const Decoded& a, const Decoded& b) {
    if (a.cls == Class::nan || b.cls == Class::nan) nan = true;
    if (a.cls != Class::infinity && b.cls != Class::infinity) return;
    if (a.cls == Class::zero || b.cls == Class::zero) nan = true;
    add_infinity(a.negative != b.negative);
  }
  void add_scales(const Problem& p) {
    for (const Decoded& scale : p.a.scales) add(scale);
    for (const Decoded& scale : p.b.scales) add(scale);
  }
  bool any() const { return nan || plus || minus; }
  std::uint64_t code(const Format& f) const {
    return nan || (plus && minus) ? f.canonical_nan : infinity(f, minus);
  }
};

/// An addend, (-1)^negative * significand * 2^(exponent - fraction_bits), cut toward zero to a multiple of
/// 2^(e - window), in units of that. A product's significand is not normalised: it lies in [0, 4) *
/// 2^fraction_bits.
///
///     e+1 e . e-1             e-window
///      |..|...|..................|xxxxxxx    x is lost
std::int64_t cut(bool negative, std::uint64_t significand, int exponent, int fraction_bits, int e, int window);

/// Converts a sum in units of 2^unit, with one rounding. `negative`: all of its terms are.
std::uint64_t convert_sum(std::int64_t sum, bool negative, int unit, const Format& result, Rounding rounding,
                          int kept, const SumRules& rules);

/// The steps. Each takes the running value and returns the next one.
Running run(const Fused& step, const Problem& p, Running running);
Running run(const GroupScaled& step, const Problem& p, Running running);
Running run(const WindowedGroups& step, const Problem& p, Running running);
Running run(const FmaChain& step, const Problem& p, Running running);
Running run(const PairSums& step, const Problem& p, Running running);
Running run(const Add& step, const Problem& p, Running running);
Running run(const Convert& step, const Problem& p, Running running);
Running run(const IntegerSum& step, const Problem& p, Running running);
Running run(const BitCount& step, const Problem& p, Running running);

}  // namespace warpbit::node
