// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>  // TIOCGWINSZ
#include <unistd.h>     // isatty

#include <algorithm>
#include <bit>  // std::countl_one
#include <charconv>
#include <cstdlib>  // getenv

namespace warpbit::cli {
namespace {

constexpr std::size_t kLeast = 20, kMost = 1000;  // columns that are believed

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : text;
}

// 0 if nothing says how many there are.
std::size_t columns(bool is_terminal) {
  std::size_t given = 0;
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) given = size.ws_col;
  const std::string_view text = variable("COLUMNS");
  if (given == 0) std::from_chars(text.data(), text.data() + text.size(), given);
  return given >= kLeast && given <= kMost ? given : 0;
}

}  // namespace

const Terminal& terminal() {
  static const Terminal found = [] {
    Terminal out;
    out.is_one = isatty(STDOUT_FILENO) != 0;
    out.colours = out.is_one && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
    const std::size_t width = columns(out.is_one);
    out.has_width = out.is_one || width != 0;
    if (width != 0) out.columns = width;
    return out;
  }();
  return found;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    // The first byte of a character has as many ones in front as there are bytes, if there are several; the others are
    // 10xxxxxx. Control characters are below 0x20, and 0x7f to 0x9f.
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
    const unsigned char first = byte(0);
    const auto size = static_cast<std::size_t>(std::max(std::countl_one(first), 1));
    bool good = size == 1 ? first >= 0x20 && first < 0x7F
                          : first >= 0xC2 && first < 0xF5 && !(first == 0xC2 && byte(1) < 0xA0);
    for (std::size_t i = 1; i < size; ++i) good = good && (byte(i) & 0xC0) == 0x80;
    if (good)
      out += text.substr(0, size);
    else
      out += fmt::format("\\x{:02x}", first);
    text.remove_prefix(good ? size : 1);
  }
  return out;
}

std::vector<std::string> broken(std::string_view text, std::size_t columns) {
  std::vector<std::string> out;
  while (text.size() > columns) {
    const std::size_t blank = text.rfind(' ', columns), dot = text.rfind('.', columns);
    const bool at_blank = blank != text.npos && blank > 0, at_dot = dot != text.npos && dot > 0;
    const std::size_t end = at_blank ? blank : at_dot ? dot : columns;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + (at_blank ? 1 : 0));
  }
  out.emplace_back(text);
  return out;
}

void print_fitted(std::string_view line) {
  const std::size_t columns = terminal().is_one ? terminal().columns : line.npos;
  for (const std::string& part : broken(printable(line), columns)) fmt::print("{}\n", part);
}

std::string coloured(std::string_view text, int colour) {
  if (!terminal().colours) return std::string(text);
  return fmt::format("\033[38;5;{}m{}\033[0m", colour, text);
}

}  // namespace warpbit::cli
