// SPDX-License-Identifier: Apache-2.0
// warpbit findings
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <sstream>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/review.hpp"
#include "cli/terminal.hpp"
#include "warpbit/notice.hpp"

namespace warpbit::cli {
namespace {

struct FindingsArguments {
  std::vector<std::string> command;
  ReviewOutput review;
  bool json = false;
};

void print_remark(const Remark& one) {
  std::istringstream in(one.message);
  for (std::string line; std::getline(in, line);) fmt::print("{}\n", printable(line));
  fmt::print("  {} of the rule {}{}\n", name(one.grade), printable(one.rule),
             one.times > 1 ? fmt::format(", {} times", one.times) : "");
}

// "2 faults, 1 finding"
std::string counts_of(const FindingsReport& report) {
  std::string out;
  for (const Grade grade : {Grade::fault, Grade::finding, Grade::note}) {
    const auto count = std::ranges::count(report.remarks, grade, &Remark::grade);
    if (count != 0)
      out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", count, name(grade), count == 1 ? "" : "s");
  }
  return out.empty() ? "nothing found" : out;
}

std::string launches_of(const FindingsReport& report) {
  const auto launches = [](std::uint64_t count) {
    return fmt::format("{} launch{}", count, count == 1 ? "" : "es");
  };
  std::string out = launches(report.launches);
  if (report.launches != 0) out += fmt::format(" of {}", fmt::join(report.kernels, ", "));
  if (report.source_launches != 0)
    out += fmt::format(" and {} of kernels in source", launches(report.source_launches));
  return out;
}

void print_findings(const FindingsReport& report, const std::vector<std::string>& command) {
  using enum FindingsReport::State;
  const std::string words = printable(fmt::format("{}", fmt::join(command, " ")));
  if (report.state == not_run) return print_fitted(fmt::format("the test does not run: {}", words));
  for (const Remark& one : report.remarks) print_remark(one);
  print_fitted(report.state == no_kernel
                   ? fmt::format("the test launches no kernel: {}", words)
                   : printable(fmt::format("{}: {}", launches_of(report), counts_of(report))));
  if (report.status != 0) print_fitted(fmt::format("the test fails, with exit status {}", report.status));
}

std::string_view findings_state(FindingsReport::State state) {
  constexpr std::string_view kStateNames[] = {"ran", "not_run", "no_kernel"};
  return kStateNames[static_cast<std::size_t>(state)];
}

int findings_command(const FindingsArguments& o) {
  std::fflush(stdout);
  const FindingsReport report = required(findings(o.command, !o.json));
  if (o.json)
    print_json("findings", {{"state", findings_state(report.state)},
                            {"command", o.command},
                            {"status", report.status},
                            {"output", report.output},
                            {"seconds", report.seconds},
                            {"launches", report.launches},
                            {"source_launches", report.source_launches},
                            {"kernels", report.kernels},
                            {"findings", remarks_json(report.remarks)}});
  else
    print_findings(report, o.command);
  if (report.state == FindingsReport::State::not_run) return kNoAnswer;
  write_review(o.review, report.remarks);
  if (report.state == FindingsReport::State::no_kernel && report.status == 0) return kNoKernel;
  return report.status != 0 || report.has_findings() ? kNo : kYes;
}

}  // namespace

void add_findings(CLI::App& command, int& status) {
  FindingsArguments& o = add_arguments(command, status, findings_command);
  command.add_option("test", o.command, "the command of the test, with its arguments, behind --");
  CLI::Option* json = add_json(command, o.json);
  add_review(command, o.review, json);
  command.footer(
      "The test is run once, with what it prints. Each launch of it is looked at, whatever the test asserts: by RawModule of "
      "Python, ptx::Module of C++, the functions of C, kernels in source, or the command launch; and each assert_bits_equal of "
      "Python and EqualBits of C++ that fails. Exit status: 0 if the test passes and nothing is found but notes, 1 if it fails or something is found, "
      "2 if it does not run, 3 if it passes and launches no kernel.\n" +
      examples({"warpbit findings --sarif found.sarif -- warpbit verify golden/kernels/scan.zip",
                "warpbit findings -- warpbit launch examples/ptx_kernel.ptx --entry gemm --grid 1,1 --block 32 "
                "--arg zeros:f16:16x16 --arg zeros:f16:8x16 --arg zeros:f32:16x8 --arg i32:8 --arg i32:16"}));
}

}  // namespace warpbit::cli
