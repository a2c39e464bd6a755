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

// Elements that a dimension's extent has in a box.
std::uint32_t steps(const TensorMap& m, std::size_t d) {
  const std::uint32_t stride = d == 0 ? 1 : m.element_stride[d];
  return (m.box_dim[d] + stride - 1) / stride;
}

// The contiguous elements of a line of the tile.
std::uint32_t inner(const TensorMap& m) {
  return m.mode == TensorMapMode::im2col ? m.channels_per_pixel : steps(m, 0);
}

// Bytes from a line of the tile to the next: rows narrower than the swizzle's span fill it.
std::uint32_t pitch(const TensorMap& m) {
  const std::uint32_t bytes = inner(m) * element_bytes(m.elemtype);
  if (m.swizzle_mode == Swizzle::none) return bytes;
  return std::max(bytes, static_cast<std::uint32_t>(span_bytes(m.swizzle_mode)));
}

// Collects runs, line by line.
class Runs {
 public:
  Runs(const TensorMap& m, const TensorCopy& copy)
      : m_(m),
        shared_(copy.shared),
        unit_(copy.to_global ? 16 / element_bytes(m.elemtype) : 1),
        bytes_(element_bytes(m.elemtype)),
        inner_(inner(m)),
        pitch_(pitch(m)) {}

  // The next line of the tile, which begins at a point of the tensor.
  void add_line(const Point& at) {
    std::uint64_t global = m_.global_address;
    bool outside = false;
    for (std::size_t d = 1; d < static_cast<std::size_t>(m_.rank); ++d) {
      outside |= at[d] < 0 || static_cast<std::uint64_t>(at[d]) >= m_.global_dim[d];
      global += static_cast<std::uint64_t>(at[d]) * m_.global_stride[d - 1];
    }
    const std::int64_t first = at[0], end = first + inner_;
    const std::int64_t dim =
        outside ? 0 : static_cast<std::int64_t>((m_.global_dim[0] + unit_ - 1) / unit_ * unit_);
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
  std::uint32_t shared_, unit_, bytes_, inner_, pitch_, line_ = 0;  // unit_: elements that move together
  std::vector<CopyRun> out_;
};

void add_tile(const TensorMap& m, const Point& first, Runs& out) {
  std::array<std::uint32_t, 5> count{1, 1, 1, 1, 1}, i{};
  for (std::size_t d = 1; d < static_cast<std::size_t>(m.rank); ++d) count[d] = steps(m, d);
  while (i[4] < count[4]) {
    Point at = first;
    for (std::size_t d = 1; d < static_cast<std::size_t>(m.rank); ++d)
      at[d] += std::int64_t{i[d]} * m.element_stride[d];
    out.add_line(at);
    for (std::size_t d = 1; d < 5; ++d) {
      if (++i[d] < count[d] || d == 4) break;
      i[d] = 0;
    }
  }
}

// Pixels follow each other in the box between the corners, W first, then in the next image. Offsets move each.
void add_pixels(const TensorMap& m, const TensorCopy& copy, Point at, Runs& out) {
  const auto rank = static_cast<std::size_t>(m.rank);
  for (std::uint32_t pixel = 0; pixel < m.pixels_per_column; ++pixel) {
    Point moved = at;
    for (std::size_t d = 1; d + 1 < rank && copy.mode == CopyMode::im2col; ++d) moved[d] += copy.offsets[d - 1];
    out.add_line(moved);
    for (std::size_t d = 1; d < rank; ++d) {
      at[d] += m.element_stride[d];
      if (d + 1 == rank || at[d] < static_cast<std::int64_t>(m.global_dim[d]) + m.pixel_box_upper[d - 1]) break;
      at[d] = m.pixel_box_lower[d - 1];
    }
  }
}

// Four rows, each of its own coordinate (not recorded).
void add_rows(const TensorCopy& copy, Runs& out) {
  for (std::size_t i = 1; i < 5; ++i) out.add_line({copy.coordinates[0], copy.coordinates[i]});
}

bool has_four_rows(CopyMode mode) {
  return mode == CopyMode::tile_gather4 || mode == CopyMode::tile_scatter4;
}

std::optional<Error> refusal(const TensorMap& m, const TensorCopy& copy) {
  const std::string where = fmt::format(".{}", name(copy.mode));
  if (copy.mode == CopyMode::im2col_w || copy.mode == CopyMode::im2col_w_128)
    return Error{Errc::instruction_not_modelled, where, "its halo has not been recorded", ""};
  if (m.interleave_layout != TensorInterleave::none)
    return Error{Errc::instruction_not_modelled, "interleave_layout", "copies of slices have not been recorded",
                 ""};
  const bool im2col = copy.mode == CopyMode::im2col || copy.mode == CopyMode::im2col_no_offs;
  if (im2col != (m.mode == TensorMapMode::im2col))
    return Error{Errc::descriptor_field, where, fmt::format("a tensor map of mode {}", name(m.mode)),
                 fmt::format("a map of mode {}", name(im2col ? TensorMapMode::im2col : TensorMapMode::tiled))};
  if (has_four_rows(copy.mode) && (m.rank != 2 || m.box_dim[1] != 1))
    return Error{Errc::descriptor_field, where, fmt::format("rank {}, box_dim[1] {}", m.rank, m.box_dim[1]),
                 "rank 2 and one row"};
  if (copy.shared % shared_alignment(m) != 0)
    return Error{Errc::address_misaligned, where, fmt::format("{:#x}", copy.shared),
                 fmt::format("a multiple of {} is accepted", shared_alignment(m))};
  return std::nullopt;
}

}  // namespace

std::string_view name(CopyMode mode) {
  constexpr std::string_view kNames[] = {"tile",           "im2col",    "im2col_no_offs", "tile::gather4",
                                         "tile::scatter4", "im2col::w", "im2col::w::128"};
  return kNames[static_cast<std::size_t>(mode)];
}

Result<std::vector<CopyRun>> runs(const TensorMap& map, const TensorCopy& copy) {
  if (std::optional<Error> refused = refusal(map, copy)) return *std::move(refused);
  Runs out(map, copy);
  Point at{};
  std::copy_n(copy.coordinates.begin(), map.rank, at.begin());
  if (has_four_rows(copy.mode))
    add_rows(copy, out);
  else if (map.mode == TensorMapMode::tiled)
    add_tile(map, at, out);
  else
    add_pixels(map, copy, at, out);
  return out.take();
}

std::uint64_t counted_bytes(const TensorMap& map, CopyMode mode) {
  std::uint64_t lines = map.pixels_per_column;
  if (map.mode == TensorMapMode::tiled) {
    lines = has_four_rows(mode) ? 4 : 1;
    for (std::size_t d = 1; d < static_cast<std::size_t>(map.rank); ++d) lines *= steps(map, d);
  }
  return lines * inner(map) * element_bytes(map.elemtype);
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
