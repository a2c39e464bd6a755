// SPDX-License-Identifier: Apache-2.0
// What --json prints, of every command: one object with a schema, also for answers of "no"; nothing where there is no answer. The
// object is of that schema's file, which names all of its members.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "in_turn.hpp"
#include "json_schema.hpp"
#include "tool.hpp"

namespace cli_json_test {

using namespace tool;
using archive::zip_of;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

const std::string kForm = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
const std::string kWgmma = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16";
const std::string kTensor = "tcgen05.mma.cta_group::1.kind::f16";
const std::string kGemm =
    "examples/ptx_kernel.ptx --entry gemm --grid 1,1 --block 32 --arg zeros:f16:16x16 --arg zeros:f16:8x16 --arg "
    "zeros:f32:16x8 --arg i32:8 --arg i32:16";
const std::string kTested = "\"$WARPBIT_CLI\" launch " + kGemm;
const std::string kRacing =
    "\"$WARPBIT_CLI\" launch tests/broken/data_race.ptx --entry broken --block 64 --arg zeros:u32:64";

// With {} for the folder of files.
struct Call {
  std::string command, arguments;
  int status;
  std::string shape;  // of its schema's, "whole" where all answers are alike; empty: nothing is printed
};

const Call kCalls[] = {
    {"verify", "{}/a.npz --json", 0, "replay"},
    {"verify", "{}/wrong.npz --json", 1, "replay"},
    {"verify", "{}/none.npz --json", 2, "replay"},  // which says so of the file
    {"verify", "{}/a.npz --target sm_1 --json", 2, ""},
    {"verify", "golden/kernels/scan.zip --json", 0, "replay"},
    {"verify", "examples/recordings/assembler --against examples/recordings/assembler --json", 0, "against"},
    {"merge", "{}/a.npz --json", 2, ""},  // which prints the objects of verify and compare
    {"diff", "{}/a.npz {}/a.npz --json", 0, "whole"},
    {"diff", "{}/a.npz {}/wrong.npz --json", 1, "whole"},
    {"diff", "{}/a.npz {}/none.npz --json", 2, ""},
    {"ask", kForm + " H100 --json", 0, "whole"},
    {"ask", "'hello world' --json", 1, "whole"},
    {"ask", "'1 + 2^-24 on H100' --json", 0, "whole"},
    {"ask", "0x3c00 --json", 0, "whole"},
    {"ask", "--json", 2, ""},
    {"check", kForm + " --json", 0, "statement"},
    {"check", kForm + " --json --target sm_90", 0, "statement"},
    {"check", kForm + " --json --target sm_70", 1, "statement"},
    {"check", "mma.snyc --json", 1, "statement"},
    {"check", "'add.rn.f32 a, b, c;' --target sm_90 --json", 0, "statement"},
    {"check", "'ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r5+16];' --target sm_90 --json", 0,
     "statement"},
    {"check", kForm + " --json --target sm_1", 2, ""},
    {"check", "--ptx {}/good.ptx --json", 0, "module"},
    {"check", "--ptx {}/bad.ptx --json", 1, "module"},
    {"check", "--ptx {}/none.ptx --json", 2, ""},
    {"list", "--json", 0, "evidence"},
    {"list", "--types --json", 0, "evidence"},
    {"list", "--forms --json ^ldmatrix", 0, "forms"},
    {"list", "--forms --json ^nonsense", 1, "forms"},
    {"list", "--forms --machine LDSM.16.M88.4 --json", 0, "machine"},
    {"list", "--forms --machine nonsense --json", 2, ""},
    {"list", "--evidence --json --target sm_90 ^movmatrix", 0, "families"},
    {"list", "--evidence --forms --json --target sm_90 ^movmatrix", 0, "form_evidence"},
    {"list", "--evidence --json ^nonsense", 1, "families"},
    {"list", "--ptx --json --target sm_90 ^movmatrix", 0, "record_kernels"},
    {"list", "golden/kernels/scan.zip --json", 0, "recording"},
    {"list", "--ptx --json --target sm_90 ^nonsense", 1, "record_kernels"},
    {"list", "--probes --json --target sm_90 ^mma.sync.*m16n8k8.*f16$", 0, "probes"},
    {"list", "--probes --json --target sm_90 ^movmatrix", 1, "probes"},
    {"list", "--kernels --json", 0, "kinds"},
    {"list", "--assembler --json", 0, "assembler"},
    {"list", "--defects --json", 0, "defects"},
    {"list", "--rules --json", 0, "rules"},
    {"list", "--isa --json", 0, "isa"},
    {"list", "--targets --json", 0, "targets"},
    {"list", "--captures {}/a.npz --json", 0, "captures"},
    {"list", "--captures {}/none.npz --json", 2, ""},
    {"descriptor", "0x4000004000010040 --json --form " + kWgmma, 0, "matrix"},
    {"descriptor", "0x4000004000010040 --json --size 512 --form " + kWgmma, 1, "matrix"},
    {"descriptor", "0x4000004000010040 --json --form nonsense", 2, ""},
    {"descriptor", "0x8200490 --form " + kTensor + " --json", 0, "instruction_descriptor"},
    {"descriptor", "0xffffffff --form " + kTensor + " --json", 1, "instruction_descriptor"},
    {"descriptor", "0x4000404000010040 --idesc 0x8200490 --form " + kTensor + " --json", 0, "matrix"},
    {"descriptor", "0 --operand mask --idesc 0x8200490 --form " + kTensor + " --json", 0, "mask"},
    {"tensormap", "7f0000000000 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0 --json",
     0, "whole"},
    {"tensormap", "7f0000000008 20000066510 0 0 3ff00000fff 0 3f00000000000000 7f 4000 400 0 0 0 0 0 0 --json",
     1, "whole"},
    {"tensormap", "0 --json", 2, ""},
    {"pack", "{}/a.npz {}/copy.npz --json", 0, "captures"},
    {"pack", "{}/none.npz {}/copy.npz --json", 2, ""},
    {"pack", "golden/kernels/scan.zip golden/kernels/sort.zip {}/both.zip --json", 0, "recordings"},
    {"launch", "{}/good.ptx --arg null --json", 0, "whole"},
    {"launch", "{}/good.ptx --json", 2, ""},
    {"launch", "{}/good.ptx --arg null --profile --trace 0 --break 4 --json", 0, "whole"},
    {"launch", kGemm + " --profile --json", 0, "whole"},
    {"launch", "tests/broken/data_race.ptx --entry broken --block 64 --arg zeros:u32:64 --lenient --json", 1,
     "whole"},
    {"launch", "tests/faults/deadlock_of_a_barrier.ptx --entry broken --block 64 --arg zeros:u32:1 --json", 1,
     "whole"},
    {"profile", "{}/counted.json --json", 0, "whole"},
    {"profile", "{}/one.csv --json", 2, ""},
    {"findings", "--json -- \"$WARPBIT_CLI\" launch {}/good.ptx --arg null", 0, "whole"},
    {"findings", "--json -- true", 3, "whole"},
    {"findings", "--json", 2, ""},
    {"explain", kForm + " --target sm_90 --a '1 0.1' --b 1 --json", 0, "one"},
    {"explain", "{}/wrong.npz --json", 1, "one"},
    {"explain", kForm + " --target sm_90 --json", 2, ""},
    {"explain", kForm + " --target sm_80,sm_90 --a 1 --b 1 --json", 0, "several"},
    {"arbiter", "examples/recordings/assembler shift --json", 0, "whole"},
    {"arbiter", "examples/recordings/assembler bfe_position --json", 1, "whole"},
    {"arbiter", "{}/none --json", 2, ""},
    {"diagnose", "{}/a.npz --json", 0, "whole"},
    {"diagnose", "{}/wrong.npz --json", 1, "whole"},
    {"diagnose", "{}/none.npz --json", 2, ""},
    {"format", "--json", 0, "formats"},
    {"format", "e4m3 --json", 0, "summary"},
    {"format", "e4m3 0.3 --json", 0, "number"},
    {"format", "e4m3 0x2a --json", 0, "one_code"},
    {"format", "e2m1 --table --json", 0, "codes"},
    {"format", "f16 --table --json", 0, "landmarks"},
    {"format", "nvfp4 --json", 0, "block_format"},
    {"format", "mxfp8 1 2 3 --json", 0, "block_format"},
    {"format", "nonsense --json", 2, ""},
    {"run", kForm + " --target sm_90 --a {}/one.csv --b {}/one.csv --json", 0, "matrices"},
    {"run", kForm + " --target sm_90 --a {}/none.csv --b {}/one.csv --json", 2, ""},
    {"run", "--arrays {}/a.npz --out {}/run.npz --json", 0, "arrays"},
    {"order", "{}/one.csv {}/one.csv {}/square.csv --target sm_90 --types f16 --json", 0, "product"},
    {"order", "{}/one.csv {}/one.csv {}/one.csv --target sm_90 --types f16 --limit 1e5 --json", 1, "product"},
    {"order",
     "--target sm_90 --types f16 --shape 8x8x64 --kernel nvjet_sm90_hss_64x8_64x16_1x1_h_bz_TNT@1 --json", 0,
     "kernel"},
    {"order", "--words --json", 0, "words"},
    {"order", "--sum sum {}/x.npy {}/sum.npy --json", 0, "reduction"},
    {"order", "--sum sum {}/x.npy {}/x.npy --axis all --json", 2, ""},
    {"order", "--sum all_reduce {}/ranks.npy {}/total.npy --json", 0, "all_reduce"},
    {"order", "--sum all_reduce {}/ranks.npy {}/total.npy --order ring=0,1 --json", 0, "known"},
    {"order", "{}/one.csv {}/one.csv {}/none.csv --target sm_90 --types f16 --json", 2, ""},
    {"order", "{}/one.csv {}/one.csv {}/one.csv --json", 2, ""},
    {"compare", kForm + " --targets sm_90,sm_90a --a 1 --b 1 --json", 0, "values"},
    {"compare", kForm + " --targets sm_80,sm_90 --a '-1 2^-12' --b '1 2^-13' --json", 1, "values"},
    {"compare", kForm + " --targets sm_80,sm_90 --random ordinary --cases 1 --json", 1, "random"},
    {"compare", kForm + " --targets sm_80,sm_90 --random ordinary --cases 1 --depth 16,32 --json", 1, "depths"},
    {"compare", kForm + " --find-difference sm_80,sm_90 --json", 1, "difference"},
    {"compare", kForm + " --find-difference sm_90,sm_90a --json", 0, "difference"},
    {"compare", kForm + " --targets sm_80 --a 1 --json", 2, ""},
    {"notice", "--json -- true", 3, "whole"},
    {"notice", "--kinds nonsense --json -- true", 2, ""},
    {"notice", "--most 2 --json -- " + kTested, 0, "whole"},
    {"findings", "--json -- " + kRacing, 1, "whole"},
    {"layout", kForm + " --operand a --json", 0, "elements"},
    {"layout", kForm + " --by ldmatrix --json", 0, "moves"},
    {"layout", "scale_factors --rows 2 --blocks 2 --json", 0, "elements"},
    {"layout", kWgmma + " --operand b --swizzle 128 --json", 0, "elements"},
    {"layout", kTensor + " --idesc 0x8200010 --operand d --json", 0, "elements"},
    {"layout", "nonsense --json", 2, ""},
    {"where", kForm + " 'a[3,5]' --json", 0, "whole"},
    {"where", kWgmma + " --swizzle 128 b byte 0x12 --json", 0, "whole"},
    {"where", kForm + " a lane 40 reg 0 --json", 2, ""},
};

// Commands whose output is for a shell or a person, or the program's that they run.
const std::vector<std::string> kOthers = {"completion", "debug", "man", "record"};

std::string floats(const std::string& shape, const std::vector<float>& values) {
  return archive::npy(archive::dictionary("'<f4'", shape),
                      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

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
    write(file("x.npy"), floats("(1, 4)", {1, 2, 3, 4}));
    write(file("sum.npy"), floats("(1,)", {10}));
    write(file("ranks.npy"), floats("(2, 2)", {1, 2, 3, 4}));
    write(file("total.npy"), floats("(1, 2)", {4, 6}));
    write(file("good.ptx"), module);
    write(file("bad.ptx"), module + "nonsense\n");
    write(file("counted.json"),
          run({"launch", file("good.ptx").string(), "--arg", "null", "--profile", "--json"}).out);
  }
  Output answer(const Call& call) const {
    std::string arguments = call.arguments;
    for (std::size_t at = 0; (at = arguments.find("{}")) != arguments.npos;)
      arguments.replace(at, 2, directory.path.string());
    return shell(shell_word(named("WARPBIT_CLI")) + " " + call.command + " " + arguments);
  }
};

// An object of that schema and shape, without a member that the schema does not name.
void check_object(const ordered_json& object, const std::string& name, const std::string& shape) {
  REQUIRE(object.is_object());
  CHECK(object.begin().key() == "schema");
  CHECK(object["schema"] == name);
  const ordered_json schema = json_schema::read(name);
  CHECK(json_schema::shapes(schema).empty() == (shape == "whole"));
  CHECK(json_schema::refusals(schema, object) == std::vector<std::string>());
  CHECK(json_schema::refusals(json_schema::closed_shape(schema, shape), object) == std::vector<std::string>());
}

TEST_CASE("--json prints one object with a schema, or nothing", "[quick][cli][sampled]") {
  const Files files;
  std::size_t number = 0;
  for (const Call& call : kCalls) {
    if (!has_turn(number++, 0, 3)) continue;
    INFO(call.command << " " << call.arguments);
    const Output output = files.answer(call);
    CHECK(output.status == call.status);
    if (call.shape.empty()) {
      CHECK(output.out.empty());
      CHECK_THAT(output.err, Catch::StartsWith("warpbit: "));
      continue;
    }
    CHECK(output.err.empty());
    check_object(ordered_json::parse(output.out, nullptr, false), call.command + "/1", call.shape);
  }
}

TEST_CASE("each schema, and each of its shapes, is that of a call", "[quick][cli]") {
  std::set<std::string> called = {"check-line/1 whole"};  // below
  for (const Call& call : kCalls) called.insert(call.command + "/1 " + call.shape);
  const std::vector<std::string> all = json_schema::names();
  REQUIRE(all.size() >= 20);
  for (const std::string& name : all) {
    std::vector<std::string> shapes = json_schema::shapes(json_schema::read(name));
    if (shapes.empty()) shapes = {"whole"};
    for (const std::string& shape : shapes) {
      INFO(name << " " << shape);
      CHECK(called.contains(name + " " + shape));
    }
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
    check_object(line, "check-line/1", "whole");
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
