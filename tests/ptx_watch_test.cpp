// SPDX-License-Identifier: Apache-2.0
// Counts and observations of a launch.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_watch_test {

using namespace warpbit;

// 64 threads. The store has 32 lanes at every second word of shared memory (two lanes a bank); the loads of global memory
// read 32 words in a row (4 sectors), and one word of each sector (32 of them). Half of each warp adds.
constexpr const char* kText = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<8>;
  .shared .align 16 .b8 tile[1024];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 31;
  shl.b32 %r3, %r2, 3;
  mov.u32 %r4, tile;
  add.u32 %r4, %r4, %r3;
  shr.u32 %r6, %r1, 3;
  and.b32 %r6, %r6, 4;
  add.u32 %r4, %r4, %r6;
  st.shared.u32 [%r4], %r1;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd2, %rd1, %rd2;
  ld.global.u32 %r5, [%rd2];
  mul.wide.u32 %rd3, %r2, 32;
  add.u64 %rd3, %rd1, %rd3;
  ld.global.u32 %r5, [%rd3];
  setp.lt.u32 %p1, %r2, 16;
  @%p1 add.u32 %r5, %r5, 7;
  ret;
}
)";

ptx::Report run(const ptx::Launch& how) {
  const Result<ptx::Module> module = ptx::Module::load(kText);
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  std::vector<std::uint32_t> out(256);
  ptx::Report report = function->launch(how, {ptx::buffer(out)});
  if (report.fault) FAIL(report.fault->message());
  return report;
}

const ptx::LineCounts& line_of(const ptx::Report& report, const std::string& words) {
  const auto found = std::ranges::find_if(report.profile, [&](const ptx::LineCounts& one) {
    return one.statement.find(words) != std::string::npos;
  });
  REQUIRE(found != report.profile.end());
  return *found;
}

TEST_CASE("a profile counts warps, lanes, sectors and bank conflicts") {
  for (const int threads : {1, 2}) {
    ptx::Launch how{.grid = {3}, .block = {64}, .profile = true};
    how.execute.threads = threads;
    const ptx::Report report = run(how);
    CHECK(report.profile.size() == 19);
    CHECK(line_of(report, "st.shared").conflicts == 6);  // one for each of six warps
    CHECK(line_of(report, "st.shared").sectors == 0);
    CHECK(line_of(report, "[%rd2]").sectors == 6 * 4);
    CHECK(line_of(report, "[%rd3]").sectors == 6 * 32);
    CHECK(line_of(report, "[%rd3]").conflicts == 0);
    const ptx::LineCounts& half = line_of(report, "7;");
    CHECK(half.warps == 6);
    CHECK(half.lanes == 6 * 16);
    CHECK(half.line == 25);
    CHECK(half.opcode == "add");
  }
  CHECK(run({.block = {64}}).profile.empty());
}

TEST_CASE("an observer sees the statements of one warp with their results") {
  std::vector<ptx::Observation> seen;
  ptx::Launch how{.grid = {2}, .block = {64}};
  how.observed_block = {1, 0, 0};
  how.observed_warp = 1;
  how.observe = [&](const ptx::Observation& one) {
    seen.push_back(one);
    return true;
  };
  CHECK_FALSE(run(how).stopped);
  REQUIRE(seen.size() == 19);
  const ptx::Observation& lane = seen[2];  // and.b32 %r2, %r1, 31
  CHECK(lane.block.x == 1);
  CHECK(lane.warp == 1);
  CHECK(lane.lanes == 0xFFFF'FFFF);
  CHECK(lane.line == 10);
  REQUIRE(lane.registers.size() == 1);
  CHECK(lane.registers[0].name == "%r2");
  CHECK(lane.registers[0].values[13] == 13);
  CHECK(lane.registers[0].changed == 0xFFFF'FFFE);  // it was 0
  const ptx::Observation& guarded = seen[17];
  CHECK(guarded.lanes == 0xFFFF);
  CHECK(guarded.registers[0].changed == 0xFFFF);
}

TEST_CASE("an observer can end the launch") {
  int count = 0;
  ptx::Launch how{.block = {64}};
  how.observe = [&](const ptx::Observation& one) { return ++count, one.line != 12; };
  CHECK(run(how).stopped);
  CHECK(count == 5);
}

}  // namespace ptx_watch_test
