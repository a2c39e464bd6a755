// SPDX-License-Identifier: Apache-2.0
// Remarks for reviews of code: of launches, modules and tests, as SARIF and as annotations, at the lines where they belong.
#include "warpbit/review.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "archive.hpp"
#include "device_inputs.hpp"
#include "tool.hpp"
#include "warpbit/matchers/catch2.hpp"
#include "warpbit/notice.hpp"
#include "warpbit/ptx.hpp"

namespace review_test {

using namespace warpbit;
using archive::Directory;
using Catch::Contains;
using nlohmann::json;
namespace fs = std::filesystem;

// Line 12 stores where another warp stores, line 13 loads it.
const std::string kRace =
    ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"race.cu\"\n.file 2 \"/elsewhere/helper.cuh\"\n"
    ".visible .entry race(.param .u64 out)\n{\n"
    "  .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .align 4 .b8 s[128];\n"
    "  mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shl.b32 %r2, %r2, 2; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;\n"
    "  ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd1, %rd1, %rd2;\n"
    "  .loc 1 7 0\n"
    "  st.shared.u32 [%r3], %r1;\n"
    "  ld.shared.u32 %r4, [%r3];\n"
    "  st.global.u32 [%rd1], %r4;\n"
    "  ret;\n}\n";

// A repository: a folder with .git, race.ptx and race.cu. It is the current folder while this lives.
struct Repository {
  Directory directory;
  fs::path before = fs::current_path();

  explicit Repository(bool has_source = true) {
    fs::create_directories(directory.path / ".git");
    fs::create_directories(directory.path / "kernels of mine");
    std::ofstream(directory.path / "kernels of mine" / "race.ptx") << kRace;
    if (has_source) std::ofstream(directory.path / "race.cu") << "// the source\n";
    fs::current_path(directory.path);
  }
  ~Repository() { fs::current_path(before); }
  Repository(const Repository&) = delete;
};

const std::string kLaunch = "launch 'kernels of mine/race.ptx' --block 64 --arg zeros:u32:64 ";
std::string tool_path() {
  return tool::shell_word(fs::absolute(tool::named("WARPBIT_CLI")).string()) + " ";
}
json read_json(const fs::path& path) {
  return json::parse(archive::bytes_of(path));
}

TEST_CASE("a fault is a result of SARIF at the line of its source") {
  const std::string warpbit = tool_path();
  const Repository repository;
  CHECK(tool::shell(warpbit + kLaunch + "--sarif found.sarif").status == 1);
  const json run = read_json("found.sarif")["runs"][0];
  CHECK(read_json("found.sarif")["version"] == "2.1.0");
  CHECK(run["tool"]["driver"]["rules"][0]["id"] == "data_race");
  REQUIRE(run["results"].size() == 1);
  const json result = run["results"][0];
  CHECK((result["ruleId"] == "data_race" && result["ruleIndex"] == 0 && result["level"] == "error"));
  const json place = result["locations"][0];
  CHECK(place["physicalLocation"]["artifactLocation"] == json{{"uri", "race.cu"}, {"uriBaseId", "%SRCROOT%"}});
  CHECK(place["physicalLocation"]["region"] == json{{"startLine", 7}});
  CHECK(place["logicalLocations"][0]["name"] == "race");
  // Its PTX, and the other side.
  const json related = result["relatedLocations"];
  REQUIRE(related.size() == 3);
  CHECK(related[0]["physicalLocation"]["artifactLocation"]["uri"] == "kernels%20of%20mine/race.ptx");
  CHECK(related[0]["physicalLocation"]["region"]["startLine"] == 12);
  CHECK((related[1]["message"]["text"] == "the other side" && related[1]["id"] == 2));
}

TEST_CASE("a line of PTX is shown where the source is not in the repository") {
  const std::string warpbit = tool_path();
  const Repository repository(false);
  const tool::Output said = tool::shell(warpbit + kLaunch + "--annotations");
  CHECK(said.status == 1);
  CHECK_THAT(said.out,
             Contains("\n::error file=kernels of mine/race.ptx,line=12,title=data_race in race::st.shared.u32 "
                      "[%25r3], %25r1: bytes 0x0 to 0x3 were written"));
  CHECK_THAT(said.lines().back(), Contains("%0A  race, block (0, 0, 0)"));
}

TEST_CASE("each kind of answer has its remarks") {
  struct Row {
    std::string arguments;
    int status;
    std::string annotation;
  };
  const Row rows[] = {
      {kLaunch + "--lenient --annotations", 1, "::warning file=race.cu,line=7,title=data_race in race::"},
      {"check --ptx bad.ptx --annotations", 1,
       "::error file=bad.ptx,line=4,col=21,title=statement_syntax::line 4, column 21: "},
      {"verify no.npz --annotations", 2, "::error file=no.npz,title=unreadable::"},
  };
  const std::string warpbit = tool_path();
  const Repository repository;
  std::ofstream("bad.ptx")
      << ".version 8.0\n.target sm_90\n.address_size 64\n.entry f() {add.s32 %r1, %r1, 1; ret; }\n";
  std::ofstream("no.npz") << "none";
  for (const Row& row : rows) {
    CAPTURE(row.arguments);
    const tool::Output said = tool::shell(warpbit + row.arguments);
    CHECK(said.status == row.status);
    CHECK_THAT(said.out, Contains(row.annotation));
  }
  CHECK(tool::shell(warpbit + kLaunch + "--annotations --json").status == 2);
  const tool::Output form = tool::shell(warpbit + "check movmatrix.sync.aligned.m8n8.trans.b16 --sarif a");
  CHECK((form.status == 2 && !fs::exists("a")));
  CHECK_THAT(form.err, Contains("--ptx FILE"));
}

TEST_CASE("findings tells what the launches of a test do wrong, whatever it asserts") {
  const std::string warpbit = tool_path();
  const Repository repository;
  // Two processes, whose faults are one, and a test that passes all the same.
  const std::string test = "sh -c \"for i in 1 2; do " + warpbit +
                           "launch kernels*/race.ptx --block 64 --arg zeros:u32:64; done; true\"";
  const tool::Output said = tool::shell(warpbit + "findings --sarif all.sarif -- " + test);
  CHECK(said.status == 1);
  CHECK(said.lines().back() == "2 launches of race: 1 fault");
  CHECK_THAT(said.out, Contains("fault of the rule data_race, 2 times"));
  const json results = read_json("all.sarif")["runs"][0]["results"];
  CHECK((results.size() == 1 && results[0]["occurrenceCount"] == 2));
  const json answer = json::parse(tool::shell(warpbit + "findings --json -- " + test).out);
  CHECK((answer["state"] == "ran" && answer["status"] == 0 && answer["launches"] == 2));
  CHECK((answer["findings"][0]["grade"] == "fault" && answer["findings"][0]["at"][0]["line"] == 7));
}

TEST_CASE("findings tells a test that is clean from one that fails, does not run or launches nothing") {
  const std::string warpbit = tool_path();
  const Repository repository;
  const std::string clean = warpbit + "launch kernels*/race.ptx --block 32 --arg zeros:u32:64";
  struct Row {
    std::string test;
    int status;
    std::string said;
  };
  const Row rows[] = {{"sh -c \"" + clean + "\"", 0, "1 launch of race: nothing found"},
                      {"sh -c \"" + clean + "; exit 5\"", 1, "the test fails, with exit status 5"},
                      {"warpbit-no-such-command", 2, "the test does not run: warpbit-no-such-command"},
                      {"true", 3, "the test launches no kernel: true"}};
  for (const Row& row : rows) {
    CAPTURE(row.test);
    const tool::Output said = tool::shell(warpbit + "findings -- " + row.test);
    CHECK(said.status == row.status);
    CHECK(said.lines().back() == row.said);
  }
  CHECK(tool::shell(warpbit + "findings").status == 2);
}

TEST_CASE("a test that compares arrays", "[.][compares_bits]") {
  const std::vector<float> ones(8, 1.0F), zeros(8);
  const std::vector<std::uint32_t> words(128), others(128, 1);
  const auto mma =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *Target::find("sm_90"));
  CHECK_THAT(ones, catch2::EqualBits(ones));
  CHECK_THAT(zeros, !catch2::EqualBits(ones));
  CHECK_THAT(zeros, catch2::EqualBits(ones));
  CHECK_THAT(words, catch2::EqualBits(mma->operands()[0], others));
}

TEST_CASE("an EqualBits that fails is told to findings, and no other one") {
  const std::string test = fs::canonical("/proc/self/exe").string();
  const std::vector<std::string> command = {test, "[compares_bits]"};
  const Result<FindingsReport> report = findings(command);
  REQUIRE(report);
  CHECK(report->status != 0);
  REQUIRE(report->remarks.size() == 2);
  const Remark &array = report->remarks[0], &registers = report->remarks[1];
  CHECK((array.rule == "bits_differ" && array.grade == Grade::fault && registers.rule == "bits_differ"));
  CHECK_THAT(array.message, Catch::StartsWith("8 of 8 elements of the array differ") &&
                                Catch::EndsWith("every element is wrong"));
  REQUIRE(array.at.size() == 1);
  CHECK_THAT(array.at[0].file, Catch::EndsWith("review_test.cpp"));
  CHECK(array.at[0].line == static_cast<int>(device_inputs::line_of(
                                "tests/review_test.cpp", "  CHECK_THAT(zeros, catch2::EqualBits(ones));\n")));
  CHECK_THAT(registers.message, Contains("128 of 128 elements of d differ"));
  CHECK(registers.at.empty());
}

TEST_CASE("a survivor of notice is a remark at the line that the test does not hold") {
  const std::string warpbit = tool_path();
  const Repository repository;
  const std::string test = warpbit + "launch kernels*/race.ptx --block 32 --arg zeros:u32:64";
  const tool::Output said =
      tool::shell(warpbit + "notice --kinds store --annotations -- sh -c " + tool::shell_word(test));
  CHECK(said.status == 1);
  const auto least = [&](const char* percent) {
    return tool::shell(warpbit + "notice --kinds store --least " + percent + " -- sh -c " +
                       tool::shell_word(test))
        .status;
  };
  // Of two stores a launch notices the one that it loads itself.
  CHECK((least("50") == 0 && least("51") == 1 && least("101") == 2));
  CHECK_THAT(said.out,
             Contains("::warning file=race.cu,line=7,title=unnoticed_store in race::the store is left out"));
}

TEST_CASE("remarks of one place are told once, in the words of the first") {
  const Remark one{"data_race", "s", Grade::fault, "first", "k", {{"a.cu", 3}}, {}, 2};
  Remark same = one, other = one, nowhere = one;
  same.message = "second";
  other.at[0].line = 4;
  nowhere.at.clear();
  const std::vector<Remark> all = merged({one, same, other, nowhere, nowhere});
  REQUIRE(all.size() == 4);
  CHECK((all[0].times == 4 && all[0].message == "first"));
  CHECK((all[1].times == 2 && all[2].times == 2));
}

TEST_CASE("what would end a value of an annotation is escaped, and a place outside is not named") {
  const Repository repository;
  std::ofstream("a,b:c.cu") << "x";
  const Remark remarks[] = {{"r", "s", Grade::note, "100 %\nnext", "k", {{"a,b:c.cu", 3, 5}}},
                            {"r", "s", Grade::finding, "m", "", {{"/elsewhere/helper.cuh", 3}}},
                            {"r", "s", Grade::finding, "n", "", {{"/elsewhere/helper.cuh", 4}}}};
  CHECK(
      annotations(remarks, fs::current_path()) ==
      "::notice file=a%2Cb%3Ac.cu,line=3,col=5,title=r in k::100 %25%0Anext\n::warning title=r::m%0Aand 1 more\n");
  const json results = json::parse(sarif(remarks, fs::current_path()))["runs"][0]["results"];
  CHECK(results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%2Cb%3Ac.cu");
  CHECK(results[0]["locations"][0]["physicalLocation"]["region"] == json{{"startLine", 3}, {"startColumn", 5}});
  CHECK(results[1]["locations"][0]["physicalLocation"]["artifactLocation"] ==
        json{{"uri", "file:///elsewhere/helper.cuh"}});
}

TEST_CASE("the line of the kernel is shown, or the first that lies in the repository") {
  const Repository repository;
  Fault fault{};
  fault.error = {Errc::data_race, "st", "x", ""};
  fault.rule = KernelRule::data_race;
  fault.chain = {{"k", "race.cu", 7}, {"helper", "/elsewhere/helper.cuh", 40}};
  fault.ptx_line = 12;
  const Remark out = remark(fault, Grade::finding, "kernels of mine/race.ptx");
  CHECK(out.at == std::vector<RemarkPlace>{{"/elsewhere/helper.cuh", 40},
                                           {"race.cu", 7, 0, "inlined here"},
                                           {"kernels of mine/race.ptx", 12, 0, "PTX"}});
  CHECK(shown_place(out, review_root()) == &out.at[1]);
  CHECK(shown_place(out, "/") == &out.at[1]);
  CHECK(shown_place(Remark{}, "/") == nullptr);
  // Helpers in a header of the repository; a kernel of another project that calls one of them.
  std::ofstream("helper.cuh") << "";
  fault.chain = {{"k", "race.cu", 7}, {"helper", "helper.cuh", 40}};
  const Remark both = remark(fault, Grade::finding, "race.ptx");
  CHECK(shown_place(both, review_root()) == &both.at[1]);
  fault.chain = {{"k", "/elsewhere/kernel.cu", 7}, {"helper", "helper.cuh", 40}};
  const Remark inner = remark(fault, Grade::finding, "race.ptx");
  CHECK(shown_place(inner, review_root()) == &inner.at[0]);
  // A lambda of the kernel that a helper calls: the line that the message begins with.
  fault.chain = {
      {"k", "race.cu", 7}, {"each", "helper.cuh", 40}, {"k()::{lambda()#1}::operator()", "race.cu", 8}};
  fault.at = {"race.cu", 8};
  const Remark called_back = remark(fault, Grade::finding, "race.ptx");
  CHECK(shown_place(called_back, review_root()) == &called_back.at[0]);
  // A test that runs in another folder than the compiler.
  fs::create_directory("tests");
  fs::current_path("tests");
  CHECK(shown_place(out, review_root()) == &out.at[1]);
  CHECK_THAT(annotations(std::vector{out}, review_root()), Contains("file=race.cu,line=7,"));
  fs::current_path("..");
}

}  // namespace review_test
