// SPDX-License-Identifier: Apache-2.0
// One coordinate of a texture: which texels it names, and how much each of them counts.
#pragma once

#include <cstdint>
#include <optional>

#include "warpbit/detail/texture.hpp"

namespace warpbit::texture {

/// Two neighbours on an axis. Nothing: the border.
struct Neighbours {
  std::optional<std::uint32_t> first, second;
  int weight = 0;  ///< of the second, in 1/256
};

/// A coordinate as an H100 has it: a fixed-point number of texels, without rounding.
///
///     normalized        floor(u 2^b) n, in 2^-b of a texel: b = 21, 22 or 23 for n up to 8192, 65536, 131072
///     not normalized    floor(u 2^24), in 2^-24
///
/// A subnormal and a NaN are 0. With wrap and mirror the integer part of u is dropped first, and one of 2^40 or more is 0.
class Axis {
 public:
  Axis(std::uint32_t texels, ptx::Addressing addressing, bool normalized)
      : texels_(texels), addressing_(addressing), normalized_(normalized) {}

  /// The texel in which a coordinate lies.
  std::optional<std::uint32_t> point(double u) const;
  /// Those between whose centres it lies; the weight is rounded half up.
  Neighbours neighbours(double u) const;

 private:
  /// In which texel, counted from the tile of a mirror in which u lies.
  struct Fixed {
    std::int64_t value;
    int bits;
    bool mirrored;
  };
  Fixed fixed(double u) const;
  std::optional<std::uint32_t> texel(std::int64_t index, bool mirrored) const;

  std::uint32_t texels_;
  ptx::Addressing addressing_;
  bool normalized_;
};

/// The bits of a coordinate as a number: a subnormal is 0.
double coordinate(std::uint32_t bits);

}  // namespace warpbit::texture
