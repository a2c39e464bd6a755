// SPDX-License-Identifier: Apache-2.0
// warpbit/notice.hpp
#include "warpbit/notice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "function_name.hpp"
#include "notice/choice.hpp"
#include "notice/command.hpp"
#include "notice/events.hpp"
#include "notice/mistakes.hpp"
#include "threads.hpp"

namespace warpbit {

namespace fs = std::filesystem;
using noticing::Candidate, noticing::Ended, noticing::events_of, noticing::is_event;

std::span<const MistakeKind> mistake_kinds() {
  static const std::vector<MistakeKind> all = [] {
    std::vector<MistakeKind> out;
    for (const noticing::KindRow& one : noticing::kind_rows()) out.push_back({one.name, one.sentence});
    out.push_back({"target", "the kernel runs as on another generation of GPUs"});
    return out;
  }();
  return all;
}

std::span<const NoticedRow> noticed_rows() {
  using enum Noticed;
  static constexpr NoticedRow kRows[] = {
      {by_test, "by_test", "the test fails", "", true, false},
      {by_fault, "by_fault", "a launch has a fault, and the test fails", "", true, false},
      {endless, "endless", "the test does not end", "", true, false},
      {bytes, "bytes", "launches leave other bytes, and the test passes",
       "compare all bytes of the result; a tolerance, or an assertion on less, hides them", false, true},
      {fault, "fault", "a launch has a fault, and the test passes",
       "let the test fail where a launch reports a fault", false, true},
      {finding, "finding", "a launch has a finding that it has not otherwise, and the test passes",
       "let findings fail the test: pytest -W error, or strict of a launch", false, true},
      {values, "values", "launches leave the same bytes; with other values they do not",
       "use inputs that all differ, of both signs, with fractions, so that sums are rounded", false, true},
      {sizes, "sizes",
       "launches leave the same bytes; with a smaller integer argument, or a block more, they do not",
       "add a case of other sizes, such as one that is no multiple of the block", false, true},
      {not_executed, "not_executed", "no launch executes the statement", "add a case that comes there", false,
       true},
      {same, "same",
       "launches leave the same bytes, with other values, sizes and grids, too: it may change nothing", "",
       false, false},
      {no_effect, "no_effect",
       "launches leave the same bytes, and no other statement of the first block reads or writes anything else: it changes nothing there",
       "", false, false},
      {not_planted, "not_planted",
       "the test did not load that module or make that call again, or took too long: nothing is known", "",
       false, false},
  };
  return kRows;
}

const NoticedRow& row(Noticed value) {
  return *std::ranges::find(noticed_rows(), value, &NoticedRow::value);
}

std::size_t NoticeReport::count(Noticed outcome) const {
  return static_cast<std::size_t>(std::ranges::count(tried, outcome, &TriedMistake::outcome));
}
std::size_t NoticeReport::noticed() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tried, [](const TriedMistake& one) { return row(one.outcome).is_noticed; }));
}
std::size_t NoticeReport::survivors() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tried, [](const TriedMistake& one) { return row(one.outcome).is_survivor; }));
}
double NoticeReport::score() const {
  const std::size_t all = noticed() + survivors();
  return all == 0 ? 1 : static_cast<double>(noticed()) / static_cast<double>(all);
}

namespace {

std::optional<Error> check(std::span<const std::string> command, const NoticeOptions& options) {
  if (std::optional<Error> refused = noticing::check_command(command, "notice")) return refused;
  if (options.shard.number < 1 || options.shard.number > options.shard.count)
    return Error{Errc::usage, "the shard", fmt::format("{}/{}", options.shard.number, options.shard.count),
                 "1/N to N/N"};
  std::vector<std::string_view> names;
  for (const MistakeKind& one : mistake_kinds()) names.push_back(one.name);
  for (const std::string& one : options.kinds)
    if (std::ranges::find(names, one) == names.end())
      return Error{Errc::usage, "the kind of mistakes", fmt::format("'{}'", one),
                   fmt::format("{}", fmt::join(names, ", "))};
  return std::nullopt;
}

class Run {
 public:
  Run(std::span<const std::string> command, const NoticeOptions& options)
      : command_(command), options_(options) {}

  Result<NoticeReport> run() {
    if (folder_.path().empty())
      return Error{Errc::file_unreadable, "the folder for temporary files", "it cannot be written",
                   "one that can"};
    if (!run_as_it_is()) return std::move(out_);
    const noticing::Seen seen = this->seen();
    if (seen.modules.empty() && seen.calls.empty()) {
      out_.state = NoticeReport::State::no_kernel;
      return std::move(out_);
    }
    noticing::Choice choice = noticing::choose(seen, options_);
    out_.possible = choice.possible;
    out_.statements = choice.statements;
    out_.executed = choice.executed;
    out_.chosen = choice.chosen.size();
    if (choice.statements == 0) return nothing_chosen();
    const auto [first, count] = options_.shard.range(choice.chosen.size());
    const std::span<const Candidate> own = std::span(choice.chosen).subspan(first, count);
    if (std::optional<Error> refused = make_folder(seen)) return *std::move(refused);
    try_all(own);
    // A test that fails by chance tells nothing.
    const noticing::Folder again;
    if (!is_stopped()) out_.is_stable = noticing::run_command(command_, again.path(), how_to_try()).status == 0;
    return std::move(out_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_stopped() const { return options_.stop != nullptr && *options_.stop; }
  noticing::HowToRun how_to_try() const { return {.limit = 10 + 10 * out_.seconds, .stop = options_.stop}; }

  Error nothing_chosen() const {
    if (!options_.at.empty())
      return {
          Errc::usage, "the lines", fmt::format("{}", fmt::join(options_.at, ", ")),
          "LINE of the PTX, or FILE:LINE of the source, that has a statement of a kernel that the test launches"};
    return {Errc::usage, "the kernels", fmt::format("{}", fmt::join(options_.kernels, ", ")),
            out_.kernels.empty()
                ? "none, as the test launches kernels in source alone, which have no names here"
                : fmt::format("some that the test launches: {}", fmt::join(out_.kernels, ", "))};
  }

  std::optional<Error> make_folder(const noticing::Seen& seen) const {
    if (options_.save.empty()) return std::nullopt;
    if (seen.modules.empty())
      return Error{Errc::usage, "a folder for modules with mistakes", "a test that loads none",
                   "no folder, as the mistakes are in calls of kernels in source"};
    std::error_code error;
    fs::create_directories(options_.save, error);
    if (!error && fs::is_empty(options_.save, error) && !error) return std::nullopt;
    return Error{Errc::file_unwritable, options_.save.string(),
                 error ? error.message() : "there are files in it", "a new folder"};
  }

  // The module with the mistake, in a file that says in its name which one it is.
  std::string saved(const Candidate& one, std::size_t number) const {
    const auto* const planted = std::get_if<PlantedMistake>(&one.planted);
    if (options_.save.empty() || planted == nullptr) return {};
    std::string text = noticing::read_file(folder_.path() / TestProcess::kModules / planted->module);
    text.replace(planted->at, planted->length, planted->text);
    const fs::path to =
        options_.save / fmt::format("{:03}-{}-line-{}.ptx", number + 1, one.mistake.kind, one.mistake.line);
    std::ofstream(to, std::ios::binary) << text;
    return to.string();
  }

  bool run_as_it_is() {
    const Ended ended = noticing::run_command(command_, folder_.path(), {.stop = options_.stop});
    out_.status = ended.status;
    out_.seconds = ended.seconds;
    if (ended.how == Ended::How::exited && ended.status == 0) return true;
    out_.output = noticing::end_of_output(folder_.path());
    out_.state = ended.how == Ended::How::not_found ? NoticeReport::State::not_run : NoticeReport::State::fails;
    return false;
  }

  // The modules of which a kernel was launched, and what kernels in source have called.
  noticing::Seen seen() {
    noticing::Seen out;
    std::map<std::string, noticing::SeenModule> all;
    std::set<std::string> kernels;
    for (const nlohmann::json& one : events_of(folder_.path())) {
      if (is_event(one, "source")) {
        ++out_.source_launches;
        continue;
      }
      if (is_event(one, "call")) {
        out.calls.insert(
            {one.value("file", ""), one.value("line", 0), one.value("call", ""), one.value("target", "")});
        continue;
      }
      noticing::SeenModule& module = all[one.value("module", "")];
      module.key = one.value("module", "");
      if (is_event(one, "module")) module.target = one.value("target", "");
      if (!is_event(one, "launch")) continue;
      ++out_.launches;
      module.file = one.value("file", "");
      module.kernels.insert(one.value("kernel", ""));
      kernels.insert(one.value("kernel", ""));
      for (const int line : one.value("lines", std::vector<int>())) module.lines.insert(line);
    }
    out_.kernels.assign(kernels.begin(), kernels.end());
    for (auto& [key, module] : all) {
      if (module.kernels.empty()) continue;
      module.text = noticing::read_file(folder_.path() / TestProcess::kModules / key);
      out.modules.push_back(std::move(module));
    }
    return out;
  }

  void try_all(std::span<const Candidate> all) {
    const auto begin = Clock::now();
    out_.tried.resize(all.size());
    std::vector<char> is_tried(all.size(), 0);  // not bits, as threads write them
    std::size_t done = 0;
    std::mutex telling;
    const int jobs =
        options_.jobs > 0 ? options_.jobs : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
    for_each_piece(jobs, all.size(), [&](std::uint64_t i) {
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (is_stopped() || (options_.seconds > 0 && seconds > options_.seconds)) return;
      out_.tried[i] = try_one(all[i], i);
      if (is_stopped()) return;
      is_tried[i] = 1;
      const std::lock_guard lock(telling);
      if (options_.progress) options_.progress(++done, all.size());
    });
    std::vector<TriedMistake> kept;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (is_tried[i] != 0) kept.push_back(std::move(out_.tried[i]));
    out_.tried = std::move(kept);
    out_.out_of_time = all.size() - out_.tried.size();
  }

  TriedMistake try_one(const Candidate& one, std::size_t number) const {
    TriedMistake out;
    static_cast<Mistake&>(out) = one.mistake;
    out.saved = saved(one, number);
    if (!one.is_executed) {
      out.outcome = Noticed::not_executed;
      return out;
    }
    const fs::path folder = folder_.path() / std::to_string(number);
    fs::create_directory(folder);
    std::ofstream(folder / TestProcess::kMistake)
        << std::visit([](const auto& planted) { return planted.json(); }, one.planted);
    noticing::HowToRun how = how_to_try();
    how.first_failure = true;
    const Ended ended = noticing::run_command(command_, folder, how);
    out.seconds = ended.seconds;
    judge(ended, events_of(folder), out);
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return out;
  }

  static void judge(const Ended& ended, const std::vector<nlohmann::json>& events, TriedMistake& out) {
    // The outcomes of launches, the one that says most first.
    constexpr std::pair<std::string_view, Noticed> kOutcomes[] = {
        {"fault", Noticed::fault},        {"bytes", Noticed::bytes}, {"finding", Noticed::finding},
        {"values", Noticed::values},      {"sizes", Noticed::sizes}, {"same", Noticed::same},
        {"no_effect", Noticed::no_effect}};
    bool is_planted = false;
    std::size_t best = std::size(kOutcomes);
    for (const nlohmann::json& one : events) {
      is_planted = is_planted || is_event(one, "planted");
      const auto* const found =
          std::ranges::find(kOutcomes, one.value("outcome", ""), [](const auto& row) { return row.first; });
      if (is_event(one, "launch") || is_event(one, "source"))
        best = std::min(best, static_cast<std::size_t>(found - std::begin(kOutcomes)));
      out.inputs += one.value("inputs", 0);
      if (out.fault.empty()) out.fault = one.value("what", "");
    }
    out.outcome = best == std::size(kOutcomes) ? Noticed::not_planted : kOutcomes[best].second;
    const auto kind = std::ranges::find(noticing::kind_rows(), out.kind, &noticing::KindRow::name);
    if (out.outcome == Noticed::no_effect && kind != noticing::kind_rows().end() && kind->is_order)
      out.outcome = Noticed::same;
    if (!is_planted)
      out.outcome = Noticed::not_planted;
    else if (ended.how == Ended::How::out_of_time)
      out.outcome = Noticed::endless;
    else if (ended.status != 0)
      out.outcome = out.fault.empty() ? Noticed::by_test : Noticed::by_fault;
  }

  std::span<const std::string> command_;
  const NoticeOptions& options_;
  noticing::Folder folder_;
  NoticeReport out_;
};

}  // namespace

Result<NoticeReport> notice(std::span<const std::string> command, const NoticeOptions& options) {
  if (std::optional<Error> refused = check(command, options)) return *std::move(refused);
  return Run(command, options).run();
}

std::vector<Remark> remarks(const NoticeReport& report) {
  std::vector<Remark> out;
  for (const TriedMistake& one : report.tried) {
    const NoticedRow& outcome = row(one.outcome);
    if (!outcome.is_survivor) continue;
    const auto kind = std::ranges::find(mistake_kinds(), one.kind, &MistakeKind::name);
    Remark& next = out.emplace_back(
        Remark{"unnoticed_" + one.kind, fmt::format("{}, and the test passes", kind->sentence), Grade::finding,
               fmt::format("{}: {}. Cure: {}\n- {}\n+ {}", one.sentence, outcome.sentence, outcome.cure,
                           one.before, one.after.empty() ? "(nothing)" : one.after),
               function_name(one.kernel)});
    if (one.source.line > 0) next.at.push_back({one.source.file, one.source.line});
    if (!one.file.empty() && !one.is_in_source)
      next.at.push_back({one.file, one.line, 0, next.at.empty() ? "" : "PTX"});
  }
  return out;
}

}  // namespace warpbit
