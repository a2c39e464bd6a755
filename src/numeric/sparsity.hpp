// SPDX-License-Identifier: Apache-2.0
// Structured sparsity: which elements of a row a compressed row holds (PTX manual, "Sparse matrix storage").
#pragma once

#include <cstdint>

namespace warpbit {

/// Of every `width` elements of a row, `kept` are stored. A nibble of metadata says which: two 2-bit indices,
/// the low one first, each of `unit` elements.
///
///     nibble 0b1101, 2 of 4      3  2  1  0        row
///                               x1  .  x0 .        indices 1 and 3
///
/// 1 of 2 has two nibbles: 0b0100 for the lower element, 0b1110 for the upper one.
struct Sparsity {
  int kept = 0;  ///< 0: dense
  int width = 0;
  int unit = 0;

  constexpr bool is_sparse() const { return kept > 0; }
};
inline constexpr Sparsity kTwoOfFour{2, 4, 1}, kOneOfTwo{1, 2, 0}, kPairsOfEight{4, 8, 2};

/// Where the compressed element stands in its row, given the nibble of its group.
constexpr int logical_column(const Sparsity& s, std::uint64_t nibble, int compressed) {
  const int group = compressed / s.kept, within = compressed % s.kept;
  if (s.kept == 1) return group * s.width + (nibble == 0b1110 ? 1 : 0);
  const int index = static_cast<int>(nibble >> (2 * (within / s.unit))) & 3;
  return group * s.width + index * s.unit + within % s.unit;
}

/// True if the manual gives the nibble a meaning. With `ordered` (.sp::ordered_metadata) the indices must
/// ascend.
constexpr bool is_defined(const Sparsity& s, std::uint64_t nibble, bool ordered) {
  if (s.kept == 1) return nibble == 0b0100 || nibble == 0b1110;
  const std::uint64_t low = nibble & 3, high = nibble >> 2;
  return ordered ? low < high : low != high;
}

/// True if it is known what the hardware makes of the nibble, defined or not (NUMERICS.md, "Sparse operands").
constexpr bool is_measured(const Sparsity& s, std::uint64_t nibble) {
  return s.kept != 1 || is_defined(s, nibble, true);
}

}  // namespace warpbit
