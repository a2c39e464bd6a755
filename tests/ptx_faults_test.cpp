// SPDX-License-Identifier: Apache-2.0
// Each mistake that a kernel in PTX can make, alone, beside a correct neighbour.
#include <catch2/catch.hpp>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_faults_test {

using namespace warpbit;

// The beginning of each kernel: %r1 is %tid.x, %rd1 points to `out`, %r2 is the thread's address in `tile` (4 bytes each).
std::string kernel_text(const std::string& body, const std::string& before = "") {
  return R"(.version 9.0
.target sm_90a
.address_size 64
)" + before +
         R"(
.visible .entry k(.param .u64 out, .param .u32 n)
{
  .reg .pred %p<8>;
  .reg .b16 %h<8>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<16>;
  .shared .align 16 .b8 tile[1024];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, tile;
  shl.b32 %r3, %r1, 2;
  add.u32 %r2, %r2, %r3;
)" + body +
         "\n}\n";
}

struct Outcome {
  ptx::Report report;
  std::vector<std::uint32_t> out;
};

Outcome run(const std::string& text, unsigned threads, ptx::Launch how = {}) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  Outcome outcome;
  outcome.out.assign(256, 0);
  how.block = {threads};
  if (how.grid.x == 1) how.grid = {1};
  outcome.report = function->launch(how, {ptx::buffer(outcome.out), ptx::value(std::uint32_t{256})});
  return outcome;
}

struct Mistake {
  const char* name;
  unsigned threads;
  Errc code;
  std::vector<const char*> says;  // of the message
  const char* wrong;
  const char* correct;
  const char* before = "";  // of both kernels
};

const std::vector<Mistake> kMistakes = {
    {"global memory out of bounds",
     32,
     Errc::address_out_of_bounds,
     {"4 bytes", "'out'", "lane 31"},
     "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1+900], %r1;",
     "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1+896], %r1;"},
    {"an address that no argument reaches",
     1,
     Errc::address_unknown,
     {"0x123450"},
     "mov.u64 %rd2, 0x123450; ld.global.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;",
     "mov.u64 %rd2, %rd1; ld.global.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;"},
    {"an offset in shared memory as a generic address",
     1,
     Errc::address_out_of_bounds,
     {"0x0 (a null pointer, or an offset in .shared or .local)", "cvta before it"},
     "mov.u64 %rd2, tile; st.u32 [%rd2], %r1;",
     "mov.u64 %rd2, tile; cvta.shared.u64 %rd2, %rd2; st.u32 [%rd2], %r1;"},
    {"shared memory out of bounds",
     32,
     Errc::address_out_of_bounds,
     {"shared", "1024"},
     "st.shared.u32 [%r2+1000], %r1;",
     "st.shared.u32 [%r2+896], %r1;"},
    {"local memory out of bounds",
     1,
     Errc::address_out_of_bounds,
     {"local"},
     ".local .b32 mine[4]; mov.u32 %r4, 600000; st.local.u32 [%r4], %r1;",
     ".local .b32 mine[4]; mov.u32 %r4, mine; st.local.u32 [%r4], %r1;"},
    {"a store to a constant",
     1,
     Errc::address_read_only,
     {"'table'", "constant"},
     "mov.u64 %rd2, table; cvta.const.u64 %rd2, %rd2; st.u32 [%rd2], %r1;",
     "mov.u64 %rd2, table; cvta.const.u64 %rd2, %rd2; ld.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;",
     ".const .b32 table[2] = {1, 2};"},
    {"global memory misaligned",
     1,
     Errc::address_misaligned,
     {"multiple"},
     "st.global.v4.u32 [%rd1+4], {%r1, %r1, %r1, %r1};",
     "st.global.v4.u32 [%rd1+16], {%r1, %r1, %r1, %r1};"},
    {"shared memory misaligned",
     1,
     Errc::address_misaligned,
     {"multiple"},
     "st.shared.u32 [%r2+2], %r1;",
     "st.shared.u16 [%r2+2], %h1;\n" /* replaced below */},
    {"shared memory never written",
     32,
     Errc::never_written,
     {"bytes 0x0 to 0x3 of shared memory have never been written"},
     "ld.shared.u32 %r4, [%r2]; st.global.u32 [%rd1], %r4;",
     "st.shared.u32 [%r2], %r1; ld.shared.u32 %r4, [%r2]; and.b32 %r4, %r4, 0; st.global.u32 [%rd1], %r4;"},
    {"another thread's local memory",
     2,
     Errc::never_written,
     {"ld.u32 %r4, [%rd2]: bytes 0x", " of local memory have never been written, and %r4 at PTX line ",
      " depends on them; they must be written before this ld, by the same thread (a local address is another place in "
      "each thread)\n"},
     ".local .b32 mine[4]; mov.u64 %rd2, mine; cvta.local.u64 %rd2, %rd2; setp.eq.u32 %p1, %r1, 0;"
     " @%p1 st.u32 [%rd2], 7; bar.sync 0; ld.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;",
     ".local .b32 mine[4]; mov.u64 %rd2, mine; cvta.local.u64 %rd2, %rd2; setp.eq.u32 %p1, %r1, 0;"
     " st.u32 [%rd2], 7; bar.sync 0; ld.u32 %r4, [%rd2]; st.global.u32 [%rd1], %r4;"},
    {"a race between warps",
     64,
     Errc::data_race,
     {"warp 0", "__syncthreads"},
     "xor.b32 %r4, %r2, 128; st.shared.u32 [%r2], %r1; ld.shared.u32 %r5, [%r4]; and.b32 %r5, %r5, 0;"
     " st.global.u32 [%rd1], %r5;",
     "xor.b32 %r4, %r2, 128; st.shared.u32 [%r2], %r1; bar.sync 0; ld.shared.u32 %r5, [%r4]; and.b32 %r5, %r5, 0;"
     " st.global.u32 [%rd1], %r5;"},
    {"a race between lanes",
     32,
     Errc::data_race,
     {"__syncwarp"},
     "xor.b32 %r4, %r2, 4; st.shared.u32 [%r2], %r1; ld.shared.u32 %r5, [%r4]; and.b32 %r5, %r5, 0;"
     " st.global.u32 [%rd1], %r5;",
     "xor.b32 %r4, %r2, 4; st.shared.u32 [%r2], %r1; bar.warp.sync -1; ld.shared.u32 %r5, [%r4];"
     " and.b32 %r5, %r5, 0; st.global.u32 [%rd1], %r5;"},
    {"two stores without order",
     64,
     Errc::data_race,
     {"written"},
     "mov.u32 %r4, tile; shr.u32 %r5, %r1, 5; st.shared.u32 [%r4], %r5;",
     "mov.u32 %r4, tile; mov.u32 %r5, 7; st.shared.u32 [%r4], %r5;"},  // the same value changes nothing
    {"an atomic beside a store",
     64,
     Errc::data_race,
     {"written"},
     "mov.u32 %r4, tile; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r4], 5; atom.shared.add.u32 %r5, [%r4], 1;",
     "mov.u32 %r4, tile; setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r4], 5; bar.sync 0;"
     " atom.shared.add.u32 %r5, [%r4], 1;"},
    {"a barrier of the wrong warps",
     96,
     Errc::data_race,
     {"warp 1"},
     // Warps 0 and 1 meet at barrier 1; warp 2 reads without having met them.
     "st.shared.u32 [%r2], %r1; setp.ge.u32 %p1, %r1, 64; @%p1 bra LATE; bar.sync 1, 64; bra END;\n"
     "LATE: ld.shared.u32 %r4, [%r2+-128]; and.b32 %r4, %r4, 0; st.global.u32 [%rd1], %r4;\nEND: ret;",
     "st.shared.u32 [%r2], %r1; setp.ge.u32 %p1, %r1, 64; @%p1 bra LATE; bar.arrive 1, 96; bra END;\n"
     "LATE: bar.sync 1, 96; ld.shared.u32 %r4, [%r2+-128]; and.b32 %r4, %r4, 0; st.global.u32 [%rd1], %r4;\n"
     "END: ret;"},
    {"a copy that was not waited for",
     32,
     Errc::copy_pending,
     {"cp.async", "wait_group"},
     "shl.b32 %r4, %r1, 2; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;"
     " cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group; ld.shared.u32 %r5, [%r2];"
     " st.global.u32 [%rd2], %r5;",
     "shl.b32 %r4, %r1, 2; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd2, %rd1, %rd2;"
     " cp.async.ca.shared.global [%r2], [%rd2], 4; cp.async.commit_group; cp.async.wait_group 0;"
     " ld.shared.u32 %r5, [%r2]; st.global.u32 [%rd2], %r5;"},
    {"lanes missing at a barrier",
     32,
     Errc::lanes_missing,
     {"lanes 0-15"},
     "setp.lt.u32 %p1, %r1, 16; @%p1 bra HALF; bar.sync 0; bra END;\nHALF: bar.sync 0;\nEND: ret;",
     "setp.lt.u32 %p1, %r1, 16; @%p1 bra HALF; bra BOTH;\nHALF: mov.u32 %r4, 1;\nBOTH: bar.sync 0;\nEND: ret;"},
    {"lanes missing at a shuffle",
     32,
     Errc::lanes_missing,
     {"shfl"},
     "setp.lt.u32 %p1, %r1, 16; @%p1 bra END; shfl.sync.bfly.b32 %r4, %r1, 1, 31, -1;\nEND: bar.sync 0;",
     "setp.lt.u32 %p1, %r1, 16; @%p1 bra END; shfl.sync.bfly.b32 %r4, %r1, 1, 31, 0xffff0000;\nEND: bar.sync 0;"},
    {"lanes missing at mma",
     32,
     Errc::lanes_missing,
     {"mma.sync"},
     "mov.f64 %rd2, 0d0000000000000000; setp.lt.u32 %p1, %r1, 8; @%p1 bra END;\n"
     ".reg .f64 %fd<8>; mov.f64 %fd1, 0d3FF0000000000000;"
     " mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd2, %fd3}, {%fd1}, {%fd1}, {%fd1, %fd1};\nEND: bar.sync 0;",
     ".reg .f64 %fd<8>; mov.f64 %fd1, 0d3FF0000000000000;"
     " mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%fd2, %fd3}, {%fd1}, {%fd1}, {%fd1, %fd1}; bar.sync 0;"},
    {"a shuffle from a lane that takes no part",
     32,
     Errc::never_written,
     {"not active", "and %r4 at PTX line 18 depends on", "undefined"},
     "setp.lt.u32 %p1, %r1, 16; @%p1 bra END; shfl.sync.idx.b32 %r4, %r1, 3, 31, 0xffff0000;\nst.global.u32 [%rd1], %r4;\n"
     "END: bar.sync 0;",
     "setp.lt.u32 %p1, %r1, 16; @%p1 bra END; shfl.sync.idx.b32 %r4, %r1, 3, 31, 0xffff0000;\nEND: bar.sync 0;"},
    {"a shuffle from a lane that the mask does not name",
     32,
     Errc::never_written,
     {"does not name"},
     "shr.u32 %r5, %r1, 4; setp.eq.u32 %p1, %r5, 0; selp.b32 %r6, 0xffff, 0xffff0000, %p1;\n"
     "shfl.sync.bfly.b32 %r4, %r1, 16, 31, %r6; st.global.u32 [%rd1], %r4;",
     "shr.u32 %r5, %r1, 4; setp.eq.u32 %p1, %r5, 0; selp.b32 %r6, 0xffff, 0xffff0000, %p1;\n"
     "shfl.sync.bfly.b32 %r4, %r1, 8, 31, %r6;"},
    {"a lane outside its own mask",
     32,
     Errc::inactive_lane,
     {"does not name lane 31, which executes it"},
     "vote.sync.ballot.b32 %r4, 1, 0x7fffffff;",
     "vote.sync.ballot.b32 %r4, 1, 0xffffffff;"},
    {"a barrier for other counts",
     64,
     Errc::barrier_misused,
     {"64", "96"},
     "setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; bar.sync 1, 64; bra END;\nONE: bar.sync 1, 96;\nEND: ret;",
     "setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; bar.sync 1, 64; bra END;\nONE: bar.sync 1, 64;\nEND: ret;"},
    {"a barrier of half a warp",
     32,
     Errc::barrier_misused,
     {"48", "multiple of 32"},
     "mov.u32 %r4, 48; bar.sync 1, %r4;",
     "mov.u32 %r4, 32; bar.sync 1, %r4;"},
    {"a barrier that does not exist",
     32,
     Errc::barrier_misused,
     {"barrier 16", "0 to 15"},
     "mov.u32 %r4, 16; bar.sync %r4;",
     "mov.u32 %r4, 15; bar.sync %r4;"},
    {"a deadlock",
     64,
     Errc::deadlock,
     {"no thread can go on", "warp 0", "warp 1", "bar.sync"},
     "setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; bar.sync 1; bra END;\nONE: bar.sync 2;\nEND: ret;",
     "setp.lt.u32 %p1, %r1, 32; @%p1 bra ONE; bar.sync 1; bra END;\nONE: bar.sync 1;\nEND: ret;"},
    {"recursion without an end",
     1,
     Errc::stack_overflow,
     {},
     "call again, ();",
     "call once, ();",
     ".func once() { ret; }\n.func again() { call again, (); ret; }"},
    {"a trap",
     32,
     Errc::trap,
     {"stops itself"},
     "setp.eq.u32 %p1, %r1, 5; @%p1 trap;",
     "setp.eq.u32 %p1, %r1, 32; @%p1 trap;"},
    {"an address from a register without a value",
     1,
     Errc::never_written,
     {"%rd5"},
     "st.global.u32 [%rd5], %r1;",
     "mov.u64 %rd5, %rd1; st.global.u32 [%rd5], %r1;"},
    {"a stored register without a value",
     32,
     Errc::never_written,
     {"%r9", "lanes 16-31"},
     "setp.lt.u32 %p1, %r1, 16; @%p1 mov.u32 %r9, 1; cvt.u64.u32 %rd2, %r3; add.u64 %rd2, %rd1, %rd2;"
     " st.global.u32 [%rd2], %r9;",
     "setp.lt.u32 %p1, %r1, 16; @%p1 mov.u32 %r9, 1; st.shared.u32 [%r2], %r9;"},
    {"a register without a value stored to global memory, and as a part of an argument",
     32,
     Errc::never_written,
     {"%r9"},
     "add.u32 %r9, %r10, 1; st.global.u32 [%rd1], %r9;",
     ".param .align 4 .b8 p[8]; .local .b32 l; st.local.u32 [l], %r9; st.param.u32 [p], %r1;"
     " st.param.u32 [p+4], %r9; call first, (p);",
     ".func first(.param .align 4 .b8 a[8]) { .reg .b32 %x; ld.param.u32 %x, [a]; ret; }"},
    {"a call by address with other arguments than the function has",
     1,
     Errc::argument_mismatch,
     {"'none'"},
     "P: .callprototype _ (.param .b64 _); .param .b64 p; st.param.b64 [p], %rd1; mov.u64 %rd2, none; call %rd2, (p), P;",
     "P: .callprototype _ (.param .b64 _); .param .b64 p; st.param.b64 [p], %rd1; mov.u64 %rd2, one; call %rd2, (p), P;",
     ".func none() { ret; }\n.func one(.param .b64 a) { ret; }"},
    {"a call by address with a smaller argument than the function has",
     1,
     Errc::argument_mismatch,
     {"'one'"},
     "P: .callprototype _ (.param .b32 _); .param .b32 p; st.param.b32 [p], %r1; mov.u64 %rd2, one; call %rd2, (p), P;",
     "P: .callprototype _ (.param .b64 _); .param .b64 p; st.param.b64 [p], %rd1; mov.u64 %rd2, one; call %rd2, (p), P;",
     ".func one(.param .b64 a) { ret; }"},
    {"the half without a value of a packed register",
     1,
     Errc::never_written,
     {"%h3"},
     "cvt.u16.u32 %h1, %r1; mov.b32 %r9, {%h2, %h1}; add.s16x2 %r9, %r9, %r2; mov.b32 {%h3, _}, %r9; st.global.u16 [%rd1], %h3;",
     "cvt.u16.u32 %h1, %r1; mov.b32 %r9, {%h2, %h1}; add.s16x2 %r9, %r9, %r2; mov.b32 {_, %h3}, %r9; st.global.u16 [%rd1], %h3;"},
    {"a register with a half without a value",
     1,
     Errc::never_written,
     {"%rd5"},
     "cvt.u16.u32 %h1, %r1; mov.b32 %r9, {%h2, %h1}; mov.b64 %rd5, {%r9, %r1}; st.global.u64 [%rd1], %rd5;",
     "cvt.u16.u32 %h1, %r1; mov.b32 %r9, {%h2, %h1}; mov.b64 %rd5, {%r9, %r1}; mov.b64 {_, %h3, %h4, _}, %rd5;"
     " st.global.v2.u16 [%rd1], {%h3, %h4};"},
    {"a sum of a register with a half without a value",
     1,
     Errc::never_written,
     {"%h3"},
     "cvt.u16.u32 %h1, %r1; mov.b32 %r9, {%h2, %h1}; add.u32 %r9, %r9, %r2; mov.b32 {_, %h3}, %r9; st.global.u16 [%rd1], %h3;",
     "cvt.u16.u32 %h1, %r1; mov.b32 %r9, {%h2, %h1}; xor.b32 %r9, %r9, %r2; mov.b32 {_, %h3}, %r9; st.global.u16 [%rd1], %h3;"},
    {"a branch by a sum of registers without a value",
     1,
     Errc::never_written,
     {"%p1"},
     "add.u32 %r9, %r10, 1; setp.eq.u32 %p1, %r9, 0; @%p1 bra END; mov.u32 %r4, 1;\nEND: ret;",
     "mov.u32 %r10, 3; add.u32 %r9, %r10, 1; setp.eq.u32 %p1, %r9, 0; @%p1 bra END; mov.u32 %r4, 1;\nEND: ret;"},
    {"an index beyond a table of branches",
     32,
     Errc::undefined_operand,
     {"index 2"},
     "min.u32 %r4, %r1, 2;\nTABLE: .branchtargets A, B;\nbrx.idx %r4, TABLE;\nA: ret;\nB: ret;",
     "min.u32 %r4, %r1, 1;\nTABLE: .branchtargets A, B;\nbrx.idx %r4, TABLE;\nA: ret;\nB: ret;"},
};

bool is_fault_by_default(KernelRule rule) {
  const KernelRuleInfo* const info = find_info(rule);
  return info == nullptr || info->by_default == Grade::fault;
}

TEST_CASE("each mistake is a fault, and its correct neighbour is none") {
  for (const Mistake& one : kMistakes) {
    DYNAMIC_SECTION(one.name) {
      const std::string correct = std::string(one.correct).find("%h1") == std::string::npos
                                      ? one.correct
                                      : "mov.u16 %h1, 1; st.shared.u16 [%r2+2], %h1;";
      ptx::Launch strict;
      strict.strict = true;
      const Outcome right = run(kernel_text(correct, one.before), one.threads, strict);
      if (right.report.fault) FAIL(right.report.fault->message());
      const Outcome wrong = run(kernel_text(one.wrong, one.before), one.threads, strict);
      REQUIRE(wrong.report.fault);
      const Fault& fault = *wrong.report.fault;
      const ptx::Report told = run(kernel_text(one.wrong, one.before), one.threads).report;
      if (is_fault_by_default(fault.rule)) CHECK(told.fault);
      CHECK((told.fault ? is_fault_by_default(told.fault->rule) : !told.findings.empty()));
      INFO(fault.message());
      CHECK(name(fault.error.code) == name(one.code));
      for (const char* words : one.says) CHECK_THAT(fault.message(), Catch::Contains(words));
      CHECK(fault.kernel == "k");
      CHECK(fault.ptx_line > 3);
      CHECK_FALSE(fault.lanes.empty());
    }
  }
}

TEST_CASE("calls that cannot be made are refused") {
  const auto refusal = [](const std::string& body, const std::string& before) {
    const Result<ptx::Module> module = ptx::Module::load(kernel_text(body, before));
    if (!module) FAIL(module.error().message());
    const Result<ptx::Function> k = module->function("k");
    REQUIRE_FALSE(k);
    CHECK_FALSE(module->check().empty());
    return k.error().message();
  };
  CHECK_THAT(refusal(".param .u16 p; call g, (p);", ".func g(.param .u16 a) { ret; }"),
             Catch::Contains("'a' of .u16; expected .b8, .b16 or 32 bits and more"));
  CHECK_THAT(refusal("call g, (1.5);", ".func g(.reg .b32 a) { ret; }"),
             Catch::Contains("a floating-point constant; expected 4 bytes of .b32"));
  CHECK_THAT(refusal("call (5), g;", ".func (.reg .b32 a) g() { ret; }"),
             Catch::Contains("constant 5; expected 4 bytes of .b32"));
  CHECK_THAT(refusal("call g, (out);", ".func g(.param .b64 a) { ret; }"),
             Catch::Contains("'out' of the function itself; expected a .param variable of its body"));
}

TEST_CASE("a race is none where accesses are not checked") {
  ptx::Launch how;
  how.check_shared = false;
  const Outcome out = run(kernel_text("ld.shared.u32 %r4, [%r2]; st.global.u32 [%rd1], %r4;"), 32, how);
  CHECK_FALSE(out.report.fault);
}

TEST_CASE("a matrix is not stored to an array that may only be read") {
  const std::string text = kernel_text(
      ".reg .f32 %f<9>; mov.f32 %f1, 0f3F800000; mov.u32 %r4, 16;"
      " wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1, %f1, %f1, %f1, %f1, %f1, %f1, %f1}, %r4;");
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> k = module->function("k");
  REQUIRE(k);
  std::vector<float> out(256);
  ptx::Launch how;
  how.block = {32};
  CHECK(k->launch(how, {ptx::buffer(out), ptx::value(1)}).ok());
  CHECK(out == std::vector<float>(256, 1.0F));
  const std::vector<float> fixed(256);
  const ptx::Report report = k->launch(how, {ptx::buffer(fixed), ptx::value(1)});
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::address_read_only);
  CHECK(fixed == std::vector<float>(256));
}

TEST_CASE("atomics on an array at an odd address of the host") {
  const std::string text =
      kernel_text("atom.global.add.u64 %rd2, [%rd1+8], 5; red.global.add.f32 [%rd1], 0f3F800000;");
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> k = module->function("k");
  REQUIRE(k);
  std::vector<std::byte> bytes(33);
  ptx::Launch how;
  how.grid = {16};
  how.block = {32};
  const ptx::Report report = k->launch(how, {ptx::buffer(std::span(bytes).subspan(1)), ptx::value(1)});
  if (report.fault) FAIL(report.fault->message());
  std::uint64_t sum = 0;
  float count = 0;
  std::memcpy(&sum, &bytes[9], sizeof sum);
  std::memcpy(&count, &bytes[1], sizeof count);
  CHECK(sum == 16 * 32 * 5);
  CHECK(count == 16 * 32);
}

TEST_CASE("forms without recordings can be refused") {
  std::string text = kernel_text(".reg .f32 %f<4>; mov.f32 %f1, 0f3F800000; ex2.approx.f32 %f2, %f1;");
  text.replace(text.find("sm_90a"), 6, "sm_80");
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> k = module->function("k");
  REQUIRE(k);
  std::vector<float> out(4);
  ptx::Launch how;
  CHECK(k->launch(how, {ptx::buffer(out), ptx::value(1)}).inferred);
  how.execute.allow_inferred = false;
  const ptx::Report report = k->launch(how, {ptx::buffer(out), ptx::value(1)});
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::inferred_plan);
  CHECK_THAT(report.fault->message(),
             Catch::Contains("ex2.approx.f32 on sm_80: the arithmetic is inferred (all bits "
                             "within an error: as an H100; "));
}

TEST_CASE("both sides of a race have their lines, in the source too") {
  const std::string body = R"(
  .loc 1 7 3
  st.shared.u32 [%r2], %r1;
  .loc 1 9 3
  xor.b32 %r4, %r2, 128;
  ld.shared.u32 %r5, [%r4];
  ret;)";
  std::string text = kernel_text(body);
  text += "\n.file 1 \"race.cu\"\n";
  const Outcome out = run(text, 64);
  REQUIRE(out.report.fault);
  const Fault& fault = *out.report.fault;
  INFO(fault.message());
  CHECK(std::string(fault.at.file) == "race.cu");
  CHECK(fault.at.line == 9);
  REQUIRE(fault.other);
  CHECK(fault.other->at.line == 7);
  CHECK(fault.ptx_line == fault.other->ptx_line + 3);
}

TEST_CASE("an endless loop ends at the step limit") {
  ptx::Launch how;
  how.step_limit = 10'000;
  const Outcome out = run(kernel_text("AGAIN: bra AGAIN;"), 32, how);
  REQUIRE(out.report.fault);
  CHECK(out.report.fault->error.code == Errc::step_limit);
  CHECK_THAT(out.report.fault->message(), Catch::Contains("10000"));
}

TEST_CASE("an assertion of the kernel that does not hold") {
  const std::string before = R"(
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .align 1 .b8 message[6] = {105, 32, 60, 32, 53, 0};
.global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};
.global .align 1 .b8 function[2] = {107, 0};)";
  const auto body = [](int limit) {
    return "setp.lt.u32 %p1, %r1, " + std::to_string(limit) + R"(;
  @%p1 bra END;
  {
  .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
  mov.u64 %rd2, message; cvta.global.u64 %rd2, %rd2; st.param.b64 [m], %rd2;
  mov.u64 %rd2, file; cvta.global.u64 %rd2, %rd2; st.param.b64 [f], %rd2;
  mov.u32 %r4, 12; st.param.b32 [l], %r4;
  mov.u64 %rd2, function; cvta.global.u64 %rd2, %rd2; st.param.b64 [n], %rd2;
  mov.u64 %rd2, 1; st.param.b64 [s], %rd2;
  call.uni __assertfail, (m, f, l, n, s);
  }
END: ret;)";
  };
  CHECK_FALSE(run(kernel_text(body(8), before), 8).report.fault);
  const Outcome out = run(kernel_text(body(5), before), 8);
  REQUIRE(out.report.fault);
  CHECK(out.report.fault->error.code == Errc::assertion);
  CHECK_THAT(out.report.fault->message(), Catch::Contains("a.cu:12: k") && Catch::Contains("`i < 5`"));
}

// Block 17 and those before it have stored, once a thread; what blocks behind it have done is not counted.
TEST_CASE("the first faulty block is reported, whatever the number of host threads") {
  std::uint64_t steps = 0;  // on one host thread
  for (const int threads : {1, 2, 5, 5, 5, 5}) {
    ptx::Launch how;
    how.grid = {64};
    how.execute.threads = threads;
    const Outcome out = run(
        kernel_text("st.shared.u32 [%r2], %r1; mov.u32 %r4, %ctaid.x; setp.ge.u32 %p1, %r4, 17; @%p1 trap;"),
        32, how);
    REQUIRE(out.report.fault);
    CHECK(out.report.fault->block.x == 17);
    CHECK(out.report.blocks == 17);
    CHECK(out.report.checked.shared == 18 * 32);
    if (threads == 1) steps = out.report.steps;
    CHECK(out.report.steps == steps);
  }
}

// NUMERICS.md, "Padding": 1 times 0.5, thirty-two times, or times the number of e2m3 whose code is that of 0.5 in e2m1.
TEST_CASE("bits below e2m1 are found, and are a fault of a strict launch") {
  const auto text = [](const char* codes) {
    std::string out =
        kernel_text(std::string("mov.b32 %r4, 0x38383838; mov.b32 %r6, 0; mov.b32 %r5, ") + codes + R"(;
      mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e2m1.f32
        {%r10, %r11, %r12, %r13}, {%r4, %r4, %r4, %r4}, {%r5, %r5}, {%r6, %r6, %r6, %r6};
      st.global.u32 [%rd1], %r10;)");
    return out.replace(out.find("sm_90a"), 6, "sm_120a");
  };
  const Outcome shifted = run(text("0x04040404"), 32), forgotten = run(text("0x01010101"), 32);
  REQUIRE(shifted.report.ok());
  CHECK(shifted.report.findings.empty());
  CHECK(shifted.out[0] == 0x41800000);  // 16
  REQUIRE(forgotten.report.ok());
  CHECK(forgotten.out[0] == 0x40800000);  // 4
  REQUIRE(forgotten.report.findings.size() == 1);
  CHECK_THAT(forgotten.report.findings[0].fault.message(),
             Catch::Contains(
                 "bit 0 of byte 0 of b's register 0 (0x01010101) is 1, and a GPU reads bits 5 to 0 as e2m3; "
                 "an e2m1 lies in bits 5 to 2 of its byte, and bits 1 and 0 must be 0"));
  ptx::Launch strict;
  strict.strict = true;
  CHECK(run(text("0x04040404"), 32, strict).report.ok());
  const Outcome refused = run(text("0x01010101"), 32, strict);
  REQUIRE(refused.report.fault);
  CHECK(refused.report.fault->error.code == Errc::protocol_violation);
}

TEST_CASE("launches that no GPU can do are refused") {
  const std::string text = kernel_text("ret;");
  const Result<ptx::Module> module = ptx::Module::load(text);
  REQUIRE(module);
  const Result<ptx::Function> k = module->function("k");
  REQUIRE(k);
  std::vector<std::uint32_t> out(4);
  const auto fault = [&](const ptx::Launch& how, std::vector<ptx::Argument> arguments) {
    const ptx::Report report = k->launch(how, arguments);
    REQUIRE(report.fault);
    return report.fault->message();
  };
  const std::vector<ptx::Argument> arguments = {ptx::buffer(out), ptx::value(1)};
  CHECK_THAT(fault({.block = {1025}}, arguments),
             Catch::Contains("1025 x 1 x 1") && Catch::Contains("1 to 1024"));
  CHECK_THAT(fault({.grid = {0}}, arguments), Catch::Contains("0 x 1 x 1"));
  CHECK_THAT(fault({.shared_bytes = 1 << 20}, arguments), Catch::Contains("1049600 bytes of shared memory"));
  CHECK_THAT(fault({}, {ptx::buffer(out)}), Catch::Contains("1 arguments"));
  CHECK_THAT(
      fault({}, {ptx::buffer(out), ptx::value(std::uint64_t{1})}),
      Catch::Contains("argument 'n'") && Catch::Contains("8 bytes") && Catch::Contains("4 bytes (.u32)"));
  CHECK_THAT(fault({}, {ptx::buffer(out), ptx::buffer(out)}), Catch::Contains("an array"));
  const Result<ptx::Function> none = module->function("l");
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message(), Catch::Contains("'l'") && Catch::Contains("k"));
}

}  // namespace ptx_faults_test
