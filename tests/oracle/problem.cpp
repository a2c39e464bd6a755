// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "formats.hpp"
#include "oracle.hpp"

namespace oracle {
namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, word) != list.end();
}

bool is_format(std::string_view word) {
  try {
    find_format(word);
    return true;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

std::vector<std::string> words_of(std::string_view form) {
  std::vector<std::string> out;
  while (!form.empty()) {
    const std::size_t end = std::min(form.find('.'), form.size());
    out.emplace_back(form.substr(0, end));
    form.remove_prefix(std::min(end + 1, form.size()));
  }
  return out;
}

// D, A, B and C, and the scales' format if there is one; wmma with f16 factors names D and C alone, wgmma no C,
// which is D.
void set_types(Problem& p, const std::vector<std::string>& types, std::string_view form) {
  if (p.wmma && types.size() == 2) {
    p.d = types[0];
    p.a = p.b = "f16";
    p.c = types[1];
    return;
  }
  if (types.size() != (p.wgmma ? 3u : p.blocks > 0 ? 5u : 4u))
    throw std::invalid_argument("oracle: number of types in " + std::string(form));
  p.d = types[0];
  p.a = types[1];
  p.b = types[2];
  p.c = p.wgmma ? types[0] : types[3];
  if (p.blocks > 0) p.scale = types[4];
}

}  // namespace

Problem problem_of(std::string_view target, std::string_view form) {
  Problem p;
  p.target = target;
  std::vector<std::string> types;
  for (const std::string& word : words_of(form)) {
    if (is_format(word))
      types.push_back(word);
    else if (word.size() > 2 && word[0] == 'm' && word[1] >= '0' && word[1] <= '9')
      p.shape = word;
    else if (word == "satfinite")
      p.satfinite = true;
    else if (is_one_of(word, {"rn", "rz", "rm", "rp"}))
      p.rounding = word;
    else if (is_one_of(word, {"xor", "and"}))
      p.bit_operation = word;
    else if (is_one_of(word, {"sp", "sp::ordered_metadata"}))
      p.sparse = true;
    else if (word == "wmma")
      p.wmma = true;
    else if (word == "wgmma")
      p.wgmma = true;
    else if (is_one_of(word, {"kind::mxf4", "scale_vec::2X"}))
      p.blocks = 2;
    else if (is_one_of(word, {"kind::mxf8f6f4", "scale_vec::1X"}))
      p.blocks = 1;
    else if (word == "scale_vec::4X")
      p.blocks = 4;
    else if (!is_one_of(word, {"mma", "mma_async", "sync", "aligned", "row", "col", "popc", "kind::f8f6f4",
                               "kind::mxf4nvf4", "block_scale"}))
      throw std::invalid_argument("oracle: unknown word " + word + " in " + std::string(form));
  }
  set_types(p, types, form);
  return p;
}

}  // namespace oracle
