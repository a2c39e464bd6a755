// SPDX-License-Identifier: Apache-2.0
// Structured sparsity: the elements of a row that a compressed row holds (PTX manual, "Sparse matrix
// storage").
#pragma once

#include <cstdint>

namespace warpbit {

/// `kept` of every `width` elements of a row are stored. A nibble of metadata for each group holds their
/// positions: two 2-bit indices, the low one first.
///
///     nibble 0b1101, 2 of 4      3  2  1  0        row
///                               x1  .  x0 .        indices 1 and 3
///
/// An index counts elements; pairs of them if 4 of 8 are kept; halves of 16 bits if 1 of 2 is kept: then
/// 0b0100 (halves 0 and 1) is the lower element and 0b1110 (halves 2 and 3) the upper one.
struct Sparsity {
  int kept = 0;  ///< 0: dense
  int width = 0;

  constexpr bool is_sparse() const { return kept > 0; }
};
inline constexpr Sparsity kTwoOfFour{2, 4}, kOneOfTwo{1, 2}, kPairsOfEight{4, 8};

/// The index of stored element `within` of a group.
constexpr int stored_index(const Sparsity& s, std::uint64_t nibble, int within) {
  return static_cast<int>(nibble >> (2 * (within / (s.kept / 2)))) & 3;
}

/// The code that is multiplied by stored element `within` of a group, out of the codes of B's rows of that
/// group. Every nibble selects one: NUMERICS.md, "Sparse operands", has the measurements for those that the
/// manual leaves undefined.
constexpr std::uint64_t select(const Sparsity& s, std::uint64_t nibble, int within,
                               const std::uint64_t* group) {
  if (s.kept == 1) {
    const auto half = [&](std::uint64_t index) { return (group[index / 2] >> (16 * (index % 2))) & 0xFFFF; };
    return half(nibble & 3) | half(nibble >> 2) << 16;
  }
  const int unit = s.kept / 2;
  return group[stored_index(s, nibble, within) * unit + within % unit];
}

/// True if the manual defines the nibble. With `ordered` (.sp::ordered_metadata) the indices must ascend.
constexpr bool is_defined(const Sparsity& s, std::uint64_t nibble, bool ordered) {
  if (s.kept == 1) return nibble == 0b0100 || nibble == 0b1110;
  const std::uint64_t low = nibble & 3, high = nibble >> 2;
  return ordered ? low < high : low != high;
}

}  // namespace warpbit
