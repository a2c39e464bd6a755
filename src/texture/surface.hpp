// SPDX-License-Identifier: Apache-2.0
// The surfaces of the process, by handle, and which of their bytes an access has. A row in memory, and accesses of 4 bytes to it:
//
//     x, in bytes     -4     0     4     8    12        outside: x < 0, or no whole access is left of the row
//                      |-----|=====|=====|=--|          .clamp takes the nearest place that is a multiple of the size
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpbit/detail/surface.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::texture {

/// The surface of a handle that ptx::surface has returned and nobody has forgotten; nullptr of others.
std::shared_ptr<const ptx::Surface> find_surface(std::uint64_t handle);
/// False if there is none.
bool forget_surface(std::uint64_t handle);
/// The bytes of all of them.
std::vector<std::span<std::byte>> surface_memory();

/// "a 2D surface of 64 x 32 texels of u8".
std::string describe(const ptx::Surface& surface);
/// Bytes of a texel.
std::uint64_t texel_bytes(const ptx::Surface& surface);
/// Bytes of a row.
std::uint64_t row_bytes(const ptx::Surface& surface);

/// What an access beyond the edge does.
enum class Outside : std::uint8_t { trap, clamp, zero };

/// An access. x is in bytes, and a multiple of those of the access (.b); counts texels (sust.p); or counts words of the
/// reduction's type in a row (sured.p), which are texels if those have its size.
struct SurfaceAccess {
  enum class Unit : std::uint8_t { byte, texel, word };
  std::uint64_t bytes = 4;  ///< of sust.p those of a texel
  Unit unit = Unit::byte;
  Outside outside = Outside::trap;
};

/// Coordinates, x first, and the layer of an array, whose lowest 16 bits count.
struct SurfacePlace {
  std::array<std::int32_t, 3> at = {};
  std::uint32_t layer = 0;
};

/// The first byte of an access; nothing if it lies outside and is not clamped, and of an access that is larger than a row.
/// Precondition: x is a multiple of the bytes, if it counts them.
std::optional<std::uint64_t> offset(const ptx::Surface& surface, const SurfaceAccess& access,
                                    const SurfacePlace& place);

/// What sust.p makes of a 32-bit element: the code of a channel. Integers are the nearest that the format has; a float is cut to f16,
/// the greatest number beyond it.
std::uint32_t as_stored(ptx::TexelFormat format, std::uint32_t element);

}  // namespace warpbit::texture
#pragma GCC visibility pop
