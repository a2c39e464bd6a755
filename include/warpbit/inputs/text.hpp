// SPDX-License-Identifier: Apache-2.0
// Members and profiles as text, for programs that receive a list of them.
#pragma once

#include <cstdint>
#include <cstdlib>  // std::strtol
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "warpbit/inputs/member.hpp"

namespace warpbit::inputs {

inline constexpr std::string_view kProfileNames[kProfiles] = {
    "uniform",  "ordinary",     "narrow",    "wide",  "underflow", "overflow",
    "specials", "cancellation", "alignment", "mixed", "exhaustive"};

inline std::string_view name(Profile profile) {
  return kProfileNames[static_cast<int>(profile)];
}
inline std::optional<Profile> find_profile(std::string_view name) {
  for (int i = 0; i < kProfiles; ++i)
    if (kProfileNames[i] == name) return static_cast<Profile>(i);
  return std::nullopt;
}

/// All nonzero numbers, as "name=number" separated by blanks; an enumerator as its index.
inline std::string text(const Member& member) {
  std::string out;
  for_each_number(member, [&](const char* name, const auto& number) {
    const auto value = static_cast<std::int32_t>(number);
    if (value != 0) out.append(out.empty() ? "" : " ").append(name).append("=").append(std::to_string(value));
  });
  return out;
}

/// The member with this text; nothing if a name or a number is invalid.
inline std::optional<Member> parse_member(std::string_view text) {
  Member out;
  for_each_number(out, [](const char*, auto& number) { number = {}; });
  while (!text.empty()) {
    const std::string word(text.substr(0, text.find(' ')));
    text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
    const std::size_t equals = word.find('=');
    bool known = false;
    if (equals != word.npos && equals + 1 < word.size())
      for_each_number(out, [&](const char* name, auto& number) {
        if (word.compare(0, equals, name) != 0) return;
        char* end = nullptr;
        using Number = std::remove_reference_t<decltype(number)>;
        number = static_cast<Number>(std::strtol(word.c_str() + equals + 1, &end, 10));
        known = *end == '\0';
      });
    if (!known) return std::nullopt;
  }
  return out;
}

}  // namespace warpbit::inputs
