// SPDX-License-Identifier: Apache-2.0
#include "formats.hpp"

#include <algorithm>
#include <stdexcept>

namespace oracle {
namespace {

using enum Specials;

// f64 f32 f16: IEEE 754. bf16 tf32: PTX ISA, "Alternate floating-point formats". e5m2 e4m3: OCP OFP8.
// e3m2 e2m3 e2m1 ue8m0: OCP MX. ue4m3: PTX ISA. Canonical NaNs: facts 1.7, 3, 7.
constexpr Format formats[] = {
    // name   sign  exp frac unused bias lowest specials     largest               canonical NaN
    {"f64", true, 11, 52, 0, 1023, 1, ieee, 0x7FEFFFFFFFFFFFFF, 0xFFF8000000000000},
    {"f32", true, 8, 23, 0, 127, 1, ieee, 0x7F7FFFFF, 0x7FFFFFFF},
    {"tf32", true, 8, 10, 13, 127, 1, ieee, 0x7F7FE000, 0x7FFFE000},
    {"f16", true, 5, 10, 0, 15, 1, ieee, 0x7BFF, 0x7FFF},
    {"bf16", true, 8, 7, 0, 127, 1, ieee, 0x7F7F, 0x7FFF},
    {"e5m2", true, 5, 2, 0, 15, 1, ieee, 0x7B, 0x7F},
    {"e4m3", true, 4, 3, 0, 7, 1, nan_all_ones, 0x7E, 0x7F},
    {"e3m2", true, 3, 2, 0, 3, 1, none, 0x1F, 0},
    {"e2m3", true, 2, 3, 0, 1, 1, none, 0x1F, 0},
    {"e2m1", true, 2, 1, 0, 1, 1, none, 0x07, 0},
    {"ue8m0", false, 8, 0, 0, 127, 0, nan_all_ones, 0xFE, 0xFF},
    {"ue4m3", false, 4, 3, 0, 7, 1, nan_all_ones, 0x7E, 0x7F},
    {"ue5m3", false, 5, 3, 0, 15, 1, nan_all_ones, 0xFE, 0xFF},
    {"s2f6", true, 0, 7, 0, 6, 0, integer, 0x7F, 0},
    {"s1z4m11", true, 4, 11, 0, 0, 0, sign_magnitude, 0x7FF, 0},
    {"s32", true, 0, 31, 0, 0, 0, integer, 0x7FFFFFFF, 0},
    {"s8", true, 0, 7, 0, 0, 0, integer, 0x7F, 0},
    {"u8", false, 0, 8, 0, 0, 0, integer, 0xFF, 0},
    {"s4", true, 0, 3, 0, 0, 0, integer, 0x7, 0},
    {"u4", false, 0, 4, 0, 0, 0, integer, 0xF, 0},
    {"b1", false, 0, 1, 0, 0, 0, integer, 0x1, 0},
    {"b8", false, 0, 8, 0, 0, 0, integer, 0xFF, 0},
    {"b16", false, 0, 16, 0, 0, 0, integer, 0xFFFF, 0},
    {"b32", false, 0, 32, 0, 0, 0, integer, 0xFFFFFFFF, 0},
};

constexpr std::uint64_t ones(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

Value decode_integer(const Format& f, std::uint64_t code) {
  Value v;
  v.code = code & ones(f.width());
  v.negative = (v.code & f.sign_bit()) != 0;
  v.magnitude = v.negative ? (cpp_int(1) << f.width()) - v.code : cpp_int(v.code);
  v.exponent = -f.bias;
  v.kind = v.code == 0 ? Value::zero : Value::finite;
  return v;
}

std::uint64_t encode_integer(const Format& f, bool negative, const cpp_int& magnitude, int exponent,
                             Round round, bool saturate) {
  cpp_int n = round_to_integer(negative, magnitude, exponent + f.bias, round);
  if (negative) n = -n;
  const cpp_int count = cpp_int(1) << f.width();
  const cpp_int lowest = f.has_sign ? cpp_int(-count / 2) : cpp_int(0);
  const cpp_int highest = lowest + count - 1;
  if (saturate) n = std::clamp(n, lowest, highest);
  n %= count;  // has the sign of n
  if (n < 0) n += count;
  return static_cast<std::uint64_t>(n);
}

// PTX ISA 9.4: the name says it, a sign, four zeros, eleven bits of the magnitude.
Value decode_magnitude(const Format& f, std::uint64_t code) {
  Value v;
  v.code = code & ones(f.width());
  v.negative = (v.code & f.sign_bit()) != 0;
  v.magnitude = v.code % (std::uint64_t{1} << f.fraction_bits);
  const std::uint64_t between = (v.code & ~f.sign_bit()) >> f.fraction_bits;
  v.kind = between != 0 ? Value::nan : v.magnitude == 0 ? Value::zero : Value::finite;
  return v;
}

std::uint64_t encode_magnitude(const Format& f, bool negative, const cpp_int& magnitude, int exponent,
                               Round round) {
  const cpp_int n = round_to_integer(negative, magnitude, exponent, round);
  const std::uint64_t code = n > f.largest ? f.largest : static_cast<std::uint64_t>(n);
  return negative ? code + f.sign_bit() : code;
}

std::uint64_t overflow(const Format& f, bool negative, Round round, bool saturate) {
  const bool to_largest = saturate || f.specials == none || round == Round::toward_zero ||
                          (round == Round::down && !negative) || (round == Round::up && negative);
  if (to_largest) return f.largest | (negative ? f.sign_bit() : 0);
  return f.specials == ieee ? f.infinity(negative) : f.canonical_nan;
}

}  // namespace

std::uint64_t Format::infinity(bool negative) const {
  return (ones(exponent_bits) << (fraction_bits + unused_bits)) | (negative ? sign_bit() : 0);
}

const Format& find_format(std::string_view name) {
  for (const Format& f : formats)
    if (f.name == name) return f;
  throw std::invalid_argument("oracle: no format " + std::string(name));
}

cpp_int scale_and_cut(const cpp_int& magnitude, int n) {
  return n >= 0 ? cpp_int(magnitude << n) : cpp_int(magnitude >> -n);
}

int floor_log2(const cpp_int& magnitude, int exponent) {
  return static_cast<int>(msb(magnitude)) + exponent;
}

cpp_int round_to_integer(bool negative, const cpp_int& magnitude, int exponent, Round round) {
  const cpp_int quotient = scale_and_cut(magnitude, exponent);
  if (exponent >= 0) return quotient;
  const cpp_int divisor = cpp_int(1) << -exponent;
  const cpp_int remainder = magnitude - quotient * divisor;
  if (remainder == 0) return quotient;
  const int to_half = cpp_int(2 * remainder).compare(divisor);
  bool away = false;
  switch (round) {
    case Round::nearest_even: away = to_half > 0 || (to_half == 0 && quotient % 2 == 1); break;
    case Round::nearest_away: away = to_half >= 0; break;
    case Round::toward_zero: away = false; break;
    case Round::down: away = negative; break;
    case Round::up: away = !negative; break;
  }
  return away ? cpp_int(quotient + 1) : quotient;
}

Value decode(const Format& f, std::uint64_t code) {
  if (f.specials == integer) return decode_integer(f, code);
  if (f.specials == sign_magnitude) return decode_magnitude(f, code);
  Value v;
  v.code = code & ones(f.width());
  v.negative = (v.code & f.sign_bit()) != 0;
  const std::uint64_t fraction = (v.code >> f.unused_bits) & ones(f.fraction_bits);
  const std::uint64_t field = (v.code >> (f.unused_bits + f.fraction_bits)) & ones(f.exponent_bits);
  const bool top = field == ones(f.exponent_bits);
  if (f.specials == ieee && top) {
    v.kind = fraction == 0 ? Value::infinity : Value::nan;
    return v;
  }
  if (f.specials == nan_all_ones && top && fraction == ones(f.fraction_bits)) {
    v.kind = Value::nan;
    return v;
  }
  const int lowest = f.lowest_field;
  const bool normal = field >= static_cast<std::uint64_t>(lowest);
  v.raw_exponent = (normal ? static_cast<int>(field) : lowest) - f.bias;
  v.exponent = v.raw_exponent - f.fraction_bits;
  v.magnitude = normal ? fraction + (std::uint64_t{1} << f.fraction_bits) : fraction;
  v.kind = v.magnitude == 0 ? Value::zero : Value::finite;
  return v;
}

// Step between neighbours near x: 2^(e - fraction bits), e = floor(log2 x), but never below the smallest
// normal's. x in steps is rounded as if there were no largest exponent; then overflow is judged. A tie with a
// 1-bit significand (ue8m0) has no even neighbour and goes to the larger one (IEEE 754-2019, 4.3.1).
std::uint64_t encode(const Format& f, bool negative, const cpp_int& magnitude, int exponent, Round round,
                     bool saturate) {
  if (f.specials == integer) return encode_integer(f, negative, magnitude, exponent, round, saturate);
  if (f.specials == sign_magnitude) return encode_magnitude(f, negative, magnitude, exponent, round);
  const std::uint64_t sign = negative ? f.sign_bit() : 0;
  if (magnitude == 0) return sign;
  if (negative && !f.has_sign) return saturate ? 0 : f.canonical_nan;

  int e = std::max(floor_log2(magnitude, exponent), f.min_exponent());
  const int step = e - f.fraction_bits;
  cpp_int significand = round_to_integer(negative, magnitude, exponent - step, round);
  const cpp_int one = cpp_int(1) << f.fraction_bits;
  if (significand == 2 * one) {
    significand = one;
    e += 1;
  }
  if (significand < one) {  // a subnormal, or zero
    return f.lowest_field == 0 ? 0 : sign | static_cast<std::uint64_t>(significand) << f.unused_bits;
  }
  const int field = e + f.bias;
  if (field > static_cast<int>(ones(f.exponent_bits))) return overflow(f, negative, round, saturate);
  const std::uint64_t fraction = static_cast<std::uint64_t>(cpp_int(significand - one));
  const std::uint64_t code = (static_cast<std::uint64_t>(field) << f.fraction_bits | fraction) << f.unused_bits;
  if (code > f.largest) return overflow(f, negative, round, saturate);
  return sign | code;
}

Value convert(const Format& to, const Value& v) {
  switch (v.kind) {
    case Value::nan: return decode(to, to.canonical_nan);
    case Value::infinity: return decode(to, to.infinity(v.negative));
    default: return decode(to, encode(to, v.negative, v.magnitude, v.exponent, Round::nearest_even, false));
  }
}

Value decode(std::string_view format, std::uint64_t code) {
  return decode(find_format(format), code);
}

std::uint64_t encode(std::string_view format, bool negative, const cpp_int& magnitude, int exponent,
                     Round round, bool saturate) {
  return encode(find_format(format), negative, magnitude, exponent, round, saturate);
}

std::uint64_t canonical_nan(std::string_view format) {
  const Format& f = find_format(format);
  if (f.canonical_nan == 0) throw std::invalid_argument("oracle: " + std::string(format) + " has no NaN");
  return f.canonical_nan;
}

}  // namespace oracle
