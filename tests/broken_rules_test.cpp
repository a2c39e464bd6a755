// SPDX-License-Identifier: Apache-2.0
// Grades of rules: tests/broken/RULE.ptx has two kernels for each rule of kernel_rules(), `broken`, which breaks that rule and
// no other, and `kept`, its correct neighbour. Both have the head of the file (kernel_head.hpp), which says what a launch says of
// `broken`. doc/guide/messages.md is a page of all that. Where words change, or a rule is new, `ptx_tests '[retell]'` writes heads
// and page anew, for a person to read.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "kernel_head.hpp"
#include "warpbit/kernel_rules.hpp"

namespace broken_rules_test {

using namespace warpbit;
using kernel_head::Case;

struct Outcome {
  ptx::Report report;
  std::vector<std::vector<std::byte>> bytes;  // of the arrays
  std::string difference;                     // from the head
};

/// A file, and launches of its kernels.
class File {
 public:
  explicit File(std::string_view rule) {
    std::ifstream in(fmt::format("tests/broken/{}.ptx", rule));
    if (!in) FAIL("there is no tests/broken/" << rule << ".ptx");
    text_.assign(std::istreambuf_iterator<char>(in), {});
    const Result<ptx::Module> module = ptx::Module::load(text_);
    if (!module) FAIL(module.error().message());
    module_ = *module;
  }

  const std::string& text() const { return text_; }
  /// What a launch says of `broken`.
  std::string says() const {
    const ptx::Report report = launch("broken", [](ptx::Launch& how) { how.lenient = true; }).report;
    return report.findings.empty() ? "" : report.findings.front().fault.message();
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
  std::string text_;
  std::optional<ptx::Module> module_;
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
    const File file(rule.name);
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
    const File file(rule.name);
    const Outcome by_default = file.launch("broken");
    CHECK(found(by_default.report) == only(rule.by_default, rule));
    if (rule.by_default != Grade::fault) CHECK(by_default.difference == "");
    CHECK(found(file.launch("broken", strict).report) == only(rule.strict, rule));
  }
}

// What a page says of all rules; `says`: of the kernel of one.
std::string page(const std::function<std::string(const KernelRuleInfo&)>& says) {
  std::string out =
      "# What a launch says where a rule is broken\n\n"
      "For each of [the rules](rules.md) the words of a launch whose kernel breaks it: what was seen, by "
      "which statement, and\nwhat would be right; then the kernel with the block and the address, and a "
      "line for each side. With `nvcc -lineinfo` a side\nbegins with its lines in the kernel's file, of the "
      "kernel and of the functions that it calls; a line below it has those of\nother files.\n\n"
      "<!-- tests/broken -->\n";
  for (const KernelRuleInfo& rule : kernel_rules())
    out += fmt::format("\n## {}\n\nA {} by default: a kernel keeps it if {}.\n\n```text\n{}\n```\n", rule.name,
                       name(rule.by_default), rule.says, says(rule));
  return out;
}
std::string content(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("of a broken rule a launch says what the head of its kernel says") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule.name);
    CHECK(file.says() == Case(file.text()).says);
  }
}

TEST_CASE("a page has what launches say of all rules") {
  const std::string whole = page([](const KernelRuleInfo& rule) { return Case(File(rule.name).text()).says; });
  CHECK(content("doc/guide/messages.md") == whole);
}

// With other lines above it a statement has another line: the second time says what stays.
void retell(const KernelRuleInfo& rule) {
  for (int time = 0; time < 2; ++time) {
    const File file(rule.name);
    std::istringstream old(file.text());
    std::string head, rest, says = "// says: " + file.says() + "\n";
    for (std::size_t at = 0; (at = says.find('\n', at)) + 1 < says.size(); ++at)
      says.insert(at + 1, "// says: ");
    for (std::string line; std::getline(old, line);) {
      if (line.starts_with("// says:")) continue;
      (line.starts_with("//") && rest.empty() ? head : rest) += line + "\n";
    }
    std::ofstream(fmt::format("tests/broken/{}.ptx", rule.name)) << head << says << rest;
  }
}

TEST_CASE("words are written anew", "[.][retell]") {
  for (const KernelRuleInfo& rule : kernel_rules()) retell(rule);
  std::ofstream("doc/guide/messages.md")
      << page([](const KernelRuleInfo& rule) { return File(rule.name).says(); });
}

TEST_CASE("behind a broken rule a lenient launch does what it does without checks") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule.name);
    const Outcome goes_on = file.launch("broken", lenient), unchecked = file.launch("broken", without_checks);
    CHECK(found(goes_on.report) == only(std::min(rule.by_default, Grade::finding), rule));
    CHECK(found(unchecked.report).empty());
    CHECK(goes_on.bytes == unchecked.bytes);
  }
}

TEST_CASE("a rule has the grade that a launch gives it by name") {
  for (const KernelRuleInfo& rule : kernel_rules()) {
    INFO(rule.name);
    const File file(rule.name);
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
  const ptx::Report report = File("data_race")
                                 .launch("kept",
                                         [](ptx::Launch& how) {
                                           how.grades = {{"no_such_rule", Grade::silent}};
                                         })
                                 .report;
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::no_such_kernel_rule);
}

}  // namespace broken_rules_test
