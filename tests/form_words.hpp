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

}  // namespace form_words
