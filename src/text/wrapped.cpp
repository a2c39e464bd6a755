// SPDX-License-Identifier: Apache-2.0
#include "text/wrapped.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {

std::string wrapped(std::string_view text, std::size_t width) {
  constexpr std::string_view kIndent = "    ";
  std::string out;
  for (std::size_t room = width; text.size() > room; room = width - kIndent.size()) {
    const std::size_t blank = text.rfind(' ', room), dot = text.rfind('.', room);
    const bool at_blank = blank != text.npos && blank > 0;
    const std::size_t end = at_blank ? blank : dot != text.npos && dot > 0 ? dot : room;
    out += fmt::format("{}\n{}", text.substr(0, end), kIndent);
    text.remove_prefix(end + (at_blank ? 1 : 0));
  }
  return fmt::format("{}{}\n", out, text);
}

std::string cut_off(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

}  // namespace warpbit
