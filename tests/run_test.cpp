// SPDX-License-Identifier: Apache-2.0
// warpbit run: matrices whose products are known by plain integer arithmetic, or by hand, and the inputs of
// captures, whose results the hardware gave.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "tool.hpp"
#include "warpbit/replay.hpp"

namespace run_test {

using namespace tool;
namespace fs = std::filesystem;

const std::string kHalf = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";

using Matrix = std::vector<std::vector<int>>;

// With one of `every` elements of a row that is not zero.
Matrix random_matrix(std::size_t rows, std::size_t columns, int most, std::size_t every, std::mt19937& random) {
  Matrix out(rows, std::vector<int>(columns));
  for (std::vector<int>& row : out)
    for (std::size_t i = 0; i < columns; i += every)
      row[i + random() % std::min(every, columns - i)] =
          static_cast<int>(random() % static_cast<unsigned>(2 * most + 1)) - most;
  return out;
}

std::string csv(const Matrix& m) {
  std::string out;
  for (const std::vector<int>& row : m)
    for (std::size_t i = 0; i < row.size(); ++i)
      out += std::to_string(row[i]) + (i + 1 == row.size() ? "\n" : ",");
  return out;
}

Matrix product(const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix d = c;
  for (std::size_t i = 0; i < d.size(); ++i)
    for (std::size_t j = 0; j < d[i].size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) d[i][j] += a[i][k] * b[k][j];
  return d;
}

// A folder with operands, and the tool in it.
struct Bench {
  Directory directory;

  std::string path(const std::string& name) const { return (directory.path / name).string(); }
  std::string put(const std::string& name, const std::string& text) const {
    return write(directory.path / name, text);
  }
  std::string read(const std::string& name) const { return archive::bytes_of(directory.path / name); }
  // On A, B and C of these texts.
  Output product(const std::string& form, const std::string& target, const std::string& a, const std::string& b,
                 std::vector<std::string> more = {}) const {
    std::vector<std::string> words{"run",           form,  "--target",     target, "--a",
                                   put("a.csv", a), "--b", put("b.csv", b)};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
};

TEST_CASE("small integers give the integers of the product", "[quick][run]") {
  struct Row {
    std::string form, target;
    std::size_t m, k, n;  // of the matrices
    int most;
    std::size_t every;
  };
  const Row row = GENERATE(values<Row>({
      {kHalf, "sm_90", 20, 37, 11, 50, 1},
      {kHalf, "sm_80", 1, 16, 1, 50, 1},
      {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "sm_80", 16, 24, 16, 1000, 1},
      {"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sm_80", 33, 70, 9, 127, 1},
      {"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_90", 9, 10, 11, 1000, 1},
      {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "sm_89", 16, 64, 8, 4, 1},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32", "sm_80", 17, 16, 5, 100, 1},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", "sm_90", 16, 32, 8, 50, 2},
      {"mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", "sm_80", 9, 15, 7, 99, 2},
      {"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16", "sm_90a", 70, 40, 19, 50, 1},
      {"wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3", "sm_90a", 66, 70, 9, 4, 1},
      {"wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {d}, a_desc, b_desc, p;", "sm_90a", 5, 70, 9, 127, 1},
      {"wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16", "sm_90a", 60, 30, 8, 50, 2},
  }));
  INFO(row.form);
  std::mt19937 random(7);
  const Matrix a = random_matrix(row.m, row.k, row.most, row.every, random);
  const Matrix b = random_matrix(row.k, row.n, 3, 1, random), c = random_matrix(row.m, row.n, 1000, 1, random);
  const Bench bench;
  const Output got = bench.product(row.form, row.target, csv(a), csv(b), {"--c", bench.put("c.csv", csv(c))});
  const auto instruction = warpbit::Instruction::parse(row.form, *warpbit::Target::find(row.target));
  REQUIRE(instruction.ok());
  CHECK(got.err == (instruction->inferred() ? fmt::format("warpbit: the arithmetic of {} rests on no hardware "
                                                          "result\n",
                                                          row.target)
                                            : ""));
  CHECK(got.out == csv(product(a, b, c)));
  CHECK(got.status == 0);
  const Output without_c = bench.product(row.form, row.target, csv(a), csv(b));
  CHECK(without_c.out == csv(product(a, b, Matrix(row.m, std::vector<int>(row.n)))));
}

TEST_CASE("scale factors multiply the blocks that they are of", "[quick][run]") {
  // Two blocks of 32: 1 * 1 * 2 * 4 from the first, 3 * 2 * 8 / 2 from the second.
  const Bench bench;
  Matrix a(1, std::vector<int>(64)), b(64, std::vector<int>(1));
  a[0][5] = b[5][0] = 1;
  a[0][40] = 3;
  b[40][0] = 2;
  const std::vector<std::string> scales{"--a-scale", bench.put("sa.csv", "2 8\n"), "--b-scale",
                                        bench.put("sb.csv", "4\n0.5\n")};
  const std::string form =
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
  const Output got = bench.product(form, "sm_120a", csv(a), csv(b), scales);
  CHECK(got.out == "32\n");
  const Output without = bench.product(form, "sm_120a", csv(a), csv(b));
  CHECK(without.status == 2);
  CHECK_THAT(without.err, Catch::Contains("a_scale is not given; expected 1 x 2"));
  const Output unwanted = bench.product(kHalf, "sm_90", "1\n", "1\n", scales);
  CHECK(unwanted.status == 2);
  CHECK_THAT(unwanted.err, Catch::Contains("sa.csv; expected no scale factors: the form has no block scaling"));
}

// NVFP4: a factor for each 16 of K, of which the last block has six. All numbers are integers.
TEST_CASE("whole matrices with scale factors", "[quick][run]") {
  const std::string form =
      "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3";
  std::mt19937 random(3);
  const std::size_t rows = 21, depth = 150, columns = 10, blocks = 10;
  const Matrix a = random_matrix(rows, depth, 3, 1, random), b = random_matrix(depth, columns, 3, 1, random),
               c = random_matrix(rows, columns, 99, 1, random);
  Matrix a_scale = random_matrix(rows, blocks, 2, 1, random),
         b_scale = random_matrix(blocks, columns, 2, 1, random);
  for (Matrix* scale : {&a_scale, &b_scale})
    for (std::vector<int>& row : *scale)
      for (int& factor : row) factor += 3;
  Matrix left = a, right = b;
  for (std::size_t k = 0; k < depth; ++k) {
    for (std::size_t row = 0; row < rows; ++row) left[row][k] *= a_scale[row][k / 16];
    for (std::size_t column = 0; column < columns; ++column) right[k][column] *= b_scale[k / 16][column];
  }
  const Bench bench;
  const Output got =
      bench.product(form, "sm_120a", csv(a), csv(b),
                    {"--c", bench.put("c.csv", csv(c)), "--a-scale", bench.put("sa.csv", csv(a_scale)),
                     "--b-scale", bench.put("sb.csv", csv(b_scale)), "--order", "descending"});
  CHECK(got.err == "warpbit: the arithmetic of sm_120a rests on no hardware result\n");
  CHECK(got.out == csv(product(left, right, c)));
  CHECK(got.status == 0);
  const Output few =
      bench.product(form, "sm_120a", csv(a), csv(b),
                    {"--a-scale", bench.put("sa.csv", csv(a)), "--b-scale", bench.path("sb.csv")});
  CHECK_THAT(few.err, Catch::Contains("a_scale is 21 x 150; expected 21 x 10, a factor for each 16 of K"));
}

TEST_CASE("what was computed, as JSON", "[quick][run]") {
  const Bench bench;
  const auto json = [&](const std::string& form, const std::string& target, std::vector<std::string> more) {
    more.emplace_back("--json");
    const Output got = bench.product(form, target, "1.5 0.3\n2 1\n", "2\n0\n", more);
    CHECK(got.err == "");
    REQUIRE(got.status == 0);
    return nlohmann::json::parse(got.out);
  };
  const std::string wgmma = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3";
  const auto printed = json(wgmma, "sm_90a", {});
  CHECK(printed["schema"] == "run/1");
  CHECK(printed["form"] == wgmma);
  CHECK(printed["target"] == "sm_90a");
  CHECK(printed["inferred"] == false);
  CHECK(printed["evidence"]["basis"] == "captured");
  CHECK(printed["rows"] == 2);
  CHECK(printed["columns"] == 1);
  CHECK(printed["depth"] == 2);
  CHECK(printed["format"] == "f32");
  CHECK(printed["d"] == nlohmann::json({{"3"}, {"4"}}));
  CHECK_FALSE(printed.contains("written"));
  REQUIRE(printed["notes"].size() == 1);
  CHECK_THAT(printed["notes"][0].get<std::string>(), Catch::Contains("1 number is not in e4m3"));
  const auto written = json(kHalf, "sm_87", {"--out", bench.path("d.npy")});
  CHECK(written["written"] == bench.path("d.npy"));
  CHECK(written["inferred"] == true);
  CHECK(written["evidence"]["basis"] == "inferred");
  CHECK_FALSE(written.contains("d"));
  CHECK(fs::exists(bench.path("d.npy")));
}

TEST_CASE("the order of K decides what is lost", "[quick][run]") {
  // 2^25, -2^25 and 1, a step of 8 each. 2^25 + 1 is no f32 number: what is cut is lost.
  const Bench bench;
  Matrix a(1, std::vector<int>(24)), b(24, std::vector<int>(1));
  a[0][0] = 1024;
  b[0][0] = 32768;
  a[0][8] = -1024;
  b[8][0] = 32768;
  a[0][16] = b[16][0] = 1;
  const auto sum = [&](const std::vector<std::string>& more) {
    return bench.product("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "sm_80", csv(a), csv(b), more).out;
  };
  CHECK(sum({}) == "1\n");
  CHECK(sum({"--order", "0:2:1"}) == "0\n");
  CHECK(sum({"--order", "2:0:1"}) == "0\n");
  CHECK(sum({"--order", "0:2:1+split_k=2"}) == "0\n");
  CHECK(sum({"--order", "split_k=2"}) == "1\n");
}

TEST_CASE("numbers and codes in text", "[quick][run]") {
  const Bench bench;
  const auto d = [&](const std::string& a, const std::vector<std::string>& more = {}) {
    return bench.product(kHalf, "sm_90", a, "1\n", more);
  };
  CHECK(d("0x3c00\n").out == "1\n");
  CHECK(d("# a comment\n\n2^-24\n").out == "5.9604645e-08\n");
  CHECK(d("1/4\r\n").out == "0.25\n");
  CHECK(d("-inf\n").out == "-inf\n");
  CHECK(d("nan\n").out == "0x7fffffff\n");
  CHECK(d("-2\n", {"--codes"}).out == "0xc0000000\n");
  const Output rounded = d("0.1\n");
  CHECK(rounded.out == "0.099975586\n");
  CHECK(rounded.err == "warpbit: " + bench.path("a.csv") +
                           ": 1 number is not in f16, rounded to nearest even; the first is 0.1 at (0, 0)\n");
}

TEST_CASE("arrays of NumPy in and out", "[quick][run]") {
  using archive::dictionary, archive::npy;
  const Bench bench;
  const auto bytes = [](std::initializer_list<int> list) {
    std::string out;
    for (const int byte : list) out += static_cast<char>(byte);
    return out;
  };
  const auto d = [&](const std::string& a, const std::string& out) {
    return run({"run", kHalf, "--target", "sm_90", "--a", bench.put("a.npy", a), "--b",
                bench.put("b.csv", "1\n"), "--out", bench.path(out)});
  };
  // 1.5 as float16, float32 and float64, -3 as int8, 2 as a code.
  CHECK(d(npy(dictionary("'<f2'", "(1, 1)"), bytes({0, 0x3E})), "d.csv").status == 0);
  CHECK(bench.read("d.csv") == "1.5\n");
  CHECK(d(npy(dictionary("'<f4'", "(1, 1)"), bytes({0, 0, 0xC0, 0x3F})), "d.csv").status == 0);
  CHECK(bench.read("d.csv") == "1.5\n");
  CHECK(d(npy(dictionary("'<f8'", "(1,)"), bytes({0, 0, 0, 0, 0, 0, 0xF8, 0x3F})), "d.csv").status == 0);
  CHECK(bench.read("d.csv") == "1.5\n");
  CHECK(d(npy(dictionary("'<f4'", "()"), bytes({0, 0, 0xC0, 0x3F})), "d.csv").status == 0);
  CHECK(bench.read("d.csv") == "1.5\n");
  CHECK(d(npy(dictionary("'|i1'", "(1, 1)"), bytes({0xFD})), "d.csv").status == 0);
  CHECK(bench.read("d.csv") == "-3\n");
  const Output written = d(npy(dictionary("'<u2'", "(1, 1)"), bytes({0, 0x40})), "d.npy");
  CHECK(written.out == bench.path("d.npy") + ": 1 x 1 f32\n");
  const std::string file = bench.read("d.npy");
  CHECK_THAT(file, Catch::Contains("'descr': '<f4'") && Catch::Contains("'shape': (1, 1)"));
  CHECK(file.substr(file.size() - 4) == bytes({0, 0, 0, 0x40}));
  // 0.1 as float32 is not in f16.
  CHECK_THAT(d(npy(dictionary("'<f4'", "(1, 1)"), bytes({0xCD, 0xCC, 0xCC, 0x3D})), "d.csv").err,
             Catch::Contains("1 number is not in f16"));

  const Output wide = d(npy(dictionary("'<u4'", "(1, 1)"), bytes({0, 0, 1, 0})), "e.npy");
  CHECK(wide.status == 2);
  CHECK_THAT(wide.err, Catch::Contains("code 0x10000") && Catch::Contains("element (0, 0)"));
  CHECK_FALSE(fs::exists(bench.path("e.npy")));
  for (const std::string& bad :
       {npy(dictionary("'|b1'", "(1, 1)"), bytes({1})),
        npy(dictionary("'<f4'", "(1, 1, 1)"), bytes({0, 0, 0, 0})), npy(dictionary("'<f4'", "(0, 1)"), ""),
        npy(dictionary("'<f4'", "(1, 1)"), bytes({0, 0})), std::string("\x93NUM"), std::string()})
    CHECK(d(bad, "e.npy").status == 2);
  CHECK_FALSE(fs::exists(bench.path("e.npy")));
}

// 1 + 2 + 3 + 4 as NumPy sums it: x.sum(0), x.sum(-1) and x.sum() are one number, of shape ().
TEST_CASE("an array of one dimension has one axis, and its sum no dimension", "[quick][run]") {
  using archive::dictionary, archive::npy;
  const Bench bench;
  const auto f32 = [](std::initializer_list<float> values) {
    std::string out;
    for (const float value : values) out.append(reinterpret_cast<const char*>(&value), sizeof value);
    return out;
  };
  const std::string x = bench.put("x.npy", npy(dictionary("'<f4'", "(4,)"), f32({1, 2, 3, 4})));
  for (const std::string shape : {"()", "(1,)", "(1, 1)"})
    for (const std::string axis : {"0", "1", "-1", "all"}) {
      INFO(shape << " " << axis);
      const std::string d = bench.put("d.npy", npy(dictionary("'<f4'", shape), f32({10})));
      const Output found = run({"order", "--sum", "sum", x, d, "--axis", axis});
      CHECK(found.status == 0);
      CHECK_THAT(found.out, Catch::Contains("explain all 1 rows"));
    }
  // Of two dimensions axis 0 is summed in columns.
  const std::string both = bench.put("both.npy", npy(dictionary("'<f4'", "(2, 2)"), f32({1, 2, 3, 4})));
  const std::string columns = bench.put("columns.npy", npy(dictionary("'<f4'", "(2,)"), f32({4, 6})));
  CHECK(run({"order", "--sum", "sum", both, columns, "--axis", "0"}).status == 0);
  CHECK(run({"order", "--sum", "sum", both, columns, "--axis", "1"}).status == 1);
  // A B of one dimension is a row, as A is.
  CHECK_THAT(run({"run", kHalf, "--target", "sm_90", "--a", x, "--b", x}).err,
             Catch::Contains("A is 1 x 4, B is 1 x 4") && Catch::Contains("b.reshape(-1, 1) a column"));
}

TEST_CASE("the order says how f32 numbers become tf32", "[quick][run]") {
  using archive::dictionary, archive::npy;
  const Bench bench;
  const std::string form = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32";
  const auto d = [&](const std::string& a, const std::vector<std::string>& more) {
    std::vector<std::string> words = {
        "run", form, "--target", "sm_80", "--codes", "--a", a, "--b", bench.put("b.csv", "1\n")};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  // 0x3f801fff lies below 1 + 2^-10, 0x3f801000 in the middle between 1 and that.
  const std::string file = bench.path("a.npy");
  REQUIRE(warpbit::write_matrix(file, {2, 1, {0x3F80'1FFF, 0x3F80'1000}}, "f32", false).ok());
  const std::string cut = "0x3f800000\n0x3f800000\n", even = "0x3f802000\n0x3f800000\n",
                    away = "0x3f802000\n0x3f802000\n";
  for (const std::string& a : {file, bench.put("codes.csv", "0x3f801fff\n0x3f801000\n"),
                               bench.put("numbers.csv", "1.0009764432907104\n1.00048828125\n")}) {
    CHECK(d(a, {}).out == cut);
    CHECK(d(a, {"--order", "tf32=rz"}).out == cut);
    CHECK(d(a, {"--order", "tf32=rn"}).out == even);
    CHECK(d(a, {"--order", "tf32=rna"}).out == away);
  }
  CHECK(d(file, {}).err == "");
  // A float64 becomes f32 first: 1 + 2^-10 - 2^-40 is 1 + 2^-10 there.
  const std::string bytes = {'\x00', '\xF0', '\xFF', '\xFF', '\xFF', '\x03', '\xF0', '\x3F'};
  const Output rounded = d(bench.put("d.npy", npy(dictionary("'<f8'", "(1, 1)"), bytes)), {});
  CHECK(rounded.out == "0x3f802000\n");
  CHECK_THAT(rounded.err, Catch::Contains("1 number is not in f32, rounded to nearest even"));
}

TEST_CASE("a matrix that NumPy has column by column", "[quick][run]") {
  // [[1, 2, 3], [4, 5, 6]] as numpy.save writes x.T: 1, 4, 2, 5, 3, 6.
  const Bench bench;
  std::string fortran = archive::dictionary("'|i1'", "(2, 3)");
  fortran.replace(fortran.find("False"), 5, "True");
  const std::string file = bench.put("a.npy", archive::npy(fortran, "\1\4\2\5\3\6"));
  const Output got =
      run({"run", kHalf, "--target", "sm_90", "--a", file, "--b", bench.put("b.csv", "100\n10\n1\n")});
  CHECK(got.out == "123\n456\n");
}

TEST_CASE("D is written in the format that its name says", "[quick][run]") {
  const Bench bench;
  for (const std::string name : {"d.npz", "d.json", "d.foo"}) {
    const Output refused = bench.product(kHalf, "sm_90", "1\n", "1\n", {"--out", bench.path(name)});
    CHECK(refused.status == 2);
    CHECK(refused.err == "warpbit: " + bench.path(name) + ": the extension '" + name.substr(1) +
                             "'; expected a matrix as .npy, or as text: .csv, .tsv, .txt or none\n");
    CHECK_FALSE(fs::exists(bench.path(name)));
  }
  CHECK(bench.product(kHalf, "sm_90", "1\n", "1\n", {"--out", bench.path("d")}).status == 0);
}

TEST_CASE("numbers beyond the largest are counted", "[quick][run]") {
  const Bench bench;
  const Output got = bench.product(kHalf, "sm_90", "1e9 0.1 1\n", "0\n0\n1\n");
  CHECK(got.err ==
        "warpbit: " + bench.path("a.csv") +
            ": 2 numbers are not in f16, rounded to nearest even, 1 of them beyond the largest; the first "
            "is 1e9 at (0, 0)\n");
}

TEST_CASE("what is missing is named", "[quick][run]") {
  const Output got = run({"run", kHalf, "--a", "x.npy", "--b", "x.npy"});
  CHECK(got.err ==
        "warpbit: run: no --target; expected --target: matrices need a form, --target, --a and --b\n");
}

TEST_CASE("what does not fit is refused with its place", "[quick][run]") {
  const Bench bench;
  const auto refusal = [&](const std::string& a, const std::string& b,
                           const std::vector<std::string>& more = {}) {
    const Output got = bench.product(kHalf, "sm_90", a, b, more);
    CHECK(got.status == 2);
    CHECK(got.out == "");
    return got.err;
  };
  CHECK_THAT(refusal("1 2\n3\n", "1\n"), Catch::Contains("a.csv, line 2") && Catch::Contains("1 cells"));
  CHECK_THAT(refusal("1 x\n", "1\n"), Catch::Contains("a.csv, element (0, 1)") && Catch::Contains("'x'"));
  CHECK_THAT(refusal("", "1\n"), Catch::Contains("no numbers"));
  CHECK_THAT(refusal("1 2\n", "1\n"), Catch::Contains("A is 1 x 2, B is 1 x 1"));
  CHECK_THAT(refusal("1\n", "1\n", {"--c", bench.put("c.csv", "1 2\n")}), Catch::Contains("C is 1 x 2"));
  CHECK_THAT(refusal("1\n", "1\n", {"--c", bench.path("none")}), Catch::Contains("no such file"));
  CHECK_THAT(refusal("1\n", "1\n", {"--c", bench.path("")}), Catch::Contains("not a regular file"));
  CHECK_THAT(refusal("1\n", "1\n", {"--order", "1"}), Catch::Contains("k_order"));
  CHECK_THAT(refusal("1\n", "1\n", {"--arrays", "x.npz"}), Catch::Contains("arrays and matrices"));
  const Output integer =
      bench.product("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "sm_80", "300\n", "1\n");
  CHECK_THAT(integer.err, Catch::Contains("300 is not in s8"));
  const Output sparse = bench.product("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
                                      "sm_90", "1 1 1 0\n", "1\n1\n1\n1\n");
  CHECK_THAT(sparse.err, Catch::Contains("row 0, columns 0-3"));
  const Output large = bench.product("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
                                     "sm_90", csv(Matrix(17, {1})), "1\n");
  CHECK_THAT(large.err, Catch::Contains("at most one tile, 16 x 32 and 32 x 8, as A is sparse"));
  CHECK(run({"run"}).status == 2);
  CHECK_THAT(run({"run", kHalf}).err, Catch::Contains("--arrays FILE.npz"));
  CHECK_THAT(run({"run", kHalf, "--a", "x"}).err, Catch::Contains("--target"));
}

TEST_CASE("the inputs of captures give what the hardware gave", "[quick][run][once]") {
  const std::string family = GENERATE("cvt", "ldmatrix", "mma", "mma_sp", "movmatrix", "stmatrix", "wgmma",
                                      "wgmma_sp", "wmma_load", "wmma_mma", "wmma_store");
  INFO(family);
  std::vector<std::pair<std::uintmax_t, fs::path>> files;
  for (const fs::directory_entry& entry : fs::directory_iterator("golden/sm_90a/" + family))
    if (entry.path().extension() == ".npz") files.emplace_back(entry.file_size(), entry.path());
  std::ranges::sort(files);
  REQUIRE(!files.empty());
  files.resize(std::min(files.size(), std::size_t{3}));
  const Bench bench;
  for (const auto& [size, file] : files) {
    const std::string out = bench.path("out.npz");
    const Output got = run({"run", "--arrays", file.string(), "--out", out});
    CHECK(got.err == "");
    REQUIRE(got.status == 0);
    const Output same = run({"diff", file.string(), out});
    CHECK(same.status == 0);
    CHECK_THAT(same.out, Catch::Contains(" 0 differences"));
    CHECK(run({"verify", out}).status == 0);
  }
}

TEST_CASE("arrays with a statement, without descriptions or results", "[quick][run]") {
  const Bench bench;
  const std::string statement = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};";
  const Members all = good();
  const Members arrays(all.begin() + 7, all.end());
  REQUIRE(arrays[0].first == "a.npy");
  const auto execute = [&](const Members& members, std::vector<std::string> more) {
    std::vector<std::string> words{"run",      statement,
                                   "--arrays", bench.put("in.npz", archive::zip_of(members)),
                                   "--out",    bench.path("out.npz")};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const Output done = execute(arrays, {"--target", "sm_90a"});
  CHECK(done.err == "");
  CHECK(done.out == bench.path("out.npz") + ": 2 cases on sm_90a, layout registers\n");
  // Rows and columns of ones: all of D is 8.
  bench.put("want.npz", archive::zip_of(all));
  CHECK_THAT(run({"diff", bench.path("want.npz"), bench.path("out.npz")}).out,
             Catch::Contains("2 cases, 256 elements, 0 differences"));
  fs::remove(bench.path("out.npz"));

  CHECK_THAT(execute(arrays, {}).err, Catch::Contains("the target that the statement is for"));
  CHECK_THAT(execute(with(arrays, "b.npy", ""), {"--target", "sm_90a"}).err, Catch::Contains("'b'"));
  CHECK_THAT(execute(with(arrays, "c.npy", registers(3, 4, 0)), {"--target", "sm_90a"}).err,
             Catch::Contains("'c'"));
  CHECK_THAT(execute(arrays, {"--target", "sm_90a", "--layout", "elements"}).err, Catch::Contains("'a'"));
  CHECK_THAT(execute(arrays, {"--target", "sm_90a", "--layout", "scalars"}).err, Catch::Contains("layout"));
  CHECK_FALSE(fs::exists(bench.path("out.npz")));
  const auto json = nlohmann::json::parse(execute(arrays, {"--target", "sm_90a", "--json"}).out);
  CHECK(json["schema"] == "run/1");
  CHECK(json["statement"] == statement);
  CHECK(json["cases"] == 2);
  CHECK(json["layout"] == "registers");
  CHECK(json["written"] == bench.path("out.npz"));
  const Output printed = run({"run", statement, "--target", "sm_90a", "--arrays", bench.path("in.npz")});
  CHECK_THAT(printed.err, Catch::Contains("no --out"));
}

TEST_CASE("matrices of a file come back as they were", "[quick][run]") {
  const Bench bench;
  const std::string format = GENERATE("f16", "f32", "f64", "s32", "bf16", "e4m3", "u8");
  const std::string name = GENERATE("m.npy", "m.csv");
  const bool codes = GENERATE(false, true);
  INFO(format << ' ' << name << ' ' << codes);
  std::mt19937_64 random(11);
  const int bits = format == "f64"                      ? 64
                   : format == "f32" || format == "s32" ? 32
                   : format.ends_with("16")             ? 16
                                                        : 8;
  warpbit::CodeMatrix matrix{40, 25, {}};
  for (std::size_t i = 0; i < 1000; ++i) matrix.codes.push_back(random() >> (64 - bits));
  REQUIRE(warpbit::write_matrix(bench.path(name), matrix, format, codes).ok());
  std::vector<std::string> notes;
  const auto back = warpbit::read_matrix(bench.path(name), format, notes);
  REQUIRE(back.ok());
  CHECK(back->rows == 40);
  CHECK(back->columns == 25);
  CHECK(back->codes == matrix.codes);
}

}  // namespace run_test
