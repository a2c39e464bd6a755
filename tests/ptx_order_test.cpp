// SPDX-License-Identifier: Apache-2.0
// What a kernel leaves open: each reason, beside a neighbour that leaves nothing open.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_order_test {

using namespace warpbit;

// %rd1 points to `out`, %rd2 to a word for each thread of a block; %r1 is %tid.x.
std::string text_of(const std::string& body, const std::string& target = "sm_90a") {
  return ".version 9.0\n.target " + target + R"(
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>; .reg .f64 %fd<4>;
  .shared .align 16 .b8 tile[64];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  mov.b32 %r2, 1;
  mov.b32 %f1, 0f3F800000;
  mov.b16 %h1, 1;
  mov.f64 %fd1, 0d3FF0000000000000;
)" + body +
         "\n  ret;\n}\n";
}

struct Outcome {
  std::vector<std::string> open;  // "atom.global.add.f32: the sum ..."
  std::vector<std::uint32_t> out;
};

Outcome run(const std::string& body, unsigned threads = 64, int host_threads = 1, unsigned blocks = 3) {
  const std::string text = text_of(body);
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  Outcome outcome;
  outcome.out.resize(512);
  ptx::Launch how{.grid = {blocks}, .block = {threads}, .check_shared = false};
  how.execute.threads = host_threads;
  const ptx::Report report = function->launch(how, {ptx::buffer(outcome.out)});
  if (report.fault) FAIL(report.fault->message());
  for (const ptx::OrderDependence& one : report.order_dependent) {
    outcome.open.push_back(one.instruction + ": " + one.why);
    const std::size_t at = text.rfind(one.instruction);
    REQUIRE(at != text.npos);
    CHECK(one.line == 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }
  return outcome;
}

struct Case {
  std::string open;  // what the report says; empty: nothing
  std::string body;
};

const std::string kSum = ": the sum depends on the order of the additions",
                  kOld = ": the old value depends on the order of the threads",
                  kRest = ": what remains depends on the order of the threads",
                  kPoll = ": the value depends on when other threads write it",
                  kTime = ": the time differs from run to run",
                  kWhere = ": where a thread runs is left to the GPU";

const std::vector<Case> kCases = {
    // Sums of floating-point numbers.
    {"red.global.add.f32" + kSum, "red.global.add.f32 [%rd1], %f1;"},
    {"atom.global.add.f32" + kSum, "atom.global.add.f32 %f2, [%rd1], %f1;"},
    {"red.global.add.f64" + kSum, "red.global.add.f64 [%rd1], %fd1;"},
    {"red.global.add.noftz.f16x2" + kSum, "red.global.add.noftz.f16x2 [%rd1], %r2;"},
    {"red.global.add.noftz.bf16" + kSum, "red.global.add.noftz.bf16 [%rd1], %h1;"},
    {"red.global.v2.f32.add" + kSum, "red.global.v2.f32.add [%rd1], {%f1, %f1};"},
    {"red.add.f32" + kSum, "red.add.f32 [%rd1], %f1;"},
    {"atom.shared.add.f32" + kSum, "mov.u32 %r4, tile; atom.shared.add.f32 %f2, [%r4], %f1;"},
    {"", "red.global.add.u32 [%rd1], %r2;"},
    {"", "red.global.add.u64 [%rd1], %rd2;"},
    {"", "atom.global.add.u32 %r3, [%rd1], %r2;"},  // nobody reads %r3
    {"", "add.f32 %f2, %f1, %f1; st.global.f32 [%rd1], %f2;"},
    // Local memory is each thread's own.
    {"",
     ".local .align 8 .b8 mine[8]; mov.u64 %rd3, mine; cvta.local.u64 %rd3, %rd3; st.u64 [%rd3], 0;"
     " atom.add.f32 %f2, [%rd3], %f1; ld.volatile.u32 %r3, [%rd3];"},
    // Old values that are read.
    {"atom.global.add.u32" + kOld, "atom.global.add.u32 %r3, [%rd1], %r2; mov.u32 %r4, %r3;"},
    {"atom.global.inc.u32" + kOld, "atom.global.inc.u32 %r3, [%rd1], 5; setp.eq.u32 %p1, %r3, 5;"},
    {"atom.global.max.s32" + kOld,
     "atom.global.max.s32 %r3, [%rd1], %r1; shfl.sync.idx.b32 %r4, %r3, 0, 31, -1;"},
    {"atom.global.cas.b32" + kOld, "atom.global.cas.b32 %r3, [%rd1], 0, %r1; st.global.u32 [%rd2+8], %r3;"},
    {"atom.global.exch.b32" + kOld, "atom.global.exch.b32 %r3, [%rd1], 1; selp.u32 %r4, %r3, %r2, %p0;"},
    {"", "atom.global.max.s32 %r3, [%rd1], %r1;"},
    {"", "atom.global.inc.u32 %r3, [%rd1], 5;"},
    {"", "red.global.min.u32 [%rd1], %r1;"},
    {"", "red.global.and.b32 [%rd1], %r1;"},
    {"", "red.global.or.b32 [%rd1], %r1;"},
    {"", "atom.global.xor.b32 _, [%rd1], %r1;"},
    // What remains.
    {"atom.global.exch.b32" + kRest, "atom.global.exch.b32 _, [%rd1], %r1;"},
    {"atom.global.cas.b32" + kRest, "atom.global.cas.b32 _, [%rd1], 0, %r1;"},
    {"", "atom.global.exch.b32 _, [%rd1], 0;"},
    // Loads by which a thread waits for others.
    {"ld.volatile.global.u32" + kPoll, "ld.volatile.global.u32 %r3, [%rd1];"},
    {"ld.relaxed.gpu.global.u32" + kPoll, "ld.relaxed.gpu.global.u32 %r3, [%rd1];"},
    {"ld.acquire.gpu.u32" + kPoll, "ld.acquire.gpu.u32 %r3, [%rd1];"},
    {"", "ld.global.u32 %r3, [%rd1];"},
    {"", "st.volatile.global.u32 [%rd1], 1;"},
    {"", "mov.u32 %r4, tile; st.shared.u32 [%r4], 1; ld.volatile.shared.u32 %r3, [%r4];"},
    // Time and place.
    {"mov.u64" + kTime, "mov.u64 %rd3, %clock64;"},
    {"mov.u32" + kTime, "mov.u32 %r3, %clock;"},
    {"mov.b64" + kTime, "mov.b64 %rd3, %globaltimer;"},
    {"mov.b32" + kWhere, "mov.b32 %r3, %smid;"},
    {"mov.b32" + kWhere, "mov.b32 %r3, %warpid;"},
    {"mov.b64" + kWhere, "mov.b64 %rd3, %gridid;"},
    {"", "mov.b32 %r3, %laneid; mov.b32 %r3, %nctaid.x; mov.b32 %r3, %ctaid.x; mov.b32 %r3, %lanemask_lt;"},
    {"activemask.b32: which lanes are together is left to the GPU", "activemask.b32 %r3;"},
    {"", "vote.sync.ballot.b32 %r3, 1, -1;"},
};

TEST_CASE("each statement that leaves something open is named") {
  for (const Case& one : kCases) {
    INFO(one.body);
    const std::vector<std::string> open = run(one.body).open;
    CHECK(open == (one.open.empty() ? std::vector<std::string>() : std::vector<std::string>{one.open}));
  }
}

TEST_CASE("only statements that are executed count") {
  const std::string sum = "red.global.add.f32 [%rd1], %f1;";
  CHECK(run("setp.eq.u32 %p1, %r1, 1000; @%p1 " + sum).open.empty());
  CHECK(run("setp.eq.u32 %p1, %r1, 1000; @!%p1 bra END;\n" + sum + "\nEND:").open.empty());
  CHECK(run("setp.lt.u32 %p1, %r1, 2; @%p1 " + sum).open.size() == 1);
}

TEST_CASE("one thread alone has one order") {
  const std::string one = "setp.eq.u32 %p1, %r1, 40; @%p1 ", sum = "red.global.add.f32 [%rd1], %f1;";
  CHECK(run(one + sum + one + sum, 64, 1, 1).open.empty());
  CHECK(run(one + sum, 64, 1, 2).open.size() == 1);  // one of each block
  // The other thread's has no open result of its own.
  const std::string ticket = "atom.global.add.u32 %r3, [%rd1], 1; @%p1 mov.u32 %r4, %r3;";
  CHECK(run(one + ticket, 64, 1, 1).open.empty());
  CHECK(run(one + ticket + "@!%p1 red.global.add.u32 [%rd1], 1;", 64, 1, 1).open.size() == 1);
  CHECK(run("ld.volatile.global.u32 %r3, [%rd1];", 1, 1, 1).open.empty());
  CHECK(run("mov.u64 %rd3, %clock64;", 1, 1, 1).open.size() == 1);
}

TEST_CASE("a kernel that leaves nothing open has the same bits on any number of host threads") {
  const std::string body =
      "mov.u32 %r3, %ctaid.x; mad.lo.u32 %r3, %r3, 64, %r1; red.global.add.u32 [%rd2], %r3;"
      " red.global.max.u32 [%rd2+1024], %r3; red.global.xor.b32 [%rd2+512], %r3;";
  const Outcome one = run(body, 64, 1, 40);
  CHECK(one.open.empty());
  for (unsigned t = 0; t < 64; ++t) {
    CHECK(one.out[t] == 64 * (39 * 40 / 2) + 40 * t);
    CHECK(one.out[256 + t] == 39 * 64 + t);
  }
  for (const int threads : {2, 5}) {
    const Outcome other = run(body, 64, threads, 40);
    CHECK(other.open.empty());
    CHECK(other.out == one.out);
  }
}

TEST_CASE("the statement's line in the source") {
  std::string text = text_of("  .loc 1 42 3\n  red.global.add.f32 [%rd1], %f1;");
  text += ".file 1 \"sum.cu\"\n";
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> function = module->function("k");
  REQUIRE(function);
  std::vector<float> out(4);
  const ptx::Report report = function->launch({.block = {2}}, {ptx::buffer(out)});
  REQUIRE(report.order_dependent.size() == 1);
  CHECK(report.order_dependent[0].file == "sum.cu");
  CHECK(report.order_dependent[0].source_line == 42);
  CHECK(report.order_dependent[0].line == 17);
}

}  // namespace ptx_order_test
