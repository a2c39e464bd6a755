// SPDX-License-Identifier: Apache-2.0
// Textures, as tex, tld4 and txq read them (PTX manual, "Texture Instructions"; CUDA C++ Programming Guide, "Texture Memory").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "warpbit/result.hpp"

#pragma GCC visibility push(default)
namespace warpbit::ptx {

/// How a channel of a texel is stored.
enum class TexelFormat : std::uint8_t { u8, s8, u16, s16, u32, s32, f16, f32 };
/// Its name: "u8".
std::string_view name(TexelFormat format);
/// The bytes of a channel.
int texel_bytes(TexelFormat format);

/// What a texture is, named as instructions name it: "memory" (linear memory, for tex.1d with an integer), "1d", "2d", "3d",
/// "a1d", "a2d" (arrays of layers), "cube" (six faces), "acube".
enum class TextureShape : std::uint8_t { memory, one, two, three, one_array, two_array, cube, cube_array };
std::string_view name(TextureShape shape);

/// What stands beyond the edge (cudaTextureAddressMode): the other edge, the last texel, the texture mirrored, or the border.
enum class Addressing : std::uint8_t { wrap, clamp, mirror, border };
std::string_view name(Addressing addressing);
/// Those of a name.
std::optional<TexelFormat> find_texel_format(std::string_view name);
std::optional<TextureShape> find_texture_shape(std::string_view name);
std::optional<Addressing> find_addressing(std::string_view name);

/// A texture object (cudaTextureDesc and cudaResourceDesc), without mipmaps.
struct Texture {
  /// Texels without gaps: layers, faces (+x, -x, +y, -y, +z, -z), depth, height, width, channels. They must live until the
  /// handle is forgotten; a launch reads them as they are then.
  std::span<const std::byte> texels = {};
  TexelFormat format = TexelFormat::f32;
  int channels = 1;  ///< 1, 2 or 4; those that a texel lacks are read as 0
  TextureShape shape = TextureShape::two;
  std::uint32_t width = 1, height = 1, depth = 1;
  std::uint32_t layers = 1;  ///< of arrays
  /// By axis, of a cube by those of its faces. Wrap and mirror are clamp where coordinates are not normalized (an H200).
  std::array<Addressing, 3> addressing = {Addressing::clamp, Addressing::clamp, Addressing::clamp};
  bool linear = false;      ///< filtered (cudaFilterModeLinear): not of integers of 32 bits
  bool normalized = false;  ///< coordinates from 0 to 1, as cubes have them
  bool floats =
      false;  ///< u8, s8, u16 and s16 are read as floats from 0 or -1 to 1 (cudaReadModeNormalizedFloat)
  /// By channel. With `floats`, and of f16, numbers that the format has; of other integers the bits of the float count, cut to
  /// the format (an H100).
  std::array<float, 4> border = {};
};

/// A texture with the extents, layers and channels of an array in C's order: [layers][faces][depth][height][width], as far as its
/// shape has them, or these and [channels]. Errors: usage.
Result<Texture> with_extents(Texture texture, std::span<const std::uint64_t> array);

/// The handle by which all launches of this process reach a texture, a parameter .u64 of kernels, until it is forgotten
/// (ptx::forget). Errors: usage, which says what is impossible.
Result<std::uint64_t> texture(const Texture& texture);

/// How textures are read, apart from them: what a variable or a parameter .samplerref stands for, in modules with .target ...,
/// texmode_independent. There a texture's own addressing, filter and border do not count.
struct Sampler {
  /// As of a texture, by axis.
  std::array<Addressing, 3> addressing = {Addressing::clamp, Addressing::clamp, Addressing::clamp};
  bool linear = false;        ///< filtered
  bool unnormalized = false;  ///< coordinates count texels, also of a texture with coordinates from 0 to 1
  std::array<float, 4> border = {};
};

/// The handle of a sampler, until it is forgotten (ptx::forget).
std::uint64_t sampler(const Sampler& sampler);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
