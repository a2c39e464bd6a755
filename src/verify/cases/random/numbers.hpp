// SPDX-License-Identifier: Apache-2.0
// Codes of numbers: inputs of a random kernel, as a function of its kind, its seed and the place; literals of its text.
#pragma once

#include <array>
#include <vector>

#include "verify/cases/random/draw.hpp"
#include "verify/cases/random/kinds.hpp"

namespace random_kernels {

inline constexpr int kWords = 8;  ///< of a thread, before and after

/// Bits of exponent and of fraction.
struct Format {
  int exponent, fraction;
};
constexpr Format format_of(char letter) {
  switch (letter) {
    case 'd': return {11, 52};
    case 'h':
    case 'x': return {5, 10};
    case 'b':
    case 'y': return {8, 7};
    default: return {8, 23};
  }
}

/// A number with an exponent from centre - spread to centre + spread.
constexpr std::uint64_t ordinary(Format format, std::uint64_t word, int spread, int centre = 0) {
  const int bias = (1 << (format.exponent - 1)) - 1;
  const auto exponent = static_cast<std::uint64_t>(
      bias + centre - spread + static_cast<int>((word >> 53) % static_cast<unsigned>(2 * spread + 1)));
  const std::uint64_t sign = word >> 52 & 1,
                      fraction = (word ^ word >> 11) & ((std::uint64_t{1} << format.fraction) - 1);
  return ((sign << format.exponent | exponent) << format.fraction) | fraction;
}
/// Zeros, infinities, NaNs, subnormal numbers, the ends of the range, and one.
constexpr std::uint64_t special(Format format, std::uint64_t word) {
  const std::uint64_t unit = std::uint64_t{1} << format.fraction,
                      top = ((std::uint64_t{1} << format.exponent) - 1) * unit;
  const std::uint64_t bias = (std::uint64_t{1} << (format.exponent - 1)) - 1, drawn = word >> 20 & (unit - 1);
  const std::array<std::uint64_t, 12> codes = {
      0,     0,    top,     top | unit >> 1, top | unit >> 1 | drawn >> 1, top | 1, 1, unit - 1,
      drawn, unit, top - 1, bias * unit};
  return codes[(word >> 8) % codes.size()] | (word & 1) << (format.exponent + format.fraction);
}

/// How the floating inputs of a kernel are drawn: shares in percent. The product of two tiny numbers is subnormal or near it.
struct Inputs {
  int special_percent, tiny_percent, spread = 3;
};
constexpr Inputs inputs_of(const Kind& kind, std::uint64_t seed) {
  if (kind.name == "special") return {25, seed % 2 ? 40 : 0};
  return seed % 4 == 3   ? Inputs{5, 0}
         : seed % 4 == 2 ? Inputs{0, 50}
                         : Inputs{0, 0, kind.name == "conversions" ? 16 : 3};
}

constexpr std::uint64_t element(char letter, const Inputs& how, std::uint64_t word) {
  const std::uint64_t choice = mixed(word + kGamma);
  const auto one = [&](std::uint64_t x, std::uint64_t y) {
    const Format format = format_of(letter);
    if (static_cast<int>(y % 100) < how.special_percent) return special(format, x);
    const int half_way = -(1 << (format.exponent - 2)), spread = format.exponent == 5 ? 1 : how.spread;
    return ordinary(format, x, spread, static_cast<int>(y / 128 % 100) < how.tiny_percent ? half_way + 3 : 0);
  };
  switch (letter) {
    case 'r':
    case 'l':
    case 's': return choice % 4 ? word : word >> (choice / 4 % 60);
    case 'x': return one(word, choice) | one(mixed(word + 1), choice >> 32) << 16;
    case 'y': return one(word, choice) | one(mixed(word + 1), choice >> 32) << 16;
    default: return one(word, choice);
  }
}

/// kWords words of each thread.
inline std::vector<std::uint32_t> inputs(const Kind& kind, std::uint64_t seed, int threads) {
  std::vector<std::uint32_t> out;
  const Inputs how = inputs_of(kind, seed);
  const std::uint64_t start = hash_of(kind.name, seed) ^ 0x1F;
  for (int thread = 0; thread < threads; ++thread)
    for (const char letter : kind.inputs) {
      const std::uint64_t code = element(letter, how, mixed(start + kGamma * (out.size() + 1)));
      out.push_back(static_cast<std::uint32_t>(code));
      if (class_of(letter).bytes == 8) out.push_back(static_cast<std::uint32_t>(code >> 32));
    }
  return out;
}

}  // namespace random_kernels
