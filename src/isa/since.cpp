// SPDX-License-Identifier: Apache-2.0
#include "isa/since.hpp"

#include <algorithm>

#include "isa/form.hpp"

namespace warpbit {
namespace {

constexpr Version kOldest{6, 0};

// Words of any instruction: state spaces, scopes, types, hints (PTX manual, "PTX ISA Notes" of each instruction; what
// ptxas 13.0 asks for, tests/isa/versions.tsv). Tensor instructions: Family::since.
struct WordSince {
  std::string_view word;  ///< "a*": one that begins so
  Version since;
};
constexpr WordSince kWords[] = {
    {"shared::cta", {7, 8}},
    {"shared::cluster", {7, 8}},
    {"cluster", {7, 8}},
    {"param::entry", {8, 3}},
    {"param::func", {8, 3}},
    {"b128", {8, 3}},
    {"mmio", {8, 2}},
    {"L1::*", {7, 4}},
    {"L2::*", {7, 4}},
    {"sync_restrict::*", {8, 6}},
    {"multicast::cluster::16b", {9, 4}},
    {"multicast::cluster::32b", {9, 4}},
};

/// Takes the first of a list from its front.
std::string_view take_first(std::string_view& list, char separator) {
  const std::size_t end = std::min(list.find(separator), list.size());
  const std::string_view out = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return out;
}

bool fits_word(std::string_view pattern, std::string_view word) {
  return pattern.ends_with('*') ? word.starts_with(pattern.substr(0, pattern.size() - 1)) : word == pattern;
}

bool ends_with(std::span<const std::string_view> words, std::string_view dotted) {
  for (; !dotted.empty(); words = words.first(words.size() - 1)) {
    const std::size_t dot = dotted.rfind('.');
    if (words.empty() || words.back() != dotted.substr(dot + 1)) return false;
    dotted = dotted.substr(0, dot);
  }
  return true;
}

bool is_there(std::string_view alternatives, std::span<const std::string_view> words) {
  while (!alternatives.empty()) {
    const std::string_view one = take_first(alternatives, '|');
    if (one.starts_with('.') ? ends_with(words, one)
                             : std::ranges::any_of(words, [&](auto word) { return fits_word(one, word); }))
      return true;
  }
  return false;
}

bool fits_row(const SinceRow& row, std::span<const std::string_view> words) {
  for (std::string_view needed = row.words; !needed.empty();) {
    std::string_view one = take_first(needed, ' ');
    const bool is_needed = !one.starts_with('!');
    if (!is_needed) one.remove_prefix(1);
    if (is_there(one, words) != is_needed) return false;
  }
  return true;
}

}  // namespace

Version since(std::string_view word) {
  const auto* const found =
      std::ranges::find_if(kWords, [&](const WordSince& row) { return fits_word(row.word, word); });
  return found == std::end(kWords) ? kOldest : found->since;
}

Version since(std::string_view opcode, std::span<const std::string_view> words, Target target) {
  Version out = kOldest;
  for (const std::string_view word : words) out = std::max(out, since(word));
  for (const Family& family : families()) {
    if (family.opcode != opcode) continue;
    for (const SinceRow& row : family.since) {
      const bool is_of_target = row.target.empty() || row.target == target.name();
      if (row.since > out && is_of_target && fits_row(row, words)) out = row.since;
    }
  }
  return out;
}

}  // namespace warpbit
