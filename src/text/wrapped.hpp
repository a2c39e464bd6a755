// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)  // warpbit's other libraries use it
namespace warpbit {

/// Lines of at most `width` characters, broken at blanks or else before a dot; continuation lines are
/// indented. Ends with a newline. Precondition: width > 4.
std::string wrapped(std::string_view text, std::size_t width);

/// The text, truncated with "..." to `width`. Precondition: width > 3.
std::string cut_off(const std::string& text, std::size_t width);

/// Escapes text for XML, between tags or quotes.
std::string escaped(std::string_view text);

}  // namespace warpbit
#pragma GCC visibility pop
