// SPDX-License-Identifier: Apache-2.0
// Floating-point arithmetic (PTX manual, "Floating-Point Instructions", "Half Precision Floating-Point Instructions").
#include "scalar/floating.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace warpbit::scalar {

FormatId format_of(Type type) {
  switch (type) {
    case Type::f16: return FormatId::f16;
    case Type::bf16: return FormatId::bf16;
    case Type::f64: return FormatId::f64;
    default: return FormatId::f32;
  }
}

Decoded taken(const Operation& o, std::uint64_t code, Type type) {
  const Format& f = format(format_of(type));
  Decoded out = decode(f, code);
  const bool subnormal = out.cls == Class::finite && out.significand >> f.fraction_bits == 0;
  if (o.ftz && subnormal && type != Type::f64) out = {0, out.exponent, Class::zero, out.negative};
  return out;
}
Value value_taken(const Operation& o, std::uint64_t code, Type type) {
  return value_of(taken(o, code, type), format(format_of(type)));
}

namespace {

// Below the normal numbers after rounding, as if exponents had no limit: 1 - 2^-24 times 2^-126 is, 1 - 2^-126 times it
// is not (fma).
bool is_tiny(const Format& f, const Exact& x, Rounding rounding) {
  const int extra = bit_length(x.magnitude) - 1 - f.fraction_bits;
  const Exact scaled{x.negative, x.magnitude, -std::max(extra, 0)};
  const u128 significand = to_integer(scaled, rounding).magnitude;
  return bit_length(significand) + x.exponent + std::max(extra, 0) <= f.min_exponent();
}

}  // namespace

std::uint64_t finished(const Operation& o, const Value& exact, Type to) {
  const Format& f = format(format_of(to));
  Value value = exact;
  if (o.sat && (value.cls == Class::nan || value.number.negative)) return 0;
  if (o.relu && value.cls != Class::nan && value.number.negative) return 0;
  if (o.ftz && to != Type::f64 && value.cls == Class::finite && is_tiny(f, value.number, o.rounding))
    value = {Class::zero, {value.number.negative, 0, 0}};
  const std::uint64_t code = round(f, value, o.rounding);
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
  return o.sat ? std::min(code, one) : code;
}

namespace {
namespace floating_family {

bool is_nan(const Value& v) {
  return v.cls == Class::nan;
}

/// An f64 NaN keeps its sign and payload and becomes quiet. Of several the last source's counts, of a quotient the
/// first's, of an fma that of b, then c, then a; a and b as the assembler has them. One that the operation generates is
/// 0xfff8000000000000.
std::uint64_t nan64(const Operation& o, const Sources& s) {
  const Format& f = format(FormatId::f64);
  const int a = o.exchanged ? 1 : 0, b = 1 - a;
  const std::array<int, 3> order = o.function == Function::div ? std::array{0, 1, 2}
                                   : s.count == 3              ? std::array{b, 2, a}
                                                               : std::array{b, a, 2};
  for (const int i : order)
    if (i < s.count && decode(f, s[i]).cls == Class::nan) return s[i] | std::uint64_t{1} << 51;
  return 0xFFF8'0000'0000'0000;
}

Results finish(const Operation& o, const Sources& s, const Value& exact) {
  if (o.to == Type::f64 && is_nan(exact) && !o.sat) return {nan64(o, s)};
  return {finished(o, exact, o.to)};
}

Value source(const Operation& o, const Sources& s, int i) {
  return value_taken(o, s[i], o.from[static_cast<std::size_t>(i)]);
}
Value negated(Value v) {
  v.number.negative = !v.number.negative;
  return v;
}

Results add(const Operation& o, const Sources& s) {
  return finish(o, s, sum(source(o, s, 0), source(o, s, 1), o.rounding));
}
Results sub(const Operation& o, const Sources& s) {
  return finish(o, s, sum(source(o, s, 0), negated(source(o, s, 1)), o.rounding));
}
// With .scaled by a power of two before it is rounded.
Results mul(const Operation& o, const Sources& s) {
  const Value ab = product(source(o, s, 0), source(o, s, 1));
  return finish(o, s, o.scaled ? product(ab, source(o, s, 2)) : ab);
}
/// The NaN that a tensor map fills places with that do not exist, of either sign: with .oob a factor that is one makes the
/// result +0, whatever the addend is.
bool is_out_of_bounds(std::uint64_t code) {
  return (code & 0x7FFF) == 0x7FF7;
}
Results fma(const Operation& o, const Sources& s) {
  if (o.oob && (is_out_of_bounds(s[0]) || is_out_of_bounds(s[1]))) return {0};
  const Value ab = product(source(o, s, 0), source(o, s, 1)), c = source(o, s, 2);
  return finish(o, s, sum(o.negate_product ? negated(ab) : ab, o.negate_addend ? negated(c) : c, o.rounding));
}
Results div(const Operation& o, const Sources& s) {
  if (o.precision != Precision::exact) return approximate(o, s);
  return finish(o, s, quotient(source(o, s, 0), source(o, s, 1)));
}
Results rcp(const Operation& o, const Sources& s) {
  if (o.precision != Precision::exact) return approximate(o, s);
  return finish(o, s, quotient({Class::finite, {false, 1, 0}}, source(o, s, 0)));
}
Results sqrt(const Operation& o, const Sources& s) {
  if (o.precision != Precision::exact) return approximate(o, s);
  return finish(o, s, square_root(source(o, s, 0)));
}

std::uint64_t sign_bit(Type type) {
  return std::uint64_t{1} << (ptx::bits(type) - 1);
}

// A code with another sign. A NaN is canonical, and of f64 itself, but quiet.
Results with_sign(const Operation& o, std::uint64_t code, std::uint64_t sign) {
  const Decoded d = taken(o, code, o.type);
  const Format& f = format(format_of(o.type));
  if (d.cls == Class::nan) return {o.type == Type::f64 ? code | std::uint64_t{1} << 51 : f.canonical_nan};
  const std::uint64_t kept = d.cls == Class::zero ? 0 : cut(code, ptx::bits(o.type)) & ~sign_bit(o.type);
  return {kept | sign};
}
Results abs(const Operation& o, const Sources& s) {
  return with_sign(o, s[0], 0);
}
Results neg(const Operation& o, const Sources& s) {
  return with_sign(o, s[0], ~s[0] & sign_bit(o.type));
}
Results copysign(const Operation& o, const Sources& s) {
  const std::uint64_t sign = sign_bit(o.type);
  return {(cut(s[1], ptx::bits(o.type)) & ~sign) | (s[0] & sign)};
}

/// A number that orders codes as their values; -0 is below +0.
std::int64_t rank(std::uint64_t code, Type type) {
  const std::uint64_t magnitude = code & ~sign_bit(type) & ones(ptx::bits(type));
  const bool negative = (code & sign_bit(type)) != 0;
  return negative ? -static_cast<std::int64_t>(magnitude) - 1 : static_cast<std::int64_t>(magnitude);
}

// The smaller or the larger of the sources that are numbers; with .NaN, any NaN is the result.
Results extreme(const Operation& o, const Sources& s, bool maximum) {
  const Format& f = format(format_of(o.type));
  const std::uint64_t sign = sign_bit(o.type);
  std::optional<std::uint64_t> best;
  bool any_nan = false;
  std::uint64_t signs = 0;
  for (int i = 0; i < s.count; ++i) {
    const Decoded d = taken(o, s[i], o.type);
    signs ^= s[i] & sign;
    if (d.cls == Class::nan) {
      any_nan = true;
      continue;
    }
    std::uint64_t code = d.cls == Class::zero ? s[i] & sign : cut(s[i], ptx::bits(o.type));
    if (o.abs) code &= ~sign;
    if (!best ||
        (maximum ? rank(code, o.type) > rank(*best, o.type) : rank(code, o.type) < rank(*best, o.type)))
      best = code;
  }
  if (!best || (any_nan && o.nan)) return {o.type == Type::f64 ? nan64(o, s) : f.canonical_nan};
  if (o.xorsign) return {(*best & ~sign) | signs};
  return {*best};
}
Results min(const Operation& o, const Sources& s) {
  return extreme(o, s, false);
}
Results max(const Operation& o, const Sources& s) {
  return extreme(o, s, true);
}

Results testp(const Operation& o, const Sources& s) {
  const Format& f = format(format_of(o.type));
  const Decoded d = decode(f, s[0]);
  const bool subnormal = d.cls == Class::finite && d.significand >> f.fraction_bits == 0;
  switch (o.test) {
    case TestOf::finite: return {d.cls == Class::finite || d.cls == Class::zero};
    case TestOf::infinite: return {d.cls == Class::infinity};
    case TestOf::number: return {d.cls != Class::nan};
    case TestOf::notanumber: return {d.cls == Class::nan};
    case TestOf::normal: return {d.cls == Class::zero || (d.cls == Class::finite && !subnormal)};
    case TestOf::subnormal: return {subnormal};
  }
  return {};
}

constexpr Row kRows[] = {
    {"add", add, Function::add},
    {"sub", sub, Function::sub},
    {"mul", mul, Function::mul},
    {"fma", fma, Function::fma},
    {"mad", fma, Function::fma},
    {"div", div, Function::div},
    {"rcp", rcp, Function::rcp},
    {"sqrt", sqrt, Function::sqrt},
    {"abs", abs, Function::abs},
    {"neg", neg, Function::neg},
    {"copysign", copysign},
    {"min", min, Function::min},
    {"max", max, Function::max},
    {"testp", testp},
    {"rsqrt", approximate, Function::rsqrt},
    {"sin", approximate, Function::sin},
    {"cos", approximate, Function::cos},
    {"lg2", approximate, Function::lg2},
    {"ex2", approximate, Function::ex2},
    {"tanh", approximate, Function::tanh},
};

}  // namespace floating_family
}  // namespace

std::span<const Row> floating_rows() {
  return floating_family::kRows;
}

}  // namespace warpbit::scalar
