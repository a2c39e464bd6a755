// SPDX-License-Identifier: Apache-2.0
// A layout as a grid of cells with headings, which texts and pictures draw.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpbit/layout.hpp"

namespace warpbit {

struct GridCell {
  std::vector<std::string> parts;  ///< what a picture writes in lines and a text as one word: "T5", "r1"
  int colour = 0;                  ///< 0 to 31: the lane, or which 16 of 128 bytes
  /// A cell some columns farther repeats this one if `same` is equal and `moving` has grown as everywhere else.
  std::string same;
  std::int64_t moving = 0;

  std::string text() const;
};

struct Grid {
  std::string corner;  ///< what the rows are
  std::vector<std::string> rows, columns;
  std::vector<std::vector<std::optional<GridCell>>> cells;  ///< row by row
  std::vector<std::string> legend;                          ///< sentences
  /// Words for what a repetition says: "column", how many of these a column of the grid stands for, and how
  /// `moving` is spoken of. Without a `unit` nothing is left out.
  std::string unit, moving_unit;
  int units = 1;
};

/// One matrix, or of addresses all: rows and columns with what holds them. Neighbours of one register, or of
/// one 16 bytes, are one cell.
Grid matrix_grid(const OperandLayout& operand, int product);
/// The grids that show all of an operand, with a name for each if there are several.
struct NamedGrid {
  std::string name;
  Grid grid;
};
std::vector<NamedGrid> matrix_grids(const OperandLayout& operand);
/// Lanes and registers, or rows of 128 bytes, with the elements they hold.
Grid inverse_grid(const OperandLayout& operand);

/// If there are more columns than that and some of the first ones repeat to the end, only those are left, as
/// often as they fit, and a sentence in the legend says how it goes on.
void abbreviate(Grid& grid, std::size_t most_columns);

/// "f16, 16 x 8 elements in 2 registers of each of 32 lanes; for selector f = 0"
std::string heading(const OperandLayout& operand);
/// "a[3,5]", with the matrix if there are several.
std::string element_text(const OperandLayout& operand, const Coordinate& element);

}  // namespace warpbit
