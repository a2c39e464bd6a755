// SPDX-License-Identifier: Apache-2.0
// Layouts as pictures, like the figures of the manual: a box for each cell with the lane above the register.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "capture/whole_file.hpp"
#include "layout/grid.hpp"
#include "numeric/words.hpp"
#include "text/wrapped.hpp"
#include "warpbit/layout.hpp"

namespace warpbit {
namespace {

// In pixels. A character of a monospaced font is 3/5 of its size wide.
constexpr int kMargin = 16, kTitle = 16, kName = 13, kText = 11, kLine = 14, kPadding = 5, kLeastCell = 34,
              kBetween = 8, kShades = 4;
constexpr std::size_t kTextColumns = 100, kMostColumns = 32, kMostColumnsOfTile = 8,
                      kMostRowsOfTile = 64;  // of a picture; exceeded only if nothing repeats

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

// What a grid needs, in pixels.
struct Extent {
  int heading = 0;           // width of the rows' names
  int cell = 0, height = 0;  // of one cell

  explicit Extent(const Grid& grid) {
    std::size_t name = grid.corner.size(), characters = 1, lines = 1;
    for (const std::string& row : grid.rows) name = std::max(name, row.size());
    for (const std::string& column : grid.columns) characters = std::max(characters, column.size());
    for (const auto& row : grid.cells)
      for (const auto& box : row)
        if (box) {
          lines = std::max(lines, box->parts.size());
          for (const std::string& part : box->parts) characters = std::max(characters, part.size());
        }
    heading = text_width(name, kText) + kPadding;
    cell = std::max(kLeastCell, text_width(characters, kText) + 2 * kPadding);
    height = static_cast<int>(lines) * kLine + kPadding;
  }
};

int cells_width(const Grid& grid, const Extent& extent) {
  return static_cast<int>(grid.columns.size()) * extent.cell;
}
int cells_height(const Grid& grid, const Extent& extent) {
  return static_cast<int>(grid.rows.size()) * extent.height;
}

// The elements drawn so far, top to bottom.
class Picture {
 public:
  void write(std::string_view text, int size, bool bold = false) {
    y_ += size + kLine / 2;
    place(kMargin, y_, text, size, "start", bold);
    width_ = std::max(width_, 2 * kMargin + text_width(text.size(), size));
  }
  void write_wrapped(const std::string& text, int size, bool bold = false) {
    const std::string lines = wrapped(text, kTextColumns);
    for (const std::string_view line : words_between(std::string_view(lines).substr(0, lines.size() - 1), "\n"))
      write(line, size, bold);
  }
  void skip(int pixels) { y_ += pixels; }
  // As far as it does not repeat.
  void draw(Grid grid) {
    abbreviate(grid, kMostColumns);
    if (!grid.name.empty()) write(grid.name, kName);
    for (const std::string& sentence : grid.legend) write_wrapped(sentence, kText);
    const Extent extent(grid);
    y_ += kLine + 2 * kPadding;
    draw_at(grid, extent, kMargin + extent.heading, y_);
    y_ += cells_height(grid, extent) + kLine;
  }
  // Cells with their upper left corner here, and the names of rows and columns left of it and above.
  void draw_at(const Grid& grid, const Extent& extent, int left, int top) {
    place(left - kPadding, top - kPadding, grid.corner, kText, "end");
    for (std::size_t j = 0; j < grid.columns.size(); ++j)
      place(left + static_cast<int>(j) * extent.cell + extent.cell / 2, top - kPadding, grid.columns[j], kText,
            "middle");
    for (std::size_t i = 0; i < grid.rows.size(); ++i) {
      const int y = top + static_cast<int>(i) * extent.height;
      place(left - kPadding, y + extent.height / 2 + kText / 3, grid.rows[i], kText, "end");
      for (std::size_t j = 0; j < grid.columns.size(); ++j)
        draw_cell(left + static_cast<int>(j) * extent.cell, y, extent.cell, extent.height, grid.cells[i][j]);
    }
    width_ = std::max(width_, left + cells_width(grid, extent) + kMargin);
  }
  // Boxes of some colours with a name for each `per` of them.
  void legend(std::string_view what, const std::vector<std::string>& names, int per) {
    constexpr int kBox = 13;
    write(what, kText);
    y_ += kPadding;
    std::size_t longest = 0;
    for (const std::string& name : names) longest = std::max(longest, name.size());
    const int each = std::max(per * kBox, text_width(longest, kText)) + 2 * kPadding;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const int x = kMargin + static_cast<int>(i) * each;
      for (int shade = 0; shade < per; ++shade)
        box(x + shade * kBox, y_, kBox, kBox, fill(static_cast<int>(i) * kShades + shade));
      place(x, y_ + kBox + kLine, names[i], kText, "start");
    }
    width_ = std::max(width_, kMargin + static_cast<int>(names.size()) * each + kMargin);
    y_ += kBox + kLine + kPadding;
  }
  void triple(Grid a, Grid b, Grid d, const std::string& names);

  std::string finish(std::string_view title) const {
    const int height = y_ + kMargin;
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" "
        "font-size=\"{4}\" text-anchor=\"middle\">\n"
        "<title>{2}</title>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n{5}{3}</svg>\n",
        width_, height, escaped(title), texts_, kText, boxes());
  }

 private:
  void place(int x, int y, std::string_view text, int size, std::string_view anchor, bool bold = false) {
    texts_ += fmt::format("<text x=\"{}\" y=\"{}\"", x, y);
    if (size != kText) texts_ += fmt::format(" font-size=\"{}\"", size);
    if (anchor != "middle") texts_ += fmt::format(" text-anchor=\"{}\"", anchor);
    texts_ += fmt::format("{}>{}</text>\n", bold ? " font-weight=\"bold\"" : "", escaped(text));
  }
  void box(int x, int y, int width, int height, const std::string& colour) {
    boxes_[colour] += fmt::format("M{} {}h{}v{}h-{}z", x, y, width, height, width);
  }
  // One path for each colour: a picture has thousands of boxes.
  std::string boxes() const {
    std::string out;
    for (const auto& [colour, path] : boxes_)
      out += fmt::format("<path fill=\"{}\" stroke=\"#555555\" d=\"{}\"/>\n", colour, path);
    return out;
  }
  void draw_cell(int x, int y, int width, int height, const std::optional<GridCell>& cell) {
    box(x, y, width, height, cell ? fill(cell->colour) : "#f4f4f4");
    if (!cell) return;
    const int lines = static_cast<int>(cell->parts.size());
    int baseline = y + (height - lines * kLine) / 2 + kText;
    for (const std::string& part : cell->parts) {
      place(x + width / 2, baseline, part, kText, "middle");
      baseline += kLine;
    }
  }

  std::map<std::string, std::string> boxes_;  // by colour
  std::string texts_;                         // above them
  int y_ = kMargin, width_ = 2 * kMargin;
};

// Cells of one width for each element, and of two grids beside or above each other.
void align(int& one, int& other, int units, int other_units) {
  const int each = std::max((one + units - 1) / units, (other + other_units - 1) / other_units);
  one = each * units;
  other = each * other_units;
}

// Abbreviates both to the same columns, or neither.
void abbreviate_both(Grid& one, Grid& other) {
  Grid x = one, y = other;
  abbreviate(x, kMostColumns / static_cast<std::size_t>(x.units));
  abbreviate(y, kMostColumns / static_cast<std::size_t>(y.units));
  if (x.columns.size() * static_cast<std::size_t>(x.units) !=
      y.columns.size() * static_cast<std::size_t>(y.units))
    return;
  one = std::move(x);
  other = std::move(y);
}

//            |  B
//     -------+------
//        A   |  D
void Picture::triple(Grid a, Grid b, Grid d, const std::string& names) {
  abbreviate_both(b, d);
  abbreviate(a, kMostColumns);
  for (Grid* grid : {&a, &b, &d})
    for (const std::string& sentence : grid->legend)
      write_wrapped(fmt::format("{}: {}",
                                names[static_cast<std::size_t>(grid == &a   ? 0
                                                               : grid == &b ? 1
                                                                            : 2)],
                                sentence),
                    kText);
  Extent of_a(a), of_b(b), of_d(d);
  align(of_b.cell, of_d.cell, b.units, d.units);
  align(of_a.height, of_d.height, a.row_units, d.row_units);
  const int left = kMargin + of_a.heading,
            middle = left + cells_width(a, of_a) + std::max(of_b.heading, of_d.heading) + kBetween,
            top = y_ + kLine + 2 * kPadding, centre = top + cells_height(b, of_b) + kLine + kBetween;
  a.corner = "A", b.corner = "B", d.corner = "D";
  draw_at(b, of_b, middle, top);
  draw_at(a, of_a, left, centre);
  draw_at(d, of_d, middle, centre);
  y_ = centre + std::max(cells_height(a, of_a), cells_height(d, of_d)) + kLine;
}

const OperandLayout* operand_called(const Layout& layout, std::string_view name) {
  const auto at =
      std::ranges::find_if(layout.operands, [&](const auto& op) { return is_called(op.role, name); });
  return at == layout.operands.end() ? nullptr : &*at;
}

// Whether C needs no picture of its own.
bool same_places(const OperandLayout& c, const OperandLayout& d) {
  return c.medium == d.medium && c.cells == d.cells;
}

void explain_colours(const Layout& layout, Picture& picture) {
  const auto any = [&](auto predicate) { return std::ranges::any_of(layout.operands, predicate); };
  const bool tensor = any([](const auto& op) { return op.medium == Medium::tensor_memory; });
  if (any([](const auto& op) { return is_in_lanes(op) && op.lanes > 1; })) {
    std::vector<std::string> names;
    for (int lane = 0; lane < 32; lane += kShades)
      names.push_back(fmt::format("{}{}-{}", tensor ? 'L' : 'T', lane, lane + kShades - 1));
    const bool warps = any([](const auto& op) { return op.lanes > 32; });
    picture.legend(
        fmt::format("{}; colours: the lane{}",
                    tensor ? "L lane and c column of tensor memory, B block of a pair" : "T lane, r register",
                    !warps   ? ""
                    : tensor ? ", in each 32 lanes the same"
                             : ", in each warp the same"),
        names, kShades);
  }
  if (any([](const auto& op) { return !is_in_lanes(op) && op.step == 0; })) {
    std::vector<std::string> names;
    for (int bank = 0; bank < 32; bank += 4) names.push_back(fmt::format("{}-{}", bank, bank + 3));
    picture.legend("colours in memory: the banks of shared memory in which 16 bytes lie, of 4 bytes each",
                   names, 1);
  }
  for (const OperandLayout& op : layout.operands)
    if (op.step > 0) {
      const int steps = (op.step_is_rows ? op.rows : op.columns) / op.step;
      std::vector<std::string> names;
      for (int i = 0; i < std::min(steps, 8); ++i) names.push_back(fmt::format("s{}", i));
      picture.legend(fmt::format("colours: the step along K{}", steps > 8 ? ", modulo 8" : ""), names, 1);
    }
}

void draw_heading(const OperandLayout& operand, Picture& picture) {
  picture.write_wrapped(heading(operand), kName, true);
  if (!operand.cute.empty()) picture.write_wrapped(cute_heading(operand), kText);
}

void draw_inverse(const OperandLayout& operand, bool named, Picture& picture) {
  Grid inverse = inverse_grid(operand);
  inverse.name = fmt::format("{}{}", named ? operand.role : "the same",
                             is_in_lanes(operand) ? " by lanes" : " by addresses");
  if (operand.step > 0) {
    abbreviate_rows(inverse, kMostRowsOfTile);
    for (auto& row : inverse.cells)
      for (auto& cell : row)
        if (cell) cell->parts.erase(cell->parts.begin());  // the step, which the colour says
  }
  picture.draw(inverse);
}

// A, B and D as one picture; the others are left.
void draw_triple(const Layout& layout, std::vector<const OperandLayout*>& left, Picture& picture) {
  const OperandLayout *a = operand_called(layout, "a"), *b = operand_called(layout, "b"),
                      *c = operand_called(layout, "c"), *d = operand_called(layout, "d");
  if (a == nullptr || b == nullptr || d == nullptr || a == b) return;
  const bool c_as_d = c != nullptr && same_places(*c, *d);
  for (const OperandLayout* op : {d, a, b}) draw_heading(*op, picture);
  if (c_as_d) picture.write(fmt::format("c: {}, as d", c->format), kName, true);
  std::erase_if(left, [&](const auto* op) { return op == a || op == b || op == d || (c_as_d && op == c); });
  const std::vector<Grid> of_a = matrix_grids(*a), of_b = matrix_grids(*b), of_d = matrix_grids(*d);
  for (std::size_t product = 0; product < of_d.size(); ++product) {
    if (!of_d[product].name.empty()) picture.write(of_d[product].name, kName);
    picture.triple(of_a[product], of_b[product], of_d[product], "abd");
  }
}

}  // namespace

std::string layout_svg(const Layout& layout, const LayoutPicture& how) {
  Picture picture;
  picture.write(layout.form, kTitle, true);
  explain_colours(layout, picture);
  picture.skip(kLine);
  std::vector<const OperandLayout*> left;
  for (const OperandLayout& operand : layout.operands) left.push_back(&operand);
  draw_triple(layout, left, picture);
  for (const OperandLayout* operand : left) {
    draw_heading(*operand, picture);
    for (Grid& grid : matrix_grids(*operand)) {
      if (operand->step > 0) abbreviate(grid, kMostColumnsOfTile);
      picture.draw(std::move(grid));
    }
    if (operand->step > 0 && !how.by_lanes) draw_inverse(*operand, false, picture);
  }
  if (how.by_lanes)
    for (const OperandLayout& operand : layout.operands) draw_inverse(operand, true, picture);
  for (const std::string& sentence : layout.unknown) picture.write(sentence, kName);
  return picture.finish(layout.form);
}

Result<void> write_layout_svg(const std::filesystem::path& path, const Layout& layout,
                              const LayoutPicture& how) {
  const std::string text = layout_svg(layout, how);
  return capture::write_whole_file(path, std::as_bytes(std::span(text)));
}

}  // namespace warpbit
