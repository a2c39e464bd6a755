// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>  // std::accumulate
#include <utility>

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

std::vector<std::string> broken(std::string_view text, std::size_t columns) {
  std::vector<std::string> out;
  while (text.size() > columns) {
    const std::size_t blank = text.substr(0, columns + 1).find_last_of(' ');
    const bool is_cut = blank == text.npos || blank == 0;
    out.emplace_back(text.substr(0, is_cut ? columns : blank));
    text.remove_prefix(is_cut ? columns : blank + 1);
  }
  out.emplace_back(text);
  return out;
}

void print_within(const Table& table, std::size_t columns,
                  const std::function<std::string(std::size_t column, const std::string& text)>& paint) {
  constexpr std::size_t kGap = 2, kLeastHeading = 25, kLeast = 8;
  std::vector<std::size_t> widths(table[0].size());
  for (const auto& row : table)
    for (std::size_t j = 0; j < row.size(); ++j) widths[j] = std::max(widths[j], row[j].size());
  const auto total = [&] { return std::accumulate(widths.begin(), widths.end(), kGap * (widths.size() - 1)); };
  while (total() > columns && widths[0] > kLeastHeading) --widths[0];
  while (total() > columns && *std::ranges::max_element(widths) > kLeast) --*std::ranges::max_element(widths);
  for (const auto& row : table) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 1;
    for (std::size_t j = 0; j < row.size(); ++j)
      height = std::max(height, cells.emplace_back(broken(row[j], widths[j])).size());
    for (std::size_t i = 0; i < height; ++i) {
      std::string line;
      std::size_t blanks = 0;  // before the next cell that has a text
      for (std::size_t j = 0; j < cells.size(); ++j) {
        const std::string text = i < cells[j].size() ? cells[j][i] : "";
        if (!text.empty()) line += std::string(std::exchange(blanks, 0), ' ') + paint(j, text);
        blanks += widths[j] - text.size() + kGap;
      }
      fmt::print("{}\n", line);
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
