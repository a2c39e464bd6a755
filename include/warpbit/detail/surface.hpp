// SPDX-License-Identifier: Apache-2.0
// Surfaces, as suld, sust and sured access them (PTX manual, "Surface Instructions"; CUDA C++ Programming Guide, "Surface Memory").
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "warpbit/detail/texture.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit::ptx {

/// A surface object (cuSurfObjectCreate of a CUDA array with CUDA_ARRAY3D_SURFACE_LDST).
struct Surface {
  /// Bytes in C's order: [layers][depth][height][width][channels], as far as the shape has them. They stay the caller's, launches
  /// store to them, and they must live until the surface is forgotten.
  std::span<std::byte> texels = {};
  TextureShape shape = TextureShape::two;  ///< 1d, 2d, 3d, a1d or a2d
  TexelFormat format = TexelFormat::u8;
  int channels = 1;  ///< 1, 2 or 4
  std::uint32_t width = 1, height = 1, depth = 1, layers = 1;
};

/// A surface with the extents, layers and channels of an array, as `with_extents` of a texture. Errors: usage, if that has other
/// dimensions.
Result<Surface> with_extents(Surface surface, std::span<const std::uint64_t> array);

/// The handle by which all launches of this process reach a surface, a parameter .u64 of kernels, until it is forgotten
/// (`forget`). The same bytes may be a texture, too; what `tex` reads of bytes that the launch has stored the manual leaves open.
/// Errors: usage, if it can be no surface.
Result<std::uint64_t> surface(const Surface& surface);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
