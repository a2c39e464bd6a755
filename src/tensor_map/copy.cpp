// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>  // std::memcpy
#include <optional>

#include "tensor_map/fields.hpp"
#include "warpbit/descriptor.hpp"  // span_bytes

namespace warpbit::tensor_map {
namespace {

using Point = std::array<std::int64_t, 5>;

constexpr std::uint64_t kMaxDim =
    std::uint64_t{1} << 31;  // a map may have more, a copy may not; not recorded of the first dimension

bool has_slices(const TensorMap& m) {
  return m.interleave_layout != TensorInterleave::none;
}

// Bytes that a step of the first dimension goes: an element, or with an interleave a slice of channels.
std::uint32_t unit_bytes(const TensorMap& m) {
  if (!has_slices(m)) return element_bytes(m.elemtype);
  return m.interleave_layout == TensorInterleave::bytes_16 ? 16 : 32;
}

// How often a dimension steps in a tile. Elements of the first one lie in a line; with an interleave they are slices, all
// of one place in the dimension of channels, whatever the box says of it.
std::uint32_t steps(const TensorMap& m, std::size_t d) {
  if (has_slices(m) ? d + 2 == static_cast<std::size_t>(m.rank) : d == 0) return 1;
  return (m.box_dim[d] + m.element_stride[d] - 1) / m.element_stride[d];
}

// The contiguous units of a line of the tile.
std::uint32_t inner(const TensorMap& m) {
  if (has_slices(m)) return 1;
  return m.mode == TensorMapMode::im2col ? m.channels_per_pixel : m.box_dim[0];
}

// Bytes from a line of the tile to the next: rows narrower than the swizzle's span fill it.
std::uint32_t pitch(const TensorMap& m) {
  const std::uint32_t bytes = inner(m) * unit_bytes(m);
  if (has_slices(m) || m.swizzle_mode == Swizzle::none) return bytes;
  return std::max(bytes, static_cast<std::uint32_t>(span_bytes(m.swizzle_mode)));
}

// Collects runs, line by line.
class Runs {
 public:
  Runs(const TensorMap& m, const TensorCopy& copy)
      : m_(m), shared_(copy.shared), bytes_(unit_bytes(m)), inner_(inner(m)), pitch_(pitch(m)) {
    const std::uint64_t together = copy.to_global ? std::max(16 / bytes_, 1u) : 1;
    dim_ = static_cast<std::int64_t>((m.global_dim[0] + together - 1) / together * together);
  }

  // The next line of the tile, which begins at a point of the tensor.
  void add_line(const Point& at) {
    std::uint64_t global = m_.global_address;
    bool outside = false;
    for (std::size_t d = 1; d < static_cast<std::size_t>(m_.rank); ++d) {
      outside |= at[d] < 0 || static_cast<std::uint64_t>(at[d]) >= m_.global_dim[d];
      global += static_cast<std::uint64_t>(at[d]) * m_.global_stride[d - 1];
    }
    const std::int64_t first = at[0], end = first + inner_;
    const std::int64_t dim = outside ? 0 : dim_;
    const std::int64_t in = std::clamp<std::int64_t>(outside ? end : 0, first, end);
    const std::int64_t out = std::clamp(dim, in, end);
    add(true, 0, 0, in - first);
    add(false, global + static_cast<std::uint64_t>(in) * bytes_, in - first, out - in);
    add(true, 0, out - first, end - out);
    line_ += pitch_;
  }

  std::vector<CopyRun> take() { return std::move(out_); }

 private:
  // Elements of a line from `place` on.
  void add(bool outside, std::uint64_t global, std::int64_t place, std::int64_t count) {
    std::uint32_t at = shared_ + line_ + static_cast<std::uint32_t>(place) * bytes_;
    const std::uint32_t end = at + static_cast<std::uint32_t>(count) * bytes_;
    while (at != end) {
      const std::uint32_t bytes =
          m_.swizzle_mode == Swizzle::none ? end - at : std::min(16 - at % 16, end - at);
      append({outside ? 0 : global, outside, swizzled(at, m_.swizzle_mode), bytes});
      global += bytes;
      at += bytes;
    }
  }

  void append(const CopyRun& run) {
    if (!out_.empty()) {
      CopyRun& last = out_.back();
      if (last.outside == run.outside && last.shared + last.bytes == run.shared &&
          (run.outside || last.global + last.bytes == run.global)) {
        last.bytes += run.bytes;
        return;
      }
    }
    out_.push_back(run);
  }

  const TensorMap& m_;
  std::uint32_t shared_, bytes_, inner_, pitch_, line_ = 0;
  std::int64_t dim_ = 0;  // units of the first dimension that are moved
  std::vector<CopyRun> out_;
};

void add_tile(const TensorMap& m, const Point& first, Runs& out) {
  std::array<std::uint32_t, 5> count{1, 1, 1, 1, 1}, i{};
  for (std::size_t d = 0; d < static_cast<std::size_t>(m.rank); ++d) count[d] = steps(m, d);
  while (i[4] < count[4]) {
    Point at = first;
    for (std::size_t d = 0; d < static_cast<std::size_t>(m.rank); ++d)
      at[d] += std::int64_t{i[d]} * m.element_stride[d];
    out.add_line(at);
    for (std::size_t d = 0; d < 5; ++d) {
      if (++i[d] < count[d] || d == 4) break;
      i[d] = 0;
    }
  }
}

// Pixels follow each other in the box between the corners, W first, then in the next image. Offsets move each.
void add_pixels(const TensorMap& m, const TensorCopy& copy, Point at, Runs& out) {
  const std::size_t first = has_slices(m) ? 0 : 1, spatial = static_cast<std::size_t>(m.rank) - 2;
  for (std::uint32_t pixel = 0; pixel < m.pixels_per_column; ++pixel) {
    Point moved = at;
    for (std::size_t i = 0; i < spatial && copy.mode == CopyMode::im2col; ++i)
      moved[first + i] += copy.offsets[i];
    out.add_line(moved);
    std::size_t i = 0;
    for (; i < spatial; ++i) {
      std::int64_t& x = at[first + i];
      x += m.element_stride[first + i];
      if (x < static_cast<std::int64_t>(m.global_dim[first + i]) + m.pixel_box_upper[i]) break;
      x = m.pixel_box_lower[i];
    }
    if (i == spatial) at[spatial + 1] += m.element_stride[spatial + 1];
  }
}

// The first pixel must lie between the corners, and the corners of a store in the tensor.
std::optional<Error> pixel_refusal(const TensorMap& m, const TensorCopy& copy, const std::string& where) {
  const std::size_t first = has_slices(m) ? 0 : 1, spatial = static_cast<std::size_t>(m.rank) - 2;
  constexpr unsigned kOffsetBits[] = {0, 16, 8, 5};  // by the number of offsets
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t at = copy.coordinates[first + i], low = m.pixel_box_lower[i], up = m.pixel_box_upper[i];
    const std::int64_t end = static_cast<std::int64_t>(m.global_dim[first + i]) + up;
    if (copy.to_global && (low < 0 || up > 0))
      return Error{Errc::descriptor_field, where, fmt::format("a store between the corners {} and {}", low, up),
                   "corners inside the tensor"};
    const std::string range = fmt::format("{} to {}, by the corners", low, end - 1);
    if ((at < low || at >= end) && copy.to_global)
      return Error{Errc::instruction_not_modelled, where,
                   fmt::format("a store to coordinate {}, not {}", at, range), ""};
    if (at < low || at >= end)
      return Error{Errc::descriptor_field, where, fmt::format("coordinate {}", at), range};
    if (copy.mode == CopyMode::im2col && copy.offsets[i] >> kOffsetBits[spatial] != 0)
      return Error{Errc::instruction_not_modelled, where,
                   fmt::format("offset {} of more than {} bits", copy.offsets[i], kOffsetBits[spatial]), ""};
  }
  return std::nullopt;
}

// What the GPU takes for an illegal instruction, by the coordinates.
std::optional<Error> place_refusal(const TensorMap& m, const TensorCopy& copy, const std::string& where) {
  const auto rank = static_cast<std::size_t>(m.rank);
  if (m.global_dim[0] > kMaxDim)
    return Error{Errc::instruction_not_modelled, where, fmt::format("a first dimension of {}", m.global_dim[0]),
                 ""};
  for (std::size_t d = 1; d < rank; ++d)
    if (m.global_dim[d] > kMaxDim)
      return Error{Errc::descriptor_field, where, fmt::format("a dimension of {}", m.global_dim[d]),
                   fmt::format("at most {}", kMaxDim)};
  const std::int64_t first = std::int64_t{copy.coordinates[0]} * element_bytes(m.elemtype);
  if (!has_slices(m) && first % 16 != 0)
    return Error{Errc::address_misaligned, where,
                 fmt::format("coordinate {}, byte {},", copy.coordinates[0], first),
                 "a multiple of 16 is accepted"};
  for (std::size_t d = 0; d < rank && copy.to_global; ++d)
    if (copy.coordinates[d] < 0)
      return Error{Errc::descriptor_field, where, fmt::format("a store to coordinate {}", copy.coordinates[d]),
                   "coordinates that are not negative"};
  return m.mode == TensorMapMode::tiled ? std::nullopt : pixel_refusal(m, copy, where);
}

std::optional<Error> refusal(const TensorMap& m, const TensorCopy& copy) {
  const std::string where = fmt::format(".{}", name(copy.mode));
  if (copy.mode > CopyMode::im2col_no_offs)
    return Error{Errc::instruction_not_modelled, where, "not recorded", ""};
  const bool im2col = copy.mode == CopyMode::im2col || copy.mode == CopyMode::im2col_no_offs;
  if (im2col != (m.mode == TensorMapMode::im2col))
    return Error{Errc::descriptor_field, where, fmt::format("a tensor map of mode {}", name(m.mode)),
                 fmt::format("a map of mode {}", name(im2col ? TensorMapMode::im2col : TensorMapMode::tiled))};
  if (copy.shared % shared_alignment(m) != 0)
    return Error{Errc::address_misaligned, where, fmt::format("{:#x}", copy.shared),
                 fmt::format("a multiple of {} is accepted", shared_alignment(m))};
  return place_refusal(m, copy, where);
}

}  // namespace

std::string_view name(CopyMode mode) {
  constexpr std::string_view kNames[] = {"tile",           "im2col",    "im2col_no_offs", "tile::gather4",
                                         "tile::scatter4", "im2col::w", "im2col::w::128"};
  return kNames[static_cast<std::size_t>(mode)];
}

Result<void> check(const TensorMap& map, const TensorCopy& copy) {
  if (std::optional<Error> refused = refusal(map, copy)) return *std::move(refused);
  return {};
}

Result<std::vector<CopyRun>> runs(const TensorMap& map, const TensorCopy& copy) {
  if (const Result<void> checked = check(map, copy); !checked) return checked.error();
  Runs out(map, copy);
  Point at{};
  std::copy_n(copy.coordinates.begin(), map.rank, at.begin());
  if (map.mode == TensorMapMode::tiled)
    add_tile(map, at, out);
  else
    add_pixels(map, copy, at, out);
  return out.take();
}

// ---- Lines

std::uint64_t CopyLines::reach() const {
  std::uint64_t out = bytes;
  for (std::size_t d = 0; d < count.size(); ++d) out += (count[d] - 1) * stride[d];
  return out;
}

std::optional<CopyLines> lines(const TensorMap& map, const TensorCopy& copy) {
  if (map.mode != TensorMapMode::tiled || has_slices(map) || copy.to_global || converts(map.elemtype))
    return std::nullopt;
  CopyLines out;
  out.shared = copy.shared;
  out.bytes = inner(map) * unit_bytes(map);
  out.swizzle = map.swizzle_mode;
  const auto span =
      map.swizzle_mode == Swizzle::none ? 16 : static_cast<std::uint32_t>(span_bytes(map.swizzle_mode));
  if (out.bytes % span != 0) return std::nullopt;
  out.count.fill(1);
  out.global = map.global_address;
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
    const std::int64_t first = copy.coordinates[d];
    if (map.element_stride[d] != 1 || first < 0 ||
        static_cast<std::uint64_t>(first) + map.box_dim[d] > map.global_dim[d])
      return std::nullopt;
    const std::uint64_t stride = d == 0 ? unit_bytes(map) : map.global_stride[d - 1];
    out.global += static_cast<std::uint64_t>(first) * stride;
    if (d == 0) continue;
    out.count[d - 1] = map.box_dim[d];
    out.stride[d - 1] = stride;
  }
  return out;
}

namespace {

// Of bytes from `at` on in shared memory.
void move_line(const std::byte* from, std::byte* shared, std::uint32_t at, std::uint32_t bytes,
               Swizzle swizzle) {
  constexpr std::uint32_t kChunk = 16, kPattern = 128;
  if (swizzle == Swizzle::none) {
    std::memcpy(shared + at, from, bytes);
    return;
  }
  if (bytes == kPattern && at % kPattern == 0) {  // chunks of one row of the pattern: one XOR for all
    const std::uint32_t moved = swizzled(at, swizzle) - at;
    for (std::uint32_t i = 0; i < kPattern; i += kChunk)
      std::memcpy(shared + at + (i ^ moved), from + i, kChunk);
    return;
  }
  for (std::uint32_t i = 0; i < bytes; i += kChunk)
    std::memcpy(shared + swizzled(at + i, swizzle), from + i, kChunk);
}

}  // namespace

void move(const CopyLines& lines, const std::byte* from, std::byte* shared) {
  std::uint32_t at = lines.shared;
  std::array<std::uint32_t, 4> i{};
  for (i[3] = 0; i[3] < lines.count[3]; ++i[3])
    for (i[2] = 0; i[2] < lines.count[2]; ++i[2])
      for (i[1] = 0; i[1] < lines.count[1]; ++i[1]) {
        const std::byte* line = from + i[1] * lines.stride[1] + i[2] * lines.stride[2] + i[3] * lines.stride[3];
        for (i[0] = 0; i[0] < lines.count[0]; ++i[0]) {
          move_line(line, shared, at, lines.bytes, lines.swizzle);
          line += lines.stride[0];
          at += lines.bytes;
        }
      }
}

namespace {

std::uint64_t lines_of(const TensorMap& map) {
  if (map.mode == TensorMapMode::im2col) return map.pixels_per_column;
  std::uint64_t lines = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) lines *= steps(map, d);
  return lines;
}

}  // namespace

std::uint64_t counted_bytes(const TensorMap& map) {
  return lines_of(map) * inner(map) * unit_bytes(map);
}

std::uint64_t tile_bytes(const TensorMap& map) {
  return lines_of(map) * pitch(map);
}

std::uint32_t shared_alignment(const TensorMap&) {
  return 128;
}

// ---- Elements

namespace {

// What stands for a NaN, two bytes at a time, whatever the type.
constexpr std::uint32_t kNan = 0x7FF7;

// To nearest even; a NaN loses its sign and its payload.
std::uint32_t to_tf32(std::uint32_t bits) {
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FFFE000;
  return (bits & 0x7F800000) == 0x7F800000 ? bits : (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000;
}

}  // namespace

void fill(const TensorMap& map, std::span<std::byte> elements) {
  if (map.fill_mode == TensorFill::zeros) {
    std::ranges::fill(elements, std::byte{0});
    return;
  }
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::byte>(kNan >> 8 * (i % 2));
}

bool converts(TensorType type) {
  return type == TensorType::tf32 || type == TensorType::tf32_ftz;
}

void convert(TensorType type, std::span<std::byte> elements) {
  if (!converts(type)) return;
  for (std::size_t i = 0; i + 4 <= elements.size(); i += 4) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &elements[i], 4);
    bits = to_tf32(bits);
    std::memcpy(&elements[i], &bits, 4);
  }
}

}  // namespace warpbit::tensor_map
