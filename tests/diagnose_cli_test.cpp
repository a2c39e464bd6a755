// SPDX-License-Identifier: Apache-2.0
// warpbit diagnose as a user sees it, and the call on registers in memory.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "tool.hpp"
#include "warpbit/diagnose.hpp"

namespace diagnose_cli_test {

using namespace tool;
using namespace warpbit;
using Catch::Contains;

constexpr std::size_t kCases = 2;
using Words = std::vector<std::uint32_t>;

// A of m16n8k8: register r of a lane has row lane / 4 + 8 r, columns 2 (lane % 4) and the next; element (i, k)
// is a number that no other element is.
std::uint32_t half_of(int i, int k) {
  return 0x3C00U + static_cast<std::uint32_t>(37 * i + 5 * k);
}
Words a_words() {
  Words out;
  for (std::size_t n = 0; n < kCases; ++n)
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 2; ++r) {
        const int row = lane / 4 + 8 * r, column = lane % 4 * 2;
        out.push_back(half_of(row, column) | half_of(row, column + 1) << 16);
      }
  return out;
}
// B: a column's elements are 1, 2, 4, ... by turns of its number.
Words b_words() {
  Words out;
  for (std::size_t n = 0; n < kCases; ++n)
    for (int lane = 0; lane < 32; ++lane) {
      const int k = lane % 4 * 2, column = lane / 4;
      const auto power = [&](int row) {
        return 0x3C00U + 0x400U * static_cast<std::uint32_t>((row + column) % 5);
      };
      out.push_back(power(k) | power(k + 1) << 16);
    }
  return out;
}

Words c_words() {
  Words out;
  for (std::uint32_t i = 0; i < kCases * 128; ++i) out.push_back(0x3F800000U + 99991 * i);
  return out;
}

const Instruction& instruction() {
  static const Instruction i = *Instruction::parse(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c};", *Target::find("sm_90a"));
  return i;
}
Words execute(const Words& a, const Words& b) {
  const Words c = c_words();
  Words d(kCases * 128);
  const OperandView views[] = {OperandView::dense(a.data(), 32, 2, 32), OperandView::dense(b.data(), 32, 1, 32),
                               OperandView::dense(c.data(), 32, 4, 32)};
  REQUIRE(execute_batch(instruction(), views, ResultView::dense(d.data(), 32, 4, 32), kCases).ok());
  return d;
}

std::string npy_of(const Words& words, std::size_t registers) {
  std::string data;
  for (const std::uint32_t word : words)
    for (int byte = 0; byte < 4; ++byte) data += static_cast<char>(word >> (8 * byte) & 0xFF);
  return archive::npy(archive::dictionary("'<u4'", fmt::format("({}, 32, {})", kCases, registers)), data);
}
// The inputs above, with this D.
std::string file_of(const archive::fs::path& path, const Words& d) {
  Members members = with("a.npy", npy_of(a_words(), 2));
  members = with(with(members, "b.npy", npy_of(b_words(), 1)), "c.npy", npy_of(c_words(), 4));
  return write(path, archive::zip_of(with(members, "d.npy", npy_of(d, 4))));
}
Words exchanged(Words a) {
  for (std::size_t i = 0; i < a.size(); i += 2) std::swap(a[i], a[i + 1]);
  return a;
}

TEST_CASE("diagnose names a mistake", "[quick][diagnose]") {
  const Directory directory;
  Words d = execute(a_words(), b_words());
  for (std::size_t i = 0; i < d.size(); i += 2) std::swap(d[i], d[i + 1]);
  const std::string file = file_of(directory.path / "x.npz", d);
  const Output out = run_with("COLUMNS=200", {"diagnose", file});
  CHECK(out.status == 1);
  CHECK(out.err.empty());
  CHECK(
      out.out ==
      "mistake: registers of D: d0 and d1, d2 and d3 are exchanged (explains all 256 elements, 256 of which are "
      "wrong)\n"
      "explained   mistake                                             look at\n"
      "256 of 256  registers of D: d0 and d1, d2 and d3 are exchanged  compare the order of D's registers with the "
      "fragment's\n");
  const Output json = run({"diagnose", "--json", "--top", "1", file});
  CHECK(json.status == 1);
  const auto parsed = nlohmann::json::parse(json.out);
  CHECK(parsed["schema"] == "diagnose/1");
  CHECK(parsed["elements"] == 256);
  CHECK(parsed["findings"].size() == 1);
  CHECK(parsed["findings"][0]["kind"] == "register_order");
  CHECK(parsed["findings"][0]["explained"] == 256);
  CHECK(parsed["findings"][0]["certain"] == true);
}

TEST_CASE("diagnose names what happened to registers and lanes", "[quick][diagnose]") {
  const Directory directory;
  Words twice = a_words(), half = a_words(), turned = a_words();
  for (std::uint32_t& word : turned) word = word << 16 | word >> 16;
  for (std::size_t i = 0; i < twice.size(); i += 2) twice[i + 1] = twice[i];
  for (std::size_t i = 0; i < half.size(); ++i)
    if (i / 2 % 32 >= 16) half[i] = 0;
  const auto diagnosed = [&](const Words& a) {
    return run_with("COLUMNS=200", {"diagnose", file_of(directory.path / "x.npz", execute(a, b_words()))}).out;
  };
  CHECK_THAT(diagnosed(twice), Contains("register a1 holds a0"));
  CHECK_THAT(diagnosed(half), Contains("A in lanes 16 to 31 is not loaded, 0"));
  CHECK_THAT(diagnosed(turned), Contains("the two halves of each register of A are exchanged"));
}

// Numbers of one to three digits, row by row.
std::string matrix(const archive::fs::path& path, int rows, int columns,
                   const std::function<int(int, int)>& number) {
  std::string text;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      text += fmt::format("{}{}", number(row, column), column + 1 < columns ? "," : "\n");
  return write(path, text);
}

TEST_CASE("diagnose takes whole matrices", "[quick][diagnose]") {
  const Directory directory;
  constexpr int kDepth = 20;
  const auto a_of = [](int row, int k) { return row * 7 % 11 + k * 5 % 13; };
  const auto b_of = [](int k, int column) { return (k * 3 + column * column) % 17; };
  const std::string a = matrix(directory.path / "a.csv", 24, kDepth, a_of),
                    b = matrix(directory.path / "b.csv", kDepth, 12, b_of);
  // D where the last four of K are not summed.
  std::string text;
  for (int row = 0; row < 24; ++row)
    for (int column = 0; column < 12; ++column) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += a_of(row, k) * b_of(k, column);
      text += fmt::format("{}{}", sum, column < 11 ? "," : "\n");
    }
  const std::string d = write(directory.path / "d.csv", text);
  const std::string form = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const Output out = run({"diagnose", form, "--target", "sm_90", "--a", a, "--b", b, "--d", d});
  CHECK(out.status == 1);
  CHECK_THAT(out.out, Catch::StartsWith(
                          "mistake: the last 4 of K are not summed (K mod 16) (explains all 288 elements"));
  const Output other = run({"diagnose", form, "--target", "sm_90", "--a", a, "--b", a, "--d", d});
  CHECK(other.status == 2);
  CHECK_THAT(other.err, Contains("24 x 20") && Contains("20 x 20"));
  CHECK_THAT(run({"diagnose", form, "--a", a, "--b", b, "--d", d}).err, Contains("no --target"));
  CHECK_THAT(run({"diagnose", form, "--target", "sm_90", "--a", a, "--b", b}).err, Contains("no --d"));
}

// D of 0, 1, ... 15 instead of 1: nothing explains it; of the right D nothing is wrong.
TEST_CASE("the arrays of an .npz are whole matrices behind a form", "[quick][diagnose]") {
  const Directory directory;
  const auto f32 = [](std::initializer_list<float> values, const std::string& shape) {
    std::string data;
    for (const float value : values) data.append(reinterpret_cast<const char*>(&value), sizeof value);
    return archive::npy(archive::dictionary("'<f4'", shape), data);
  };
  const std::string a = f32({1, 2, 3, 4}, "(2, 2)"), c = f32({1, 1, 1, 1}, "(2, 2)");
  const auto file = [&](const std::string& name, const Members& members) {
    return write(directory.path / name, archive::zip_of(members));
  };
  const std::string form = "mma.m16n8k8.f32.f16@H100",
                    right = file("right.npz",
                                 {{"a.npy", a}, {"b.npy", a}, {"d.npy", f32({7, 10, 15, 22}, "(2, 2)")}}),
                    with_c = file(
                        "c.npz",
                        {{"a.npy", a}, {"b.npy", a}, {"c.npy", c}, {"d.npy", f32({8, 11, 16, 23}, "(2, 2)")}}),
                    turned = file("turned.npz",
                                  {{"a.npy", a}, {"b.npy", a}, {"d.npy", f32({7, 15, 10, 22}, "(2, 2)")}});
  CHECK_THAT(run({"diagnose", form, right}).out, Catch::StartsWith("correct: all 4 elements"));
  CHECK_THAT(run({"diagnose", form, with_c}).out, Catch::StartsWith("correct: all 4 elements"));
  CHECK(run({"diagnose", form, turned}).status == 1);
  CHECK_THAT(run({"diagnose", form, "--a", right + ":a", "--b", right + ":b", "--d", with_c + ":d"}).out,
             !Catch::StartsWith("correct"));
  CHECK_THAT(run({"run", form, "--a", right + ":a", "--b", right + ":b"}).out, Contains("7,10\n15,22\n"));
  const std::pair<std::vector<std::string>, std::string> refused[] = {
      {{right}, "of matrices a, b and d a form before it: warpbit diagnose mma.m16n8k16.f32.f16@H100 "},
      {{form, file("none.npz", {{"a.npy", a}, {"b.npy", a}})}, "no array 'd'; expected one of a, b"},
      {{form, "x.csv"}, "an .npz with the arrays a, b and d"},
      {{form, right, "--a", right + ":a"}, "beside other operands"}};
  for (const auto& [arguments, why] : refused) {
    std::vector<std::string> all{"diagnose"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Output out = run(all);
    CHECK(out.status == 2);
    CHECK_THAT(out.err, Contains(why));
  }
}

TEST_CASE("diagnose takes products of wgmma, and says where they are wrong", "[quick][diagnose]") {
  const Directory directory;
  constexpr int kDepth = 16;
  const auto a_of = [](int row, int k) { return row * 7 % 11 - k * 5 % 13; };
  const auto b_of = [](int k, int column) { return (k * 3 + column * column) % 17 * 3; };
  const auto product = [&](int row, int column) {
    int sum = 0;
    for (int k = 0; k < kDepth; ++k) sum += a_of(row, k) * b_of(k, column);
    return sum;
  };
  const auto diagnosed = [&](auto d_of, std::vector<std::string> more) {
    std::vector<std::string> all{"diagnose",
                                 "wgmma.m64n8k16.f32.f16@H100",
                                 "--single",
                                 "--a",
                                 matrix(directory.path / "a.csv", 64, kDepth, a_of),
                                 "--b",
                                 matrix(directory.path / "b.csv", kDepth, 16, b_of),
                                 "--d",
                                 matrix(directory.path / "d.csv", 64, 16, d_of)};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  CHECK(diagnosed(product, {}).out == "correct: all 1024 elements are right\n");
  const auto even = [&](int row, int column) {  // those of more than 8 bits
    const int x = product(row, column), unit = std::max(1, 1 << std::ilogb(std::max(1, std::abs(x))) >> 7);
    return static_cast<int>(std::nearbyint(static_cast<double>(x) / unit)) * unit;
  };
  CHECK_FALSE(diagnosed(even, {}).status == 0);
  CHECK(diagnosed(even, {"--store", "bf16"}).out == "correct: all 1024 elements are right\n");
  CHECK_THAT(diagnosed(product, {"--store", "tf32"}).err, Contains("f16 or bf16"));
  const auto noise = [&](int row, int column) {
    return product(row, column) + (row / 16 == 1 && column >= 8 ? 1 + row * row * (column + 1) % 29 : 0);
  };
  CHECK_THAT(diagnosed(noise, {}).out,
             Contains("128 wrong: all with tile column 1, warp 1, row 16 to 31, column 8 to 15\n"));
  const auto json = nlohmann::json::parse(diagnosed(noise, {"--json"}).out);
  CHECK(json["verdict"] == "none");
  CHECK(json["where"][0]["wrong"] == 128);
  CHECK(json["where"][0]["complete"] == true);
  CHECK(json["where"][0]["indices"][1] ==
        nlohmann::json{{"index", "warp"}, {"values", {1}}, {"size", 4}, {"text", "1"}});
}

TEST_CASE("diagnose lists mistakes that are the same", "[quick][diagnose]") {
  const Directory directory;
  const std::string file = file_of(directory.path / "x.npz", execute(exchanged(a_words()), b_words()));
  const Output out = run_with("COLUMNS=200", {"diagnose", file});
  CHECK(out.status == 1);
  CHECK(
      out.out ==
      "ambiguous: 2 mistakes explain all 256 elements and cannot be told apart by these inputs\n"
      "explained   mistake                                                   look at\n"
      "256 of 256  registers of A: a0 and a1 are exchanged                   compare the order of A's registers "
      "with "
      "the fragment's\n"
      "256 of 256  registers of C and D: c0 and c2, c1 and c3 are exchanged  compare the order of C and D's "
      "registers "
      "with the fragment's\n");
}

TEST_CASE("diagnose knows on which GPU a result was computed", "[quick][diagnose]") {
  const Output out = run({"diagnose", "--target", "sm_80", "--json",
                          "golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f32_f16_f16_f32.npz"});
  CHECK(out.status == 1);
  const auto parsed = nlohmann::json::parse(out.out);
  CHECK(parsed["verdict"] == "mistake");
  CHECK(parsed["findings"][0]["kind"] == "target");
  CHECK_THAT(parsed["findings"][0]["mistake"].get<std::string>(), Contains("the arithmetic of sm_90:"));
}

TEST_CASE("diagnose says that inputs tell nothing apart", "[quick][diagnose]") {
  const Directory directory;
  Words d(kCases * 128, 0x41000000);  // ones everywhere: 8
  for (std::size_t i = 0; i < d.size(); ++i)
    if (i % 4 >= 2) d[i] = 0;
  const std::string file = write(directory.path / "x.npz", archive::zip_of(with("d.npy", npy_of(d, 4))));
  const Output out = run_with("COLUMNS=200", {"diagnose", "--top", "2", file});
  CHECK(out.status == 1);
  CHECK(
      out.out ==
      "ambiguous: 9 mistakes explain all 256 elements and cannot be told apart by these inputs\n"
      "explained   mistake                              look at\n"
      "256 of 256  register a1 is not loaded, 0         the bound of the loop over registers or elements\n"
      "256 of 256  rows and columns of D are exchanged  row-major or column-major? ldmatrix and stmatrix of D: "
      ".trans missing or too much\n"
      "and 7 more (--top)\n");
  const auto json = nlohmann::json::parse(run({"diagnose", "--json", file}).out);
  CHECK(json["findings"].size() == 5);
  for (const auto& finding : json["findings"]) CHECK(finding["certain"] == false);
}

TEST_CASE("diagnose: nothing explains it, or nothing is wrong", "[quick][diagnose]") {
  const Directory directory;
  Words d = execute(a_words(), b_words());
  const std::string right = file_of(directory.path / "right.npz", d);
  CHECK(run({"diagnose", right}).out == "correct: all 256 elements are right\n");
  CHECK(run({"diagnose", right}).status == 0);
  for (std::size_t i = 0; i < d.size(); i += 3) d[i] += 1 + static_cast<std::uint32_t>(i * i);
  const Output none = run({"diagnose", file_of(directory.path / "noise.npz", d)});
  CHECK(none.status == 1);
  CHECK(
      none.out ==
      "none: 86 of 256 elements are wrong, and no mistake known explains them\nwrong elements are everywhere\n");
}

TEST_CASE("diagnose refuses what it cannot answer", "[quick][diagnose]") {
  const Directory directory;
  const std::string good_file = write(directory.path / "good.npz", archive::zip_of(good()));
  const std::string text = write(directory.path / "text.npz", "no archive");
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& why) {
    std::vector<std::string> all{"diagnose"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const Output out = run(all);
    CHECK(out.status == 2);
    CHECK(out.out.empty());
    CHECK_THAT(out.err, Contains(why));
  };
  refused({}, "file is required");
  refused({text}, "text.npz");
  refused({(directory.path / "none.npz").string()}, "none.npz");
  refused({"--target", "sm_1", good_file}, "'sm_1' is not a known target");
  refused({"--top", "-1", good_file}, "--top");
  refused({"--top", "x", good_file}, "--top");
  refused({"--wrong", good_file}, "--wrong");
  refused({"golden/sm_90a/cvt/cvt_bf16_f16.npz"}, "layout");
  refused({"golden/sm_90a/ldmatrix/ldmatrix_sync_aligned_m8n8_x1_shared_b16.npz"}, "D = A B + C");
  const Output help = run({"diagnose", "--help"});
  CHECK(help.status == 0);
  CHECK_THAT(help.out, Contains("Examples:\n  warpbit diagnose golden/"));
}

TEST_CASE("registers in memory are diagnosed, too", "[quick][diagnose]") {
  const Words a = a_words(), b = b_words(), c = c_words();
  Words d = execute(a, b);
  const OperandView views[] = {OperandView::dense(a.data(), 32, 2, 32), OperandView::dense(b.data(), 32, 1, 32),
                               OperandView::dense(c.data(), 32, 4, 32)};
  const auto judged = [&](const Words& result) {
    return diagnose(instruction(), views, OperandView::dense(result.data(), 32, 4, 32), kCases);
  };
  REQUIRE(judged(d).ok());
  CHECK(judged(d)->verdict == Verdict::correct);
  const Words other = execute(exchanged(a), b);
  REQUIRE(judged(other).ok());
  CHECK(judged(other)->findings.at(0).kind == "register_order");
  CHECK(diagnose(instruction(), std::span(views).first(2), OperandView::dense(d.data(), 32, 4, 32), kCases)
            .error()
            .code == Errc::view_mismatch);
  CHECK(diagnose(instruction(), views, OperandView{}, kCases).error().code == Errc::view_mismatch);
  CHECK(diagnose(instruction(), views, OperandView::dense(d.data(), 32, 4, 32), 0).error().code ==
        Errc::member_value);
}

TEST_CASE("C may be literals", "[quick][diagnose]") {
  const Instruction zero = *Instruction::parse(
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {0f00000000, 0f00000000, 0f00000000, "
      "0f00000000};",
      "sm_90a");
  const Words a = a_words(), wrong = exchanged(a), b = b_words();
  Words d(kCases * 128);
  const auto views = [&](const Words& first) {
    return std::vector{OperandView::dense(first.data(), 32, 2, 32), OperandView::dense(b.data(), 32, 1, 32),
                       OperandView{}};
  };
  REQUIRE(execute_batch(zero, views(wrong), ResultView::dense(d.data(), 32, 4, 32), kCases).ok());
  const Result<Diagnosis> found = diagnose(zero, views(a), OperandView::dense(d.data(), 32, 4, 32), kCases);
  REQUIRE((found.ok() && !found->findings.empty()));
  CHECK(found->findings[0].mistake == "registers of A: a0 and a1 are exchanged");
}

}  // namespace diagnose_cli_test
