// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profile/draw.hpp"
#include "text/svg.hpp"
#include "text/wrapped.hpp"

namespace warpbit::profile {
namespace {

using ptx::CountColumn, ptx::Counts, ptx::LineCounts;

constexpr std::size_t kMostRows = 40, kStatement = 64, kSource = 28;
constexpr int kRow = 16, kGap = 14, kPad = 4;

}  // namespace

int LineTable::TableColumn::width() const {
  std::size_t out = std::max(heading.size(), unit.size());
  for (const Cell& one : cells) out = std::max(out, one.text.size());
  return width_of(out) + 2 * kPad;
}

void LineTable::add_text(std::string heading, std::vector<std::string> cells, std::string sum,
                         bool to_the_left) {
  if (std::ranges::all_of(cells, &std::string::empty)) return;
  TableColumn out{std::move(heading), "", to_the_left};
  for (std::string& one : cells) out.cells.push_back({std::move(one)});
  out.cells.push_back({std::move(sum)});
  columns_.push_back(std::move(out));
}

void LineTable::add_counts(const CountColumn& column, std::span<const LineCounts> shown, const Counts& all) {
  TableColumn out{std::string(column.heading), std::string(column.unit)};
  std::uint64_t greatest = 1;
  for (const LineCounts& one : shown) greatest = std::max(greatest, one.*column.count);
  for (const LineCounts& one : shown) {
    const std::uint64_t count = one.*column.count, loss = column.is_loss ? count
                                                          : column.least != nullptr
                                                              ? count - std::min(one.*column.least, count)
                                                              : 0;
    out.cells.push_back({ptx::text(column, one), static_cast<double>(count) / static_cast<double>(greatest),
                         static_cast<double>(loss) / static_cast<double>(greatest)});
  }
  out.cells.push_back({ptx::text(column, all)});
  columns_.push_back(std::move(out));
}

LineTable::LineTable(std::span<const LineCounts> lines, int framed) : of_(lines.size()) {
  const std::vector<CountColumn> columns = columns_of(lines);
  const std::vector<LineCounts> shown = largest(lines, columns, kMostRows, framed);
  rows_ = shown.size();
  if (rows_ == 0) return;
  for (std::size_t i = 0; i < rows_; ++i)
    if (framed != 0 && shown[i].line == framed) framed_.push_back(i);
  const Counts all = sum_of(lines);
  const auto texts = [&](const auto& text_of) {
    std::vector<std::string> out;
    for (const LineCounts& one : shown) out.push_back(text_of(one));
    return out;
  };
  add_text("line", texts([](const LineCounts& one) { return std::to_string(one.line); }), "", false);
  add_text("source", texts([](const LineCounts& one) { return cut_off(ptx::source_text(one.chain), kSource); }),
           "", true);
  add_text("statement", texts([](const LineCounts& one) { return cut_off(one.statement, kStatement); }),
           rows_ == of_ ? "all lines" : fmt::format("all {} lines", of_), true);
  for (const CountColumn& column : columns) {
    add_counts(column, shown, all);
    if (column.count == &Counts::warps) {
      add_text("lanes", texts([](const LineCounts& one) { return ptx::lanes_text(one); }), ptx::lanes_text(all),
               false);
      columns_.back().unit = "of 32";
    }
  }
}

int LineTable::width() const {
  int out = 2 * kMargin;
  for (const TableColumn& column : columns_) out += column.width() + kGap;
  return out - (columns_.empty() ? 0 : kGap);
}

// Numbers stand on the right, over a bar from the left.
void LineTable::draw_column(Drawing& drawing, const TableColumn& column, int x, int top) const {
  const int width = column.width(), text_x = column.is_text ? x : x + width - kPad;
  const std::string_view anchor = column.is_text ? "" : "text-anchor=\"end\"";
  const std::string faint = fmt::format("class=\"wb-faint\" {}", anchor);
  drawing.text(text_x, top - kRow - 4, column.heading, anchor);
  drawing.text(text_x, top - 6, column.unit, faint);
  for (std::size_t i = 0; i < column.cells.size(); ++i) {
    const Cell& cell = column.cells[i];
    const int y = top + static_cast<int>(i) * kRow + (i == rows_ ? 4 : 0);
    if (cell.share > 0) {
      drawing.box(x, y + 2, std::max(width * cell.share, 1.0), kRow - 4, "class=\"wb-bar\"");
      if (cell.loss > 0)
        drawing.box(x + width * (cell.share - cell.loss), y + 2, std::max(width * cell.loss, 1.0), kRow - 4,
                    "class=\"wb-bad\"");
    }
    if (cell.text != "-") drawing.text(text_x, y + kRow - 4, cell.text, anchor);
  }
}

void LineTable::draw_frame(Drawing& drawing, std::size_t row, int top) const {
  constexpr int kAround = 4;
  drawing.box(kMargin - kAround, top + static_cast<int>(row) * kRow + 1, width() - 2 * kMargin + 2 * kAround,
              kRow - 1, fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"", kPictureColours[6]),
              "the launch faulted here");
}

void LineTable::draw(Drawing& drawing) const {
  drawing.heading("Lines");
  if (rows_ == 0) return drawing.write("No statement was executed.");
  if (rows_ < of_)
    drawing.write(fmt::format("{} of {} lines: those with a hundredth or more of a column, {} at most.", rows_,
                              of_, kMostRows),
                  "class=\"wb-faint\"");
  if (!framed_.empty()) drawing.write("The frame is where the launch faulted.", "class=\"wb-faint\"");
  drawing.skip(2 * kRow + 12);
  const int top = drawing.y(), right = width() - kMargin;
  drawing.line(kMargin, top - 1, right, top - 1, "class=\"wb-grid\"");
  for (std::size_t i = 1; i < rows_; i += 2)
    drawing.box(kMargin, top + static_cast<int>(i) * kRow, right - kMargin, kRow, "class=\"wb-stripe\"");
  const int end = top + static_cast<int>(rows_) * kRow;
  drawing.line(kMargin, end + 1, right, end + 1, "class=\"wb-grid\"");
  int x = kMargin;
  for (const TableColumn& column : columns_) {
    draw_column(drawing, column, x, top);
    x += column.width() + kGap;
  }
  for (const std::size_t row : framed_) draw_frame(drawing, row, top);
  drawing.skip(static_cast<int>(rows_ + 1) * kRow + 4);
}

}  // namespace warpbit::profile
