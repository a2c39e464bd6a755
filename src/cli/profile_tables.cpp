// SPDX-License-Identifier: Apache-2.0
#include "cli/profile_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "cli/terminal.hpp"
#include "warpbit/profile.hpp"

namespace warpbit::cli {

std::vector<FamilyCounts> by_family(const std::vector<ptx::LineCounts>& lines) {
  std::vector<FamilyCounts> out;
  for (const ptx::LineCounts& line : lines) {
    auto at = std::ranges::find(out, line.family, &FamilyCounts::family);
    if (at == out.end()) at = out.insert(at, {{}, line.family});
    *at += line;
  }
  std::ranges::stable_sort(out, std::greater(), &FamilyCounts::warps);
  return out;
}

namespace {

std::vector<ptx::LineCounts> most_executed_first(std::vector<ptx::LineCounts> lines) {
  std::ranges::stable_sort(lines, std::greater(), &ptx::LineCounts::warps);
  return lines;
}

// Executions, the lanes of each, and all other columns.
Row count_cells(const ptx::Counts& row) {
  Row out;
  for (const ptx::CountColumn& column : ptx::count_columns()) {
    out.push_back(ptx::text(column, row));
    if (column.count == &ptx::Counts::warps) out.push_back(ptx::lanes_text(row));
  }
  return out;
}

Row count_headings() {
  Row out;
  for (const ptx::CountColumn& column : ptx::count_columns()) {
    out.emplace_back(column.heading);
    if (column.count == &ptx::Counts::warps) out.emplace_back("lanes");
  }
  return out;
}

std::string cut_to(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

// Without the columns that say nothing.
Table without_empty(const Table& table) {
  Table out(table.size());
  for (std::size_t j = 0; j < table[0].size(); ++j) {
    const auto says = [&](const Row& row) { return row[j] != "-" && !row[j].empty(); };
    if (!std::ranges::any_of(table.begin() + 1, table.end(), says)) continue;
    for (std::size_t i = 0; i < table.size(); ++i) out[i].push_back(table[i][j]);
  }
  return out;
}

// What fits into the columns that other cells leave.
std::size_t room_beside(const Table& table) {
  std::size_t taken = 0;
  for (std::size_t j = 0; j < table[0].size(); ++j) {
    std::size_t width = 0;
    for (const Row& row : table) width = std::max(width, row[j].size());
    taken += width + 2;
  }
  return terminal().columns - std::min(taken, terminal().columns);
}

// Each in one line, with as much of its statement as there is room for; else the statements stand in a table of their own.
void print_counted_lines(const std::vector<ptx::LineCounts>& all) {
  constexpr std::size_t kMaxLines = 20, kLeastStatement = 24, kMostSource = 24;
  Table counts{joined({"line"}, count_headings())}, sources{{"source"}};
  for (const ptx::LineCounts& line : std::span(all).first(std::min(all.size(), kMaxLines))) {
    counts.push_back(joined({fmt::format("{}", line.line)}, count_cells(line)));
    sources.push_back({cut_to(printable(ptx::source_text(line.chain)), kMostSource)});
  }
  counts = without_empty(counts), sources = without_empty(sources);
  const auto with_statements = [&](Table table) {
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = joined(table[i], sources[i]);
    const std::size_t room = std::max(room_beside(table), kLeastStatement);
    table[0].emplace_back("statement");
    for (std::size_t i = 1; i < table.size(); ++i)
      table[i].push_back(cut_to(printable(all[i - 1].statement), room));
    return table;
  };
  Table beside(counts);
  for (std::size_t i = 0; i < beside.size(); ++i) beside[i] = joined(beside[i], sources[i]);
  if (room_beside(beside) >= kLeastStatement) {
    print_narrow(with_statements(counts));
  } else {
    Table lines;
    for (const Row& row : counts) lines.push_back({row[0]});
    print_narrow(counts);
    fmt::print("\n");
    print_narrow(with_statements(lines));
  }
  if (all.size() > kMaxLines)
    print_fitted(fmt::format("{} of {} lines; --json has all", kMaxLines, all.size()));
}

}  // namespace

void print_profile(const std::vector<ptx::LineCounts>& lines) {
  Table families{joined({"family"}, count_headings())};
  for (const FamilyCounts& row : by_family(lines)) families.push_back(joined({row.family}, count_cells(row)));
  print_narrow(without_empty(families));
  fmt::print("\n");
  print_counted_lines(most_executed_first(lines));
}

std::string profile_title(std::string_view kernel, std::string_view target, const Dim3& grid,
                          const Dim3& block) {
  const auto count = [](const Dim3& d) { return std::uint64_t{d.x} * d.y * d.z; };
  const std::uint64_t blocks = count(grid), threads = count(block);
  return fmt::format("{} on {}: {} block{} of {} thread{}", kernel, target, blocks, blocks == 1 ? "" : "s",
                     threads, threads == 1 ? "" : "s");
}

std::string ended_by(bool is_stopped, const std::optional<std::string>& fault) {
  if (is_stopped) return "Stopped by --break.";
  return fault ? "A fault: " + fault->substr(0, fault->find('\n')) : "";
}

ptx::ProfilePicture printable(ptx::ProfilePicture picture) {
  picture.title = printable(picture.title);
  picture.ended_by = printable(picture.ended_by);
  for (ptx::LineCounts& line : picture.lines) {
    line.statement = printable(line.statement);
    for (SourceLink& link : line.chain) link.file = printable(link.file);
  }
  return picture;
}

}  // namespace warpbit::cli
