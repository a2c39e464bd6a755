// SPDX-License-Identifier: Apache-2.0
// The command-line tool: output and exit status of each command.
#include <fmt/format.h>
#include <unistd.h>  // geteuid

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tool.hpp"
#include "warpbit/capture.hpp"
#include "warpbit/instruction.hpp"

namespace cli_test {

using namespace tool;
using archive::dictionary;
using archive::npy;
using archive::text_npy;
using archive::zip_of;
using Catch::Contains;
namespace fs = std::filesystem;

// The captures of the repository.
constexpr const char* kGolden = "golden/sm_90a";

std::size_t golden_files() {
  std::size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kGolden))
    count += entry.path().extension() == ".npz";
  REQUIRE(count > 0);
  return count;
}

std::string total(std::size_t files, std::size_t cases, std::size_t elements, std::size_t mismatches = 0,
                  std::size_t unsupported = 0, std::size_t unreadable = 0) {
  return fmt::format("total: {} files, {} cases, {} elements, {} mismatches, {} unsupported, {} unreadable",
                     files, cases, elements, mismatches, unsupported, unreadable);
}

struct Totals {
  std::size_t files = 0, cases = 0, elements = 0, mismatches = 0, unsupported = 0, unreadable = 0,
              other_shards = 0;
};
Totals totals_of(const Output& output) {
  REQUIRE_FALSE(output.lines().empty());
  Totals t;
  REQUIRE(
      std::sscanf(output.lines().back().c_str(),
                  "total: %zu files, %zu cases, %zu elements, %zu mismatches, %zu unsupported, %zu unreadable"
                  ", %zu files in other shards",
                  &t.files, &t.cases, &t.elements, &t.mismatches, &t.unsupported, &t.unreadable,
                  &t.other_shards) >= 6);
  REQUIRE(output.lines().back() ==
          total(t.files, t.cases, t.elements, t.mismatches, t.unsupported, t.unreadable) +
              (t.other_shards ? fmt::format(", {} files in other shards", t.other_shards) : ""));
  return t;
}

TEST_CASE("verify replays all captures of golden/", "[quick][cli][once]") {
  const std::size_t files = golden_files();
  const Output all = run({"verify", kGolden});
  const Totals t = totals_of(all);
  CHECK(all.status == 0);
  CHECK(all.err.empty());
  CHECK(all.lines().size() == files + 1);
  CHECK(all.lines().back() == total(files, t.cases, t.elements));
  CHECK(t.cases >= files);
  CHECK(t.elements > t.cases);

  const Output quiet = run({"verify", "--quiet", kGolden});
  CHECK(quiet.status == 0);
  CHECK(quiet.out == all.lines().back() + "\n");

  const Output json = run({"verify", "--json", kGolden});
  CHECK(json.status == 0);
  const auto parsed = nlohmann::json::parse(json.out);
  CHECK(parsed["files"].size() == files);
  CHECK(parsed["total"] == nlohmann::json{{"files", files},
                                          {"cases", t.cases},
                                          {"elements", t.elements},
                                          {"mismatches", 0},
                                          {"unsupported", 0},
                                          {"unreadable", 0},
                                          {"other_shards", 0},
                                          {"records", 0},
                                          {"may_differ", 0},
                                          {"faults", 0},
                                          {"not_reproducible", 0}});
  for (const auto& file : parsed["files"]) CHECK(file["status"] == "replayed");
}

TEST_CASE("verify --shard: each file in one share", "[quick][cli][once]") {
  const Totals all = totals_of(run({"verify", "--quiet", kGolden}));
  std::uint64_t files = 0, elements = 0;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const Output some = run({"verify", "--shard", shard, kGolden});
    const Totals t = totals_of(some);
    CHECK(some.status == 0);
    CHECK(some.lines().size() == t.files + 1);
    CHECK(t.files > all.files / 4);
    CHECK(t.other_shards == all.files - t.files);
    files += t.files;
    elements += t.elements;
  }
  CHECK(files == all.files);
  CHECK(elements == all.elements);
  CHECK(run({"verify", "--quiet", "--shard", "1/1", kGolden}).out == run({"verify", "--quiet", kGolden}).out);
  for (const char* shard : {"", "1", "0/3", "4/3", "1/", "/3", "1/3x", "-1/3", "1/0", "1/99999999999999999999"})
    CHECK_THAT(run({"verify", "--shard", shard, kGolden}).err,
               Contains(fmt::format("'{}'; expected I/N with 1 <= I <= N", shard)));
}

TEST_CASE("verify as another target says what differs", "[quick][cli][once]") {
  const Output other = run({"verify", "--target", "sm_80", "--quiet", kGolden});
  const Totals t = totals_of(other);
  CHECK(t.files == golden_files());
  CHECK(t.unsupported > 0);
  CHECK(t.mismatches > 0);
  CHECK(t.unreadable == 0);
  CHECK(other.status == 2);
  CHECK(run({"verify", "--target", "sm_80", "--json", kGolden}).status == 2);
  CHECK_THAT(run({"verify", "--target", "sm_80", kGolden}).out, Contains(" sm_80 (file: sm_90a) "));
}

TEST_CASE("list --captures prints what an index says", "[quick][cli]") {
  const Directory directory;
  write(directory.path / "x.npz", zip_of(good()));
  const Output one = run({"list", "--captures", (directory.path / "x.npz").string()});
  CHECK(one.status == 0);
  REQUIRE(one.lines().size() == 2);
  CHECK(one.lines()[0] == "path\tstatement\ttarget\tlayout\tsource\tprofile\tcases\telements\tdate\tdevice");
  CHECK(one.lines()[1] == (directory.path / "x.npz").string() +
                              "\tmma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};\tsm_90a\t"
                              "registers\tmodel\t-\t2\t256\t-\t-");
  CHECK(run({"list", "--captures", "include"}).status == 2);
}

TEST_CASE("list --evidence says what rests on which captures", "[quick][cli][once]") {
  const Output forms = run({"list", "--evidence", "--forms", "--target", "sm_90", "^movmatrix"});
  CHECK(forms.status == 0);
  REQUIRE(forms.lines().size() == 3);
  CHECK(forms.lines()[0] == "movmatrix.sync.aligned.m8n8.trans.b16");
  CHECK_THAT(forms.lines()[1] + forms.lines()[2], Contains("target: sm_90  order: captured") &&
                                                      Contains("files: 1") && Contains("captured") &&
                                                      Contains("NVIDIA H200") && !Contains("inferred"));
  const Output old = run({"list", "--evidence", "--csv", "--target", "sm_80", "^movmatrix"});
  REQUIRE(old.lines().size() == 2);
  CHECK_THAT(old.lines()[1], Contains("sm_80") && !Contains("NVIDIA"));
  CHECK(run({"list", "--evidence", "no_such_form"}).status == 1);
  CHECK(run({"list", "--evidence", "--target", "sm_1"}).status == 2);
}

TEST_CASE("pack keeps the first cases that fit, and all where it is told no size", "[quick][cli]") {
  const Directory directory;
  const fs::path from = directory.path / "from", to = directory.path / "to";
  fs::create_directories(from / "deep");
  write(from / "deep" / "x.npz", zip_of(good()));
  const auto cases = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"pack", from.string(), to.string()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Output packed = run(arguments);
    CHECK(packed.status == 0);
    CHECK(packed.out == "packed: 1 files\n");
    const Totals t = totals_of(run({"verify", (to / "deep" / "x.npz").string()}));
    CHECK(t.elements == t.cases * kElements / 2);
    CHECK(t.mismatches + t.unsupported + t.unreadable == 0);
    return t.cases;
  };
  constexpr std::size_t kCase = 32 * 4 * (2 + 1 + 4 + 4);  // a, b, c, d
  CHECK(cases({}) == 2);
  CHECK(cases({"--bytes", std::to_string(2 * kCase)}) == 2);
  CHECK(cases({"--bytes", std::to_string(2 * kCase - 1)}) == 1);
  CHECK(cases({"--bytes", "0"}) == 1);
  CHECK(run({"pack", (from / "none").string(), to.string()}).status == 2);
}

// good() with the destination of case 1, lane 5, register 2 changed: row 9, column 2 of D (PTX manual,
// fragments of m16n8k8).
Members one_bit_off() {
  std::string data = words(2 * 32 * 4, 0x41000000);
  data[4 * ((1 * 32 + 5) * 4 + 2)] ^= 0x01;
  return with("d.npy", npy(dictionary("'<u4'", "(2, 32, 4)"), data));
}
const std::string kOneBitOff =
    "case 1 lane 5 register 2 row 9 column 2: expected 0x41000001 (8.000000953674316), got 0x41000000 (8)";

TEST_CASE("a mismatch is described in full", "[quick][cli]") {
  const Directory directory;
  const std::string good_file = write(directory.path / "a.npz", zip_of(good()));
  const std::string bad_file = write(directory.path / "b.npz", zip_of(one_bit_off(), true));
  const Output output = run({"verify", directory.path.string()});
  CHECK(output.status == 1);
  const std::string statement = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};";
  CHECK(output.lines() ==
        std::vector<std::string>{
            good_file + ": " + statement + " sm_90a 2 cases, 256 elements, 0 mismatches, model",
            bad_file + ": " + statement + " sm_90a 2 cases, 256 elements, 1 mismatches, model",
            "  " + kOneBitOff, total(2, 4, 2 * kElements, 1)});

  const auto json = nlohmann::json::parse(run({"verify", "--json", bad_file}).out);
  CHECK(json["files"][0]["details"][0] == nlohmann::json{{"case", 1},
                                                         {"lane", 5},
                                                         {"register", 2},
                                                         {"row", 9},
                                                         {"column", 2},
                                                         {"product", 0},
                                                         {"format", "f32"},
                                                         {"expected", "0x41000001"},
                                                         {"got", "0x41000000"}});
  const std::string wrong = write(directory.path / "c.npz", zip_of(with("d.npy", registers(2, 4, 0))));
  const Output many = run({"verify", wrong});
  CHECK(many.status == 1);
  REQUIRE(many.lines().size() == 7);
  CHECK(many.lines()[5] == "  ... and 252 more");
  CHECK(run({"verify", "--details", "0", wrong}).lines().size() == 3);
}

// A store of zeros to eight lines of 16 bytes, with byte 0x25 of case 1 not 0 afterwards.
TEST_CASE("a mismatch in memory is described by its address", "[quick][cli]") {
  const Directory directory;
  std::string addresses;
  for (std::uint32_t i = 0; i < 64; ++i) addresses += words(1, i % 8 * 16);
  std::string after(2 * 128, '\0');
  after[128 + 0x25] = '\x03';
  const auto image = [](const std::string& data) { return npy(dictionary("'|u1'", "(2, 128)"), data); };
  Members members = with("statement.npy", text_npy("stmatrix.sync.aligned.m8n8.x1.shared.b16 [addr], {a};"));
  for (const char* unused : {"b.npy", "c.npy", "d.npy"}) members = with(members, unused, "");
  members = with(members, "addr.npy", npy(dictionary("'<u4'", "(2, 32)"), addresses));
  members = with(members, "a.npy", registers(2, 1, 0));
  members = with(members, "smem.npy", image(std::string(2 * 128, '\xFF')));
  members = with(members, "smem_out.npy", image(after));
  const std::string path = write(directory.path / "s.npz", zip_of(members));
  const Output output = run({"verify", path});
  CHECK(output.status == 1);
  REQUIRE(output.lines().size() == 3);
  CHECK(output.lines()[1] == "  case 1 byte 0x25 of memory: expected 0x03 (3), got 0x00 (0)");
  CHECK(output.lines()[2] == total(1, 2, 256, 1));
  const auto json = nlohmann::json::parse(run({"verify", "--json", path}).out);
  CHECK(json["files"][0]["details"][0] ==
        nlohmann::json{{"case", 1}, {"address", 0x25}, {"format", "b8"}, {"expected", "0x3"}, {"got", "0x0"}});
  const std::string other =
      write(directory.path / "t.npz", zip_of(with(members, "smem_out.npy", image(std::string(256, '\0')))));
  const Output difference = run({"diff", path, other});
  CHECK(difference.status == 1);
  CHECK(difference.out ==
        "case 1 byte 0x25 of memory: expected 0x03 (3), got 0x00 (0)\n"
        "total: 2 cases, 256 elements, 1 differences\n");
}

TEST_CASE("a mask restricts the comparison, other members are ignored with a note", "[quick][cli]") {
  const Directory directory;
  const std::string path = (directory.path / "m.npz").string();
  const auto mask = [](const std::string& data) { return npy(dictionary("'|u1'", "(2, 32, 4)"), data); };
  std::string places(2 * 32 * 4, '\x01');
  places[(1 * 32 + 5) * 4 + 2] = '\0';
  write(path, zip_of(with(one_bit_off(), "mask.npy", mask(places))));
  Output output = run({"verify", path});
  CHECK(output.status == 0);
  CHECK(output.lines().back() == total(1, 2, kElements - 1));
  CHECK_THAT(output.out, Contains("255 elements (1 masked), 0 mismatches"));

  write(path, zip_of(with(one_bit_off(), "mask.npy", mask(std::string(256, '\0')))));
  output = run({"verify", path});
  CHECK(output.status == 2);
  CHECK(output.lines() ==
        std::vector<std::string>{
            path + ": unreadable: mask: no place is compared; expected at least one that is not 0",
            total(1, 0, 0, 0, 0, 1)});

  write(path, zip_of(with(with("extra.npy", registers(1, 1, 0)), "notes.txt", "hello")));
  output = run({"verify", path});
  CHECK(output.status == 0);
  REQUIRE(output.lines().size() == 4);
  CHECK(output.lines()[1] == "  note: member 'extra' is ignored");
  CHECK(output.lines()[2] == "  note: member 'notes.txt' is ignored");
}

// Three dot products of two elements, s8: 1*1 + 1*1 + 1, -1*1 + 2*1 + 0, and one that is off by one.
TEST_CASE("single dot products, shorter than the instruction's", "[quick][cli]") {
  const Directory directory;
  const auto member = [](const std::string& type, const std::string& shape, const std::string& data) {
    return npy(dictionary("'" + type + "'", shape), data);
  };
  Members members = with("layout.npy", text_npy("elements"));
  members = with(members, "statement.npy",
                 text_npy("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {d}, {a}, {b}, {c};"));
  members = with(members, "a.npy", member("|u1", "(3, 2)", std::string("\x01\x01\xFF\x02\x03\x00", 6)));
  members = with(members, "b.npy", member("|u1", "(3, 2)", std::string("\x01\x01\x01\x01\x03\x00", 6)));
  members = with(members, "c.npy", member("<u4", "(3,)", words(1, 1) + words(2, 0)));
  members = with(members, "names.npy", member("|S4", "(3,)", std::string("sum\0sub\0m\nl\0", 12)));
  const auto verify = [&](std::uint32_t third) {
    const std::string d = words(1, 3) + words(1, 1) + words(1, third);
    return run(
        {"verify", write(directory.path / "e.npz", zip_of(with(members, "d.npy", member("<u4", "(3,)", d))))});
  };
  const Output right = verify(9), wrong = verify(10);
  CHECK(right.status == 0);
  CHECK(right.lines().back() == total(1, 3, 3));
  CHECK(wrong.status == 1);
  REQUIRE(wrong.lines().size() == 3);
  CHECK(wrong.lines()[1] == "  element 2 'm\\x0al': expected 0x0000000a (10), got 0x00000009 (9)");
}

TEST_CASE("usage errors and help", "[quick][cli]") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"frobnicate"},
                                             {"verify"},
                                             {"verify", "--frobnicate", "golden"},
                                             {"verify", "--quiet", "--json", "golden"},
                                             {"verify", "--target", "sm_12", "golden"},
                                             {"verify", "--max-bytes", "many", "golden"},
                                             {"diff", "golden"},
                                             {"check"},
                                             {"check", "--batch", "mma"},
                                             {"list", "mma"}}) {
    const Output output = run(arguments);
    INFO(fmt::format("{}", fmt::join(arguments, " ")));
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_FALSE(output.err.empty());
  }
  // What is missing, and what it may be.
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"verify"}, {"where", "mma"}, {"descriptor", "0"}, {"completion"}})
    CHECK_THAT(run(arguments).err, Catch::StartsWith("warpbit: " + arguments[0] + ": ") &&
                                       Contains(" is required; expected ") && Contains("\n"));
  CHECK_THAT(run({"where", "mma"}).err, Contains("question is required; expected a[3,5] (row and column,"));
  for (const std::string command : {"", "verify", "diff", "check", "list"}) {
    const Output output = command.empty() ? run({"--help"}) : run({command, "--help"});
    CHECK(output.status == 0);
    CHECK_FALSE(output.out.empty());
  }
  CHECK(run({"--version"}).status == 0);
}

TEST_CASE("check answers for one target, for all, and for lines", "[quick][cli]") {
  const std::string form = "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64";
  const Output accepted = run({"check", "--target", "sm_90a", form});
  CHECK(accepted.status == 0);
  CHECK(accepted.lines()[0] == "accepted on sm_90a: " + form);
  const Output refused = run({"check", "--target", "sm_80", form});
  CHECK(refused.status == 1);
  REQUIRE(refused.lines().size() == 1);
  CHECK_THAT(refused.out,
             Catch::StartsWith("refused: " + form + " does not exist on sm_80; it exists on sm_90, "));
  const Output unknown = run({"check", "--target", "sm_81", form});
  CHECK(unknown.status == 2);
  CHECK(unknown.out.empty());
  CHECK_THAT(unknown.err, Catch::StartsWith("warpbit: 'sm_81' is not a known target; known are sm_70, "));

  const Output all = run({"check", form + " {d}, {a}, {b}, {c};"});
  CHECK(all.status == 0);
  CHECK(all.lines()[0].starts_with("target "));
  CHECK(run({"check", "mma.sync"}).status == 1);

  const Output batch = run({"check", "--batch"}, "sm_90a\t" + form + "\r\n\nsm_80\t" + form + "\nsm_90a\t" +
                                                     form + "\td:4xf64 a:8xf64 b:4xf64 c:={0,0,0,0}\nsm_90a\t" +
                                                     form + "\td:4xf64 a:\nsm_81\tmma\nmma");
  CHECK(batch.status == 0);
  const std::vector<std::string> lines = batch.lines();
  REQUIRE(lines.size() == 7);
  CHECK(lines[0] == "line 1: accepted");
  CHECK(lines[1] == "line 2: refused: line: no tab; expected target, tab, form or statement");
  CHECK_THAT(lines[2], Catch::StartsWith("line 3: refused: " + form + " does not exist on sm_80"));
  CHECK(lines[3] == "line 4: accepted");
  CHECK_THAT(lines[4], Catch::StartsWith("line 5: refused: operand notation: 'a:'"));
  CHECK_THAT(lines[5], Catch::StartsWith("line 6: refused: 'sm_81' is not a known target"));
  CHECK(lines[6] == "line 7" + lines[1].substr(6));
  CHECK(run({"check", "--batch"}).out.empty());
  CHECK_THAT(run({"check", "--batch"}, "sm_75\tbar.sync 0, 48;\n").lines()[0],
             Catch::StartsWith("line 1: accepted; operands not looked at"));
}

TEST_CASE("check knows the scalar forms that launch runs", "[quick][cli]") {
  for (const std::string form : {"ex2.approx.ftz.f32", "cvt.rzi.s32.f32", "cvt.rn.f32.f64",
                                 "mbarrier.init.shared.b64", "cp.async.cg.shared.global", "add.f32"}) {
    INFO(form);
    const Output one = run({"check", form, "--target", "H100"});
    CHECK(one.status == 0);
    CHECK_THAT(one.out,
               Catch::StartsWith("accepted on sm_90a: " + form) && Catch::Contains("launch executes it"));
    CHECK(run({"check", form}).status == 0);
  }
}

TEST_CASE("check says since when a form is there, and where", "[quick][cli]") {
  CHECK_THAT(run({"check", "add.u32", "--target", "sm_90a"}).out,
             Catch::Contains("PTX 8.0, the first with sm_90a\n"));
  CHECK_THAT(
      run({"check", "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128",
           "--target", "sm_100a"})
          .out,
      Catch::Contains("PTX 8.6, the first with sm_100a\n"));
  CHECK_THAT(run({"check", "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64", "--target", "sm_75"}).out,
             Catch::Contains("it exists on sm_80, sm_86"));
}

TEST_CASE("check --strict says no where anything is refused", "[quick][cli]") {
  const std::string old = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", line = "sm_80\t" + old + "\n";
  const std::string all = "movmatrix.sync.aligned.m8n8.trans.b16";  // not on sm_70
  CHECK(run({"check", "--batch", "--strict"}, line + line).status == 0);
  CHECK(run({"check", "--batch", "--strict"}, line + "sm_70\t" + old + "\n" + line).status == 1);
  CHECK(run({"check", "--batch", "--strict"}).status == 0);
  CHECK(run({"check", all}).status == 0);
  CHECK(run({"check", all, "--strict"}).status == 1);
  CHECK(run({"check", all, "--strict", "--json"}).status == 1);
  CHECK(run({"check", "cvt.rn.f16.f32", "--strict"}).status == 0);
  CHECK(run({"check", all, "--strict", "--target", "sm_80"}).status == 0);
}

TEST_CASE("tensormap says what a map means and what looks wrong", "[quick][cli]") {
  // 1024 rows of 4096 bf16, boxes of 128 rows of 64, 128-byte swizzle; as 64-bit words.
  std::vector<std::string> map{"tensormap", "0x7f0000000000", "20000066510", "0",
                               "0",         "0x3ff00000fff",  "0,",          "0x3f00000000000000, 0x7f",
                               "0x4000",    "0X400",          "0 0 0 0 0 0"};
  const Output good = run(map);
  CHECK(good.status == 0);
  CHECK(good.err.empty());
  CHECK(good.out ==
        "mode               tiled\n"
        "elemtype           bf16\n"
        "rank               2\n"
        "global_address     0x7f0000000000\n"
        "global_dim         4096 1024\n"
        "global_stride      8192\n"
        "box_dim            64 128\n"
        "element_stride     1 1\n"
        "interleave_layout  none\n"
        "swizzle_mode       bytes_128\n"
        "l2_promotion       bytes_256\n"
        "fill_mode          zeros\n"
        "box_bytes          16384\n");
  // The same as bytes, and as 32-bit words.
  const std::string bytes = "00000000007f00001065060000020000" + std::string(32, '0') +
                            "ff0f0000ff0300000000000000000000000000000000003f7f00000000000000"
                            "00400000000000000004000000000000" +
                            std::string(96, '0');
  REQUIRE(bytes.size() == 256);
  CHECK(run({"tensormap", bytes}).out == good.out);
  std::string words = "0 7f00 66510 200 0 0 0 0 fff 3ff 0 0 0 3f000000 7f 0 4000 0 400";
  for (int i = 19; i < 32; ++i) words += " 0";
  CHECK(run({"tensormap", words}).out == good.out);

  map[1] = "0x7f0000000008";
  const Output bad = run(map);
  CHECK(bad.status == 1);
  CHECK(bad.lines().back() == "refused: global_address: 0x7f0000000008; expected a multiple of 16");
  map.insert(map.begin() + 1, "--json");
  const Output json = run(map);
  CHECK(json.status == 1);
  const nlohmann::json object = nlohmann::json::parse(json.out);
  CHECK(object["global_dim"] == nlohmann::json{4096, 1024});
  CHECK(object["findings"][0]["issue"] == "refused");
  CHECK(object["findings"][0]["message"] == "global_address: 0x7f0000000008; expected a multiple of 16");
  const Output unknown = run({"tensormap", std::string(256, 'f')});
  CHECK(unknown.status == 1);
  CHECK(unknown.out == "unknown_code: rank: 8; expected 3 to 5\n");

  for (const auto& [words_given, message] : std::vector<std::pair<std::string, std::string>>{
           {"12", "map: 2 digits; expected 128 bytes"},
           {"1 2 3", "map: 3 words; expected 128 bytes"},
           {std::string(255, '0') + "g", "map: '0g'; expected at most 2 hexadecimal digits"},
           {"123456789" + words.substr(1), "map: '123456789'; expected at most 8 hexadecimal digits"}}) {
    const Output refused = run({"tensormap", words_given});
    CHECK(refused.status == 2);
    CHECK(refused.out.empty());
    CHECK_THAT(refused.err, Contains(message));
  }
}

TEST_CASE("descriptor says what is read and what looks wrong", "[quick][cli]") {
  const std::string form = "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16";
  const Output good = run({"descriptor", "0x4000004000010040", "--form", form});
  CHECK(good.status == 0);
  CHECK(good.err.empty());
  CHECK(good.lines().size() == 3 + 8);
  CHECK_THAT(good.out, Contains("start 0x400, LBO 16, SBO 1024, base offset 0, 128-byte swizzle\n"
                                "B: 16 columns of 16 elements of 16 bits, K-major\n"
                                "reads 512 bytes of shared memory:\n"
                                "  [0x400, 0x41f]\n  [0x480, 0x49f]\n  [0x520, 0x53f]\n"));
  CHECK_THAT(good.out, Contains("\n  and 8 more, to 0xbff (--ranges shows all)\n"));
  const Output all = run({"descriptor", "4000004000010040", "--form", form, "--ranges"});
  CHECK(all.status == 0);
  CHECK(all.lines().size() == 3 + 15);  // rows 7 and 8 touch

  const Output bad = run({"descriptor", "4000004000010040", "--form", form, "--size", "2048"});
  CHECK(bad.status == 1);
  CHECK_THAT(bad.out,
             Contains("\nout_of_bounds: 256 bytes up to 0xbff lie beyond the 2048 bytes of shared memory\n"));
  const Output transposed =
      run({"descriptor", "4000004000010040", "--form", form + " {d}, a, b, p, 1, 1, 1, 0;", "--operand", "a"});
  CHECK(transposed.status == 0);
  CHECK_THAT(transposed.out, Contains("A: 64 rows of 16 elements of 16 bits, M-major\n"));
  CHECK(run({"descriptor", "4000004000010040", "--form", form, "--operand", "a", "--transposed"}).out ==
        transposed.out);

  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Output output = run(arguments);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, Contains(message));
  };
  refused({"descriptor", "xyz", "--form", form}, "'xyz'; expected at most 16 hexadecimal digits");
  refused({"descriptor", "10000000000000000", "--form", form}, "at most 16 hexadecimal digits");
  refused({"descriptor", "0", "--form", "wgmma"}, "wgmma");
  refused({"descriptor", "0"}, "--form is required");
  refused({"descriptor", "0", "--form", form, "--operand", "c"}, "--operand");
  refused({"descriptor", "0", "--form", form, "--size", "-1"}, "--size");
  refused({"descriptor", "0", "--form", form + " {d}, {a}, b, p, 1, 1, 0;", "--operand", "a"},
          "A lies in registers");
  refused({"descriptor", "0", "--form", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
          "no descriptor stands there");
}

TEST_CASE("descriptor knows those of tcgen05", "[quick][cli]") {
  const std::string form = "tcgen05.mma.cta_group::1.kind::f16", ws = "tcgen05.mma.ws.cta_group::1.kind::f16";
  const Output fields = run({"descriptor", "0x8200490", "--form", form});
  CHECK(fields.status == 0);
  CHECK_THAT(fields.out, Catch::StartsWith("M 128, N 128, K 16, f32 = bf16 x bf16, A K-major, B K-major\n"));
  CHECK_THAT(fields.out, Contains("\n  bits 7-9   type of A              1   bf16\n"));
  const Output refused = run({"descriptor", "0x8200450", "--form", form});
  CHECK(refused.status == 1);
  CHECK_THAT(refused.out,
             Contains("\nnot_allowed: instruction descriptor 0x8200450 of .kind::f16, reserved (bit 6): 1; "
                      "expected 0: the bit is reserved\n"));

  const Output b = run({"descriptor", "0x4000404000010040", "--form", form, "--idesc", "0x8200490"});
  CHECK(b.status == 0);
  CHECK_THAT(b.out, Contains("B: 128 columns of 16 elements of 16 bits, K-major\n"));
  const Output older = run({"descriptor", "0x4000004000010040", "--form", form, "--idesc", "0x8200490"});
  CHECK(older.status == 1);
  CHECK_THAT(older.out, Contains("older_descriptor: bits 46-48 are 0 as in a descriptor of wgmma"));
  const Output newer =
      run({"descriptor", "0x4000404000010040", "--form", "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16"});
  CHECK(newer.status == 1);
  CHECK_THAT(newer.out, Contains("newer_descriptor: "));

  const Output mask =
      run({"descriptor", "0x0203028301020100", "--form", ws, "--idesc", "0x42200010", "--operand", "mask"});
  CHECK(mask.status == 0);
  CHECK_THAT(mask.out, Catch::StartsWith("runs of 3 zero columns and 4 others, columns of B shifted by 2\n"
                                         "zero columns of 128: 0-2, 7-9, 14-16, 21-23, 28-30, 32-33, 38-40, "));
  CHECK(run({"descriptor", "0", "--form", ws, "--operand", "mask"}).status == 2);
  CHECK(run({"descriptor", "0", "--form", form, "--operand", "a"}).status == 2);
  CHECK(run({"descriptor", "0x108200490", "--form", form}).status == 2);
}

TEST_CASE("where asks for tensor memory", "[quick][cli]") {
  const std::string form = "tcgen05.mma.cta_group::1.kind::f16";
  CHECK(run({"where", form, "--idesc", "0x4200010", "d[17,5]"}).out ==
        "d_tmem[17,5]: lane 33, column 5, bits 31:0\n");
  CHECK_THAT(run({"where", form, "d[17,5]"}).err, Contains("no instruction descriptor; expected --idesc HEX"));
  CHECK(run({"layout", form, "--idesc", "0x8400010", "--operand", "d"}).lines().size() < 200);
}

TEST_CASE("diff compares the results of the same inputs", "[quick][cli]") {
  const Directory directory;
  const auto file = [&](const char* name, const Members& members) {
    return write(directory.path / name, zip_of(members));
  };
  const std::string first = file("1.npz", good()), same = file("2.npz", good()),
                    off = file("3.npz", one_bit_off());
  Output output = run({"diff", first, same});
  CHECK(output.status == 0);
  CHECK(output.out == "total: 2 cases, 256 elements, 0 differences\n");
  output = run({"diff", off, first});
  CHECK(output.status == 1);
  CHECK(output.out == kOneBitOff + "\ntotal: 2 cases, 256 elements, 1 differences\n");
  output = run({"diff", "--json", first, off});
  CHECK(output.status == 1);
  CHECK(nlohmann::json::parse(output.out)["differences"] == 1);

  // Places that either file masks are not compared; if none is left, there is no answer.
  std::string places(2 * 32 * 4, '\x01'), rest(2 * 32 * 4, '\0');
  places[(1 * 32 + 5) * 4 + 2] = '\0';
  rest[(1 * 32 + 5) * 4 + 2] = '\x01';
  const auto mask = [](const std::string& data) { return npy(dictionary("'|u1'", "(2, 32, 4)"), data); };
  const std::string masked = file("5.npz", with(good(), "mask.npy", mask(places))),
                    complement = file("6.npz", with(good(), "mask.npy", mask(rest)));
  for (const auto& [x, y] : {std::pair(off, masked), std::pair(masked, off)})
    CHECK(run({"diff", x, y}).out == "total: 2 cases, 255 elements, 0 differences\n");
  CHECK(run({"diff", masked, complement}).status == 2);

  const std::pair<Members, std::string> others[] = {
      {with("c.npy", registers(2, 4, 1)),
       "warpbit: member 'c': other inputs; expected the same inputs in both files\n"},
      {with("statement.npy",
            text_npy("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {d}, {a}, {b}, {c};")),
       "warpbit: statement: mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32; expected "
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32\n"}};
  for (const auto& [members, message] : others) {
    output = run({"diff", first, file("4.npz", members)});
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK(output.err == message);
  }
  CHECK(run({"diff", first, (directory.path / "none.npz").string()}).status == 2);
}

TEST_CASE("a search through links takes each file once", "[quick][cli]") {
  const Directory directory;
  const fs::path folder = directory.path / "x", other = directory.path / "y";
  fs::create_directories(folder / "deep");
  fs::create_directories(other);
  write(folder / "deep" / "b.npz", zip_of(good(), true));
  write(other / "c.npz", zip_of(good(), true));
  for (const char* link : {"l", "m"}) fs::create_directory_symlink(".", folder / link);
  fs::create_directory_symlink("..", folder / "deep" / "up");
  fs::create_directory_symlink(other, folder / "y");
  fs::create_symlink("deep/b.npz", folder / "z.npz");
  const std::string path = folder.string();
  const Output verified = run({"verify", path});
  CHECK(verified.status == 0);
  REQUIRE(verified.lines().size() == 3);
  CHECK_THAT(verified.lines()[0], Catch::StartsWith(path + "/deep/b.npz: "));
  CHECK_THAT(verified.lines()[1], Catch::StartsWith(path + "/y/c.npz: "));
  CHECK(verified.lines()[2] == total(2, 4, 2 * kElements));
  CHECK(run({"list", "--captures", path}).lines().size() == 3);
  CHECK(run({"pack", path, (directory.path / "packed").string()}).out == "packed: 2 files\n");
  CHECK(fs::exists(directory.path / "packed" / "y" / "c.npz"));
}

TEST_CASE("pack is not made to pack its own copies", "[quick][cli]") {
  const Directory directory;
  const std::string folder = directory.path.string();
  write(directory.path / "a.npz", zip_of(good()));
  const Output inside = run({"pack", folder, folder + "/sub"});
  CHECK(inside.status == 2);
  CHECK(inside.err == fmt::format("warpbit: pack: {0}/sub inside {0}; expected a folder outside it\n", folder));
  CHECK_FALSE(fs::exists(directory.path / "sub"));
  CHECK(run({"pack", folder, folder}).out == "packed: 1 files\n");
}

TEST_CASE("threads that cannot be made are no mismatch", "[quick][cli]") {
  const Directory directory;
  for (const char* name : {"a.npz", "b.npz", "c.npz"}) write(directory.path / name, zip_of(good(), true));
  fs::copy_file(named("WARPBIT_CLI"), directory.path / "warpbit");
  fs::permissions(directory.path, fs::perms(0755));
  for (const auto& entry : fs::directory_iterator(directory.path)) fs::permissions(entry, fs::perms(0755));
  // A limit of processes does not hold for root.
  const std::string other_user = geteuid() == 0 ? "setpriv --reuid=65534 --clear-groups " : "";
  for (const std::string limit : {"OMP_NUM_THREADS=100000", "ulimit -u 3; OMP_NUM_THREADS=8"}) {
    const Output output = shell(other_user + "bash -c " +
                                shell_word(limit + " " + shell_word((directory.path / "warpbit").string()) +
                                           " verify " + shell_word(directory.path.string())));
    INFO(limit << output.out << output.err);
    CHECK(output.status == 0);
    CHECK(output.err.empty());
    REQUIRE_FALSE(output.lines().empty());
    CHECK(output.lines().back() == total(3, 6, 3 * kElements));
  }
}

TEST_CASE("an output that cannot be written is no success", "[quick][cli]") {
  const std::string command = std::string(std::getenv("WARPBIT_CLI")) + " list >/dev/full 2>&1";
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 2);
}

TEST_CASE("standard streams that are full or closed", "[quick][cli]") {
  const std::string tool = shell_word(named("WARPBIT_CLI"));
  const Output help = shell(tool + " --help >/dev/full");
  CHECK(help.status == 2);
  CHECK(help.err == "warpbit: the output could not be written\n");
  const Directory directory;
  const std::string a = write(directory.path / "a.csv", "1\n"), d = (directory.path / "d.csv").string();
  const Output closed =
      shell(tool + " run mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 --target sm_120 --a " +
            shell_word(a) + " --b " + shell_word(a) + " --out " + shell_word(d) + " 2>&-");
  CHECK(closed.status == 0);  // what is inferred would be said on stderr
  CHECK(archive::bytes_of(d) == "1\n");
}

TEST_CASE("a command that is nearly one is suggested", "[quick][cli]") {
  CHECK(run({"chek"}).err == "warpbit: 'chek': not a command; expected check? (warpbit --help lists all)\n");
  CHECK_THAT(run({"layuot", "x"}).err, Contains("expected layout?"));
  CHECK_THAT(run({"nonsense"}).err,
             Contains("'nonsense': not a command; expected verify, merge, diff, check, "));
  CHECK(run({"nonsense"}).status == 2);
  CHECK(run({"check", "setmaxnreg.inc.sync.aligned.u32 240;"}).err.empty());
  CHECK_THAT(run({"check", "ldmatix.sync.aligned.m8n8.x4.shared.b16"}).err,
             Contains("\n  ldmatrix.sync.aligned.m8n8.x4"));
}

TEST_CASE("list --forms takes a target and a pattern", "[quick][cli]") {
  const Output found = run({"list", "--forms", "--csv", "--target", "sm_90", "^ldmatrix.*x4"});
  CHECK(found.status == 0);
  REQUIRE(found.lines().size() > 1);
  CHECK(found.lines()[0] == "form,operands,targets");
  for (const std::string& line : found.lines())
    CHECK((line.starts_with("form,") || line.starts_with("ldmatrix.")));
  CHECK(run({"list", "--forms", "^no_such"}).status == 1);
}

// Forms are not broken; none here is as long as a line.
TEST_CASE("tables are as wide as COLUMNS says, 100 columns in a pipe", "[quick][cli][once]") {
  const std::string tool = shell_word(named("WARPBIT_CLI"));
  for (const std::string what :
       {"", " --types", " --forms ^ldmatrix", " --evidence", " --evidence --forms ^movmatrix"})
    for (const auto& [begin, columns] : {std::pair("env -u COLUMNS ", 100U), std::pair("COLUMNS=80 ", 80U)}) {
      const Output output = shell(begin + tool + " list" + what);
      INFO(begin << what);
      CHECK(output.lines().size() > 2);
      for (const std::string& line : output.lines()) CHECK(line.size() <= columns);
    }
}

TEST_CASE("list shows every target and every form", "[quick][cli]") {
  const Output list = run({"list"}), markdown = run({"list", "--markdown"});
  CHECK(list.status == 0);
  CHECK(markdown.status == 0);
  for (const warpbit::Target target : warpbit::Target::all())
    for (const Output& output : {list, markdown}) CHECK_THAT(output.out, Contains(std::string(target.name())));
  REQUIRE(markdown.lines().size() > 2);
  const auto bars = [](const std::string& line) { return std::count(line.begin(), line.end(), '|'); };
  for (const std::string& line : markdown.lines()) {
    CHECK(line.front() == '|');
    CHECK(line.back() == '|');
    CHECK(bars(line) == bars(markdown.lines()[0]));
  }
  CHECK(markdown.lines()[1].find_first_not_of("|-") == std::string::npos);
  const Output forms = run({"list", "--forms", "--csv"});
  CHECK(forms.status == 0);
  CHECK(forms.lines().size() == warpbit::forms().size() + 1);
  const std::vector<std::string> shown = run({"list", "--forms"}).lines();
  const auto is_form = [](const std::string& line) { return !line.starts_with("  "); };
  CHECK(static_cast<std::size_t>(std::ranges::count_if(shown, is_form)) == warpbit::forms().size());
}

}  // namespace cli_test
