// SPDX-License-Identifier: Apache-2.0
#include "texture/sample.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "scalar/floating.hpp"
#include "texture/axis.hpp"
#include "texture/filter.hpp"
#include "texture/texture.hpp"

namespace warpbit::texture {
namespace {

using ptx::Addressing;
using ptx::TexelFormat;
using ptx::Texture;
using ptx::TextureShape;

std::size_t dimensions(const Texture& texture) {
  return static_cast<std::size_t>(shape_row(texture.shape).axes);
}

std::array<std::uint32_t, 3> extents(const Texture& texture) {
  return {texture.width, texture.height, texture.depth};
}

/// Where a texel lies: x, y, z; nothing on an axis: in the border.
using Index = std::array<std::optional<std::uint32_t>, 3>;

std::uint32_t border_code(const Texture& texture, std::size_t channel) {
  const double colour = texture.border[channel];
  const auto scaled = [&](double one) { return static_cast<std::uint32_t>(std::lrint(colour * one)); };
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(texture.border[channel]);
  const auto mask =
      static_cast<std::uint32_t>(~std::uint64_t{0} >> (64 - 8 * ptx::texel_bytes(texture.format)));
  if (texture.format == TexelFormat::f16) return as_half(bits);
  if (!texture.floats) return bits & mask;
  switch (texture.format) {
    case TexelFormat::u8: return scaled(255);
    case TexelFormat::u16: return scaled(65535);
    case TexelFormat::s8: return scaled(127) & mask;
    default: return scaled(32767) & mask;
  }
}

/// A layer, or a face of one.
class Layer {
 public:
  Layer(const Texture& texture, std::uint32_t index) : texture_(texture), index_(index) {}

  std::uint32_t code(const Index& at, std::size_t channel) const {
    if (!at[0] || !at[1] || !at[2]) return border_code(texture_, channel);
    const std::size_t row = (std::size_t{index_} * texture_.depth + *at[2]) * texture_.height + *at[1];
    const std::size_t element =
        (row * texture_.width + *at[0]) * static_cast<std::size_t>(texture_.channels) + channel;
    const auto bytes = static_cast<std::size_t>(ptx::texel_bytes(texture_.format));
    std::uint32_t out = 0;
    std::memcpy(&out, texture_.texels.data() + element * bytes, bytes);
    return out;
  }

 private:
  const Texture& texture_;
  std::uint32_t index_;
};

/// Which layer, with coordinates within it: of a cube those on a face, exactly.
struct Located {
  std::uint32_t layer;
  std::array<double, 3> at;
};

// (q + 1) / 2 of an f32 from -1 to 1, rounded down; a NaN is 0.
double from_0_to_1(float q) {
  if (std::isnan(q)) return 0.5;
  const double half = static_cast<double>(q) / 2, out = half + 0.5;
  return out - 0.5 > half ? std::nextafter(out, 0.0) : out;
}

// A direction over its largest component, as the assembler has it: times rcp.approx.ftz, and what is subnormal is 0.
std::array<float, 3> over_largest(const Place& place) {
  std::array<float, 3> out;
  float largest = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    out[i] = std::bit_cast<float>(place.at[i]);
    if (std::abs(out[i]) > largest) largest = std::abs(out[i]);  // a NaN is not
  }
  const auto factor =
      std::bit_cast<float>(scalar::approximate_reciprocal(std::bit_cast<std::uint32_t>(largest)));
  for (float& one : out) {
    one *= factor;
    if (std::fpclassify(one) == FP_SUBNORMAL) one = 0;
  }
  return out;
}

// The face of the component that is largest, z before y before x, and the two others, from 0 to 1. A NaN is none; of a
// direction without any, as of 0, +z is taken.
Located on_cube(std::uint32_t layer, const Place& place) {
  const auto [x, y, z] = over_largest(place);
  if (std::isnan(x) && std::isnan(y) && std::isnan(z)) return {6 * layer + 4, {0.5, 0.5, 0}};
  const float ax = std::abs(x), ay = std::abs(y), az = std::abs(z),
              largest = std::max({ax > 0 ? ax : 0, ay > 0 ? ay : 0, az > 0 ? az : 0});
  struct Face {
    std::uint32_t number;
    float s, t;
  };
  const Face face = az == largest   ? (z >= 0 ? Face{4, x, -y} : Face{5, -x, -y})
                    : ay == largest ? (y >= 0 ? Face{2, x, z} : Face{3, x, -z})
                                    : (x >= 0 ? Face{0, -z, -y} : Face{1, z, -y});
  return {6 * layer + face.number, {from_0_to_1(face.s), from_0_to_1(face.t), 0}};
}

Located located(const Texture& texture, const Place& place) {
  const std::uint32_t layer = shape_row(texture.shape).is_array ? std::min(place.layer, texture.layers - 1) : 0;
  if (shape_row(texture.shape).is_cube) return on_cube(layer, place);
  return {layer, {coordinate(place.at[0]), coordinate(place.at[1]), coordinate(place.at[2])}};
}

// Faces of cubes are read one by one, without what lies beside them on others. Coordinates in texels are neither wrapped nor
// mirrored: the driver clamps them.
Axis axis(const Texture& texture, std::size_t i) {
  const Addressing given = texture.addressing[i];
  if (shape_row(texture.shape).is_cube) return {texture.width, given, true};
  const bool is_clamped = !texture.normalized && (given == Addressing::wrap || given == Addressing::mirror);
  return {extents(texture)[i], is_clamped ? Addressing::clamp : given, texture.normalized};
}

Texel texel(const Layer& layer, const Texture& texture, const Index& at) {
  Texel out{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(texture.channels); ++c)
    out[c] = as_read(texture.format, texture.floats, layer.code(at, c));
  return out;
}

Texel by_integers(const Texture& texture, const Place& place) {
  Index at = {0U, 0U, 0U};
  if (texture.shape == TextureShape::one ||
      (shape_row(texture.shape).is_array && place.layer >= texture.layers))
    return {};
  for (std::size_t i = 0; i < dimensions(texture); ++i) {
    if (place.at[i] >= extents(texture)[i]) return {};
    at[i] = place.at[i];
  }
  return texel(Layer(texture, place.layer), texture, at);
}

Texel nearest(const Texture& texture, const Located& where) {
  Index at = {0U, 0U, 0U};
  for (std::size_t i = 0; i < dimensions(texture); ++i) at[i] = axis(texture, i).point(where.at[i]);
  return texel(Layer(texture, where.layer), texture, at);
}

// One dimension is two, of height 1, at y = 0: a border on that axis has half of the weight.
std::array<Neighbours, 3> neighbours(const Texture& texture, const Located& where) {
  std::array<Neighbours, 3> out = {Neighbours{0U, 0U}, Neighbours{0U, 0U}, Neighbours{0U, 0U}};
  const auto axes = dimensions(texture);
  for (std::size_t i = 0; i < axes; ++i) out[i] = axis(texture, i).neighbours(where.at[i]);
  if (axes == 1) out[1] = axis(texture, 1).neighbours(0);
  return out;
}

Texel linear(const Texture& texture, const Located& where) {
  const std::array<Neighbours, 3> near = neighbours(texture, where);
  const Weights of = weights(near[0].weight, near[1].weight, near[2].weight);
  const auto pick = [](const Neighbours& of_axis, std::size_t i) {
    return i == 0 ? of_axis.first : of_axis.second;
  };
  const auto counts = [](const Neighbours& of_axis, std::size_t i) { return i == 0 || of_axis.weight != 0; };
  const Layer layer(texture, where.layer);
  Texel out{};
  for (std::size_t c = 0; c < static_cast<std::size_t>(texture.channels); ++c) {
    std::array<Part, 8> parts;
    std::size_t count = 0;
    for (const std::size_t z : {0U, 1U})
      for (const std::size_t y : {0U, 1U})
        for (const std::size_t x : {0U, 1U})
          if (counts(near[0], x) && counts(near[1], y) && counts(near[2], z))
            parts[count++] = {layer.code({pick(near[0], x), pick(near[1], y), pick(near[2], z)}, c),
                              of[z][y][x], static_cast<int>(z)};
    out[c] = filtered(texture.format, texture.floats, std::span(parts).first(count));
  }
  return out;
}

}  // namespace

Texel read(const Texture& texture, const Place& place) {
  if (place.integers) return by_integers(texture, place);
  const Located where = located(texture, place);
  return texture.linear ? linear(texture, where) : nearest(texture, where);
}

Texel gather(const Texture& texture, const Place& place, int component) {
  if (component >= texture.channels) return {};
  const Located where = located(texture, place);
  const std::array<Neighbours, 3> near = neighbours(texture, where);
  const Layer layer(texture, where.layer);
  const bool filters =
      texture.floats || texture.format == TexelFormat::f16 || texture.format == TexelFormat::f32;
  const auto one = [&](const std::optional<std::uint32_t>& x, const std::optional<std::uint32_t>& y) {
    const std::uint32_t code = layer.code({x, y, 0U}, static_cast<std::size_t>(component));
    const Part whole{code, 256};
    return filters ? filtered(texture.format, texture.floats, std::span(&whole, 1))
                   : as_read(texture.format, false, code);
  };
  const Neighbours &x = near[0], &y = near[1];
  return {one(x.first, y.second), one(x.second, y.second), one(x.second, y.first), one(x.first, y.first)};
}

}  // namespace warpbit::texture
