// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

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

void print_csv(const Table& table) {
  for (std::vector<std::string> row : table) {
    for (std::string& cell : row) {
      if (cell.find_first_of(",\"\r\n") == cell.npos) continue;
      for (std::size_t at = 0; (at = cell.find('"', at)) != cell.npos; at += 2) cell.insert(at, 1, '"');
      cell = '"' + cell + '"';
    }
    fmt::print("{}\n", fmt::join(row, ","));
  }
}

void print_json(const Table& table) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (std::size_t i = 1; i < table.size(); ++i) {
    nlohmann::ordered_json object;
    for (std::size_t j = 0; j < table[0].size(); ++j) object[table[0][j]] = table[i][j];
    out.push_back(object);
  }
  fmt::print("{}\n", out.dump(2));
}

}  // namespace warpbit::cli
