// SPDX-License-Identifier: Apache-2.0
#include "ptx/compression.hpp"

#include <charconv>

namespace warpbit::ptx {
namespace {

// "x16" behind its letter.
int number_behind(std::string_view word, std::size_t first) {
  int out = 0;
  std::from_chars(word.data() + first, word.data() + word.size(), out);
  return out;
}

}  // namespace

Compression compression(std::span<const std::string_view> words) {
  Compression out;
  for (const std::string_view word : words) {
    if (word == "b8" || word == "b16") out.element = number_behind(word, 1);
    if (word == "b2" || word == "b4") out.index = number_behind(word, 1);
    if (word[0] == 'x') out.number = number_behind(word, 1);
    if (word.starts_with("sp::")) {
      out.from = number_behind(word, 4);
      out.to = number_behind(word, word.rfind(':') + 1);
    }
  }
  return out;
}

VectorSizes compression_sizes(bool compresses, std::span<const std::string_view> words) {
  const auto [element, index, from, to, number] = compression(words);
  const auto words_of_bits = [](int bits) { return (bits + 31) / 32; };
  if (compresses) return {(number * index + element - 1) / element, number, 2 * number};
  return {words_of_bits(from * index * number), words_of_bits(from * element * number),
          words_of_bits(to * element * number)};
}

}  // namespace warpbit::ptx
