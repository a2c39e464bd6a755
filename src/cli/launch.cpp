// SPDX-License-Identifier: Apache-2.0
// warpbit launch
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <nlohmann/json.hpp>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/launch_profile.hpp"
#include "cli/launch_schedules.hpp"
#include "cli/launch_setup.hpp"
#include "cli/launch_watch.hpp"
#include "cli/notes.hpp"
#include "cli/profile_tables.hpp"
#include "cli/review.hpp"
#include "cli/terminal.hpp"
#include "warpbit/ptx.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

struct LaunchArguments {
  LaunchSetup setup;
  LaunchProfile profile;
  WatchArguments watch;
  std::optional<std::uint64_t> schedules;
  ReviewOutput review;
  bool json = false;
};

// ---- The answer

ordered_json side_json(const FaultSide& side) {
  ordered_json out{{"warp", side.warp},    {"lanes", side.lanes},  {"ptx_line", side.ptx_line},
                   {"file", side.at.file}, {"line", side.at.line}, {"chain", chain_json(side.chain)}};
  if (side.elsewhere) out["elsewhere"] = {side.elsewhere->x, side.elsewhere->y, side.elsewhere->z};
  if (!side.what.empty()) out["what"] = side.what;
  return out;
}

ordered_json waiting_json(const Fault& fault) {
  ordered_json out = ordered_json::array();
  for (const FaultWaiters& row : fault.waiting) {
    ordered_json blocks = ordered_json::array();
    for (const device::Index3& block : row.blocks) blocks.push_back({block.x, block.y, block.z});
    out.push_back({{"blocks", blocks},
                   {"warps", row.warps},
                   {"lanes", row.lanes},
                   {"ptx_line", row.ptx_line},
                   {"file", row.at.file},
                   {"line", row.at.line},
                   {"chain", chain_json(row.chain)},
                   {"statement", row.statement},
                   {"awaits", row.awaits}});
  }
  return out;
}

ordered_json fault_json(const Fault& fault) {
  ordered_json out{{"code", name(fault.error.code)},
                   {"rule", name(fault.rule)},
                   {"message", fault.message()},
                   {"block", {fault.block.x, fault.block.y, fault.block.z}},
                   {"at", side_json(fault)}};
  if (fault.other) out["other"] = side_json(*fault.other);
  for (const FaultSide& one : fault.related) out["related"].push_back(side_json(one));
  if (!fault.waiting.empty()) out["waiting"] = waiting_json(fault);
  if (fault.address) {
    out["space"] = name(fault.address->space);
    out["byte"] = fault.address->byte;
  }
  return out;
}

ordered_json findings_json(const ptx::Report& report) {
  ordered_json out = ordered_json::array();
  for (const ptx::Finding& one : report.findings)
    out.push_back({{"fault", fault_json(one.fault)},
                   {"times", one.times},
                   {"grade", name(one.grade)},
                   {"warps", one.warps},
                   {"lanes", one.lanes},
                   {"blocks", one.blocks},
                   {"cause", one.cause < 0 ? ordered_json(nullptr) : ordered_json(one.cause)}});
  return out;
}

ordered_json assembled_json(const ptx::Report& report) {
  ordered_json out = ordered_json::array();
  for (const ptx::AssembledLine& one : report.assembled)
    out.push_back({{"rule", one.rule},
                   {"ptx_line", one.line},
                   {"statement", one.statement},
                   {"file", one.file},
                   {"line", one.source_line}});
  return out;
}

ordered_json order_json(const ptx::Report& report) {
  ordered_json out = ordered_json::array();
  for (const ptx::OrderDependence& one : report.order_dependent)
    out.push_back({{"ptx_line", one.line},
                   {"instruction", one.instruction},
                   {"why", one.why},
                   {"file", one.file},
                   {"line", one.source_line}});
  return out;
}

// ", order-dependent: line 40 atom.global.add.f32 (the sum depends on the order of the additions)", or nothing.
std::string order_text(const ptx::Report& report) {
  std::string out;
  for (const ptx::OrderDependence& one : report.order_dependent)
    out += fmt::format("{} line {} {} ({})", out.empty() ? ", order-dependent:" : ",", one.line,
                       one.instruction, one.why);
  return out;
}

ordered_json inferences_json(const ptx::Report& report) {
  ordered_json out = ordered_json::array();
  for (const ptx::Inference& one : report.inferences)
    out.push_back({{"ptx_line", one.line},
                   {"instruction", one.instruction},
                   {"open", one.open},
                   {"from", one.from},
                   {"file", one.file},
                   {"line", one.source_line}});
  return out;
}

// ", inferred: line 12 ex2.approx.f32 (all bits within an error; as an H100) and 2 more", or nothing.
std::string inferred_text(const ptx::Report& report) {
  if (report.inferences.empty()) return "";
  const ptx::Inference& first = report.inferences.front();
  const std::size_t others = report.inferences.size() - 1;
  return fmt::format(", inferred: line {} {} ({}; as {}){}", first.line, first.instruction, first.open,
                     first.from, others == 0 ? "" : fmt::format(" and {} more", others));
}

// "12, 15 and 20", "12"; of many the first ones, "and 5 more".
std::string lines_text(const std::vector<int>& lines) {
  constexpr std::size_t kMost = 8;
  const std::size_t shown = lines.size() > kMost ? kMost : lines.size() - 1;  // in front of "and"
  if (shown == 0) return fmt::format("line {}", lines[0]);
  return fmt::format(
      "lines {} and {}", fmt::join(lines.begin(), lines.begin() + static_cast<int>(shown), ", "),
      lines.size() > kMost ? fmt::format("{} more", lines.size() - kMost) : std::to_string(lines.back()));
}

// "assembled: contract at lines 12, 15 and 20; fold at line 7", or nothing. A rule is where its first line is.
std::string assembled_text(const ptx::Report& report) {
  std::vector<std::pair<std::string, std::vector<int>>> rules;
  for (const ptx::AssembledLine& one : report.assembled) {
    auto at = std::ranges::find(rules, one.rule, [](const auto& rule) { return rule.first; });
    if (at == rules.end()) at = rules.insert(at, {one.rule, {}});
    at->second.push_back(one.line);
  }
  std::string out;
  for (const auto& [rule, lines] : rules)
    out += fmt::format("{}{} at {}", out.empty() ? "assembled: " : "; ", rule, lines_text(lines));
  return out;
}

// Whether all blocks have ended, so that arrays are what the kernel leaves.
bool is_complete(const ptx::Report& report) {
  return !report.fault && !report.stopped;
}

ordered_json checked_json(const ptx::Checked& checked) {
  return {{"shared", checked.shared},     {"global", checked.global},
          {"barriers", checked.barriers}, {"copies", checked.copies},
          {"products", checked.products}, {"not_looked_for", checked.not_looked_for}};
}

ordered_json extents_json(const Dim3& of) {
  return {of.x, of.y, of.z};
}

ordered_json report_json(const LoadedLaunch& loaded, const ptx::Report& report) {
  ordered_json out{{"kernel", loaded.kernel.name()},
                   {"target", loaded.module.target().name()},
                   {"grid", extents_json(loaded.how.grid)},
                   {"block", extents_json(loaded.how.block)},
                   {"blocks", report.blocks},
                   {"cancelled", report.cancelled},
                   {"steps", report.steps},
                   {"checked", checked_json(report.checked)},
                   {"inferred", report.inferred},
                   {"contracted", report.contracted},
                   {"assembled", assembled_json(report)},
                   {"notes", notes_json(report.notes)},
                   {"printed", report.printed},
                   {"printed_dropped", report.printed_dropped},
                   {"fault", nullptr},
                   {"findings", findings_json(report)},
                   {"written", ordered_json::array()},
                   {"order_dependent", order_json(report)},
                   {"inferences", inferences_json(report)}};
  if (report.fault) out["fault"] = fault_json(*report.fault);
  for (const LaunchArray& one : loaded.arrays)
    if (is_complete(report) && !one.out.empty()) out["written"].push_back(one.out);
  return out;
}

// With the name of its rule, by which it may be graded.
void print_fault(const Fault& fault, Grade grade) {
  std::istringstream in(fault.message());
  for (std::string line; std::getline(in, line);) print_fitted(line);
  if (fault.rule != KernelRule::none) fmt::print("  {} of the rule {}\n", name(grade), name(fault.rule));
}

// " (and 9 cancelled)", or nothing.
std::string cancelled_text(const ptx::Report& report) {
  return report.cancelled == 0 ? "" : fmt::format(" (and {} cancelled)", report.cancelled);
}

// ", 2 findings, 1 note", or nothing. What has a cause is told with it.
std::string findings_text(const ptx::Report& report) {
  std::string out;
  for (const Grade grade : {Grade::finding, Grade::note}) {
    const auto is_one = [&](const ptx::Finding& one) { return one.cause < 0 && one.grade == grade; };
    if (const auto count = std::ranges::count_if(report.findings, is_one); count != 0)
      out += fmt::format(", {} {}{}", count, name(grade), count == 1 ? "" : "s");
  }
  return out;
}

// "gemm.cu:68 > 12", "PTX line 12"
std::string line_text(const FaultSide& side) {
  return side.chain.empty() ? fmt::format("PTX line {}", side.ptx_line)
                            : own_lines(side.chain, static_cast<int>(side.at.line));
}

/// Findings with one cause, of one rule and at the same lines of the PTX: a function that is called by many ways has many.
struct Also {
  const Fault* first;
  std::uint64_t times = 0, calls = 0;

  bool has(const Fault& one) const {
    const auto line = [](const Fault& of) { return of.other ? of.other->ptx_line : 0; };
    return one.rule == first->rule && one.ptx_line == first->ptx_line && line(one) == line(*first);
  }
  std::string text() const {
    return fmt::format("  also {}{}: {}, {} time{}{}", line_text(*first),
                       first->other ? " and " + line_text(*first->other) : "", name(first->rule), times,
                       times == 1 ? "" : "s", calls == 1 ? "" : fmt::format(", by {} ways of calls", calls));
  }
};

// A finding, and in a line each those of which it is the cause.
void print_finding(const ptx::Report& report, std::size_t number) {
  const ptx::Finding& one = report.findings[number];
  print_fault(one.fault, one.grade);
  if (one.times > 1) fmt::print("  and {}\n", one.more());
  std::vector<Also> all;
  for (const ptx::Finding& other : report.findings) {
    if (other.cause != static_cast<int>(number)) continue;
    auto at = std::ranges::find_if(all, [&](const Also& also) { return also.has(other.fault); });
    if (at == all.end()) at = all.insert(at, Also{&other.fault});
    at->times += other.times;
    ++at->calls;
  }
  for (const Also& also : all) print_fitted(also.text());
}

// "checked 96 shared and 64 global accesses, 1 barrier: nothing found"
void print_checked(const ptx::Report& report) {
  const std::string found = findings_text(report);
  const std::vector<std::string>& off = report.checked.not_looked_for;
  print_fitted(fmt::format("{}: {}{}{}", report.checked.text(),
                           report.fault    ? "a fault"
                           : found.empty() ? "nothing found"
                                           : found.substr(2),
                           report.fault ? found : "",
                           off.empty() ? "" : fmt::format("; not looked for: {}", fmt::join(off, ", "))));
}

void print_report(const ptx::Function& kernel, Target target, const ptx::Report& report,
                  const std::deque<LaunchArray>& arrays) {
  if (report.printed_dropped > 0)
    print_fitted(fmt::format("printf: {} bytes before the last {} are dropped, as a GPU's buffer drops them",
                             report.printed_dropped, report.printed.size()));
  fmt::print("{}", report.printed);
  for (std::size_t i = 0; i < report.findings.size(); ++i)
    if (report.findings[i].cause < 0) print_finding(report, i);
  if (report.fault) {
    print_fault(*report.fault, Grade::fault);
    return print_checked(report);
  }
  const std::string where = fmt::format("{} on {}", kernel.name(), target.name());
  if (report.stopped) return print_fitted(where + ": stopped by --break; no array is written");
  print_fitted(fmt::format("{}: {} block{}{}, {} steps{}{}{}", where, report.blocks,
                           report.blocks == 1 ? "" : "s", cancelled_text(report), report.steps,
                           inferred_text(report), findings_text(report), order_text(report)));
  if (!report.assembled.empty()) print_fitted(assembled_text(report));
  print_assembler_notes(report.notes);
  for (const LaunchArray& one : arrays)
    if (!one.out.empty())
      print_fitted(
          fmt::format("{}: {} of shape {}", one.out, one.array.header.dtype(), one.array.header.shape_text()));
  print_checked(report);
}

ptx::Report run_kernel(const LoadedLaunch& of, const LaunchArguments& o, LaunchWatch& watch) {
  ptx::Launch how = of.how;
  watch.follow(how);
  o.profile.follow(how, o.json);
  ProgressBar bar(!watch.prints_steps());
  how.progress = [&](std::uint64_t done, std::uint64_t blocks) { bar.show(done, blocks); };
  return of.kernel.launch(how, of.arguments);
}

int launch(const LaunchArguments& o) {
  const LoadedLaunch loaded(o.setup);
  LaunchWatch watch(o.watch, loaded.kernel, o.setup.how, o.json);
  const ptx::Report usual = run_kernel(loaded, o, watch);
  if (usual.fault && usual.fault->lanes.empty()) throw Refusal{usual.fault->error};  // nothing has run
  const OtherSchedules others(o.schedules, o.setup, loaded, usual);
  const ptx::Report& report = others.found() != nullptr ? *others.found() : usual;
  for (const LaunchArray& one : loaded.arrays)
    if (is_complete(report) && !one.out.empty()) required(write_array(one.out, one.array));
  if (o.json) {
    ordered_json answer = report_json(loaded, report);
    answer["schedules"] = others.json();
    o.profile.add_to(answer, usual);
    watch.add_to(answer);
    print_json("launch", answer);
  } else {
    watch.print_break();
    print_report(loaded.kernel, loaded.module.target(), report, loaded.arrays);
    others.print();
    o.profile.print(usual);
  }
  o.profile.draw(
      profile_title(loaded.kernel.name(), loaded.module.target().name(), loaded.how.grid, loaded.how.block),
      usual);
  write_review(o.review, ptx::remarks(report, o.setup.file));
  const bool has_findings =
      o.setup.how.lenient && std::ranges::any_of(report.findings, [](const ptx::Finding& one) {
        return one.grade == Grade::finding;  // without --lenient it is what a launch goes on behind anyway
      });
  return report.fault || has_findings || watch.missed() ? kNo : kYes;
}

}  // namespace

void add_launch(CLI::App& command, int& status) {
  LaunchArguments& o = add_arguments(command, status, launch);
  o.setup.add_to(command);
  command.add_option(
      "--schedules", o.schedules,
      "in how many other orders of its threads to try a launch in which nothing was found: --schedule 1 and so on, up to the "
      "first with a fault or a finding; unless given up to 50 that take little time, of a launch that depends on the order, or has asynchronous copies or products");
  o.profile.add_to(command);
  command
      .add_option(
          "--trace", o.watch.trace,
          "show each statement that a warp executes and the registers that it writes: WARP of the first "
          "block, or X,Y,Z:WARP of another")
      ->type_name("WARP");
  command
      .add_option(
          "--break", o.watch.break_at,
          "end the launch at the first execution of a line by that warp (0 unless traced), and show by lane "
          "what it reads and writes: LINE of the PTX, or FILE:LINE of the source; exit status 1 if it is "
          "never executed")
      ->type_name("LINE");
  CLI::Option* json = add_json(command, o.json);
  add_review(command, o.review, json);
  command.footer(examples(
      {"printf '%s\\n' '.version 8.0' '.target sm_90' '.address_size 64' '.entry f(.param .u64 x) { ret; }' >f.ptx && "
       "warpbit launch f.ptx --grid 4,4 --block 128 --arg zeros:f32:4096:x.npy",
       "warpbit launch f.ptx --arg null --profile", "warpbit launch f.ptx --arg null --svg f.svg",
       "warpbit launch f.ptx --arg null --trace 0 --json"}));
}

}  // namespace warpbit::cli
