// SPDX-License-Identifier: Apache-2.0
// Copies drawn by a seed, as a GPU takes them. C++17.
#pragma once

#include "verify/cases/tensor_copy_case.hpp"

namespace tensor_copies {

/// In [first, last].
inline std::int32_t between(Draw& draw, std::int64_t first, std::int64_t last) {
  return static_cast<std::int32_t>(
      first + static_cast<std::int64_t>(draw.below(static_cast<std::uint64_t>(last - first + 1))));
}

// The contiguous extent of a copy: whole 16 bytes, at most the swizzle's span, mostly half a kilobyte at most.
inline std::uint32_t line_elements(Draw& draw, const Arguments& a) {
  const std::uint32_t span = a.swizzle == 0 || a.interleave != 0 ? 256 * bytes_of(a) : 16u << a.swizzle;
  const std::uint32_t most = span < 512 || draw.below(8) == 0 ? span : 512;
  return 16 * (draw.below(3) == 0 && a.swizzle != 0 ? most / 16 : 1 + draw.below32(most / 16)) / bytes_of(a);
}

// Bytes of a step of the first dimension.
inline std::uint32_t unit_of(const Arguments& a) {
  return a.interleave == 0 ? bytes_of(a) : 16 * a.interleave;
}

// Bytes from a line of a tile to the next, the most that it may be.
inline std::uint32_t most_pitch(const Arguments& a, std::uint32_t inner) {
  if (a.interleave != 0) return inner * unit_of(a);
  const std::uint32_t span = a.swizzle == 0 ? 16 : 16u << a.swizzle;
  return inner * bytes_of(a) > span ? inner * bytes_of(a) : span;
}

// Extents of the tensor and strides, all in the window. Lines overlap only if they may.
inline void draw_tensor(Draw& draw, Arguments& a, bool may_overlap) {
  const std::uint32_t align = a.interleave == 2 ? 32 : 16;
  a.address = align * draw.below(2048 / align);
  const std::uint32_t inner = a.kind == tensor_maps::kTiled ? a.box[0] : a.channels;
  a.dim = {1 + draw.below(2 * inner), 1, 1, 1, 1};
  if (draw.below(3) == 0) a.dim[0] = inner;
  std::uint64_t bytes = a.dim[0] * unit_of(a);
  for (std::size_t i = 1; i < a.rank; ++i) {
    a.stride[i - 1] = (bytes + align - 1) / align * align + align * (draw.below(2) ? draw.below(4) : 0);
    if (may_overlap && draw.below(12) == 0) a.stride[i - 1] = align * draw.below(8);
    const std::uint64_t rest = kGlobalBytes - 2048 - bytes;
    const std::uint64_t room = a.stride[i - 1] == 0 ? 16 : rest / a.stride[i - 1];
    const std::uint64_t most = a.rank == 2 ? 40 : a.rank == 3 ? 12 : 6;
    a.dim[i] = 1 + draw.below(room < most ? room + 1 : most);
    bytes += (a.dim[i] - 1) * a.stride[i - 1];
  }
}

// Moves coordinates to where a GPU takes them: the first one to whole 16 bytes, those of stores into the tensor or behind.
inline void make_legal(CopyCase& c) {
  const Arguments& a = c.map;
  const auto together = static_cast<std::int32_t>(a.interleave == 0 ? 16 / bytes_of(a) : 1);
  c.coordinates[0] &= -together;
  for (std::int32_t& x : c.coordinates)
    if (c.operation != kLoad && x < 0) x = 0;
}

inline void draw_type(Draw& draw, Arguments& a) {
  a.dataType = draw.below32(13);
  a.swizzle = draw.below32(4);
  a.promotion = draw.below32(4);
  a.fill = tensor_maps::kDataTypes[a.dataType].is_floating ? draw.below32(2) : 0;
  a.step = {1, 1, 1, 1, 1};
}

inline void draw_tile(Draw& draw, CopyCase& c) {
  Arguments& a = c.map;
  a.kind = tensor_maps::kTiled;
  a.box = {line_elements(draw, a), 1, 1, 1, 1};
  std::uint32_t bytes = most_pitch(a, a.box[0]);
  for (std::uint32_t n = 1; n < a.rank; ++n) {
    const std::uint32_t i = 1 + draw.below32(a.rank - 1), room = kMostTile / bytes;
    const std::uint32_t extent = 1 + draw.below32(room < 16                          ? room
                                                  : draw.below(3) == 0 && room < 200 ? room
                                                                                     : 16);
    if (a.box[i] != 1) continue;
    a.box[i] = extent;
    bytes *= extent;
  }
  if (draw.below(3) == 0)
    for (std::size_t i = 0; i < a.rank; ++i) a.step[i] = 1 + draw.below32(draw.below(2) ? 3 : 8);
  draw_tensor(draw, a, c.operation == kLoad);
  for (std::size_t i = 0; i < a.rank; ++i) {
    const auto box = static_cast<std::int64_t>(a.box[i]), dim = static_cast<std::int64_t>(a.dim[i]);
    c.coordinates[i] = draw.below(4) == 0 ? 0 : between(draw, -box - 1, dim + 1);
    if (draw.below(2)) c.coordinates[i] = between(draw, 0, dim - 1);
  }
  make_legal(c);
}

inline void draw_pixels(Draw& draw, CopyCase& c) {
  Arguments& a = c.map;
  a.kind = tensor_maps::kIm2col;
  c.instruction_im2col = 1;
  a.channels = line_elements(draw, a);
  const std::uint32_t room = kMostTile / most_pitch(a, a.interleave == 0 ? a.channels : 1);
  a.pixels = 1 + draw.below32(room < 100 ? room : 100);
  draw_tensor(draw, a, false);
  const std::size_t first = a.interleave == 0 ? 1 : 0;
  for (std::size_t i = 0; i + 2 < a.rank; ++i) {
    const auto dim = static_cast<std::int64_t>(a.dim[i + first]);
    a.lower[i] = between(draw, c.operation == kLoad ? -3 : 0, 2);
    a.upper[i] = between(draw, -3, c.operation == kLoad ? 2 : 0);
    if (dim + a.upper[i] - a.lower[i] <= 0) a.lower[i] = a.upper[i] = c.operation == kLoad ? -1 : 0;
    if (draw.below(2)) a.step[i + first] = 1 + draw.below32(3);
    c.offsets[i] = static_cast<std::uint16_t>(draw.below(4));
    c.coordinates[i + first] = between(draw, a.lower[i], dim + a.upper[i] - 1);
  }
  const std::size_t channel = a.interleave == 0 ? 0 : a.rank - 2;
  const std::int64_t channels = a.interleave == 0 ? a.channels : 1;
  if (draw.below(2))
    c.coordinates[channel] = between(draw, -channels, static_cast<std::int64_t>(a.dim[channel]) + 1);
  const std::size_t n = a.rank - 1;
  c.coordinates[n] = between(draw, draw.below(4) == 0 ? -2 : 0, static_cast<std::int64_t>(a.dim[n]) - 1);
  make_legal(c);
}

// A tensor copy; `im2col` 0 or 1, `interleave` 0, or 1 for either of them.
inline CopyCase drawn(std::uint32_t seed, Operation operation, bool im2col, bool interleave) {
  Draw draw(seed);
  CopyCase c;
  c.operation = operation;
  c.seed = seed;
  draw_type(draw, c.map);
  c.map.rank = im2col || interleave ? 3 + draw.below32(3) : 1 + draw.below32(5);
  if (interleave) c.map.interleave = 1 + draw.below32(2);
  c.instruction_rank = c.map.rank;
  c.shared = 128 * draw.below32(16);
  if (im2col)
    draw_pixels(draw, c);
  else
    draw_tile(draw, c);
  return c;
}

inline CopyCase drawn_reduction(std::uint32_t seed, bool im2col, std::uint32_t type, std::uint32_t reduction) {
  CopyCase c;
  for (std::uint32_t more = 0;; more += 0x10000) {  // until the type, so that the box fits it
    c = drawn(seed + more, kReduce, im2col, false);
    if (c.map.dataType == type) break;
  }
  c.reduction = reduction;
  return c;
}

inline CopyCase drawn_bulk(std::uint32_t seed, Operation operation, std::uint32_t type,
                           std::uint32_t reduction) {
  Draw draw(seed);
  CopyCase c;
  c.operation = operation;
  c.seed = seed;
  c.reduction = reduction;
  c.map.dataType = type;
  c.bytes = 16 * (1 + draw.below32(draw.below(2) ? 8 : 256));
  const bool within = operation >= kSharedCopy;  // source behind the destination
  c.shared = 16 * draw.below32(((within ? kSharedBytes / 2 : kSharedBytes) - c.bytes) / 16);
  c.other = 16 * draw.below32(((within ? kSharedBytes / 2 : kGlobalBytes) - c.bytes) / 16);
  if (within) c.other += kSharedBytes / 2;
  return c;
}

}  // namespace tensor_copies
