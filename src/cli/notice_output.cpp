// SPDX-License-Identifier: Apache-2.0
#include "cli/notice_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <sstream>
#include <tuple>

#include "cli/json.hpp"
#include "cli/junit.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kRed = 167, kGreen = 71;

std::string plural(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : what.ends_with("ch") ? "es" : "s");
}

// "saxpy.cu:12: if (i < n)"
std::string source_of(const Mistake& one) {
  const std::string out =
      fmt::format("{}:{}", std::filesystem::path(one.source.file).filename().string(), one.source.line);
  return one.source_text.empty() ? out : fmt::format("{}: {}", out, one.source_text);
}

// "saxpy, PTX line 31; saxpy.cu:12: if (i < n)", or the line of a kernel in source alone
std::string place_of(const Mistake& one) {
  if (one.is_in_source) return source_of(one);
  std::string out = one.kernel.empty() ? "" : one.kernel + ", ";
  out += fmt::format("PTX line {}", one.line);
  return one.source.line <= 0 ? out : fmt::format("{}; {}", out, source_of(one));
}

// A change of the PTX or of what is called, as a patch has it.
void print_patch(const Mistake& one) {
  for (const std::string& line : broken("- " + printable(one.before)))
    fmt::print("  {}\n", coloured(line, kRed));
  if (one.after.empty()) return;
  for (const std::string& line : broken("+ " + printable(one.after)))
    fmt::print("  {}\n", coloured(line, kGreen));
}

void print_mistake(const TriedMistake& one, bool has_patch) {
  print_fitted(printable(fmt::format("{} ({}): {}", place_of(one), one.kind, one.sentence)));
  if (has_patch) print_patch(one);
}

// Those of one outcome, by kernel and line; of what may change nothing some, each in a line.
void print_group(const NoticeReport& report, const NoticedRow& of, bool all) {
  constexpr std::size_t kShown = 8;
  std::vector<const TriedMistake*> found;
  for (const TriedMistake& one : report.tried)
    if (one.outcome == of.value) found.push_back(&one);
  if (found.empty()) return;
  std::ranges::stable_sort(
      found, {}, [](const TriedMistake* one) { return std::tuple(one->kernel, one->file, one->line); });
  print_fitted(
      fmt::format("{}: {}{}{}", found.size(), of.sentence, of.cure.empty() ? "" : ". Cure: ", of.cure));
  const std::size_t shown = all || of.is_survivor ? found.size() : std::min(found.size(), kShown);
  for (const TriedMistake* one : std::span(found).first(shown)) print_mistake(*one, all || of.is_survivor);
  if (shown < found.size()) fmt::print("and {} more (--all)\n", found.size() - shown);
  fmt::print("\n");
}

std::string words_of(const std::vector<std::string>& command) {
  return printable(fmt::format("{}", fmt::join(command, " ")));
}

void print_refusal(const NoticeReport& report, const std::vector<std::string>& command) {
  using enum NoticeReport::State;
  if (report.state == not_run) print_fitted(fmt::format("the test does not run: {}", words_of(command)));
  if (report.state == fails)
    print_fitted(
        fmt::format("the test fails as it is, with exit status {}: {}", report.status, words_of(command)));
  if (report.state == no_kernel)
    print_fitted(report.source_launches == 0
                     ? fmt::format("the test launches no kernel: {}", words_of(command))
                     : fmt::format("the test has {} of kernels in source, which call nothing of device.hpp: {}",
                                   plural(report.source_launches, "launch"), words_of(command)));
  std::istringstream lines(report.output);
  for (std::string line; std::getline(lines, line);) fmt::print("  {}\n", printable(line));
}

std::string tried_words(const NoticeReport& report, const NoticeOptions& options) {
  std::string out = fmt::format("tried {} of {}", report.tried.size(), plural(report.possible, "mistake"));
  if (report.chosen < report.possible)
    out += fmt::format(", chosen by --most {} --seed {}", options.most, options.seed);
  if (options.shard.count > 1)
    out += fmt::format(", share {} of {}", options.shard.number, options.shard.count);
  if (report.out_of_time != 0)
    out += fmt::format("; not tried, as there was no time or Ctrl-C was pressed: {}", report.out_of_time);
  return out;
}

std::string launches_of(const NoticeReport& report) {
  std::vector<std::string> out;
  if (report.launches != 0)
    out.push_back(fmt::format("{} of {}", plural(report.launches, "launch"), fmt::join(report.kernels, ", ")));
  if (report.source_launches != 0)
    out.push_back(fmt::format("{} of kernels in source", plural(report.source_launches, "launch")));
  return fmt::format("{}", fmt::join(out, " and "));
}

void print_counts(const NoticeReport& report) {
  print_fitted(fmt::format(
      "noticed {}: {} by the test, {} by the checks of launches, which a GPU has not, {} as the test did not end",
      report.noticed(), report.count(Noticed::by_test), report.count(Noticed::by_fault),
      report.count(Noticed::endless)));
  print_fitted(fmt::format("survived: {}; may change nothing: {}; change nothing: {}", report.survivors(),
                           report.count(Noticed::same), report.count(Noticed::no_effect)));
  if (const std::size_t count = report.count(Noticed::not_planted); count != 0)
    print_fitted(fmt::format("not known: {}, since the test did not load that module again", count));
  if (!report.is_stable)
    print_fitted("the test is not the same each time: without a mistake it failed in the end");
  const std::size_t all = report.noticed() + report.survivors();
  print_fitted(
      fmt::format("score: {} of {}{}", report.noticed(), all,
                  all == 0 ? std::string() : fmt::format(" ({:.0f} %)", std::floor(100 * report.score()))));
}

ordered_json mistake_json(const TriedMistake& one) {
  ordered_json out = {
      {"kind", one.kind}, {"sentence", one.sentence}, {"kernel", one.kernel}, {"file", one.file},
      {"line", one.line}, {"before", one.before},     {"after", one.after},   {"in_source", one.is_in_source}};
  if (one.source.line > 0)
    out["source"] = {{"file", one.source.file}, {"line", one.source.line}, {"text", one.source_text}};
  out["outcome"] = row(one.outcome).name;
  out["noticed"] = row(one.outcome).is_noticed;
  out["survived"] = row(one.outcome).is_survivor;
  out["inputs"] = one.inputs;
  if (!one.fault.empty()) out["fault"] = one.fault;
  out["seconds"] = one.seconds;
  if (!one.saved.empty()) out["saved"] = one.saved;
  return out;
}

std::string_view state_name(NoticeReport::State state) {
  constexpr std::string_view kStates[] = {"tried", "not_run", "fails", "no_kernel"};
  return kStates[static_cast<std::size_t>(state)];
}

}  // namespace

void print_mistake_kinds() {
  Table table{{"kind", "mistake"}};
  for (const MistakeKind& one : mistake_kinds())
    table.push_back({std::string(one.name), std::string(one.sentence)});
  print_narrow(table);
}

void print_notice(const NoticeReport& report, const std::vector<std::string>& command,
                  const NoticeOptions& options, const NoticeOutput& output) {
  if (report.state != NoticeReport::State::tried) return print_refusal(report, command);
  for (const NoticedRow& row : noticed_rows())
    if (output.all || !row.is_noticed) print_group(report, row, output.all);
  print_fitted(printable(fmt::format("the test has {}; executed: {} of {}", launches_of(report),
                                     report.executed, plural(report.statements, "statement"))));
  if (report.source_launches != 0)
    print_fitted("in source, indices, bounds and strides are compiled code: no mistakes are planted there");
  print_fitted(tried_words(report, options));
  print_counts(report);
}

void print_notice_json(const NoticeReport& report, const std::vector<std::string>& command,
                       const NoticeOptions& options) {
  ordered_json counts, mistakes = ordered_json::array();
  for (const NoticedRow& row : noticed_rows()) counts[std::string(row.name)] = report.count(row.value);
  for (const TriedMistake& one : report.tried) mistakes.push_back(mistake_json(one));
  print_json("notice", {{"state", state_name(report.state)},
                        {"command", command},
                        {"status", report.status},
                        {"output", report.output},
                        {"seconds", report.seconds},
                        {"launches", report.launches},
                        {"source_launches", report.source_launches},
                        {"kernels", report.kernels},
                        {"statements", report.statements},
                        {"executed", report.executed},
                        {"possible", report.possible},
                        {"chosen", report.chosen},
                        {"out_of_time", report.out_of_time},
                        {"stable", report.is_stable},
                        {"seed", options.seed},
                        {"noticed", report.noticed()},
                        {"survived", report.survivors()},
                        {"score", report.score()},
                        {"counts", counts},
                        {"mistakes", mistakes}});
}

// A survivor is a failure; what may change nothing, or is not known, is skipped.
std::string junit_of(const NoticeReport& report) {
  std::vector<JunitCase> cases;
  for (const TriedMistake& one : report.tried) {
    const NoticedRow& of = row(one.outcome);
    const std::string line = one.is_in_source ? source_of(one) : fmt::format("PTX line {}", one.line);
    cases.push_back({one.kernel, fmt::format("{} ({}): {}", line, one.kind, one.sentence),
                     of.is_survivor  ? "failure"
                     : of.is_noticed ? ""
                                     : "skipped",
                     fmt::format("{}: {}; {} -> {}", place_of(one), of.sentence, one.before,
                                 one.after.empty() ? "nothing" : one.after)});
  }
  return junit_text("warpbit notice", cases);
}

}  // namespace warpbit::cli
