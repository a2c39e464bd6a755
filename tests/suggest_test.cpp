// SPDX-License-Identifier: Apache-2.0
// What a person sees who asks for a form: the table of targets, and the forms that a mistyped one is near to.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>
#include <map>
#include <regex>
#include <set>

#include "form_words.hpp"
#include "tally.hpp"
#include "tool.hpp"
#include "warpbit/instruction.hpp"

namespace suggest_test {

using namespace tool;
using namespace form_words;
using warpbit::nearest_forms;

// The opcode stays.
std::vector<std::string> misspelt(const std::string& form) {
  const Words words = words_of(form);
  std::vector<std::string> out = {form + ".nonsense", form + " {d}, {a}, {b}, {c};"};
  for (std::size_t i = 1; i < words.size(); ++i) {
    Words longer = words, swapped = words;
    longer[i] += "x";
    std::swap(swapped[i], swapped[words.size() - i]);
    out.push_back(joined(longer));
    if (swapped[1] == words[1]) out.push_back(joined(swapped));
  }
  return out;
}

TEST_CASE("a form that is misspelt in one place is the nearest", "[quick][suggest][once]") {
  const std::vector<warpbit::FormInfo> all = warpbit::forms();
  Tally tally;
  for (std::size_t i = 0; i < all.size(); i += 97)
    for (const std::string& text : misspelt(all[i].canonical)) {
      const std::vector<std::string> near = nearest_forms(text, std::nullopt, 3);
      tally.check(std::ranges::find(near, all[i].canonical) != near.end(),
                  [&] { return fmt::format("{}: {}", text, fmt::join(near, ", ")); });
    }
  tally.judge("misspelt forms");
}

TEST_CASE("forms of the target come first, and nothing is near to nonsense", "[quick][suggest]") {
  const std::string text = "mma.sync.aligned.m16n8k5.row.col.f64.f64.f64.f64";
  CHECK(nearest_forms(text, *warpbit::Target::find("sm_80"), 1) ==
        Words{"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"});
  CHECK(nearest_forms(text, *warpbit::Target::find("sm_90"), 1) ==
        Words{"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64"});
  const std::string form = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  CHECK(nearest_forms(form, std::nullopt, 1) == Words{form});
  CHECK(nearest_forms("mma.sync.aligned.m16n8k16.row.col.f16.f16.f32.f32", std::nullopt, 1) == Words{form});
  CHECK(nearest_forms("mmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", std::nullopt, 1) == Words{form});
  CHECK(nearest_forms("mma.sync.m16n8k16.row.col.f32.f16.f16.f32", std::nullopt, 1) == Words{form});
  for (const char* nonsense : {"", ";", "frobnicate", "mma.a.b.c.d.e.f", "{}", "...", "tcgen06.a.b.c.d"}) {
    INFO(nonsense);
    CHECK(nearest_forms(nonsense, std::nullopt, 3).empty());
  }
  CHECK(nearest_forms(form, std::nullopt, 0).empty());
  const std::vector<std::string> near = nearest_forms("ldmatrix.sync", std::nullopt, 1000);
  CHECK(near.size() > 3);
  for (const std::string& other : near) CHECK(std::ranges::count(near, other) == 1);
}

const std::string kMistyped = "mma.snyc.aligned.m16n8k16.row.col.f32.f16.f16.f32";

TEST_CASE("commands say what a mistyped form may mean", "[quick][cli]") {
  const std::string near =
      "did you mean\n"
      "  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n"
      "  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32\n"
      "  mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n";
  const Output one = run({"check", kMistyped, "--target", "sm_90"}), all = run({"check", kMistyped});
  CHECK(one.status == 1);
  CHECK(all.status == 1);
  CHECK_THAT(one.out, Catch::StartsWith("refused: " + kMistyped + ": '.snyc' is not a qualifier"));
  CHECK_THAT(all.out, Catch::StartsWith("refused on every target: " + kMistyped + ": '.snyc' is not"));
  CHECK(one.lines().size() == 1);
  CHECK(all.lines().size() == 1);
  CHECK(one.err == near);
  CHECK(all.err == near);
  const Output batch = run({"check", "--batch"}, "sm_90\t" + kMistyped + "\n");
  CHECK(batch.lines().size() == 1);
  CHECK(batch.err.empty());
  const Output descriptor =
      run({"descriptor", "0", "--form", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f61"});
  CHECK(descriptor.status == 2);
  CHECK_THAT(descriptor.err, Catch::StartsWith("warpbit: wgmma.mma_async"));
  CHECK_THAT(descriptor.err,
             Catch::Contains("\ndid you mean\n  wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16\n"));
  // What is a form, and not there, or has wrong operands.
  const std::string f64 = "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64";
  CHECK(run({"check", f64, "--target", "sm_80"}).err.empty());
  CHECK(run({"check", f64 + " {d};", "--target", "sm_90"}).err.empty());
}

TEST_CASE("check without a target is a table", "[quick][cli]") {
  CHECK(run({"check", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}).out ==
        "target                          answer    evidence   machine  plan\n"
        "sm_70, sm_72, sm_75             refused\n"
        "sm_80, sm_86, sm_89             accepted  published  HMMA     fused L 8, F 24, floor -132 -> f32 rz\n"
        "sm_87, sm_88                    accepted  inferred   HMMA     fused L 8, F 24, floor -132 -> f32 rz\n"
        "sm_90, sm_90a                   accepted  captured   HMMA     fused L 16, F 25, floor -133 -> f32 rz\n"
        "sm_100, sm_100a, sm_100f        accepted  published  HMMA     fused L 16, F 25, floor -133 -> f32 rz\n"
        "sm_103, sm_103a, sm_103f,       accepted  inferred   HMMA     fused L 16, F 25, floor -133 -> f32 rz\n"
        "sm_107, sm_107a, sm_107f,\n"
        "sm_110, sm_110a, sm_110f,\n"
        "sm_120, sm_120a, sm_120f,\n"
        "sm_121, sm_121a, sm_121f\n"
        "\n"
        "refused: it does not exist on these targets; it exists on sm_80, sm_86, sm_87, sm_88, sm_89, sm_90,\n"
        "sm_90a, sm_100, sm_100a, sm_100f, sm_103, sm_103a, sm_103f, sm_107, sm_107a, sm_107f, sm_110,\n"
        "sm_110a, sm_110f, sm_120, sm_120a, sm_120f, sm_121, sm_121a, sm_121f\n");
}

// Every target stands in the first column of exactly one row.
TEST_CASE("the table fits, for one form of each family", "[quick][cli][once]") {
  std::set<std::string_view> families;
  for (const warpbit::FormInfo& form : warpbit::forms()) {
    if (!families.insert(form.family).second) continue;
    INFO(form.canonical);
    for (const std::size_t columns : {80, 100}) {
      const Output output = shell(fmt::format("COLUMNS={} {} check {}", columns,
                                              shell_word(named("WARPBIT_CLI")), shell_word(form.canonical)));
      CHECK(output.status == 0);
      CHECK(output.err.empty());
      std::map<std::string, int> seen;
      const std::vector<std::string> lines = output.lines();
      const std::size_t width = lines[0].find("answer");
      for (const std::string& line : lines) {
        CHECK(line.size() <= columns);
        CHECK((line.empty() || line.back() != ' '));
      }
      for (std::size_t i = 1; i < lines.size() && !lines[i].empty(); ++i) {
        std::istringstream targets(lines[i].substr(0, width));
        for (std::string target; targets >> target;) ++seen[target.substr(0, target.find(','))];
      }
      CHECK(seen.size() == warpbit::Target::all().size());
      for (const auto& [target, count] : seen) CHECK((count == 1 && warpbit::Target::find(target).ok()));
    }
  }
  CHECK(families.size() >= 10);
}

TEST_CASE("answers are coloured in a terminal alone", "[quick][cli]") {
  if (find_command({"script"}, "--version").empty()) {
    WARN("no program script");
    return;
  }
  const std::string check =
      shell_word(named("WARPBIT_CLI")) + " check mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const auto in_terminal = [&](const std::string& variables) {
    return shell("script -qec " + shell_word("stty cols 80; " + variables + " " + check) + " /dev/null").out;
  };
  const std::string coloured = in_terminal("TERM=xterm");
  CHECK_THAT(coloured, Catch::Contains("\033[38;5;2maccepted\033[0m"));
  CHECK_THAT(coloured, Catch::Contains("\033[38;5;1mrefused\033[0m"));
  CHECK_THAT(in_terminal("TERM=xterm NO_COLOR=1"), !Catch::Contains("\033"));
  CHECK_THAT(run({"check", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}).out, !Catch::Contains("\033"));
  std::istringstream lines(coloured);
  for (std::string line; std::getline(lines, line);) {
    static const std::regex kColours("\033\\[[0-9;]*m|\r");
    CHECK(std::regex_replace(line, kColours, "").size() <= 80);
  }
}

}  // namespace suggest_test
