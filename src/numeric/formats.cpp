// SPDX-License-Identifier: Apache-2.0
#include "numeric/formats.hpp"

#include <algorithm>
#include <array>

namespace warpbit {
namespace {

constexpr std::string_view kIeee = "IEEE 754-2019, 3.6";
constexpr std::string_view kOfp8 = "OCP OFP8 1.0";
constexpr std::string_view kOcpMx = "OCP Microscaling Formats 1.0";
constexpr std::string_view kPtx = "PTX ISA 9.0, Fundamental Types";
constexpr std::string_view kPtxLater = "PTX ISA 9.4, Alternate Floating-Point Data Formats";
constexpr std::string_view kPtxAlternate = "PTX ISA 9.0, Alternate Floating-Point Data Formats";

constexpr Format floating(FormatId id, std::string_view name, std::string_view synonyms, int exponent_bits,
                          int fraction_bits, Specials specials, std::uint64_t nan, std::string_view source,
                          int byte_low = 0) {
  return {id,
          name,
          synonyms,
          false,
          1 + exponent_bits + fraction_bits,
          true,
          exponent_bits,
          fraction_bits,
          (1 << (exponent_bits - 1)) - 1,
          0,
          0,
          specials,
          true,
          nan,
          source,
          byte_low};
}
constexpr Format integer(FormatId id, std::string_view name, std::string_view synonyms, int bits,
                         bool is_signed, int fraction_bits = 0, std::string_view source = kPtx) {
  return {id, name, synonyms, true,           bits, is_signed, 0,     fraction_bits,
          0,  0,    0,        Specials::none, true, 0,         source};
}

using enum FormatId;
// The canonical NaNs of f32, f16, e4m3 and e5m2 are those that sm_90 returns (NUMERICS.md, "Specials"); for
// f64, DMMA's result for Inf - Inf; for bf16 and tf32, cvt's result for a NaN.
constexpr std::array<Format, kFormatCount> kFormats{
    //        id    name    synonyms            exp man specials          canonical NaN
    floating(f64, "f64", "double float64 fp64", 11, 52, Specials::ieee, 0xFFF8000000000000, kIeee),
    floating(f32, "f32", "float float32 fp32", 8, 23, Specials::ieee, 0x7FFFFFFF, kIeee),
    //     31   30..23    22..13      12..0
    //     S    EEEEEEEE  MMMMMMMMMM  ignored, before classification
    Format{tf32, "tf32", "tensorfloat32", false, 32, true, 8, 10, 127, 13, 0, Specials::ieee, true, 0x7FFFE000,
           kPtxAlternate},
    floating(f16, "f16", "half float16 fp16", 5, 10, Specials::ieee, 0x7FFF, kIeee),
    floating(bf16, "bf16", "bfloat16", 8, 7, Specials::ieee, 0x7FFF, kPtxAlternate),
    floating(e5m2, "e5m2", "float8_e5m2 fp8_e5m2", 5, 2, Specials::ieee, 0x7F, kOfp8),
    floating(e4m3, "e4m3", "float8_e4m3fn fp8_e4m3", 4, 3, Specials::nan_all_ones, 0x7F, kOfp8),
    floating(e3m2, "e3m2", "float6_e3m2fn fp6_e3m2", 3, 2, Specials::none, 0, kOcpMx),
    floating(e2m3, "e2m3", "float6_e2m3fn fp6_e2m3", 2, 3, Specials::none, 0, kOcpMx),
    floating(e2m1, "e2m1", "float4_e2m1fn fp4_e2m1 fp4", 2, 1, Specials::none, 0, kOcpMx, 2),
    //     7..0
    //     EEEEEEEE   2^(E - 127); no sign, no zero
    Format{ue8m0, "ue8m0", "float8_e8m0fnu e8m0", false, 8, false, 8, 0, 127, 0, 0, Specials::nan_all_ones,
           false, 0xFF, kOcpMx},
    //     7        6..3  2..0
    //     ignored  EEEE  MMM   e4m3 without its sign
    Format{ue4m3, "ue4m3", "", false, 8, false, 4, 3, 7, 0, 1, Specials::nan_all_ones, true, 0x7F,
           kPtxAlternate},
    //     7..3   2..0
    //     EEEEE  MMM
    Format{ue5m3, "ue5m3", "", false, 8, false, 5, 3, 15, 0, 0, Specials::nan_all_ones, true, 0xFF, kPtxLater},
    //     7..6  5..0
    //     II    FFFFFF   two's complement, from -2 to 127 / 64
    integer(s2f6, "s2f6", "", 8, true, 6, "PTX ISA 9.4, Fixed-point Data format"),
    //     15  14..11  10..0
    //     S   0000    MMMMMMMMMMM   (-1)^S M, from -2047 to 2047
    Format{s1z4m11, "s1z4m11", "ti16", true, 16, true, 0, 0, 0, 0, 0, Specials::none, true, 0,
           "PTX ISA 9.4, tcgen05: Instruction Descriptor", 0, 4},
    integer(s32, "s32", "int32", 32, true),
    integer(s8, "s8", "int8", 8, true),
    integer(u8, "u8", "uint8", 8, false),
    integer(s4, "s4", "int4", 4, true),
    integer(u4, "u4", "uint4", 4, false),
    integer(b1, "b1", "bit", 1, false),
    integer(b8, "b8", "", 8, false),
    integer(b16, "b16", "", 16, false),
    integer(b32, "b32", "", 32, false),
};

constexpr bool in_order() {
  for (int i = 0; i < kFormatCount; ++i)
    if (static_cast<int>(kFormats[static_cast<std::size_t>(i)].id) != i) return false;
  return true;
}
static_assert(in_order());

Decoded decode_integer(const Format& f, std::uint64_t code) {
  code &= f.mask();
  if (f.zero_bits != 0) {
    const std::uint64_t magnitude = code & f.magnitude_mask();
    const Class number = magnitude != 0 ? Class::finite : Class::zero;
    return {magnitude, 0, (code & ~f.used()) != 0 ? Class::nan : number, code >> (f.bits - 1) != 0};
  }
  const bool negative = f.is_signed && (code >> (f.bits - 1)) != 0;
  const std::uint64_t magnitude = negative ? (~code + 1) & f.mask() : code;
  return {magnitude, 0, magnitude ? Class::finite : Class::zero, negative};
}

// magnitude / 2^shift, rounded to an integer. shift may be negative (then exact) or exceed the width.
u128 round_shift(u128 magnitude, int shift, bool negative, Rounding rounding) {
  if (shift <= 0) return magnitude << -shift;
  const u128 quotient = shift < 128 ? magnitude >> shift : 0;
  const u128 rest = shift < 128 ? magnitude - (quotient << shift) : magnitude;
  if (rest == 0) return quotient;
  // Compare the remainder with half a unit; beyond 128 bits it is always less.
  const u128 half = shift <= 128 ? u128{1} << (shift - 1) : ~u128{0};
  const bool above = shift <= 128 && rest > half, tie = shift <= 128 && rest == half;
  switch (rounding) {
    case Rounding::nearest_even: return quotient + (above || (tie && (quotient & 1)) ? 1 : 0);
    case Rounding::nearest_away: return quotient + (above || tie ? 1 : 0);
    case Rounding::toward_zero: return quotient;
    case Rounding::down: return quotient + (negative ? 1 : 0);
    case Rounding::up: return quotient + (negative ? 0 : 1);
  }
  return quotient;
}

std::uint64_t encode_integer(const Format& f, const Exact& x, Rounding rounding, Overflow overflow) {
  if (f.zero_bits != 0) overflow = Overflow::saturate;
  const std::uint64_t most = f.is_signed ? ones(f.bits - 1) : ones(f.bits);
  const std::uint64_t least = f.is_signed ? most + 1 : 0;  // magnitude of the most negative number
  // A number of more than 127 bits is above any bound; if wrapped, only its low bits count.
  const int exponent = x.exponent + f.fraction_bits;
  const bool huge = exponent > 0 && bit_length(x.magnitude) + exponent > 127;
  const u128 low_bits = exponent < 128 ? x.magnitude << std::max(exponent, 0) : 0;
  const u128 magnitude = !huge ? round_shift(x.magnitude, -exponent, x.negative, rounding)
                         : overflow == Overflow::saturate ? ~u128{0}
                                                          : low_bits;
  if (f.zero_bits != 0)
    return pack(f, x.negative, static_cast<std::uint64_t>(std::min<u128>(magnitude, f.magnitude_mask())));
  const std::uint64_t bound = x.negative ? least : most;
  const std::uint64_t clamped =
      overflow == Overflow::saturate && magnitude > bound ? bound : static_cast<std::uint64_t>(magnitude);
  return (x.negative ? ~clamped + 1 : clamped) & f.mask();
}

std::uint64_t largest_field(const Format& f) {
  const std::uint64_t all = ones(f.exponent_bits + f.fraction_bits);
  switch (f.specials) {
    case Specials::none: return all;
    case Specials::nan_all_ones: return all - 1;
    case Specials::ieee: return all - ones(f.fraction_bits) - 1;
  }
  return all;
}

std::uint64_t overflowed(const Format& f, bool negative, Rounding rounding, Overflow overflow) {
  const bool inward =
      rounding == Rounding::toward_zero || rounding == (negative ? Rounding::up : Rounding::down);
  const bool finite = overflow == Overflow::saturate || (overflow == Overflow::ieee && inward);
  if (finite || f.specials == Specials::none) return largest(f, negative);
  return f.specials == Specials::ieee ? infinity(f, negative) : f.canonical_nan;
}

}  // namespace

const Format& format(FormatId id) {
  return kFormats[static_cast<std::size_t>(id)];
}
std::span<const Format> formats() {
  return kFormats;
}

// NUMERICS.md, "Padding".
const Format* container_of(FormatId id) {
  return id == FormatId::e2m1 ? &format(FormatId::e2m3) : nullptr;
}

const Format* find_format(std::string_view name) {
  const auto is_named = [&](const Format& f) { return f.name == name || has_word(f.synonyms, name); };
  const auto at = std::ranges::find_if(kFormats, is_named);
  return at == kFormats.end() ? nullptr : &*at;
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

Decoded decode(const Format& f, std::uint64_t code) {
  if (f.is_integer) return decode_integer(f, code);
  const std::uint64_t word = (code & f.mask()) >> f.ignored_low;
  const std::uint64_t fraction = word & ones(f.fraction_bits);
  const std::uint64_t field = (word >> f.fraction_bits) & ones(f.exponent_bits);
  const bool negative = f.is_signed && ((word >> (f.exponent_bits + f.fraction_bits)) & 1);

  const bool top = field == ones(f.exponent_bits);
  if (top && f.specials == Specials::ieee)
    return {fraction, 0, fraction ? Class::nan : Class::infinity, negative};
  if (top && f.specials == Specials::nan_all_ones && fraction == ones(f.fraction_bits))
    return {fraction, 0, Class::nan, negative};

  if (field == 0 && f.subnormals)
    return {fraction, f.min_exponent(), fraction ? Class::finite : Class::zero, negative};
  const std::uint64_t implicit = std::uint64_t{1} << f.fraction_bits;
  return {implicit | fraction, static_cast<int>(field) - f.bias, Class::finite, negative};
}

std::uint64_t encode(const Format& f, const Exact& x, Rounding rounding, Overflow overflow,
                     int kept_fraction_bits) {
  if (f.is_integer) return encode_integer(f, x, rounding, overflow);
  if (!f.is_signed && x.negative && x.magnitude != 0)
    return overflow == Overflow::saturate ? 0 : f.canonical_nan;
  if (x.magnitude == 0) return pack(f, x.negative, 0);

  const int kept = kept_fraction_bits < 0 ? f.fraction_bits : kept_fraction_bits;
  const int top = bit_length(x.magnitude) - 1 + x.exponent;  // the number lies in [2^top, 2^(top + 1))
  if (top > f.bias + 1) return overflowed(f, x.negative, rounding, overflow);
  const int exponent = top < f.min_exponent() ? f.min_exponent() : top;
  const int shift = exponent - kept - x.exponent;
  // At most kept + 2 bits: a carry to 2^(kept + 1) moves into the exponent field by itself.
  auto significand = static_cast<std::uint64_t>(round_shift(x.magnitude, shift, x.negative, rounding))
                     << (f.fraction_bits - kept);
  const std::uint64_t implicit = std::uint64_t{1} << f.fraction_bits;
  if (!f.subnormals && significand < implicit) significand = implicit;
  // exponent == min_exponent: a significand below the implicit bit gives field 0, a subnormal (or zero)
  const auto above = static_cast<std::uint64_t>(exponent - f.min_exponent());
  const std::uint64_t field = (above << f.fraction_bits) + significand - (f.subnormals ? 0 : implicit);
  if (field > largest_field(f)) return overflowed(f, x.negative, rounding, overflow);
  return pack(f, x.negative, field);
}

Exact to_integer(const Exact& x, Rounding rounding) {
  if (x.exponent >= 0) return x;
  return {x.negative, round_shift(x.magnitude, -x.exponent, x.negative, rounding), 0};
}

std::uint64_t pack(const Format& f, bool negative, std::uint64_t field) {
  const int sign_at = f.zero_bits != 0 ? f.bits - 1 : f.exponent_bits + f.fraction_bits;
  const std::uint64_t sign = f.is_signed && negative ? std::uint64_t{1} << sign_at : 0;
  return (sign | field) << f.ignored_low;
}

std::uint64_t infinity(const Format& f, bool negative) {
  return pack(f, negative, ones(f.exponent_bits) << f.fraction_bits);
}

std::uint64_t largest(const Format& f, bool negative) {
  if (!f.is_integer) return pack(f, negative, largest_field(f));
  if (f.zero_bits != 0) return pack(f, negative, f.magnitude_mask());
  if (!f.is_signed) return f.mask();
  return negative ? std::uint64_t{1} << (f.bits - 1) : ones(f.bits - 1);
}

}  // namespace warpbit
