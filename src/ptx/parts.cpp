// SPDX-License-Identifier: Apache-2.0
#include "ptx/parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

namespace warpbit::ptx {
namespace {

// A letter with digits, each up to the last.
struct Digits {
  char letter, last;
  std::size_t least, most;
  bool falls;  ///< each is less than the one before
};
struct PartSet {
  std::string_view name;
  Digits digits[2];  ///< one or the other
  std::string_view said;
};
constexpr PartSet kSets[] = {
    {"part", {{'b', '3', 1, 1, true}, {'h', '1', 1, 1, true}}, ".b0 to .b3, .h0 or .h1"},
    {"halves", {{'h', '3', 2, 2, false}, {}}, ".h00 to .h33"},
    {"half_mask", {{'h', '1', 1, 2, true}, {}}, ".h0, .h1 or .h10"},
    {"bytes", {{'b', '7', 4, 4, false}, {}}, ".b0000 to .b7777"},
    {"byte_mask", {{'b', '3', 1, 4, true}, {}}, ".b0 to .b3210"},
};

bool fits(const Digits& of, std::string_view word) {
  if (word.empty() || word[0] != of.letter) return false;
  const std::string_view digits = word.substr(1);
  const bool in_range =
      std::ranges::all_of(digits, [&](char digit) { return digit >= '0' && digit <= of.last; });
  return in_range && digits.size() >= of.least && digits.size() <= of.most &&
         (!of.falls || std::ranges::adjacent_find(digits, std::less_equal()) == digits.end());
}

}  // namespace

// ptxas takes .b1024 for a type; all others of its kind are parts.
bool is_part(std::string_view set, std::string_view word) {
  const auto* const found = std::ranges::find(kSets, set, &PartSet::name);
  return found != std::end(kSets) && word != "b1024" &&
         std::ranges::any_of(found->digits, [&](const Digits& one) { return fits(one, word); });
}

std::string parts_of(std::string_view set) {
  const auto* const found = std::ranges::find(kSets, set, &PartSet::name);
  return found == std::end(kSets) ? "" : fmt::format(" (or of it {})", found->said);
}

}  // namespace warpbit::ptx
