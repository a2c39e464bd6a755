// SPDX-License-Identifier: Apache-2.0
#include "numeric/words.hpp"

#include <algorithm>

namespace warpbit {

std::vector<std::string_view> words_between(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> out;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(std::min(end + 1, text.size()))) {
    end = text.find_first_of(separators);
    out.push_back(text.substr(0, end));
  }
  return out;
}

}  // namespace warpbit
