// SPDX-License-Identifier: Apache-2.0
#include "texture/axis.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace warpbit::texture {

using ptx::Addressing;

double coordinate(std::uint32_t bits) {
  const bool subnormal = (bits >> 23 & 0xFF) == 0;
  return std::bit_cast<float>(subnormal ? bits & 0x8000'0000 : bits);
}

Axis::Fixed Axis::fixed(double u) const {
  if (std::isnan(u)) u = 0;
  if (!normalized_) {
    constexpr double kFar = 1 << 20;
    return {static_cast<std::int64_t>(std::floor(std::ldexp(std::clamp(u, -kFar, kFar), 24))), 24, false};
  }
  const int bits = texels_ <= 8192 ? 21 : texels_ <= 65536 ? 22 : 23;
  const bool repeats = addressing_ == Addressing::wrap || addressing_ == Addressing::mirror;
  if (repeats && std::abs(u) >= 0x1p40) u = 0;
  if (!repeats) u = std::clamp(u, -4.0, 4.0);
  std::int64_t units = static_cast<std::int64_t>(std::floor(std::ldexp(u, bits)));
  const bool mirrored = addressing_ == Addressing::mirror && (units >> bits & 1) != 0;
  if (repeats) units &= (std::int64_t{1} << bits) - 1;
  return {units * texels_, bits, mirrored};
}

std::optional<std::uint32_t> Axis::texel(std::int64_t index, bool mirrored) const {
  const std::int64_t n = texels_;
  if (addressing_ == Addressing::wrap) return static_cast<std::uint32_t>((index % n + n) % n);
  if (addressing_ == Addressing::border && (index < 0 || index >= n)) return std::nullopt;
  const std::int64_t inside = std::clamp<std::int64_t>(index, 0, n - 1);
  return static_cast<std::uint32_t>(mirrored ? n - 1 - inside : inside);
}

std::optional<std::uint32_t> Axis::point(double u) const {
  const Fixed at = fixed(u);
  return texel(at.value >> at.bits, at.mirrored);
}

// Half a texel less, and half a 256th more: rounded half up to 256ths.
Neighbours Axis::neighbours(double u) const {
  const Fixed at = fixed(u);
  const std::int64_t half = std::int64_t{1} << (at.bits - 1);
  const std::int64_t in_256ths = (at.value - half + (half >> 8)) >> (at.bits - 8);
  Neighbours out{texel(in_256ths >> 8, at.mirrored), texel((in_256ths >> 8) + 1, at.mirrored),
                 static_cast<int>(in_256ths & 255)};
  if (addressing_ == Addressing::clamp && out.first == out.second) out.weight = 0;
  return out;
}

}  // namespace warpbit::texture
