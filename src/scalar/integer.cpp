// SPDX-License-Identifier: Apache-2.0
// Integer and logic instructions (PTX manual, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic
// Instructions", "Logic and Shift Instructions").
#include <algorithm>
#include <bit>
#include <limits>

#include "scalar/operation.hpp"

namespace warpbit::scalar {
namespace {
namespace integer_family {

__extension__ using s128 = __int128;

/// A register as a number of its type.
s128 number(std::uint64_t value, Type type) {
  const int size = ptx::bits(type);
  return ptx::is_signed(type) ? static_cast<s128>(extend(value, size)) : static_cast<s128>(cut(value, size));
}
std::uint64_t low(s128 value) {
  return static_cast<std::uint64_t>(value);
}
std::uint64_t fit(s128 value, Type type) {
  return cut(low(value), ptx::bits(type));
}
s128 minimum(Type type) {
  return ptx::is_signed(type) ? -(s128{1} << (ptx::bits(type) - 1)) : 0;
}
s128 maximum(Type type) {
  return (s128{1} << (ptx::bits(type) - (ptx::is_signed(type) ? 1 : 0))) - 1;
}
std::uint64_t clamped(s128 value, Type type) {
  return fit(std::clamp(value, minimum(type), maximum(type)), type);
}

// ---- Sums with carries. The flag is the carry of the unsigned sum; a difference is the sum a + ~b + 1, and its flag is set
// where there is no borrow (NUMERICS.md).

Results sum(const Operation& o, std::uint64_t a, std::uint64_t b, bool carry) {
  const int size = ptx::bits(o.type);
  const u128 total = static_cast<u128>(cut(a, size)) + cut(b, size) + (carry ? 1 : 0);
  if (o.sat) return {clamped(number(a, o.type) + number(b, o.type) + (carry ? 1 : 0), o.type)};
  return {cut(static_cast<std::uint64_t>(total), size), false, (total >> size) != 0};
}
Results difference(const Operation& o, std::uint64_t a, std::uint64_t b, bool carry) {
  if (o.sat) return {clamped(number(a, o.type) - number(b, o.type) - (carry ? 0 : 1), o.type)};
  return sum(o, a, ~b, carry);
}
Results add(const Operation& o, const Sources& s) {
  return sum(o, s[0], s[1], false);
}
Results addc(const Operation& o, const Sources& s) {
  return sum(o, s[0], s[1], s.carry);
}
Results sub(const Operation& o, const Sources& s) {
  return difference(o, s[0], s[1], true);
}
Results subc(const Operation& o, const Sources& s) {
  return difference(o, s[0], s[1], s.carry);
}

// ---- Products. The part of twice the width that .lo, .hi or .wide names.

std::uint64_t product(const Operation& o, std::uint64_t a, std::uint64_t b) {
  const int size = ptx::bits(o.type);
  const u128 whole =
      static_cast<u128>(number(a, o.type)) * static_cast<u128>(number(b, o.type));  // modulo 2^128
  if (o.mode == Mode::wide) return cut(static_cast<std::uint64_t>(whole), 2 * size);
  return cut(static_cast<std::uint64_t>(o.mode == Mode::high ? whole >> size : whole), size);
}
Results mul(const Operation& o, const Sources& s) {
  return {product(o, s[0], s[1])};
}
Results multiply_add(const Operation& o, const Sources& s, bool carry) {
  Operation part = o;
  if (o.mode == Mode::wide) part.type = part.to;
  return sum(part, product(o, s[0], s[1]), s[2], carry);
}
Results mad(const Operation& o, const Sources& s) {
  return multiply_add(o, s, false);
}
Results madc(const Operation& o, const Sources& s) {
  return multiply_add(o, s, s.carry);
}

// The product without carries: a sum of shifted b, by exclusive or.
Results clmad(const Operation& o, const Sources& s) {
  u128 whole = 0;
  for (int i = 0; i < ptx::bits(o.type); ++i)
    if (s[0] >> i & 1) whole ^= static_cast<u128>(s[1]) << i;
  return {static_cast<std::uint64_t>(o.mode == Mode::high ? whole >> ptx::bits(o.type) : whole) ^ s[2]};
}

// The 48-bit product of the low 24 bits: its low or high 32 bits.
std::uint64_t product24(const Operation& o, const Sources& s) {
  const bool is_signed = ptx::is_signed(o.type);
  const auto factor = [&](std::uint64_t x) {
    return is_signed ? extend(x, 24) : static_cast<std::int64_t>(cut(x, 24));
  };
  const std::int64_t whole = factor(s[0]) * factor(s[1]);
  return cut(static_cast<std::uint64_t>(o.mode == Mode::high ? whole >> 16 : whole), 32);
}
Results mul24(const Operation& o, const Sources& s) {
  return {product24(o, s)};
}
Results mad24(const Operation& o, const Sources& s) {
  return sum(o, product24(o, s), s[2], false);
}

Results sad(const Operation& o, const Sources& s) {
  const s128 a = number(s[0], o.type), b = number(s[1], o.type);
  return {fit(number(s[2], o.type) + (a < b ? b - a : a - b), o.type)};
}

// By zero: all ones, quotient and remainder.
Results div(const Operation& o, const Sources& s) {
  const s128 a = number(s[0], o.type), b = number(s[1], o.type);
  return {b == 0 ? ones(ptx::bits(o.type)) : fit(a / b, o.type)};
}
Results rem(const Operation& o, const Sources& s) {
  const s128 a = number(s[0], o.type), b = number(s[1], o.type);
  return {b == 0 ? ones(ptx::bits(o.type)) : fit(a % b, o.type)};
}
Results abs(const Operation& o, const Sources& s) {
  const s128 a = number(s[0], o.type);
  return {fit(a < 0 ? -a : a, o.type)};
}
Results neg(const Operation& o, const Sources& s) {
  return {fit(-number(s[0], o.type), o.type)};
}
std::uint64_t with_relu(const Operation& o, s128 value) {
  return fit(o.relu && value < 0 ? 0 : value, o.type);
}
Results min(const Operation& o, const Sources& s) {
  return {with_relu(o, std::min(number(s[0], o.type), number(s[1], o.type)))};
}
Results max(const Operation& o, const Sources& s) {
  return {with_relu(o, std::max(number(s[0], o.type), number(s[1], o.type)))};
}

// ---- Bits

Results popc(const Operation& o, const Sources& s) {
  return {static_cast<std::uint64_t>(std::popcount(cut(s[0], ptx::bits(o.type))))};
}
Results clz(const Operation& o, const Sources& s) {
  const int size = ptx::bits(o.type);
  return {static_cast<std::uint64_t>(size - bit_length(cut(s[0], size)))};
}
// The highest bit that differs from the sign; all ones if there is none.
Results bfind(const Operation& o, const Sources& s) {
  const int size = ptx::bits(o.type);
  const s128 a = number(s[0], o.type);
  const int found = bit_length(cut(low(a < 0 ? ~a : a), size)) - 1;
  if (found < 0) return {ones(32)};
  return {static_cast<std::uint64_t>(o.shift_amount ? size - 1 - found : found)};
}
// The n-th bit set of a mask, from a base upwards (n > 0) or downwards, or the base itself (n = 0); all ones if none.
// Of n = -2^31 it is 0, as recorded (golden-digests/scalar).
Results fns(const Operation&, const Sources& s) {
  const std::uint64_t mask = cut(s[0], 32), base = cut(s[1], 32);
  const std::int64_t n = extend(s[2], 32);
  if (n == std::numeric_limits<std::int32_t>::min()) return {0};
  if (base > 31) return {ones(32)};
  const std::int64_t step = n < 0 ? -1 : 1;
  std::int64_t left = n < 0 ? -n : std::max<std::int64_t>(n, 1);
  if (n == 0) return {(mask >> base & 1) != 0 ? base : ones(32)};
  for (auto at = static_cast<std::int64_t>(base); at >= 0 && at < 32; at += step)
    if ((mask >> at & 1) != 0 && --left == 0) return {static_cast<std::uint64_t>(at)};
  return {ones(32)};
}
Results brev(const Operation& o, const Sources& s) {
  const int size = ptx::bits(o.type);
  std::uint64_t out = 0;
  for (int i = 0; i < size; ++i) out |= (s[0] >> i & 1) << (size - 1 - i);
  return {out};
}
// Place and size of a field: of a 64-bit register all 32 bits count, of a 32-bit one 8.
int field(const Operation& o, std::uint64_t value) {
  return static_cast<int>(ptx::bits(o.type) == 64 ? std::min<std::uint64_t>(cut(value, 32), 255)
                                                  : cut(value, 8));
}
// A field of c bits from bit b on; above the register its sign bit, which is the highest that the field has in it.
Results bfe(const Operation& o, const Sources& s) {
  const int size = ptx::bits(o.type);
  const int at = field(o, s[1]), count = field(o, s[2]);
  const std::uint64_t a = cut(s[0], size);
  const bool is_signed = ptx::is_signed(o.type);
  if (count == 0) return {0};
  const std::uint64_t sign = is_signed ? a >> std::min(at + count - 1, size - 1) & 1 : 0;
  std::uint64_t out = 0;
  for (int i = 0; i < size; ++i) out |= (i < count && at + i < size ? a >> (at + i) & 1 : sign) << i;
  return {out};
}
Results bfi(const Operation& o, const Sources& s) {
  const int size = ptx::bits(o.type);
  const int at = field(o, s[2]), count = field(o, s[3]);
  std::uint64_t out = cut(s[1], size);
  for (int i = 0; i < count && at + i < size; ++i) {
    out &= ~(std::uint64_t{1} << (at + i));
    out |= (s[0] >> i & 1) << (at + i);
  }
  return {out};
}
// Sign or zero extension from b bits on.
Results szext(const Operation& o, const Sources& s) {
  const std::uint64_t wanted = cut(s[1], 32);
  const int count = static_cast<int>(o.clamp ? std::min<std::uint64_t>(wanted, 32) : wanted & 31);
  if (count == 0) return {0};
  return {cut(ptx::is_signed(o.type) ? static_cast<std::uint64_t>(extend(s[0], count)) : cut(s[0], count), 32)};
}
Results bmsk(const Operation& o, const Sources& s) {
  const std::uint64_t a = cut(s[0], 32), b = cut(s[1], 32);
  const std::uint64_t at = o.clamp ? std::min<std::uint64_t>(a, 32) : a & 31,
                      count = o.clamp ? std::min<std::uint64_t>(b, 32) : b & 31;
  return {cut(ones(static_cast<int>(count)) << at, 32)};
}

// d = c + sum of products of bytes, or of two halves of a and two bytes of b.
Results dp4a(const Operation& o, const Sources& s) {
  const auto part = [](std::uint64_t x, int i, int size, Type type) {
    return ptx::is_signed(type) ? extend(x >> i * size, size)
                                : static_cast<std::int64_t>(cut(x >> i * size, size));
  };
  auto total = static_cast<std::int64_t>(s[2]);
  for (int i = 0; i < 4; ++i) total += part(s[0], i, 8, o.third) * part(s[1], i, 8, o.type);
  return {cut(static_cast<std::uint64_t>(total), 32)};
}
Results dp2a(const Operation& o, const Sources& s) {
  const auto part = [](std::uint64_t x, int i, int size, Type type) {
    return ptx::is_signed(type) ? extend(x >> i * size, size)
                                : static_cast<std::int64_t>(cut(x >> i * size, size));
  };
  auto total = static_cast<std::int64_t>(s[2]);
  for (int i = 0; i < 2; ++i)
    total += part(s[0], i, 16, o.third) * part(s[1], i + (o.mode == Mode::high ? 2 : 0), 8, o.type);
  return {cut(static_cast<std::uint64_t>(total), 32)};
}

// ---- Logic and shifts

Results bit_and(const Operation& o, const Sources& s) {
  return {cut(s[0] & s[1], ptx::bits(o.type))};
}
Results bit_or(const Operation& o, const Sources& s) {
  return {cut(s[0] | s[1], ptx::bits(o.type))};
}
Results bit_xor(const Operation& o, const Sources& s) {
  return {cut(s[0] ^ s[1], ptx::bits(o.type))};
}
Results bit_not(const Operation& o, const Sources& s) {
  return {cut(~s[0], ptx::bits(o.type))};
}
Results cnot(const Operation& o, const Sources& s) {
  return {cut(s[0], ptx::bits(o.type)) == 0 ? std::uint64_t{1} : 0};
}
// Bit i of the table, where i has a bit of a, of b and of c, from the highest on.
Results lop3(const Operation& o, const Sources& s) {
  std::uint64_t out = 0;
  for (int i = 0; i < 32; ++i) {
    const std::uint64_t at = (s[0] >> i & 1) << 2 | (s[1] >> i & 1) << 1 | (s[2] >> i & 1);
    out |= (s[3] >> at & 1) << i;
  }
  const bool any = out != 0;
  return {out, o.boolean == Boolean::conjunction ? any && s.predicate : any || s.predicate};
}
// 64 bits, b above a, shifted; the upper or the lower half of them.
Results shf(const Operation& o, const Sources& s) {
  const std::uint64_t both = cut(s[1], 32) << 32 | cut(s[0], 32), wanted = cut(s[2], 32);
  const std::uint64_t by = o.clamp ? std::min<std::uint64_t>(wanted, 32) : wanted & 31;
  return {cut(o.left ? both << by >> 32 : both >> by, 32)};
}
// By 32 bits of the register that names the amount; beyond the width all bits are shifted out.
Results shl(const Operation& o, const Sources& s) {
  const int size = ptx::bits(o.type);
  const std::uint64_t by = cut(s[1], 32);
  return {by >= static_cast<std::uint64_t>(size) ? 0 : cut(s[0] << by, size)};
}
Results shr(const Operation& o, const Sources& s) {
  const int size = ptx::bits(o.type);
  const auto by = static_cast<int>(std::min<std::uint64_t>(cut(s[1], 32), static_cast<std::uint64_t>(size)));
  const s128 a = number(s[0], o.type);
  return {fit(a >> by, o.type)};
}

// Four bytes out of eight: byte i of b:a; with bit 3 of a selector, its sign in all bits.
Results prmt(const Operation& o, const Sources& s) {
  const std::uint64_t bytes = cut(s[1], 32) << 32 | cut(s[0], 32);
  const auto byte = [&](std::uint64_t i) { return bytes >> 8 * (i & 7) & 0xFF; };
  const std::uint64_t n = s[2] & 3;
  std::uint64_t out = 0;
  for (std::uint64_t i = 0; i < 4; ++i) {
    std::uint64_t from = 0;
    switch (o.permutation) {
      case Permutation::index: from = s[2] >> 4 * i & 0xF; break;
      case Permutation::f4e: from = n + i; break;
      case Permutation::b4e: from = (n - i) & 7; break;
      case Permutation::rc8: from = n; break;
      case Permutation::ecl: from = std::max(i, n); break;
      case Permutation::ecr: from = std::min(i, n); break;
      case Permutation::rc16: from = (n & 1) * 2 + (i & 1); break;
    }
    const bool sign = o.permutation == Permutation::index && (from & 8) != 0;
    out |= (sign ? (byte(from) >> 7) * 0xFF : byte(from)) << 8 * i;
  }
  return {out};
}

constexpr Row kRows[] = {
    {"add", add, Function::add, Spread::sum},
    {"addc", addc, Function::add, Spread::sum, {}, true},
    {"sub", sub, Function::sub, Spread::difference},
    {"subc", subc, Function::sub, Spread::sum, {}, true},
    {"mul", mul, Function::mul, Spread::product},
    {"mad", mad, Function::mad, Spread::product},
    {"madc", madc, Function::mad, Spread::whole, {}, true},
    {"clmad", clmad},
    {"mul24", mul24},
    {"mad24", mad24},
    {"sad", sad},
    {"div", div, Function::div},
    {"rem", rem, Function::rem},
    {"abs", abs, Function::abs},
    {"neg", neg, Function::neg, Spread::sum},
    {"min", min, Function::min, Spread::monotone},
    {"max", max, Function::max, Spread::monotone},
    {"popc", popc, Function::popc},
    {"clz", clz, Function::clz, Spread::monotone},
    {"bfind", bfind, Function::bfind},
    {"fns", fns},
    {"brev", brev, Function::brev, Spread::moved, "d"},
    {"bfe", bfe, Function::bfe, Spread::moved, "dcc"},
    {"bfi", bfi, Function::bfi, Spread::moved, "ddcc"},
    {"szext", szext, Function::none, Spread::moved, "dc"},
    {"bmsk", bmsk},
    {"dp4a", dp4a, Function::dp4a},
    {"dp2a", dp2a, Function::dp2a},
    {"and", bit_and, Function::bit_and, Spread::bitwise},
    {"or", bit_or, Function::bit_or, Spread::bitwise},
    {"xor", bit_xor, Function::bit_xor, Spread::bitwise},
    {"not", bit_not, Function::bit_not, Spread::bitwise},
    {"cnot", cnot},
    {"lop3", lop3, Function::lop3, Spread::bitwise},
    {"shf", shf, Function::funnel, Spread::moved, "ddc"},
    {"shl", shl, Function::shl, Spread::moved, "dc"},
    {"shr", shr, Function::shr, Spread::moved, "dc"},
    {"prmt", prmt, Function::prmt, Spread::moved, "ddc"},
};

}  // namespace integer_family
}  // namespace

std::span<const Row> integer_rows() {
  return integer_family::kRows;
}

}  // namespace warpbit::scalar
