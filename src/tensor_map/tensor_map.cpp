// SPDX-License-Identifier: Apache-2.0
#include "warpbit/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

#include "tensor_map/fields.hpp"
#include "warpbit/descriptor.hpp"  // span_bytes

namespace warpbit {
namespace {

using tensor_map::Field;
using tensor_map::visit_fields;
using tensor_map::Words;

std::uint64_t bits_of(const Words& words, Field at) {
  const std::uint64_t word = words[at.bit / 32];
  const std::uint64_t both = at.bits > 32 ? word | std::uint64_t{words[at.bit / 32 + 1]} << 32 : word;
  return at.bits == 64 ? both : both >> at.bit % 32 & ((std::uint64_t{1} << at.bits) - 1);
}

void set(Words& words, Field at, std::uint64_t value) {
  if (at.bits < 64) value &= (std::uint64_t{1} << at.bits) - 1;
  words[at.bit / 32] |= static_cast<std::uint32_t>(value << at.bit % 32);
  if (at.bits > 32) words[at.bit / 32 + 1] |= static_cast<std::uint32_t>(value >> 32);
}

// A number of so many bits with a sign.
std::int64_t with_sign(std::uint64_t value, unsigned bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

Error unknown_code(std::string_view field, std::uint64_t seen, std::string accepted) {
  return {Errc::descriptor_field, std::string(field), fmt::format("code {}", seen), std::move(accepted)};
}

// The fields that decide which others there are.
Result<TensorMap> decode_codes(const Words& words) {
  TensorMap m;
  m.mode = static_cast<TensorMapMode>(bits_of(words, tensor_map::kMode));
  m.rank = static_cast<int>(bits_of(words, tensor_map::kRank)) + 1;
  const int least = m.mode == TensorMapMode::im2col ? 3 : 1;
  if (m.rank < least || m.rank > 5)
    return Error{Errc::descriptor_field, "rank", fmt::format("{}", m.rank), fmt::format("{} to 5", least)};
  const std::uint64_t type = bits_of(words, tensor_map::kElemtype), tf32 = bits_of(words, tensor_map::kTf32);
  constexpr auto kLast = static_cast<std::uint64_t>(TensorType::bf16);
  if (type > kLast) return unknown_code("elemtype", type, fmt::format("0 to {}", kLast));
  const std::uint64_t added = tf32 * tensor_map::kTf32Distance;
  m.elemtype = static_cast<TensorType>(type + added);
  if (tf32 != 0 && m.elemtype != TensorType::tf32 && m.elemtype != TensorType::tf32_ftz)
    return Error{Errc::descriptor_field, "elemtype",
                 fmt::format("{} with the bit of tf32", name(static_cast<TensorType>(type))),
                 "f32 or f32_ftz with that bit; `tensormap.replace` does not clear it"};
  const std::uint64_t interleave = bits_of(words, tensor_map::kInterleave);
  if (interleave > 2) return unknown_code("interleave_layout", interleave, "0 to 2");
  m.interleave_layout = static_cast<TensorInterleave>(interleave);
  const auto code = static_cast<Swizzle>(bits_of(words, tensor_map::kSwizzle));
  m.swizzle_mode = static_cast<Swizzle>(tensor_map::swizzle_code(code));
  return m;
}

}  // namespace

namespace tensor_map {

Words words_of(std::span<const std::byte, 128> map) {
  Words out{};
  for (std::size_t i = 0; i < map.size(); ++i)
    out[i / 4] |= std::to_integer<std::uint32_t>(map[i]) << 8 * (i % 4);
  return out;
}

Words packed(const TensorMap& m) {
  Words out{};
  const auto type = static_cast<std::uint64_t>(m.elemtype);
  const bool tf32 = m.elemtype >= TensorType::tf32;
  set(out, kMode, static_cast<std::uint64_t>(m.mode));
  set(out, kRank, static_cast<std::uint64_t>(m.rank) - 1);
  set(out, kElemtype, tf32 ? type - kTf32Distance : type);
  set(out, kTf32, tf32);
  set(out, kInterleave, static_cast<std::uint64_t>(m.interleave_layout));
  set(out, kSwizzle, swizzle_code(m.swizzle_mode));
  visit_fields(m, [&](Field at, const auto& value, const char*, unsigned) {
    set(out, at, (static_cast<std::uint64_t>(value) - at.less) >> at.shift);
  });
  set(out, kBoxBytes, m.box_bytes());
  set(out, kAlignment,
      static_cast<std::uint64_t>(m.swizzle_mode == Swizzle::none ? 16 : 8 * span_bytes(m.swizzle_mode)));
  return out;
}

}  // namespace tensor_map

std::uint32_t element_bytes(TensorType type) {
  constexpr std::uint32_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
  return kBytes[static_cast<std::size_t>(type)];
}

std::uint64_t TensorMap::box_bytes() const {
  std::uint64_t out = element_bytes(elemtype);
  if (mode == TensorMapMode::im2col) return out * channels_per_pixel * pixels_per_column;
  for (std::size_t i = 0; i < static_cast<std::size_t>(rank); ++i) out *= box_dim[i] / element_stride[i];
  return out;
}

Result<TensorMapBytes> TensorMap::encode() const {
  if (const std::vector<Error> refused = refusals(); !refused.empty()) return refused.front();
  const Words words = tensor_map::packed(*this);
  TensorMapBytes out{};
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<std::byte>(words[i / 4] >> 8 * (i % 4) & 0xFF);
  return out;
}

Result<TensorMap> TensorMap::decode(std::span<const std::byte, 128> map) {
  const Words words = tensor_map::words_of(map);
  Result<TensorMap> out = decode_codes(words);
  if (!out) return out;
  visit_fields(*out, [&](Field at, auto& value, const char*, unsigned) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const std::uint64_t bits = bits_of(words, at);
    if constexpr (std::is_enum_v<Value>)
      value = static_cast<Value>(bits);
    else if constexpr (std::is_signed_v<Value>)
      value = static_cast<Value>(with_sign(bits, at.bits));
    else
      value = static_cast<Value>(value + ((bits << at.shift) + at.less));
  });
  return out;
}

std::vector<TensorMapField> tensor_map_fields(std::span<const std::byte, 128> map) {
  const Words words = tensor_map::words_of(map);
  std::vector<TensorMapField> out;
  const auto add = [&](Field at, std::string field) {
    out.push_back({std::move(field), static_cast<int>(at.bit), static_cast<int>(at.bits), bits_of(words, at)});
  };
  add(tensor_map::kMode, "mode");
  add(tensor_map::kRank, "rank - 1");
  add(tensor_map::kElemtype, "elemtype");
  add(tensor_map::kInterleave, "interleave_layout");
  add(tensor_map::kSwizzle, "swizzle_mode");
  add(tensor_map::kTf32, "tf32");
  if (const Result<TensorMap> decoded = TensorMap::decode(map))
    visit_fields(*decoded, [&](Field at, const auto& value, const char* member, unsigned index) {
      std::string field = member;
      if (std::is_integral_v<std::remove_cvref_t<decltype(value)>> && !field.starts_with("global_address"))
        field += fmt::format("[{}]", index);
      if (at.shift > 0) field += fmt::format(" >> {}", at.shift);
      if (at.less > 0) field += fmt::format(" - {}", at.less);
      add(at, std::move(field));
    });
  add(tensor_map::kBoxBytes, "box_bytes");
  add(tensor_map::kAlignment, "alignment");
  std::ranges::sort(out, {}, &TensorMapField::first_bit);
  return out;
}

}  // namespace warpbit
