// SPDX-License-Identifier: Apache-2.0
// Number formats: one row each (formats.cpp), and the functions that need only a row: decode and encode.
// Integers only; nothing here uses a float or a double.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

#include "warpbit/detail/rounding.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

__extension__ using u128 = unsigned __int128;

/// The number of bits up to the highest 1; 0 for 0.
constexpr int bit_length(u128 x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return static_cast<int>(high ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(x)));
}
/// The n lowest bits. Precondition: 0 <= n <= 64.
constexpr std::uint64_t ones(int n) {
  return n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
}

/// The formats, in the order of their rows.
enum class FormatId : std::uint8_t {
  f64,
  f32,
  tf32,
  f16,
  bf16,
  e5m2,
  e4m3,
  e3m2,
  e2m3,
  e2m1,
  ue8m0,
  ue4m3,
  ue5m3,
  s2f6,
  s1z4m11,
  s32,
  s8,
  u8,
  s4,
  u4,
  b1,
  b8,
  b16,
  b32,
};
inline constexpr int kFormatCount = 24;

/// A set of formats.
class FormatSet {
 public:
  constexpr FormatSet() = default;
  constexpr FormatSet(FormatId id) : bits_(std::uint32_t{1} << static_cast<int>(id)) {}
  constexpr bool contains(FormatId id) const { return (bits_ & FormatSet(id).bits_) != 0; }
  friend constexpr FormatSet operator|(FormatSet x, FormatSet y) {
    x.bits_ |= y.bits_;
    return x;
  }

 private:
  std::uint32_t bits_ = 0;
};
constexpr FormatSet operator|(FormatId x, FormatId y) {
  return FormatSet(x) | FormatSet(y);
}

// Formats that instructions treat alike.
inline constexpr FormatSet kFp8 = FormatId::e4m3 | FormatId::e5m2;
inline constexpr FormatSet kFp6Fp4 = FormatId::e3m2 | FormatId::e2m3 | FormatId::e2m1;
inline constexpr FormatSet kF8f6f4 = kFp8 | kFp6Fp4;
inline constexpr FormatSet kS8 = FormatId::s8 | FormatId::u8, kS4 = FormatId::s4 | FormatId::u4;

/// Which codes of a floating-point format are infinities or NaNs.
enum class Specials : std::uint8_t {
  none,          ///< every code is a number (e3m2, e2m3, e2m1)
  ieee,          ///< the largest exponent field holds Inf (fraction 0) and NaNs
  nan_all_ones,  ///< NaN where exponent and fraction are all ones; no Inf (e4m3, ue4m3, ue5m3, ue8m0)
};

/// One row. A floating-point code, from the top:
///
///     ignored_high | sign (if is_signed) | exponent_bits | fraction_bits | ignored_low
///
/// An integer is two's complement (is_signed) or plain in `bits` bits, in units of 2^-fraction_bits; its other fields are 0. One
/// with zero_bits is a sign, these, and a magnitude; a code in which they are not 0 is no number (Class::nan).
struct Format {
  FormatId id;
  std::string_view
      name;  ///< the PTX manual's name, "Fundamental Types" and "Alternate Floating-Point Data Formats"
  std::string_view synonyms;  ///< other names, separated by blanks
  bool is_integer;
  int bits;  ///< of a code, the ignored ones included
  bool is_signed;
  int exponent_bits, fraction_bits, bias;
  int ignored_low, ignored_high;
  Specials specials;
  bool subnormals;              ///< exponent field 0 means zero and subnormals (not so in ue8m0)
  std::uint64_t canonical_nan;  ///< the result of an operation on an invalid operand; 0 without NaNs
  std::string_view source;      ///< the source of the row
  int byte_low = 0;             ///< where a code lies in a byte of its own (.kind::f8f6f4)
  int zero_bits = 0;            ///< of a sign and a magnitude: the bits between them, which are 0

  constexpr int min_exponent() const { return subnormals ? 1 - bias : -bias; }
  constexpr std::uint64_t mask() const { return ones(bits); }
  /// Of a sign and a magnitude: the magnitude's bits.
  constexpr std::uint64_t magnitude_mask() const { return ones(bits - 1 - zero_bits); }
  /// The bits that may be 1 in the code of a number.
  constexpr std::uint64_t used() const {
    return zero_bits == 0 ? mask() : magnitude_mask() | std::uint64_t{1} << (bits - 1);
  }
};

/// The row of a format; all rows, in order; the row of a name or a synonym (without the dot), or nullptr.
const Format& format(FormatId id);
std::span<const Format> formats();
const Format* find_format(std::string_view name);

/// What a GPU reads of the byte that holds an element of less than eight bits above others; nullptr if these do not count.
const Format* container_of(FormatId id);

/// Whether a word is among words that are separated by blanks.
bool has_word(std::string_view words, std::string_view word);

enum class Class : std::uint8_t { zero, finite, infinity, nan };

/// A decoded code: the number (-1)^negative * significand * 2^(exponent - fraction_bits of its format).
/// `exponent` is the raw one: a subnormal (and zero) keeps that of the minimum normal number, and its
/// significand has no implicit bit. For a NaN, `significand` is the unchanged fraction field (the payload).
struct Decoded {
  std::uint64_t significand = 0;
  std::int32_t exponent = 0;
  Class cls = Class::zero;
  bool negative = false;
};

/// Bits above the format's width are ignored.
Decoded decode(const Format& format, std::uint64_t code);

/// An exact number (-1)^negative * magnitude * 2^exponent. Zero keeps its sign.
struct Exact {
  bool negative = false;
  u128 magnitude = 0;
  int exponent = 0;
};

/// The number of a finite or zero decoded code.
inline Exact exact(const Decoded& d, const Format& format) {
  return {d.negative, d.significand, d.exponent - format.fraction_bits};
}

/// The result for a number beyond the largest finite one.
enum class Overflow : std::uint8_t {
  ieee,         ///< Inf or the largest finite number, as the rounding says (IEEE 754-2019, 7.4); integers wrap
  to_infinity,  ///< Inf for every rounding (NUMERICS.md, "Conversion")
  saturate,     ///< the largest finite number (.satfinite); integers clamp
};

/// Encodes an exact number. If the result would be Inf and the format has none, it is the canonical NaN, or
/// the largest finite number if there is no NaN either; so with a sign and a magnitude. In the unsigned ue8m0, ue4m3 and ue5m3 a negative number
/// becomes the canonical NaN, or the smallest code with Overflow::saturate. The minimum of ue8m0, which has
/// no zero, is 2^-127. `kept_fraction_bits`, if not negative, is the number of fraction bits that survive the
/// rounding (at most the format's own; the rest are 0).
std::uint64_t encode(const Format& format, const Exact& number, Rounding rounding, Overflow overflow,
                     int kept_fraction_bits = -1);

/// The integer next to a number. Precondition: it has at most 127 bits.
Exact to_integer(const Exact& number, Rounding rounding);

/// The code with the given exponent and fraction, as one number. An unsigned format has no sign.
std::uint64_t pack(const Format& format, bool negative, std::uint64_t field);

/// The code of an infinity. Precondition: the format has one (Specials::ieee).
std::uint64_t infinity(const Format& format, bool negative);

/// The code of the largest finite number of that sign (in an unsigned format, of either sign).
std::uint64_t largest(const Format& format, bool negative);

/// The smallest of 1, 2, 4 or 8 bytes that hold a code of `bits` bits: the item size of a matrix of codes
/// (gemm) and of an operand's member in the layout `elements`.
constexpr std::size_t code_bytes(int bits) {
  return std::bit_ceil(static_cast<std::size_t>((bits + 7) / 8));
}

}  // namespace warpbit
#pragma GCC visibility pop
