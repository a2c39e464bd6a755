// SPDX-License-Identifier: Apache-2.0
// A layout as a grid of cells with headings, for texts and pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/layout.hpp"

namespace warpbit {

/// Whether it lies in words of lanes: registers, or columns of tensor memory.
inline bool is_in_words(const OperandLayout& operand) {
  return operand.medium == Medium::registers || operand.medium == Medium::tensor_memory;
}
/// Whether lanes hold it, or say where it lies.
inline bool is_in_lanes(const OperandLayout& operand) {
  return is_in_words(operand) || operand.medium == Medium::addresses;
}

/// Lanes of tensor memory: those of the second block of a pair follow.
inline constexpr int kBlockLanes = 128;
inline bool is_of_pair(const OperandLayout& operand) {
  return operand.medium == Medium::tensor_memory && operand.lanes > kBlockLanes;
}

/// Whether the operand `role` is what a person calls `name`: "b_desc" and "b_tmem" are "b", too.
inline bool is_called(std::string_view role, std::string_view name) {
  if (!role.starts_with(name)) return false;
  const std::string_view rest = role.substr(name.size());
  return rest.empty() || rest == "_desc" || rest == "_tmem";
}

struct GridCell {
  std::vector<std::string> parts;  ///< separate lines in a picture, one word in a text: "T5", "r1"
  int colour = 0;                  ///< 0 to 31: the lane, the 16-byte part of 128 bytes, or the step along K
  /// A cell repeats an earlier column's if `same` is equal and `moving` has grown as in all other cells.
  std::string same;
  std::int64_t moving = 0;

  std::string text() const;
};

struct Grid {
  std::string corner;  ///< what the rows are
  std::vector<std::string> rows = {}, columns = {};
  std::vector<std::vector<std::optional<GridCell>>> cells = {};  ///< row by row
  std::vector<std::string> legend = {};                          ///< sentences
  /// Words for the description of a repetition: "column", the number of them per grid column, and the unit of
  /// `moving`. Nothing is abbreviated without a `unit`.
  std::string unit, moving_unit;
  int units = 1, row_units = 1;  ///< elements that a cell has across and down
  std::size_t most = 0;          ///< if it has more columns, none of which repeat: those that are shown; 0: all
  std::string name = {};
};

/// The grids that show the whole operand, named if there are several: rows and columns with the holders of the
/// elements. Neighbours in one register, or in 16 bytes, share a cell.
std::vector<Grid> matrix_grids(const OperandLayout& operand);
/// The inverse: lanes and registers, or rows of 128 bytes, with their elements.
Grid inverse_grid(const OperandLayout& operand);

/// If there are more than `most_columns` columns and the first ones repeat to the end, keeps as many periods
/// as fit; a sentence in the legend describes the rest. Else no more than Grid::most.
void abbreviate(Grid& grid, std::size_t most_columns);

/// The same for the rows of an inverse grid: keeps the first ones that the others repeat, if there are more than `most`.
void abbreviate_rows(Grid& grid, std::size_t most);

/// "f16, 16 x 8 elements in 2 registers of each of 32 lanes; for selector f = 0"
std::string heading(const OperandLayout& operand);
/// "CuTe (T32,V4) -> (M16,N8): ((4,8),(2,2)):((32,1),(16,8))"
std::string cute_heading(const OperandLayout& operand);
/// "a[3,5]", with the matrix number if there are several.
std::string element_text(const OperandLayout& operand, const Coordinate& element);

}  // namespace warpbit
