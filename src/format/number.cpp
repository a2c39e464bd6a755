// SPDX-License-Identifier: Apache-2.0
#include "format/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>  // std::abs
#include <optional>
#include "warpbit/detail/letters.hpp"

namespace warpbit {
namespace {

constexpr std::string_view kAccepted =
    "a decimal number, a hexadecimal one with an exponent of two (0x1.8p-3), a fraction (1/3), inf or nan";

Error refused(std::string_view text, std::string_view accepted = kAccepted) {
  return {Errc::usage, "number", fmt::format("'{}'", text), std::string(accepted)};
}

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

// The digits at the front of the text; they are removed from it.
struct Digits {
  cpp_int value = 0;
  int count = 0;

  void take(std::string_view& text, int base) {
    for (; !text.empty() && digit_value(text.front()) < base; text.remove_prefix(1), ++count)
      value = value * base + digit_value(text.front());
  }
};

bool take(std::string_view& text, std::string_view letters) {
  if (text.empty() || letters.find(text.front()) == letters.npos) return false;
  text.remove_prefix(1);
  return true;
}

// Parses "+12", "-3" from the whole text. Values beyond +-kMostDigits become +-(kMostDigits + 1).
std::optional<int> exponent_of(std::string_view text) {
  const bool plus = take(text, "+");
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || end != text.data() + text.size() || (plus && text.front() == '-')) return std::nullopt;
  if (error == std::errc::result_out_of_range) return text.front() == '-' ? -kMostDigits - 1 : kMostDigits + 1;
  return error == std::errc{} ? std::optional(std::clamp(out, -kMostDigits - 1, kMostDigits + 1))
                              : std::nullopt;
}

// digits[.digits][e exponent], or with hexadecimal digits and a mandatory p.
Result<Number> parse_positional(std::string_view whole, std::string_view text, Number out) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  if (is_hex) text.remove_prefix(2);
  const int base = is_hex ? 16 : 10;
  Digits digits;
  digits.take(text, base);
  const int whole_digits = digits.count;
  if (take(text, ".")) digits.take(text, base);
  const int fraction_digits = digits.count - whole_digits;
  const bool has_exponent = take(text, is_hex ? "pP" : "eE");
  const std::optional<int> exponent = has_exponent ? exponent_of(text) : std::optional(0);
  if (digits.count == 0 || !exponent || (!has_exponent && (is_hex || !text.empty()))) return refused(whole);
  if (*exponent > kMostDigits || *exponent < -kMostDigits)
    return refused(whole, fmt::format("an exponent from {} to {}", -kMostDigits, kMostDigits));
  out.numerator = digits.value;
  const int power = *exponent - (is_hex ? 4 : 1) * fraction_digits;
  const auto times = static_cast<unsigned>(std::abs(power));
  (power < 0 ? out.denominator : out.numerator) *= is_hex ? cpp_int(1) << times : pow(cpp_int(10), times);
  return out;
}

Result<Number> parse_fraction(std::string_view whole, std::string_view text, Number out) {
  Digits above, below;
  above.take(text, 10);
  take(text, "/");
  below.take(text, 10);
  if (above.count == 0 || below.count == 0 || !text.empty()) return refused(whole);
  if (below.value == 0) return refused(whole, "a denominator that is not 0");
  out.numerator = above.value;
  out.denominator = below.value;
  return out;
}

// 0.DIGITS * 10^point; the digits neither begin nor end with 0.
std::string decimal_text(bool negative, std::string digits, int point) {
  constexpr int kLongest = 60;
  const std::string sign = negative ? "-" : "";
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  const int count = static_cast<int>(digits.size());
  if (digits == "0") return sign + "0";
  if (point > kLongest || count > kLongest || point < count - kLongest)
    return fmt::format("{}{}{}{}e{:+}", sign, digits[0], count > 1 ? "." : "", digits.substr(1), point - 1);
  if (point <= 0)
    return fmt::format("{}0.{}{}", sign, std::string(static_cast<std::size_t>(-point), '0'), digits);
  if (point >= count) return sign + digits + std::string(static_cast<std::size_t>(point - count), '0');
  const auto at = static_cast<std::size_t>(point);
  return fmt::format("{}{}.{}", sign, digits.substr(0, at), digits.substr(at));
}

// 0.DIGITS * 10^point, with the first `count` of its digits.
std::string rounded_text(const std::string& digits, std::size_t count, int point) {
  std::string kept = "0" + digits.substr(0, count);
  if (digits.size() > count && digits[count] >= '5') {
    std::size_t at = count;
    for (; kept[at] == '9'; --at) kept[at] = '0';
    ++kept[at];
  }
  const bool carried = kept[0] != '0';
  return decimal_text(false, carried ? kept : kept.substr(1), carried ? point + 1 : point);
}

}  // namespace

Result<Number> parse_number(std::string_view text) {
  if (text.size() > static_cast<std::size_t>(kMostDigits))
    return refused(fmt::format("{} characters", text.size()), fmt::format("at most {}", kMostDigits));
  std::string_view rest = text;
  Number out;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    out.negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  const std::string lower = in_small_letters(rest);
  if (lower == "inf" || lower == "infinity" || lower == "nan") {
    out.cls = lower == "nan" ? Class::nan : Class::infinity;
    return out;
  }
  if (rest.starts_with("2^")) return parse_positional(text, fmt::format("0x1p{}", rest.substr(2)), out);
  return rest.find('/') != rest.npos ? parse_fraction(text, rest, out) : parse_positional(text, rest, out);
}

Exact for_encoding(const Number& x, bool is_integer, bool clamped, int fraction_bits) {
  constexpr int kBits = 120, kBelowUnit = 2;
  if (x.numerator == 0) return {x.negative, 0, 0};
  const int shift = is_integer
                        ? kBelowUnit + fraction_bits
                        : kBits + static_cast<int>(msb(x.denominator)) - static_cast<int>(msb(x.numerator));
  const cpp_int above = shift < 0 ? x.numerator : cpp_int(x.numerator << shift),
                below = shift < 0 ? cpp_int(x.denominator << -shift) : x.denominator;
  cpp_int quotient, rest;
  divide_qr(above, below, quotient, rest);
  auto bits = static_cast<u128>(quotient & ((cpp_int(1) << 128) - 1));
  if (is_integer) {
    constexpr int kKept = 100;
    bits &= (u128{1} << kKept) - 1;
    if (clamped && quotient >> kKept != 0) bits = u128{1} << kKept;
  }
  return {x.negative, bits << 1 | (rest != 0 ? 1 : 0), -shift - 1};
}

std::string exact_decimal(const Exact& x) {
  return exact_decimal(x.negative, cpp_int(x.magnitude), x.exponent);
}

// m / 2^n = m 5^n / 10^n
std::string exact_decimal(bool negative, cpp_int magnitude, int exponent) {
  if (exponent >= 0)
    magnitude <<= exponent;
  else
    magnitude *= pow(cpp_int(5), static_cast<unsigned>(-exponent));
  const std::string text = magnitude.str();
  return decimal_text(negative, text, static_cast<int>(text.size()) + std::min(exponent, 0));
}

std::string difference_text(const cpp_int& minuend, const cpp_int& subtrahend, const cpp_int& denominator) {
  const cpp_int difference = abs(cpp_int(minuend - subtrahend));
  if (difference == 0) return "0";
  const std::string sign = minuend < subtrahend ? "-" : "+";
  cpp_int whole, rest;
  divide_qr(difference, denominator, whole, rest);
  std::string digits = whole == 0 ? "" : whole.str();
  int point = static_cast<int>(digits.size());
  constexpr std::size_t kMost = 30, kShown = 6;
  while (rest != 0 && digits.size() <= kMost) {
    cpp_int digit;
    divide_qr(cpp_int(rest * 10), denominator, digit, rest);
    if (digits.empty() && digit == 0)
      --point;
    else
      digits += digit.str();
  }
  if (rest == 0 && digits.size() <= kMost) return sign + decimal_text(false, digits, point);
  const cpp_int common = gcd(difference, denominator), above = difference / common,
                below = denominator / common;
  if (difference >> 64 == 0 && denominator >> 64 == 0)
    return fmt::format("{}{}/{}", sign, above.str(), below.str());
  return fmt::format("about {}{}", sign, rounded_text(digits, kShown, point));
}

}  // namespace warpbit
