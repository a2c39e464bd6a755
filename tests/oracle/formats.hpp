// SPDX-License-Identifier: Apache-2.0
// Number formats as rows; decode and encode once the row is known.
#pragma once

#include "oracle.hpp"

namespace oracle {

enum class Specials {
  ieee,            // all-ones exponent field: Inf and NaN
  nan_all_ones,    // all-ones exponent and fraction: NaN; no Inf
  none,            // neither
  integer,         // not a floating-point format
  sign_magnitude,  // an integer as a sign, exponent_bits zeros, and a magnitude of fraction_bits
};

//   [sign] exponent field, fraction, [unused low bits]
struct Format {
  std::string_view name;
  bool has_sign;
  int exponent_bits, fraction_bits, unused_bits;  // integers: fraction_bits holds all but the sign
  int bias;                                       // integers: the bits behind the point
  int lowest_field;  // the exponent field of the smallest normal number: 1, or 0 where there are no subnormals
  Specials specials;
  std::uint64_t largest;        // code of the largest finite number
  std::uint64_t canonical_nan;  // 0: none

  int width() const { return has_sign + exponent_bits + fraction_bits + unused_bits; }
  int min_exponent() const { return lowest_field - bias; }
  std::uint64_t sign_bit() const { return has_sign ? std::uint64_t{1} << (width() - 1) : 0; }
  // Inf of either sign. Only for Specials::ieee.
  std::uint64_t infinity(bool negative) const;
};

// Throws std::invalid_argument for a name that is no format's.
const Format& find_format(std::string_view name);

Value decode(const Format&, std::uint64_t code);
std::uint64_t encode(const Format&, bool negative, const cpp_int& magnitude, int exponent, Round,
                     bool saturate);

// The same value as a number of another format that holds it exactly (or rounded by IEEE's default).
Value convert(const Format& to, const Value&);

// magnitude * 2^exponent rounded to an integer; magnitude >= 0, `negative` is its sign.
cpp_int round_to_integer(bool negative, const cpp_int& magnitude, int exponent, Round);

// 2^n * magnitude, the fraction dropped: for n < 0 the quotient of a division by 2^-n. magnitude >= 0.
cpp_int scale_and_cut(const cpp_int& magnitude, int n);

// floor(log2(magnitude * 2^exponent)), magnitude > 0.
int floor_log2(const cpp_int& magnitude, int exponent);

}  // namespace oracle
