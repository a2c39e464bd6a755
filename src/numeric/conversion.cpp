// SPDX-License-Identifier: Apache-2.0
#include "numeric/conversion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace warpbit {
namespace {

// The roundings, in the order of CvtRounding. rs dithers the exact number and then cuts it.
struct RoundingRow {
  std::string_view name;
  Rounding direction;
  bool is_integral = false;
};
constexpr std::array<RoundingRow, 11> kRoundings{{{"", Rounding::nearest_even},
                                                  {"rn", Rounding::nearest_even},
                                                  {"rz", Rounding::toward_zero},
                                                  {"rm", Rounding::down},
                                                  {"rp", Rounding::up},
                                                  {"rna", Rounding::nearest_away},
                                                  {"rs", Rounding::toward_zero},
                                                  {"rni", Rounding::nearest_even, true},
                                                  {"rzi", Rounding::toward_zero, true},
                                                  {"rmi", Rounding::down, true},
                                                  {"rpi", Rounding::up, true}}};
const RoundingRow& row_of(CvtRounding rounding) {
  return kRoundings.at(static_cast<std::size_t>(rounding));
}

// cvt.rna.tf32.f32 is integer arithmetic on the code (golden/sm_90a/cvt/cvt_rna*):
//
//     31   30..23    22..13      12..0
//     S    EEEEEEEE  MMMMMMMMMM  mmmmmmmmmmmmm    add a half of bit 13, unless E is 255; clear m
//
// With satfinite, a result of Inf or above is then lowered by one unit of bit 13, NaNs included.
std::uint64_t nearest_away_tf32(std::uint64_t code, bool satfinite) {
  constexpr std::uint64_t kSign = 0x80000000, kInfinity = 0x7F800000, kUnit = 0x2000;
  const std::uint64_t magnitude = code & (kSign - 1);
  std::uint64_t rounded = (magnitude < kInfinity ? magnitude + kUnit / 2 : magnitude) & ~(kUnit - 1);
  if (satfinite && rounded >= kInfinity) rounded -= kUnit;
  return (code & kSign) | rounded;
}

// A NaN is canonical, with two exceptions: bf16 to f32 is a shift of the code (as in the machine code; with
// .ftz it is F2F), and to and from f64 it keeps its sign and the upper bits of its payload, and becomes
// quiet.
std::uint64_t nan_of(const Conversion& c, const Format& from, const Format& to, const Decoded& source) {
  if (c.sat) return 0;
  if (to.specials == Specials::none) return largest(to, false);
  const bool shifted = c.from == FormatId::bf16 && c.to == FormatId::f32 && !c.ftz;
  if (!shifted && c.to != FormatId::f64 && c.from != FormatId::f64) return to.canonical_nan;
  const std::uint64_t quiet = shifted ? 0 : std::uint64_t{1} << (to.fraction_bits - 1);
  const int wider = to.fraction_bits - from.fraction_bits;
  const std::uint64_t payload = wider >= 0 ? source.significand << wider : source.significand >> -wider;
  return infinity(to, source.negative) | quiet | payload;
}

// floor(magnitude * 2^n), for any n that leaves at most 128 bits.
u128 scaled(u128 magnitude, int n) {
  if (n >= 0) return magnitude << n;
  return n > -128 ? magnitude >> -n : 0;
}

//     kept bits | the highest random_bit_count(to) of the discarded ones | cut before
//               +              random_bits
Exact dithered(const Exact& x, const Format& to, std::uint64_t random_bits) {
  if (x.magnitude == 0) return x;
  const int top = bit_length(x.magnitude) - 1 + x.exponent;
  const int unit = std::max(top, to.min_exponent()) - to.fraction_bits - random_bit_count(to.id);
  return {x.negative, scaled(x.magnitude, x.exponent - unit) + random_bits, unit};
}

std::uint64_t convert_number(const Conversion& c, const Format& to, Exact x, std::uint64_t random_bits) {
  if (!to.is_signed) x.negative = false;  // ue8m0 encodes the magnitude; taken for ue5m3, too
  const auto& [name, direction, is_integral] = row_of(c.rounding);
  if (is_integral) x = to_integer(x, direction);
  if (c.rounding == CvtRounding::rs) x = dithered(x, to, random_bits);
  const Overflow overflow = c.satfinite                     ? Overflow::saturate
                            : c.rounding == CvtRounding::rs ? Overflow::to_infinity
                                                            : Overflow::ieee;
  return encode(to, x, direction, overflow);
}

std::uint64_t infinity_of(const Conversion& c, const Format& to, bool negative) {
  if (c.satfinite || to.specials == Specials::none) return largest(to, negative);
  return to.specials == Specials::ieee ? infinity(to, negative) : to.canonical_nan;
}

// Codes of the same sign are ordered like their numbers.
std::uint64_t clamped(const Conversion& c, const Format& to, std::uint64_t code) {
  const std::uint64_t sign = to.is_signed ? std::uint64_t{1} << (to.bits - 1) : 0;
  if ((c.sat || c.relu) && (code & sign)) return 0;
  if (c.pzo && code == sign) return 0;
  const std::uint64_t one = static_cast<std::uint64_t>(to.bias) << (to.fraction_bits + to.ignored_low);
  return c.sat ? std::min(code, one) : code;
}

// ptxas assembles cvt.ftz to f16 as without .ftz, for every target; only rm and rp reveal this.
bool flushes(const Conversion& c, const Exact& x) {
  const bool ftz = c.ftz && c.to != FormatId::f16;
  if (!ftz && c.scaling != Scaling::n1) return false;
  return bit_length(x.magnitude) + x.exponent <= format(ftz ? FormatId::f32 : c.from).min_exponent();
}

// Times 2^(scale - 127), or divided by it: exact, as the one rounding comes after it.
void rescale(const Conversion& c, const Decoded& scale, Exact& x) {
  x.exponent += format(c.to).bits > format(c.from).bits ? scale.exponent : -scale.exponent;
}

// One element's share of rbits: two bytes, read from the highest bit down or from the lowest up.
struct Share {
  int high_byte, low_byte;
  bool reversed;
};
using Shares = std::array<Share, 4>;

// PTX ISA 9.0, cvt, the figures "Random bits layout for .rs rounding", show the bits of each element. Of two
// elements with the same bits, one reads them in reverse; that was found on sm_100 for bf16x2, e4m3x4, e5m2x4
// and e2m1x4 (github.com/vkuzo/quant_cast_bench, experiments/nvidia_rs_bit_probe). FP6 shares the figure of
// FP8.
constexpr Shares kHalves{{{1, 0, false}, {3, 2, false}}};
constexpr Shares kSharedHalves{{{1, 0, false}, {1, 0, true}, {3, 2, false}, {3, 2, true}}};
constexpr Shares kSharedBytes{{{2, 0, false}, {2, 0, true}, {3, 1, false}, {3, 1, true}}};

const Shares& shares(FormatId to) {
  if (to == FormatId::f16 || to == FormatId::bf16) return kHalves;
  return to == FormatId::e2m1 ? kSharedBytes : kSharedHalves;
}

}  // namespace

std::uint64_t convert(const Conversion& c, std::uint64_t code, std::uint64_t extra) {
  const Format &from = format(c.from), &to = format(c.to), &ue8m0 = format(FormatId::ue8m0);
  if (c.rounding == CvtRounding::rna) return nearest_away_tf32(code, c.satfinite);
  const Decoded source = decode(from, code);
  const Decoded scale = c.scaling == Scaling::none ? Decoded{1} : decode(ue8m0, extra);
  if (source.cls == Class::nan || scale.cls == Class::nan) return nan_of(c, from, to, source);
  if (source.cls == Class::infinity) return clamped(c, to, infinity_of(c, to, source.negative));
  Exact number = exact(source, from);
  if (flushes(c, number)) number.magnitude = 0;
  rescale(c, scale, number);
  return clamped(c, to, convert_number(c, to, number, extra));
}

std::uint64_t extra_of(const Conversion& c, int element, std::uint32_t operand) {
  constexpr std::uint32_t kByte = 0xFF;
  if (c.rounding == CvtRounding::rs) return random_bits(c.to, element, operand);
  return operand >> (c.scaling == Scaling::n2 ? 8 * element : 0) & kByte;
}

int random_bit_count(FormatId to) {
  return to == FormatId::f16 ? 13 : 16;
}

std::uint64_t random_bits(FormatId to, int element, std::uint32_t rbits) {
  const Share share = shares(to)[static_cast<std::size_t>(element)];
  const auto byte = [&](int i) { return rbits >> (8 * i) & 0xFF; };
  const std::uint32_t bits = byte(share.high_byte) << 8 | byte(share.low_byte);
  std::uint32_t out = 0;
  for (int i = 0; i < 16; ++i) out |= (bits >> i & 1) << (share.reversed ? 15 - i : i);
  return out & ((1u << random_bit_count(to)) - 1);
}

std::string describe(const Conversion& c) {
  std::string out = fmt::format("{} -> {}", format(c.from).name, format(c.to).name);
  if (c.rounding != CvtRounding::none) out += fmt::format(" {}", name(c.rounding));
  if (c.ftz) out += ", ftz";
  if (c.sat) out += ", sat";
  if (c.satfinite) out += ", satfinite";
  if (c.relu) out += ", relu";
  if (c.pzo) out += ", pzo";
  if (c.scaling != Scaling::none) out += c.scaling == Scaling::n1 ? ", scaled by one" : ", each scaled";
  return out;
}

std::string_view name(CvtRounding rounding) {
  return row_of(rounding).name;
}

}  // namespace warpbit
