// SPDX-License-Identifier: Apache-2.0
// warpbit profile: from what launch --profile --json prints to the picture that launch --svg draws; and what is no such text.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tool.hpp"

namespace profile_cli_test {

using namespace tool;
using Catch::Contains;
using nlohmann::json, nlohmann::ordered_json;
using Words = std::vector<std::string>;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

const Words kRing = {"examples/ring.ptx", "--block", "96", "--arg", "zeros:u32:256", "--arg", "zeros:u32:256"};
const Words kGemm = {"examples/ptx_kernel.ptx",
                     "--entry",
                     "gemm",
                     "--grid",
                     "2,2",
                     "--block",
                     "32",
                     "--arg",
                     "zeros:f16:32x16",
                     "--arg",
                     "zeros:f16:16x16",
                     "--arg",
                     "zeros:f32:32x16",
                     "--arg",
                     "i32:16",
                     "--arg",
                     "i32:16"};

// Statements of one line, executed 4, 1 and 4 times: data have the second one last. A long name, and characters of XML.
constexpr const char* kCrowded = R"(.version 8.7
.target sm_90
.address_size 64
.entry f(.param .u64 x) { .reg .pred %p; .reg .b32 %r<4>; mov.u32 %r1, %tid.x; setp.lt.u32 %p, %r1, 32;
@!%p bra OVER; add.u32 %r2, %r1, 1; OVER: sub.u32 %r3, %r1, 1; bar.sync 0; ret; }
)";

struct Drawn {
  Output launched;
  std::string by_launch;
};

Drawn draw(const Directory& folder, const Words& launch) {
  const std::string svg = (folder.path / "launch.svg").string();
  Drawn out{run(joined(joined({"launch"}, launch), {"--profile", "--json", "--svg", svg})), ""};
  INFO(out.launched.err);
  REQUIRE_FALSE(out.launched.out.empty());
  out.by_launch = archive::bytes_of(svg);
  return out;
}

// ---- The same picture

TEST_CASE("a picture of data is that of the launch, to the byte", "[quick][cli]") {
  const Directory folder;
  const auto path = [&](const char* name) { return (folder.path / name).string(); };
  std::ofstream(path("crowded.ptx")) << kCrowded;
  struct Case {
    Words launch;
    int status;
    std::string shown;
  };
  const Case cases[] = {
      {kRing, 0, "produce on sm_90"},
      {kGemm, 0, "4 blocks of 32 threads"},
      {joined(kGemm, {"--svg-block", "1,1"}), 0, "block (1, 1, 0)"},
      {{path("crowded.ptx"), "--arg", "null", "--block", "128"}, 0, "1 block of 128 threads"},
      {{path("crowded.ptx"), "--arg", "null", "--block", "32", "--break", "5"}, 0, "Stopped by --break."},
      {{"tests/faults/deadlock_of_a_barrier.ptx", "--entry", "broken", "--block", "64", "--arg", "zeros:u32:1"},
       1,
       "A fault: "}};
  for (const Case& one : cases) {
    INFO(one.launch[0] << " " << one.shown);
    const Drawn of = draw(folder, one.launch);
    CHECK(of.launched.status == one.status);
    std::ofstream(path("a.json")) << of.launched.out;
    const Output read = run({"profile", path("a.json"), "--svg", path("profile.svg"), "--json"});
    CHECK(read.status == 0);
    CHECK(read.err.empty());
    CHECK((archive::bytes_of(path("profile.svg")) == of.by_launch));
    CHECK((ordered_json::parse(read.out)["picture"] == of.by_launch));
    if (one.shown != "produce on sm_90") CHECK_THAT(of.by_launch, Contains(one.shown));
  }
}

TEST_CASE("tables of data are those of the launch", "[quick][cli]") {
  const Directory folder;
  const std::string file = (folder.path / "a.json").string();
  std::ofstream(file) << run(joined(joined({"launch"}, kGemm), {"--profile", "--json"})).out;
  const std::string launched = run(joined(joined({"launch"}, kGemm), {"--profile"})).out;
  const std::string read = run({"profile", file}).out;
  REQUIRE(launched.find("\nfamily ") != launched.npos);
  REQUIRE(read.find("\nfamily ") != read.npos);
  CHECK(read.substr(read.find("\nfamily ")) == launched.substr(launched.find("\nfamily ")));
  CHECK_THAT(read, Catch::StartsWith("gemm on sm_"));
}

// ---- The line of a fault

// The attribute y of the frame, and of the row of a line's number; a row's text stands 12 pixels below its top, a frame 1.
int frame_top(const std::string& svg) {
  const std::size_t title = svg.find("<title>the launch faulted here</title>");
  REQUIRE(title != svg.npos);
  const std::size_t y = svg.find(" y=\"", svg.rfind("<rect", title));
  return std::stoi(svg.substr(y + 4));
}
int row_top(const std::string& svg, int line) {
  const std::size_t text = svg.find(fmt::format(" text-anchor=\"end\">{}</text>", line));
  REQUIRE(text != svg.npos);
  const std::size_t y = svg.find(" y=\"", svg.rfind("<text", text));
  return std::stoi(svg.substr(y + 4)) - 12;
}

// Line 17 of the text reads at 0; line 16 has read the parameter.
TEST_CASE("the line of a fault has a frame", "[quick][cli]") {
  const Directory folder;
  const std::string svg =
      draw(folder, {"tests/faults/null_pointer.ptx", "--entry", "broken", "--arg", "null"}).by_launch;
  CHECK(frame_top(svg) == row_top(svg, 17) + 1);
  CHECK(row_top(svg, 16) < row_top(svg, 17));
  CHECK(svg.find("launch faulted here") == svg.rfind("launch faulted here"));
  CHECK_THAT(draw(folder, kRing).by_launch, !Contains("launch faulted here"));
}

// ---- What is no such text

// The answer with another value there, or without the member if it is "gone".
struct Change {
  std::string at, value;
  Words message;  // parts of it
};

TEST_CASE("what is not such an answer is refused by its member", "[quick][cli]") {
  const Directory folder;
  const std::string file = (folder.path / "a.json").string();
  const json good = json::parse(draw(folder, kRing).launched.out);
  const Change changes[] = {
      {"/schema", "\"launch/2\"", {"schema", "\"launch/2\"", "launch/1"}},
      {"/schema", "gone", {"without a schema", "launch/1"}},
      {"/schema", "\"layout/1\"", {"\"layout/1\"", "launch --profile --json"}},
      {"/profile", "gone", {"no member profile", "launch --profile --json"}},
      {"/profile/lines", "gone", {"a.json: profile: no member lines"}},
      {"/profile/lines", "{}", {"profile.lines", "an object of 0", "an array"}},
      {"/profile/lines/1/number", "gone", {"profile.lines[1]", "no member number"}},
      {"/profile/lines/0/executed", "-1", {"profile.lines[0].executed", "-1", "from 0 to 9007199254740992"}},
      {"/profile/lines/0/bytes", "1e300", {"profile.lines[0].bytes", "1e+300", "a whole number"}},
      {"/profile/lines/0/bytes", "18446744073709551615", {"18446744073709551615", "9007199254740992"}},
      {"/profile/lines/0/least_sectors", "null", {"least_sectors", "null"}},
      {"/profile/lines/0/line", "2147483648", {"lines[0].line", "2147483648", "2147483647"}},
      {"/profile/lines/0/statement", "3", {"statement", "3", "a string"}},
      {"/profile/lines/0/chain", "[1]", {"chain[0]", "an object"}},
      {"/profile/timeline/warps", "33", {"timeline.warps", "33", "from 0 to 32"}},
      {"/profile/timeline/warps", "0", {"timeline.runs", "an empty array"}},
      {"/profile/timeline/block", "[0, 0]", {"timeline.block", "an array of 2", "x, y and z"}},
      {"/profile/timeline/covered", "9007199254740992", {"timeline.covered", "from 0 to"}},
      {"/profile/timeline/runs/0/warp", "3", {"runs[0].warp", "3", "from 0 to 2"}},
      {"/profile/timeline/runs/1/first", "0", {"runs[1].first", "0", "a whole number from"}},
      {"/profile/timeline/runs/0/count", "4294967296", {"runs[0].count", "4294967296"}},
      {"/profile/timeline/waits/0/what", "\"tea\"", {"waits[0].what", "\"tea\"", "mbarrier"}},
      {"/profile/timeline/waits/0/warp", "-3", {"waits[0].warp", "-3", "from 0 to 2"}},
      {"/profile/timeline/waits/0/lanes", "[32]", {"waits[0].lanes[0]", "32", "from 0 to 31"}},
      {"/profile/timeline/waits/0/waited", "1", {"waits[0].waited", "true or false"}},
      {"/profile/timeline/waits/0/by/what", "7", {"waits[0].by.what", "a string"}},
      {"/grid", "[0, 1, 1]", {"grid[0]", "0", "from 1 to 2147483647"}},
      {"/block", "gone", {"no member block"}},
      {"/fault", "\"oops\"", {"fault", "\"oops\"", "an object"}},
      {"", "[]", {"an array of 0", "launch/1"}},
  };
  for (const Change& one : changes) {
    INFO(one.at << " " << one.value);
    json changed = good;
    const json::json_pointer at(one.at);
    REQUIRE(changed.contains(at));
    if (one.value == "gone")
      changed[at.parent_pointer()].erase(at.back());
    else
      changed[at] = json::parse(one.value);
    std::ofstream(file) << changed.dump();
    const Output output = run({"profile", file, "--json"});
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, Catch::StartsWith("warpbit: ") && Contains("expected"));
    for (const std::string& part : one.message) CHECK_THAT(output.err, Contains(part));
  }
}

TEST_CASE("what is no JSON is refused by its byte", "[quick][cli]") {
  const Directory folder;
  const std::string file = (folder.path / "a.json").string();
  const std::string answer = draw(folder, kGemm).launched.out;
  const std::pair<std::string, std::string> texts[] = {
      {"", "no JSON, at byte 1 of 0"},
      {"gemm: 4 blocks", "no JSON, at byte 1 of 14"},
      {answer.substr(0, answer.size() / 2), fmt::format("of {}", answer.size() / 2)},
      {std::string(100'000, '['), "no JSON, at byte 100001 of 100000"},
      {std::string("{\"schema\": \"\xff\"}"), "no JSON"},
      {std::string(100'000, '[') + std::string(100'000, ']'), "an array of 1"}};
  for (const auto& [text, message] : texts) {
    INFO(text.substr(0, 40));
    std::ofstream(file) << text;
    const Output output = run({"profile", file});
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, Contains(message) && Contains("launch --profile --json"));
  }
  CHECK_THAT(run({"profile", (folder.path / "none.json").string()}).err, Contains("No such file"));
  CHECK_THAT(run({"profile", folder.path.string()}).err, Contains("cannot be read"));
  CHECK_THAT(run({"profile", file, "--svg", "picture.png"}).err, Contains("ends in .svg"));
}

}  // namespace profile_cli_test
