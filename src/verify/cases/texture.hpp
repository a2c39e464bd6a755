// SPDX-License-Identifier: Apache-2.0
// The textures and places of recorded reads, a function of a form and of a texture as text: what
// tools/capture/record_textures.py says of them.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "texture/sample.hpp"
#include "texture/texture.hpp"
#include "verify/cases/scalar.hpp"

namespace texture_cases {

using scalar_cases::draw;
using warpbit::ones;
using warpbit::texture::Place;
namespace ptx = warpbit::ptx;

/// Places of a record; texels that a drawn texture has at most.
inline constexpr std::uint64_t kPlaces = 4096, kMostTexels = std::uint64_t{1} << 20;

/// A texture with its texels.
struct Drawn {
  std::vector<std::byte> texels = {};
  ptx::Texture texture = {};
  int axes = 0;  ///< coordinates without a layer
  bool is_array = false, is_cube = false;
  std::uint64_t seed = 0;
};

// ---- The texture, from "a2d u8 2 10x6 3 clamp linear normalized floats"

inline std::optional<std::uint32_t> extent(std::string_view text) {
  std::uint32_t out = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  const bool is_one =
      error == std::errc() && rest == text.data() + text.size() && out > 0 && out <= kMostTexels;
  return is_one ? std::optional(out) : std::nullopt;
}

/// The one of two words that a text is, as whether it is the second.
inline std::optional<bool> either(std::string_view text, std::string_view first, std::string_view second) {
  if (text == first) return false;
  return text == second ? std::optional(true) : std::nullopt;
}

/// Channels, extents and layers. False: they are none of the shape, or too many.
inline bool set_extents(Drawn& out, std::string_view channels, std::string_view extents,
                        std::string_view layers) {
  ptx::Texture& of = out.texture;
  const auto counted = extent(channels), layered = extent(layers);
  const std::vector<std::string_view> words = warpbit::words_between(extents, "x");
  if (!counted || !layered ||
      words.size() != static_cast<std::size_t>(warpbit::texture::shape_row(of.shape).axes))
    return false;
  of.channels = static_cast<int>(*counted), of.layers = *layered;
  std::uint32_t* const axes[] = {&of.width, &of.height, &of.depth};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto one = extent(words[i]);
    if (!one) return false;
    *axes[i] = *one;
  }
  std::uint64_t count = 1;
  for (const std::uint64_t n : {*counted, *layered, of.width, of.height, of.depth})
    if ((count *= n) > kMostTexels) return false;
  return true;
}

/// Without texels. Nothing if the text is none of a texture.
inline std::optional<Drawn> described(std::string_view text) {
  Drawn out;
  ptx::Texture& of = out.texture;
  const std::vector<std::string_view> words = warpbit::words_between(text, " ");
  if (words.size() < 8 || words.size() > 9) return {};
  const std::size_t mode = words.size() - 4;
  const auto shape = ptx::find_texture_shape(words[0]);
  const auto format = ptx::find_texel_format(words[1]);
  const auto addressing = ptx::find_addressing(words[mode]);
  const auto linear = either(words[mode + 1], "point", "linear"),
             normalized = either(words[mode + 2], "texels", "normalized"),
             floats = either(words[mode + 3], "elements", "floats");
  if (!shape || !format || !addressing || !linear || !normalized || !floats) return {};
  of.shape = *shape, of.format = *format, of.linear = *linear, of.normalized = *normalized, of.floats = *floats;
  of.addressing.fill(*addressing);
  const warpbit::texture::ShapeRow& row = warpbit::texture::shape_row(of.shape);
  out.axes = row.is_cube ? 3 : row.axes, out.is_array = row.is_array, out.is_cube = row.is_cube;
  if ((words.size() == 9) != row.is_array) return {};
  if (!set_extents(out, words[2], words[3], row.is_array ? words[4] : "1")) return {};
  return out;
}

/// The code of an element: of a floating format mostly a number near 1.
inline std::uint64_t texel(const ptx::Texture& of, std::uint64_t x, std::uint64_t y) {
  const bool is_half = of.format == ptx::TexelFormat::f16;
  if ((!is_half && of.format != ptx::TexelFormat::f32) || y % 4 == 0) return x;
  return scalar_cases::near_one(*scalar_cases::float_fields(is_half ? ptx::Type::f16 : ptx::Type::f32), x, y);
}

/// A component of the border; where results are floats, a number that the format has.
inline float border(const ptx::Texture& of, std::uint64_t x) {
  const int bits = 8 * ptx::texel_bytes(of.format);
  if (of.floats) {
    const auto code = static_cast<std::int64_t>(x & ones(bits));
    if (name(of.format)[0] == 'u')
      return static_cast<float>(static_cast<double>(code) / static_cast<double>(ones(bits)));
    const auto number = static_cast<double>(code - ((code >> (bits - 1)) << bits));
    return static_cast<float>(std::max(number / static_cast<double>(ones(bits - 1)), -1.0));
  }
  const auto out = static_cast<float>((static_cast<double>(x >> 40) - 0x1p22) / 0x1p23);
  return of.format == ptx::TexelFormat::f16
             ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(out) & 0xFFFF'E000)
             : out;
}

/// Gives it texels.
inline void draw_texels(Drawn& out, std::uint64_t seed) {
  out.seed = seed;
  ptx::Texture& of = out.texture;
  const auto bytes = static_cast<std::size_t>(ptx::texel_bytes(of.format));
  const std::uint64_t count = std::uint64_t{of.width} * of.height * of.depth * of.layers *
                              (out.is_cube ? 6 : 1) * static_cast<std::uint64_t>(of.channels);
  out.texels.resize(count * bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t code = texel(of, draw(seed, 2 * i), draw(seed, 2 * i + 1));
    std::memcpy(out.texels.data() + i * bytes, &code, bytes);
  }
  of.texels = out.texels;
}

/// The texture that a form reads. Nothing if the text is none of a texture.
inline std::optional<Drawn> drawn(const std::string& form, const std::string& text) {
  std::optional<Drawn> out = described(text);
  if (!out) return {};
  draw_texels(*out, scalar_cases::fnv(form + ' ' + text));
  ptx::Texture& of = out->texture;
  for (std::uint64_t i = 0; i < 4; ++i)
    of.border[i] = border(of, draw(out->seed, (std::uint64_t{1} << 40) + i));
  return out;
}

// ---- The places

/// Bits of coordinate j; of an array the first one is the layer.
inline std::uint32_t coordinate(const Drawn& from, bool integers, std::uint64_t j, std::uint64_t x,
                                std::uint64_t y) {
  const ptx::Texture& of = from.texture;
  const bool is_layer = from.is_array && j == 0;
  if (y % 32 == 0) {
    const auto raw = static_cast<std::uint32_t>(x);
    if (is_layer || !from.is_cube) return raw;
    return (raw & 0x807F'FFFF) | static_cast<std::uint32_t>((x >> 40) % 128 + 63) << 23;
  }
  const std::array<std::uint32_t, 3> extents = {of.width, of.height, of.depth};
  const std::uint64_t n = is_layer ? of.layers : extents[j - from.is_array];
  if (is_layer || integers) return static_cast<std::uint32_t>(static_cast<std::int64_t>(x % (n + 6)) - 3);
  const auto t = static_cast<double>(x >> 40);
  const double out = from.is_cube    ? t / 0x1p23 - 1
                     : of.normalized ? t / 0x1p22 - 1.5
                                     : static_cast<double>(n + 4) * t / 0x1p24 - 2;
  return std::bit_cast<std::uint32_t>(static_cast<float>(out));
}

/// Place i; coordinates are integers in a form that ends in .s32.
inline Place place(const std::string& form, const Drawn& from, std::uint64_t i) {
  Place out{{}, form.ends_with(".s32")};
  const std::uint64_t layers = from.is_array ? 1 : 0;
  for (std::uint64_t j = 0; j < static_cast<std::uint64_t>(from.axes) + layers; ++j) {
    const std::uint64_t k = (std::uint64_t{1} << 41) + 8 * i + 2 * j;
    (j < layers ? out.layer : out.at[j - layers]) =
        coordinate(from, out.integers, j, draw(from.seed, k), draw(from.seed, k + 1));
  }
  return out;
}

}  // namespace texture_cases
