// SPDX-License-Identifier: Apache-2.0
// Grades of rules: tests/broken/RULE.ptx has two kernels for each rule of kernel_rules(), `broken`, which breaks that rule and
// no other, and `kept`, its correct neighbour. tests/faults/NAME.ptx has `broken`, whose fault is of no rule; some `kept`. All have the
// head of the file (kernel_head.hpp), which says what a launch says of `broken`. doc/guide/messages.md is a page of all that. Where
// words change, or a rule is new, `ptx_tests '[retell]'` writes heads and page anew, for a person to read.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "kernel_head.hpp"
#include "warpbit/result.hpp"

namespace broken_rules_test {

using namespace warpbit;
using kernel_head::Case;

struct Outcome {
  ptx::Report report;
  std::vector<std::vector<std::byte>> bytes;  // of the arrays
  std::string difference;                     // from the head
};

void strict(ptx::Launch& how) {
  how.strict = true;
}
void lenient(ptx::Launch& how) {
  how.lenient = true;
}
void without_checks(ptx::Launch& how) {
  how.check_shared = false;
}

/// A file, and launches of its kernels.
class File {
 public:
  explicit File(const KernelRuleInfo& rule) : File(fmt::format("broken/{}", rule.name)) {}
  explicit File(const std::string& name) : path_(fmt::format("tests/{}.ptx", name)) {
    std::ifstream in(path_);
    if (!in) FAIL("there is no " << path_);
    text_.assign(std::istreambuf_iterator<char>(in), {});
    const Result<ptx::Module> module = ptx::Module::load(text_);
    if (!module) FAIL(module.error().message());
    module_ = *module;
  }

  const std::string& path() const { return path_; }
  const std::string& text() const { return text_; }
  /// The second line: what the kernel does.
  std::string does() const {
    const std::size_t first = text_.find('\n') + 4;
    return text_.substr(first, text_.find('\n', first) - first);
  }
  /// What a launch says of `broken`; of a rule that is silent by default, a strict one.
  std::string says() const {
    const std::string said = first_of(launch("broken", lenient).report);
    return said.empty() ? first_of(launch("broken", strict).report) : said;
  }

  Outcome launch(std::string_view entry, const std::function<void(ptx::Launch&)>& set = {}) const {
    const Result<ptx::Function> kernel = module_->function(entry);
    if (!kernel) FAIL(kernel.error().message());
    Case test(text_);
    test.how.step_limit = 100'000;
    if (set) set(test.how);
    Outcome out{kernel->launch(test.how, test.arguments), {}, ""};
    for (const auto& array : test.arrays) {
      out.bytes.push_back(array->bytes);
      if (out.difference.empty()) out.difference = difference(*array);
    }
    return out;
  }

 private:
  static std::string first_of(const ptx::Report& report) {
    if (!report.findings.empty()) return report.findings.front().fault.message();
    return report.fault ? report.fault->message() : "";
  }

  std::string path_, text_;
  std::optional<ptx::Module> module_;
};

/// The rules of what is found, each with its grade: "finding data_race".
std::set<std::string> found(const ptx::Report& report) {
  std::set<std::string> all;
  const auto add = [&](const Fault& fault, Grade grade) {
    UNSCOPED_INFO(fault.message());
    all.insert(fmt::format("{} {}", name(grade), name(fault.rule)));
  };
  if (report.fault) add(*report.fault, Grade::fault);
  for (const ptx::Finding& one : report.findings) add(one.fault, one.grade);
  return all;
}
std::set<std::string> only(Grade grade, const KernelRuleInfo& rule) {
  if (grade == Grade::silent) return {};
  return {fmt::format("{} {}", name(grade), rule.name)};
}

TEST_CASE("each rule has a kernel that breaks it") {
  std::set<std::string> files, rules;
  for (const auto& entry : std::filesystem::directory_iterator("tests/broken"))
    files.insert(entry.path().filename().string());
  for (const KernelRuleInfo& rule : kernel_rules()) rules.insert(fmt::format("{}.ptx", rule.name));
  CHECK(files == rules);
}

TEST_CASE("a kernel that keeps a rule has no finding, and its bytes") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule);
    for (const Outcome& kept :
         {file.launch("kept"), file.launch("kept", strict), file.launch("kept", lenient)}) {
      CHECK(found(kept.report).empty());
      CHECK(kept.difference == "");
    }
  }
}

TEST_CASE("a broken rule has the grade of the table") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule);
    const Outcome by_default = file.launch("broken");
    CHECK(found(by_default.report) == only(rule.by_default, rule));
    if (rule.by_default != Grade::fault) CHECK(by_default.difference == "");
    CHECK(found(file.launch("broken", strict).report) == only(rule.strict, rule));
  }
}

/// Those of tests/faults, by name.
std::vector<std::string> faults() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("tests/faults"))
    out.push_back(fmt::format("faults/{}", entry.path().stem().string()));
  std::ranges::sort(out);
  return out;
}
const std::string kInlined = "inlined/stores_and_loads";

constexpr std::string_view kIntroduction = R"(# What a launch says of a mistake

For each of [the rules](rules.md), and for the faults that break none, the words of a launch of a small kernel.

## How to read it

)";

constexpr std::string_view kWords = R"(
1. The statement at which the launch sees the mistake; what was seen; and after the last `;`, where there is one, what would be
   right. Words in brackets are remarks.
2. The kernel, the block, and the address with the name of its variable.
3. A line for each side: first that of the statement above (*this* statement, *this* thread), then the other one; then lines that
   say what else belongs to it. Each line but the first ends with what that thread did there.
   With `nvcc -lineinfo` a side begins with its lines in the kernel's file, of the kernel and of the functions there that it calls,
   the outermost first (`kernel.cu:46 > 43 > 35`); a line with `in` has those of the next file. Here line 18 of kernel.cu calls
   `Tile::load`, whose line 13 of tile.hpp calls a function whose line 5 is the load.
   `kernel.cu:24 (20 > 7 > 24 > 4)` is told by its line 24: a lambda of the kernel, which a helper calls back; or the line at which
   both sides part, if they come by one line of the kernel.
   `kernel.cu:26 or 28` is one of the two: of copies by an unrolled loop nvcc does not always say which call they come from. The
   warps of a deadlock come first, with what each waits for, and then where that was initialised.

Below that, `warpbit launch` prints the grade and the rule: `fault of the rule data_race`. In Python and C++ a fault has its
`rule`. Byte numbers with `0x` are addresses; others count from the first byte of an array.

| word | what it means here |
|---|---|
| copy | `cp.async`, `cp.async.bulk` or `cp.async.bulk.tensor`: the thread goes on while it moves bytes |
| tile | the bytes of shared memory that a matrix, or a copy by a tensor map, has |
| flag | a word that one thread writes when other bytes are ready, and that another one reads until it has changed |
| barrier | what makes threads wait for each other: `bar.sync` (`__syncthreads`), `bar.warp.sync`, `barrier.cluster` (`barrier.cluster.arrive` and then `barrier.cluster.wait`; the arrival alone does not suffice). All threads that it counts must execute it: put it outside of branches that only some of them take, or count those (`bar.sync 1, 128`). Whole warps must execute `wgmma.wait_group`, `tcgen05.dealloc` and all else that is `.aligned` |
| in use | an mbarrier whose phase waits for arrivals or bytes, or which somebody still tests |
| phase, parity | the phases of an mbarrier have numbers from 0 on; the parity of a phase, which `try_wait.parity` takes, is the last bit of its number |
| proxy | the way to memory: `ld` and `st` take the generic proxy, bulk copies, `wgmma` and `tcgen05` the async one |
| block (1, 0, 0) | by its `%ctaid` |
| block 1 of the cluster | by its `%cluster_ctarank` |
| pair | of `.cta_group::2`: the blocks of a cluster with ranks 2i and 2i + 1 |
| lane of tensor memory | one of its 128 rows; a lane of a warp is a thread |
| LBO, SBO | the leading and the stride dimension byte offset of a descriptor, in bytes; the descriptor has a sixteenth of them |

## Where a rule is broken

<!-- tests/broken -->
)";

// What a page says of all rules and faults; `says`: of a file.
std::string page(const std::function<std::string(const File&)>& says) {
  const auto block = [&](const File& file) { return fmt::format("```text\n{}\n```\n", says(file)); };
  std::string out(kIntroduction);
  out += block(File(kInlined));
  out += kWords;
  for (const KernelRuleInfo& rule : kernel_rules())
    out += fmt::format(
        "\n### {}\n\nGrade: {}{}. The rule: {}.\n\n{}", rule.name, name(rule.by_default),
        rule.by_default == Grade::silent ? "; with `--strict` " + std::string(name(rule.strict)) : "",
        rule.says, block(File(rule)));
  out += "\n## Faults that belong to no rule\n\nThey end every launch.\n\n<!-- tests/faults -->\n";
  for (const std::string& fault : faults()) {
    const File file(fault);
    std::string title = fault.substr(fault.find('/') + 1);
    std::ranges::replace(title, '_', ' ');
    out += fmt::format("\n### {}\n\n{}\n\n{}", title, file.does(), block(file));
  }
  return out;
}
std::string content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("of a broken rule a launch says what the head of its kernel says") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule);
    CHECK(file.says() == Case(file.text()).says);
  }
  const File inlined(kInlined);
  CHECK(inlined.says() == Case(inlined.text()).says);
}

TEST_CASE("of a fault of no rule every launch says what the head of its kernel says") {
  for (const std::string& fault : faults()) {
    INFO(fault);
    const File file(fault);
    CHECK(file.says() == Case(file.text()).says);
    for (const Outcome& out :
         {file.launch("broken"), file.launch("broken", lenient), file.launch("broken", strict)}) {
      CHECK(out.report.findings.empty());
      REQUIRE(out.report.fault);
      CHECK(out.report.fault->rule == KernelRule::none);
      CHECK(out.report.fault->message() == Case(file.text()).says);
    }
    if (file.text().find(".entry kept(") == std::string::npos) continue;
    for (const Outcome& kept : {file.launch("kept"), file.launch("kept", strict)}) {
      CHECK(found(kept.report).empty());
      CHECK(kept.difference == "");
    }
  }
}

TEST_CASE("a page has what launches say of all rules and faults") {
  CHECK(content("doc/guide/messages.md") == page([](const File& file) { return Case(file.text()).says; }));
}

// With other lines above it a statement has another line: the second time says what stays.
void retell(const std::string& name) {
  for (int time = 0; time < 2; ++time) {
    const File file(name);
    std::istringstream old(file.text());
    std::string head, rest, says = "// says: " + file.says() + "\n";
    for (std::size_t at = 0; (at = says.find('\n', at)) + 1 < says.size(); ++at)
      says.insert(at + 1, "// says: ");
    for (std::string line; std::getline(old, line);) {
      if (line.starts_with("// says:")) continue;
      (line.starts_with("//") && rest.empty() ? head : rest) += line + "\n";
    }
    std::ofstream(file.path()) << head << says << rest;
  }
}

TEST_CASE("words are written anew", "[.][retell]") {
  for (const KernelRuleInfo& rule : kernel_rules()) retell(fmt::format("broken/{}", rule.name));
  for (const std::string& fault : faults()) retell(fault);
  retell(kInlined);
  std::ofstream("doc/guide/messages.md") << page([](const File& file) { return file.says(); });
}

TEST_CASE("behind a broken rule a lenient launch does what it does without checks") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule);
    const Outcome goes_on = file.launch("broken", lenient), unchecked = file.launch("broken", without_checks);
    CHECK(found(goes_on.report) == only(std::min(rule.by_default, Grade::finding), rule));
    CHECK(found(unchecked.report).empty());
    CHECK(goes_on.bytes == unchecked.bytes);
  }
}

TEST_CASE("a rule has the grade that a launch gives it by name") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule);
    const auto graded = [&](Grade grade) {
      return file.launch("broken", [&](ptx::Launch& how) { how.grades = {{std::string(rule.name), grade}}; });
    };
    const Outcome silent = graded(Grade::silent);
    CHECK(found(silent.report).empty());
    CHECK(silent.bytes == file.launch("broken", without_checks).bytes);
    for (const Grade grade : {Grade::note, Grade::finding, Grade::fault})
      CHECK(found(graded(grade).report) == only(grade, rule));
  }
}

TEST_CASE("a grade for a rule that is not there is refused") {
  const ptx::Report report = File("broken/data_race")
                                 .launch("kept",
                                         [](ptx::Launch& how) {
                                           how.grades = {{"no_such_rule", Grade::silent}};
                                         })
                                 .report;
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::no_such_kernel_rule);
}

}  // namespace broken_rules_test
