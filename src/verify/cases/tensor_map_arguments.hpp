// SPDX-License-Identifier: Apache-2.0
// The arguments with which the capture programs ask for tensor maps, in this library's words.
#pragma once

#include <optional>

#include "verify/cases/tensor_maps.hpp"
#include "warpbit/tensor_map.hpp"

namespace tensor_map_arguments {

using namespace warpbit;
using tensor_maps::Arguments;

// An enumerator by the driver's number; what is behind the last one keeps its number.
template <class Enum, std::size_t N>
Enum of(std::uint32_t number, const Enum (&list)[N]) {
  return number < N ? list[number] : static_cast<Enum>(number);
}

// With all that the driver ignores. Nothing for a mode of the wide function that there is not.
inline std::optional<TensorMap> tensor_map(const Arguments& a) {
  if (a.kind == tensor_maps::kIm2colWide && a.mode > 1) return std::nullopt;
  using enum TensorType;
  TensorMap m;
  m.mode = a.kind == tensor_maps::kTiled ? TensorMapMode::tiled : TensorMapMode::im2col;
  m.elemtype = of(a.dataType, {u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, f32_ftz, tf32, tf32_ftz});
  m.rank = static_cast<int>(a.rank);
  m.global_address = a.address;
  m.global_dim = a.dim;
  m.global_stride = a.stride;
  m.box_dim = a.box;
  m.element_stride = a.step;
  m.pixel_box_lower = a.lower;
  m.pixel_box_upper = a.upper;
  if (a.kind == tensor_maps::kIm2colWide) {
    m.pixel_box_lower = {a.lower[0], 0, 0};
    m.pixel_box_upper = {a.upper[0], 0, 0};
  }
  m.channels_per_pixel = a.channels;
  m.pixels_per_column = a.pixels;
  m.interleave_layout = static_cast<TensorInterleave>(a.interleave);
  m.swizzle_mode = of(a.swizzle, {Swizzle::none, Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128});
  m.l2_promotion = static_cast<L2Promotion>(a.promotion);
  m.fill_mode = static_cast<TensorFill>(a.fill);
  return m;
}

}  // namespace tensor_map_arguments
