// SPDX-License-Identifier: Apache-2.0
// Elements that a body wants elsewhere than in the registers of an operand.
//
// The bodies take parts of 16 rows or 8, and eight columns, in the fragments of m16n8. With words of n elements:
//
//     lane 4 p + t    A   a word (row p, k = n t ... n t + n - 1), one (row p + 8, the same k); if there are
//                         more units of two words, of the k that are 4 n later
//                     B   (the same k, column p)
//                     C   (row p, column 2 t), (p, 2 t + 1), (p + 8, 2 t), (p + 8, 2 t + 1); likewise D
//
// With 8 rows lane 4 p + t has those of pair p, which are two apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/dense.hpp"
#include "kernel/exact.hpp"
#include "kernel/registers.hpp"

namespace warpbit {

/// An element by its first byte in an operand's registers, side by side ([lane][register]), and in a panel.
struct GatheredElement {
  std::uint32_t in_operand;
  std::uint16_t in_panel;
};

/// All elements of a part of an operand: runs of bytes that lie together in the registers and in the panel.
class Gather {
 public:
  /// The elements ascend in the panel, whose lanes have `lane_bytes`; those of the operand have
  /// `operand_lane_bytes`.
  Gather(std::span<const GatheredElement> elements, int element_bytes, int lane_bytes, int operand_lane_bytes);

  /// Where the part begins, if its lanes are those of the operand, some of their bytes: a part in place.
  std::optional<std::size_t> place() const { return place_; }

  void to_panel(const std::byte* registers, std::byte* panel) const;
  void to_registers(const std::byte* panel, std::byte* registers) const;

 private:
  // Calls move(bytes of a run, run, its first byte in the panel) for each.
  template <class Move>
  void for_each_run(Move move) const;

  int run_bytes_ = 0;      // 1, 2, 4, 8 or 16
  bool has_gaps_ = false;  // in the panel
  std::optional<std::size_t> place_;
  std::vector<GatheredElement> runs_;  // by their first element
};

/// A factor in words of `word_bytes` bytes; what is moved is an item of `item_bytes`: one element, or as many as
/// fill it.
struct WordLayout {
  int word_bytes = 4, item_bytes = 4, together = 1, units = 1;

  int lane_bytes(bool is_a) const { return (is_a ? 2 : 1) * units * word_bytes; }
};

/// Lines of a factor from `first_line` on: `rows` rows of A, or eight columns of B if that is 0. Nothing if the
/// elements of an item do not follow each other.
std::optional<Gather> gather_lines(const TileOperand& factor, int first_line, int rows, int length,
                                   const WordLayout& layout);

/// A part of C or D, of `rows` rows.
Gather gather_sums(const Tile& tile, const TileOperand& operand, const TilePart& part, int rows,
                   bool exchanged);

}  // namespace warpbit
