// SPDX-License-Identifier: Apache-2.0
// Layouts as pictures, like the figures of the manual: a box for each cell with the lane above the register.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "capture/whole_file.hpp"
#include "layout/grid.hpp"
#include "text/wrapped.hpp"
#include "warpbit/layout.hpp"

namespace warpbit {
namespace {

// In pixels. A character of a monospaced font is 3/5 of its size wide.
constexpr int kMargin = 16, kTitle = 16, kName = 13, kText = 11, kLine = 14, kPadding = 5, kLeastCell = 34;
constexpr std::size_t kMostColumns = 32;  // of a picture; exceeded only if nothing repeats

int text_width(std::size_t characters, int size) {
  return (static_cast<int>(characters) * size * 3 + 4) / 5;
}

// Eight hues, four lanes each; all light enough for black text.
std::string fill(int colour) {
  constexpr std::array kHues = {0xFF8A80, 0xFFB74D, 0xF0DC50, 0x96D26E, 0x5ACDC3, 0x6EB4FA, 0xA596F5, 0xF091D7};
  const int hue = kHues[static_cast<std::size_t>(colour) / 4 % kHues.size()];
  const int white = colour % 4;  // parts of six
  const auto mixed = [&](int shift) { return ((hue >> shift & 0xFF) * (6 - white) + 255 * white) / 6; };
  return fmt::format("#{:02x}{:02x}{:02x}", mixed(16), mixed(8), mixed(0));
}

// The elements drawn so far, top to bottom.
class Picture {
 public:
  void write(std::string_view text, int size, bool bold = false) {
    y_ += size + kLine / 2;
    place(kMargin, y_, text, size, "start", bold);
    width_ = std::max(width_, 2 * kMargin + text_width(text.size(), size));
  }
  void skip(int pixels) { y_ += pixels; }
  // As far as it does not repeat.
  void draw(Grid grid) {
    abbreviate(grid, kMostColumns);
    if (!grid.name.empty()) write(grid.name, kName);
    for (const std::string& sentence : grid.legend) write(sentence, kText);
    std::size_t heading = grid.corner.size(), characters = 1, lines = 1;
    for (const std::string& row : grid.rows) heading = std::max(heading, row.size());
    for (const std::string& column : grid.columns) characters = std::max(characters, column.size());
    for (const auto& row : grid.cells)
      for (const auto& cell : row)
        if (cell) {
          lines = std::max(lines, cell->parts.size());
          for (const std::string& part : cell->parts) characters = std::max(characters, part.size());
        }
    const int width = std::max(kLeastCell, text_width(characters, kText) + 2 * kPadding),
              height = static_cast<int>(lines) * kLine + kPadding,
              left = kMargin + text_width(heading, kText) + kPadding;
    y_ += kLine + kPadding;
    place(left - kPadding, y_, grid.corner, kText, "end");
    for (std::size_t j = 0; j < grid.columns.size(); ++j)
      place(left + static_cast<int>(j) * width + width / 2, y_, grid.columns[j], kText, "middle");
    y_ += kPadding;
    for (std::size_t i = 0; i < grid.rows.size(); ++i) {
      place(left - kPadding, y_ + height / 2 + kText / 3, grid.rows[i], kText, "end");
      for (std::size_t j = 0; j < grid.columns.size(); ++j)
        draw_cell(left + static_cast<int>(j) * width, y_, width, height, grid.cells[i][j]);
      y_ += height;
    }
    width_ = std::max(width_, left + static_cast<int>(grid.columns.size()) * width + kMargin);
    skip(kLine);
  }

  std::string finish(std::string_view title) const {
    const int height = y_ + kMargin;
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n"
        "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{3}</svg>\n",
        width_, height, escaped(title), body_);
  }

 private:
  void place(int x, int y, std::string_view text, int size, std::string_view anchor, bool bold = false) {
    body_ += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                         size, anchor, bold ? " font-weight=\"bold\"" : "", escaped(text));
  }
  void draw_cell(int x, int y, int width, int height, const std::optional<GridCell>& cell) {
    body_ +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#555555\"/>\n", x,
                    y, width, height, cell ? fill(cell->colour) : "#f4f4f4");
    if (!cell) return;
    const int lines = static_cast<int>(cell->parts.size());
    int baseline = y + (height - lines * kLine) / 2 + kText;
    for (const std::string& part : cell->parts) {
      place(x + width / 2, baseline, part, kText, "middle");
      baseline += kLine;
    }
  }

  std::string body_;
  int y_ = kMargin, width_ = 2 * kMargin;
};

}  // namespace

std::string layout_svg(const Layout& layout) {
  Picture picture;
  for (const OperandLayout& operand : layout.operands) {
    picture.write(layout.form, kTitle, true);
    picture.write(heading(operand), kName, true);
    for (const Grid& grid : matrix_grids(operand)) picture.draw(grid);
    Grid inverse = inverse_grid(operand);
    inverse.name = is_in_lanes(operand) ? "the same by lanes" : "the same by addresses";
    picture.draw(inverse);
    picture.skip(kLine);
  }
  for (const std::string& sentence : layout.unknown) picture.write(sentence, kName);
  return picture.finish(layout.form);
}

Result<void> write_layout_svg(const std::filesystem::path& path, const Layout& layout) {
  const std::string text = layout_svg(layout);
  return capture::write_whole_file(path, std::as_bytes(std::span(text)));
}

}  // namespace warpbit
