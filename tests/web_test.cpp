// SPDX-License-Identifier: Apache-2.0
// What a page calls gives what the tool prints: here compiled for the host.
#include "../web/interface.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "tool.hpp"

namespace web_test {

using nlohmann::json;

// One word, or text between apostrophes.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < line.size();) {
    const bool is_quoted = line[at] == '\'';
    if (is_quoted) ++at;
    const std::size_t end = std::min(line.find(is_quoted ? '\'' : ' ', at), line.size());
    out.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(' ', std::min(end + 1, line.size()));
  }
  return out;
}

json answer(const json& arguments) {
  return json::parse(warpbit_web_command(arguments.dump().c_str()));
}

TEST_CASE("A page gets what the tool prints", "[once]") {
  std::ifstream file("tests/web/command_lines.txt");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    INFO(line);
    const tool::Output wanted = tool::shell(tool::shell_word(tool::named("WARPBIT_CLI")) + " " +
                                            tool::shell_words(words_of(line)));  // the program
    const json got = answer(words_of(line));
    CHECK(got["status"] == wanted.status);
    CHECK(got["stdout"] == wanted.out);
    CHECK(got["stderr"] == wanted.err);
  }
  CHECK(count >= 40);
}

// On a host a command reads the host's files.
TEST_CASE("Files may come with arguments") {
  const json layout = {"layout", "mma.m16n8k16.f32.f16@H100"};
  const json alone = answer(layout);
  CHECK(alone["status"] == 0);
  CHECK(answer({{"arguments", layout}}) == alone);
  CHECK(answer({{"arguments", layout}, {"files", {{"a.json", "{}"}}}}) == alone);
}

TEST_CASE("Arguments for a page that are no list of words are refused") {
  for (const char* text :
       {"", "{", "{}", "1", "[1]", "[\"layout\", null]", R"({"arguments": "layout"})", R"({"files": {}})",
        R"({"arguments": ["layout"], "files": []})", R"({"arguments": ["layout"], "files": {"a": 1}})"}) {
    INFO(text);
    const json got = json::parse(warpbit_web_command(text));
    CHECK(got["status"] == 2);
    CHECK(got["stdout"] == "");
    CHECK(got["stderr"].get<std::string>().find("an array of strings") != std::string::npos);
  }
}

}  // namespace web_test
