// SPDX-License-Identifier: Apache-2.0
// Counts and observations of a launch.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <span>
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
    CHECK(line_of(report, "[%rd2]").bytes == 6 * 128);
    CHECK(line_of(report, "[%rd3]").bytes == 6 * 128);
    CHECK(line_of(report, "[%rd3]").family == "ld.global");
    const ptx::LineCounts& half = line_of(report, ", 7");
    CHECK(half.warps == 6);
    CHECK(half.lanes == 6 * 16);
    CHECK(half.line == 25);
    CHECK(half.opcode == "add");
    CHECK(half.family == "add");
    CHECK(half.statement == "@%p1 add.u32 %r5, %r5, 7");
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
  REQUIRE(guarded.sources.size() == 2);
  CHECK(guarded.sources[0].name == "%p1");
  CHECK(guarded.sources[0].type == "pred");
  CHECK(guarded.sources[0].values[15] == 1);
  CHECK(guarded.sources[0].values[16] == 0);
  CHECK(guarded.sources[1].name == "%r5");
  CHECK(guarded.sources[1].type == "u32");
  CHECK(guarded.sources[1].values[3] + 7 == guarded.registers[0].values[3]);
}

TEST_CASE("an observer can end the launch") {
  int count = 0;
  ptx::Launch how{.block = {64}};
  how.observe = [&](const ptx::Observation& one) { return ++count, one.line != 12; };
  CHECK(run(how).stopped);
  CHECK(count == 5);
}

TEST_CASE("a block or a warp that is not there is not observed") {
  const Result<ptx::Module> module = ptx::Module::load(kText);
  const Result<ptx::Function> function = module->function("k");
  std::vector<std::uint32_t> out(256);
  ptx::Launch how{.grid = {2, 3}, .block = {33}};
  how.observe = [](const ptx::Observation&) { return true; };
  const auto refused = [&](device::Index3 block, int warp) {
    how.observed_block = block;
    how.observed_warp = warp;
    const ptx::Report report = function->launch(how, {ptx::buffer(out)});
    REQUIRE(report.fault);
    CHECK(report.fault->error.code == Errc::launch_shape);
    return report.fault->error.message();
  };
  CHECK(refused({0, 0, 0}, 2) == "the observed warp: 2; expected 0 to 1, the warps of a block");
  CHECK(refused({0, 0, 0}, -1) == "the observed warp: -1; expected 0 to 1, the warps of a block");
  CHECK(refused({0, 3, 0}, 0) ==
        "the observed block: (0, 3, 0); expected one of the 2 x 3 x 1 blocks, from (0, 0, 0) on");
}

// The upper lanes are at MEET first, and wait there for the others. The lower lanes copy 16 bytes from every second 16, the
// upper ones nothing. The product's factor is written before its sum.
constexpr const char* kMeeting = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .f32 %f<6>; .reg .b64 %rd<4>;
  .shared .align 16 .b8 tile[512];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra LATE;
MEET:
  bar.warp.sync -1;
  shl.b32 %r2, %r1, 4;
  mov.u32 %r3, tile;
  add.s32 %r3, %r3, %r2;
  mul.wide.u32 %rd2, %r1, 32;
  add.s64 %rd2, %rd1, %rd2;
  selp.u32 %r4, 16, 0, %p1;
  cp.async.ca.shared.global [%r3], [%rd2], 16, %r4;
  cp.async.wait_all;
  mov.u32 %r6, %nctaid.x;
  mul.lo.u32 %r6, %r6, 0x40400000;
  mov.b32 %f1, %r6;
  mul.f32 %f2, %f1, %f1;
  mov.f32 %f1, 0f3F800000;
  add.f32 %f3, %f2, %f1;
  cvt.rzi.s32.f32 %r5, %f3;
  st.global.u32 [%rd1], %r5;
  ret;
LATE:
  bra MEET;
}
)";

ptx::Function meeting() {
  const Result<ptx::Module> module = ptx::Module::load(kMeeting);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  return *function;
}

TEST_CASE("a statement is counted when it is executed, once") {
  std::vector<std::uint32_t> out(256);
  const ptx::Report report = meeting().launch({.block = {32}, .profile = true}, {ptx::buffer(out)});
  if (report.fault) FAIL(report.fault->message());
  CHECK(out[0] == 10);  // 3 * 3 + 1
  const ptx::LineCounts& meet = line_of(report, "bar.warp.sync");
  CHECK(meet.warps == 1);
  CHECK(meet.lanes == 32);
  CHECK(meet.family == "bar.warp");
  const ptx::LineCounts& copy = line_of(report, "cp.async.ca");
  CHECK(copy.family == "cp.async");
  CHECK(copy.bytes == 16 * 16);
  CHECK(copy.sectors == 16);
  CHECK(copy.conflicts == 0);
  CHECK(line_of(report, "mul.f32").warps == 1);
  CHECK(line_of(report, "st.global").sectors == 1);
  CHECK(line_of(report, "st.global").bytes == 32 * 4);
}

TEST_CASE("an observer sees each statement once, and registers as it takes them") {
  std::vector<std::uint32_t> out(256);
  std::vector<ptx::Observation> seen;
  ptx::Launch how{.block = {32}};
  how.observe = [&](const ptx::Observation& one) {
    seen.push_back(one);
    return true;
  };
  REQUIRE(meeting().launch(how, {ptx::buffer(out)}).ok());
  const auto count = [&](const std::string& words) {
    return std::ranges::count_if(
        seen, [&](const ptx::Observation& one) { return one.statement.find(words) != std::string::npos; });
  };
  CHECK(count("bar.warp.sync") == 1);
  CHECK(count("mul.f32") == 1);
  const auto converts =
      std::ranges::find_if(seen, [](const ptx::Observation& one) { return one.statement.starts_with("cvt."); });
  REQUIRE(converts != seen.end());
  REQUIRE(converts->registers.size() == 1);
  CHECK(converts->registers[0].type == "s32");
  CHECK(converts->registers[0].values[31] == 10);
  REQUIRE(converts->sources.size() == 1);
  CHECK(converts->sources[0].type == "f32");
  CHECK(converts->sources[0].values[0] == 0x41200000);  // 10
  // Before the sum, the product is fused: it reads the factors, and the product has no step of its own.
  const auto sum = std::ranges::find_if(
      seen, [](const ptx::Observation& one) { return one.statement.starts_with("add.f32"); });
  REQUIRE(sum != seen.end());
  REQUIRE(sum->sources.size() == 1);
  CHECK(sum->sources[0].name == "%f1");
}

TEST_CASE("lines are those that a launch may execute") {
  const Result<ptx::Module> module = ptx::Module::load(kText);
  const Result<ptx::Function> function = module->function("k");
  const std::vector<ptx::CodeLine> lines = function->lines();
  REQUIRE(lines.size() == 19);
  CHECK(lines[0].line == 8);
  CHECK(lines[0].family == "ld.param");
  CHECK(lines[0].file == "");
  CHECK(lines.back().line == 26);
  CHECK(lines.back().statement == "ret");
}

// x = x x + x four times; the rounds of the loop lie one after another, and each line is one.
TEST_CASE("a loop that is unrolled is shown as it is written") {
  const Result<ptx::Module> module = ptx::Module::load(R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<2>; .reg .b32 %r<8>; .reg .f32 %f<6>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, 0;
  ld.global.f32 %f1, [%rd1];
AGAIN:
  mul.f32 %f2, %f1, %f1;
  add.f32 %f1, %f2, %f1;
  atom.global.add.f32 %f3, [%rd1], %f1;
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p1, %r1, 4;
  @%p1 bra AGAIN;
  st.global.f32 [%rd1], %f1;
  ret;
}
)");
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  std::vector<float> out{0.5F};
  const ptx::Report report = function->launch({.block = {2}, .profile = true}, {ptx::buffer(out)});
  REQUIRE(report.ok());
  REQUIRE(std::ranges::find(report.assembled, "unroll", &ptx::AssembledLine::rule) != report.assembled.end());
  const std::vector<ptx::CodeLine> lines = function->lines();
  REQUIRE(lines.size() == report.profile.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i].line == report.profile[i].line);
    CHECK((i == 0 || lines[i].line > lines[i - 1].line));
  }
  CHECK(line_of(report, "setp.lt").warps == 4);
  CHECK(line_of(report, "add.f32 %f1").lanes == 8);
  REQUIRE(report.order_dependent.size() == 1);
  CHECK(report.order_dependent[0].line == 13);
}

// A thread adds its number to two words of x.
constexpr const char* kPairs = R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry pairs(.param .u64 x, .param .u64 tail)
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [x];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mad.lo.u32 %r1, %r2, 32, %r1;
  mul.wide.u32 %rd3, %r1, 8;
  add.u64 %rd3, %rd1, %rd3;
  ld.global.v2.u32 {%r3, %r4}, [%rd3];
  add.u32 %r3, %r3, %r1;
  add.u32 %r4, %r4, %r1;
  st.global.v2.u32 [%rd3], {%r3, %r4};
  ret;
}
)";

TEST_CASE("the thread that stores an element is found, and arrays stay as they are") {
  const Result<ptx::Module> module = ptx::Module::load(kPairs);
  REQUIRE(module);
  const Result<ptx::Function> pairs = module->function("pairs");
  REQUIRE(pairs);
  std::vector<std::uint32_t> x(2 * 96, 7);
  const std::vector<std::uint32_t> before = x;
  const std::span<std::uint32_t> all(x);
  const auto find = [&](std::span<const std::uint32_t> element, unsigned blocks = 3) {
    const std::vector<ptx::Argument> arguments = {ptx::buffer(x), ptx::buffer(all.subspan(128))};
    return ptx::find_store(*pairs, {.grid = {blocks}, .block = {32}}, arguments, std::as_bytes(element));
  };
  for (const std::size_t word : std::vector<std::size_t>{0, 1, 2 * 37, 2 * 37 + 1, 2 * 95 + 1}) {
    const Result<std::optional<Fault>> found = find(all.subspan(word, 1));
    REQUIRE(found.ok());
    REQUIRE(found->has_value());
    CHECK((*found)->block.x == word / 2 / 32);
    CHECK((*found)->lanes == std::vector<int>{static_cast<int>(word / 2 % 32)});
    CHECK((*found)->ptx_line == 16);
    CHECK((*found)->error.where == "st.global.v2.u32 [%rd3], {%r3, %r4}");
    CHECK(x == before);
  }
  CHECK_FALSE(find(all.subspan(2 * 40, 1), 1).value().has_value());
  const std::vector<std::uint32_t> other(1);
  CHECK(find(other).error().code == Errc::argument_mismatch);
  CHECK(find(all.first(0)).error().code == Errc::argument_mismatch);
  CHECK(find(all.first(1), 0).error().code == Errc::launch_shape);
  CHECK(x == before);
}

}  // namespace ptx_watch_test
