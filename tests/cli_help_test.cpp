// SPDX-License-Identifier: Apache-2.0
// The help of each command, and readers that go away.
#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <regex>

#include "in_turn.hpp"
#include "on_terminal.hpp"

namespace cli_help_test {

using namespace tool;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// "  verify                      replay capture files ..."
Names commands() {
  Names out;
  bool is_list = false;
  for (const std::string& line : run({"--help"}).lines()) {
    if (is_list && line.empty()) break;
    if (is_list && line.find_first_not_of(' ') == 2) out.push_back(line.substr(2, line.find(' ', 2) - 2));
    is_list = is_list || line == "Subcommands:";
  }
  return out;
}

// The lines below "Examples:", those that a backslash breaks in one.
Names examples_of(const Output& help) {
  Names out;
  bool is_list = false, goes_on = false;
  for (const std::string& line : help.lines()) {
    is_list = is_list && line.starts_with("  ");
    const std::string text = is_list ? line.substr(line.find_first_not_of(' ')) : "";
    if (is_list && goes_on)
      out.back() = out.back().substr(0, out.back().size() - 1) + text;
    else if (is_list)
      out.push_back(text);
    goes_on = is_list && text.ends_with('\\');
    is_list = is_list || line == "Examples:";
  }
  return out;
}

// Lines that are wider, though they could have been broken at a blank.
Names too_wide(const std::string& text, std::size_t columns) {
  Names out;
  std::istringstream in(seen(text));
  for (std::string line; std::getline(in, line);) {
    if (line.size() <= columns) continue;
    const std::size_t first = line.find_first_not_of(' ');
    const std::string word = std::regex_replace(line, std::regex("'[^']*'"), "''");
    const bool is_word = first != line.npos && word.find(' ', first) >= word.find_last_not_of(" \\");
    if (!is_word) out.push_back(line);
  }
  return out;
}

// A folder with the tool, golden/ and examples/.
struct Place {
  Directory directory;

  Place() {
    for (const char* const folder : {"golden", "examples"})
      fs::create_directory_symlink(fs::absolute(folder), directory.path / folder);
    fs::create_symlink(named("WARPBIT_CLI"), directory.path / "warpbit");
  }
  // Before a command of the shell.
  std::string begin() const {
    return fmt::format("cd {0}; PATH={0}:$PATH; ", shell_word(directory.path.string()));
  }
};

TEST_CASE("every example in a command's help works", "[quick][cli][once]") {
  const Place place;
  const std::string begin = place.begin();
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

TEST_CASE("helps name values by what they are", "[quick][cli][once]") {
  const std::regex types("\\b(TEXT|UINT|INT|FLOAT|NONNEGATIVE|POSITIVE|REQUIRED)\\b");
  for (const std::string& command : commands()) {
    std::smatch found;
    const std::string help = run({command, "--help"}).out;
    std::regex_search(help, found, types);
    INFO(command);
    CHECK(found.str() == "");
  }
}

TEST_CASE("help and examples fit the terminal", "[quick][cli][once]") {
  const auto columns = GENERATE(as<unsigned short>{}, 80, 120);
  const Place place;
  Names all = commands();
  const auto check = [&](const std::string& command) {
    INFO(command);
    const Output shown = on_terminal(columns, place.begin() + command);
    CHECK((shown.status == 0 || shown.status == 1));
    CHECK_FALSE(shown.out.empty());
    CHECK(too_wide(shown.out, columns) == Names{});
  };
  check("warpbit --help");
  for (const std::string& command : all) {
    check("warpbit " + command + " --help");
    // Scripts are for shells.
    if (command == "completion" || command == "man") continue;
    for (const std::string& example : examples_of(run({command, "--help"})))
      if (!example.ends_with("-json") && !example.ends_with("--csv") && !example.ends_with("--markdown"))
        check(example);
  }
}

TEST_CASE("bad arguments give one message, on a terminal, too", "[quick][cli][sampled]") {
  const std::string tool = shell_word(named("WARPBIT_CLI"));
  std::size_t turn = 0;
  for (const std::string& command : commands()) {
    ++turn;
    std::size_t which = 0;
    for (const std::string bad : {" --nonsense", " x y z a b c d", ""}) {
      if (!has_turn(turn, which++, 3)) continue;
      if (command == "list" || command == "man" || command == "format")
        if (bad.empty()) continue;                      // lists all, is the page of the tool
      if (command == "ask" && bad[1] == 'x') continue;  // which answers any words
      INFO(command << bad);
      const Output piped = shell(tool + " " + command + bad);
      CHECK(piped.status == 2);
      CHECK_FALSE((piped.out + piped.err).empty());
      CHECK_THAT(piped.out + piped.err, !Catch::Contains("\033"));
      const Output plain = on_terminal(80, "NO_COLOR=1 " + tool + " " + command + bad);
      CHECK_FALSE(std::regex_search(plain.out, std::regex("\033\\[[0-9;]*m")));
      CHECK(on_terminal(80, tool + " " + command + bad).status == 2);
    }
  }
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
  if (!find_command({"fish"}, "--version").empty()) {
    const auto offered = [&](const std::string& line) {
      const Output output = shell("fish -N -c " + shell_word("source; complete -C " + shell_word(line)),
                                  run({"completion", "fish"}).out);
      Names out = output.lines();
      for (std::string& each : out) each = each.substr(0, each.find('\t'));
      return out;
    };
    CHECK(offered("warpbit che") == Names{"check"});
    CHECK(offered("warpbit check --target sm_90") == Names{"sm_90", "sm_90a"});
    CHECK(offered("warpbit format e4") == Names{"e4m3"});
    CHECK(offered("warpbit man li") == Names{"list"});
  }
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
  CHECK_THAT(run({"man", "chek"}).err, Catch::Contains("'chek'; expected one of verify, merge, diff, check, "));
}

// The statuses of the tool and of head.
TEST_CASE("a reader that goes away is no message", "[quick][cli][once]") {
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
  CHECK(head.lines()[0] == run({"list", "--forms"}).lines()[0]);
  CHECK(head.lines()[1] == "2 0");
  // What is no pipe is still an error.
  const Output full = in_bash(tool + " format >/dev/full");
  CHECK(full.status == 2);
  CHECK_THAT(full.err, Catch::StartsWith("warpbit: "));
}

}  // namespace cli_help_test
