// SPDX-License-Identifier: Apache-2.0
// Where a debug adapter stops: lines, instructions, bytes that are written, findings.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/debug_adapter.hpp"
#include "cli/debug_bytes.hpp"
#include "cli/debug_fragments.hpp"

namespace warpbit::cli {
namespace {

using Json = DebugAdapter::Json;

constexpr std::size_t kLanesSeen = 32;
// Where no file is: the breakpoints of a kind.
constexpr const char *kFunctions = "", *kData = "<bytes>", *kFindings = "<findings>";

// A file as one of both has it: the other one may know its folders.
bool is_same_file(const std::string& x, const std::string& y) {
  return x == y || x.ends_with("/" + y) || y.ends_with("/" + x);
}

/// "%r1 < 5", of any lane that executes the statement; "" is none.
DebugPredicate condition_of(const std::string& text) {
  if (text.empty()) return {};
  std::istringstream in(text);
  std::string name, comparison, number_text, rest;
  in >> name >> comparison >> number_text;
  const bool is_negative = number_text.starts_with('-');
  const auto value = number<std::uint64_t>(number_text.substr(is_negative ? 1 : 0));
  constexpr std::string_view kComparisons[] = {"==", "!=", "<", "<=", ">", ">="};
  const auto* const found = std::ranges::find(kComparisons, comparison);
  if (!value || found == std::end(kComparisons) || in >> rest)
    refuse("the condition", fmt::format("'{}'", text), "REGISTER COMPARISON INTEGER, as in %r1 < 5");
  const auto holds = [which = found - std::begin(kComparisons)](auto x, auto y) {
    const bool all[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return all[which];
  };
  const std::uint64_t wanted = is_negative ? 0 - *value : *value;
  return [=](const ptx::Observation& seen) {
    for (const auto* all : {&seen.sources, &seen.registers})
      for (const ptx::RegisterValues& one : *all)
        for (std::size_t lane = 0; lane < kLanesSeen && one.name == name; ++lane) {
          if ((seen.lanes >> lane & 1) == 0) continue;
          const bool is_signed = one.type.starts_with('s');
          const auto as_signed = [&](std::uint64_t bits) {
            return one.type == "s32" ? std::int64_t{static_cast<std::int32_t>(bits)}
                                     : static_cast<std::int64_t>(bits);
          };
          if (is_signed ? holds(as_signed(one.values[lane]), static_cast<std::int64_t>(wanted))
                        : holds(one.values[lane], wanted))
            return true;
        }
    return false;
  };
}

}  // namespace

bool DebugAdapter::is_of_module(const std::string& file) const {
  return is_same_file(file, file_);
}

const std::vector<SourceLink>& DebugAdapter::chain_of(int line) const {
  static const std::vector<SourceLink> none;
  const auto found = std::ranges::find(lines_, line, &ptx::CodeLine::line);
  return found == lines_.end() ? none : found->chain;
}

bool DebugAdapter::is_at(const Breakpoint& one, const ptx::Observation& seen) const {
  if (seen.lanes == 0 || (one.condition && !one.condition(seen))) return false;
  if (one.holds) return one.holds(seen);
  if (one.file.empty()) return without_guard(seen.statement).starts_with(one.opcode);
  if (is_of_module(one.file)) return seen.line == one.line;
  return std::ranges::any_of(chain_of(seen.line), [&](const SourceLink& link) {
    return link.line == one.line && is_same_file(one.file, link.file);
  });
}

Json DebugAdapter::set_breakpoints(const Json& arguments) {
  const std::string path = arguments.at("source").at("path").get<std::string>();
  std::vector<Breakpoint>& own = breaks_[path];
  own.clear();
  Json out = Json::array();
  for (const Json& asked : arguments.value("breakpoints", Json::array())) {
    Breakpoint one{.file = path, .line = asked.at("line").get<int>()};
    one.hits = number<std::uint64_t>(asked.value("hitCondition", "1")).value_or(1);
    one.condition = condition_of(asked.value("condition", ""));
    const bool exists = std::ranges::any_of(lines_, [&](const ptx::CodeLine& line) {
      const bool is_source = std::ranges::any_of(line.chain, [&](const SourceLink& link) {
        return link.line == one.line && is_same_file(path, link.file);
      });
      return is_of_module(path) ? line.line == one.line : is_source;
    });
    out.push_back({{"verified", exists}, {"line", one.line}});
    if (!exists) out.back()["message"] = "the kernel executes no statement of this line";
    own.push_back(std::move(one));
  }
  return {{"breakpoints", out}};
}

Json DebugAdapter::set_function_breakpoints(const Json& arguments) {
  std::vector<Breakpoint>& own = breaks_[kFunctions];
  own.clear();
  Json out = Json::array();
  for (const Json& asked : arguments.at("breakpoints")) {
    Breakpoint one{.opcode = asked.at("name").get<std::string>(),
                   .condition = condition_of(asked.value("condition", "")),
                   .reason = "function breakpoint"};
    const bool exists = std::ranges::any_of(lines_, [&](const ptx::CodeLine& line) {
      return without_guard(line.statement).starts_with(one.opcode);
    });
    out.push_back({{"verified", exists}});
    own.push_back(std::move(one));
  }
  return {{"breakpoints", out}};
}

// ---- Bytes and findings

// A row of the scope of shared memory is its bytes; else the name is as in the terminal: "C[3,5]", "shared As+0x40".
Json DebugAdapter::data_breakpoint_info(const Json& arguments) {
  std::string name = arguments.at("name").get<std::string>();
  if (name.starts_with("0x")) name = fmt::format("shared {}:{}", name, kSharedRow);
  try {
    (void)parse_bytes("the name", name, loaded_, variables_);
  } catch (const Refusal& refusal) {
    return {{"dataId", nullptr}, {"description", refusal.error.message()}};
  }
  return {
      {"dataId", name}, {"description", name}, {"accessTypes", Json::array({"write"})}, {"canPersist", true}};
}

Json DebugAdapter::set_data_breakpoints(const Json& arguments) {
  std::vector<Breakpoint>& own = breaks_[kData];
  own.clear();
  Json out = Json::array();
  for (const Json& asked : arguments.at("breakpoints")) {
    Breakpoint one{.condition = condition_of(asked.value("condition", "")), .reason = "data breakpoint"};
    one.hits = number<std::uint64_t>(asked.value("hitCondition", "1")).value_or(1);
    try {
      one.holds =
          parse_bytes("the bytes", asked.at("dataId").get<std::string>(), loaded_, variables_).is_written();
      out.push_back({{"verified", true}});
      own.push_back(std::move(one));
    } catch (const Refusal& refusal) {
      out.push_back({{"verified", false}, {"message", refusal.error.message()}});
    }
  }
  return {{"breakpoints", out}};
}

Json DebugAdapter::set_exception_breakpoints(const Json& arguments) {
  const Json filters = arguments.value("filters", Json::array());
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(filters, [&](const Json& one) { return one == name; });
  };
  breaks_[kFindings].clear();
  if (has("finding")) breaks_[kFindings].push_back({.holds = has_finding(), .reason = kFindingReason});
  stops_at_faults_ = has("fault");
  return Json::object();
}

}  // namespace warpbit::cli
