// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_numbers.hpp"

#include <fmt/format.h>

#include <limits>

#include "cli/arguments.hpp"
#include "cli/terminal.hpp"
#include "warpbit/format.hpp"

namespace warpbit::cli {
namespace {

constexpr std::string_view kTypes =
    "i8 to i64, s8 to s64, u8 to u64, b8 to b64, f16, bf16, f32, f64, e4m3, e5m2";

// An integer as decimal or hexadecimal digits. The types i and b take both signs.
std::uint64_t parse_integer(const std::string& where, const NumberType& type, std::string_view text) {
  const auto bits = 8 * type.bytes;
  const bool negative = text.starts_with('-'), hexadecimal = text.substr(negative).starts_with("0x");
  const auto digits =
      number<std::uint64_t>(text.substr(negative + (hexadecimal ? 2 : 0)), hexadecimal ? 16 : 10);
  const std::uint64_t largest = std::numeric_limits<std::uint64_t>::max() >> (64 - bits);
  const std::uint64_t least = largest / 2 + 1;  // without its sign
  const bool is_signed = type.name[0] == 's', is_unsigned = type.name[0] == 'u';
  const bool fits =
      digits && (negative ? !is_unsigned && *digits <= least : *digits <= (is_signed ? least - 1 : largest));
  if (!fits) refuse(where, fmt::format("'{}'", text), fmt::format("an integer that {} holds", type.name));
  return negative ? (0 - *digits) & largest : *digits;
}

}  // namespace

NumberType parse_type(const std::string& where, std::string_view name) {
  for (const int bits : {8, 16, 32, 64})
    for (const char letter : {'i', 's', 'u', 'b'})
      if (name == fmt::format("{}{}", letter, bits))
        return {name, static_cast<std::size_t>(bits) / 8, letter == 'i' || letter == 's' ? 'i' : 'u', true};
  const Result<FormatInfo> format = find_format_info(name);
  if (!format || format->is_integer || format->bits % 8 != 0)
    refuse(where, fmt::format("type '{}'", name), fmt::format("one of {}", kTypes));
  const bool numpy = format->name == "f16" || format->name == "f32" || format->name == "f64";
  return {name, static_cast<std::size_t>(format->bits) / 8, numpy ? 'f' : 'u', false};
}

std::uint64_t parse_number(const std::string& where, const NumberType& type, const std::string& text) {
  if (type.is_integer) return parse_integer(where, type, text);
  const Result<EncodedNumber> code = parse_code(type.name, text);
  if (!code) refuse(where, code.error().seen, code.error().accepted, code.error().code);
  return code->code;
}

std::uint64_t parse_value(const std::string& where, std::string_view type, const std::string& text) {
  return parse_number(where, parse_type(where, type), text);
}

}  // namespace warpbit::cli
