// SPDX-License-Identifier: Apache-2.0
// Natural numbers of any size: what exact decimals need, and no more.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "numeric/wide.hpp"

namespace warpbit {

class Natural {
 public:
  Natural() = default;
  explicit Natural(u128 value);

  bool is_zero() const { return limbs_.empty(); }
  /// The number of bits up to the highest 1; 0 for 0.
  int bit_length() const;
  /// Modulo 2^128.
  u128 low_bits() const;
  std::string decimal() const;

  /// this = this * factor + summand
  void multiply_add(std::uint32_t factor, std::uint32_t summand);
  /// this = this * base^n
  void multiply_power(std::uint32_t base, int n);
  /// n >= 0
  void shift_left(int n);
  void add(const Natural& x);
  /// Precondition: x <= *this.
  void subtract(const Natural& x);
  /// this = floor(this / divisor); returns the rest. Precondition: divisor > 0.
  Natural divide(const Natural& divisor);
  Natural times(std::uint64_t factor) const;

  friend std::strong_ordering operator<=>(const Natural& x, const Natural& y);
  friend bool operator==(const Natural&, const Natural&) = default;

 private:
  std::uint32_t divide_small(std::uint32_t divisor);
  Natural shifted_right(int n) const;
  bool bit(int i) const;
  void trim();

  std::vector<std::uint32_t> limbs_;  // the lowest first; the highest is not 0
};

}  // namespace warpbit
