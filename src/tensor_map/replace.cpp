// SPDX-License-Identifier: Apache-2.0
#include "tensor_map/replace.hpp"

#include <array>

#include "tensor_map/fields.hpp"

namespace warpbit::tensor_map {
namespace {

// A field of tensormap.replace: of dimension 0, and how far apart those of the others lie.
struct Row {
  std::string_view name;
  Field at;
  unsigned dimensions = 1, step = 0;
};
constexpr Row kRows[] = {
    {"global_address", {0, 64}},
    {"rank", kRank},
    {"box_dim", {440, 8, 1}, 5, 8},
    {"global_dim", {256, 32, 1}, 5, 32},
    {"global_stride", {96, 32, 0, 4}, 4, 32},
    {"global_stride", {224, 4, 0, 36}, 4, 4},  // the upper bits
    {"element_stride", {416, 3, 1}, 5, 3},
    {"elemtype", kElemtype},
    {"interleave_layout", kInterleave},
    {"swizzle_mode", kSwizzle},
    {"swizzle_mode", {86, 1, 0, 63}},  // cleared
    {"fill_mode", {79, 1}},
};

void write_field(std::span<std::byte, 128> map, Field at, std::uint64_t value) {
  for (unsigned bit = 0; bit < at.bits; ++bit) {
    std::byte& byte = map[(at.bit + bit) / 8];
    const std::byte mask{static_cast<unsigned char>(1U << (at.bit + bit) % 8)};
    byte = (value >> bit & 1) != 0 ? byte | mask : byte & ~mask;
  }
}

}  // namespace

bool replace(std::span<std::byte, 128> map, std::string_view field, unsigned ordinal, std::uint64_t value) {
  bool found = false;
  for (const Row& row : kRows) {
    if (row.name != field || ordinal >= row.dimensions) continue;
    Field at = row.at;
    at.bit += ordinal * row.step;
    write_field(map, at, (value - at.less) >> at.shift);
    found = true;
  }
  return found;
}

}  // namespace warpbit::tensor_map
