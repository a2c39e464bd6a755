// SPDX-License-Identifier: Apache-2.0
// What the standard output is, a terminal of some width or a file or pipe, and what is printed in that width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace warpbit::cli {

struct Terminal {
  bool is_one = false;        ///< false in a pipe or file
  bool colours = false;       ///< false in a pipe or file, and where NO_COLOR is set or TERM is "dumb"
  std::size_t columns = 100;  ///< of the terminal, or what COLUMNS says; 100 in a pipe or file
};
/// Of the standard output, as it is when first asked.
const Terminal& terminal();

/// The text with \xNN for each byte of a control character, and for each that is not UTF-8.
std::string printable(std::string_view text);

/// Lines of a text, broken at blanks, or else before a dot; a longer word is cut.
std::vector<std::string> broken(std::string_view text, std::size_t columns = terminal().columns);

/// Prints a line, on a terminal broken at blanks where it is too long.
void print_fitted(std::string_view line);

/// `text` in one of the terminal's 256 colours, 0 to 255, and as it is where there are no colours.
std::string coloured(std::string_view text, int colour);

/// [#########...........] 45/100 on the standard error, if that and the standard output are terminals; it is gone when the
/// object is.
class ProgressBar {
 public:
  explicit ProgressBar(bool is_wanted = true);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void show(std::uint64_t done, std::uint64_t all);

 private:
  bool is_shown_;
  std::string text_;
};

// ---- Tables

using Row = std::vector<std::string>;
using Table = std::vector<Row>;  // the first row and column are headings

/// One row behind the other.
Row joined(Row row, const Row& more);

/// As Markdown, or in the width of the output: as print_narrow, and where the columns do not fit beside each other, some of them
/// below the others, with the first again. If the first column has long words, as forms are, each row is a paragraph, which
/// begins with its first cell in full.
void print(const Table& table, bool markdown);

/// Gives what stands in a column, without the blanks around it, its colours.
using PaintCell = std::function<std::string(std::size_t column, const std::string& text)>;
/// Prints a table that is no wider than the output: the headings' column gives way first, then the widest, and
/// their cells are broken at blanks.
void print_narrow(const Table& table, const PaintCell& paint = {});

/// By commas (RFC 4180).
void print_csv(const Table& table);

}  // namespace warpbit::cli
