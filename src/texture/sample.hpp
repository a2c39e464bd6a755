// SPDX-License-Identifier: Apache-2.0
// What texture instructions read: the specification, a lane at a time.
#pragma once

#include <array>
#include <cstdint>

#include "warpbit/detail/texture.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::texture {

/// Four channels: r, g, b, a.
using Texel = std::array<std::uint32_t, 4>;

/// Where: bits of floats, or integers that count texels; of a cube a direction.
struct Place {
  std::array<std::uint32_t, 3> at = {};
  bool integers = false;
  std::uint32_t layer = 0;  ///< of an array; beyond the last it is the last one
};

/// tex: the texel, or a filtered one. Integers beyond the edge, or a layer beyond the last beside integers, read zeros. An
/// integer reads zeros of a texture "1d", as an H100 does: it is for linear memory.
Texel read(const ptx::Texture& texture, const Place& place);

/// tld4: one component of the four texels that the filter would take, from the lower left one on against the clock: (0, 1), (1, 1),
/// (1, 0), (0, 0). They pass the filter, one by one, if results are floats.
Texel gather(const ptx::Texture& texture, const Place& place, int component);

}  // namespace warpbit::texture
#pragma GCC visibility pop
