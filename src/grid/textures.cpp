// SPDX-License-Identifier: Apache-2.0
// tex, tld4, txq: the statements, and what a lane reads (texture/sample).
#include <fmt/format.h>

#include <memory>

#include "grid/compiler.hpp"
#include "grid/records.hpp"
#include "grid/references.hpp"
#include "texture/handles.hpp"
#include "texture/sample.hpp"
#include "texture/surface.hpp"
#include "texture/texture.hpp"

namespace warpbit::grid {

namespace {

using ptx::TextureShape;
using Kind = TextureOperation::Kind;

constexpr std::pair<std::string_view, Kind> kQueries[] = {
    {"width", Kind::width}, {"height", Kind::height}, {"depth", Kind::depth}};
constexpr std::string_view kComponents[] = {"r", "g", "b", "a"};

}  // namespace

// [texture, sampler, {coordinates}]
void Compiler::sampled_variables(const Operand& from, TextureOperation& out) {
  for (const auto& [i, variable] : {std::pair(0, &out.texture), std::pair(1, &out.sampler)}) {
    const Operand& one = child(from, i);
    if (one.kind != Operand::Kind::symbol)
      refuse(
          fmt::format("register '{}' for a {}", function_->registers[static_cast<std::size_t>(one.index)].name,
                      i == 0 ? "texture" : "sampler"),
          "the name of a variable: with .target ..., texmode_independent the manual has no indirect access");
    *variable = one.variable;
  }
  (void)symbol(child(from, 1), 64);  // the sampler is needed, too
}

void Compiler::texture() {
  TextureOperation out;
  Step step{.run = steps::texture};
  for (const auto& [word, kind] : kQueries)
    if (has(word)) out.kind = kind;
  const Operand& from = operand(1);
  if (function_->has_samplers && out.kind == Kind::read) sampled_variables(from, out);
  step.place[2] = source(child(from, 0), Type::u64);
  if (out.kind == Kind::read) {
    for (const std::string_view word : words())
      if (const auto shape = ptx::find_texture_shape(word)) out.shape = *shape;
    const texture::ShapeRow& shape = texture::shape_row(out.shape);
    out.integers = last_type() == Type::s32;
    for (std::size_t i = 0; i < std::size(kComponents); ++i)
      if (word(0) == kComponents[i]) out.kind = Kind::gather, out.component = static_cast<int>(i);
    const Operand& at = child(from, from.count - 1);
    for (int i = 0; i < shape.coordinates() + shape.is_array; ++i)
      step.place[static_cast<std::size_t>(3 + i)] = source(at.kind == Operand::Kind::vector ? child(at, i) : at,
                                                           i == 0 && shape.is_array ? Type::u32 : last_type());
  }
  step.extra = keep(elements(operand(0), Type::b32, true));
  step.target = static_cast<std::int32_t>(program_.textures.size());
  program_.textures.push_back(out);
  add(step);
}

namespace steps {

namespace {

// Linear memory is what tex.1d reads by an integer. What txq says was seen of textures of two and three dimensions.
bool fits(const TextureOperation& operation, const ptx::Texture& texture) {
  const bool is_memory = texture.shape == TextureShape::memory;
  if (operation.kind != Kind::read && operation.kind != Kind::gather)
    return texture.shape == TextureShape::two || texture.shape == TextureShape::three ||
           texture.shape == TextureShape::two_array;
  return texture.shape == operation.shape ||
         (is_memory && operation.shape == TextureShape::one && operation.integers);
}

texture::Texel result(const TextureOperation& operation, const ptx::Texture& of, const texture::Place& place) {
  switch (operation.kind) {
    case Kind::read: return texture::read(of, place);
    case Kind::gather: return texture::gather(of, place, operation.component);
    case Kind::width: return {of.width};
    case Kind::height: return {of.height};
    case Kind::depth:
      return {of.shape == TextureShape::three ? of.depth : of.shape == TextureShape::two_array ? of.layers : 0};
  }
  return {};
}

/// The texture of a lane's handle, or `sampled`. Errors: there is none, or it has another shape.
Result<std::shared_ptr<const ptx::Texture>> found(std::uint64_t handle, const TextureOperation& operation,
                                                  const std::shared_ptr<const ptx::Texture>& sampled) {
  std::shared_ptr<const ptx::Texture> out = sampled != nullptr ? sampled : texture::find(handle);
  if (out == nullptr)
    return Error{
        Errc::address_out_of_bounds,
        {},
        fmt::format("{:#x} {}{}: such handles", handle, texture::kNoTexture,
                    texture::find_surface(handle) != nullptr ? " but a surface" : ""),
        "a handle is what ptx::texture has returned, until it is forgotten (in Python what warpbit.texture has "
        "returned, as long as its array is kept)"};
  if (!fits(operation, *out))
    return Error{Errc::descriptor_field, "texture", texture::describe(*out),
                 operation.kind == Kind::read || operation.kind == Kind::gather
                     ? fmt::format("a texture of the instruction's shape, \"{}\"", name(operation.shape))
                     : "2D or 3D, or an array of 2D: what txq says of others has not been measured"};
  return out;
}

}  // namespace

Next texture(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const TextureOperation& operation = warp.program().textures[static_cast<std::size_t>(step.target)];
  const texture::ShapeRow& shape = texture::shape_row(operation.shape);
  const std::vector<Place>& to = warp.program().places[static_cast<std::size_t>(step.extra)];
  const References& references = *warp.block().grid().references;
  const std::shared_ptr<const ptx::Texture> sampled = references.sampled(step.target);
  std::shared_ptr<const ptx::Texture> of;
  std::uint64_t last = 0;
  std::optional<Error> failed;
  int at_lane = 0;
  for_each_lane(lanes, [&](int lane) {
    if (failed) return;
    const std::uint64_t handle = references.handle(warp.read(path, step.place[2], lane));
    if (of == nullptr || handle != last) {
      Result<std::shared_ptr<const ptx::Texture>> now = found(handle, operation, sampled);
      if (!now) {
        failed = now.error();
        at_lane = lane;
        return;
      }
      of = *std::move(now);
      last = handle;
    }
    texture::Place place{{}, operation.integers};
    const auto word = [&](int i) {
      return static_cast<std::uint32_t>(warp.read(path, step.place[static_cast<std::size_t>(3 + i)], lane));
    };
    if (shape.is_array) place.layer = word(0);
    for (int i = 0; i < shape.coordinates(); ++i)
      place.at[static_cast<std::size_t>(i)] = word(i + shape.is_array);
    const texture::Texel texel = result(operation, *of, place);
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i].exists()) warp.write(path, to[i], lane, texel[i]);
  });
  return failed ? warp.fault(path, Lanes{1} << at_lane, *failed) : Next::step;
}

}  // namespace steps
}  // namespace warpbit::grid
