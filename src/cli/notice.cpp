// SPDX-License-Identifier: Apache-2.0
// warpbit notice
#include "warpbit/notice.hpp"

#include <atomic>
#include <csignal>
#include <ctime>

#include "cli/arguments.hpp"
#include "cli/json.hpp"
#include "cli/notice_output.hpp"
#include "cli/parts.hpp"
#include "cli/review.hpp"
#include "cli/terminal.hpp"

namespace warpbit::cli {
namespace {

// Ctrl-C ends the work and not the answer; a second one ends the process. Programs that start others (timeout, uv) send
// them the terminal's signal once more: what comes within half a second is the same Ctrl-C.
std::atomic<bool> interrupted = false;
std::atomic<std::int64_t> interrupted_at = 0;  // ms

void on_interrupt(int signal) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now = std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  if (!interrupted.exchange(true)) {
    interrupted_at = now;
  } else if (now - interrupted_at > 500) {
    std::signal(signal, SIG_DFL);
    ::raise(signal);
  }
}

class OnInterrupt {
 public:
  OnInterrupt() { before_ = std::signal(SIGINT, on_interrupt); }
  ~OnInterrupt() { std::signal(SIGINT, before_); }
  OnInterrupt(const OnInterrupt&) = delete;

 private:
  void (*before_)(int);
};

struct NoticeArguments {
  std::vector<std::string> command;
  NoticeOptions options;
  bool json = false, list = false;
  std::optional<int> least;  // percent
  NoticeOutput output;
  ReviewOutput review;
};

int notice_command(const NoticeArguments& o) {
  if (o.list) {
    print_mistake_kinds();
    return kYes;
  }
  const NoticeReport report = [&] {
    ProgressBar bar(!o.json);
    NoticeOptions options = o.options;
    options.progress = [&](std::size_t done, std::size_t all) { bar.show(done, all); };
    const OnInterrupt interrupt;
    options.stop = &interrupted;
    return required(notice(o.command, options));
  }();
  const bool is_tried = report.state == NoticeReport::State::tried;
  if (interrupted && !is_tried) refuse("notice", "Ctrl-C", "the end of the test as it is");
  if (is_tried && !o.output.junit.empty()) write_text(o.output.junit, junit_of(report));
  if (o.json)
    print_notice_json(report, o.command, o.options);
  else
    print_notice(report, o.command, o.options, o.output);
  if (is_tried) write_review(o.review, remarks(report));
  if (report.state == NoticeReport::State::no_kernel) return kNoKernel;
  if (!is_tried) return kNoAnswer;
  const bool is_open = !report.is_stable || report.out_of_time != 0 || report.count(Noticed::not_planted) != 0;
  const bool is_enough = o.least ? 100 * report.score() >= *o.least : report.survivors() == 0;
  return !is_enough ? kNo : is_open ? kNoAnswer : kYes;
}

}  // namespace

void add_notice(CLI::App& command, int& status) {
  NoticeArguments& o = add_arguments(command, status, notice_command);
  command.add_option("test", o.command, "the command of the test, with its arguments, behind --");
  command.add_option("--most", o.options.most, "try that many mistakes, of each kind about as many; 0: all")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_option("--seed", o.options.seed, "choose others")->capture_default_str();
  command.add_option("--time", o.options.seconds, "begin no further mistake after so many seconds")
      ->check(whole_number(1))
      ->type_name("SECONDS");
  command
      .add_option("--jobs", o.options.jobs, "run that many tests at a time (default: one for each processor)")
      ->check(whole_number(1));
  command.add_option("--kinds", o.options.kinds, "these kinds of mistakes alone (--list-kinds)")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->allow_extra_args(false);
  command.add_option("--kernels", o.options.kernels, "mistakes in these functions of PTX alone")
      ->delimiter(',')
      ->type_name("NAME,...")
      ->allow_extra_args(false);
  command
      .add_option("--at", o.options.at,
                  "mistakes in statements at these lines alone: LINE of the PTX, or FILE:LINE of the source")
      ->delimiter(',')
      ->type_name("LINE,...")
      ->allow_extra_args(false);
  command
      .add_option("--save", o.options.save,
                  "write the modules with their mistakes into a new folder, one a file")
      ->type_name("FOLDER");
  add_shard(command, o.options.shard, "try one of N shares of the chosen mistakes");
  command
      .add_option("--least", o.least, "exit status 0, too, if that share of what changes something is noticed")
      ->check(whole_number(0, 100))
      ->type_name("PERCENT");
  command.add_flag("--all", o.output.all,
                   "also print the mistakes that are noticed, and each that may change nothing");
  command.add_option("--junit", o.output.junit, "also write a report as JUnit's XML")
      ->type_name("FILE")
      ->check(new_file());
  command.add_flag("--list-kinds", o.list, "print the kinds of mistakes, and run nothing");
  CLI::Option* json = add_json(command, o.json);
  add_review(command, o.review, json);
  command.footer(
      "The test is run once as it is, and once for each mistake, which is planted when it loads the PTX: by "
      "RawModule of Python, ptx::Module of C++, the functions of C, or the command launch; or in what a kernel in "
      "source (device.hpp) calls: barriers, waits, copies, products, fragments. No file is changed. "
      "Exit status: 0 if each mistake that changes something is noticed, or as many as --least says, 1 if one survives, 2 if none does and not all "
      "is known, or the test does not run or fails as it is, 3 if it launches no kernel.\n" +
      examples(
          {"warpbit notice --most 4 -- warpbit launch examples/ptx_kernel.ptx --entry gemm --grid 1,1 --block 32 "
           "--arg zeros:f16:16x16 --arg zeros:f16:8x16 --arg zeros:f32:16x8 --arg i32:8 --arg i32:16",
           "warpbit notice --list-kinds"}));
}

}  // namespace warpbit::cli
