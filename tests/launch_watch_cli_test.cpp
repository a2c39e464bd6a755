// SPDX-License-Identifier: Apache-2.0
// What the command-line tool shows of the steps of a kernel: launch --profile, --trace, --break.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "on_terminal.hpp"
#include "small_kernels.hpp"

namespace launch_watch_cli_test {

using namespace tool;
using archive::dictionary;
using archive::npy;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

// saxpy on two blocks of 64 threads, of which the first 80 have an element: y = 0.5 x, where x[i] = i. Its statements are
// on the lines 11 to 28 and 30 of the text; the mul of line 26 is fused with the add of line 27.
struct Saxpy {
  Directory directory;
  std::string ptx = write(directory.path / "small.ptx", small_kernels::kText);
  std::string out = (directory.path / "out.npy").string();
  std::vector<std::string> arguments;

  explicit Saxpy(std::size_t elements = 128) {
    std::vector<float> numbers(elements);
    for (std::size_t i = 0; i < elements; ++i) numbers[i] = static_cast<float>(i);
    const std::string data(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
    const std::string x =
        write(directory.path / "x.npy", npy(dictionary("'<f4'", fmt::format("({},)", elements)), data));
    arguments = {"launch", ptx,       "--entry", "saxpy",   "--grid",
                 "2",      "--block", "64",      "--arg",   "zeros:f32:128:" + out,
                 "--arg",  x,         "--arg",   "f32:0.5", "--arg",
                 "i32:80"};
  }
  std::vector<std::string> with(const std::vector<std::string>& more) const {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Output launch(const std::vector<std::string>& more) const { return run(with(more)); }
  json answer(std::vector<std::string> more) const {
    more.emplace_back("--json");
    return json::parse(launch(more).out);
  }
};

// Without the blanks that align columns.
std::string one_blank(const std::string& line) {
  return std::regex_replace(line, std::regex(" +"), " ");
}
Lines one_blank(const Lines& lines) {
  Lines out;
  for (const std::string& line : lines) out.push_back(one_blank(line));
  return out;
}
bool has(const Lines& lines, const std::string& line) {
  const bool found = std::ranges::find(lines, line) != lines.end();
  if (!found) UNSCOPED_INFO("no line '" << line << "'");
  return found;
}

// ---- Profiles

// Of four warps two have 32 elements, one 16, one none. 80 floats are 320 bytes in 10 sectors.
TEST_CASE("launch counts by family and by line", "[quick][cli]") {
  const Saxpy saxpy;
  const Output done = saxpy.launch({"--profile"});
  CHECK(done.err == "");
  REQUIRE(done.status == 0);
  CHECK(fs::exists(saxpy.out));
  const Lines lines = one_blank(done.lines());
  REQUIRE(lines.size() > 5);
  CHECK(lines[1] == "assembled: contract at line 27");
  CHECK(lines[5] == "family executed lanes global sectors const");  // and no conflicts
  CHECK(lines[6] == "ld.param 16 32.0 - - 3,072");
  CHECK(has(lines, "ld.global 6 26.7 640 20/20 -"));
  CHECK(has(lines, "st.global 3 26.7 320 10/10 -"));
  CHECK(has(lines, "bra 2 24.0 - - -"));
  CHECK(has(lines, "line executed lanes global sectors const statement"));
  CHECK(has(lines, "24 3 26.7 320 10/10 - ld.global.f32 %f2, [%rd5]"));
  CHECK(has(lines, "20 2 24.0 - - - @%p1 bra DONE"));
  CHECK_THAT(done.out, !Contains("--json has all"));
}

TEST_CASE("the profile is part of the JSON", "[quick][cli]") {
  const Saxpy saxpy;
  const json answer = saxpy.answer({"--profile"}), profile = answer["profile"];
  CHECK(answer["grid"] == json{2, 1, 1});
  CHECK(answer["block"] == json{64, 1, 1});
  REQUIRE(profile["lines"].size() == 18);
  for (const json& one : profile["families"])
    if (one["family"] == "ld.global")
      CHECK(one == json{{"family", "ld.global"},
                        {"executed", 6},
                        {"lanes", 160},
                        {"bytes", 640},
                        {"sectors", 20},
                        {"least_sectors", 20},
                        {"conflicts", 0},
                        {"shared_bytes", 0},
                        {"tensor_bytes", 0},
                        {"local_bytes", 0},
                        {"constant_bytes", 0},
                        {"products", 0}});
  const auto line = std::ranges::find_if(profile["lines"], [](const json& one) { return one["line"] == 27; });
  REQUIRE(line != profile["lines"].end());
  CHECK(*line == json{{"number", 15},  // behind those of lines 11 to 25
                      {"line", 27},
                      {"file", ""},
                      {"source_line", 0},
                      {"chain", json::array()},
                      {"family", "add"},
                      {"statement", "add.f32 %f5, %f4, %f3"},
                      {"executed", 3},
                      {"lanes", 80},
                      {"bytes", 0},
                      {"sectors", 0},
                      {"least_sectors", 0},
                      {"conflicts", 0},
                      {"shared_bytes", 0},
                      {"tensor_bytes", 0},
                      {"local_bytes", 0},
                      {"constant_bytes", 0},
                      {"products", 0}});
  CHECK_FALSE(saxpy.answer({}).contains("profile"));
}

// Warps of a block wait for nothing there: each is one run. Of the second block the second warp has no element.
TEST_CASE("the JSON has a timeline, and a file the picture", "[quick][cli]") {
  const Saxpy saxpy;
  const json timeline = saxpy.answer({"--profile", "--svg-block", "1"})["profile"]["timeline"];
  CHECK(timeline["block"] == json{1, 0, 0});
  CHECK(timeline["warps"] == 2);
  CHECK(timeline["covered"] == timeline["statements"]);
  CHECK(timeline["waits"] == json::array());
  REQUIRE(timeline["runs"].size() == 2);
  CHECK(timeline["runs"][0]["warp"] == 0);
  CHECK(timeline["runs"][1]["first"] == timeline["runs"][0]["count"]);
  CHECK(timeline["runs"][0]["first_line"] == 11);
  CHECK(timeline["runs"][1]["last_line"] == 30);
  const std::string svg = (saxpy.directory.path / "k.svg").string();
  const Output drawn = saxpy.launch({"--svg", svg});
  CHECK(drawn.status == 0);
  CHECK_THAT(drawn.out, !Contains("executed"));
  const std::string picture = archive::bytes_of(svg);
  CHECK_THAT(picture,
             Contains("saxpy on ") && Contains("2 blocks of 64 threads") && Contains("block (0, 0, 0)"));
  CHECK_THAT(picture, Contains("st.global.f32") && Contains(">10/10<"));
}

TEST_CASE("a picture needs a name and a block that there are", "[quick][cli]") {
  const Saxpy saxpy;
  CHECK_THAT(saxpy.launch({"--svg", "k.png"}).err,
             Contains("--svg: 'k.png'; expected a name that ends in .svg"));
  CHECK_THAT(saxpy.launch({"--svg-block", "1"}).err,
             Contains("--svg-block: no picture; expected it with --svg FILE"));
  const std::string svg = (saxpy.directory.path / "k.svg").string();
  CHECK_THAT(saxpy.launch({"--svg", svg, "--svg-block", "x"}).err,
             Contains("--svg-block: 'x'; expected X, X,Y"));
  CHECK_THAT(saxpy.launch({"--svg", svg, "--svg-block", "2"}).err, Contains("the observed block"));
  CHECK_THAT(saxpy.launch({"--svg", svg, "--svg-block", "1", "--trace", "0"}).err, Contains("the same block"));
  CHECK_FALSE(fs::exists(svg));
}

TEST_CASE("of a long profile the text has the first lines", "[quick][cli]") {
  const Directory directory;
  std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n.reg .b32 %r<2>;\n";
  for (int i = 0; i < 24; ++i) text += fmt::format("mov.u32 %r1, {};\n", i);
  const std::string ptx = write(directory.path / "k.ptx", text + "ret;\n}\n");
  const Output done = run({"launch", ptx, "--profile"});
  REQUIRE(done.status == 0);
  CHECK(done.lines().back() == "20 of 25 lines; --json has all");
  CHECK_THAT(done.out, Contains("mov.u32 %r1, 19") && !Contains("mov.u32 %r1, 20"));
}

// ---- Traces

TEST_CASE("launch shows what a warp does", "[quick][cli]") {
  const Saxpy saxpy;
  const Output done = saxpy.launch({"--trace", "1:0"});
  CHECK(done.err == "");
  REQUIRE(done.status == 0);
  const Lines lines = one_blank(done.lines());
  REQUIRE(lines.size() == 18 + 4);
  CHECK_THAT(lines[0], Catch::Matches(" 11 0-31 ld.param.u64 %rd1, \\[y\\] %rd1 = 0x[0-9a-f]+"));
  CHECK(lines[2] == " 13 0-31 ld.param.f32 %f1, [a] %f1 = 0x3f000000 (0.5)");
  CHECK(lines[4] == " 15 0-31 mov.u32 %r2, %ctaid.x %r2 = 1");
  CHECK(lines[7] == " 18 0-31 mad.lo.s32 %r5, %r2, %r3, %r4 %r5 = 64 to 95");
  CHECK(lines[8] == " 19 0-31 setp.ge.s32 %p1, %r5, %r1 %p1 = 0 (0-15), 1 (16-31)");
  CHECK(lines[9] == " 20 16-31 @%p1 bra DONE");
  CHECK(lines[10] == " 21 0-15 mul.wide.s32 %rd3, %r5, 4 %rd3 = 256 to 316 by 4");
  CHECK(lines[13] == " 24 0-15 ld.global.f32 %f2, [%rd5] %f2 = 64, 65, 66, 67, 68, 69, ...");
  CHECK(lines[14] == " 25 0-15 ld.global.f32 %f3, [%rd4] %f3 = 0x00000000 (0) (unchanged)");
  CHECK(lines[15] == " 27 0-15 add.f32 %f5, %f4, %f3 %f5 = 32, 32.5, 33, 33.5, 34, 34.5, ...");
  CHECK(lines[16] == " 28 0-15 st.global.f32 [%rd4], %f5");
  CHECK(lines[17] == " 30 0-31 ret");
  CHECK_THAT(lines[18], Catch::StartsWith("saxpy on sm_90a: 2 blocks, "));
  // The first block unless another is named; a guard that holds for no lane.
  CHECK_THAT(one_blank(saxpy.launch({"--trace", "1"}).out),
             Contains("%r5 = 32 to 63") && Contains(" 20 none @%p1 bra DONE"));
}

TEST_CASE("the trace is part of the JSON", "[quick][cli]") {
  const Saxpy saxpy;
  const json trace = saxpy.answer({"--trace", "1,0,0:0"})["trace"];
  REQUIRE(trace.size() == 18);
  const json& branch = trace[9];
  CHECK(branch["block"] == json{1, 0, 0});
  CHECK(branch["warp"] == 0);
  CHECK(branch["line"] == 20);
  CHECK(branch["statement"] == "@%p1 bra DONE");
  CHECK(branch["lanes"].size() == 16);
  CHECK(branch["lanes"][0] == 16);
  CHECK(branch["read"][0]["name"] == "%p1");
  CHECK(branch["written"] == json::array());
  const json& sum = trace[15]["written"][0];
  CHECK(sum["name"] == "%f5");
  CHECK(sum["type"] == "f32");
  CHECK(sum["values"].size() == 32);
  CHECK(sum["values"][3] == 0x42060000);  // 33.5
  CHECK(sum["changed"].size() == 16);
}

// ---- Breaks

TEST_CASE("launch stops at a line and shows its registers by lane", "[quick][cli]") {
  const Saxpy saxpy;
  const Output done = saxpy.launch({"--trace", "1:0", "--break", "27"});
  CHECK(done.err == "");
  CHECK(done.status == 0);
  const Lines lines = one_blank(done.lines());
  REQUIRE(lines.size() == 16 + 3 + 32 + 1);
  CHECK(lines[16] == "line 27: add.f32 %f5, %f4, %f3");
  CHECK(lines[17] == "lanes 0-15 of warp 0 of block (1, 0, 0)");
  CHECK(lines[18] == "lane executes %f1 read %f2 read %f3 read %f5 written");
  CHECK(lines[22] == "3 yes 0x3f000000=0.5 0x42860000=67 0x00000000=0 0x42060000=33.5");
  CHECK_THAT(lines[50], Catch::StartsWith("31 no "));
  CHECK_THAT(lines[51], Catch::EndsWith(": stopped by --break; no array is written"));
  CHECK_FALSE(fs::exists(saxpy.out));
  const json answer = saxpy.answer({"--break", "24"});
  CHECK(answer["break"]["line"] == 24);
  CHECK(answer["break"]["block"] == json{0, 0, 0});
  CHECK(answer["written"] == json::array());
  CHECK_FALSE(answer.contains("trace"));
  CHECK_FALSE(fs::exists(saxpy.out));
  // All lanes, and nothing but a label is read.
  const Output ret = saxpy.launch({"--break", "30"});
  CHECK_THAT(ret.out,
             Catch::StartsWith("line 30: ret\nall lanes of warp 0 of block (0, 0, 0)\nsaxpy on sm_90a: "));
}

TEST_CASE("a line to stop at that is never executed", "[quick][cli]") {
  const Saxpy saxpy;
  const Output done = saxpy.launch({"--trace", "1:1", "--break", "24"});
  CHECK(done.status == 1);
  CHECK_THAT(done.out, Contains("\n--break 24: warp 1 of block (1, 0, 0) has not executed it\n"));
  CHECK(fs::exists(saxpy.out));  // the kernel has ended
  const json answer = saxpy.answer({"--trace", "1:1", "--break", "24"});
  CHECK(answer["break"] == nullptr);
}

// x has 4 elements: lane 4 reads beyond them.
TEST_CASE("a statement to stop at may be a fault", "[quick][cli]") {
  const Saxpy saxpy(4);
  const Output done = saxpy.launch({"--break", "24"});
  CHECK(done.status == 1);
  CHECK_THAT(done.out, Catch::StartsWith(
                           "line 24: ld.global.f32 %f2, [%rd5]\nall lanes of warp 0 of block (0, 0, 0)\n") &&
                           Contains("'x', which has 16 bytes") && Contains("warp 0, lane 4"));
  CHECK_FALSE(fs::exists(saxpy.out));
}

constexpr const char* kSource = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k()
{
  .reg .b32 %r<3>;
  .loc 1 7 3
  mov.u32 %r1, 3;
  mov.u32 %r2, 4;
  .loc 1 9 3
  add.s32 %r1, %r1, %r2;
  .loc 2 1 1
  ret;
}
.file 1 "some/where/kernel.cu"
.file 2 "tail.cuh"
)";

constexpr const char* kInlined = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k()
{
  .reg .b32 %r<3>;
  .loc 2 4 3, function_name $L__info_string0, inlined_at 1 20 5
  mov.u32 %r1, 3;
  .loc 1 21 5
  ret;
}
.file 1 "src/inlined.cu"
.file 2 "helper.hpp"
.section .debug_str
{
$L__info_string0:
.b8 115,101,116,0
}
)";

TEST_CASE("a line of the source to stop at", "[quick][cli]") {
  const Directory directory;
  const std::string ptx = write(directory.path / "k.ptx", kSource);
  const auto stop = [&](const std::string& at) { return run({"launch", ptx, "--break", at}); };
  for (const std::string name : {"kernel.cu:7", "where/kernel.cu:7", "some/where/kernel.cu:7"}) {
    const Output done = stop(name);
    INFO(done.err);
    CHECK(done.status == 0);
    CHECK_THAT(done.out, Catch::StartsWith("some/where/kernel.cu:7: PTX line 8: mov.u32 %r1, 3\n"));
  }
  CHECK_THAT(stop("9").out, Catch::StartsWith("some/where/kernel.cu:7: PTX line 9: "));
  CHECK_THAT(stop("tail.cuh:1").out, Catch::StartsWith("tail.cuh:1: PTX line 13: ret\n"));
  const auto refused = [&](const std::string& at, const std::string& words) {
    const Output done = stop(at);
    CHECK(done.status == 2);
    CHECK(done.err == "warpbit: --break: " + words + "\n");
  };
  refused("kernel.cu:8",
          "line 8 of kernel.cu, from which no statement comes; expected a line near it that has one: 7 and 9");
  refused("ernel.cu:7",
          "'ernel.cu', a file that the kernel is not from; expected some/where/kernel.cu, tail.cuh");
  refused("kernel.cu:x", "'kernel.cu:x'; expected LINE of the PTX, or FILE:LINE of the source");
  // The line of a function that was inlined, and that of its call.
  for (const std::string at : {"inlined.cu:20", "helper.hpp:4"}) {
    const Output done =
        run({"launch", write(directory.path / "inlined.ptx", kInlined), "--trace", "0", "--break", at});
    CHECK(done.status == 0);
    CHECK(Lines(one_blank(done.lines())).at(0) == "inlined.cu:20 > helper.hpp:4:");
    CHECK(Lines(one_blank(done.lines())).at(1) == " 8 0 mov.u32 %r1, 3 %r1 = 3");
    CHECK(Lines(done.lines()).at(2) == "src/inlined.cu:20: PTX line 8: mov.u32 %r1, 3");
    CHECK(Lines(done.lines()).at(3) == "  in set() at helper.hpp:4");
  }
  // A profile has the name of the file.
  const Output profile = run({"launch", ptx, "--profile"});
  CHECK(has(one_blank(profile.lines()), "11 1 1.0 kernel.cu:9 add.s32 %r1, %r1, %r2"));
}

// ---- What is refused

TEST_CASE("launch refuses to watch what is not there", "[quick][cli]") {
  const Saxpy saxpy;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& words) {
    const Output done = saxpy.launch(more);
    INFO(done.out);
    CHECK(done.status == 2);
    CHECK(done.out == "");
    CHECK(done.err == "warpbit: " + words + "\n");
    CHECK_FALSE(fs::exists(saxpy.out));
  };
  refused({"--trace", "2"}, "the observed warp: 2; expected 0 to 1, the warps of a block");
  refused({"--trace", "2:0"},
          "the observed block: (2, 0, 0); expected one of the 2 x 1 x 1 blocks, from (0, 0, 0) on");
  refused({"--trace", "0,0,1:0"},
          "the observed block: (0, 0, 1); expected one of the 2 x 1 x 1 blocks, from (0, 0, 0) on");
  for (const std::string bad : {"x", "1:", ":1", "1,:0", "1,2,3,4:0", "0:-1", "1,0", "0x1"})
    refused({"--trace", bad},
            fmt::format("--trace: '{}'; expected WARP or X,Y,Z:WARP, as in 3 or 0,1,0:3", bad));
  refused({"--break", "x"}, "--break: 'x'; expected LINE of the PTX, or FILE:LINE of the source");
  refused(
      {"--break", "9"},
      "--break: line 9, which has no statement that saxpy may execute; expected a line near it that has one: 11, 12 and 13");
  refused(
      {"--break", "40"},
      "--break: line 40, which has no statement that saxpy may execute; expected a line near it that has one: 27, 28 and 30");
  refused(
      {"--break", "26"},
      "--break: line 26, which the assembler makes part of another one; expected --as-written, or a line near it: 23, 24, 25, 27, 28 and 30");
  refused(
      {"--break", "kernel.cu:3"},
      "--break: 'kernel.cu:3' for a kernel without lines of a source; expected a line of the PTX, or a module of nvcc -lineinfo");
  const std::string empty = write(saxpy.directory.path / "empty.ptx",
                                  ".version 8.7\n.target sm_90a\n.address_size 64\n.entry k() { }\n");
  CHECK(
      run({"launch", empty, "--break", "4"}).err ==
      "warpbit: --break: line 4, which has no statement that k may execute; expected a line near it that has one: "
      "none\n");
  CHECK(run({"launch", empty, "--trace", "0", "--profile"}).out ==
        "k on sm_90a: 1 block, 1 steps\nchecked 0 shared and 0 global accesses: nothing found\n");
  const Output separate = saxpy.launch({"--break", "26", "--no-contract"});
  CHECK(separate.status == 0);
  CHECK_THAT(separate.out, Catch::StartsWith("line 26: mul.f32 %f4, %f1, %f2\n"));
}

// A path of the test's folder may be one long word.
TEST_CASE("what is shown of steps fits the terminal", "[quick][cli]") {
  const Saxpy saxpy;
  for (const std::uint16_t columns : std::initializer_list<std::uint16_t>{50, 80, 120}) {
    const Output shown =
        on_terminal(columns, shell_words({named("WARPBIT_CLI")}) + " " +
                                 shell_words(saxpy.with({"--trace", "0", "--profile", "--break", "27"})));
    CHECK(shown.status == 0);
    std::istringstream in(seen(shown.out));
    std::size_t widest = 0, count = 0;
    for (std::string line; std::getline(in, line); ++count) widest = std::max(widest, line.size());
    CHECK(widest <= columns);
    CHECK(count > 16 + 32 + 16);
  }
}

}  // namespace launch_watch_cli_test
