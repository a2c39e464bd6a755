// SPDX-License-Identifier: Apache-2.0
#include "compare/exact_sum.hpp"

#include <cmath>  // std::ldexp, of an error that is known exactly
#include <utility>

namespace warpbit {

void ExactSum::negate() {
  for (std::int64_t& digit : digits_) digit = -digit;
}

bool ExactSum::normalise() {
  const auto carry = [this] {
    std::int64_t out = 0;
    for (std::int64_t& digit : digits_) {
      const std::int64_t value = digit + out;
      digit = static_cast<std::uint32_t>(value);
      out = (value - digit) / (std::int64_t{1} << 32);
    }
    return out;
  };
  if (carry() >= 0) return false;
  // The digits are those of sum + 2^(32 n).
  for (std::int64_t& digit : digits_) digit = 0xFFFF'FFFF - digit;
  digits_[0] += 1;
  carry();
  return true;
}

bool ExactSum::is_zero() const {
  return std::ranges::all_of(digits_, [](std::int64_t digit) { return digit == 0; });
}

int ExactSum::top() const {
  std::size_t i = digits_.size() - 1;
  while (digits_[i] == 0) --i;
  return low_ + static_cast<int>(32 * i) + bit_length(static_cast<std::uint64_t>(digits_[i])) - 1;
}

bool ExactSum::bit(int exponent) const {
  const int at = exponent - low_;
  return at >= 0 && (digits_[static_cast<std::size_t>(at / 32)] >> (at % 32) & 1) != 0;
}

bool ExactSum::any_below(int exponent) const {
  const int at = exponent - low_;
  if (at <= 0) return false;
  const auto whole = static_cast<std::size_t>(at / 32);
  const auto is_set = [](std::int64_t digit) { return digit != 0; };
  return std::any_of(digits_.begin(), digits_.begin() + static_cast<std::ptrdiff_t>(whole), is_set) ||
         (static_cast<std::uint64_t>(digits_[whole]) & ones(at % 32)) != 0;
}

double ExactSum::in_units(int unit) const {
  if (is_zero()) return 0;
  // 63 bits and one that says whether anything is below: the conversion rounds once.
  constexpr int kHeld = 63;
  const int end = top() - kHeld + 1;
  std::uint64_t bits = 0;
  for (int at = top(); at >= end; --at) bits = bits << 1 | (bit(at) ? 1 : 0);
  bits = bits << 1 | (any_below(end) ? 1 : 0);
  return std::ldexp(static_cast<double>(bits), end - 1 - unit);
}

namespace {

// Exponents of the lowest bit of a format's numbers, and of one above their highest.
struct Range {
  int low, high;
};
Range range_of(const Format& f) {
  const int highest = (1 << f.exponent_bits) - 1 - f.bias;
  return {f.min_exponent() - f.fraction_bits, highest + 1};
}

ExactSum empty_sum(const Tile& t) {
  if (t.d.format->is_integer) return {0, 0};
  Range product{0, 0};
  for (const Format* f : {&t.a.read_format(), &t.b.read_format(), t.a_scale.format, t.b_scale.format})
    if (f != nullptr) product = {product.low + range_of(*f).low, product.high + range_of(*f).high};
  for (const Format* f : {t.c.format, t.d.format})
    product = {std::min(product.low, range_of(*f).low), std::max(product.high, range_of(*f).high)};
  return {product.low, product.high};
}

bool is_number(const Decoded& d) {
  return d.cls == Class::zero || d.cls == Class::finite;
}

int exponent_of(const Decoded& d, const Format& f) {
  return d.exponent - f.fraction_bits;
}

}  // namespace

ExactElement::ExactElement(const Tile& tile) : products_(empty_sum(tile)), tile_(tile) {}

std::vector<Factor> factors_of(const Tile& tile, const TileOperand& operand, const TileScale& scale,
                               std::span<const std::uint64_t> codes, std::span<const std::uint64_t> scales) {
  std::vector<Factor> out;
  out.reserve(codes.size());
  const auto blocks = static_cast<std::size_t>(scale.blocks), terms = static_cast<std::size_t>(tile.terms);
  const Format& f = operand.read_format();
  for (std::size_t k = 0; k < codes.size(); ++k) {
    std::uint64_t code = codes[k];
    if (operand.container != nullptr)
      code = (code & operand.format->mask()) << operand.format->byte_low | code >> kPaddingAt;
    const Decoded d = decode(f, code);
    Factor factor{d.significand, exponent_of(d, f), d.negative, is_number(d)};
    if (blocks > 0) {
      const std::size_t block = k * blocks / terms;
      const Decoded s = decode(*scale.format, block < scales.size() ? scales[block] : 0);
      factor.magnitude *= s.significand;
      factor.exponent += exponent_of(s, *scale.format);
      factor.is_finite = factor.is_finite && is_number(s);
    }
    out.push_back(factor);
  }
  return out;
}

void ExactElement::start(std::uint64_t c) {
  products_.clear();
  c_ = decode(*tile_.c.format, c);
  is_special_ = false;
}

void ExactElement::add(std::span<const Factor> a, std::span<const Factor> b) {
  is_special_ =
      is_special_ || !std::ranges::all_of(a, &Factor::is_finite) || !std::ranges::all_of(b, &Factor::is_finite);
  for (std::size_t k = 0; k < a.size() && !is_special_; ++k) {
    const bool negative = a[k].negative != b[k].negative;
    const int exponent = a[k].exponent + b[k].exponent;
    const u128 magnitude = static_cast<u128>(a[k].magnitude) * b[k].magnitude;
    products_.add(negative, static_cast<std::uint64_t>(magnitude), exponent);
    if (magnitude >> 64 != 0)
      products_.add(negative, static_cast<std::uint64_t>(magnitude >> 64), exponent + 64);
  }
}

bool ExactElement::is_special(const Tile& tile) const {
  return is_special_ || (!tile.starts_at_zero && !is_number(c_));
}

std::optional<ResultError> ExactElement::error_of(const Tile& tile, std::uint64_t code) const {
  const Format& f = *tile.d.format;
  const Decoded result = decode(f, code);
  if (!is_number(result)) return std::nullopt;
  ExactSum exact = products_;
  if (tile.negate_a != tile.negate_b) exact.negate();
  if (!tile.starts_at_zero) exact.add(c_.negative, c_.significand, exponent_of(c_, *tile.c.format));
  ExactSum error = exact;
  exact.normalise();
  const int ulp =
      (exact.is_zero() ? f.min_exponent() : std::max(exact.top(), f.min_exponent())) - f.fraction_bits;
  error.negate();
  error.add(result.negative, result.significand, exponent_of(result, f));
  const bool is_negative = error.normalise();
  if (error.is_zero()) return ResultError{0, true};
  const double magnitude = error.in_units(ulp);
  // Numbers next to the exact sum are an ulp apart, or half of one below a power of two, which is one of them then.
  const bool is_half = error.top() == ulp - 1 && !error.any_below(ulp - 1);
  return ResultError{is_negative ? -magnitude : magnitude,
                     error.top() < ulp - 1 || (is_half && (result.significand & 1) == 0)};
}

}  // namespace warpbit
