// SPDX-License-Identifier: Apache-2.0
// The words of a form, between its dots.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace form_words {

using Words = std::vector<std::string>;

inline Words words_of(const std::string& form) {
  Words out;
  std::istringstream in(form);
  for (std::string word; std::getline(in, word, '.');) out.push_back(word);
  return out;
}

inline std::string joined(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ".") + word;
  return out;
}

// "a{b,}c" -> "abc", "ac"; all braces are expanded.
inline std::vector<std::string> expanded(const std::string& pattern) {
  const std::size_t open = pattern.find('{');
  if (open == pattern.npos) return {pattern};
  const std::size_t close = pattern.find('}', open);
  std::istringstream choices(pattern.substr(open + 1, close - open - 1) + ",");
  std::vector<std::string> out;
  for (std::string choice; std::getline(choices, choice, ',');)
    for (const std::string& form : expanded(pattern.substr(0, open) + choice + pattern.substr(close + 1)))
      out.push_back(form);
  return out;
}

}  // namespace form_words
