// SPDX-License-Identifier: Apache-2.0
// The bits of an instruction descriptor of tcgen05.mma: its fields, and the types that stand in them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "warpbit/instruction.hpp"

namespace warpbit::instruction_fields {

using Bits = std::uint32_t;

// ---- The fields (PTX manual, "Instruction Descriptor"), one table for each of the three forms

enum class What : std::uint8_t {
  selector,
  sparse,
  saturate,
  d_type,
  a_type,
  b_type,
  negate_a,
  negate_b,
  transpose_a,
  transpose_b,
  n,
  m,
  scale_type,
  scale_id_a,
  scale_id_b,
  max_shift,
  k,
  zero,
  newer,  ///< zero, too: sm_107 has a field there
};

struct Field {
  What what;
  std::string_view name;
  int first, bits;
};

inline constexpr Field kDense[] = {
    {What::selector, "sparsity selector", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::saturate, "saturate", 3, 1},
    {What::d_type, "type of D", 4, 2},
    {What::zero, "reserved", 6, 1},
    {What::a_type, "type of A", 7, 3},
    {What::b_type, "type of B", 10, 3},
    {What::negate_a, "negate A", 13, 1},
    {What::negate_b, "negate B", 14, 1},
    {What::transpose_a, "transpose A", 15, 1},
    {What::transpose_b, "transpose B", 16, 1},
    {What::n, "N >> 3", 17, 6},
    {What::zero, "reserved", 23, 1},
    {What::m, "M >> 4", 24, 5},
    {What::newer, "reserved", 29, 1},
    {What::max_shift, "maximum shift of B", 30, 2},
};
inline constexpr Field kScaled[] = {
    {What::zero, "reserved", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::newer, "reserved", 3, 1},
    {What::scale_id_b, "scale factor ID of B", 4, 2},
    {What::zero, "reserved", 6, 1},
    {What::a_type, "type of A", 7, 3},
    {What::b_type, "type of B", 10, 3},
    {What::negate_a, "negate A", 13, 1},
    {What::negate_b, "negate B", 14, 1},
    {What::transpose_a, "transpose A", 15, 1},
    {What::transpose_b, "transpose B", 16, 1},
    {What::n, "N >> 3", 17, 6},
    {What::scale_type, "type of scale factors", 23, 1},
    {What::newer, "reserved", 24, 3},
    {What::m, "M >> 7", 27, 2},
    {What::scale_id_a, "scale factor ID of A", 29, 2},
    {What::newer, "reserved", 31, 1},
};
inline constexpr Field kFp4[] = {
    {What::zero, "reserved", 0, 2},
    {What::sparse, "sparsity", 2, 1},
    {What::newer, "reserved", 3, 1},
    {What::scale_id_b, "scale factor ID of B", 4, 2},
    {What::zero, "reserved", 6, 1},
    {What::a_type, "type of A", 7, 3},
    {What::b_type, "type of B", 10, 2},
    {What::newer, "reserved", 12, 1},
    {What::negate_a, "negate A", 13, 1},
    {What::negate_b, "negate B", 14, 1},
    {What::transpose_a, "transpose A", 15, 1},
    {What::transpose_b, "transpose B", 16, 1},
    {What::n, "N >> 3", 17, 6},
    {What::scale_type, "type of scale factors", 23, 1},
    {What::newer, "reserved", 24, 3},
    {What::m, "M >> 7", 27, 2},
    {What::scale_id_a, "scale factor ID of A", 29, 2},
    {What::k, "K dimension", 31, 1},
};

inline bool is_fp4(TensorKind kind) {
  return kind == TensorKind::mxf4 || kind == TensorKind::mxf4nvf4;
}
inline bool is_scaled(TensorKind kind) {
  return is_fp4(kind) || kind == TensorKind::mxf8f6f4;
}
inline std::span<const Field> table_of(TensorKind kind) {
  if (is_fp4(kind)) return kFp4;
  return is_scaled(kind) ? std::span<const Field>(kScaled) : std::span<const Field>(kDense);
}
inline Bits value_of(const Field& field, Bits bits) {
  return bits >> field.first & ((Bits{1} << field.bits) - 1);
}

// ---- The types of each kind, by their code; "" for none

struct Types {
  TensorKind kind;
  std::array<std::string_view, 6> factors;
  std::array<std::string_view, 3> sums;
};
inline constexpr Types kTypes[] = {
    {TensorKind::f16, {"f16", "bf16"}, {"f16", "f32"}},
    {TensorKind::tf32, {"", "", "tf32"}, {"", "f32"}},
    {TensorKind::f8f6f4, {"e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"}, {"f16", "f32"}},
    {TensorKind::i8, {"u8", "s8"}, {"", "", "s32"}},
    {TensorKind::mxf8f6f4, {"e4m3", "e5m2", "", "e2m3", "e3m2", "e2m1"}, {"f32"}},
    {TensorKind::mxf4, {"", "e2m1"}, {"f32"}},
    {TensorKind::mxf4nvf4, {"", "e2m1"}, {"f32"}},
    {TensorKind::ti16, {"", "", "", "s1z4m11"}, {"", "", "s32"}},
};
inline const Types& types_of(TensorKind kind) {
  return kTypes[static_cast<std::size_t>(kind)];
}
template <std::size_t N>
std::string_view type_at(const std::array<std::string_view, N>& types, Bits code) {
  return code < N ? types[code] : std::string_view();
}
template <std::size_t N>
std::string listed(const std::array<std::string_view, N>& types) {
  std::string out;
  for (std::size_t i = 0; i < N; ++i)
    if (!types[i].empty()) out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", i, types[i]);
  return out;
}
inline constexpr std::array<std::string_view, 2> kScaleTypes{"ue4m3", "ue8m0"};

/// K where the field of K is set.
inline constexpr int kUltraK = 96;

/// The code of a type; nothing if it has none.
template <std::size_t N>
std::optional<Bits> code_of(const std::array<std::string_view, N>& types, std::string_view type) {
  const auto found = std::ranges::find(types, type);
  if (type.empty() || found == types.end()) return std::nullopt;
  return static_cast<Bits>(found - types.begin());
}

}  // namespace warpbit::instruction_fields
