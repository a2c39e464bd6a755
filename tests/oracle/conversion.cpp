// SPDX-License-Identifier: Apache-2.0
#include "conversion.hpp"

#include <algorithm>
#include <stdexcept>

#include "formats.hpp"

namespace oracle {
namespace {

// Facts 7, tf32 by rna: a field of 255 is only cut; with satfinite, 0x2000 comes off where Inf is reached.
std::uint64_t to_nearest_tf32(const Conversion& c, const Value& f32) {
  const Format& tf32 = find_format("tf32");
  const std::uint64_t sign = f32.code & tf32.sign_bit();
  const bool special = f32.kind == Value::infinity || f32.kind == Value::nan;
  const std::uint64_t code =
      special ? f32.code / 0x2000 * 0x2000
              : encode(tf32, f32.negative, f32.magnitude, f32.exponent, Round::nearest_away, false);
  const bool reached = (code ^ sign) >= tf32.infinity(false);
  return c.satfinite && reached ? code - 0x2000 : code;
}

// PTX ISA, cvt: with sat NaN becomes +0; a format without NaN takes its largest number. bf16 to f32 moves the
// code to the upper half. NaNs to and from f64 keep their sign and the first bits of their payload, with the
// quiet bit set (captures of cvt.*.f16.f64 and cvt.*.bf16.f64).
std::uint64_t from_nan(const Conversion& c, const Format& from, const Format& to, const Value& nan) {
  if (c.sat) return 0;
  if (to.specials == Specials::none || to.specials == Specials::integer) return to.largest;
  if (c.from == "bf16" && c.to == "f32" && !c.ftz) return nan.code * 0x10000;
  if (c.to != "f64" && c.from != "f64") return to.canonical_nan;
  std::uint64_t payload = nan.code % (std::uint64_t{1} << from.fraction_bits);
  for (int i = from.fraction_bits; i < to.fraction_bits; ++i) payload *= 2;
  for (int i = to.fraction_bits; i < from.fraction_bits; ++i) payload /= 2;
  return to.infinity(nan.negative) | payload | std::uint64_t{1} << (to.fraction_bits - 1);
}

std::uint64_t from_infinity(const Conversion& c, const Format& to, bool negative) {
  if (c.sat) return negative ? 0 : encode(to, false, 1, 0, Round::nearest_even, false);
  if (c.relu && negative) return 0;
  if (to.specials == Specials::integer) return negative ? to.sign_bit() : to.largest;
  const std::uint64_t sign = negative ? to.sign_bit() : 0;
  if (c.satfinite || to.specials == Specials::none) return to.largest | sign;
  return to.specials == Specials::ieee ? to.infinity(negative) : to.canonical_nan;
}

// The distance above the next number toward zero, in units of 2^-n of the gap and cut, decides: with random
// bits added it reaches the gap, or it does not.
std::uint64_t stochastic(const Conversion& c, const Format& to, const Value& v, std::uint64_t random_bits) {
  const int n = c.to == "f16" ? 13 : 16;
  const int e = v.kind == Value::zero ? to.min_exponent() : floor_log2(v.magnitude, v.exponent);
  const int gap = std::max(e, to.min_exponent()) - to.fraction_bits;
  cpp_int steps = scale_and_cut(v.magnitude, v.exponent - gap);
  const cpp_int part = scale_and_cut(v.magnitude, v.exponent - gap + n) - steps * (1 << n);
  if (part + random_bits >= 1 << n) ++steps;
  const Value most = decode(to, to.largest);
  const bool beyond = scale_and_cut(steps, gap - most.exponent) > most.magnitude;
  if (beyond && !c.satfinite) return to.infinity(v.negative);
  return encode(to, v.negative, steps, gap, Round::toward_zero, c.satfinite);
}

Round direction(const std::string& word) {
  if (word.empty() || word == "rn" || word == "rni") return Round::nearest_even;
  if (word == "rz" || word == "rzi") return Round::toward_zero;
  if (word == "rm" || word == "rmi") return Round::down;
  if (word == "rp" || word == "rpi") return Round::up;
  throw std::invalid_argument("oracle: no rounding " + word);
}

bool below_normal_f32(const Value& v) {
  return v.kind == Value::finite && floor_log2(v.magnitude, v.exponent) < -126;
}

std::uint64_t from_number(const Conversion& c, const Format& to, Value v, std::uint64_t random_bits) {
  if (c.ftz && c.to != "f16" && below_normal_f32(v)) {
    v.kind = Value::zero;
    v.magnitude = 0;
  }
  if (c.relu && v.negative) return 0;
  if (c.sat && (v.negative || v.kind == Value::zero)) return 0;
  if (c.sat && floor_log2(v.magnitude, v.exponent) >= 0)
    return encode(to, false, 1, 0, Round::nearest_even, false);
  if (!to.has_sign) v.negative = false;  // ue8m0: PTX ISA, "ignoring sign"
  if (c.rounding == "rs") return stochastic(c, to, v, random_bits);
  const Round round = direction(c.rounding);
  if (c.rounding.size() == 3 && c.rounding.back() == 'i') {
    v.magnitude = round_to_integer(v.negative, v.magnitude, v.exponent, round);
    v.exponent = 0;
  }
  return encode(to, v.negative, v.magnitude, v.exponent, round, c.satfinite);
}

// PTX ISA 9.4, cvt: what becomes narrower is divided by the scale factor, what becomes wider multiplied; with n1 subnormal
// inputs are zeros.
Value scaled(const Conversion& c, const Format& from, const Format& to, Value v, std::uint64_t scale) {
  if (c.scaled == "n1" && v.kind == Value::finite &&
      floor_log2(v.magnitude, v.exponent) < from.min_exponent()) {
    v.kind = Value::zero;
    v.magnitude = 0;
  }
  const int power = static_cast<int>(scale) - 127;
  if (!c.scaled.empty()) v.exponent += to.width() > from.width() ? power : -power;
  return v;
}

std::uint64_t signed_result(const Conversion& c, const Format& from, const Format& to, std::uint64_t code,
                            std::uint64_t extra) {
  const Value v = decode(from, code);
  if (c.rounding == "rna") return to_nearest_tf32(c, v);
  if (v.kind == Value::nan || (!c.scaled.empty() && extra == 0xFF)) return from_nan(c, from, to, v);
  if (v.kind == Value::infinity) return from_infinity(c, to, v.negative);
  return from_number(c, to, scaled(c, from, to, v, extra), extra);
}

}  // namespace

std::uint64_t convert(const Conversion& c, std::uint64_t code, std::uint64_t extra) {
  const Format &from = find_format(c.from), &to = find_format(c.to);
  const std::uint64_t out = signed_result(c, from, to, code, extra);
  return c.pzo && out == to.sign_bit() ? 0 : out;
}

}  // namespace oracle
