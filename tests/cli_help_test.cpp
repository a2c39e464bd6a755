// SPDX-License-Identifier: Apache-2.0
// The help of each command, and readers that go away.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tool.hpp"

namespace {

using namespace tool;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// "  verify                      replay capture files ..."
Names commands() {
  Names out;
  bool is_list = false;
  for (const std::string& line : run({"--help"}).lines()) {
    if (is_list && line.empty()) break;
    if (is_list) out.push_back(line.substr(2, line.find(' ', 2) - 2));
    is_list = is_list || line == "Subcommands:";
  }
  return out;
}

// The lines below "Examples:".
Names examples_of(const Output& help) {
  Names out;
  bool is_list = false;
  for (const std::string& line : help.lines()) {
    if (is_list && line.starts_with("  ")) out.push_back(line.substr(2));
    is_list = line == "Examples:" || (is_list && line.starts_with("  "));
  }
  return out;
}

TEST_CASE("every example in a command's help works", "[quick][cli]") {
  const Directory directory;
  fs::create_directory_symlink(fs::absolute("golden"), directory.path / "golden");
  fs::create_symlink(named("WARPBIT_CLI"), directory.path / "warpbit");
  const std::string begin = fmt::format("cd {0}; PATH={0}:$PATH; ", shell_word(directory.path.string()));
  const Names all = commands();
  REQUIRE(all.size() >= 7);
  for (const std::string& command : all) {
    const Names examples = examples_of(run({command, "--help"}));
    INFO(command);
    CHECK(examples.size() >= 2);
    for (const std::string& example : examples) {
      INFO(example);
      CHECK_THAT(example, Catch::Contains("warpbit " + command));
      const Output output = shell(begin + example);
      CHECK((output.status == 0 || output.status == 1));
      CHECK_FALSE(output.out.empty());
      CHECK_THAT(output.err, !Catch::Contains("warpbit:"));
    }
  }
  CHECK_THAT(run({"--help"}).out, Catch::Contains("0 yes, 1 no, 2 could not answer"));
}

// What bash offers for a line, whose last word is being typed.
Names completed(const Names& words) {
  std::string line;
  for (const std::string& word : words) line += shell_word(word) + " ";
  const std::string script = fmt::format(
      "source <({} completion bash); COMP_WORDS=({}); COMP_CWORD={}; _warpbit; printf '%s\\n' "
      "\"${{COMPREPLY[@]}}\"",
      shell_word(named("WARPBIT_CLI")), line, words.size() - 1);
  const Output output = shell("bash -c " + shell_word(script));
  CHECK(output.status == 0);
  CHECK(output.err.empty());
  return output.lines();
}

TEST_CASE("shells complete commands, options and their values", "[quick][cli]") {
  for (const std::string name : {"bash", "zsh", "fish"}) {
    const Output script = run({"completion", name});
    CHECK(script.status == 0);
    for (const std::string& command : commands()) CHECK_THAT(script.out, Catch::Contains(command));
    if (!find_command({name}, "--version").empty()) {
      const Output checked = shell(name + " -n", script.out);
      INFO(name << ": " << checked.err);
      CHECK(checked.status == 0);
    }
  }
  CHECK(run({"completion", "csh"}).status == 2);
  CHECK(run({"completion"}).status == 2);
  if (find_command({"bash"}, "--version").empty()) return;
  CHECK(completed({"warpbit", "che"}) == Names{"check"});
  CHECK(completed({"warpbit", "check", "--ta"}) == Names{"--target"});
  CHECK(completed({"warpbit", "check", "--target", "sm_90"}) == Names{"sm_90", "sm_90a"});
  CHECK(completed({"warpbit", "format", "e4"}) == Names{"e4m3"});
  CHECK(completed({"warpbit", "format", "e4m3", "1", "--round", "rn"}) == Names{"rn", "rna"});
  CHECK(completed({"warpbit", "verify", "--undefined", ""}) == Names{"error", "as-measured"});
  CHECK(completed({"warpbit", "man", "li"}) == Names{"list"});
  CHECK(completed({"warpbit", "verify", "--bisect", ""}) == Names{""});  // left to the shell
}

TEST_CASE("manual pages are troff without warnings", "[quick][cli]") {
  Names pages = commands();
  CHECK(std::ranges::find(pages, "man") != pages.end());
  pages.emplace_back("");
  const bool has_groff = !find_command({"groff"}, "--version").empty();
  for (const std::string& page : pages) {
    INFO(page);
    const Output output = page.empty() ? run({"man"}) : run({"man", page});
    CHECK(output.status == 0);
    CHECK_THAT(output.out, Catch::StartsWith(page.empty() ? ".TH WARPBIT 1 " : ".TH WARPBIT-"));
    if (!has_groff) continue;
    const Output text = shell("groff -man -Tascii -ww", output.out);
    CHECK(text.status == 0);
    CHECK(text.err.empty());
    CHECK_THAT(text.out, Catch::Contains("could not answer"));
  }
  CHECK_THAT(run({"man", "chek"}).err, Catch::Contains("'chek'; expected one of verify, diff, check, "));
}

// The statuses of the tool and of head.
TEST_CASE("a reader that goes away is no message", "[quick][cli]") {
  if (find_command({"bash"}, "--version").empty()) {
    WARN("no bash");
    return;
  }
  const auto in_bash = [](const std::string& command) { return shell("bash -c " + shell_word(command)); };
  const std::string tool = shell_word(named("WARPBIT_CLI"));
  const std::string statuses = "; echo \"${PIPESTATUS[*]}\"";
  for (const std::string command : {"list --forms", "format e4m3 --table --json", "--help"}) {
    INFO(command);
    // All is written long before the reader goes, or long after.
    for (const std::string reader : {"head -1", "true", "sleep 0"}) {
      const Output killed = in_bash(tool + " " + command + " | " + reader);
      CHECK(killed.err.empty());
      const Output ignored = in_bash("trap '' PIPE; " + tool + " " + command + " | " + reader);
      CHECK(ignored.err.empty());
    }
    const Output late =
        in_bash("trap '' PIPE; { sleep 0.2; " + tool + " " + command + "; echo $? >&2; } | true");
    CHECK(late.err == "2\n");
  }
  const Output head = in_bash("trap '' PIPE; " + tool + " list --forms | head -1" + statuses);
  CHECK(head.err.empty());
  REQUIRE(head.lines().size() == 2);
  CHECK(head.lines()[0].starts_with("form "));
  CHECK(head.lines()[1] == "2 0");
  // What is no pipe is still an error.
  const Output full = in_bash(tool + " format >/dev/full");
  CHECK(full.status == 2);
  CHECK_THAT(full.err, Catch::StartsWith("warpbit: "));
}

}  // namespace
