// SPDX-License-Identifier: Apache-2.0
#include "texture/filter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "numeric/conversion.hpp"

namespace warpbit::texture {
namespace {

using ptx::TexelFormat;

/// A format of floats.
struct Floating {
  int fraction;       ///< bits
  int top;            ///< the exponent of infinities and NaNs
  bool subnormals;    ///< they are numbers
  std::uint32_t nan;  ///< as f32
};
constexpr Floating kHalf{10, 31, true, 0x7FFF'E000}, kSingle{23, 255, false, 0x7FFF'FFFF};

struct Number {
  bool negative;
  int exponent;  ///< as it is stored; of a subnormal 1
  std::uint32_t significand;
};

Number taken_apart(const Floating& f, std::uint32_t code) {
  const auto exponent = static_cast<int>(code >> f.fraction) & f.top;
  const std::uint32_t unit = std::uint32_t{1} << f.fraction, fraction = code & (unit - 1);
  const bool negative = (code >> (f.fraction + std::bit_width(static_cast<unsigned>(f.top))) & 1) != 0;
  if (exponent == 0) return {negative, 1, f.subnormals ? fraction : 0};
  return {negative, exponent, unit | fraction};
}

bool is_special(const Floating& f, const Number& x) {
  return x.exponent == f.top;
}
bool is_nan(const Floating& f, const Number& x) {
  return is_special(f, x) && x.significand != std::uint32_t{1} << f.fraction;
}

// The bits of +-significand 2^(exponent - bias - fraction) as f32. Precondition: f32 holds it, or it is no number of f16.
std::uint32_t as_single(const Floating& f, bool negative, std::uint64_t significand, int exponent) {
  const int bias = f.top / 2;
  const double size = std::ldexp(static_cast<double>(significand), exponent - bias - f.fraction);
  const bool beyond = size >= std::ldexp(1.0, bias + 1), vanishes = !f.subnormals && size < 0x1p-126;
  const float out = beyond ? HUGE_VALF : vanishes ? 0.0F : static_cast<float>(size);
  return std::bit_cast<std::uint32_t>(negative ? -out : out);
}

// A sum in 2^-(fraction + 4 + 8), rounded to the precision of the format, half away from 0.
std::uint32_t rounded(const Floating& f, std::int64_t sum, int exponent) {
  auto size = static_cast<std::uint64_t>(std::abs(sum));
  exponent -= 4 + 8;
  const int most = static_cast<int>(std::bit_width(size)) - f.fraction - 1;
  const int cut = std::max(most, 1 - exponent);
  if (cut > 0) {
    size = cut > 62 ? 0 : (size + (std::uint64_t{1} << cut >> 1)) >> cut;
    exponent += cut;
  }
  return as_single(f, sum < 0, size, exponent);
}

std::uint32_t filtered_floats(const Floating& f, std::span<const Part> parts) {
  std::array<Number, 8> all;
  bool positive = false, negative = false, all_negative_zeros = true;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    all[i] = taken_apart(f, parts[i].code);
    if (is_nan(f, all[i]) || (is_special(f, all[i]) && parts[i].weight == 0)) return f.nan;
    if (is_special(f, all[i])) (all[i].negative ? negative : positive) = true;
    all_negative_zeros = all_negative_zeros && all[i].negative && all[i].significand == 0;
  }
  if (positive && negative) return f.nan;
  if (positive || negative) return negative ? 0xFF80'0000 : 0x7F80'0000;
  std::array<int, 2> exponent{};  // the largest of a slice, of texels that are not 0
  for (std::size_t i = 0; i < parts.size(); ++i) {
    int& of = exponent[static_cast<std::size_t>(parts[i].slice)];
    if (parts[i].weight != 0 && all[i].significand != 0) of = std::max(of, all[i].exponent);
  }
  if (exponent == std::array{0, 0}) return all_negative_zeros ? 0x8000'0000 : 0;
  std::array<std::int64_t, 2> sums{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto slice = static_cast<std::size_t>(parts[i].slice);
    if (parts[i].weight == 0 || all[i].significand == 0) continue;
    const int cut = std::min(exponent[slice] - all[i].exponent, 40);
    const std::int64_t size = (std::int64_t{all[i].significand} << 4 >> cut) * parts[i].weight;
    sums[slice] += all[i].negative ? -size : size;
  }
  constexpr int kStep = 4;
  const int top = std::max(exponent[0], exponent[1]) / kStep;
  std::int64_t sum = 0;
  for (const std::size_t slice : {0U, 1U})
    sum += (sums[slice] << exponent[slice] % kStep) >> std::min((top - exponent[slice] / kStep) * kStep, 62);
  return rounded(f, sum, top * kStep);
}

std::int32_t signed_code(TexelFormat format, std::uint32_t code) {
  switch (format) {
    case TexelFormat::s8: return static_cast<std::int8_t>(code);
    case TexelFormat::s16: return static_cast<std::int16_t>(code);
    default: return static_cast<std::int32_t>(code);
  }
}

std::uint32_t over(std::int32_t number, std::int32_t one) {
  return std::bit_cast<std::uint32_t>(
      static_cast<float>(static_cast<double>(std::max(number, -one)) / static_cast<double>(one)));
}

std::uint32_t filtered_integers(TexelFormat format, bool floats, std::span<const Part> parts) {
  std::int32_t sum = 0;
  for (const Part& one : parts) sum += one.weight * signed_code(format, one.code);
  const std::int32_t whole = (sum + 128) >> 8;
  if (!floats) return static_cast<std::uint32_t>(whole);
  switch (format) {
    case TexelFormat::u8: return over((257 * sum + 128) >> 8, 65535);
    case TexelFormat::u16: return over(whole, 65535);
    case TexelFormat::s8: return over((129 * sum + 16 * (sum >> 12) + 64) >> 7, 32767);
    default: return over(whole, 32767);
  }
}

}  // namespace

Weights weights(int x, int y, int z) {
  Weights out{};
  for (const std::size_t i : {0U, 1U}) {
    const int slice = i == 1 ? z : 256 - z, second = (slice * x + 128) >> 8;
    for (const std::size_t k : {0U, 1U}) {
      const int column = k == 1 ? second : slice - second;
      out[i][1][k] = (column * y + (k == 1 ? 128 : 127)) >> 8;
      out[i][0][k] = column - out[i][1][k];
    }
  }
  return out;
}

std::uint32_t filtered(TexelFormat format, bool floats, std::span<const Part> parts) {
  if (format == TexelFormat::f16) return filtered_floats(kHalf, parts);
  if (format == TexelFormat::f32) return filtered_floats(kSingle, parts);
  return filtered_integers(format, floats, parts);
}

std::uint32_t as_read(TexelFormat format, bool floats, std::uint32_t code) {
  if (format == TexelFormat::f16) {
    const Number half = taken_apart(kHalf, code);
    if (!is_special(kHalf, half)) return as_single(kHalf, half.negative, half.significand, half.exponent);
    return (code & 0x8000) << 16 | 0x7F80'0000 | (code & 0x3FF) << 13;
  }
  if (!floats) return static_cast<std::uint32_t>(signed_code(format, code));
  switch (format) {
    case TexelFormat::u8: return over(static_cast<std::int32_t>(code), 255);
    case TexelFormat::u16: return over(static_cast<std::int32_t>(code), 65535);
    case TexelFormat::s8: return over(signed_code(format, code), 127);
    default: return over(signed_code(format, code), 32767);
  }
}

std::uint32_t as_half(std::uint32_t bits) {
  if ((bits & 0x7F80'0000) == 0x7F80'0000) return (bits >> 16 & 0x8000) | 0x7C00 | (bits >> 13 & 0x3FF);
  constexpr Conversion kToHalf{.from = FormatId::f32, .to = FormatId::f16, .rounding = CvtRounding::rn};
  return static_cast<std::uint32_t>(convert(kToHalf, bits, 0));
}

}  // namespace warpbit::texture
