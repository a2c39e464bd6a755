// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/arguments.hpp"
#include "cli/launch_watch.hpp"
#include "cli/terminal.hpp"
#include "warpbit/profile.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

/// The sum over a family of opcodes.
struct FamilyCounts : ptx::Counts {
  std::string family;
};

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

// ---- Data

void add_counts(ordered_json& to, const ptx::Counts& row) {
  for (const ptx::CountColumn& column : ptx::count_columns()) {
    to[std::string(column.name)] = row.*column.count;
    if (column.least != nullptr) to["least_" + std::string(column.name)] = row.*column.least;
  }
  to["lanes"] = row.lanes;
}

ordered_json index_json(const device::Index3& block) {
  return {block.x, block.y, block.z};
}

ordered_json wait_json(const ptx::Wait& wait) {
  ordered_json out{{"what", ptx::name(wait.what)},
                   {"warp", wait.warp},
                   {"lanes", wait.lanes},
                   {"line", wait.line},
                   {"waited", wait.waited},
                   {"from", wait.from},
                   {"released", wait.released},
                   {"to", nullptr},
                   {"by", nullptr}};
  if (wait.to) out["to"] = *wait.to;
  if (wait.by)
    out["by"] = {{"what", ptx::name(wait.by->by)},
                 {"block", index_json(wait.by->block)},
                 {"warp", wait.by->warp},
                 {"line", wait.by->line},
                 {"statement", wait.by->statement}};
  return out;
}

ordered_json timeline_json(const ptx::Timeline& timeline) {
  ordered_json runs = ordered_json::array(), waits = ordered_json::array();
  for (const ptx::WarpRun& run : timeline.runs)
    runs.push_back({{"warp", run.warp},
                    {"first", run.first},
                    {"count", run.count},
                    {"first_line", run.first_line},
                    {"last_line", run.last_line}});
  for (const ptx::Wait& wait : timeline.waits) waits.push_back(wait_json(wait));
  return {{"block", index_json(timeline.block)},
          {"warps", timeline.warps},
          {"statements", timeline.statements},
          {"covered", timeline.covered},
          {"runs", runs},
          {"waits", waits}};
}

ordered_json profile_json(const ptx::Report& report) {
  ordered_json families = ordered_json::array(), lines = ordered_json::array();
  for (const FamilyCounts& row : by_family(report.profile))
    add_counts(families.emplace_back(ordered_json{{"family", row.family}}), row);
  for (const ptx::LineCounts& line : most_executed_first(report.profile))
    add_counts(lines.emplace_back(ordered_json{{"line", line.line},
                                               {"file", line.file},
                                               {"source_line", line.source_line},
                                               {"chain", chain_json(line.chain)},
                                               {"family", line.family},
                                               {"statement", line.statement}}),
               line);
  return {{"families", families}, {"lines", lines}, {"timeline", timeline_json(report.timeline)}};
}

std::string ended_by(const ptx::Report& report) {
  if (report.stopped) return "Stopped by --break.";
  if (!report.fault) return "";
  const std::string message = report.fault->message();
  return "A fault: " + printable(message.substr(0, message.find('\n')));
}

}  // namespace

void LaunchProfile::add_to(CLI::App& command) {
  command.add_flag(
      "--profile", is_wanted_,
      "count executions, active lanes, bytes of each memory, sectors of global memory, bank conflicts and "
      "multiply-adds of tensor cores, by family of opcodes and by line");
  command
      .add_option(
          "--svg", svg_,
          "write all of that as a picture to this file, whose name ends in .svg, with what the warps of a "
          "block waited for")
      ->type_name("FILE");
  command.add_option("--svg-block", block_, "which block's warps: X, X,Y or X,Y,Z; the first one unless given")
      ->type_name("X,Y,Z");
}

void LaunchProfile::follow(ptx::Launch& how, bool json) const {
  check_svg(svg_);
  if (!block_.empty() && svg_.empty() && !(json && is_wanted_))
    refuse("--svg-block", "no picture", "it with --svg FILE, or with --profile --json");
  how.profile = is_wanted_ || !svg_.empty();
  how.timeline = !svg_.empty() || (json && is_wanted_);
  if (block_.empty()) return;
  const device::Index3 block =
      block_index("--svg-block", block_, block_, "X, X,Y or X,Y,Z: numbers from 0 on, as in 0,1");
  if (how.observe && block != how.observed_block)
    refuse("--svg-block", fmt::format("'{}', and another block for --trace or --break", block_),
           "the same block");
  how.observed_block = block;
}

void LaunchProfile::print(const ptx::Report& report) const {
  if (!is_wanted_ || report.profile.empty()) return;
  Table families{joined({"family"}, count_headings())};
  for (const FamilyCounts& row : by_family(report.profile))
    families.push_back(joined({row.family}, count_cells(row)));
  fmt::print("\n");
  print_narrow(without_empty(families));
  fmt::print("\n");
  print_counted_lines(most_executed_first(report.profile));
}

void LaunchProfile::add_to(ordered_json& answer, const ptx::Report& report) const {
  if (is_wanted_) answer["profile"] = profile_json(report);
}

void LaunchProfile::draw(const std::string& title, const ptx::Report& report) const {
  if (svg_.empty()) return;
  ptx::ProfilePicture picture{printable(title), report.profile, report.timeline, ended_by(report)};
  for (ptx::LineCounts& line : picture.lines) {
    line.statement = printable(line.statement);
    for (SourceLink& link : line.chain) link.file = printable(link.file);
  }
  required(write_profile_svg(svg_, picture));
}

}  // namespace warpbit::cli
