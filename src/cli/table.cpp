// SPDX-License-Identifier: Apache-2.0
#include "cli/table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>  // std::accumulate
#include <sstream>
#include <utility>

#include "cli/terminal.hpp"

namespace warpbit::cli {

namespace {

// As much of a column as should not be broken: its longest word, if that is no form.
std::size_t least_width(const Table& table, std::size_t column) {
  constexpr std::size_t kMost = 30;
  std::size_t out = 0;
  for (const auto& row : table) {
    std::istringstream in(row[column]);
    for (std::string word; in >> word;) out = std::max(out, word.size());
  }
  return std::min(out, kMost);
}

// The first column and some more that fit beside it, then it and the next ones.
void print_in_bands(const Table& table, std::size_t columns) {
  constexpr std::size_t kGap = 2;
  for (std::size_t next = 1; next < table[0].size();) {
    Table band;
    for (const auto& row : table) band.push_back({row[0]});
    std::size_t width = least_width(table, 0);
    const std::size_t first = next;
    while (next < table[0].size() && (next == first || width + kGap + least_width(table, next) <= columns)) {
      width += kGap + least_width(table, next);
      for (std::size_t i = 0; i < table.size(); ++i) band[i].push_back(table[i][next]);
      ++next;
    }
    if (first > 1) fmt::print("\n");
    print_within(band, columns, [](std::size_t, const std::string& text) { return text; });
  }
}

}  // namespace

void print(const Table& table, bool markdown) {
  if (terminal().has_width && !markdown)
    return print_in_bands(table, static_cast<std::size_t>(terminal().columns));
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
