// SPDX-License-Identifier: Apache-2.0
// What --json prints, of every command: one object with a schema, also for answers of "no"; nothing where there is no answer.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "in_turn.hpp"
#include "tool.hpp"

namespace cli_json_test {

using namespace tool;
using archive::zip_of;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

const std::string kForm = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
const std::string kWgmma = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16";

// With {} for the folder of files.
struct Call {
  std::string command, arguments;
  int status;
  std::string members;  // some that the object has, in their order
};

const Call kCalls[] = {
    {"verify", "{}/a.npz --json", 0, "schema files total"},
    {"verify", "{}/wrong.npz --json", 1, "schema files total"},
    {"verify", "{}/none.npz --json", 2, "schema files total"},  // which says so of the file
    {"verify", "{}/a.npz --target sm_1 --json", 2, ""},
    {"merge", "{}/a.npz --json", 2, ""},  // which prints the objects of verify and compare
    {"diff", "{}/a.npz {}/a.npz --json", 0, "schema cases elements differences details"},
    {"diff", "{}/a.npz {}/wrong.npz --json", 1, "schema cases elements differences details"},
    {"diff", "{}/a.npz {}/none.npz --json", 2, ""},
    {"ask", kForm + " H100 --json", 0, "schema line understood kind form target views also suggestions"},
    {"ask", "'hello world' --json", 1, "schema line understood kind views also suggestions"},
    {"ask", "--json", 2, ""},
    {"check", kForm + " --json", 0, "schema text accepted answers"},
    {"check", kForm + " --json --target sm_90", 0, "schema text accepted answers"},
    {"check", kForm + " --json --target sm_70", 1, "schema text accepted answers near"},
    {"check", "mma.snyc --json", 1, "schema text accepted answers near"},
    {"check", kForm + " --json --target sm_1", 2, ""},
    {"check", "--ptx {}/good.ptx --json", 0, "schema file accepted errors target entries notes"},
    {"check", "--ptx {}/bad.ptx --json", 1, "schema file accepted errors"},
    {"check", "--ptx {}/none.ptx --json", 2, ""},
    {"list", "--json", 0, "schema rows"},
    {"list", "--types --json", 0, "schema rows"},
    {"list", "--forms --json ^ldmatrix", 0, "schema forms"},
    {"list", "--forms --json ^nonsense", 1, "schema forms"},
    {"list", "--forms --machine LDSM.16.M88.4 --json", 0, "schema machine_instruction ignored seen_with forms"},
    {"list", "--forms --machine nonsense --json", 2, ""},
    {"list", "--evidence --json --target sm_90 ^movmatrix", 0, "schema families"},
    {"list", "--evidence --forms --json --target sm_90 ^movmatrix", 0, "schema forms"},
    {"list", "--evidence --json ^nonsense", 1, "schema families"},
    {"list", "--ptx --json --target sm_90 ^movmatrix", 0, "schema target kernels"},
    {"list", "golden/kernels/scan.zip --json", 0,
     "schema recording target source program device driver toolkit date notes kernels"},
    {"list", "--ptx --json --target sm_90 ^nonsense", 1, "schema target kernels"},
    {"list", "--probes --json --target sm_90 ^mma.sync.*m16n8k8.*f16$", 0, "schema forms"},
    {"list", "--probes --json --target sm_90 ^movmatrix", 1, "schema forms"},
    {"list", "--kernels --json", 0, "schema kinds"},
    {"list", "--assembler --json", 0, "schema rules"},
    {"list", "--defects --json", 0, "schema defects"},
    {"list", "--captures {}/a.npz --json", 0, "schema captures"},
    {"list", "--captures {}/none.npz --json", 2, ""},
    {"descriptor", "0x4000004000010040 --json --form " + kWgmma, 0,
     "schema descriptor start leading stride fields text"},
    {"descriptor", "0x4000004000010040 --json --size 512 --form " + kWgmma, 1, "schema descriptor findings"},
    {"descriptor", "0x4000004000010040 --json --form nonsense", 2, ""},
    {"tensormap", "7f0000000000 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0 --json",
     0, "schema mode elemtype rank findings fields words"},
    {"tensormap", "7f0000000008 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0 --json",
     1, "schema mode elemtype rank findings"},
    {"tensormap", "0 --json", 2, ""},
    {"pack", "{}/a.npz {}/copy.npz --json", 0, "schema files"},
    {"pack", "{}/none.npz {}/copy.npz --json", 2, ""},
    {"launch", "{}/good.ptx --arg null --json", 0, "schema kernel target blocks steps fault"},
    {"launch", "{}/good.ptx --json", 2, ""},
    {"explain", kForm + " --target sm_90 --a '1 0.1' --b 1 --json", 0, "schema form target sums notes"},
    {"explain", "{}/wrong.npz --json", 1, "schema form target sums recorded"},
    {"explain", kForm + " --target sm_90 --json", 2, ""},
    {"explain", kForm + " --target sm_80,sm_90 --a 1 --b 1 --json", 0, "schema explanations"},
    {"arbiter", "examples/recordings/assembler shift --json", 0, "schema ruling sentence certain causes"},
    {"arbiter", "examples/recordings/assembler bfe_position --json", 1,
     "schema ruling sentence certain minimal"},
    {"arbiter", "{}/none --json", 2, ""},
    {"diagnose", "{}/a.npz --json", 0, "schema verdict text statement findings"},
    {"diagnose", "{}/wrong.npz --json", 1, "schema verdict text statement findings"},
    {"diagnose", "{}/none.npz --json", 2, ""},
    {"format", "--json", 0, "schema"},
    {"format", "e4m3 0.3 --json", 0, "schema"},
    {"format", "e4m3 0x2a --json", 0, "schema"},
    {"format", "nvfp4 1 2 3 --json", 0, "schema format element scale blocks"},
    {"format", "nonsense --json", 2, ""},
    {"run", kForm + " --target sm_90 --a {}/one.csv --b {}/one.csv --json", 0,
     "schema form target evidence rows d"},
    {"run", kForm + " --target sm_90 --a {}/none.csv --b {}/one.csv --json", 2, ""},
    {"run", "--arrays {}/a.npz --out {}/run.npz --json", 0, "schema statement target cases layout written"},
    {"order", "{}/one.csv {}/one.csv {}/square.csv --target sm_90 --types f16 --json", 0,
     "schema found nearest split_k tried complete inferred"},
    {"order", "{}/one.csv {}/one.csv {}/one.csv --target sm_90 --types f16 --limit 1e5 --json", 1,
     "schema found nearest split_k tried complete inferred"},
    {"order",
     "--target sm_90 --types f16 --shape 8x8x64 --kernel nvjet_sm90_hss_64x8_64x16_1x1_h_bz_TNT@1 --json", 0,
     "schema kernel"},
    {"order", "--words --json", 0, "schema words"},
    {"order", "{}/one.csv {}/one.csv {}/none.csv --target sm_90 --types f16 --json", 2, ""},
    {"order", "{}/one.csv {}/one.csv {}/one.csv --json", 2, ""},
    {"compare", kForm + " --targets sm_90,sm_90a --a 1 --b 1 --json", 0, "schema"},
    {"compare", kForm + " --targets sm_80,sm_90 --a '-1 2^-12' --b '1 2^-13' --json", 1, "schema"},
    {"compare", kForm + " --targets sm_80,sm_90 --random ordinary --cases 1 --json", 1, "schema cases"},
    {"compare", kForm + " --targets sm_80 --a 1 --json", 2, ""},
    {"notice", "--json -- true", 3, "schema state command status seconds launches kernels mistakes"},
    {"notice", "--kinds nonsense --json -- true", 2, ""},
    {"findings", "--json -- \"$WARPBIT_CLI\" launch {}/good.ptx --arg null", 0,
     "schema state command status output seconds launches source_launches kernels findings"},
    {"findings", "--json -- true", 3, "schema state command status seconds launches kernels findings"},
    {"findings", "--json", 2, ""},
    {"layout", kForm + " --operand a --json", 0, "schema"},
    {"layout", kForm + " --by ldmatrix --json", 0, "schema"},
    {"layout", "scale_factors --rows 2 --blocks 2 --json", 0, "schema"},
    {"layout", "nonsense --json", 2, ""},
    {"where", kForm + " 'a[3,5]' --json", 0, "schema"},
    {"where", kForm + " a lane 40 reg 0 --json", 2, ""},
};

// Commands whose output is for a shell or a person, or the program's that they run.
const std::vector<std::string> kOthers = {"completion", "debug", "man", "record"};

struct Files {
  Directory directory;

  Files() {
    const auto file = [&](const char* name) { return directory.path / name; };
    const std::string module =
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry f(.param .u64 x) { ret; }\n";
    write(file("a.npz"), zip_of(good()));
    write(file("wrong.npz"), zip_of(with("d.npy", registers(2, 4, 0))));
    write(file("one.csv"), "1 2\n3 4\n");
    write(file("square.csv"), "7 10\n15 22\n");
    write(file("good.ptx"), module);
    write(file("bad.ptx"), module + "nonsense\n");
  }
  Output answer(const Call& call) const {
    std::string arguments = call.arguments;
    for (std::size_t at = 0; (at = arguments.find("{}")) != arguments.npos;)
      arguments.replace(at, 2, directory.path.string());
    return shell(shell_word(named("WARPBIT_CLI")) + " " + call.command + " " + arguments);
  }
};

TEST_CASE("--json prints one object with a schema, or nothing", "[quick][cli][sampled]") {
  const Files files;
  std::size_t number = 0;
  for (const Call& call : kCalls) {
    if (!has_turn(number++, 0, 3)) continue;
    INFO(call.command << " " << call.arguments);
    const Output output = files.answer(call);
    CHECK(output.status == call.status);
    if (call.members.empty()) {
      CHECK(output.out.empty());
      CHECK_THAT(output.err, Catch::StartsWith("warpbit: "));
      continue;
    }
    CHECK(output.err.empty());
    const ordered_json object = ordered_json::parse(output.out, nullptr, false);
    REQUIRE(object.is_object());
    CHECK(object.begin().key() == "schema");
    CHECK(object["schema"] == call.command + "/1");
    std::istringstream in(call.members);
    for (std::string member; in >> member;) CHECK(object.contains(member));
  }
}

TEST_CASE("every command has an object that is tested", "[quick][cli]") {
  std::vector<std::string> tested = kOthers;
  for (const Call& call : kCalls) tested.push_back(call.command);
  bool is_list = false;
  std::size_t count = 0;
  for (const std::string& line : run({"--help"}).lines()) {
    is_list = line == "Subcommands:" || (is_list && !line.empty());
    if (!is_list || line.find_first_not_of(' ') != 2) continue;
    const std::string command = line.substr(2, line.find(' ', 2) - 2);
    INFO(command);
    CHECK(std::ranges::find(tested, command) != tested.end());
    ++count;
  }
  CHECK(count >= 17);
}

TEST_CASE("check --batch --json prints an object for each line", "[quick][cli]") {
  const Output output =
      run({"check", "--batch", "--json"}, "sm_90\t" + kForm + "\nnonsense\nsm_70\t" + kForm + "\n");
  CHECK(output.status == 0);
  const std::vector<std::string> lines = output.lines();
  REQUIRE(lines.size() == 3);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const ordered_json line = ordered_json::parse(lines[i]);
    CHECK(line.begin().key() == "schema");
    CHECK(line["schema"] == "check-line/1");
    CHECK(line["line"] == i + 1);
    CHECK(line["accepted"] == (i == 0));
    CHECK(line.contains("error") == (i != 0));
  }
  CHECK(ordered_json::parse(lines[1])["error"]["code"] == "usage");
  CHECK(ordered_json::parse(lines[2])["target"] == "sm_70");
  CHECK(ordered_json::parse(lines[2])["text"] == kForm);
  CHECK(run({"check", "--batch", "--json", "--strict"}, "nonsense\n").status == 1);
}

TEST_CASE("objects say what the text says", "[quick][cli]") {
  const ordered_json one = ordered_json::parse(run({"check", kForm, "--target", "sm_90", "--json"}).out);
  REQUIRE(one["answers"].size() == 1);
  const ordered_json answer = one["answers"][0];
  CHECK(answer["form"] == kForm);
  CHECK(answer["evidence"]["overall"] == "captured");
  CHECK(answer["operands"][1]["registers"] == 4);
  CHECK(answer["operands"][1]["rows"] == 16);
  CHECK_THAT(run({"check", kForm, "--target", "sm_90"}).out,
             Catch::Contains(answer["plan"].get<std::string>()));
  CHECK_FALSE(answer.contains("machine_code"));
  const ordered_json seen = ordered_json::parse(run({"check", kForm, "--target", "sm_90a", "--json"}).out);
  CHECK(seen["answers"][0]["machine_code"]["text"] == "HMMA");
  CHECK_THAT(run({"check", kForm, "--machine"}).out, Catch::Contains("sm_90a"));
  const ordered_json read =
      ordered_json::parse(run({"descriptor", "0x4000004000010040", "--form", kWgmma, "--json"}).out);
  CHECK(read["start"] == 0x400);
  CHECK(read["swizzle_bytes"] == 128);
  CHECK(read["bytes"] == 16 * 16 * 2);
  CHECK(read["findings"].empty());
  CHECK(read["fields"][0]["meaning"] == "0x400");
  CHECK(read["fields"].back()["value"] == 1);
  CHECK(read["fields"].back()["meaning"] == "128-byte swizzle");
  // M 128, N 16, f32 = f16 x f16: bits 24-28 M / 16, 17-22 N / 8, 4-5 f32.
  const ordered_json of_tensor =
      ordered_json::parse(run({"list", "--forms", "--json", "^tcgen05.mma.cta_group::1.kind::f16$"}).out);
  CHECK(of_tensor["forms"][0]["idesc_example"] == "0x8040010");
  const ordered_json forms = ordered_json::parse(run({"list", "--forms", "--json", "^movmatrix"}).out);
  REQUIRE(forms["forms"].size() == 1);
  CHECK(forms["forms"][0]["operands"] == "d:b32 a:b32");
  CHECK(forms["forms"][0]["targets"][0] == "sm_75");
}

}  // namespace cli_json_test
