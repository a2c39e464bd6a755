// SPDX-License-Identifier: Apache-2.0
#include "warpbit/format.hpp"

#include <bit>
#include <cmath>  // std::ldexp
#include <limits>

#include "format/encode.hpp"
#include "numeric/formats.hpp"

namespace warpbit {

Result<Codec> Codec::find(std::string_view name) {
  const Result<const Format*> row = find_row(name);
  if (!row) return row.error();
  return Codec(**row);
}

std::string_view Codec::name() const {
  return row_->name;
}

int Codec::bits() const {
  return row_->bits;
}

double Codec::decode(std::uint64_t code) const {
  const Decoded d = warpbit::decode(*row_, code);
  const double sign = d.negative ? -1 : 1;
  switch (d.cls) {
    case Class::nan: return std::numeric_limits<double>::quiet_NaN();
    case Class::infinity: return sign * std::numeric_limits<double>::infinity();
    default:  // no significand has more than 53 bits, and no number lies below those of double
      return sign * std::ldexp(static_cast<double>(d.significand), d.exponent - row_->fraction_bits);
  }
}

Result<std::uint64_t> Codec::encode(double number, RoundingMode rounding, bool satfinite) const {
  const Format& f64 = format(FormatId::f64);
  const Decoded d = warpbit::decode(f64, std::bit_cast<std::uint64_t>(number));
  if (d.cls == Class::nan || d.cls == Class::infinity)
    return encode_special(*row_, d.cls, d.negative, satfinite);
  return warpbit::encode(*row_, exact(d, f64), rounding_of(rounding),
                         satfinite ? Overflow::saturate : Overflow::ieee);
}

}  // namespace warpbit
