// SPDX-License-Identifier: Apache-2.0
// warpbit arbiter
#include "warpbit/arbiter.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>

#include "cli/arbiter_levels.hpp"
#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

struct ArbiterArguments {
  std::string recording, record, target, minimal;
  ArbiterOptions options;
  bool json = false, quiet = false, no_gpu = false;
};

// The record of that name; without one the only launch.
const Record& asked_record(const Recording& recording, const std::string& name) {
  std::vector<std::string> launches;
  const Record* only = nullptr;
  for (const Record& one : recording.records())
    if (one.kind == "launch") {
      launches.push_back(one.name);
      only = &one;
    }
  constexpr std::size_t kShown = 10;
  const std::size_t more = launches.size() - std::min(launches.size(), kShown);
  launches.resize(launches.size() - more);
  const std::string accepted = launches.empty()
                                   ? "a recording with launches"
                                   : fmt::format("one of {}{}", fmt::join(launches, ", "),
                                                 more == 0 ? "" : fmt::format(" and {} more", more));
  if (name.empty()) {
    if (launches.size() + more != 1)
      refuse("the record", fmt::format("none, and {} launches", launches.size() + more), accepted);
    return *only;
  }
  const Record* const found = recording.find(name);
  if (found == nullptr) refuse("the record", fmt::format("'{}'", name), accepted);
  return *found;
}

ordered_json places_json(const std::vector<CodePlace>& places) {
  ordered_json out = ordered_json::array();
  for (const CodePlace& one : places) out.push_back({{"line", one.line}, {"statement", one.statement}});
  return out;
}

ordered_json verdict_json(const Judgement& verdict) {
  ordered_json causes = ordered_json::array(), tried = ordered_json::array();
  for (const Cause& one : verdict.causes)
    causes.push_back({{"ruling", name(one.ruling)},
                      {"hypothesis", one.hypothesis},
                      {"sentence", one.sentence},
                      {"places", places_json(one.places)}});
  for (const Tried& one : verdict.tried)
    tried.push_back({{"hypothesis", one.hypothesis}, {"count", one.count}});
  return {{"ruling", name(verdict.ruling)},
          {"sentence", sentence(verdict.ruling)},
          {"certain", verdict.is_certain},
          {"causes", causes},
          {"differences", verdict.differences},
          {"slice", places_json(verdict.slice)},
          {"tried", tried},
          {"notes", verdict.notes},
          {"minimal", verdict.minimal}};
}

void print_places(const std::vector<CodePlace>& places, std::string_view indent) {
  for (const CodePlace& one : places)
    print_fitted(printable(fmt::format("{}line {}: {}", indent, one.line, one.statement)));
}

std::string heading(const Judgement& verdict) {
  const bool is_open = !verdict.is_certain && verdict.ruling != Ruling::unexplained;
  return fmt::format("verdict: {}{}", sentence(verdict.ruling),
                     !is_open                     ? ""
                     : verdict.causes.size() == 1 ? ", which is not certain"
                                                  : ", by one of these causes");
}

void print_verdict(const Judgement& verdict) {
  constexpr std::size_t kShown = 20;
  for (const std::string& one : verdict.differences) print_fitted(printable(one));
  for (const Cause& one : verdict.causes) {
    print_fitted(fmt::format("{}:", one.hypothesis));
    std::string_view rest = one.sentence;
    for (std::size_t end = 0; end != rest.npos; rest.remove_prefix(std::min(end, rest.size() - 1) + 1)) {
      end = rest.find('\n');
      print_fitted("  " + printable(rest.substr(0, end)));
      if (end == rest.npos || rest.empty()) break;
    }
    print_places(one.places, "  ");
  }
  if (verdict.ruling == Ruling::unexplained) {
    std::vector<std::string> tried;
    for (const Tried& one : verdict.tried) tried.push_back(fmt::format("{} {}", one.count, one.hypothesis));
    print_fitted(fmt::format("tried: {}", fmt::join(tried, ", ")));
    print_fitted(
        fmt::format("the wrong element comes from {} statements, the last one first:", verdict.slice.size()));
    print_places({verdict.slice.begin(),
                  verdict.slice.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, verdict.slice.size()))},
                 "  ");
  }
  for (const std::string& one : verdict.notes) print_fitted("note: " + printable(one));
}

int arbiter(const ArbiterArguments& o) {
  ArbiterOptions options = o.options;
  options.target = find_target(o.target);
  const Recording recording = required(Recording::open(o.recording, options.read));
  const Record& record = asked_record(recording, o.record);
  Judgement verdict = required(arbitrate(recording, record, options));
  std::vector<Level> levels;
  if (!o.no_gpu && has_gpu()) {
    const Result<std::vector<Level>> run = run_levels(o.recording, record, options);
    if (run)
      levels = *run;
    else
      verdict.notes.push_back("the GPU of this machine was not asked: " + run.error().message());
    add_levels(levels, verdict);
  }
  if (!o.minimal.empty()) {
    if (verdict.minimal.empty())
      fmt::print(stderr, "warpbit: no statement is to blame alone: {} is not written\n", printable(o.minimal));
    else if (!(std::ofstream(o.minimal) << verdict.minimal))
      refuse(o.minimal, "a file that cannot be written", "a path that can", Errc::file_unreadable);
  }
  if (o.json) {
    nlohmann::ordered_json out = verdict_json(verdict);
    if (!levels.empty()) out["levels"] = levels_json(levels);
    print_json("arbiter", out);
  } else {
    if (!o.quiet) print_verdict(verdict);
    if (!o.quiet)
      for (const std::string& one : level_lines(levels)) print_fitted(printable(one));
    print_fitted(heading(verdict));
  }
  return verdict.ruling == Ruling::as_ptx ? kYes : kNo;
}

}  // namespace

void add_arbiter(CLI::App& command, int& status) {
  ArbiterArguments& o = add_arguments(command, status, arbiter);
  command.add_option("recording", o.recording, "a recording of a program")->required();
  command.add_option("record", o.record, "the name of a launch in it; not needed if there is one alone");
  command.add_option("--target", o.target, "execute as this target instead of the one in the file");
  command.add_option("--minimal", o.minimal, "write a module that shows the statement that is to blame")
      ->type_name("FILE");
  command.add_option("--tries", o.options.tries, "change statements that many times at most")
      ->check(whole_number(1))
      ->capture_default_str();
  command.add_flag("--no-gpu", o.no_gpu,
                   "do not run the launch on the GPU of this machine, where there is one");
  CLI::Option* json = add_json(command, o.json);
  command.add_flag("--quiet", o.quiet, "print the last line alone")->excludes(json);
  command.footer(examples({"warpbit arbiter examples/recordings/assembler bfe_position",
                           "warpbit arbiter examples/recordings/assembler scale --json"}));
}

}  // namespace warpbit::cli
