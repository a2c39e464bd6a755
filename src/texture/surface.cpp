// SPDX-License-Identifier: Apache-2.0
#include "texture/surface.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "numeric/conversion.hpp"
#include "texture/filter.hpp"
#include "texture/handles.hpp"
#include "texture/texture.hpp"

namespace warpbit {
namespace texture {
namespace {

using ptx::TexelFormat, ptx::TextureShape;

/// What CUDA takes of a shape (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
struct SurfaceRow {
  TextureShape shape;
  std::string_view said;
  std::uint32_t most;  ///< texels of an axis
};
constexpr SurfaceRow kSurfaceRows[] = {
    {TextureShape::one, "a 1D surface", 32768},
    {TextureShape::two, "a 2D surface", 131072},
    {TextureShape::three, "a 3D surface", 16384},
    {TextureShape::one_array, "a 1D surface array", 32768},
    {TextureShape::two_array, "a 2D surface array", 32768},
};

const SurfaceRow* surface_row(TextureShape shape) {
  const auto* const found = std::ranges::find(kSurfaceRows, shape, &SurfaceRow::shape);
  return found == std::end(kSurfaceRows) ? nullptr : found;
}

ptx::Texture as_texture(const ptx::Surface& of) {
  ptx::Texture out;
  out.texels = of.texels, out.shape = of.shape, out.format = of.format, out.channels = of.channels;
  out.width = of.width, out.height = of.height, out.depth = of.depth, out.layers = of.layers;
  return out;
}

Error no_surface(TextureShape shape) {
  return {Errc::usage, "shape", std::string(name(shape)), "1d, 2d, 3d, a1d or a2d of a surface"};
}

Handles<ptx::Surface>& surfaces() {
  static Handles<ptx::Surface> out(0x0D80'0000'0000);
  return out;
}

}  // namespace

std::shared_ptr<const ptx::Surface> find_surface(std::uint64_t handle) {
  return surfaces().find(handle);
}

bool forget_surface(std::uint64_t handle) {
  return surfaces().forget(handle);
}

std::vector<std::span<std::byte>> surface_memory() {
  std::vector<std::span<std::byte>> out;
  surfaces().for_each([&](const ptx::Surface& one) { out.push_back(one.texels); });
  return out;
}

std::string describe(const ptx::Surface& surface) {
  return fmt::format("{} of {}", surface_row(surface.shape)->said, describe_extents(as_texture(surface)));
}

std::uint64_t texel_bytes(const ptx::Surface& surface) {
  return static_cast<std::uint64_t>(surface.channels) *
         static_cast<std::uint64_t>(ptx::texel_bytes(surface.format));
}

std::uint64_t row_bytes(const ptx::Surface& surface) {
  return surface.width * texel_bytes(surface);
}

namespace {

/// The code of f16 of the bits of a float, cut; a NaN keeps its upper bits, and stays one.
std::uint32_t cut_to_half(std::uint32_t bits) {
  const bool is_nan = (bits & 0x7FFF'FFFF) > 0x7F80'0000;
  if (is_nan) return (bits >> 16 & 0x8000) | 0x7C00 | std::max(bits >> 13 & 0x3FF, 1U);
  constexpr Conversion kToHalf{.from = FormatId::f32, .to = FormatId::f16, .rounding = CvtRounding::rz};
  return static_cast<std::uint32_t>(convert(kToHalf, bits, 0));
}

/// A coordinate below n, or the nearest one.
std::uint64_t nearest(std::int64_t at, std::uint64_t n) {
  return at < 0 ? 0 : std::min(static_cast<std::uint64_t>(at), n - 1);
}

}  // namespace

std::optional<std::uint64_t> offset(const ptx::Surface& surface, const SurfaceAccess& access,
                                    const SurfacePlace& place) {
  const std::uint64_t row = row_bytes(surface);
  const std::int64_t x = access.unit == SurfaceAccess::Unit::byte
                             ? place.at[0] / static_cast<std::int64_t>(access.bytes)
                             : place.at[0];
  const std::array<std::uint64_t, 4> extents = {row / access.bytes, surface.height, surface.depth,
                                                surface.layers};
  const std::array<std::int64_t, 4> wanted = {x, place.at[1], place.at[2], place.layer & 0xFFFF};
  std::array<std::uint64_t, 4> at = {};
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (extents[i] == 0) return std::nullopt;
    at[i] = nearest(wanted[i], extents[i]);
    const bool is_inside = static_cast<std::int64_t>(at[i]) == wanted[i];
    if (!is_inside && access.outside != Outside::clamp) return std::nullopt;
  }
  return ((at[3] * surface.depth + at[2]) * surface.height + at[1]) * row + at[0] * access.bytes;
}

std::uint32_t as_stored(TexelFormat format, std::uint32_t element) {
  const auto number = static_cast<std::int32_t>(element);
  switch (format) {
    case TexelFormat::u8: return std::min(element, 0xFFU);
    case TexelFormat::u16: return std::min(element, 0xFFFFU);
    case TexelFormat::s8: return static_cast<std::uint32_t>(std::clamp(number, -128, 127)) & 0xFF;
    case TexelFormat::s16: return static_cast<std::uint32_t>(std::clamp(number, -32768, 32767)) & 0xFFFF;
    case TexelFormat::f16: return cut_to_half(element);
    default: return element;
  }
}

}  // namespace texture

namespace ptx {

Result<Surface> with_extents(Surface surface, std::span<const std::uint64_t> array) {
  const auto* const row = texture::surface_row(surface.shape);
  if (row == nullptr) return texture::no_surface(surface.shape);
  const Result<Texture> made = texture::with_extents(texture::as_texture(surface), array, row->said);
  if (!made) {
    Error error = made.error();
    error.where = "surface";
    return error;
  }
  surface.channels = made->channels, surface.layers = made->layers;
  surface.width = made->width, surface.height = made->height, surface.depth = made->depth;
  return surface;
}

Result<std::uint64_t> surface(const Surface& surface) {
  const auto* const row = texture::surface_row(surface.shape);
  if (row == nullptr) return texture::no_surface(surface.shape);
  if (std::optional<Error> error = texture::wrong_extents(texture::as_texture(surface), row->said, row->most))
    return *std::move(error);
  return texture::surfaces().add(surface);
}

}  // namespace ptx
}  // namespace warpbit
