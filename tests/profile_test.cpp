// SPDX-License-Identifier: Apache-2.0
// What a launch counts and what its warps wait for, as data and as a picture. The numbers are counted by hand, by the order in
// which a block's warps run here: each up to its next wait, the first one first.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "warpbit/profile.hpp"
#include "xml.hpp"

namespace profile_test {

using namespace warpbit;
using Catch::Contains;
using ptx::Awaited, ptx::ReleasedBy, ptx::Wait;

ptx::Function kernel_of(const std::string& body, const std::string& parameters = ".param .u64 out") {
  const std::string text =
      ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(" + parameters + ")\n" + body;
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> out = module->function("k");
  if (!out) FAIL(out.error().message());
  return *out;
}

ptx::Launch observed(unsigned threads) {
  ptx::Launch how{.block = {threads}};
  how.as_written = how.profile = how.timeline = true;
  return how;
}

ptx::Report run(const std::string& body, unsigned threads) {
  std::vector<std::uint32_t> out(1024);
  return kernel_of(body).launch(observed(threads), {ptx::buffer(out)});
}

const ptx::LineCounts& line_of(const ptx::Report& report, const std::string& words) {
  const auto found = std::ranges::find_if(report.profile, [&](const ptx::LineCounts& one) {
    return one.statement.find(words) != std::string::npos;
  });
  REQUIRE(found != report.profile.end());
  return *found;
}

// "barrier: warp 0 [7, 13) 16 by arrival of warp 1 at 12"
std::string text(const Wait& one) {
  const std::string by =
      one.by ? fmt::format(" by {} of warp {} at {}", name(one.by->by), one.by->warp, one.by->statement) : "";
  return fmt::format("{}: warp {} {}[{}, {}) {}{}", name(one.what), one.warp, one.waited ? "" : "at once ",
                     one.from, one.released, one.to ? std::to_string(*one.to) : "never", by);
}

std::vector<std::string> waits(const ptx::Report& report) {
  std::vector<std::string> out;
  for (const Wait& one : report.timeline.waits) out.push_back(text(one));
  return out;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t out = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += what.size()) ++out;
  return out;
}

std::string picture(const ptx::Report& report) {
  ptx::ProfilePicture picture{"k", report.profile, report.timeline};
  if (report.fault) {
    picture.ended_by = "A fault: " + report.fault->message();
    picture.fault_line = report.fault->ptx_line;
  }
  const std::string out = ptx::profile_svg(picture);
  CHECK(xml::is_well_formed(out));
  CHECK_THAT(out, Contains("prefers-color-scheme:dark") && Contains("an order, not time"));
  return out;
}

// ---- What is counted

// One warp. The loads of global memory read 32 words in a row (128 bytes in 4 sectors), one word of each of 32 sectors (4 would
// do), and one word by all lanes (1 sector). Lanes at every second word meet in 16 banks, in two passes.
TEST_CASE("a profile has bytes by space, the least sectors, and multiply-adds") {
  const ptx::Report report = run(R"({
  .reg .b32 %r<8>; .reg .b64 %rd<6>; .reg .f32 %f<4>;
  .shared .align 16 .b8 tile[512];
  .local .align 8 .b8 own[8];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  ld.global.u32 %r2, [%rd2];
  mul.wide.u32 %rd3, %r1, 32;
  add.u64 %rd3, %rd1, %rd3;
  ld.global.u32 %r3, [%rd3];
  ld.global.u32 %r4, [%rd1];
  st.local.u64 [own], %rd1;
  shl.b32 %r5, %r1, 3;
  mov.u32 %r6, tile;
  add.u32 %r5, %r5, %r6;
  st.shared.u64 [%r5], %rd1;
  st.shared.u32 [%r5], %r1;
  mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r2, %r3}, {%r4}, {0f00000000, 0f00000000, 0f00000000, 0f00000000};
  ret;
})",
                                 32);
  if (report.fault) FAIL(report.fault->message());
  struct Expected {
    const char* statement;
    ptx::Counts counts;
  };
  const Expected rows[] = {
      {"[out]", {.warps = 1, .lanes = 32, .constant_bytes = 256}},
      {"[%rd2]", {.warps = 1, .lanes = 32, .bytes = 128, .sectors = 4, .least_sectors = 4}},
      {"[%rd3]", {.warps = 1, .lanes = 32, .bytes = 128, .sectors = 32, .least_sectors = 4}},
      {"ld.global.u32 %r4", {.warps = 1, .lanes = 32, .bytes = 128, .sectors = 1, .least_sectors = 1}},
      {"st.local", {.warps = 1, .lanes = 32, .local_bytes = 256}},
      {"st.shared.u32", {.warps = 1, .lanes = 32, .conflicts = 1, .shared_bytes = 128}},
      {"mma.sync", {.warps = 1, .lanes = 32, .products = 16 * 8 * 8}},
      {"shl.b32", {.warps = 1, .lanes = 32}},
  };
  for (const Expected& row : rows) {
    INFO(row.statement);
    const ptx::Counts& seen = line_of(report, row.statement);
    CHECK(seen.warps == row.counts.warps);
    CHECK(seen.lanes == row.counts.lanes);
    CHECK(seen.bytes == row.counts.bytes);
    CHECK(seen.sectors == row.counts.sectors);
    CHECK(seen.least_sectors == row.counts.least_sectors);
    CHECK(seen.conflicts == row.counts.conflicts);
    CHECK(seen.shared_bytes == row.counts.shared_bytes);
    CHECK(seen.local_bytes == row.counts.local_bytes);
    CHECK(seen.constant_bytes == row.counts.constant_bytes);
    CHECK(seen.tensor_bytes == 0);
    CHECK(seen.products == row.counts.products);
  }
  CHECK_THAT(picture(report), Contains(">32/4<") && Contains(">1,024<") && Contains(">multiply-adds<"));
}

TEST_CASE("numbers of a table") {
  const ptx::Counts counts{.warps = 3, .lanes = 80, .bytes = 12'345'678, .sectors = 1536, .least_sectors = 64};
  const auto cell = [&](std::string_view name) {
    const auto columns = ptx::count_columns();
    const auto found = std::ranges::find(columns, name, &ptx::CountColumn::name);
    REQUIRE(found != columns.end());
    return ptx::text(*found, counts);
  };
  CHECK(cell("executed") == "3");
  CHECK(cell("bytes") == "12.3 M");
  CHECK(cell("sectors") == "1,536/64");
  CHECK(cell("conflicts") == "-");
  CHECK(ptx::lanes_text(counts) == "26.7");
  CHECK(ptx::lanes_text({.warps = 2, .lanes = 64}) == "32.0");
  CHECK(ptx::lanes_text({}) == "-");
}

// ---- What waits for what

// Two warps. Warp 0 makes an mbarrier, fills a word and arrives; warp 1 waits for that and reads it.
//
//     warp 0   0 to 6    four statements, a branch, mbarrier.init by one lane, bar.sync
//     warp 1   7 to 15   four, a branch, bar.sync (12), which lets warp 0 go on, three; then it waits
//     warp 0  16 to 24   five, st.shared, mbarrier.arrive (22), bra, bar.sync
//     warp 1  25 to 31   mbarrier.try_wait, four, bar.sync (30), ret
//     warp 0  32         ret
constexpr const char* kProducer = R"({
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  .shared .align 8 .b8 object[8];
  .shared .align 4 .b8 word[4];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, object;
  mov.u32 %r3, word;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READY;
  mbarrier.init.shared::cta.b64 [%r2], 1;
READY:
  bar.sync 0;
  shr.u32 %r4, %r1, 5;
  setp.eq.u32 %p2, %r4, 1;
  @%p2 bra CONSUMER;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  st.shared.u32 [%r3], 42;
  mbarrier.arrive.shared::cta.b64 _, [%r2];
  bra DONE;
CONSUMER:
  mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0;
  @!%p3 bra CONSUMER;
  ld.shared.u32 %r5, [%r3];
  ld.param.u64 %rd1, [out];
  st.global.u32 [%rd1], %r5;
DONE:
  bar.sync 0;
  ret;
})";

TEST_CASE("arrows of a producer and a consumer") {
  const ptx::Report report = run(kProducer, 64);
  if (report.fault) FAIL(report.fault->message());
  CHECK(report.timeline.warps == 2);
  CHECK(report.timeline.statements == 33);
  CHECK(report.timeline.covered == 33);
  CHECK(waits(report) == std::vector<std::string>{"barrier: warp 0 [7, 13) 16 by arrival of warp 1 at 12",
                                                  "mbarrier: warp 1 [16, 23) 25 by arrival of warp 0 at 22",
                                                  "barrier: warp 0 [25, 31) 32 by arrival of warp 1 at 30"});
  std::vector<std::string> runs;
  for (const ptx::WarpRun& one : report.timeline.runs)
    runs.push_back(fmt::format("{}: {} + {}", one.warp, one.first, one.count));
  CHECK(runs == std::vector<std::string>{"0: 0 + 7", "1: 7 + 9", "0: 16 + 9", "1: 25 + 7", "0: 32 + 1"});
  const std::string svg = picture(report);
  CHECK(count(svg, "warp 1, PTX line") == 2);  // titles of arrows
  CHECK(count(svg, "warp 0, PTX line") == 1);
  CHECK_THAT(svg, Contains("waits for an mbarrier, PTX line 26") && !Contains("A column of"));
}

TEST_CASE("a launch without a timeline has none") {
  std::vector<std::uint32_t> out(1);
  const ptx::Report report = kernel_of(kProducer).launch({.block = {64}}, {ptx::buffer(out)});
  CHECK(report.timeline.warps == 0);
  CHECK(report.timeline.runs.empty());
  ptx::Launch how = observed(64);
  how.observed_block = {1, 0, 0};
  const ptx::Report refused = kernel_of(kProducer).launch(how, {ptx::buffer(out)});
  REQUIRE(refused.fault);
  CHECK(refused.fault->error.code == Errc::launch_shape);
}

// 0 mov, 1 and 2 addresses, 3 cp.async, 4 commit, 5 cp.async, 6 commit, 7 wait for the first, 8 for both, 9 ret.
TEST_CASE("groups of copies lead to their waits") {
  const ptx::Report report = run(R"({
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  .shared .align 16 .b8 tile[32];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, tile;
  add.u32 %r2, %r1, 16;
  cp.async.ca.shared.global [%r1], [%rd1], 16;
  cp.async.commit_group;
  cp.async.ca.shared.global [%r2], [%rd1], 16;
  cp.async.commit_group;
  cp.async.wait_group 1;
  cp.async.wait_all;
  ret;
})",
                                 1);
  if (report.fault) FAIL(report.fault->message());
  CHECK(waits(report) == std::vector<std::string>{"copies: warp 0 at once [7, 7) 7 by copy of warp 0 at 3",
                                                  "copies: warp 0 at once [8, 8) 8 by copy of warp 0 at 5"});
  CHECK(line_of(report, "cp.async.ca.shared.global [%r1]").shared_bytes == 16);
  CHECK(line_of(report, "cp.async.ca.shared.global [%r1]").bytes == 16);
}

// 0 ld.param, 1 mov, 2 mov, 3 init, 4 fence, 5 expect_tx, 6 copy; the wait has nothing before it but the copy itself: 7 test,
// 8 ret.
TEST_CASE("a bulk copy completes the phase that it was for") {
  const ptx::Report report = run(R"({
  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
  .shared .align 8 .b8 object[8];
  .shared .align 16 .b8 tile[256];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, object;
  mov.u32 %r2, tile;
  mbarrier.init.shared::cta.b64 [%r1], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 256;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%rd1], 256, [%r1];
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0;
  @!%p1 bra WAIT;
  ret;
})",
                                 1);
  if (report.fault) FAIL(report.fault->message());
  CHECK(waits(report) == std::vector<std::string>{"mbarrier: warp 0 [7, 7) 7 by copy of warp 0 at 6"});
  CHECK(line_of(report, "cp.async.bulk").bytes == 256);
  CHECK(line_of(report, "cp.async.bulk").shared_bytes == 256);
}

// ---- Launches that are short, long, or faulty

TEST_CASE("a picture has what came before a fault") {
  std::string text = kProducer;
  const std::string arrive = "  mbarrier.arrive.shared::cta.b64 _, [%r2];\n";
  text.erase(text.find(arrive), arrive.size());
  const ptx::Report report = run(text, 64);
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::deadlock);
  const std::vector<std::string> all = waits(report);
  REQUIRE(all.size() >= 3);
  CHECK(all[0] == "barrier: warp 0 [7, 13) 16 by arrival of warp 1 at 12");
  CHECK(std::ranges::count_if(report.timeline.waits, [](const Wait& one) { return !one.to; }) >= 1);
  CHECK(line_of(report, "st.shared").warps == 1);
  CHECK_THAT(picture(report),
             Contains("A fault: ") && Contains("what came before") && Contains("does not go on"));
}

TEST_CASE("a picture of nothing says so") {
  const std::string svg = ptx::profile_svg({"a < b & c", {}, {}});
  CHECK(xml::is_well_formed(svg));
  CHECK_THAT(svg, Contains("a &lt; b &amp; c") && Contains("No statement was executed.") &&
                      Contains("No statement of the observed block"));
}

// 32 warps that meet at a barrier a hundred times: 32 (2 + 100 4 + 1) statements, and in each round 31 warps wait.
TEST_CASE("a long launch is drawn in columns") {
  const ptx::Report report = run(R"({
  .reg .pred %p<2>; .reg .b32 %r<4>;
  mov.u32 %r1, 0;
  mov.u32 %r2, %tid.x;
ROUND:
  bar.sync 0;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 100;
  @%p1 bra ROUND;
  ret;
})",
                                 1024);
  if (report.fault) FAIL(report.fault->message());
  CHECK(report.timeline.statements == 32 * 403);
  CHECK(report.timeline.covered == 32 * 403);
  CHECK(report.timeline.waits.size() == 31 * 100);
  const std::string svg = picture(report);
  CHECK_THAT(svg, Contains("A column of 2 pixels is 33 statements") && Contains("of 3100 arrows are drawn"));
  CHECK(svg.size() < 600'000);
}

TEST_CASE("a timeline has an end") {
  const ptx::Report report = run(R"({
  .reg .pred %p<2>; .reg .b32 %r<4>;
  mov.u32 %r1, 0;
ROUND:
  bar.sync 0;
  add.u32 %r1, %r1, 1;
  setp.lt.u32 %p1, %r1, 40000;
  @%p1 bra ROUND;
  ret;
})",
                                 64);
  if (report.fault) FAIL(report.fault->message());
  CHECK(report.timeline.statements == 2 * 160'002);
  CHECK(report.timeline.covered < report.timeline.statements);
  CHECK(report.timeline.runs.size() <= ptx::Timeline::kMost);
  CHECK(report.timeline.waits.size() <= ptx::Timeline::kMost);
  CHECK_THAT(picture(report), Contains("of 320,004 statements are drawn"));
}

// 105 lines with 100 + 1 + 3 * 9 + 1 executions: the loop's three have 7 % each, the others less than 1 %.
TEST_CASE("of many lines a picture has the largest") {
  std::string text = "{\n  .reg .pred %p<2>; .reg .b32 %r<4>;\n  mov.u32 %r1, 0;\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("  mov.u32 %r2, {};\n", i);
  text += "ROUND:\n  add.u32 %r1, %r1, 1;\n  setp.lt.u32 %p1, %r1, 9;\n  @%p1 bra ROUND;\n  ret;\n}";
  const ptx::Report report = run(text, 32);
  CHECK(report.profile.size() == 105);
  const std::string svg = picture(report);
  CHECK_THAT(svg, Contains("3 of 105 lines") && Contains("all 105 lines") && Contains("add.u32 %r1, %r1, 1"));
  CHECK(count(svg, "mov.u32") == 0);
}

TEST_CASE("kernels have several blocks, and a picture one of them") {
  std::vector<std::uint32_t> out(1);
  const ptx::Function kernel = kernel_of(kProducer);
  ptx::Launch how = observed(64);
  how.grid = {3};
  how.check_global = false;
  how.observed_block = {2, 0, 0};
  const ptx::Report report = kernel.launch(how, {ptx::buffer(out)});
  if (report.fault) FAIL(report.fault->message());
  CHECK(report.timeline.block == device::Index3{2, 0, 0});
  CHECK(report.timeline.statements == 33);
  CHECK(line_of(report, "st.shared").warps == 3);
  CHECK_THAT(picture(report), Contains("block (2, 0, 0)"));
}

}  // namespace profile_test
