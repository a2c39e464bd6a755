// SPDX-License-Identifier: Apache-2.0
// The surfaces, places and values of recorded accesses, a function of a form and of a surface as text, and the kernels that were
// recorded: what tools/capture/record_surfaces.py says of them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "texture/surface.hpp"
#include "verify/cases/texture.hpp"

namespace surface_cases {

using scalar_cases::draw;
namespace ptx = warpbit::ptx;

/// Places of a record that loads, and of others, whose surface is looked at after each round.
inline constexpr std::uint64_t kLoaded = 4096, kStored = 1024, kRound = 16;

/// What counts of a form.
struct Form {
  std::string name;
  bool loads = false, reduces = false, by_bytes = false, traps = false, is_array = false;
  int coordinates = 0;  ///< with the layer
  std::string shape;
  std::uint64_t vector = 1, bits = 32;
  std::uint64_t size = 1;  ///< of an access, in units of x

  std::uint64_t places() const { return loads ? kLoaded : kStored; }
  /// Of the registers of an element.
  std::uint64_t register_bits() const { return std::max<std::uint64_t>(bits, 32); }
};

/// Nothing: it is no form that accesses a surface.
inline std::optional<Form> form(const std::string& name) {
  const std::vector<std::string_view> words = warpbit::words_between(name, ".");
  if (words.size() < 5 || !ptx::find_type(words[words.size() - 2])) return {};
  Form out;
  out.name = name;
  out.loads = words[0] == "suld", out.reduces = words[0] == "sured", out.by_bytes = words[1] == "b";
  out.traps = words.back() == "trap";
  for (const std::string_view word : words) {
    if (word == "v2" || word == "v4") out.vector = word == "v2" ? 2 : 4;
    const auto shape = ptx::find_texture_shape(word);
    if (!shape) continue;
    const warpbit::texture::ShapeRow& row = warpbit::texture::shape_row(*shape);
    out.shape = word, out.is_array = row.is_array, out.coordinates = row.axes + row.is_array;
  }
  out.bits = static_cast<std::uint64_t>(ptx::bits(*ptx::find_type(words[words.size() - 2])));
  if (out.by_bytes) out.size = out.vector * out.bits / 8;
  if (out.shape.empty() || (!out.loads && !out.reduces && words[0] != "sust")) return {};
  return out;
}

/// A surface with its texels.
struct Drawn {
  std::vector<std::byte> texels = {};
  ptx::Surface surface = {};
  std::uint64_t seed = 0;
};

/// The surface that a form accesses, from "a2d u8 2 10x6 3". Nothing if the text is none of a surface of its shape.
inline std::optional<Drawn> drawn(const Form& form, const std::string& text) {
  std::optional<texture_cases::Drawn> from = texture_cases::described(text + " clamp point texels elements");
  if (!from || name(from->texture.shape) != form.shape) return {};
  draw_texels(*from, scalar_cases::fnv(form.name + ' ' + text));
  const ptx::Texture& of = from->texture;
  Drawn out{std::move(from->texels), {}, from->seed};
  out.surface = {out.texels, of.shape, of.format, of.channels, of.width, of.height, of.depth, of.layers};
  return out;
}

/// Bits of coordinate j of place i; of an array the first one is the layer.
inline std::uint32_t coordinate(const Form& form, const Drawn& from, std::uint64_t i, std::uint64_t j) {
  const ptx::Surface& of = from.surface;
  const std::uint64_t k = (std::uint64_t{1} << 41) + 8 * i + 2 * j;
  const std::uint64_t x = draw(from.seed, k), y = draw(from.seed, k + 1);
  const bool is_layer = form.is_array && j == 0;
  const std::uint64_t axis = j - form.is_array;
  const std::uint64_t size = !is_layer && axis == 0 ? form.size : 1;
  const std::uint64_t row = warpbit::texture::row_bytes(of);
  std::uint64_t n = is_layer ? of.layers : axis == 0 ? of.width : axis == 1 ? of.height : of.depth;
  if (!is_layer && axis == 0 && form.by_bytes) n = form.traps ? row / size : (row + size - 1) / size;
  if (form.traps) return n == 0 ? 0 : static_cast<std::uint32_t>(x % n * size);
  if (y % 32 == 0) return static_cast<std::uint32_t>(x & ~(size - 1));
  return static_cast<std::uint32_t>((x % (n + 6) - 3) * size);
}

/// Element j of place i.
inline std::uint64_t value(const Form& form, const Drawn& from, std::uint64_t i, std::uint64_t j) {
  const std::uint64_t k = (std::uint64_t{1} << 42) + 8 * i + 2 * j,
                      mask = warpbit::ones(static_cast<int>(form.bits));
  const std::uint64_t x = draw(from.seed, k) & mask, y = draw(from.seed, k + 1);
  const bool is_float = name(from.surface.format).front() == 'f';
  if (!form.reduces && form.by_bytes) return x;
  if (!form.reduces && is_float) {
    const std::uint64_t near = (y >> 8) % 48 + 127 - 28, cut = (y >> 16) % 4 == 0 ? 0xFFF : 0;
    return (y % 8 != 0 ? (x & 0x807F'FFFF) | near << 23 : x) & ~cut;
  }
  if (y % 2 == 0) return x;
  const std::uint64_t shifted = x >> (y >> 8) % form.bits;
  return ((y >> 16) % 2 != 0 ? ~shifted : shifted) & mask;
}

// ---- The kernels

inline std::string list(std::string_view of, std::uint64_t count) {
  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}{}", of, i));
  if (of == "%c" && count == 3) names.push_back(names.back());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// A module whose kernel k loads from a place with each thread, or stores from `first` to `last` with one.
inline std::string kernel(const Form& form) {
  const std::uint64_t bits = form.register_bits();
  const auto count = static_cast<std::uint64_t>(form.coordinates);
  const std::string values = form.vector == 1 ? "%r0" : "{" + list("%r", form.vector) + "}",
                    at = "[%surface, {" + list("%c", count) + "}]";
  std::string loads, moves;
  for (std::uint64_t i = 0; i < count; ++i) loads += fmt::format("ld.global.b32 %c{}, [%p+{}];\n", i, 4 * i);
  for (std::uint64_t i = 0; i < form.vector; ++i)
    moves += form.loads ? fmt::format("st.global.b{} [%p+{}], %r{};\n", bits, i * bits / 8, i)
                        : fmt::format("ld.global.b{} %r{}, [%p+{}];\n", bits, i, 8 * i);
  const std::string head = fmt::format(
      ".version 9.0\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 surface, .param .u64 in, .param .u64 data, .param .u32 first, .param .u32 last)\n"
      "{{ .reg .pred %go; .reg .u32 %at, %block, %threads, %last; .reg .b32 %c<4>; .reg .b{} %r<4>; .reg .u64 %p, %surface;\n"
      "ld.param.u64 %surface, [surface]; ld.param.u32 %last, [last];\n",
      bits);
  if (form.loads)
    return head +
           "mov.u32 %at, %tid.x; mov.u32 %block, %ctaid.x; mov.u32 %threads, %ntid.x;\n"
           "mad.lo.u32 %at, %block, %threads, %at; setp.ge.u32 %go, %at, %last; @%go ret;\n" +
           fmt::format("ld.param.u64 %p, [in]; mad.wide.u32 %p, %at, {}, %p;\n{}{} {}, {};\n", 4 * count, loads,
                       form.name, values, at) +
           fmt::format("ld.param.u64 %p, [data]; mad.wide.u32 %p, %at, {}, %p;\n{}ret; }}\n",
                       form.vector * bits / 8, moves);
  return head +
         fmt::format(
             "ld.param.u32 %at, [first];\nnext: ld.param.u64 %p, [in]; mad.wide.u32 %p, %at, {}, %p;\n{}",
             4 * count, loads) +
         fmt::format("ld.param.u64 %p, [data]; mad.wide.u32 %p, %at, {}, %p;\n{}{} {}, {};\n", 8 * form.vector,
                     moves, form.name, at, values) +
         "add.u32 %at, %at, 1; setp.lt.u32 %go, %at, %last; @%go bra next; ret; }\n";
}

}  // namespace surface_cases
