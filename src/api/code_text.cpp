// SPDX-License-Identifier: Apache-2.0
// Codes as text for people.
#include <fmt/format.h>

#include <cmath>  // std::ldexp, to print a number; no result depends on it

#include "capture/text.hpp"
#include "numeric/formats.hpp"
#include "warpbit/replay.hpp"

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

std::string text(const Mismatch& m) {
  if (m.cases > 0)
    return fmt::format("cases {} to {}: expected digest {:#018x}, got {:#018x}", m.index, m.index + m.cases - 1,
                       m.expected, m.got);
  std::string where = m.address >= 0  ? fmt::format("case {} byte {:#x} of memory", m.index, m.address)
                      : m.lane >= 0   ? fmt::format("case {} lane {} register {} row {} column {}", m.index,
                                                    m.lane, m.reg, m.row, m.column)
                      : m.column >= 0 ? fmt::format("case {} element {}", m.index, m.column)
                                      : fmt::format("element {}", m.index);
  if (m.product > 0) where += fmt::format(" product {}", m.product);
  if (!m.name.empty()) where += " " + capture::quoted(m.name);
  return fmt::format("{}: expected {}, got {}", where, code_text(m.format, m.expected),
                     code_text(m.format, m.got));
}

}  // namespace warpbit
