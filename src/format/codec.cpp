// SPDX-License-Identifier: Apache-2.0
#include "warpbit/format.hpp"

#include <fmt/format.h>

#include <algorithm>
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

Result<std::uint64_t> Codec::encode(double number, Rounding rounding, bool satfinite) const {
  const Format& f64 = format(FormatId::f64);
  const Decoded d = warpbit::decode(f64, std::bit_cast<std::uint64_t>(number));
  if (d.cls == Class::nan || d.cls == Class::infinity)
    return encode_special(*row_, d.cls, d.negative, satfinite);
  return warpbit::encode(*row_, exact(d, f64), rounding, satfinite ? Overflow::saturate : Overflow::ieee);
}

Result<std::vector<std::uint64_t>> encode(std::string_view format, std::span<const double> numbers,
                                          Rounding rounding, bool satfinite) {
  const Result<Codec> codec = Codec::find(format);
  if (!codec) return codec.error();
  std::vector<std::uint64_t> out(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Result<std::uint64_t> code = codec->encode(numbers[i], rounding, satfinite);
    if (!code) {
      Error error = code.error();
      error.where = fmt::format("number {}, {}", i, error.where);
      return error;
    }
    out[i] = *code;
  }
  return out;
}

Result<std::vector<double>> decode(std::string_view format, std::span<const std::uint64_t> codes) {
  const Result<Codec> codec = Codec::find(format);
  if (!codec) return codec.error();
  std::vector<double> out(codes.size());
  std::ranges::transform(codes, out.begin(), [&](std::uint64_t code) { return codec->decode(code); });
  return out;
}

}  // namespace warpbit
