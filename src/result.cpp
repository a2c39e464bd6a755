// SPDX-License-Identifier: Apache-2.0
#include "warpbit/result.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {
namespace {

constexpr std::string_view kExpected = "{where}: {seen}; expected {accepted}",
                           kSeen = "{where}: {seen}; {accepted}";

// By code.
constexpr struct {
  std::string_view name;
  ErrorKind kind;
  std::string_view sentence;
} kRows[] = {
#define WARPBIT_ERROR(code, kind, sentence) {#code, ErrorKind::kind, sentence},
#include "warpbit/detail/errors.inc"
#undef WARPBIT_ERROR
};

// Texts and paths come from outside: control characters are escaped, what is too long is cut.
std::string one_line(std::string_view text) {
  constexpr std::size_t kLongest = 1000;
  std::string out;
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return text.size() > kLongest ? out + "..." : out;
}

bool is_one(std::string_view seen) {
  constexpr std::string_view kBeginnings[] = {"1 byte ", "address ", "register "};
  return std::ranges::any_of(kBeginnings, [&](std::string_view one) { return seen.starts_with(one); });
}

}  // namespace

std::string Error::message() const {
  std::string out = fmt::format(fmt::runtime(kRows[static_cast<std::size_t>(code)].sentence),
                                fmt::arg("where", one_line(where)), fmt::arg("seen", one_line(seen)),
                                fmt::arg("accepted", accepted), fmt::arg("are", is_one(seen) ? "is" : "are"));
  if (accepted.empty())
    for (const std::string_view end : {"; expected ", "; "})
      if (out.ends_with(end)) out.resize(out.size() - end.size());
  return out;
}

std::string_view name(Errc code) {
  return kRows[static_cast<std::size_t>(code)].name;
}

ErrorKind kind(Errc code) {
  return kRows[static_cast<std::size_t>(code)].kind;
}

}  // namespace warpbit
