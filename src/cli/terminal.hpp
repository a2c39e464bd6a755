// SPDX-License-Identifier: Apache-2.0
// What the standard output is: a terminal of some width, or a file or pipe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warpbit::cli {

struct Terminal {
  bool is_one = false;        ///< false in a pipe or file
  bool has_width = false;     ///< of a terminal, and where COLUMNS says one
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

}  // namespace warpbit::cli
