// SPDX-License-Identifier: Apache-2.0
// Included before everything: what warpbit uses of C++20's library and Emscripten's does not have. Algorithms on ranges are
// range-v3's; a name that std::ranges declares itself hides range-v3's.
#pragma once

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <compare>
#include <cstdlib>
#include <functional>
#include <range/v3/algorithm.hpp>
#include <ranges>
#include <string>
#include <vector>

namespace std {

namespace ranges {
using namespace ::ranges;
}

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

template <class T>
requires is_floating_point_v<T> from_chars_result from_chars(const char* first, const char* last, T& value) {
  string text(first, last);
  text.resize(min(text.find_first_of("xX"), text.size()));  // strtod knows hexadecimal digits
  const bool is_number = !text.empty() && text[0] != '+' && isspace(static_cast<unsigned char>(text[0])) == 0;
  char* end = text.data();
  errno = 0;
  constexpr auto read = [](const char* from, char** to) -> T {
    if constexpr (is_same_v<T, float>) return strtof(from, to);
    return static_cast<T>(strtod(from, to));
  };
  T number = 0;
  if (is_number) number = read(text.c_str(), &end);
  if (end == text.data()) return {first, errc::invalid_argument};
  const bool is_in_range = errno != ERANGE;
  if (is_in_range) value = number;
  return {first + (end - text.data()), is_in_range ? errc() : errc::result_out_of_range};
}

template <class T, class Allocator>
auto operator<=>(const vector<T, Allocator>& x, const vector<T, Allocator>& y) -> decltype(x[0] <=> y[0]) {
  for (size_t i = 0; i < x.size() && i < y.size(); ++i)
    if (const auto order = x[i] <=> y[i]; order != 0) return order;
  return x.size() <=> y.size();
}

}  // namespace std
