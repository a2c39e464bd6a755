// SPDX-License-Identifier: Apache-2.0
#include "metadata.hpp"

#include <stdexcept>

#include "rules.hpp"

namespace oracle {
namespace {

int bits_a_row(const Problem& p) {
  return k_of(p.shape) / group_width(p) * 4;
}

}  // namespace

// facts 5, first paragraph; the manual, "Sparse matrix storage", for e2m1 with kind::mxf4 and kind::mxf4nvf4
int group_width(const Problem& p) {
  if (p.a == "tf32") return 2;
  return p.a == "s4" || p.a == "u4" || p.blocks > 1 ? 8 : 4;
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
int logical_k(const Problem& p, int term, unsigned nibble) {
  const int width = group_width(p), kept = width / 2;
  const int start = term / kept * width, within = term % kept;
  if (width == 2) {
    if (nibble != 0x4 && nibble != 0xE) throw std::invalid_argument("oracle: tf32 metadata not understood");
    return nibble == 0x4 ? start : start + 1;
  }
  const bool first = within < kept / 2;
  const int index = static_cast<int>(first ? nibble % 4 : nibble / 4);
  return width == 4 ? start + index : start + 2 * index + within % 2;
}

// facts 8; the manual, "Block Scaling": bytes from byte-id on, low k first
std::optional<Scale> held_scale(bool of_a, int blocks, int byte_id, int thread_id, int lane, int byte) {
  const int g = lane / 4, q = lane % 4, block = byte - byte_id;
  if (block < 0 || block >= blocks) return std::nullopt;
  if (!of_a) return q == thread_id ? std::optional(Scale{g, block}) : std::nullopt;
  const int p = q - 2 * thread_id;
  return p == 0 || p == 1 ? std::optional(Scale{g + 8 * p, block}) : std::nullopt;
}

std::vector<Selector> selectors(bool of_a, int blocks) {
  std::vector<Selector> out;
  for (int byte_id = 0; byte_id < 4; ++byte_id) {
    if (blocks == 2 && byte_id % 2 != 0) continue;
    if (blocks == 4 && byte_id != 0) continue;
    for (int thread_id = 0; thread_id < (of_a ? 2 : 4); ++thread_id) out.push_back({byte_id, thread_id});
  }
  return out;
}

}  // namespace oracle
