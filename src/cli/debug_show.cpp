// SPDX-License-Identifier: Apache-2.0
// What warpbit debug shows of a place.
#include <fmt/format.h>

#include <algorithm>

#include "cli/arguments.hpp"
#include "cli/debug_bytes.hpp"
#include "cli/debug_fragments.hpp"
#include "cli/debug_session.hpp"
#include "cli/launch_values.hpp"
#include "cli/launch_watch.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

constexpr std::size_t kLanes = 32;

[[noreturn]] void no_place(std::string_view command) {
  refuse(std::string(command), "a place before the first statement of this warp, or the end",
         "step, continue or goto before it");
}

std::uint64_t number_of(const std::string& command, const Words& words, std::size_t n,
                        std::uint64_t otherwise) {
  if (n >= words.size()) return otherwise;
  const bool is_hex = words[n].starts_with("0x");
  const auto out = is_hex ? std::optional(parse_hex(command, words[n])) : number<std::uint64_t>(words[n]);
  if (!out) refuse(command, fmt::format("'{}'", words[n]), "a number");
  return *out;
}

std::size_t item_bytes(const LaunchArray& of) {
  return of.array.header.item_bytes;
}

std::string item_text(const LaunchArray& of, std::size_t i) {
  return value_and_bits(type_of(of), of.array.at(i));
}

}  // namespace

// The array of the parameter that the first word names, or numbers from 0 on.
LaunchArray& DebugSession::array_of(const std::string& command, const Words& words) const {
  return parse_array(command, words.empty() ? std::string() : words[0], loaded_);
}

const DebugWarp& DebugSession::warp() const {
  const auto found = at_.warps.find(warp_);
  if (found == at_.warps.end()) no_place("warp");
  return found->second;
}

void DebugSession::warps(const Words&) {
  Table table{{"warp", "step", "PTX line", "source", "statement that it executed last"}};
  for (const auto& [number, one] : at_.warps)
    table.push_back({fmt::format("{}{}", number, number == warp_ ? " *" : ""), fmt::format("{}", one.step),
                     fmt::format("{}", one.line), printable(source_of(one.line)), printable(one.statement)});
  if (table.size() == 1) return print_fitted("no warp has begun");
  print_narrow(table);
}

void DebugSession::select_warp(const Words& words) {
  const auto which = words.empty() ? std::nullopt : number<int>(words[0]);
  const std::uint64_t count =
      (std::uint64_t{loaded_.how.block.x} * loaded_.how.block.y * loaded_.how.block.z + kLanes - 1) / kLanes;
  if (!which || *which < 0 || static_cast<std::uint64_t>(*which) >= count)
    refuse("warp", words.empty() ? "nothing" : fmt::format("'{}'", words[0]),
           fmt::format("0 to {}", count - 1));
  warp_ = *which;
  const auto found = at_.warps.find(warp_);
  print_fitted(printable(found == at_.warps.end()
                             ? fmt::format("warp {} has not begun", warp_)
                             : fmt::format("warp {}, which executed PTX line {} last: {}", warp_,
                                           found->second.line, found->second.statement)));
}

void DebugSession::print_value(const Words& words) {
  if (words.empty()) {
    if (!at_.seen || at_.seen->warp != warp_) no_place("print");
    return print(lanes_table(*at_.seen), false);
  }
  Table table{{"lane"}};
  for (std::size_t lane = 0; lane < kLanes; ++lane) table.push_back({fmt::format("{}", lane)});
  for (const std::string& word : words) {
    const auto found = warp().registers.find(word);
    if (found == warp().registers.end())
      refuse("print", fmt::format("'{}'", word),
             "a register that a statement of this warp has named: registers lists them");
    table[0].push_back(word);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      table[lane + 1].push_back(value_and_bits(found->second.type, found->second.values[lane]));
  }
  print(table, false);
}

void DebugSession::registers(const Words&) {
  Table table{{"register", "type", "values"}};
  for (const auto& [name, one] : warp().registers)
    table.push_back({name, std::string(one.type), values_text(one, 0xffff'ffff)});
  print_narrow(table);
}

void DebugSession::matrix(const Words& words) {
  if (warp().statement.empty()) no_place("matrix");
  bool is_any = false;
  for (const DebugFragment& one : fragments_of(at_, warp_, loaded_.module.target())) {
    if (!words.empty() && words[0] != one.role) continue;
    print_fitted(fmt::format("{} of .{}, {} x {}:", one.role, one.format, one.rows, one.columns));
    Table table(1, Row(one.columns + 1));
    for (std::size_t j = 0; j < one.columns; ++j) table[0][j + 1] = fmt::format("{}", j);
    for (std::size_t i = 0; i < one.numbers.size(); ++i) {
      if (i % one.columns == 0) table.push_back({fmt::format("{}", i / one.columns)});
      table.back().push_back(fmt::format("{:.6g}", one.numbers[i]));
    }
    print(table, false);
    is_any = true;
  }
  if (!is_any)
    refuse(
        "matrix", words.empty() ? warp().statement : fmt::format("'{}'", words[0]),
        "an operand (a, b, c, d) that a tensor instruction has in registers; print shows other statements by lane");
}

void DebugSession::array(const Words& words) {
  const LaunchArray& of = array_of("array", words);
  const std::uint64_t all = of.array.data.size() / item_bytes(of), first = number_of("array", words, 1, 0);
  const std::uint64_t count = std::min(number_of("array", words, 2, 8), all - std::min(first, all));
  for (std::uint64_t i = first; i < first + count; ++i) fmt::print("[{}]  {}\n", i, item_text(of, i));
}

void DebugSession::stored(const Words& words) {
  const LaunchArray& of = array_of("stored", words);
  const std::uint64_t element = number_of("stored", words, 1, 0);
  const std::size_t bytes = item_bytes(of);
  if (element >= of.array.data.size() / bytes)
    refuse("stored", fmt::format("element {}", element),
           fmt::format("one of the {}", of.array.data.size() / bytes));
  debugger_.restore();
  const auto found = required(ptx::find_store(loaded_.kernel, loaded_.how, loaded_.arguments,
                                              std::span(of.array.data).subspan(element * bytes, bytes)));
  if (!found) return print_fitted("no statement of a thread stores it");
  const std::string source = own_lines(found->chain);
  print_fitted(printable(fmt::format("{}: block ({}, {}, {}), warp {}, lane {}: {}PTX line {}",
                                     found->error.where, found->block.x, found->block.y, found->block.z,
                                     found->warp, found->lanes.empty() ? 0 : found->lanes.front(),
                                     source.empty() ? "" : source + ": ", found->ptx_line)));
  at_ = debugger_.state(at_.step);
}

void DebugSession::list(const Words&) {
  constexpr std::ptrdiff_t kAround = 5;
  const auto found = at_.warps.find(warp_);
  const int line = found == at_.warps.end() ? (lines_.empty() ? 0 : lines_.front().line) : found->second.line;
  const auto at = std::ranges::find(lines_, line, &ptx::CodeLine::line) - lines_.begin();
  std::string before;
  for (std::ptrdiff_t i = std::max<std::ptrdiff_t>(0, at - kAround);
       i < std::min(std::ssize(lines_), at + kAround + 1); ++i) {
    const ptx::CodeLine& one = lines_[static_cast<std::size_t>(i)];
    const std::string source = source_of(one.line);
    if (source != before && !source.empty()) print_fitted(printable(source + ":"));
    before = source;
    print_fitted(printable(fmt::format("{} {:>5}  {}", i == at ? '>' : ' ', one.line, one.statement)));
  }
}

}  // namespace warpbit::cli
