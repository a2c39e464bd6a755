// SPDX-License-Identifier: Apache-2.0
#include "cli/launch_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/arguments.hpp"
#include "cli/launch_values.hpp"
#include "cli/terminal.hpp"
#include "warpbit/profile.hpp"

namespace warpbit::cli {

device::Index3 block_index(const std::string& where, const std::string& whole, std::string_view block,
                           std::string_view accepted) {
  device::Index3 out;
  unsigned* const all[] = {&out.x, &out.y, &out.z};
  std::size_t count = 0;
  for (std::size_t at = 0; at <= block.size(); ++count) {
    const std::size_t end = std::min(block.find(',', at), block.size());
    const auto one = number<unsigned>(block.substr(at, end - at));
    if (!one || count == std::size(all)) refuse(where, fmt::format("'{}'", whole), std::string(accepted));
    *all[count] = *one;
    at = end + 1;
  }
  return out;
}

namespace {

using nlohmann::ordered_json;

constexpr std::uint32_t kAll = 0xFFFF'FFFF;

// ---- What people type

// "3", "0,1:3" or "0,1,2:3": a warp, and before it a block.
void parse_warp(const std::string& text, device::Index3& block, int& warp) {
  constexpr std::string_view kAccepted = "WARP or X,Y,Z:WARP, as in 3 or 0,1,0:3";
  const std::size_t colon = text.find(':');
  const auto last = number<int>(text.substr(colon == text.npos ? 0 : colon + 1));
  if (!last || *last < 0) refuse("--trace", fmt::format("'{}'", text), std::string(kAccepted));
  warp = *last;
  if (colon != text.npos) block = block_index("--trace", text, text.substr(0, colon), kAccepted);
}

// A file as its whole path, or the end of it from a slash on.
bool is_named(const std::string& file, const std::string& name) {
  return file == name || file.ends_with("/" + name);
}

// "21, 22 and 24": the nearest on both sides.
std::string near(const std::set<int>& lines, int line) {
  constexpr int kEach = 3;
  std::vector<int> out;
  const auto at = lines.lower_bound(line);
  auto first = at, last = at;
  for (int i = 0; i < kEach && first != lines.begin(); ++i) --first;
  for (int i = 0; i < kEach && last != lines.end(); ++i) ++last;
  out.assign(first, last);
  if (out.empty()) return "none";
  const int end = out.back();
  out.pop_back();
  return out.empty() ? fmt::format("{}", end) : fmt::format("{} and {}", fmt::join(out, ", "), end);
}

std::vector<ptx::CodeLine> find_source(const std::string& text, std::size_t colon,
                                       const std::vector<ptx::CodeLine>& all) {
  const std::string file = text.substr(0, colon);
  const auto line = number<int>(text.substr(colon + 1));
  if (!line) refuse("--break", fmt::format("'{}'", text), "LINE of the PTX, or FILE:LINE of the source");
  std::set<std::string> files;
  std::set<int> lines;
  std::vector<ptx::CodeLine> out;
  for (const ptx::CodeLine& one : all) {
    for (const SourceLink& link : one.chain) {
      files.insert(link.file);
      if (is_named(link.file, file)) lines.insert(link.line);
    }
    const auto is_wanted = [&](const SourceLink& link) {
      return link.line == *line && is_named(link.file, file);
    };
    if (std::ranges::any_of(one.chain, is_wanted)) out.push_back(one);
  }
  if (files.empty())
    refuse("--break", fmt::format("'{}' for a kernel without lines of a source", text),
           "a line of the PTX, or a module of nvcc -lineinfo");
  if (lines.empty())
    refuse("--break", fmt::format("'{}', a file that the kernel is not from", file),
           fmt::format("{}", fmt::join(files, ", ")));
  if (out.empty())
    refuse("--break", fmt::format("line {} of {}, from which no statement comes", *line, file),
           fmt::format("a line near it that has one: {}", near(lines, *line)));
  return out;
}

}  // namespace

std::vector<ptx::CodeLine> find_lines(const std::string& text, const ptx::Function& kernel,
                                      const ptx::Launch& how) {
  const std::vector<ptx::CodeLine> all = kernel.lines(how);
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos) return find_source(text, colon, all);
  const auto line = number<int>(text);
  if (!line) refuse("--break", fmt::format("'{}'", text), "LINE of the PTX, or FILE:LINE of the source");
  std::set<int> lines;
  std::vector<ptx::CodeLine> out;
  for (const ptx::CodeLine& one : all) {
    lines.insert(one.line);
    if (one.line == *line) out.push_back(one);
  }
  if (!out.empty()) return out;
  const std::vector<ptx::CodeLine> separate = kernel.lines({.as_written = true});
  if (std::ranges::find(separate, *line, &ptx::CodeLine::line) != separate.end())
    refuse("--break", fmt::format("line {}, which the assembler makes part of another one", *line),
           fmt::format("--as-written, or a line near it: {}", near(lines, *line)));
  refuse("--break", fmt::format("line {}, which has no statement that {} may execute", *line, kernel.name()),
         fmt::format("a line near it that has one: {}", near(lines, *line)));
}

namespace {

// ---- Steps of a warp

std::string block_text(const device::Index3& block) {
  return fmt::format("({}, {}, {})", block.x, block.y, block.z);
}

// "%r5 = 0 to 31; %p1 = 0"
std::string results_text(const ptx::Observation& seen) {
  std::string out;
  for (const ptx::RegisterValues& one : seen.registers) {
    if (seen.lanes == 0) break;
    out += fmt::format("{}{} = {}{}", out.empty() ? "" : "; ", one.name, values_text(one, seen.lanes),
                       (one.changed & seen.lanes) == 0 ? " (unchanged)" : "");
  }
  return out;
}

// Line, lanes, statement and results: on a terminal that is too narrow for them these stand below.
void print_step(const ptx::Observation& seen) {
  constexpr std::size_t kStatement = 44, kIndent = 8;
  const std::string lanes = seen.lanes == 0 ? "none" : lanes_text(seen.lanes),
                    results = printable(results_text(seen));
  const std::string begin = fmt::format("{:>5}  {:<5}  {}", seen.line, lanes, printable(seen.statement));
  const std::string line = results.empty() ? begin : fmt::format("{:<{}}  {}", begin, 14 + kStatement, results);
  const std::size_t columns = terminal().is_one ? terminal().columns : line.npos;
  if (line.size() <= columns) {
    fmt::print("{}\n", line);
    return;
  }
  for (const std::string& part : broken(begin, columns)) fmt::print("{}\n", part);
  if (results.empty()) return;
  for (const std::string& part : broken(results, columns - kIndent))
    fmt::print("{}{}\n", std::string(kIndent, ' '), part);
}

}  // namespace

Table lanes_table(const ptx::Observation& seen) {
  Table out{{"lane"}};
  for (int lane = 0; lane < 32; ++lane) out.push_back({fmt::format("{}", lane)});
  const auto add = [&](const std::string& heading, const auto& text_of) {
    out[0].push_back(heading);
    for (std::size_t lane = 0; lane < 32; ++lane) out[lane + 1].push_back(text_of(lane));
  };
  if (seen.lanes != kAll)
    add("executes", [&](std::size_t lane) { return (seen.lanes >> lane & 1) != 0 ? "yes" : "no"; });
  for (const auto* all : {&seen.sources, &seen.registers})
    for (const ptx::RegisterValues& one : *all)
      add(one.name + (all == &seen.sources ? " read" : " written"),
          [&](std::size_t lane) { return value_in_a_word(one.type, one.values[lane]); });
  return out;
}

namespace {

std::vector<int> lanes_of(std::uint32_t lanes) {
  std::vector<int> out;
  for (int lane = 0; lane < 32; ++lane)
    if ((lanes >> lane & 1) != 0) out.push_back(lane);
  return out;
}

ordered_json registers_json(const std::vector<ptx::RegisterValues>& all, bool with_changed) {
  ordered_json out = ordered_json::array();
  for (const ptx::RegisterValues& one : all) {
    out.push_back({{"name", one.name}, {"type", one.type}, {"values", one.values}});
    if (with_changed) out.back()["changed"] = lanes_of(one.changed);
  }
  return out;
}

ordered_json step_json(const ptx::Observation& seen, const std::vector<SourceLink>& chain) {
  return {{"block", {seen.block.x, seen.block.y, seen.block.z}},
          {"warp", seen.warp},
          {"line", seen.line},
          {"statement", seen.statement},
          {"chain", chain_json(chain)},
          {"lanes", lanes_of(seen.lanes)},
          {"read", registers_json(seen.sources, false)},
          {"written", registers_json(seen.registers, true)}};
}

}  // namespace

ordered_json chain_json(const std::vector<SourceLink>& chain) {
  ordered_json out = ordered_json::array();
  for (const SourceLink& one : chain) {
    out.push_back({{"function", one.function}, {"file", one.file}, {"line", one.line}});
    if (!one.or_lines.empty()) out.back()["or_lines"] = one.or_lines;
  }
  return out;
}

// ---- The watch

LaunchWatch::LaunchWatch(const WatchArguments& arguments, const ptx::Function& kernel, const ptx::Launch& how,
                         bool json)
    : arguments_(arguments), json_(json) {
  if (!arguments.trace.empty()) parse_warp(arguments.trace, block_, warp_);
  if (!arguments.trace.empty() || !arguments.break_at.empty()) lines_ = kernel.lines(how);
  if (!arguments.break_at.empty()) stops_ = find_lines(arguments.break_at, kernel, how);
}

void LaunchWatch::follow(ptx::Launch& how) {
  if (arguments_.trace.empty() && stops_.empty()) return;
  how.observed_block = block_;
  how.observed_warp = warp_;
  how.observe = [this](const ptx::Observation& seen) { return take(seen); };
}

bool LaunchWatch::take(const ptx::Observation& seen) {
  if (prints_steps()) print_source(seen.line), print_step(seen);
  if (json_ && !arguments_.trace.empty()) trace_.push_back(seen);
  const bool stops =
      seen.lanes != 0 && std::ranges::find(stops_, seen.line, &ptx::CodeLine::line) != stops_.end();
  if (stops) reached_ = seen;
  return !stops;
}

const std::vector<SourceLink>& LaunchWatch::chain_of(int line) const {
  static const std::vector<SourceLink> none;
  const auto found = std::ranges::find(lines_, line, &ptx::CodeLine::line);
  return found == lines_.end() ? none : found->chain;
}

// Where the source of the steps changes.
void LaunchWatch::print_source(int line) {
  const std::string source = ptx::source_text(chain_of(line));
  if (source != source_ && !source.empty()) print_fitted(printable(source) + ":");
  source_ = source;
}

std::string LaunchWatch::where() const {
  return fmt::format("warp {} of block {}", warp_, block_text(block_));
}

void LaunchWatch::print_break() const {
  if (missed()) print_fitted(fmt::format("--break {}: {} has not executed it", arguments_.break_at, where()));
  if (!reached_) return;
  const std::vector<SourceLink>& chain = chain_of(reached_->line);
  const std::string source = chain.empty() ? "" : own_lines(chain) + ": PTX ";
  print_fitted(fmt::format("{}line {}: {}", source, reached_->line, reached_->statement));
  if (const std::string helpers = others_lines(chain); !helpers.empty()) print_fitted("  " + helpers);
  print_fitted(fmt::format(
      "{} of {}", reached_->lanes == kAll ? "all lanes" : "lanes " + lanes_text(reached_->lanes), where()));
  if (!reached_->sources.empty() || !reached_->registers.empty()) print(lanes_table(*reached_), false);
}

void LaunchWatch::add_to(ordered_json& answer) const {
  if (!arguments_.trace.empty()) {
    answer["trace"] = ordered_json::array();
    for (const ptx::Observation& seen : trace_) answer["trace"].push_back(step_json(seen, chain_of(seen.line)));
  }
  if (!arguments_.break_at.empty())
    answer["break"] = reached_ ? step_json(*reached_, chain_of(reached_->line)) : ordered_json(nullptr);
}

}  // namespace warpbit::cli
