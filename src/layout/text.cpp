// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "layout/grid.hpp"
#include "text/wrapped.hpp"
#include "warpbit/layout.hpp"

namespace warpbit {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kMostRows = 8;  // of the addresses of a tile, if the others repeat them

// Terminal colours (of 256) that are legible on black and on white: four lanes per hue.
constexpr std::array kPalette = {160, 196, 167, 203, 166, 172, 130, 136, 28, 34,  64,  70,  30,  37,  31,  38,
                                 25,  27,  33,  68,  57,  63,  99,  98,  90, 127, 133, 134, 125, 161, 162, 168};

struct Widths {
  std::size_t heading = 0, cell = 1;

  explicit Widths(const Grid& grid) : heading(grid.corner.size()) {
    for (const std::string& row : grid.rows) heading = std::max(heading, row.size());
    for (const std::string& column : grid.columns) cell = std::max(cell, column.size());
    for (const auto& row : grid.cells)
      for (const auto& c : row)
        if (c) cell = std::max(cell, c->text().size());
  }
  // The number of columns that fit, at least one.
  std::size_t columns(std::size_t width) const {
    const std::size_t each = cell + kGap.size();
    return width < heading + each ? 1 : (width - heading) / each;
  }
};

// Some of the columns, without trailing blanks.
std::string block_text(const Grid& grid, const Widths& widths, std::size_t first, std::size_t count,
                       const Paint& paint) {
  std::string line = fmt::format("{:<{}}", grid.corner, widths.heading);
  for (std::size_t j = first; j < first + count; ++j)
    line += fmt::format("{}{:<{}}", kGap, grid.columns[j], widths.cell);
  std::string out = line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  for (std::size_t i = 0; i < grid.rows.size(); ++i) {
    line = fmt::format("{:<{}}", grid.rows[i], widths.heading);
    std::string blanks;
    for (std::size_t j = first; j < first + count; ++j) {
      const auto& cell = grid.cells[i][j];
      const std::string text = cell ? cell->text() : "-";
      line += fmt::format("{}{}{}", blanks, kGap,
                          cell && paint ? paint(text, kPalette[static_cast<std::size_t>(cell->colour)]) : text);
      blanks = std::string(widths.cell - text.size(), ' ');
    }
    out += line + "\n";
  }
  return out;
}

std::string grid_text(Grid grid, const LayoutText& how) {
  const auto width = static_cast<std::size_t>(std::max(how.width, 1));
  abbreviate(grid, Widths(grid).columns(width));
  const Widths widths(grid);
  std::string out;
  for (const std::string& sentence : grid.legend) out += wrapped(sentence, width);
  const std::size_t step = widths.columns(width);
  for (std::size_t first = 0; first < grid.columns.size(); first += step)
    out += "\n" + block_text(grid, widths, first, std::min(step, grid.columns.size() - first), how.paint);
  return out;
}

}  // namespace

std::string layout_text(const Layout& layout, const LayoutText& how) {
  const auto width = static_cast<std::size_t>(std::max(how.width, 8));
  std::string out = wrapped(layout.form, width);
  for (const OperandLayout& operand : layout.operands) {
    out += "\n" + wrapped(heading(operand), width);
    if (!operand.cute.empty()) out += wrapped(cute_heading(operand), width);
    std::vector<Grid> grids = how.by_lanes ? std::vector{inverse_grid(operand)} : matrix_grids(operand);
    if (operand.step > 0 && !how.by_lanes) {
      grids.push_back(inverse_grid(operand));
      grids.back().name = "by address";
      abbreviate_rows(grids.back(), kMostRows);
    }
    for (const Grid& grid : grids) {
      if (!grid.name.empty()) out += fmt::format("{}{}:\n", &grid == &grids[0] ? "" : "\n", grid.name);
      out += grid_text(grid, how);
    }
  }
  for (const std::string& sentence : layout.unknown) out += "\n" + wrapped(sentence, width);
  return out;
}

}  // namespace warpbit
