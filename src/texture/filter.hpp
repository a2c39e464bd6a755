// SPDX-License-Identifier: Apache-2.0
// What the filter of a texture unit makes of up to eight texels, as an H100 does.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "warpbit/detail/texture.hpp"

namespace warpbit::texture {

/// The weights of the corners of a square or a cube of texels, in 1/256: [z][y][x], together 256. A product of weights is
/// rounded half up, and its neighbour is what is left:
///
///     z: c, 256 - c     (1, x) of each: (w a + 128) / 256     (1, y) of each: (v b + 128) / 256 where x is 1, (v b + 127) / 256
///                                                             where it is 0
using Weights = std::array<std::array<std::array<int, 2>, 2>, 2>;
Weights weights(int x, int y, int z);

/// A texel that counts: neither coordinate of it has no weight, though their product may have been rounded to 0.
struct Part {
  std::uint32_t code;
  int weight;     ///< in 1/256
  int slice = 0;  ///< its z: 0 or 1
};

/// The sum of texels of a format as the bits of a float: of integers, if `floats`, as numbers from 0 or -1 to 1. Else an integer, (sum of
/// w c + 128) / 256, rounded down, c with its sign.
///
///     u8, u16     codes of 16 bits (a byte twice): (sum of w c + 128) / 256, over 65535
///     s16         the same, over 32767, at least -1
///     s8          S = sum of w c:  (129 S + 16 (S >> 12) + 64) / 128, over 32767, at least -1
///     f16, f32    significands with 4 more bits, cut to the largest exponent of their slice; the slices' sums in units of 16^k, k of
///                 the larger of the two exponents, cut towards minus infinity; the sum rounded to f16 or f32, half away from 0
///
///     exponents as they are stored, 141 and 131:     sum 0 << 141 % 4, as 141 / 4 = 35     sum 1 << 131 % 4 >> 4 (35 - 32)
///
/// -0 only of zeros with that sign.
/// A NaN among floats, and infinities of both signs, make the NaN of all ones but its sign, of f16 extended by zeros. Subnormals of
/// f32 are zeros, as sources and as results.
std::uint32_t filtered(ptx::TexelFormat format, bool floats, std::span<const Part> parts);

/// A texel as it is: the bits of a float for f16, f32 and, if `floats`, integers; else a code extended by its sign.
std::uint32_t as_read(ptx::TexelFormat format, bool floats, std::uint32_t code);

/// The code of f16 of the bits of a float, rounded to nearest; a NaN keeps its upper bits.
std::uint32_t as_half(std::uint32_t bits);

}  // namespace warpbit::texture
