// SPDX-License-Identifier: Apache-2.0
// Where two arrays differ, as a picture: the words, and a cell for each part of the array, redder the more of it is wrong.
//
//     958 of 2048 elements of d differ
//     ...
//        0   8   16  24
//     0  +---------------+
//        |  ##  ##  ##   |
//     16 |  ##  ##  ##   |
#include <fmt/format.h>

#include <algorithm>

#include "capture/whole_file.hpp"
#include "numeric/words.hpp"
#include "text/svg.hpp"
#include "text/wrapped.hpp"
#include "warpbit/bits.hpp"

namespace warpbit {
namespace {

// In pixels. A character is at most 3/5 of its size wide.
constexpr int kEdge = 16, kText = 12, kStep = 18, kMostPixels = 768, kLeastSide = 4, kMostSide = 16,
              kLeastWidth = 648;
constexpr std::size_t kLineCharacters = 84, kMostLabels = 8;
constexpr std::string_view kLight = ".wb-right{fill:#e6ebe8}.wb-wrong{fill:#d64550}",
                           kDark = ".wb-right{fill:#333a36}";

class BitsPicture {
 public:
  explicit BitsPicture(const WrongMap& map)
      : map_(map),
        side_(std::clamp(kMostPixels / static_cast<int>(std::max(map.cells_down(), map.cells_across())),
                         kLeastSide, kMostSide)),
        left_(kEdge + (static_cast<int>(std::to_string(map.rows).size()) + 1) * kText * 3 / 5),
        width_(std::max(kLeastWidth, left_ + at(map.cells_across()) + 2 * kEdge)) {}

  void write(const std::string& text) {
    const std::string lines = wrapped(text, kLineCharacters);
    for (const std::string_view line :
         words_between(std::string_view(lines).substr(0, lines.size() - 1), "\n")) {
      y_ += kStep;
      place(kEdge, y_, line.substr(line.find_first_not_of(' ')), "start");
    }
  }
  void draw() {
    y_ += 2 * kStep;
    label_columns();
    rectangle(left_, y_, map_.cells_across(), map_.cells_down(), "class=\"wb-right\"");
    for (std::size_t row = 0; row < map_.cells_down(); ++row)
      for (std::size_t column = 0; column < map_.cells_across(); ++column) draw_cell(row, column);
    label_rows();
    y_ += at(map_.cells_down());
  }
  std::string finish(std::string_view title) const {
    return svg_document({width_, y_ + kEdge, kMonospacedFont, kText, kLight, kDark, title}, body_);
  }

 private:
  int at(std::size_t cell) const { return static_cast<int>(cell) * side_; }
  void place(int x, int y, std::string_view text, std::string_view anchor) {
    body_ += fmt::format("<text class=\"wb-ink\" x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x, y,
                         anchor, escaped(text));
  }
  void rectangle(int x, int y, std::size_t across, std::size_t down, std::string_view more) {
    body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", x, y, at(across),
                         at(down), more);
  }
  // Even one wrong element is seen.
  void draw_cell(std::size_t row, std::size_t column) {
    const std::size_t wrong = map_.wrong[row * map_.cells_across() + column], all = map_.elements(row, column);
    if (wrong == 0) return;
    rectangle(left_ + at(column), y_ + at(row), 1, 1,
              fmt::format("class=\"wb-wrong\" fill-opacity=\"0.{:02}\"", 30 + 69 * wrong / all));
  }
  void label_columns() {
    const std::size_t step = (map_.cells_across() + kMostLabels - 1) / kMostLabels;
    for (std::size_t i = 0; i < map_.cells_across(); i += step)
      place(left_ + at(i), y_ - kText / 2, std::to_string(i * map_.cell_columns), "start");
  }
  void label_rows() {
    const std::size_t step = std::max<std::size_t>((map_.cells_down() + kMostLabels - 1) / kMostLabels,
                                                   static_cast<std::size_t>((kText + side_ - 1) / side_));
    for (std::size_t i = 0; i < map_.cells_down(); i += step)
      place(left_ - kText / 2, y_ + at(i) + kText, std::to_string(i * map_.cell_rows), "end");
  }

  const WrongMap& map_;
  int side_, left_, width_, y_ = kEdge;
  std::string body_;
};

}  // namespace

std::string bits_svg(const BitsComparison& comparison) {
  const WrongMap one{1, 1, 1, 1, {0}};
  const WrongMap& map = comparison.equal() ? one : comparison.map;
  BitsPicture picture(map);
  const std::vector<std::string> lines =
      comparison.equal()
          ? std::vector{fmt::format("all {} elements of {} are equal", comparison.elements, comparison.name)}
          : comparison.lines();
  for (const std::string& line : lines) picture.write(line);
  if (!comparison.equal()) {
    picture.write(fmt::format("a cell is {} x {} elements (rows x columns), redder the more are wrong",
                              map.cell_rows, map.cell_columns));
    picture.draw();
  }
  return picture.finish(lines[0]);
}

Result<void> write_bits_svg(const std::filesystem::path& path, const BitsComparison& comparison) {
  const std::string text = bits_svg(comparison);
  return capture::write_whole_file(path, std::as_bytes(std::span(text)));
}

}  // namespace warpbit
