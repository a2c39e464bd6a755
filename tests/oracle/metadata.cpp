// SPDX-License-Identifier: Apache-2.0
#include "metadata.hpp"

#include <stdexcept>

#include "rules.hpp"

namespace oracle {
namespace {

int bits_a_row(const Problem& p) {
  return k_of(p.shape) / group_width(p.a) * 4;
}

}  // namespace

int group_width(std::string_view a) {
  if (a == "tf32") return 2;
  return a == "s4" || a == "u4" ? 8 : 4;
}

// facts 5, the four cases of the layout
std::optional<Nibble> held_nibble(const Problem& p, int selector, int lane, int i) {
  const int g = lane / 4, q = lane % 4, half = i / 4;
  switch (bits_a_row(p)) {
    case 16:
      if (q != selector) return std::nullopt;
      return Nibble{half == 0 ? g : g + 8, i % 4};
    case 32: {
      const int part = q - 2 * selector;
      if (part != 0 && part != 1) return std::nullopt;
      if (p.d == "s32") return Nibble{g + 8 * part, i};
      return Nibble{half == 0 ? g : g + 8, part == 0 ? i % 4 : i % 4 + 4};
    }
    case 64: return Nibble{g + 8 * (q % 2), q / 2 == 0 ? i : i + 8};
    default: throw std::invalid_argument("oracle: no metadata for " + p.shape);
  }
}

int selector_count(const Problem& p) {
  return 64 / bits_a_row(p);
}

// facts 5, first paragraph
int logical_k(std::string_view a, int term, unsigned nibble) {
  const int width = group_width(a), kept = width / 2;
  const int start = term / kept * width, within = term % kept;
  if (width == 2) {
    if (nibble != 0x4 && nibble != 0xE) throw std::invalid_argument("oracle: tf32 metadata not understood");
    return nibble == 0x4 ? start : start + 1;
  }
  const bool first = within < kept / 2;
  const int index = static_cast<int>(first ? nibble % 4 : nibble / 4);
  return width == 4 ? start + index : start + 2 * index + within % 2;
}

}  // namespace oracle
