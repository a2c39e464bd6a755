// SPDX-License-Identifier: Apache-2.0
// Exact sums of many products, and how far a result is off them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/tile.hpp"
#include "numeric/formats.hpp"

namespace warpbit {

/// A sum of multiples of powers of two, without any rounding. Digits of 32 bits in signed items of 64, whose upper
/// halves take the carries of 2^31 additions:
///
///     digit    n - 1          1        0
///            |  s64  | ... | s64 |  s64  |     value = sum of digit[i] * 2^(low + 32 i)
class ExactSum {
 public:
  /// For numbers from 2^low to below 2^high.
  ExactSum(int low, int high) : low_(low), digits_(static_cast<std::size_t>(high - low) / 32 + 6) {}

  void clear() { std::ranges::fill(digits_, 0); }
  /// Adds (-1)^negative * magnitude * 2^exponent. Precondition: low <= exponent.
  void add(bool negative, std::uint64_t magnitude, int exponent) {
    const int at = exponent - low_;
    const u128 shifted = static_cast<u128>(magnitude) << (at % 32);
    const std::int64_t sign = negative ? -1 : 1;
    for (std::size_t i = 0; i < 3; ++i)
      digits_[static_cast<std::size_t>(at / 32) + i] += sign * static_cast<std::uint32_t>(shifted >> (32 * i));
  }
  void negate();
  /// Makes each digit 0 to 2^32 - 1, of the magnitude. Returns whether the sum was negative.
  bool normalise();

  // Of a sum that is normalised:
  bool is_zero() const;
  /// The exponent of its highest bit. Precondition: not zero.
  int top() const;
  bool bit(int exponent) const;
  bool any_below(int exponent) const;
  /// The nearest double of magnitude * 2^-unit, ties to even.
  double in_units(int unit) const;

 private:
  int low_;
  std::vector<std::int64_t> digits_;
};

/// The error of a result (ComparedResults), and whether it is correctly rounded.
struct ResultError {
  double ulps;
  bool correctly_rounded;
};

/// A factor of a product, times its scale factor if it has one: (-1)^negative * magnitude * 2^exponent.
struct Factor {
  std::uint64_t magnitude;
  int exponent;
  bool negative, is_finite;
};
/// A row of A, or a column of B, of any K; scale factors as codes_of_step has them.
std::vector<Factor> factors_of(const Tile& tile, const TileOperand& operand, const TileScale& scale,
                               std::span<const std::uint64_t> codes, std::span<const std::uint64_t> scales);

/// The exact sum of an element.
class ExactElement {
 public:
  explicit ExactElement(const Tile& tile);
  /// Without products.
  void start(std::uint64_t c);
  /// Precondition: as many factors of A as of B.
  void add(std::span<const Factor> a, std::span<const Factor> b);
  /// True if a factor, a scale or C (unless scale-d is 0) is NaN or Inf.
  bool is_special(const Tile& tile) const;
  /// Nothing if the result is NaN or Inf. The tile may negate factors, and ignore C. Precondition: not special.
  std::optional<ResultError> error_of(const Tile& tile, std::uint64_t code) const;

 private:
  ExactSum products_;
  Decoded c_;
  bool is_special_ = false;
  const Tile& tile_;
};

}  // namespace warpbit
