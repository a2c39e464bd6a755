// SPDX-License-Identifier: Apache-2.0
// warpbit explain and warpbit compare as a user sees them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tool.hpp"

namespace explain_cli_test {

using namespace tool;
using Catch::Contains;

const std::string kF16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
const std::string kShallow = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
const std::string kFp8 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32";
const std::string kCapture = "golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_bf16_bf16_f32.npz";

const std::vector<std::string> kExample = {"explain",      kF16,  "--target", "sm_90", "--a",
                                           "1 2^-12 -3.5", "--b", "1 1 2",    "--c",   "0.1"};

TEST_CASE("an element explained, bit under bit", "[quick][cli]") {
  const Output output = run(kExample);
  CHECK(output.status == 0);
  CHECK(output.err.empty());
  CHECK(output.out == R"(c[0]: 0.1 is not in f32; 0x3dcccccd (0.10000000149011612) is taken
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 on sm_90: fused L 16, F 25, floor -133 -> f32 rz

sum 1
  E = 2, the largest exponent, of a[2] b[2]; F = 25: multiples of 2^-23 are kept
                2^2                  2^-23
  c            +      11001100110011001100|1101  0.10000000149011612
  a[0] b[0]    +  100000000000000000000000|      1
  a[1] b[1]    +              100000000000|      0.000244140625
  a[2] b[2]    -11100000000000000000000000|      -7
  -----------------------------------------
  sum of kept  -10111100110010101100110100|      -5.899755954742432
  f32          -101111001100101011001101..|      -5.899755954742432
  13 addends are zero
  -> 0xc0bccacd (-5.899755954742432); the last bit of f32 is 2^-21

result    0xc0bccacd (-5.899755954742432)
exact     -5.899755857884883880615234375
          = -791851827/2^27
error     0.203125 ulp of f32; it is the nearest
)");
}

TEST_CASE("as many scale factors as the form has blocks", "[quick][cli]") {
  // 1 x 1 x 2 in the first block; the second is of zeros.
  const auto explained = [](const std::string& scales) {
    return run(
        {"explain",
         "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
         "--target", "sm_120a", "--a", "1", "--b", "1", "--a-scale", scales});
  };
  CHECK(explained("2 0.5").status == 0);
  CHECK_THAT(explained("2 0.5").out, Contains("0x40000000") && Contains("of the scales of a[0..15] b[0..15];"));
  CHECK(explained("1 1 1 1 1").err == "warpbit: a-scale: 5 values; expected at most 4\n");
}

TEST_CASE("an element of a capture", "[quick][cli]") {
  const Output output = run({"explain", kCapture, "--case", "3", "--element", "4,2"});
  CHECK(output.status == 0);
  CHECK_THAT(output.out, Contains("on sm_90a: fused L 16, F 25,") && Contains("recorded  the same\n"));
  // The hardware's bits are not those of another GPU.
  const auto json = nlohmann::json::parse(run({"explain", kCapture, "--json"}).out);
  CHECK(json["recorded"] == json["code"]);
  CHECK(json["target"] == "sm_90a");
  CHECK(json["sums"].size() == 1);
  CHECK(json["sums"][0]["addends"].size() == 17);
  // 1 + 2^-30: of the bits from 2^0 to 2^-25, the second addend has none.
  const auto cut =
      nlohmann::json::parse(run({"explain", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "--target",
                                 "sm_90", "--a", "1 2^-15", "--b", "1 2^-15", "--json"})
                                .out)["sums"][0];
  CHECK(cut["columns"]["top"] == 0);
  CHECK(cut["columns"]["low"] == -25);
  CHECK(cut["columns"]["rows"].size() == 4);
  const auto lost = cut["columns"]["rows"][1];
  CHECK(lost["name"] == "a[1] b[1]");
  CHECK(lost["kept"] == std::string(26, ' '));
  CHECK(lost["cut"] == "    1");
  CHECK(cut["sentences"][1] == "15 addends are zero");
}

TEST_CASE("explanations fit the terminal and have no colour codes", "[quick][cli][once]") {
  std::vector<std::vector<std::string>> commands = {
      kExample,
      {"explain", kCapture, "--element", "7,7"},
      {"explain", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "--target", "sm_90", "--a", "1e300 0.1",
       "--b", "1e-300 3"},
      {"compare", kF16, "--find-difference", "sm_80,sm_90", "--explain"},
      {"compare", kCapture, "--targets", "sm_90,sm_80"},
      {"compare", kF16, kShallow, "--targets", "sm_80,sm_90", "--order", "ascending,descending+split_k=2",
       "--random", "mixed", "--cases", "9", "--explain"},
      {"compare", kF16, "--order", "ascending,split_k=2", "--find-difference", "sm_90"},
      {"compare", "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
       "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "--targets", "sm_90", "--order",
       "descending+split_k=2,ascending", "--random", "uniform", "--cases", "4"},
      {"explain", "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "--target", "sm_90", "--a",
       "448 0.001 1", "--b", "448 448 nan"}};
  for (const auto& command : commands)
    for (const std::size_t columns : {80, 100, 120}) {
      const Output output = run_with(fmt::format("COLUMNS={}", columns), command);
      CHECK(output.status == (command[0] == "explain" ? 0 : 1));
      for (const std::string& line : output.lines()) {
        INFO(line);
        CHECK(line.size() <= columns);
      }
      CHECK(output.out.find('\033') == output.out.npos);
    }
}

TEST_CASE("a picture of an explanation", "[quick][cli]") {
  const Directory directory;
  const std::string file = (directory.path / "sum.svg").string();
  std::vector<std::string> arguments = kExample;
  arguments.insert(arguments.end(), {"--svg", file});
  CHECK(run(arguments).status == 0);
  const std::string svg = archive::bytes_of(file);
  CHECK_THAT(
      svg, Catch::StartsWith("<?xml version=\"1.0\"") && Contains("a[2] b[2]") && Catch::EndsWith("</svg>\n"));
  CHECK(svg.find("-> f32") == svg.npos);  // escaped
  if (!find_command({"xmllint"}, "--version").empty())
    CHECK(shell("xmllint --noout " + shell_word(file)).status == 0);
  arguments.back() = (directory.path / "none/sum.svg").string();
  const Output refused = run(arguments);
  CHECK(refused.status == 2);
  CHECK_THAT(refused.err, Catch::StartsWith("warpbit: "));
  CHECK(refused.out.empty());
}

TEST_CASE("a picture leaves out no addend, repeats no digits, and says what its colours are", "[quick][cli]") {
  const Directory directory;
  const std::string file = (directory.path / "sum.svg").string();
  const auto picture = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    arguments.insert(arguments.end(), {"--svg", file});
    CHECK(run(arguments).status == 0);
    return archive::bytes_of(file);
  };
  // 2^-48 and 1 lie further below E = 127 than there are columns.
  const std::string large =
      picture({kF16, "--target", "sm_90", "--a", "6e-8 1", "--b", "6e-8 1", "--c", "3e38"});
  std::size_t dots = 0;
  for (std::size_t at = 0; (at = large.find(">...<", at)) != large.npos; ++at) ++dots;
  CHECK(dots == 2);
  CHECK_THAT(large, Contains(">4.930380657631341e-32 ulp of f32; it is the nearest<") &&
                        Contains(">E is its exponent<") && Contains(">sum of what is kept<") &&
                        Contains("E = 127, the largest exponent, of c; F = 25"));
  // Only zeros: no frame with nothing in it.
  const std::string zeros = picture({kF16, "--target", "sm_90", "--a", "0", "--b", "0"});
  CHECK_THAT(zeros, Contains(">only zeros are added<") && !Contains("<line"));
}

TEST_CASE("what stands above the columns does not run together", "[quick][cli]") {
  const std::vector<std::string> narrow = {"explain", kFp8, "--target", "sm_89", "--a", "2^-9", "--b", "2^-9"};
  const Output output = run(narrow);
  // 2^-18 is a product of subnormals, whose raw exponents are -6 each.
  CHECK_THAT(output.out,
             Contains("                2^-18 to 2^-25\n  a[0] b[0]    +10000000|") &&
                 Contains("E = -12, the largest raw exponent, of a[0] b[0], whose first bit is 2^-18;"));
}

TEST_CASE("what was not measured is marked wherever it is shown", "[quick][cli]") {
  const Directory directory;
  const std::string file = (directory.path / "sum.svg").string(), mark = "inferred: no result of that GPU";
  const std::vector<std::string> values = {"--a", "1", "--b", "1"};
  const auto with_values = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), values.begin(), values.end());
    return run(arguments).out;
  };
  CHECK_THAT(with_values({"explain", kF16, "--target", "sm_120", "--svg", file}), Contains(mark));
  CHECK_THAT(archive::bytes_of(file), Contains(mark));
  CHECK_THAT(with_values({"compare", kF16, "--targets", "sm_90,sm_120"}),
             Contains("\nsm_120: fused L 16, F 25, floor -133 -> f32 rz (" + mark + ")\n") &&
                 Contains("\nsm_90: fused L 16, F 25, floor -133 -> f32 rz\n"));
  CHECK_THAT(run({"compare", kF16, "--targets", "sm_90,sm_120", "--random", "mixed", "--cases", "2"}).out,
             Contains("\nsm_120: " + mark + "\n"));
  CHECK_THAT(run({"compare", kF16, "--find-difference", "sm_90,sm_120"}).out,
             Contains("\nsm_120: " + mark + "\n"));
  // NUMERICS.md: the published results of Ada lie near 1, and say nothing of results below the normal range.
  const std::vector<std::string> small = {"--target", "sm_89", "--a", "0", "--b", "0", "--c", "0x80000200"};
  std::vector<std::string> ada = {"explain", kFp8};
  ada.insert(ada.end(), small.begin(), small.end());
  CHECK_THAT(run(ada).out, Contains("(inferred: the sign of a zero, a sum below the\n    normal range)") ||
                               Contains("a sum below the normal range"));
  ada.push_back("--json");
  const auto json = nlohmann::json::parse(run(ada).out);
  CHECK(json["inferred"] == false);
  CHECK(json["assumed"].back() == "a sum below the normal range");
  CHECK_THAT(with_values({"explain", kFp8, "--target", "sm_89"}), !Contains("inferred"));
  // The manual's definition of an integer sum leaves no freedom, on any GPU.
  CHECK_THAT(with_values({"explain", "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "--target", "sm_80"}),
             !Contains("inferred"));
}

TEST_CASE("what tells two targets apart rests on nothing that is assumed", "[quick][cli]") {
  for (const std::vector<std::string>& what :
       {std::vector<std::string>{kFp8, "--find-difference", "sm_89,sm_90"},
        {"wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", kFp8, "--find-difference", "sm_90a"}}) {
    std::vector<std::string> arguments = {"compare"};
    arguments.insert(arguments.end(), what.begin(), what.end());
    const Output found = run(arguments);
    CHECK(found.status == 1);
    CHECK_THAT(found.out,
               Contains(" ulp off: it ") && Contains("(F 13)") && !Contains("inferred") && !Contains("e-4"));
  }
}

TEST_CASE("one element of a capture is explained without the others", "[quick][cli]") {
  // Metadata that the manual leaves undefined, in every case: that of the one asked for is named.
  const std::string file =
      "golden-undefined/sm_90a/mma_sp/mma_sp_ordered_metadata_sync_aligned_m16n8k16_row_col_f16_f16_f16_f16_sel0.npz";
  for (const char* index : {"0", "1"}) {
    const Output refused = run({"explain", file, "--case", index});
    CHECK(refused.status == 2);
    CHECK_THAT(refused.err, Contains(fmt::format(" in case {}, lane ", index)));
    CHECK(run({"explain", file, "--case", index, "--undefined", "as-measured"}).status == 0);
  }
}

TEST_CASE("what cannot be explained is refused in one line", "[quick][cli]") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Output output = run(arguments);
    INFO(output.err);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, Contains(message));
  };
  refused({"explain"},
          "warpbit: explain: form is required; expected a form, also short or FORM@TARGET, or a statement, "
          "whose values follow, or a capture file\n");
  refused({"explain", kF16, "--a", "1", "--b", "1"}, "no target");
  refused({"explain", kF16, "--target", "sm_90"}, "no values");
  refused({"explain", kF16, "--target", "sm_91", "--a", "1"}, "sm_91");
  refused({"explain", kF16, "--target", "sm_90", "--a", "one"}, "a[0]: 'one'");
  refused({"explain", kF16, "--target", "sm_90", "--a", "0x12345"}, "at most 16 bits");
  refused({"explain", kF16, "--target", "sm_90", "--c", "1 2"}, "c: 2 values; expected at most 1");
  refused({"explain", kF16, "--target", "sm_90", "--a-scale", "1"}, "the form has no block scaling");
  refused({"explain", "movmatrix.sync.aligned.m8n8.trans.b16", "--target", "sm_90", "--a", "1"},
          "no product of matrices");
  refused({"explain", kCapture, "--case", "100000"}, "case: 100000");
  refused({"explain", kCapture, "--element", "16,0"}, "a row below 16");
  refused({"explain", kCapture, "--element", "1;2"}, "row,column");
  refused({"explain", kCapture, "--a", "1"}, "a capture, which has its own");
  refused({"explain", "none.npz"}, "none.npz");
  refused({"explain", "mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32", "--target", "sm_90", "--a", "1"},
          "did you mean\n  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32\n");
}

TEST_CASE("values on several targets", "[quick][cli]") {
  const Output output = run({"compare", kF16, "--targets", "sm_80,sm_90", "--a", "1 1 1 1", "--b",
                             "2^-12 2^-12 2^-12 2^-12", "--c", "2^13"});
  CHECK(output.status == 1);
  CHECK(output.out == R"(target  result                        ulp off
sm_80   0x46000000 (8192)             1
sm_90   0x46000001 (8192.0009765625)  0
sm_80: fused L 8, F 24, floor -132 -> f32 rz
sm_90: fused L 16, F 25, floor -133 -> f32 rz
exact: 8192.0009765625
nearest: 0x46000001 (8192.0009765625)
sm_80 is 1 ulp off: it cuts 4 addends of sum 1 to multiples of 2^-11 (F 24), most of all a[0] b[0] =
    0.000244140625 to 0; sm_90 keeps multiples of 2^-12 (F 25) and loses nothing
)");
}

TEST_CASE("values by several forms and in several orders of K", "[quick][cli]") {
  const std::vector<std::string> values = {"--a", "1 0 0 0 0 0 0 0 1", "--b", "1 0 0 0 0 0 0 0 1", "--c",
                                           "2^24"};
  const auto compared = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    arguments.insert(arguments.end(), values.begin(), values.end());
    return run_with("COLUMNS=80", arguments);
  };
  const Output forms = compared({kF16, kShallow, "--targets", "sm_90"});
  CHECK(forms.status == 1);
  CHECK(forms.err.empty());
  CHECK(forms.out == R"(computation  result                 ulp off
m16n8k16     0x4b800001 (16777218)  0
m16n8k8      0x4b800000 (16777216)  1
m16n8k16: fused L 16, F 25, floor -133 -> f32 rz
m16n8k8: 2 instructions, each fused L 16, F 25, floor -133 -> f32 rz
exact: 16777218
nearest: 0x4b800001 (16777218)
m16n8k8 is 1 ulp off: it rounds 16777217 to 0x4b800000 (16777216) after k = 8,
    in sum 1 (instruction 1 of 2), and loses as much or less in 1 other place;
    m16n8k16 loses nothing
)");
  const Output same = compared({kF16, kShallow, "--targets", "sm_80"});
  CHECK(same.status == 0);
  CHECK_THAT(same.out, Contains("m16n8k8      0x4b800000 (16777216)  1\n"));
  // Two runs: 2^24 + 1, cut, and 1 are added to nearest even.
  const Output orders = compared({kShallow, "--targets", "sm_90", "--order", "ascending,split_k=2,1:0"});
  CHECK(orders.status == 0);
  CHECK_THAT(orders.out, Contains("\nsplit_k=2    0x4b800000 (16777216)  1\ndescending   0x4b800000 "));
  const Output explained = compared({kF16, kShallow, "--targets", "sm_90", "--explain"});
  CHECK_THAT(explained.out, Contains("on sm_90: 2 instructions, each\n    fused L 16, F 25") &&
                                Contains("\nsum 2 (instruction 2 of 2): fused L 16, F 25") &&
                                Contains("\n  a[8] b[8]    +"));
}

TEST_CASE("generated inputs and captures by several forms and in several orders of K", "[quick][cli]") {
  const Output random = run({"compare", kF16, kShallow, "--targets", "sm_90", "--order", "ascending,split_k=2",
                             "--depth", "33", "--random", "ordinary", "--cases", "8"});
  CHECK(random.status == 1);
  CHECK_THAT(random.out, Contains("differs from m16n8k16 ascending") && Contains("\nm16n8k8 split_k=2 ") &&
                             Contains(" of 1024 elements") &&
                             Contains("m16n8k8 split_k=2: 6 instructions, each "));
  const std::string shallow = "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32";
  const Output file = run_with("COLUMNS=200", {"compare", kCapture, shallow, "--targets", "sm_90"});
  CHECK(file.status == 1);
  CHECK_THAT(file.out, Contains("differs from m16n8k16") && Contains("\nm16n8k8 ") &&
                           Contains(" after k = 8, in sum 1 (instruction 1 of 2)"));
  // A GPU whose nodes have 8 products.
  const Output older = run({"compare", kCapture, shallow, "--targets", "sm_80"});
  CHECK(older.status == 0);
  CHECK_THAT(older.out, Contains("m16n8k8      0 of "));
}

TEST_CASE("captures and generated inputs on several targets", "[quick][cli]") {
  const Output same = run({"compare", kCapture, "--targets", "sm_90a,sm_90"});
  CHECK(same.status == 0);
  CHECK_THAT(same.out, Contains("sm_90   0 of "));
  const Output other = run({"compare", kCapture, "--targets", "sm_90,sm_80"});
  CHECK(other.status == 1);
  CHECK_THAT(other.out, Contains("differs from sm_90") && Contains("\nfirst: case ") &&
                            Contains("sm_90 rounds -5.5297549029260345e+60 to 0xff800000 (-inf) in sum 1; "));
  const Output random =
      run({"compare", kF16, "--targets", "sm_80,sm_90", "--random", "ordinary", "--cases", "8"});
  CHECK(random.status == 1);
  CHECK_THAT(random.out, Contains("of 1024 elements"));
}

// The number in front of " of N elements" in the second row of the table.
int differing(const std::string& out) {
  return std::stoi(out.substr(out.find("sm_90   ") + 8));
}

TEST_CASE("shares of generated inputs", "[quick][cli]") {
  const auto compared = [](const char* shard) {
    return run(
        {"compare", kF16, "--targets", "sm_80,sm_90", "--random", "mixed", "--cases", "9", "--shard", shard});
  };
  const Output whole = compared("1/1"), first = compared("1/2"), second = compared("2/2");
  CHECK_THAT(whole.out, Contains("of 1152 elements"));
  CHECK_THAT(first.out, Contains("of 640 elements"));
  CHECK_THAT(second.out, Contains("of 512 elements") && !Contains("first: case 0,"));
  REQUIRE(differing(whole.out) > 0);
  CHECK(differing(whole.out) == differing(first.out) + differing(second.out));
  CHECK(compared("3/2").status == 2);
  CHECK_THAT(compared("3/2").err, Contains("--shard: '3/2'; expected I/N with 1 <= I <= N"));
  // More than one share may hold.
  const Output large = run({"compare", kF16, "--targets", "sm_80,sm_90", "--random", "mixed", "--cases",
                            "100000000", "--shard", "1000000/1000000"});
  CHECK_THAT(large.out, Contains("of 12800 elements"));
}

TEST_CASE("statistics of generated inputs, as text, JSON and CSV", "[quick][cli]") {
  const std::vector<std::string> what = {"compare",  kF16,       "--targets", "sm_80,sm_90",
                                         "--random", "ordinary", "--cases",   "8"};
  const auto with = [&](const char* option) {
    std::vector<std::string> arguments = what;
    arguments.emplace_back(option);
    return run(arguments);
  };
  const Output text = run_with("COLUMNS=80", what);
  CHECK_THAT(text.out, Contains("\nerror: result - exact sum, in ulp of f32: ") && Contains("\nbias ") &&
                           Contains("\n99.9 % ") && Contains("\n|error|  sm_80") && Contains("\n<= 1/8 ") &&
                           Contains(" % #"));
  const auto json = nlohmann::json::parse(with("--json").out);
  CHECK(json["schema"] == "compare/1");
  CHECK(json["elements"] == 1024);
  CHECK(json["computations"][1]["target"] == "sm_90");
  CHECK(json["computations"][1]["order"] == "ascending");
  CHECK(json["computations"][1]["measured"] == 1024);
  CHECK(json["first"]["explanations"].size() == 2);
  std::uint64_t counted = 0;
  for (const auto& bin : json["histogram"]) counted += bin["counts"][1].get<std::uint64_t>();
  CHECK(counted == 1024);
  const Output csv = with("--csv");
  CHECK(csv.status == 1);
  REQUIRE(csv.lines().size() == 3);
  CHECK(
      csv.lines()[0] ==
      "name,form,target,order,depth,differing,most_codes,special,overflowed,measured,correctly_rounded,bias,deviation,"
      "mean,p50,p90,p99,p99.9,max");
  CHECK_THAT(csv.lines()[2], Catch::StartsWith("sm_90," + kF16 + ",sm_90,ascending,16," +
                                               json["computations"][1]["differing"].dump() + ","));
  CHECK_THAT(csv.lines()[2], Catch::EndsWith("," + json["computations"][1]["max"].dump()));
  // One element, and a search.
  const auto element = nlohmann::json::parse(
      run({"compare", kF16, "--targets", "sm_80,sm_90", "--a", "1", "--b", "1", "--json"}).out);
  CHECK(element["schema"] == "compare/1");
  CHECK(element["explanations"][0]["code"] == "0x3f800000");
  const auto found =
      nlohmann::json::parse(run({"compare", kF16, "--find-difference", "sm_80,sm_90", "--json"}).out);
  CHECK(found["found"] == true);
  CHECK(found["inputs"]["a"].size() == 16);
  CHECK(run({"compare", kF16, "--targets", "sm_80,sm_90", "--a", "1", "--csv"}).err ==
        "warpbit: --csv: one element; expected it with --random PROFILE or a capture file; --json\n");
  // Without floating-point sums nothing is off.
  CHECK_THAT(run({"compare", "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "--targets", "sm_80,sm_90",
                  "--random", "mixed", "--cases", "2"})
                 .out,
             !Contains("error"));
}

std::string one_line(std::string text) {
  for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos;) {
    const std::size_t end = text.find_first_not_of(' ', at + 1);
    text.replace(at, std::min(end, text.size()) - at, " ");
  }
  return text;
}

TEST_CASE("FP8 by mma on Hopper names the form that GEMMs use", "[quick][cli]") {
  const std::string note = "ask wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3";
  const std::vector<std::string> explained = {"explain", kFp8, "--target", "sm_90", "--a", "1", "--b", "1"};
  CHECK_THAT(one_line(run(explained).out),
             Contains("note: FP8 GEMMs on this GPU use wgmma, which keeps 13 fraction bits") && Contains(note));
  std::vector<std::string> as_json = explained;
  as_json.emplace_back("--json");
  CHECK_THAT(nlohmann::json::parse(run(as_json).out)["note"].get<std::string>(), Contains(note));
  CHECK_THAT(one_line(run({"check", kFp8, "--target", "sm_90a"}).out), Contains(note));
  const auto checked = nlohmann::json::parse(run({"check", kFp8, "--target", "sm_90a", "--json"}).out);
  CHECK_THAT(checked["answers"][0]["note"].get<std::string>(), Contains(note));
  CHECK_THAT(
      one_line(run({"compare", kFp8, "--targets", "sm_89,sm_90", "--random", "ordinary", "--cases", "2"}).out),
      Contains("note: sm_90: FP8 GEMMs") && Contains(note) && !Contains("note: sm_89"));
  // The form that it names exists there, and has no note; nor has a GPU with an instruction of its own.
  CHECK_THAT(run({"check", "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", "--target", "sm_90a"}).out,
             Contains("13 fraction bits") && !Contains("note"));
  CHECK_THAT(run({"check", "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e5m2.e4m3", "--target", "sm_90a"}).out,
             Contains("accepted on sm_90a") && !Contains("note"));
  CHECK_THAT(
      one_line(
          run({"check", "mma.sp.sync.aligned.m16n8k64.row.col.f32.e5m2.e4m3.f32", "--target", "sm_90"}).out),
      Contains("ask wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e5m2.e4m3"));
  CHECK_THAT(run({"check", kFp8, "--target", "sm_89"}).out, !Contains("note"));
  CHECK_THAT(run({"check", kFp8, "--target", "sm_120"}).out, !Contains("note"));
  CHECK_THAT(one_line(run({"check", kFp8, "--target", "sm_100a"}).out), Contains("tcgen05.mma"));
}

TEST_CASE("check says what bits beside an element do", "[quick][cli]") {
  const std::string start = "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.";
  const auto says = [](const std::string& form) {
    return one_line(run({"check", form, "--target", "sm_120a"}).out);
  };
  CHECK_THAT(says(start + "e4m3.e2m1.f32"), Contains("the GPU reads bits 5 to 0 as e2m3"));
  CHECK_THAT(says(start + "e3m2.e4m3.f32"), Contains("ignores bits 7 and 6") && !Contains("e2m3"));
  CHECK_THAT(says(start + "e4m3.e5m2.f32"), !Contains("note "));
  CHECK_THAT(says("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"),
             !Contains("note "));
  CHECK_THAT(says("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64"),
             Contains("shift left by 2 before it"));
}

TEST_CASE("a scaled group shows its sum and its scales, and a result where its format ends", "[quick][cli]") {
  // 1 + 4 + 9 + 16 = 30; 30 * 0.3125 = 9.375; its f32 has 23 bits below 2^3.
  const std::vector<std::string> group = {
      "explain",
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
      "--target",
      "sm_120a",
      "--a",
      "1 2 3 4",
      "--b",
      "1 2 3 4",
      "--a-scale",
      "0.3125",
      "--b-scale",
      "1",
      "--c",
      "0.1"};
  const Output output = run(group);
  CHECK_THAT(output.out, Contains("\n  a[0..15] b[0..15]: their sum 30, times the scales 0.3125 and 1\n") &&
                             Contains("+100101111001100110011001" + std::string(17, '.') + "|") &&
                             Contains("; the last bit of f32 is 2^-20\n"));
  std::vector<std::string> as_json = group;
  as_json.emplace_back("--json");
  const auto json = nlohmann::json::parse(run(as_json).out);
  const auto& addends = json["sums"][0]["addends"];
  REQUIRE(addends.size() == 5);
  CHECK(addends[1]["group"]["sum"]["decimal"] == "30");
  CHECK(addends[1]["group"]["a_scale"]["decimal"] == "0.3125");
  CHECK(addends[1]["group"]["b_scale"]["decimal"] == "1");
  CHECK_FALSE(addends[0].contains("group"));
}

TEST_CASE("a search for what tells two targets apart", "[quick][cli]") {
  const Output found = run({"compare", kF16, "--find-difference", "sm_80,sm_90"});
  CHECK(found.status == 1);
  CHECK_THAT(found.out,
             Contains("\nsm_80 ") && Contains("\nsm_90 ") && Contains(" ulp off: it cuts a[2] b[2] = "));
  const Output equal = run({"compare", kF16, "--find-difference", "sm_90,sm_100"});
  CHECK(equal.status == 0);
  CHECK(equal.out ==
        "equal: sm_90 and sm_100 both compute every element as fused L 16, F 25, floor -133 -> f32 rz; no\n"
        "    input tells them apart\n"
        "sm_100: inferred: floor (no sum of these types is small enough to show it), specials (assumed as\n"
        "    captured on sm_90a)\n");
  CHECK(run({"compare", kF16, "--find-difference", "sm_90"}).status == 2);
  CHECK(run({"compare", kF16, "--targets", "sm_90,sm_80"}).status == 2);
  CHECK(run({"compare", kF16, "--targets", "sm_90", "--random", "mixed"}).status == 2);
  CHECK_THAT(run({"compare", kF16, "--targets", "sm_90,sm_80", "--random", "wild"}).err,
             Contains("uniform, ordinary"));
}

TEST_CASE("a search for what tells two forms or orders of K apart", "[quick][cli]") {
  const Output found = run({"compare", kF16, kShallow, "--find-difference", "sm_90"});
  CHECK(found.status == 1);
  CHECK_THAT(found.out, Contains("\nm16n8k16 ") && Contains(" after k = 8, in sum 1"));
  const Output equal = run({"compare", kF16, kShallow, "--find-difference", "sm_80"});
  CHECK(equal.status == 0);
  CHECK_THAT(equal.out, Contains("equal: m16n8k16 and m16n8k8 both compute every element as fused L 8, F 24"));
  const Output order = run({"compare", kF16, "--order", "ascending,descending", "--find-difference", "sm_80"});
  CHECK(order.status == 1);
  CHECK_THAT(order.out, Contains("\ndescending "));
  const Output integers = run({"compare", "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", "--order",
                               "ascending,descending+split_k=2", "--find-difference", "sm_90"});
  CHECK(integers.status == 0);
  CHECK_THAT(integers.out, Contains("integer sum, wrapped"));
}

TEST_CASE("what cannot be compared is refused in one line", "[quick][cli]") {
  const auto refused = [](std::vector<std::string> arguments, const std::string& message) {
    arguments.insert(arguments.begin(), "compare");
    const Output output = run(arguments);
    INFO(output.err);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, Catch::StartsWith("warpbit: ") && Contains(message));
  };
  refused({kF16, "--targets", "sm_90", "--a", "1"}, "one computation; expected two or more: several forms,");
  refused({kF16, kShallow, "--a", "1"}, "; expected FORM@TARGET, or --targets");
  refused({kF16, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "--targets", "sm_90", "--a", "1"},
          "A is bf16; expected f16, as " + kF16);
  refused({kF16, "mma.sync.aligned.m16n8k17.row.col.f32.f16.f16.f32", "--targets", "sm_90", "--a", "1"},
          "did you mean\n  " + kF16);
  refused({kF16, "--targets", "sm_90", "--order", "ascending,backward", "--a", "1"},
          "'backward'; expected ascending, descending, 1:0:3:2, omit=");
  refused({kF16, "--targets", "sm_90", "--order", "ascending,1:0", "--depth", "64", "--random", "mixed"},
          "2 steps in k_order; expected each of the 4 steps of K once");
  refused(
      {kF16, "--targets", "sm_90", "--order", "ascending,descending,split_k=2", "--find-difference", "sm_90"},
      "3 computations; expected two");
  refused({kF16, "--targets", "sm_80,sm_90", "--depth", "4096", "--cases", "100000", "--random", "mixed"},
          "--cases: 100000 with a K of 4096; expected at most 390, or as many in each share (--shard)");
  refused({"wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16", "--targets", "sm_90a", "--depth", "256",
           "--random", "mixed", "--order", "ascending,descending", "--cases", "1024"},
          "--cases: 1024 with 16384 elements, a K of 256 and 2 computations; expected at most 128 of these "
          "(1073741824 products), or more with --shard or --max-products");
  refused({kF16, "--targets", "sm_80,sm_90", "--a", "1", "--shard", "1/2"},
          "--shard: a comparison without generated inputs; expected it with --random PROFILE");
  refused({kCapture, "--targets", "sm_80,sm_90", "--depth", "32"}, "--depth: a capture; expected none");
  refused({kCapture, kF16, "--targets", "sm_80"}, "A is f16; expected bf16");
  refused({"none.npz", kF16, "--targets", "sm_80"}, "none.npz");
}

}  // namespace explain_cli_test
