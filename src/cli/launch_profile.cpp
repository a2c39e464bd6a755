// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/launch_watch.hpp"
#include "cli/profile_tables.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

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

ordered_json lanes_json(std::uint32_t mask) {
  ordered_json out = ordered_json::array();
  for (int lane = 0; lane < 32; ++lane)
    if ((mask >> lane & 1) != 0) out.push_back(lane);
  return out;
}

ordered_json wait_json(const ptx::Wait& wait) {
  ordered_json out{{"what", ptx::name(wait.what)},
                   {"warp", wait.warp},
                   {"lanes", lanes_json(wait.lanes)},
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
  std::vector<std::size_t> numbers(report.profile.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  std::ranges::stable_sort(numbers, std::greater(), [&](std::size_t i) { return report.profile[i].warps; });
  for (const std::size_t number : numbers) {
    const ptx::LineCounts& line = report.profile[number];
    add_counts(lines.emplace_back(ordered_json{{"number", number},
                                               {"line", line.line},
                                               {"file", line.file},
                                               {"source_line", line.source_line},
                                               {"chain", chain_json(line.chain)},
                                               {"family", line.family},
                                               {"statement", line.statement}}),
               line);
  }
  return {{"families", families}, {"lines", lines}, {"timeline", timeline_json(report.timeline)}};
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
  fmt::print("\n");
  print_profile(report.profile);
}

void LaunchProfile::add_to(ordered_json& answer, const ptx::Report& report) const {
  if (is_wanted_) answer["profile"] = profile_json(report);
}

void LaunchProfile::draw(const std::string& title, const ptx::Report& report) const {
  if (svg_.empty()) return;
  const std::optional<std::string> fault = report.fault ? std::optional(report.fault->message()) : std::nullopt;
  required(write_profile_svg(svg_,
                             printable({title, report.profile, report.timeline, ended_by(report.stopped, fault),
                                        report.fault ? report.fault->ptx_line : 0})));
}

}  // namespace warpbit::cli
