// SPDX-License-Identifier: Apache-2.0
// The types of PTX as rows (PTX manual, "Fundamental Types", "Packed Data Types"), and which registers an operand of a
// type takes ("Operand Type Checking").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit::ptx {

/// In the order of their rows.
enum class Type : std::uint8_t {
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  b8,
  b16,
  b32,
  b64,
  b128,
  f16,
  f16x2,
  bf16,
  bf16x2,
  tf32,
  f32,
  f32x2,
  f64,
  u16x2,
  s16x2,
  u8x4,
  s8x4,
  pred,
};

enum class TypeClass : std::uint8_t { unsigned_integer, signed_integer, bits, floating, predicate };

struct TypeRow {
  Type type;
  std::string_view name;  ///< without the dot
  int bits;               ///< 1 for a predicate
  TypeClass cls;
  bool is_declared;  ///< a variable or a register may have it; others are bits in registers (bf16: b16)
  Type element;      ///< of a packed type: that of its parts; otherwise itself
};

const TypeRow& row(Type type);
std::optional<Type> find_type(std::string_view name);

inline int bits(Type type) {
  return row(type).bits;
}
inline bool is_integer(Type type) {
  return row(type).cls == TypeClass::unsigned_integer || row(type).cls == TypeClass::signed_integer;
}
inline bool is_signed(Type type) {
  return row(type).cls == TypeClass::signed_integer;
}
inline bool is_floating(Type type) {
  return row(type).cls == TypeClass::floating;
}
inline bool is_packed(Type type) {
  return row(type).element != type;
}

/// .b8 to .b128.
Type of_bits(int bits);

/// The integer or floating-point type of twice the bits, for .wide; nothing for others.
std::optional<Type> twice(Type type);

/// Whether an operand of type `wanted` takes a register of type `declared`: of the same size, or wider with `wider` (ld, st,
/// cvt), and of the same type or .b; where .b is wanted, of any type; where an integer is, of any integer type or .f16x2.
bool takes_register(Type wanted, Type declared, bool wider);

}  // namespace warpbit::ptx
#pragma GCC visibility pop
