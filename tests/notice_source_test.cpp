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
#include "notice/mistakes.hpp"
#include "notice/source_kernels.hpp"
#include "tool.hpp"
#include "warpbit/notice.hpp"

namespace notice_source_test {

using namespace warpbit;
using Catch::Contains;
using device::GlobalArray;
using Codes = std::vector<std::uint16_t>;

constexpr const char* kKernels = "tests/notice/source_kernels.hpp";

// ---- What becomes of a call

using How = PlantedCall::Change;

struct ChangedCall {
  std::string kind, call;
  How change = How::left_out;
  std::string operand = {}, text = {};  ///< the name of an operand; of a statement
};
const std::string
    kMma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    kSparse = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {d}, {a}, {b}, {c}, e, ",
    kWgmma = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {d}, a_desc, b_desc, p, ",
    kScaled =
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0";
const ChangedCall kCalls[] = {
    {"barrier", "__syncthreads"},
    {"barrier", "barrier.cluster.arrive"},
    {"fence", "fence.proxy.async"},
    {"fence", "wgmma.fence.sync.aligned"},
    {"fence", "fence.mbarrier_init"},
    {"wait", "cp.async.wait_all"},
    {"wait", "cp.async.wait_group 1"},
    {"wait", "cp.async.wait_group 1", How::one_more},
    {"wait", "cp.async.bulk.wait_group 0", How::one_more},
    {"wait", "wgmma.wait_group.sync.aligned 0;"},
    {"wait", "wgmma.wait_group.sync.aligned 0;", How::statement, "", "wgmma.wait_group.sync.aligned 1;"},
    {"wait", "mbarrier.try_wait"},
    {"wait", "tcgen05.wait::ld.sync.aligned"},
    {"parity", "mbarrier.test_wait.parity", How::toggled},
    {"arrival", "mbarrier.arrive.expect_tx"},
    {"arrival", "cp.async.mbarrier.arrive.noinc"},
    {"arrival", "cp.async.commit_group"},
    {"arrival", "wgmma.commit_group.sync.aligned"},
    {"copy", "cp.async.ca.shared.global"},
    {"copy", "cp.async.bulk.tensor.shared::cluster.global.tile"},
    {"store", "st.shared.b16"},
    {"store", "stmatrix.sync.aligned.m8n8.x1.shared.b16"},
    {"fragment", kMma, How::exchanged, "a"},
    {"fragment", kMma, How::exchanged, "d"},
    {"fragment", "ldmatrix.sync.aligned.m8n8.x2.shared.b16", How::exchanged, "r"},
    {"fragment", "stmatrix.sync.aligned.m8n8.x4.shared.b16", How::exchanged, "r"},
    {"transposed", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", How::statement, "",
     "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"},
    {"transposed", "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", How::statement, "",
     "stmatrix.sync.aligned.m8n8.x2.shared.b16"},
    {"transposed", kWgmma + "1, 1, 0, 0;", How::statement, "", kWgmma + "1, 1, 0, 1;"},
    {"transposed", kWgmma + "1, 1, 0, 0;", How::statement, "", kWgmma + "1, 1, 1, 0;"},
    {"selector", kSparse + "0;", How::statement, "", kSparse + "1;"},
    {"selector", kScaled, How::toggled, "sel_a"},
    {"product_sign", kWgmma + "1, 1, 0, 0;", How::statement, "", kWgmma + "-1, 1, 0, 0;"},
    {"product", kMma},
    {"product", kWgmma + "1, 1, 0, 0;"},
    {"accumulation", kMma, How::added, "c"},
    {"offset", "ld.global.b32", How::further},
    {"literal", "__shfl_down_sync", How::one_more},
    {"rounding", "cvt.rn.f16x2.f32", How::statement, "", "cvt.rz.f16x2.f32"},
};
// Calls of which nothing of the kind is made.
const ChangedCall kNoCalls[] = {
    {"copy", "cp.async.wait_group 1"},
    {"copy", "cp.async.commit_group"},
    {"wait", "mbarrier.arrive"},
    {"parity", "mbarrier.try_wait"},
    {"transposed", "ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8"},
    {"accumulation", "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"},
    {"rounding", "cvt.rn.satfinite.e4m3x2.f32"},
    {"product_sign", kWgmma + "-1, 1, 0, 0;"},
};

std::vector<noticing::CallChange> changes_of(const std::string& kind, const std::string& text,
                                             const char* target) {
  noticing::Call call{text, device_inputs::target(target)};
  if (const Result<Instruction> instruction = Instruction::parse(text, call.target))
    call.instruction = *instruction;
  std::vector<noticing::CallChange> out;
  for (const noticing::KindRow& row : noticing::kind_rows())
    if (row.name == kind && row.add_call != nullptr) row.add_call(call, out);
  for (const noticing::CallChange& one : out) CHECK_FALSE(one.sentence.empty());
  return out;
}

TEST_CASE("each kind of mistakes changes calls as it says") {
  std::set<std::string> seen;
  for (const ChangedCall& one : kCalls) {
    CAPTURE(one.kind, one.call, one.text);
    const char* const target = one.call == kScaled ? "sm_120a" : "sm_90a";
    const Result<Instruction> instruction = Instruction::parse(one.call, device_inputs::target(target));
    const auto is_it = [&](const noticing::CallChange& got) {
      return got.change == one.change && got.text == one.text &&
             (one.operand.empty() || instruction->operands()[got.operand].role == one.operand);
    };
    const std::vector<noticing::CallChange> all = changes_of(one.kind, one.call, target);
    CHECK(std::count_if(all.begin(), all.end(), is_it) == 1);
    seen.insert(one.kind);
  }
  for (const noticing::KindRow& row : noticing::kind_rows())
    CHECK(seen.contains(std::string(row.name)) == (row.add_call != nullptr));
  for (const ChangedCall& one : kNoCalls) {
    CAPTURE(one.kind, one.call);
    CHECK(changes_of(one.kind, one.call, "sm_100a").size() + changes_of(one.kind, one.call, "sm_90a").size() ==
          0);
  }
}

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

TEST_CASE("a kernel in source that does more than to compute is run once by its test", "[once]") {
  const NoticeReport report = report_of("others");
  REQUIRE(report.tried.size() == 1);
  CHECK((report.tried[0].kind == "barrier" && report.tried[0].outcome == Noticed::same));
}

}  // namespace notice_source_test
