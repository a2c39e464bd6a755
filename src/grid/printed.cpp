// SPDX-License-Identifier: Apache-2.0
#include "grid/printed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <optional>

namespace warpbit::grid {

void Printed::add(std::string_view text) {
  all_ += text.size();
  text_ += text;
  if (text_.size() > 2 * kBytes) text_.erase(0, text_.size() - kBytes);
}

void Printed::add(const Printed& later) {
  add(later.text());
  all_ += later.dropped();
}

namespace {

constexpr std::int64_t kMost = Printed::kBytes;
constexpr int kMostArguments = 32;

/// %[flags][width][.precision][size]type
struct PrintField {
  bool left = false, plus = false, blank = false, alternative = false, zeros = false;
  std::int64_t width = 0;
  std::optional<std::int64_t> precision = {};
  int bytes = 4;  ///< of an integer that is passed; the type has `cut`
  int cut = 4;
  char type = 0;
};

/// Digits, or '*': the next argument.
std::int64_t number(std::string_view format, std::size_t& at, const PrintArguments& arguments) {
  if (at < format.size() && format[at] == '*') {
    ++at;
    const auto value = static_cast<std::int32_t>(arguments.next(4));
    return std::clamp<std::int64_t>(value, -kMost, kMost);
  }
  std::int64_t out = 0;
  for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at)
    out = std::min(kMost, 10 * out + (format[at] - '0'));
  return out;
}

// Behind the '%'. `at`: behind its type, if there is one.
PrintField field_of(std::string_view format, std::size_t& at, const PrintArguments& arguments) {
  PrintField out;
  for (; at < format.size(); ++at) {
    bool* const flag = format[at] == '-'   ? &out.left
                       : format[at] == '+' ? &out.plus
                       : format[at] == ' ' ? &out.blank
                       : format[at] == '#' ? &out.alternative
                       : format[at] == '0' ? &out.zeros
                                           : nullptr;
    if (flag == nullptr) break;
    *flag = true;
  }
  out.width = number(format, at, arguments);
  if (out.width < 0) out.left = true, out.width = -out.width;
  if (at < format.size() && format[at] == '.') {
    const std::int64_t wanted = number(format, ++at, arguments);
    if (wanted >= 0) out.precision = wanted;
  }
  for (; at < format.size() && std::string_view("hlzjtL").find(format[at]) != std::string_view::npos; ++at) {
    if (format[at] == 'h') out.cut /= 2;
    if (format[at] == 'l' || format[at] == 'z' || format[at] == 'j' || format[at] == 't')
      out.bytes = out.cut = 8;
  }
  out.cut = std::max(out.cut, 1);
  if (at < format.size()) out.type = format[at++];
  return out;
}

/// `digits` behind what stands before them, in the width.
std::string padded(const PrintField& of, std::string_view before, std::string digits, bool zeros) {
  const auto size = static_cast<std::int64_t>(before.size() + digits.size());
  const auto missing = static_cast<std::size_t>(std::max<std::int64_t>(0, of.width - size));
  std::string out;
  if (!of.left && !zeros) out.append(missing, ' ');
  out += before;
  if (!of.left && zeros) out.append(missing, '0');
  out += digits;
  if (of.left) out.append(missing, ' ');
  return out;
}

std::string_view sign(const PrintField& of, bool is_negative) {
  return is_negative ? "-" : of.plus ? "+" : of.blank ? " " : "";
}

std::string integer(const PrintField& of, std::uint64_t value) {
  const int unused = 64 - 8 * of.cut;
  const bool is_signed = of.type == 'd' || of.type == 'i';
  const bool is_negative = is_signed && static_cast<std::int64_t>(value << unused) < 0;
  const std::uint64_t bits = value << unused >> unused;
  const std::uint64_t magnitude = is_negative ? (0 - bits) << unused >> unused : bits;
  std::string digits = of.type == 'x'   ? fmt::format("{:x}", magnitude)
                       : of.type == 'X' ? fmt::format("{:X}", magnitude)
                       : of.type == 'o' ? fmt::format("{:o}", magnitude)
                                        : fmt::format("{}", magnitude);
  const auto precision = static_cast<std::size_t>(of.precision.value_or(1));
  if (precision == 0 && magnitude == 0) digits.clear();
  if (digits.size() < precision) digits.insert(0, precision - digits.size(), '0');
  if (of.type == 'o' && of.alternative && !digits.starts_with('0')) digits.insert(0, 1, '0');
  const bool prefixed = of.alternative && magnitude != 0;
  return padded(of,
                is_signed                    ? sign(of, is_negative)
                : of.type == 'x' && prefixed ? "0x"
                : of.type == 'X' && prefixed ? "0X"
                                             : "",
                std::move(digits), of.zeros && !of.precision);
}

// No double has more than 1,074 digits that are not zero behind its point, and %g and %a need fewer. So the C library is never asked
// for many more, and what it gives has an end.
std::string floating(const PrintField& of, double value) {
  constexpr std::int64_t kDigits = 1100;
  const bool is_lower = of.type >= 'a';
  const std::string_view before = sign(of, std::signbit(value));
  if (!std::isfinite(value))
    return padded(of, before, std::isnan(value) ? (is_lower ? "nan" : "NAN") : (is_lower ? "inf" : "INF"),
                  false);
  char format[] = "%#.*f", out[1500];
  format[4] = of.type;
  const bool is_hexadecimal = of.type == 'a' || of.type == 'A';
  const std::int64_t wanted = of.precision.value_or(is_hexadecimal ? -1 : 6);
  const int asked = static_cast<int>(std::min(wanted, kDigits));
  std::string text;
  const auto print = [&](const char* with) {
    const int size = std::snprintf(out, sizeof out, with, asked, std::abs(value));
    text.assign(out, static_cast<std::size_t>(std::clamp<int>(size, 0, sizeof out - 1)));
  };
  const char plain[] = {'%', '.', '*', of.type, 0};
  print(of.alternative ? format : plain);
  const bool drops_zeros = (of.type == 'g' || of.type == 'G') && !of.alternative;
  if (wanted > kDigits && !drops_zeros) {
    const std::size_t end = is_hexadecimal                     ? text.find_first_of("pP")
                            : of.type == 'f' || of.type == 'F' ? text.npos
                                                               : text.find_first_of("eE");
    text.insert(std::min(end, text.size()), static_cast<std::size_t>(wanted - kDigits), '0');
  }
  if (!is_hexadecimal) return padded(of, before, std::move(text), of.zeros);
  const std::string prefix = std::string(before) + text.substr(0, 2);
  return padded(of, prefix, text.substr(2), of.zeros);
}

std::string converted(const PrintField& of, const PrintArguments& arguments) {
  switch (of.type) {
    case 'c': return padded(of, {}, std::string(1, static_cast<char>(arguments.next(4))), false);
    case 's':
      return padded(of, {},
                    arguments.text(arguments.next(8), static_cast<std::size_t>(of.precision.value_or(kMost))),
                    false);
    case 'p': {
      const std::uint64_t address = arguments.next(8);
      return padded(of, {}, address == 0 ? "(nil)" : fmt::format("{:#x}", address), false);
    }
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X': return integer(of, arguments.next(static_cast<std::uint64_t>(of.bytes)));
    default: return floating(of, std::bit_cast<double>(arguments.next(8)));
  }
}

}  // namespace

std::string printed(std::string_view format, const PrintArguments& arguments, int& count) {
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    const std::size_t begin = at;
    if (format[at++] != '%' || count == kMostArguments) {
      out += format[begin];
      continue;
    }
    const PrintField one = field_of(format, at, arguments);
    if (one.type == '%') {
      out += '%';
    } else if (std::string_view("diouxXcspfFeEgGaA").find(one.type) == std::string_view::npos) {
      out += format.substr(begin, at - begin);
    } else {
      out += converted(one, arguments);
      ++count;
    }
  }
  return out;
}

}  // namespace warpbit::grid
