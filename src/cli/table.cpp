// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit::cli {

void print(const Table& table, bool markdown) {
  std::vector<std::size_t> widths(table[0].size());
  for (const auto& row : table)
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    std::string line;
    for (std::size_t j = 0; j < widths.size(); ++j)
      line += fmt::format("{}{:<{}}", markdown ? (j ? " | " : "| ") : (j ? "  " : ""), table[i][j], widths[j]);
    fmt::print("{}\n", markdown ? line + " |" : line.substr(0, line.find_last_not_of(' ') + 1));
    if (markdown && i == 0) {
      for (const std::size_t width : widths) fmt::print("|{}", std::string(width + 2, '-'));
      fmt::print("|\n");
    }
  }
}

}  // namespace warpbit::cli
