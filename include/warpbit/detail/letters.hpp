// SPDX-License-Identifier: Apache-2.0
// Names as people type them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>  // std::iota
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpbit {

/// The text with a to z for A to Z.
inline std::string in_small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

/// Changes of a letter, and letters too many or too few, that make one word of the other.
inline std::size_t letters_apart(std::string_view x, std::string_view y) {
  std::vector<std::size_t> row(y.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < y.size(); ++j) {
      const std::size_t replaced = diagonal + (x[i] != y[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace warpbit
