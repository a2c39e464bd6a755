// SPDX-License-Identifier: Apache-2.0
#include "ptx/type.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace warpbit::ptx {
namespace {

using enum Type;
constexpr auto U = TypeClass::unsigned_integer, S = TypeClass::signed_integer, B = TypeClass::bits,
               F = TypeClass::floating;

constexpr std::array kTypes = {
    TypeRow{u8, "u8", 8, U, true, u8},
    TypeRow{u16, "u16", 16, U, true, u16},
    TypeRow{u32, "u32", 32, U, true, u32},
    TypeRow{u64, "u64", 64, U, true, u64},
    TypeRow{s8, "s8", 8, S, true, s8},
    TypeRow{s16, "s16", 16, S, true, s16},
    TypeRow{s32, "s32", 32, S, true, s32},
    TypeRow{s64, "s64", 64, S, true, s64},
    TypeRow{b8, "b8", 8, B, true, b8},
    TypeRow{b16, "b16", 16, B, true, b16},
    TypeRow{b32, "b32", 32, B, true, b32},
    TypeRow{b64, "b64", 64, B, true, b64},
    TypeRow{b128, "b128", 128, B, true, b128},
    TypeRow{f16, "f16", 16, F, true, f16},
    TypeRow{f16x2, "f16x2", 32, F, true, f16},
    TypeRow{bf16, "bf16", 16, B, false, bf16},
    TypeRow{bf16x2, "bf16x2", 32, B, false, bf16},
    TypeRow{tf32, "tf32", 32, B, false, tf32},
    TypeRow{f32, "f32", 32, F, true, f32},
    TypeRow{f32x2, "f32x2", 64, B, false, f32},
    TypeRow{f64, "f64", 64, F, true, f64},
    TypeRow{u16x2, "u16x2", 32, B, false, u16},
    TypeRow{s16x2, "s16x2", 32, B, false, s16},
    TypeRow{u8x4, "u8x4", 32, B, false, u8},
    TypeRow{s8x4, "s8x4", 32, B, false, s8},
    TypeRow{pred, "pred", 1, TypeClass::predicate, true, pred},
};

constexpr bool types_in_order() {
  for (std::size_t i = 0; i < kTypes.size(); ++i)
    if (static_cast<std::size_t>(kTypes[i].type) != i) return false;
  return true;
}
static_assert(types_in_order());

// The letters of a short word as a number: all types are compared without a call.
constexpr std::uint64_t number_of(std::string_view word) {
  std::uint64_t out = 0;
  for (const char letter : word) out = out << 8 | static_cast<unsigned char>(letter);
  return out;
}
constexpr auto kNumbers = [] {
  std::array<std::uint64_t, kTypes.size()> out = {};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = number_of(kTypes[i].name);
  return out;
}();

}  // namespace

const TypeRow& row(Type type) {
  return kTypes[static_cast<std::size_t>(type)];
}

std::optional<Type> find_type(std::string_view name) {
  if (name.size() > sizeof(std::uint64_t)) return {};
  const auto* const found = std::ranges::find(kNumbers, number_of(name));
  if (found == kNumbers.end()) return {};
  return static_cast<Type>(found - kNumbers.begin());
}

Type of_bits(int bits) {
  return bits == 8    ? Type::b8
         : bits == 16 ? Type::b16
         : bits == 32 ? Type::b32
         : bits == 64 ? Type::b64
                      : Type::b128;
}

std::optional<Type> twice(Type type) {
  switch (type) {
    case u16: return u32;
    case s16: return s32;
    case u32: return u64;
    case s32: return s64;
    default: return {};
  }
}

bool takes_register(Type wanted, Type declared, bool wider) {
  const TypeRow &w = row(wanted), &d = row(declared);
  if (w.cls == TypeClass::predicate || d.cls == TypeClass::predicate) return wanted == declared;
  if (wider ? d.bits < w.bits : d.bits != w.bits) return false;
  if (wanted == declared || d.cls == B) return true;
  if (w.cls == F) return false;
  if (declared == f16x2) return w.is_declared || w.element == u16 || w.element == s16;
  return w.cls == B ? w.is_declared : d.cls != F;
}

}  // namespace warpbit::ptx
