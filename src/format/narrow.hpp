// SPDX-License-Identifier: Apache-2.0
// Codes of many numbers, fast: what Codec::encode gives to nearest even, for the numbers that most arrays hold.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "numeric/formats.hpp"

namespace warpbit {

/// Rounds doubles to a floating-point format with few fraction bits, in integers.
class Narrow {
 public:
  /// Whether the format is one of these.
  static bool takes(const Format& f) {
    return !f.is_integer && f.subnormals && f.fraction_bits <= 23 && f.ignored_low == 0;
  }
  explicit Narrow(const Format& f)
      : fraction_bits_(f.fraction_bits),
        least_(f.min_exponent()),
        sign_bit_(f.is_signed ? f.bits - 1 : -1),
        largest_(largest(f, false)) {}

  /// The code, to nearest even; nothing for a number that the specification must round: beyond the largest, subnormal in
  /// float64, Inf or NaN.
  std::optional<std::uint64_t> encode(double number) const {
    const std::optional<std::uint64_t> magnitude = round(number);
    if (!magnitude || *magnitude > largest_ || (sign_bit_ < 0 && std::signbit(number))) return std::nullopt;
    return *magnitude | sign_of(number);
  }
  /// The same, at most the largest, of a number that is no NaN; in a format without a sign of the magnitude.
  std::uint64_t saturate(double number) const {
    const std::uint64_t magnitude = std::isinf(number) ? largest_ : round(number).value_or(0);
    return std::min(magnitude, largest_) | sign_of(number);
  }

  /// The number of a code without a sign. Precondition: it is finite.
  double value(std::uint64_t code) const {
    const auto field = static_cast<int>(code >> fraction_bits_);
    const std::uint64_t fraction = code & ones(fraction_bits_);
    const std::uint64_t leading = field == 0 ? 0 : std::uint64_t{1} << fraction_bits_;
    return std::ldexp(static_cast<double>(fraction | leading),
                      least_ + std::max(field - 1, 0) - fraction_bits_);
  }

 private:
  std::uint64_t sign_of(double number) const {
    return sign_bit_ < 0 ? 0 : std::bit_cast<std::uint64_t>(number) >> 63 << sign_bit_;
  }

  //        52                       0
  //   1.fraction of float64         |
  //   kept          | shift bits cut, which round
  // The magnitude, as if the exponents of the format went on; nothing for what is no normal number.
  std::optional<std::uint64_t> round(double number) const {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(number) & ones(63);
    const int field = static_cast<int>(bits >> 52), exponent = field - 1023;
    if (bits == 0) return 0;
    if (field == 0 || field == 2047) return std::nullopt;
    const int shift = 52 - fraction_bits_ + std::max(least_ - exponent, 0);
    if (shift > 54) return 0;
    const std::uint64_t significand = (bits & ones(52)) | std::uint64_t{1} << 52;
    const std::uint64_t kept = significand >> shift, rest = significand & ones(shift),
                        half = std::uint64_t{1} << (shift - 1);
    const bool up = rest > half || (rest == half && (kept & 1) != 0);
    // The leading 1 of a normal number adds one to its exponent field.
    return (static_cast<std::uint64_t>(std::max(exponent - least_, 0)) << fraction_bits_) + kept + (up ? 1 : 0);
  }

  int fraction_bits_, least_, sign_bit_;
  std::uint64_t largest_;
};

}  // namespace warpbit
