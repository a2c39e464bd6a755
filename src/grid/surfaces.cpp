// SPDX-License-Identifier: Apache-2.0
// suld, sust, sured, suq: the statements, and what a lane does. The bytes of a surface are global memory, whose races are looked at.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "async/atomic.hpp"
#include "grid/compiler.hpp"
#include "grid/references.hpp"
#include "grid/resolver.hpp"
#include "texture/handles.hpp"
#include "texture/surface.hpp"
#include "texture/texture.hpp"

namespace warpbit::grid {

namespace {

using ptx::TextureShape;
using texture::Outside;
using SurfaceKind = SurfaceOperation::Kind;
using SurfaceUnit = texture::SurfaceAccess::Unit;

constexpr std::pair<std::string_view, Outside> kOutside[] = {
    {"trap", Outside::trap}, {"clamp", Outside::clamp}, {"zero", Outside::zero}};
constexpr std::pair<std::string_view, SurfaceKind> kSurfaceQueries[] = {
    {"width", SurfaceKind::width}, {"height", SurfaceKind::height}, {"depth", SurfaceKind::depth}};

scalar::Operation reduction_of(std::string_view name, Type type) {
  const std::array<std::string_view, 1> of = {ptx::row(type).name};
  return scalar::operation(name, of);
}

// What sured.p computes with a texel that has a sign, or none.
Type with_sign(Type type, bool is_signed) {
  return type == Type::b32 ? (is_signed ? Type::s32 : Type::u32) : (is_signed ? Type::s64 : Type::u64);
}

}  // namespace

Step Compiler::surface_access(const Operand& at, const Operand& values, bool loads) {
  Step step{.run = steps::surface};
  SurfaceOperation out;
  const Type type = last_type();
  for (const std::string_view word : words())
    if (const auto shape = ptx::find_texture_shape(word)) out.shape = *shape;
  for (const auto& [word, outside] : kOutside)
    if (has(word)) out.access.outside = outside;
  const std::string_view name = named_operation();
  const bool formatted = has("p");
  step.place[2] = source(child(at, 0), Type::u64);
  const texture::ShapeRow& shape = texture::shape_row(out.shape);
  const Operand& place = child(at, 1);
  for (int i = 0; i < shape.axes + shape.is_array; ++i)
    step.place[static_cast<std::size_t>(3 + i)] =
        source(place.kind == Operand::Kind::vector ? child(place, i) : place, Type::s32);
  std::vector<Place> places = elements(values, type, loads);
  step.access.bytes = static_cast<std::uint8_t>(ptx::bits(type) / 8);
  step.access.count = static_cast<std::uint8_t>(places.size());
  out.access.bytes = std::uint64_t{step.access.bytes} * step.access.count;
  out.kind = loads ? SurfaceKind::load : SurfaceKind::store;
  if (!name.empty()) {
    out.kind = SurfaceKind::reduce;
    step.access.strong = step.access.order.unsaid = true;
    const bool compares = formatted && (name == "min" || name == "max");
    const Type adds = formatted && name == "add" ? Type::u32 : type;
    out.reduction = reduction_of(name, compares ? with_sign(type, true) : adds);
    out.unsigned_reduction = compares ? reduction_of(name, with_sign(type, false)) : out.reduction;
  } else if (formatted) {
    out.kind = SurfaceKind::convert;
  }
  if (formatted) out.access.unit = name.empty() ? SurfaceUnit::texel : SurfaceUnit::word;
  step.extra = keep(std::move(places));
  step.target = static_cast<std::int32_t>(program_.surfaces.size());
  program_.surfaces.push_back(std::move(out));
  return step;
}

void Compiler::surface_query() {
  Step step{.run = steps::surface_query};
  SurfaceOperation out{.kind = SurfaceKind::is_type};
  for (const auto& [word, kind] : kSurfaceQueries)
    if (has(word)) out.kind = kind;
  for (const ptx::Opaque one : {ptx::Opaque::texture, ptx::Opaque::sampler, ptx::Opaque::surface})
    if (has(name(one))) out.opaque = one;
  step.place[0] = destination(operand(0));
  const Operand& from = operand(1);
  step.place[2] = source(from.kind == Operand::Kind::address ? child(from, 0) : from, Type::u64);
  step.target = static_cast<std::int32_t>(program_.surfaces.size());
  program_.surfaces.push_back(out);
  add(step);
}

namespace steps {

namespace {

using ptx::Surface;

const SurfaceOperation& operation_of(const Warp& warp, const Step& step) {
  return warp.program().surfaces[static_cast<std::size_t>(step.target)];
}

/// A handle in a place of the step, or that of a variable whose address is there.
std::uint64_t handle_at(Warp& warp, const Path& path, const Step& step, int lane) {
  return warp.block().grid().references->handle(warp.read(path, step.place[2], lane));
}

/// The surface of a handle. Errors: there is none.
Result<std::shared_ptr<const Surface>> surface_of(std::uint64_t handle) {
  if (std::shared_ptr<const Surface> out = texture::find_surface(handle)) return out;
  return Error{
      Errc::address_out_of_bounds,
      {},
      fmt::format("{:#x} {}{}: such handles", handle, texture::kNoSurface,
                  texture::find(handle) != nullptr ? " but a texture" : ""),
      "a handle is what ptx::surface has returned, until it is forgotten (in Python what warpbit.surface has "
      "returned, as long as its array is kept)"};
}

/// The lanes of a step that accesses a surface.
class SurfaceLanes {
 public:
  SurfaceLanes(Warp& warp, Path& path, const Step& step)
      : warp_(warp),
        path_(path),
        step_(step),
        operation_(operation_of(warp, step)),
        elements_(warp.program().places[static_cast<std::size_t>(step.extra)]),
        records_(warp, step),
        access_(operation_.access) {}

  /// False after a fault.
  bool run(int lane) {
    if (std::optional<Error> error = find(handle_at(warp_, path_, step_, lane)))
      return fault(lane, *std::move(error));
    const texture::SurfacePlace place = this->place(lane);
    const auto bytes = static_cast<std::int32_t>(access_.bytes);
    if (access_.unit == SurfaceUnit::byte && place.at[0] % bytes != 0)
      return fault(lane, {Errc::address_misaligned,
                          {},
                          fmt::format("x {}, a byte of a row of the surface,", place.at[0]),
                          fmt::format("it must be a multiple of {}", bytes)});
    const std::optional<std::uint64_t> offset = texture::offset(*surface_, access_, place);
    if (!offset && access_.outside == Outside::trap) return fault(lane, outside(place));
    if (!offset) return loads() ? write(lane, {}), true : true;
    const Target at = bytes_of(*range_, first_ + *offset, access_.bytes, operation_.kind != SurfaceKind::load);
    return loads()                                  ? load(lane, at)
           : operation_.kind == SurfaceKind::reduce ? reduce(lane, at)
                                                    : store(lane, at);
  }

 private:
  bool loads() const { return operation_.kind == SurfaceKind::load; }
  bool fault(int lane, Error error) {
    warp_.fault(path_, Lanes{1} << lane, std::move(error));
    return false;
  }

  // The surface of a handle, where its bytes lie, and how they are accessed.
  std::optional<Error> find(std::uint64_t handle) {
    if (surface_ != nullptr && handle == handle_) return std::nullopt;
    Result<std::shared_ptr<const Surface>> found = surface_of(handle);
    if (!found) return found.error();
    surface_ = *std::move(found), handle_ = handle;
    if (surface_->shape != operation_.shape)
      return wrong_surface(texture::describe(*surface_),
                           fmt::format("a surface of the instruction's shape, \"{}\"", name(operation_.shape)));
    if (access_.unit == SurfaceUnit::texel) access_.bytes = texture::texel_bytes(*surface_);
    range_ = warp_.block().grid().memory.find_byte(surface_->texels.data());
    if (range_ == nullptr)
      return wrong_surface("one that was made after the launch has begun", "a surface that is there before it");
    first_ = range_->address + static_cast<std::uint64_t>(surface_->texels.data() - range_->data);
    return std::nullopt;
  }
  static Error wrong_surface(std::string seen, std::string accepted) {
    return {Errc::descriptor_field, "surface", std::move(seen), std::move(accepted)};
  }

  texture::SurfacePlace place(int lane) {
    const texture::ShapeRow& shape = texture::shape_row(operation_.shape);
    const auto word = [&](int i) {
      return static_cast<std::uint32_t>(warp_.read(path_, step_.place[static_cast<std::size_t>(3 + i)], lane));
    };
    texture::SurfacePlace out;
    if (shape.is_array) out.layer = word(0);
    for (int i = 0; i < shape.axes; ++i)
      out.at[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(word(i + shape.is_array));
    return out;
  }

  // "x 40, y 1 of a 2D surface of 10 x 6 texels".
  Error outside(const texture::SurfacePlace& place) const {
    const texture::ShapeRow& shape = texture::shape_row(operation_.shape);
    const std::uint64_t unit = access_.unit == SurfaceUnit::byte ? access_.bytes : 1,
                        places = texture::row_bytes(*surface_) / access_.bytes;
    std::string seen = fmt::format("coordinates x {}", place.at[0]), accepted;
    if (places == 0)
      accepted = fmt::format("a row has {} bytes, less than an access", texture::row_bytes(*surface_));
    else
      accepted = fmt::format("x is {} from 0 to {}",
                             unit > 1 ? fmt::format("a multiple of {}", unit) : std::string("a number"),
                             unit * (places - 1));
    const auto more = [&](std::string_view axis, std::int64_t at, std::uint32_t extent) {
      seen += fmt::format(", {} {}", axis, at);
      accepted += fmt::format(", {} 0 to {}", axis, extent - 1);
    };
    if (shape.axes > 1) more("y", place.at[1], surface_->height);
    if (shape.axes > 2) more("z", place.at[2], surface_->depth);
    if (shape.is_array) more("layer", place.layer, surface_->layers);
    return {Errc::address_out_of_bounds,
            {},
            fmt::format("{} of {}", seen, texture::describe(*surface_)),
            std::move(accepted)};
  }

  void write(int lane, const Buffer& bytes) {
    for (std::size_t i = 0; i < elements_.size(); ++i) {
      std::uint64_t value = 0;
      std::memcpy(&value, bytes.data() + i * step_.access.bytes, step_.access.bytes);
      if (elements_[i].exists()) warp_.write(path_, elements_[i], lane, value);
    }
  }

  bool load(int lane, const Target& at) {
    records_.count(at.space, 1);
    if (!records_.reads(lane, at, access_.bytes)) return false;
    Buffer bytes = {};
    std::memcpy(bytes.data(), at.data, access_.bytes);
    write(lane, bytes);
    return true;
  }

  // Texels have all channels: what no element gives is 0.
  Buffer stored(int lane) {
    Buffer out = {};
    const bool converts = operation_.kind == SurfaceKind::convert;
    const auto channel = static_cast<std::size_t>(ptx::texel_bytes(surface_->format));
    const std::size_t size = converts ? channel : step_.access.bytes;
    for (std::size_t i = 0; i < elements_.size() && (i + 1) * size <= access_.bytes; ++i) {
      std::uint64_t value = warp_.read(path_, elements_[i], lane);
      if (converts) value = texture::as_stored(surface_->format, static_cast<std::uint32_t>(value));
      std::memcpy(out.data() + i * size, &value, size);
    }
    return out;
  }

  bool store(int lane, const Target& at) {
    const Buffer bytes = stored(lane);
    if (!records_.writes(lane, at, std::span(bytes).first(access_.bytes))) return false;
    std::memcpy(at.data, bytes.data(), access_.bytes);
    return true;
  }

  bool reduce(int lane, const Target& at) {
    if (!records_.changes(lane, at, access_.bytes)) return false;
    const std::uint64_t value = warp_.read(path_, elements_[0], lane);
    access_.bytes == 4 ? change<std::uint32_t>(at.data, value) : change<std::uint64_t>(at.data, value);
    return true;
  }
  template <class T>
  void change(std::byte* data, std::uint64_t value) {
    const bool is_signed = name(surface_->format).front() == 's';
    const scalar::Operation& operation = is_signed ? operation_.reduction : operation_.unsigned_reduction;
    async::change_whole<T>(data, [&](T old) {
      scalar::Sources sources;
      sources.value = {old, value};
      sources.count = 2;
      const auto next = static_cast<T>(scalar::execute(operation, sources).value);
      if (next != old) warp_.block().changed();
      return next;
    });
  }

  Warp& warp_;
  Path& path_;
  const Step& step_;
  const SurfaceOperation& operation_;
  const std::vector<Place>& elements_;
  Records records_;
  texture::SurfaceAccess access_;  // of the surface at hand
  std::shared_ptr<const Surface> surface_;
  std::uint64_t handle_ = 0, first_ = 0;        // its first address
  const GlobalMemory::Range* range_ = nullptr;  // in which it lies
};

// What an H200 says: the layers of an array stand behind its extents.
std::uint32_t queried(SurfaceKind kind, const Surface& of) {
  const bool is_2d = of.shape == TextureShape::two || of.shape == TextureShape::two_array;
  switch (kind) {
    case SurfaceKind::width: return of.width;
    case SurfaceKind::height:
      return is_2d || of.shape == TextureShape::three ? of.height
             : of.shape == TextureShape::one_array    ? of.layers
                                                      : 0;
    case SurfaceKind::depth:
      return of.shape == TextureShape::three ? of.depth : of.shape == TextureShape::two_array ? of.layers : 0;
    default: return 0;
  }
}

}  // namespace

Next surface(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const std::vector<Place>& elements = warp.program().places[static_cast<std::size_t>(step.extra)];
  if (operation_of(warp, step).kind != SurfaceKind::load && warp.undefined().active() &&
      !allows_undefined(warp, path, step, lanes, elements))
    return Next::end;
  SurfaceLanes each(warp, path, step);
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1)
    if (!each.run(std::countr_zero(rest))) return Next::end;
  return Next::step;
}

Next surface_query(Warp& warp, Path& path, const Step& step, Lanes lanes) {
  const SurfaceOperation& operation = operation_of(warp, step);
  const SurfaceKind kind = operation.kind;
  for (Lanes rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    std::uint32_t out = 0;
    if (kind == SurfaceKind::is_type) {  // a handle is no variable
      const std::uint64_t address = warp.read(path, step.place[2], lane);
      out = warp.block().grid().references->opaque(address) == operation.opaque ? 1 : 0;
    } else {
      const Result<std::shared_ptr<const Surface>> of = surface_of(handle_at(warp, path, step, lane));
      if (!of) return warp.fault(path, Lanes{1} << lane, of.error());
      out = queried(kind, **of);
    }
    warp.write(path, step.place[0], lane, out);
  }
  return Next::step;
}

}  // namespace steps
}  // namespace warpbit::grid
