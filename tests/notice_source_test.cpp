// SPDX-License-Identifier: Apache-2.0
// warpbit notice of tests in C++ that launch kernels in source: suites of different strength, as the hidden cases of this program.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "archive.hpp"
#include "device_inputs.hpp"
#include "kernels/wgmma_gemm.cuh"
#include "notice/source_kernels.hpp"
#include "tool.hpp"
#include "warpbit/notice.hpp"

namespace notice_source_test {

using namespace warpbit;
using Catch::Contains;
using device::GlobalArray;
using Codes = std::vector<std::uint16_t>;

constexpr const char* kKernels = "tests/notice/source_kernels.hpp";

// ---- The tests that are watched

// Around 1, so that sums are rounded.
constexpr unsigned kOne = 0x3c00;

std::vector<float> left_by_gemm(const Codes& a, const Codes& b, int depth, bool looks_at_faults = true) {
  std::vector<float> d(16 * 8);
  const Launched launched = launch(device_inputs::target("sm_90a"), {}, {32}, 1536, notice_source::gemm,
                                   GlobalArray<const std::uint16_t>(a), GlobalArray<const std::uint16_t>(b),
                                   GlobalArray<float>(d), depth);
  if (looks_at_faults) REQUIRE(launched.ok());
  return d;
}

TEST_CASE("suite: gemm by bits", "[.][gemm_bits]") {
  for (const int depth : {16, 80}) {
    const Codes a = device_inputs::codes(16 * depth, 1, kOne), b = device_inputs::codes(8 * depth, 2, kOne);
    CHECK(left_by_gemm(a, b, depth) ==
          device_inputs::product<float>("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90a", 16, 8,
                                        depth, {a, depth, 1}, {b, 1, depth}));
  }
}

TEST_CASE("suite: gemm within a tolerance", "[.][gemm_tolerance]") {
  const Codes a(16 * 32, kOne), b(8 * 32, kOne);
  for (const float x : left_by_gemm(a, b, 32)) CHECK(std::abs(x - 32) < 30);
}

TEST_CASE("suite: gemm of ones", "[.][gemm_ones]") {
  const Codes a(16 * 32, kOne), b(8 * 32, kOne);
  CHECK(left_by_gemm(a, b, 32) == std::vector<float>(16 * 8, 32));
}

TEST_CASE("suite: gemm without an assertion", "[.][gemm_empty]") {
  const Codes a(16 * 32, kOne), b(8 * 32, kOne);
  CHECK(left_by_gemm(a, b, 32, false).size() == 16 * 8);
}

TEST_CASE("suite: sums", "[.][sums_bits]") {
  constexpr int kRows = 5;
  std::vector<float> in(kRows * 32), sums(32);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 3;
  for (std::size_t i = 0; i < in.size(); ++i) sums[i % 32] += in[i];
  std::vector<std::uint32_t> out(32);
  REQUIRE(launch(device_inputs::target("sm_90a"), {}, {32}, 272, notice_source::column_sums,
                 GlobalArray<const float>(in), GlobalArray<std::uint32_t>(out), kRows)
              .ok());
  const auto to_f16 = [](float x) {
    return std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));  // the compiler's, to nearest
  };
  for (std::size_t i = 0; i < 32; ++i)
    CHECK(out[i] == (std::uint32_t{to_f16(sums[i])} << 16 | to_f16(sums[i ^ 1])));
}

// Nothing is asserted but that there is no fault, and so it is seen what mistakes leave.
TEST_CASE("suite: other forms", "[.][forms_empty]") {
  std::vector<std::uint32_t> words(128);
  std::vector<float> sums(32);
  Launch pair{device_inputs::target("sm_90a"), {2}, {32}, 256};
  pair.cluster = {2};
  REQUIRE(launch(pair, notice_source::moves, GlobalArray<std::uint32_t>(words)).ok());
  REQUIRE(launch(device_inputs::target("sm_120a"), {}, {32}, 0, notice_source::scaled, GlobalArray<float>(sums))
              .ok());
  REQUIRE(launch(device_inputs::target("sm_100a"), {}, {32}, 16, notice_source::tensor_words,
                 GlobalArray<std::uint32_t>(words))
              .ok());
}

TEST_CASE("suite: one kernel on two generations", "[.][two_targets]") {
  const Codes a = device_inputs::codes(16 * 80, 1, kOne), b = device_inputs::codes(8 * 80, 2, kOne);
  for (const char* const target : {"sm_80", "sm_90a"}) {
    std::vector<float> d(16 * 8);
    REQUIRE(launch(device_inputs::target(target), {}, {32}, 1536, notice_source::gemm,
                   GlobalArray<const std::uint16_t>(a), GlobalArray<const std::uint16_t>(b),
                   GlobalArray<float>(d), 80)
                .ok());
  }
}

TEST_CASE("suite: products of a warpgroup", "[.][wgmma_bits]") {
  namespace of = kernels::wgmma_gemm;
  constexpr int kDepth = 2 * of::kStep;
  const Codes a = device_inputs::codes(of::kTile * kDepth, 1, 0x3F00),
              b = device_inputs::codes(of::kTile * kDepth, 2, 0x3F00);
  std::vector<float> d(of::kTile * of::kTile);
  REQUIRE(launch(device_inputs::target("sm_90a"), {}, {of::kThreads}, of::kShared, of::gemm<of::Mistake::none>,
                 GlobalArray<const std::uint16_t>(a), GlobalArray<const std::uint16_t>(b),
                 GlobalArray<float>(d), kDepth)
              .ok());
  CHECK(d == device_inputs::product<float>("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", "sm_90a",
                                           of::kTile, of::kTile, kDepth, {a, kDepth, 1}, {b, 1, kDepth}));
}

TEST_CASE("suite: one launch that throws, and one that counts", "[.][others]") {
  int launches = 0;
  const auto kernel = [&] {
    ++launches;
    device::__syncwarp();
  };
  REQUIRE(launch(device_inputs::target("sm_90a"), {}, {1}, 0, kernel).ok());
  CHECK(launches == 1);
  CHECK_THROWS_AS(
      launch(device_inputs::target("sm_90a"), {}, {1}, 0, [] { throw std::runtime_error("as it is"); }),
      std::runtime_error);
}

// ---- What they notice

std::vector<std::string> command(const std::string& suite) {
  return {std::filesystem::canonical("/proc/self/exe").string(), "[" + suite + "]"};
}

NoticeReport report_of(const std::string& suite, NoticeOptions options = {}) {
  options.most = 0;
  const std::vector<std::string> test = command(suite);
  Result<NoticeReport> out = notice(test, options);
  REQUIRE(out);
  CAPTURE(suite, out->output);
  REQUIRE(out->state == NoticeReport::State::tried);
  CHECK(out->is_stable);
  return *std::move(out);
}

struct Expected {
  std::string kind, line,
      part;  ///< its comment in kKernels, or text elsewhere; of `before`, `after` and the sentence
  Noticed outcome;
};

void check(const NoticeReport& report, const std::vector<Expected>& all,
           const std::string& kernels = kKernels) {
  for (const Expected& one : all) {
    CAPTURE(one.kind, one.line, one.part);
    const std::string text = kernels == kKernels ? "// " + one.line + "\n" : one.line;
    const auto line = static_cast<int>(device_inputs::line_of(kernels, text));
    std::vector<TriedMistake> found;
    for (const TriedMistake& tried : report.tried)
      if (tried.kind == one.kind && tried.line == line &&
          (tried.before + "; " + tried.after + "; " + tried.sentence).find(one.part) != std::string::npos)
        found.push_back(tried);
    REQUIRE(found.size() == 1);
    CAPTURE(found[0].fault, found[0].after);
    CHECK(row(found[0].outcome).name == row(one.outcome).name);
    CHECK((found[0].is_in_source && found[0].source.line == line && found[0].kernel.empty()));
    CHECK_THAT(found[0].source.file, Catch::EndsWith(kernels.substr(kernels.find('/'))));
  }
}

TEST_CASE("a strong test of a kernel in source notices more than a weak one", "[once]") {
  NoticeOptions some;
  some.kinds = {"barrier", "copy", "transposed", "product", "store"};
  std::map<std::string, NoticeReport> reports;
  for (const char* const suite : {"gemm_ones", "gemm_tolerance", "gemm_empty"})
    reports[suite] = report_of(suite, some);
  reports["gemm_bits"] = report_of("gemm_bits");
  using enum Noticed;
  check(reports["gemm_bits"], {
                                  {"copy", "copy of A", "", by_fault},
                                  {"wait", "wait for a stage", "left out", by_fault},
                                  {"wait", "wait for a stage", "one group more", by_fault},
                                  {"arrival", "commit", "", by_fault},
                                  {"barrier", "stage is full", "", by_fault},
                                  {"barrier", "stage is empty", "", by_fault},
                                  {"fragment", "load of A", "", by_test},
                                  {"transposed", "load of A", "", by_test},
                                  {"transposed", "load of B", "", by_test},
                                  {"fragment", "product", "of a", by_test},
                                  {"product", "product", "", by_test},
                                  {"accumulation", "product", "", by_test},
                                  {"store", "store", "", by_test},
                                  {"offset", "store", "", by_fault},
                                  {"target", "product", "sm_80", by_test},
                              });
  check(reports["gemm_ones"], {
                                  {"transposed", "load of A", "", values},
                                  {"product", "product", "", by_test},
                                  {"barrier", "stage is full", "", by_fault},
                              });
  check(reports["gemm_tolerance"],
        {{"transposed", "load of A", "", values}, {"product", "product", "", by_test}});
  check(reports["gemm_empty"], {
                                   {"product", "product", "", bytes},
                                   {"store", "store", "", bytes},
                                   {"copy", "copy of A", "", fault},
                                   {"barrier", "stage is full", "", fault},
                                   {"transposed", "load of A", "", values},
                               });
  const auto score = [&](const char* suite) { return reports[suite].score(); };
  CHECK(score("gemm_bits") == 1);
  CHECK((score("gemm_bits") > score("gemm_ones") && score("gemm_ones") > score("gemm_empty")));
  CHECK((score("gemm_tolerance") <= score("gemm_ones") && score("gemm_empty") == 0));
  for (const auto& [suite, report] : reports) {
    CHECK((report.launches == 0 && report.source_launches == (suite == "gemm_bits" ? 2 : 1)));
    CHECK(report.count(not_planted) == 0);
  }
}

TEST_CASE("mistakes around barrier objects, shuffles and conversions in source", "[once]") {
  using enum Noticed;
  check(report_of("sums_bits"), {
                                    {"arrival", "arrival", "", by_fault},
                                    {"copy", "bulk copy", "", by_fault},
                                    {"barrier", "objects are there", "", by_fault},
                                    {"barrier", "row is read", "", by_fault},
                                    {"wait", "wait for a row", "does not wait", by_fault},
                                    {"parity", "wait for a row", "", by_fault},
                                    {"offset", "load of a row", "", by_fault},
                                    {"literal", "exchange", "", by_test},
                                    {"rounding", "conversion", ".rz", by_test},
                                    {"fence", "fence of the objects", "", same},
                                });
}

// "source_kernels.hpp:30", of a line with a comment.
std::string place(const std::string& comment) {
  return fmt::format("source_kernels.hpp:{}", device_inputs::line_of(kKernels, "// " + comment + "\n"));
}

TEST_CASE("the tool tells mistakes in source by their lines", "[once]") {
  const std::vector<std::string> test = command("gemm_ones");
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "notice");
    words.emplace_back("--");
    words.insert(words.end(), test.begin(), test.end());
    return tool::run(words);
  };
  const archive::Directory directory;
  const std::string junit = (directory.path / "notice.xml").string(),
                    marks = (directory.path / "n.sarif").string();
  const tool::Output said =
      run({"--at", place("load of A"), "--kinds", "transposed,store", "--junit", junit, "--sarif", marks});
  CHECK(said.status == 1);
  CHECK_THAT(said.out, Contains(place("load of A")) && Contains("(transposed): with .trans") &&
                           Contains("- ldmatrix.sync.aligned.m8n8.x4.shared.b16") &&
                           Contains("the test has 1 launch of kernels in source") && Contains("score: 0 of 1"));
  CHECK_THAT(archive::bytes_of(junit), Contains(place("load of A")) && Contains("<failure"));
  CHECK_THAT(archive::bytes_of(marks), Contains("source_kernels.hpp") && Contains("unnoticed_transposed"));

  const auto json =
      nlohmann::json::parse(run({"--json", "--at", place("load of A"), "--kinds", "transposed"}).out);
  CHECK((json["launches"] == 0 && json["source_launches"] == 1 && json["mistakes"].size() == 1));
  const auto& mistake = json["mistakes"][0];
  CHECK((mistake["in_source"] == true && mistake["outcome"] == "values" && mistake["kernel"] == ""));
  CHECK(mistake["line"] == mistake["source"]["line"]);

  CHECK_THAT(run({"--at", "source_kernels.hpp:1"}).err, Contains("FILE:LINE of the source"));
  CHECK_THAT(run({"--kernels", "gemm"}).err, Contains("kernels in source alone"));
  CHECK_THAT(run({"--save", (directory.path / "modules").string()}).err, Contains("a test that loads none"));
}

TEST_CASE("mistakes in other forms change what is computed", "[once]") {
  NoticeOptions options;
  options.kinds = {"barrier", "fragment", "selector", "store", "transposed", "wait"};
  using enum Noticed;
  check(report_of("forms_empty", options), {
                                               {"store", "store of a matrix", "", by_fault},
                                               {"fragment", "store of a matrix", "", bytes},
                                               {"transposed", "store of a matrix", "", bytes},
                                               {"barrier", "all have stored", "arrive", by_fault},
                                               {"barrier", "all have stored", "wait", by_fault},
                                               {"selector", "sparse product", "", bytes},
                                               {"fragment", "sparse product", "of a", bytes},
                                               {"selector", "scaled product", "sel_a", bytes},
                                               {"selector", "scaled product", "sel_b", bytes},
                                               {"store", "store of words", "", bytes},
                                               {"fragment", "store of words", "", bytes},
                                               {"fragment", "load of words", "", bytes},
                                               {"wait", "wait for the load", "", by_fault},
                                               {"wait", "wait for the store", "", by_fault},
                                           });
}

// With two steps of K no stage is filled again, so that nothing depends on the wait for it.
TEST_CASE("mistakes in products of a warpgroup", "[once]") {
  NoticeOptions options;
  options.kinds = {"fence", "wait", "arrival", "product", "product_sign", "transposed"};
  using enum Noticed;
  check(report_of("wgmma_bits", options),
        {
            {"fence", "    if (mistake != Mistake::no_fence) wgmma_fence(sums);", "", by_fault},
            {"fence", "fence_proxy_async();", "", by_fault},
            {"wait", "    wgmma_wait_group<1>(sums);", "left out", same},
            {"wait", "wgmma_wait_group<0>(sums);", "left out", by_fault},
            {"wait", "wgmma_wait_group<0>(sums);", "one group more", by_fault},
            {"arrival", "wgmma_commit_group();", "", by_fault},
            {"product", "wgmma<m64nNkK", "", by_test},
            {"product_sign", "wgmma<m64nNkK", "", by_test},
            {"transposed", "wgmma<m64nNkK", "imm-trans-b", by_test},
        },
        "tests/kernels/wgmma_gemm.cuh");
}

TEST_CASE("launches in source are tried on other generations, each target's", "[once]") {
  NoticeOptions options;
  options.kinds = {"target"};
  std::multiset<std::string> before, after;
  for (const TriedMistake& one : report_of("two_targets", options).tried) {
    before.insert(one.before);
    after.insert(one.after);
    if (one.after == "a launch on sm_80" ||
        (one.before == "a launch on sm_80" && one.after == "a launch on sm_90"))
      CHECK(one.outcome == Noticed::bytes);
  }
  // Not on sm_75, which has no cp.async.
  CHECK((before.count("a launch on sm_80") == 4 && before.count("a launch on sm_90a") == 4 &&
         before.size() == 8));
  CHECK((after.count("a launch on sm_80") == 1 && after.count("a launch on sm_75") == 0));
}

TEST_CASE("a kernel in source that does more than to compute is run once by its test", "[once]") {
  const NoticeReport report = report_of("others");
  REQUIRE(report.tried.size() == 1);
  CHECK((report.tried[0].kind == "barrier" && report.tried[0].outcome == Noticed::same));
}

}  // namespace notice_source_test
