// SPDX-License-Identifier: Apache-2.0
// Would a test notice a mistake in a kernel? The test is run once as it is, and then once for each mistake, which is planted in
// the PTX of a kernel when the test loads it, or in what a kernel in source (device.hpp) calls. No file is changed.
//
//     auto report = notice({"pytest", "tests/test_gemm.py"});
//     report->score()                                    // 0.86: of 57 mistakes that change something the test notices 49
//     for (const TriedMistake& one : report->tried) ...  // one.line, one.before, one.after, one.outcome
//
// And what is wrong in the launches of a test as it is:
//
//     auto found = findings({"pytest", "tests/test_gemm.py"});
//     std::ofstream("gemm.sarif") << sarif(found->remarks, review_root());
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/detail/source.hpp"
#include "warpbit/replay.hpp"  // Shard
#include "warpbit/result.hpp"
#include "warpbit/review.hpp"

#pragma GCC visibility push(default)
namespace warpbit {

/// A kind of mistakes.
struct MistakeKind {
  std::string_view name;      ///< "barrier"
  std::string_view sentence;  ///< "a barrier is left out"
};
/// All of them, in the order in which they are told.
std::span<const MistakeKind> mistake_kinds();

/// A mistake in a statement of a kernel in PTX, or in a call of one in source.
struct Mistake {
  std::string kind;           ///< of mistake_kinds()
  std::string sentence;       ///< "the barrier is left out"
  std::string kernel;         ///< the function that has the statement; empty in source
  std::string file;           ///< of the module, empty if it was not loaded from one; or of the source
  int line = 0;               ///< of the module's text, or of the source
  std::string before;         ///< the statement in one line, with its guard; or what is called
  std::string after;          ///< what stands there instead, in one line; empty: nothing
  SourceLink source;          ///< by .loc: the innermost line in the file of the function; line 0 without it
  std::string source_text;    ///< that line, if the file can be read
  bool is_in_source = false;  ///< `source` is where it is, too
};

/// What became of a test with a mistake.
enum class Noticed : std::uint8_t {
  by_test,   ///< it fails, and no launch had a fault: its own assertions have noticed it
  by_fault,  ///< it fails, and a launch had a fault or a new finding: the checks of launches notice it, whatever the test asserts
  endless,   ///< it has not ended in ten times the time
  bytes,     ///< it passes, though launches leave other bytes in memory
  fault,     ///< it passes, though a launch has a fault
  finding,  ///< it passes, and launches leave the same bytes, but one has a finding that it has not without the mistake
  values,        ///< it passes, and launches leave the same; with other values in the arrays they do not
  sizes,         ///< the same, where an integer argument is smaller, or the grid has a block more
  not_executed,  ///< no launch executes the statement; of calls in source those alone are known that one executes
  same,  ///< it passes, and launches leave the same with other values and sizes, too: it may be no mistake at all
  no_effect,  ///< the same, and no other statement of the first block reads or writes anything else; of no mistake in the order of accesses
  not_planted,  ///< the module was not loaded again, or not the same one, or nothing was called there, or there was no time to compare: nothing is known
};
/// What is said of an outcome.
struct NoticedRow {
  Noticed value;
  std::string_view name;      ///< as in `--json`: "by_test"
  std::string_view sentence;  ///< "the test fails"
  std::string_view cure;      ///< what would notice such a mistake; empty if it is noticed
  bool is_noticed, is_survivor;
};
/// The table of these.
std::span<const NoticedRow> noticed_rows();
const NoticedRow& row(Noticed value);

/// A mistake with which the test was run.
struct TriedMistake : Mistake {
  Noticed outcome = Noticed::not_planted;
  int inputs = 0;      ///< how many other inputs left the same
  std::string fault;   ///< of a launch, if there was one; else its finding
  double seconds = 0;  ///< of the test
  std::string saved;   ///< the file of the module with the mistake, if one was asked for
};

/// How to try mistakes.
struct NoticeOptions {
  std::size_t most = 60;                ///< mistakes to try: of each kind about as many; 0: all
  std::uint64_t seed = 0;               ///< which ones are chosen
  double seconds = 0;                   ///< none begins later; 0: any time
  int jobs = 0;                         ///< tests at a time; 0: as many as there are processors
  Shard shard = {};                     ///< of the chosen ones, those that are tried
  std::vector<std::string> kinds = {};  ///< these alone; empty: all
  std::vector<std::string> kernels =
      {};  ///< in these functions of PTX alone; empty: in all that were launched, and what they call
  std::vector<std::string> at =
      {};  ///< in statements at these lines alone, "131" of the PTX, "gemm.cu:40" of the source
  std::filesystem::path save = {};  ///< a folder for the modules with their mistakes, one a file; empty: none
  const std::atomic<bool>* stop =
      {};  ///< when it is set, no further one begins, and those that run are not judged
  /// Called after each, by one thread at a time.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
};

/// What a test notices.
struct NoticeReport {
  enum class State : std::uint8_t {
    tried,      ///< all that is below is known
    not_run,    ///< the command cannot be run
    fails,      ///< the test fails as it is
    no_kernel,  ///< it launches none in which a mistake can be
  } state = State::tried;
  int status = 0;                            ///< of the command as it is
  std::string output;                        ///< the end of what it printed, if it was not successful
  double seconds = 0;                        ///< of the test as it is
  std::uint64_t launches = 0;                ///< in it, of kernels in PTX
  std::uint64_t source_launches = 0;         ///< of kernels in source (device.hpp)
  std::vector<std::string> kernels;          ///< in PTX that were launched
  std::size_t statements = 0, executed = 0;  ///< of the functions in which mistakes may be, and calls in source
  std::size_t possible = 0;                  ///< mistakes that there are
  std::size_t chosen = 0;                    ///< of these, for all shards
  bool is_stable = true;                     ///< as it is, it passed again in the end
  std::size_t out_of_time = 0;               ///< of the chosen ones, not begun or not judged
  std::vector<TriedMistake> tried;

  std::size_t count(Noticed outcome) const;
  /// Of the mistakes that were noticed or survived: those that are no survivors. 1 if there are none.
  double score() const;
  std::size_t noticed() const;
  std::size_t survivors() const;
};

/// Runs a command, as a shell would find it, once as it is, and for each mistake once more. Errors: usage for an unknown kind, a
/// shard that there is not, an empty command, a process that is such a test itself, or modules to save where there are none.
Result<NoticeReport> notice(std::span<const std::string> command, const NoticeOptions& options = {});

/// The survivors, for a review: each at its line of the source, or of the PTX.
std::vector<Remark> remarks(const NoticeReport& report);

/// What the launches of a test do wrong.
struct FindingsReport {
  enum class State : std::uint8_t {
    ran,        ///< all that is below is known
    not_run,    ///< the command cannot be run
    no_kernel,  ///< it launches no kernel
  } state = State::ran;
  int status = 0;                     ///< of the command
  std::string output;                 ///< the end of what it printed, unless it was shown
  double seconds = 0;                 ///< of the test
  std::uint64_t launches = 0;         ///< of kernels in PTX
  std::uint64_t source_launches = 0;  ///< of kernels in source (device.hpp)
  std::vector<std::string> kernels;   ///< in PTX that were launched, as people write their names
  std::vector<Remark>
      remarks;  ///< of all launches, of assert_bits_equal of Python and EqualBits of C++; those of one place once

  /// Whether one of them is a fault or a finding.
  bool has_findings() const;
};

/// Runs a command, as a shell would find it, and collects what is wrong in its launches, whatever the test makes of it. `shows`:
/// what it prints is shown as it comes. Errors: usage for an empty command, or a process that is watched itself.
Result<FindingsReport> findings(std::span<const std::string> command, bool shows = false);

}  // namespace warpbit
#pragma GCC visibility pop
