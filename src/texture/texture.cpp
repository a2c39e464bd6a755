// SPDX-License-Identifier: Apache-2.0
#include "texture/texture.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "texture/filter.hpp"
#include "texture/handles.hpp"

namespace warpbit {
namespace texture {
namespace {

constexpr ShapeRow kShapes[] = {
    {"memory", "a texture of linear memory", 1, false, false, 1U << 28},
    {"1d", "a 1D texture", 1, false, false, 131072},
    {"2d", "a 2D texture", 2, false, false, 131072},
    {"3d", "a 3D texture", 3, false, false, 16384},
    {"a1d", "a 1D texture array", 1, true, false, 32768},
    {"a2d", "a 2D texture array", 2, true, false, 32768},
    {"cube", "a cube map", 2, false, true, 32768},
    {"acube", "a cube map array", 2, true, true, 32768},
};

}  // namespace

const ShapeRow& shape_row(ptx::TextureShape shape) {
  return kShapes[static_cast<std::size_t>(shape)];
}

}  // namespace texture

namespace ptx {
namespace {

using texture::shape_row;
using texture::ShapeRow;

struct FormatRow {
  std::string_view name;
  int bytes;
  bool is_float;
};
constexpr FormatRow kFormats[] = {{"u8", 1, false},  {"s8", 1, false},  {"u16", 2, false}, {"s16", 2, false},
                                  {"u32", 4, false}, {"s32", 4, false}, {"f16", 2, true},  {"f32", 4, true}};
const FormatRow& format_row(TexelFormat format) {
  return kFormats[static_cast<std::size_t>(format)];
}

bool is_narrow(TexelFormat format) {
  return !format_row(format).is_float && format_row(format).bytes < 4;
}

std::uint64_t bytes_of(const Texture& texture) {
  const std::uint64_t faces = shape_row(texture.shape).is_cube ? 6 : 1;
  return std::uint64_t{texture.width} * texture.height * texture.depth * texture.layers * faces *
         static_cast<std::uint64_t>(texture.channels) *
         static_cast<std::uint64_t>(format_row(texture.format).bytes);
}

// Whether a format has a colour.
bool has_colour(const Texture& texture, float colour) {
  if (texture.format == TexelFormat::f16) {
    const auto bits = std::bit_cast<std::uint32_t>(colour);
    return !std::isfinite(colour) || texture::as_read(texture.format, false, texture::as_half(bits)) == bits;
  }
  if (!texture.floats) return true;
  const bool is_signed = texture.format == TexelFormat::s8 || texture.format == TexelFormat::s16;
  const int one = (1 << (8 * format_row(texture.format).bytes - is_signed)) - 1;
  const double code = std::rint(static_cast<double>(colour) * one);
  return code <= one && code >= (is_signed ? -one : 0) && static_cast<float>(code / one) == colour;
}

Error refused(std::string where, std::string seen, std::string accepted) {
  return {Errc::usage, std::move(where), std::move(seen), std::move(accepted)};
}

}  // namespace
}  // namespace ptx

namespace texture {

using ptx::refused;

std::optional<Error> wrong_extents(const ptx::Texture& texture, std::string_view said, std::uint32_t most) {
  const ShapeRow& shape = shape_row(texture.shape);
  const std::array<std::uint32_t, 3> extents = {texture.width, texture.height, texture.depth};
  const std::array<std::string_view, 3> names = {"width", "height", "depth"};
  for (std::size_t i = 0; i < 3; ++i) {
    const std::uint32_t here = i < static_cast<std::size_t>(shape.axes) ? most : 1;
    if (extents[i] == 0 || extents[i] > here)
      return refused(std::string(names[i]), std::to_string(extents[i]),
                     fmt::format("1 to {} of {}", here, said));
  }
  if (shape.is_cube && texture.width != texture.height)
    return refused("height", std::to_string(texture.height), fmt::format("the width, {}", texture.width));
  const std::uint32_t most_layers = shape.is_array ? 2048 : 1;
  if (texture.layers == 0 || texture.layers > most_layers)
    return refused("layers", std::to_string(texture.layers), fmt::format("1 to {} of {}", most_layers, said));
  if (texture.channels != 1 && texture.channels != 2 && texture.channels != 4)
    return refused("channels", std::to_string(texture.channels), "1, 2 or 4");
  if (texture.texels.size() != ptx::bytes_of(texture))
    return refused("texels", fmt::format("{} bytes", texture.texels.size()),
                   fmt::format("{}", ptx::bytes_of(texture)));
  return std::nullopt;
}

std::optional<Error> wrong(const ptx::Texture& texture) {
  const ShapeRow& shape = shape_row(texture.shape);
  if (std::optional<Error> error = wrong_extents(texture, shape.said, shape.most)) return error;
  if (texture.floats && !ptx::is_narrow(texture.format))
    return refused("floats", fmt::format("texels of {}", name(texture.format)), "u8, s8, u16 or s16");
  if (texture.linear && !ptx::is_narrow(texture.format) && !ptx::format_row(texture.format).is_float)
    return refused("linear", fmt::format("texels of {}", name(texture.format)),
                   "f16, f32, or integers of 8 or 16 bits");
  if (texture.shape == ptx::TextureShape::memory && (texture.linear || texture.normalized))
    return refused(texture.linear ? "linear" : "normalized", std::string(shape.said),
                   "another shape: linear memory is not filtered");
  for (const float one : texture.border)
    if (!ptx::has_colour(texture, one))
      return refused("border", fmt::format("{}", one),
                     fmt::format("a number that {} has", name(texture.format)));
  return std::nullopt;
}

}  // namespace texture

namespace ptx {
namespace {

// ---- Those of the process

texture::Handles<Texture>& textures() {
  static texture::Handles<Texture> out(0x0D00'0000'0000);
  return out;
}

}  // namespace

std::string_view name(TexelFormat format) {
  return format_row(format).name;
}
int texel_bytes(TexelFormat format) {
  return format_row(format).bytes;
}
std::string_view name(TextureShape shape) {
  return shape_row(shape).name;
}
std::string_view name(Addressing addressing) {
  constexpr std::array<std::string_view, 4> kNames = {"wrap", "clamp", "mirror", "border"};
  return kNames[static_cast<std::size_t>(addressing)];
}

std::optional<TexelFormat> find_texel_format(std::string_view name) {
  const auto* const found = std::ranges::find(kFormats, name, &FormatRow::name);
  if (found == std::end(kFormats)) return std::nullopt;
  return static_cast<TexelFormat>(found - kFormats);
}
std::optional<TextureShape> find_texture_shape(std::string_view name) {
  const auto* const found = std::ranges::find(texture::kShapes, name, &ShapeRow::name);
  if (found == std::end(texture::kShapes)) return std::nullopt;
  return static_cast<TextureShape>(found - texture::kShapes);
}
std::optional<Addressing> find_addressing(std::string_view name) {
  for (const Addressing one : {Addressing::wrap, Addressing::clamp, Addressing::mirror, Addressing::border})
    if (ptx::name(one) == name) return one;
  return std::nullopt;
}

Result<Texture> with_extents(Texture texture, std::span<const std::uint64_t> array) {
  return texture::with_extents(texture, array, shape_row(texture.shape).said);
}

Result<std::uint64_t> texture(const Texture& texture) {
  if (std::optional<Error> error = texture::wrong(texture)) return *std::move(error);
  return textures().add(texture);
}

}  // namespace ptx

namespace texture {

Result<ptx::Texture> with_extents(ptx::Texture texture, std::span<const std::uint64_t> array,
                                  std::string_view said) {
  const ShapeRow& shape = shape_row(texture.shape);
  const std::size_t faces = shape.is_cube ? 1 : 0, layers = shape.is_array ? 1 : 0;
  const std::size_t axes = layers + faces + static_cast<std::size_t>(shape.axes);
  const auto mismatch = [&] {
    return refused("texture", fmt::format("an array of shape ({})", fmt::join(array, ", ")),
                   fmt::format("of {}: ({}{}{}{}width), and channels behind them if there are several", said,
                               layers != 0 ? "layers, " : "", faces != 0 ? "6, " : "",
                               shape.axes > 2 ? "depth, " : "", shape.axes > 1 ? "height, " : ""));
  };
  if (array.size() != axes && array.size() != axes + 1) return mismatch();
  for (const std::uint64_t one : array)
    if (one > 0xFFFF'FFFF) return mismatch();
  if (faces != 0 && array[layers] != 6) return mismatch();
  const auto at = [&](std::size_t from_last) {
    return static_cast<std::uint32_t>(array[axes - 1 - from_last]);
  };
  texture.width = at(0);
  if (shape.axes > 1) texture.height = at(1);
  if (shape.axes > 2) texture.depth = at(2);
  if (layers != 0) texture.layers = static_cast<std::uint32_t>(array[0]);
  texture.channels = array.size() == axes ? 1 : static_cast<int>(std::min<std::uint64_t>(array.back(), 5));
  return texture;
}

std::shared_ptr<const ptx::Texture> find(std::uint64_t handle) {
  return ptx::textures().find(handle);
}

bool forget(std::uint64_t handle) {
  return ptx::textures().forget(handle);
}

std::string describe_extents(const ptx::Texture& texture) {
  const int axes = shape_row(texture.shape).axes;
  std::string extents = std::to_string(texture.width);
  if (axes > 1) extents += fmt::format(" x {}", texture.height);
  if (axes > 2) extents += fmt::format(" x {}", texture.depth);
  return extents + " texels";
}

std::string describe(const ptx::Texture& texture) {
  return fmt::format("{} of {}", shape_row(texture.shape).said, describe_extents(texture));
}

}  // namespace texture
}  // namespace warpbit
