// SPDX-License-Identifier: Apache-2.0
// Numbers as people write them, exactly: conversion from text to a ratio, and back to text.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <string>
#include <string_view>

#include "numeric/formats.hpp"
#include "warpbit/result.hpp"

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

using boost::multiprecision::cpp_int;

/// (-1)^negative * numerator / denominator, an infinity, or NaN.
struct Number {
  Class cls = Class::finite;  ///< zero is finite, too
  bool negative = false;
  cpp_int numerator = 0, denominator = 1;
};

/// Parses "3.3", "-1e-20", "0x1.8p-3", "1/3", "inf", "nan". Error: usage, with the accepted notations; also
/// for more than kMostDigits characters, or an exponent beyond +-kMostDigits.
Result<Number> parse_number(std::string_view text);
inline constexpr int kMostDigits = 10'000;

/// A number that encodes like the given one in every format, by every rounding: the part below its 120th bit
/// becomes one sticky bit. For an integer format its units are kept instead, modulo 2^98 of them; beyond that it is
/// 2^98 if it is to be clamped.
Exact for_encoding(const Number& number, bool is_integer, bool clamped, int fraction_bits = 0);

/// All digits: "-0.0625"; with an exponent of ten if there are more than 60.
std::string exact_decimal(const Exact& number);
/// The same for (-1)^negative * magnitude * 2^exponent. Precondition: magnitude >= 0.
std::string exact_decimal(bool negative, cpp_int magnitude, int exponent);

/// (minuend - subtrahend) / denominator as "0", "+0.2", "-1/3", or "about +0.123457" if it has more than 30
/// digits and no short ratio.
std::string difference_text(const cpp_int& minuend, const cpp_int& subtrahend, const cpp_int& denominator);

}  // namespace warpbit
#pragma GCC visibility pop
