// SPDX-License-Identifier: Apache-2.0
// cvt among integers, f16, bf16, f32 and f64, and cvt.pack (PTX manual, "cvt", "cvt.pack"). Conversions without an integer
// and without .rni and the like are those of numeric/conversion.
#include <algorithm>

#include "numeric/conversion.hpp"
#include "scalar/floating.hpp"

namespace warpbit::scalar {
namespace {
namespace convert_family {

bool is_float(Type type) {
  return ptx::is_floating(type) || type == Type::bf16;
}

__extension__ using s128 = __int128;

s128 minimum(Type type) {
  return ptx::is_signed(type) ? -(s128{1} << (ptx::bits(type) - 1)) : 0;
}
s128 maximum(Type type) {
  return (s128{1} << (ptx::bits(type) - (ptx::is_signed(type) ? 1 : 0))) - 1;
}
std::uint64_t fit(s128 value, Type type) {
  return cut(static_cast<std::uint64_t>(value), ptx::bits(type));
}
s128 number(std::uint64_t code, Type type) {
  const int size = ptx::bits(type);
  return ptx::is_signed(type) ? static_cast<s128>(extend(code, size)) : static_cast<s128>(cut(code, size));
}

std::uint64_t from_integer(const Operation& o, std::uint64_t code) {
  const s128 value = number(code, o.type);
  if (!is_float(o.to)) return fit(o.sat ? std::clamp(value, minimum(o.to), maximum(o.to)) : value, o.to);
  const Exact exact{value < 0, static_cast<u128>(value < 0 ? -value : value), 0};
  return finished(o, {value == 0 ? Class::zero : Class::finite, exact}, o.to);
}

// Numbers beyond the integers of the type, and infinities, become the nearest of them.
std::uint64_t to_integer_type(const Operation& o, std::uint64_t code) {
  const Decoded d = taken(o, code, o.type);
  const Format& f = format(format_of(o.type));
  if (d.cls == Class::nan)
    return ptx::bits(o.to) == 64 || o.type == Type::f64 ? std::uint64_t{1} << (ptx::bits(o.to) - 1) : 0;
  if (d.cls == Class::zero) return 0;
  const Exact x = exact(d, f);
  const bool huge = d.cls == Class::infinity || bit_length(x.magnitude) + x.exponent > 100;
  s128 value = s128{1} << 100;
  if (!huge) {
    const Exact whole = to_integer(x, o.rounding);
    value = static_cast<s128>(whole.magnitude << whole.exponent);
  }
  return fit(std::clamp(d.negative ? -value : value, minimum(o.to), maximum(o.to)), o.to);
}

// .rni and the like between floating-point types of one size: an integer of the same type.
Results to_integral(const Operation& o, const Sources& s) {
  const Format& f = format(format_of(o.type));
  const Decoded d = taken(o, s[0], o.type);
  Value value = value_of(d, f);
  if (d.cls == Class::nan && o.to == Type::f64 && !o.sat) return {s[0] | std::uint64_t{1} << 51};
  if (d.cls == Class::finite) {
    value.number = to_integer(value.number, o.rounding);
    if (value.number.magnitude == 0) value.cls = Class::zero;
  }
  return {finished(o, value, o.to)};
}

CvtRounding rounding_of(const Operation& o) {
  if (!o.has_rounding) return CvtRounding::none;
  switch (o.rounding) {
    case Rounding::toward_zero: return CvtRounding::rz;
    case Rounding::down: return CvtRounding::rm;
    case Rounding::up: return CvtRounding::rp;
    default: return CvtRounding::rn;
  }
}

Results cvt(const Operation& o, const Sources& s) {
  if (!is_float(o.type)) return {from_integer(o, s[0])};
  if (!is_float(o.to)) return {to_integer_type(o, s[0])};
  if (o.rounds_to_integer) return to_integral(o, s);
  const bool of_register = o.type == Type::f32 || o.type == Type::f64;
  if (o.to == o.type && of_register && !o.ftz && !o.sat) return {s[0]};  // a move
  if (o.to == Type::f64 && o.ftz && !o.sat && taken(o, s[0], o.type).cls == Class::nan)
    return {0x7FFF'FFFF'E000'0000};  // of the canonical NaN of f32
  // Its result is flushed, as that of arithmetic; with other sources those are.
  if (o.ftz && o.type == Type::f64 && taken(o, s[0], o.type).cls == Class::finite)
    return {finished(o, value_taken(o, s[0], o.type), o.to)};
  const Conversion conversion{format_of(o.type), format_of(o.to), rounding_of(o), o.ftz, o.sat};
  return {convert(conversion, s[0], 0)};
}

// cvt.pack.sat: two numbers saturated to 16 bits, or to fewer, and above them the lower bits of c.
Results pack(const Operation& o, const Sources& s) {
  const auto [size, is_signed] =
      o.packed.bits != 0 ? o.packed : SmallNumbers{ptx::bits(o.to), ptx::is_signed(o.to)};
  const std::int64_t least = is_signed ? -(std::int64_t{1} << (size - 1)) : 0,
                     most = (std::int64_t{1} << (is_signed ? size - 1 : size)) - 1;
  std::uint64_t out = 0;
  for (int i = 0; i < 2; ++i) {
    const std::int64_t value = std::clamp(extend(s[1 - i], 32), least, most);
    out |= cut(static_cast<std::uint64_t>(value), size) << i * size;
  }
  return {size == 16 ? out : out | cut(s[2], 32 - 2 * size) << 2 * size};
}

constexpr Row kRows[] = {
    {"cvt.pack", pack, Function::cvt_pack},
    {"cvt", cvt, Function::cvt, Spread::moved, "d"},
};

}  // namespace convert_family
}  // namespace

std::span<const Row> convert_rows() {
  return convert_family::kRows;
}

}  // namespace warpbit::scalar
