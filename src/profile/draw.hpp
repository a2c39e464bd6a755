// SPDX-License-Identifier: Apache-2.0
// The two parts of a picture.
#pragma once

#include "profile/columns.hpp"
#include "profile/drawing.hpp"

namespace warpbit::profile {

/// The lines that were executed, as a table with bars.
class LineTable {
 public:
  /// The rows of line `framed` have a frame; 0: none has.
  LineTable(std::span<const ptx::LineCounts> lines, int framed);
  /// In pixels.
  int width() const;
  void draw(Drawing& drawing) const;

 private:
  struct Cell {
    std::string text;
    double share = 0, loss = 0;  ///< of the greatest in the column, and how much of that is more than the least
  };
  struct TableColumn {
    std::string heading, unit;
    bool is_text = false;
    std::vector<Cell> cells = {};  ///< by row; the last one is the sum

    int width() const;
  };
  void add_text(std::string heading, std::vector<std::string> cells, std::string sum, bool to_the_left);
  void add_counts(const ptx::CountColumn& column, std::span<const ptx::LineCounts> shown,
                  const ptx::Counts& all);
  void draw_column(Drawing& drawing, const TableColumn& column, int x, int top) const;
  void draw_frame(Drawing& drawing, std::size_t row, int top) const;

  std::vector<TableColumn> columns_;
  std::size_t rows_ = 0, of_ = 0;  ///< lines that are drawn, and all
  std::vector<std::size_t> framed_;
};

/// The warps of a block over its statements.
void draw_timeline(Drawing& drawing, const ptx::Timeline& of);

}  // namespace warpbit::profile
