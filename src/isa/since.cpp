// SPDX-License-Identifier: Apache-2.0
#include "isa/since.hpp"

#include <algorithm>

namespace warpbit {
namespace {

constexpr Version kOldest{6, 0};

// What ptxas 13.0 asks for (tests/isa/versions.tsv; PTX manual, "PTX ISA Notes" of each instruction).

// Words of any instruction: state spaces, scopes, types, hints.
struct WordSince {
  std::string_view word;  ///< "a*": one that begins so
  Version since;
};
constexpr WordSince kWords[] = {
    {"shared::cta", {7, 8}}, {"shared::cluster", {7, 8}},
    {"cluster", {7, 8}},     {"param::entry", {8, 3}},
    {"param::func", {8, 3}}, {"b128", {8, 3}},
    {"mmio", {8, 2}},        {"L1::*", {7, 4}},
    {"L2::*", {7, 4}},       {"sync_restrict::*", {8, 6}},
};

// Tensor instructions, by opcode. Words, which must all be there: `a|b` one of them, `a*` one that begins so, `.a` as the last,
// `.a.b` as the last two, `!a` none; the target, if it is of one alone. Of the rules that fit the latest counts.
struct SinceRule {
  std::string_view opcodes, words;
  Version since;
  std::string_view target = {};
};
constexpr SinceRule kRules[] = {
    {"cvt", ".f32.bf16", {7, 1}},
    {"cvt", "satfinite !e4m3x2|e5m2x2", {8, 1}},
    {"cvt", "e4m3x2|e5m2x2", {7, 8}},
    {"cvt", "e4m3x2|e5m2x2", {8, 1}, "sm_89"},
    {"cvt", "rs", {8, 7}},
    {"fence", "", {8, 0}},
    {"ldmatrix", "", {6, 5}},
    {"movmatrix", "", {7, 8}},
    {"mma", "", {6, 4}},
    {"mma", "m8n8k16|m8n8k32|m16n8k8", {6, 5}},
    {"mma", "b1", {7, 0}},
    {"mma wmma", "and popc", {7, 1}},
    {"mma", "sp", {7, 1}},
    {"mma", "sp::ordered_metadata", {8, 5}},
    {"mma", "e4m3|e5m2", {8, 4}},
    {"mma", "f16 e4m3|e5m2", {8, 7}},
    {"mma", "m16n8k16 e4m3|e5m2", {8, 7}},
    {"wgmma", "s8 u8", {8, 4}},
    {"wgmma", "sp", {8, 2}},
    {"tcgen05", "kind::mxf4nvf4", {8, 7}},
    {"tcgen05", "block_scale !scale_vec::*", {8, 8}},
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

bool is_of(std::string_view opcodes, std::string_view opcode) {
  bool out = false;
  while (!opcodes.empty()) out = take_first(opcodes, ' ') == opcode || out;
  return out;
}

bool fits_rule(const SinceRule& rule, std::string_view opcode, std::span<const std::string_view> words) {
  if (!is_of(rule.opcodes, opcode)) return false;
  for (std::string_view needed = rule.words; !needed.empty();) {
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
  for (const SinceRule& rule : kRules) {
    const bool is_of_target = rule.target.empty() || rule.target == target.name();
    if (rule.since > out && is_of_target && fits_rule(rule, opcode, words)) out = rule.since;
  }
  return out;
}

}  // namespace warpbit
