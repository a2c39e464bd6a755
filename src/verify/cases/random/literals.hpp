// SPDX-License-Identifier: Apache-2.0
// Literals of a random kernel's text.
#pragma once

#include <cstdio>
#include <string>

#include "verify/cases/random/numbers.hpp"

namespace random_kernels::literals {

inline std::string hex(const char* format, std::uint64_t code) {
  char out[32];
  std::snprintf(out, sizeof out, format, static_cast<unsigned long long>(code));
  return out;
}
inline std::uint32_t code_of(float number) {
  std::uint32_t code;
  __builtin_memcpy(&code, &number, sizeof code);
  return code;
}
inline std::uint64_t simple(Draw& draw) {
  static constexpr float kNumbers[] = {0,     1,  -1, 0.5F, 2,     -2,  0.25F, 4,  3,  6,
                                       -2.5F, 10, 37, 1.5F, 0.75F, 100, 255,   -7, 16, 0.125F};
  return code_of(kNumbers[draw.below(20)]);
}
inline std::uint64_t real(Draw& draw) {
  if (draw.percent(3)) return special(format_of('f'), draw.word());
  return draw.percent(40) ? simple(draw) : ordinary(format_of('f'), draw.word(), 3);
}
inline std::uint64_t known(Draw& draw) {
  if (draw.percent(50)) return code_of(static_cast<float>(draw.between(1, 300)));
  if (draw.percent(50))
    return code_of(static_cast<float>(draw.between(1, 64)) / static_cast<float>(1 << draw.between(0, 8)));
  return ordinary(format_of('f'), draw.word(), 8) & (draw.percent(80) ? 0x7FFFFFFFU : 0xFFFFFFFFU);
}
inline std::uint64_t power_of_two(Draw& draw) {
  const int exponent = draw.percent(85) ? draw.between(-3, 4) : draw.between(-60, 60);
  return (static_cast<std::uint64_t>(127 + exponent) << 23) | (draw.percent(12) ? 0x80000000U : 0U);
}
inline std::uint64_t whole(Draw& draw) {
  const int way = draw.below(4);
  if (way == 0) return static_cast<std::uint64_t>(draw.between(0, 40));
  if (way == 1) return std::uint64_t{1} << draw.below(32);
  if (way == 2) return (std::uint64_t{1} << draw.between(1, 32)) - 1;
  return draw.word() & 0xFFFFFFFFU;
}
/// Of a class, or g, a power of two, or k, a number that functions take.
inline std::string literal(Draw& draw, char letter) {
  switch (letter) {
    case 'f': return hex("0f%08llX", real(draw));
    case 'g': return hex("0f%08llX", power_of_two(draw));
    case 'k': return hex("0f%08llX", known(draw));
    case 'd':
      return hex("0d%016llX", draw.percent(40) ? ordinary(format_of('d'), draw.word() & ~0xFFFFFFFFULL, 3) &
                                                     ~0x3FFFFFFFFFFFFULL
                                               : ordinary(format_of('d'), draw.word(), 3));
    case 'l': return hex("0x%llX", draw.percent(60) ? whole(draw) : draw.word() >> 1);
    case 's': return hex("0x%llX", draw.word() & (draw.percent(50) ? 0x1F : 0x7FFF));
    case 'h':
    case 'b': return hex("0x%04llX", ordinary(format_of(letter), draw.word(), 2));
    case 'x':
    case 'y': {
      const std::uint64_t low = ordinary(format_of(letter), draw.word(), 2);
      return hex("0x%08llX", low | ordinary(format_of(letter), draw.word(), 2) << 16);
    }
    default: return hex("0x%llX", whole(draw));
  }
}

}  // namespace random_kernels::literals
