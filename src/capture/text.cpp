// SPDX-License-Identifier: Apache-2.0
#include "capture/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>  // back_inserter

namespace warpbit::capture {
namespace {

constexpr std::size_t kLongestExcerpt = 80;

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

std::string excerpt(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kLongestExcerpt)) {
    if (is_control(c) || static_cast<unsigned char>(c) >= 0x80)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    else
      out.push_back(c);
  }
  if (text.size() > kLongestExcerpt) out += "...";
  return out;
}

std::string quoted(std::string_view text) {
  return "'" + excerpt(text) + "'";
}

bool is_plain(std::string_view text, bool lines) {
  return std::none_of(text.begin(), text.end(),
                      [&](char c) { return is_control(c) && !(lines && (c == '\t' || c == '\n')); });
}

Error member_error(Errc code, std::string_view member, std::string seen, std::string accepted) {
  return Error{code, excerpt(member), std::move(seen), std::move(accepted)};
}

}  // namespace warpbit::capture
