// SPDX-License-Identifier: Apache-2.0
// Codes as text for people.
#include <fmt/format.h>

#include <cmath>  // std::ldexp, to print a number; no result depends on it

#include "numeric/formats.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

std::string number(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  const std::string_view sign = d.negative ? "-" : "";
  switch (d.cls) {
    case Class::nan: return fmt::format("{}nan", sign);
    case Class::infinity: return fmt::format("{}inf", sign);
    case Class::zero: return fmt::format("{}0", sign);
    case Class::finite: break;
  }
  if (f.is_integer) return fmt::format("{}{}", sign, d.significand);
  // Exact: no format here has more bits than a double.
  return fmt::format("{}{}", sign,
                     std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits));
}

}  // namespace

std::string code_text(std::string_view format_name, std::uint64_t code) {
  const Format* f = find_format(format_name);
  if (f == nullptr) return fmt::format("0x{:x}", code);
  return fmt::format("0x{:0{}x} ({})", code, (f->bits + 3) / 4, number(*f, code));
}

}  // namespace warpbit
