// SPDX-License-Identifier: Apache-2.0
// Undefined bits, as they move from step to step: each kernel beside a neighbour that stores one bit more, or less.
#include <catch2/catch.hpp>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace undefined_test {

using namespace warpbit;

// %r1 is %tid.x, %rd1 points to `out`, %rd2 to the thread's word of it, %r2 is the thread's 16 bytes in `tile`. %r20 and %h4 are
// never written.
std::string kernel_text(const std::string& body) {
  return R"(.version 8.8
.target sm_90a
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[4] = {37, 100, 10, 0}; .global .align 128 .b8 line[256];
.func (.param .b32 r) first_of(.param .align 8 .b8 a[8]) {
  .reg .b32 %x; ld.param.u32 %x, [a]; st.param.u32 [r], %x; ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<16>; .reg .f32 %f<16>;
  .shared .align 16 .b8 tile[4096];
  .local .align 16 .b8 mine[64];
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.u64 %rd2, %rd1, %rd2;
  shl.b32 %r3, %r1, 4;
  mov.u32 %r2, tile;
  add.u32 %r2, %r2, %r3;
)" + body +
         "\n}\n";
}

ptx::Report run(const std::string& body, std::vector<std::uint32_t>& out,
                const ptx::Launch& how = {.block = {32}}, bool has_values = true) {
  const Result<ptx::Module> module = ptx::Module::load(kernel_text(body));
  if (!module) FAIL(body << "\n" << module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(body << "\n" << function.error().message());
  out.assign(1024, 0);
  return function->launch(how, {has_values ? ptx::buffer(out) : ptx::unwritten(std::span(out))});
}

void check_silent(const std::string& body, bool has_values = true) {
  INFO(body);
  std::vector<std::uint32_t> out;
  const ptx::Report report = run(body, out, {.block = {32}}, has_values);
  if (report.fault) FAIL(report.fault->message());
  CHECK(report.findings.empty());
}

void check_fault(const std::string& body, const std::string& says, bool has_values = true) {
  INFO(body);
  std::vector<std::uint32_t> out;
  const ptx::Report report = run(body, out, {.block = {32}}, has_values);
  REQUIRE(report.fault);
  INFO(report.fault->message());
  CHECK(report.fault->error.code == Errc::never_written);
  CHECK_THAT(report.fault->message(), Catch::Contains(says));
}

const std::string kStore = " st.global.u32 [%rd2], %r9;";

struct Pair {
  const char* defined;    // %r9 is
  const char* undefined;  // it is not, in one bit at least
};

TEST_CASE("bits of a register that was never written move as values do") {
  const std::vector<Pair> pairs = {
      {"xor.b32 %r9, %r20, %r20;", "xor.b32 %r9, %r20, %r1;"},
      {"sub.u32 %r9, %r20, %r20;", "sub.u32 %r9, %r20, %r1;"},
      {"and.b32 %r9, %r20, 0;", "and.b32 %r9, %r20, 1;"},
      {"or.b32 %r9, %r20, -1;", "or.b32 %r9, %r20, 0xfffffffe;"},
      {"mul.lo.u32 %r9, %r20, 0;", "mul.lo.u32 %r9, %r20, 2;"},
      {"shl.b32 %r8, %r20, 8; vadd.u32.u32.u32 %r9, %r8.b0, %r1;",
       "shl.b32 %r8, %r20, 8; vadd.u32.u32.u32 %r9, %r8.b1, %r1;"},
      {"vadd.u32.u32.u32 %r8.b1, %r1, 1, %r20; vadd.u32.u32.u32 %r9, %r8.b1, 0;",
       "vadd.u32.u32.u32 %r8.b1, %r1, 1, %r20; vadd.u32.u32.u32 %r9, %r8.h0, 0;"},
      {"vadd4.u32.u32.u32 %r8.b10, %r1, %r1, %r20; and.b32 %r9, %r8, 0xffff;",
       "vadd4.u32.u32.u32 %r8.b10, %r1, %r1, %r20; and.b32 %r9, %r8, 0x10000;"},
      {"vmin4.u32.u32.u32 %r9, %r1.b3210, %r20.b0123, %r20;", "vmin4.u32.u32.u32 %r9, %r1, %r20, %r20;"},
      {"vabsdiff2.u32.u32.u32 %r9, %r1, %r1, %r20;", "vabsdiff2.u32.u32.u32.add %r9, %r1, %r1, %r20;"},
      {"vmad.u32.u32.u32 %r9, %r1, %r1, 3;", "vmad.u32.u32.u32 %r9, %r1, %r1, -%r20;"},
      {"shl.b32 %r8, %r20, 8; and.b32 %r9, %r8, 255;", "shl.b32 %r8, %r20, 8; and.b32 %r9, %r8, 256;"},
      {"shl.b32 %r8, %r20, 8; add.u32 %r8, %r8, 1; and.b32 %r9, %r8, 255;",
       "shl.b32 %r8, %r20, 8; add.u32 %r8, %r8, 1; and.b32 %r9, %r8, 0x80000000;"},
      {"shl.b32 %r8, %r20, 8; mul.lo.u32 %r8, %r8, 4; and.b32 %r9, %r8, 1023;",
       "shl.b32 %r8, %r20, 8; mul.lo.u32 %r8, %r8, 4; and.b32 %r9, %r8, 1024;"},
      {"shr.u32 %r8, %r20, 8; and.b32 %r9, %r8, 0xff000000;",
       "shr.s32 %r8, %r20, 8; and.b32 %r9, %r8, 0xff000000;"},
      {"min.u32 %r9, %r20, 0;", "min.u32 %r9, %r20, 1;"},
      {"or.b32 %r8, %r20, 0x80000000; clz.b32 %r9, %r8;", "or.b32 %r8, %r20, 0x40000000; clz.b32 %r9, %r8;"},
      {"setp.ge.u32 %p1, %r1, 32; setp.eq.and.u32 %p2, %r20, 3, %p1; selp.u32 %r9, 5, 4, %p2;",
       "setp.lt.u32 %p1, %r1, 32; setp.eq.and.u32 %p2, %r20, 3, %p1; selp.u32 %r9, 5, 4, %p2;"},
      {"setp.lt.u32 %p1, %r1, 32; setp.lt.or.f32 %p2, %f15, %f15, %p1; selp.u32 %r9, 5, 4, %p2;",
       "setp.lt.u32 %p1, %r1, 32; setp.lt.and.f32 %p2, %f15, %f15, %p1; selp.u32 %r9, 5, 4, %p2;"},
      {"lop3.b32 %r9, %r20, %r1, 0, 0x80;", "lop3.b32 %r9, %r20, %r1, 0, 0xc0;"},
      {"cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; mov.b32 {%h5, %h6}, %r8; cvt.u32.u16 %r9, %h5;",
       "cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; mov.b32 {%h5, %h6}, %r8; cvt.u32.u16 %r9, %h6;"},
      {"cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; prmt.b32 %r9, %r8, 0, 0x4410;",
       "cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; prmt.b32 %r9, %r8, 0, 0x4412;"},
      {"cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; bfe.u32 %r9, %r8, 0, 16;",
       "cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; bfe.u32 %r9, %r8, 0, 17;"},
      {"bfi.b32 %r9, %r1, %r20, 0, 32;", "bfi.b32 %r9, %r1, %r20, 0, 31;"},
      {"setp.eq.u32 %p1, %r1, %r1; selp.b32 %r9, %r1, %r20, %p1;",
       "setp.ne.u32 %p1, %r1, %r1; selp.b32 %r9, %r1, %r20, %p1;"},
      {"setp.lt.u32 %p1, %r20, 9; selp.b32 %r9, %r1, %r1, %p1;",
       "setp.lt.u32 %p1, %r20, 9; selp.b32 %r9, %r1, %r2, %p1;"},
      {"or.b32 %r8, %r20, 1; setp.eq.u32 %p1, %r8, 0; selp.b32 %r9, 1, 2, %p1;",
       "or.b32 %r8, %r20, 1; setp.eq.u32 %p1, %r8, 1; selp.b32 %r9, 1, 2, %p1;"},
      {"and.b32 %r8, %r20, 7; setp.lt.u32 %p1, %r8, 8; selp.b32 %r9, 1, 2, %p1;",
       "and.b32 %r8, %r20, 7; setp.lt.u32 %p1, %r8, 7; selp.b32 %r9, 1, 2, %p1;"},
      {"setp.lt.u32 %p1, %r20, 9; setp.eq.u32 %p2, %r1, 99; and.pred %p3, %p1, %p2; selp.b32 %r9, 1, 2, %p3;",
       "setp.lt.u32 %p1, %r20, 9; setp.ne.u32 %p2, %r1, 99; and.pred %p3, %p1, %p2; selp.b32 %r9, 1, 2, %p3;"},
      // Lane 0 alone has a value, and then alone has none.
      {"setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r20, 5; shfl.sync.idx.b32 %r9, %r20, 0, 31, -1;",
       "setp.ne.u32 %p1, %r1, 0; @%p1 mov.u32 %r20, 5; shfl.sync.idx.b32 %r9, %r20, 0, 31, -1;"},
      {"setp.lt.u32 %p1, %r20, 9; setp.eq.u32 %p2, %r1, 3; or.pred %p1, %p1, %p2; vote.sync.any.pred %p3, %p1, -1;"
       " selp.b32 %r9, 1, 2, %p3;",
       "setp.lt.u32 %p1, %r20, 9; setp.eq.u32 %p2, %r1, 3; or.pred %p1, %p1, %p2; vote.sync.all.pred %p3, %p1, -1;"
       " selp.b32 %r9, 1, 2, %p3;"},
      {"setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r20, 5; setp.eq.u32 %p2, %r20, 5; vote.sync.ballot.b32 %r8, %p2, -1;"
       " and.b32 %r9, %r8, 1;",
       "setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r20, 5; setp.eq.u32 %p2, %r20, 5; vote.sync.ballot.b32 %r8, %p2, -1;"
       " and.b32 %r9, %r8, 3;"},
      {"mov.u32 %r20, 3; redux.sync.add.u32 %r9, %r20, -1;", "redux.sync.add.u32 %r9, %r20, -1;"},
      // The first of two numbers becomes the upper half.
      {"cvt.rn.satfinite.e4m3x2.f32 %h3, %f15, 0f3F800000; cvt.u32.u16 %r8, %h3; and.b32 %r9, %r8, 0xff;",
       "cvt.rn.satfinite.e4m3x2.f32 %h3, %f15, 0f3F800000; cvt.u32.u16 %r8, %h3; and.b32 %r9, %r8, 0x1ff;"},
      {"cvt.rn.bf16x2.f32 %r8, 0f3F800000, %f15; and.b32 %r9, %r8, 0xffff0000;",
       "cvt.rn.bf16x2.f32 %r8, 0f3F800000, %f15; and.b32 %r9, %r8, 0xffff8000;"},
      {"cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; cvt.rn.satfinite.e5m2x2.f16x2 %h5, %r8; cvt.u32.u16 %r8, %h5;"
       " and.b32 %r9, %r8, 0xff;",
       "cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; cvt.rn.satfinite.e5m2x2.f16x2 %h5, %r8; cvt.u32.u16 %r8, %h5;"
       " and.b32 %r9, %r8, 0x100;"},
      {"cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r8;"
       " setp.ge.u32 %p1, %r1, 32; selp.b32 %r9, %r8, 0, %p1;",
       "cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r8;"},
      // Lane 4 i + j has elements 2 j and 2 j + 1 of row i, so that row 0 of the transposed ones is in lanes 0, 4, ... 28.
      {"setp.lt.u32 %p1, %r1, 4; @%p1 mov.u32 %r20, 5; movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r20;"
       " and.b32 %r9, %r8, 0xffff; and.b32 %r10, %r1, 3; setp.ne.u32 %p1, %r10, 0; selp.b32 %r9, 0, %r9, %p1;",
       "setp.lt.u32 %p1, %r1, 4; @%p1 mov.u32 %r20, 5; movmatrix.sync.aligned.m8n8.trans.b16 %r8, %r20;"
       " and.b32 %r9, %r8, 0xffff; and.b32 %r10, %r1, 3; setp.eq.u32 %p1, %r10, 0; selp.b32 %r9, 0, %r9, %p1;"},
      {"cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; add.f16x2 %r8, %r8, %r8; and.b32 %r9, %r8, 0xffff;",
       "cvt.u16.u32 %h3, %r1; mov.b32 %r8, {%h3, %h4}; add.f16x2 %r8, %r8, %r8; and.b32 %r9, %r8, 0x10000;"},
  };
  for (const Pair& one : pairs) {
    check_silent(one.defined + kStore);
    check_fault(one.undefined + kStore, " has never been written, and %r9 at PTX line ");
  }
}

TEST_CASE("shared memory that nothing has written is a fault where its value matters") {
  const std::string load = "ld.shared.u32 %r9, [%r2];";
  check_silent(load);
  check_silent(load + " and.b32 %r9, %r9, 0;" + kStore);
  check_silent("ld.shared.v4.u32 {%r9, %r10, %r11, %r12}, [%r2]; add.u32 %r10, %r11, %r12; mov.u32 %r9, 5;" +
               kStore);
  for (
      const char* use :
      {"st.global.u32 [%rd2], %r9;",
       "mul.wide.u32 %rd3, %r9, 4; add.u64 %rd3, %rd1, %rd3; st.global.u32 [%rd3], %r1;",
       "ld.shared.u32 %r10, [%r9];", "setp.eq.u32 %p1, %r9, 0; @%p1 mov.u32 %r10, 1;",
       "setp.eq.u32 %p1, %r9, 0; @%p1 bra END;\nEND: ret;", "and.b32 %r9, %r9, 3; bar.sync %r9;",
       "atom.shared.add.u32 %r10, [tile+2048], %r9;", "red.global.add.u32 [%rd1], %r9;",
       "cvt.rn.f32.u32 %f1, %r9; mul.f32 %f1, %f1, 0f40000000; st.global.f32 [%rd2], %f1;",
       "{ .param .b64 n; .param .b64 r; cvt.u64.u32 %rd3, %r9; st.param.b64 [n], %rd3; call (r), malloc, (n); }"})
    check_fault(load + " " + use, "never been written");
  // It names the byte, and the load.
  std::vector<std::uint32_t> out;
  const ptx::Report report = run(load + "\n add.u32 %r9, %r9, 1;\n" + kStore, out);
  REQUIRE(report.fault);
  CHECK(report.fault->error.seen ==
        "bytes 0x0 to 0x3 of shared memory have never been written, and %r9 at PTX line 24 depends on them");
  REQUIRE(report.fault->other);
  CHECK(report.fault->ptx_line + 2 == report.fault->other->ptx_line);
}

TEST_CASE("padding that a vector copies stays undefined") {
  const std::string fill =
      "st.shared.u32 [%r2], %r1; st.shared.u32 [%r2+8], %r1;"
      " ld.shared.v4.u32 {%r9, %r10, %r11, %r12}, [%r2];";
  const std::string copy = " st.shared.v4.u32 [%r2+2048], {%r9, %r10, %r11, %r12};";
  check_silent(fill + copy + " ld.shared.u32 %r9, [%r2+2056];" + kStore);
  check_fault(fill + copy + " ld.shared.u32 %r9, [%r2+2052];" + kStore, "never been written");
  check_silent(fill + copy + " st.shared.u32 [%r2+2052], 7; ld.shared.u32 %r9, [%r2+2052];" + kStore);
  const std::string local = " mov.u32 %r30, mine; st.local.v4.u32 [%r30], {%r9, %r10, %r11, %r12};";
  check_silent(fill + local + " ld.local.u32 %r9, [%r30+8];" + kStore);
  check_fault(fill + local + " ld.local.u32 %r9, [%r30+4];" + kStore, "never been written");
  check_fault(fill + " st.global.v4.u32 [%rd1], {%r9, %r10, %r11, %r12};",
              "bytes 0x4 to 0x7 of shared memory have never been written, and %r10 at PTX line 22");
  check_silent(fill + " setp.eq.u32 %p1, %r1, 0; @%p1 st.global.v2.u32 [%rd1], {%r1, %r11};");
}

TEST_CASE("local memory and what malloc returns are undefined until they are written") {
  check_silent("mov.u32 %r30, mine; st.local.u32 [%r30+4], %r1; ld.local.u32 %r9, [%r30+4];" + kStore);
  check_fault("mov.u32 %r30, mine; st.local.u32 [%r30+4], %r1; ld.local.u32 %r9, [%r30+8];" + kStore,
              "local memory");
  check_silent(
      "mov.u32 %r30, mine; ld.local.v4.u32 {%r9, %r10, %r11, %r12}, [%r30];"
      " st.local.v4.u32 [%r30+16], {%r9, %r10, %r11, %r12};");
  const std::string allocate =
      "mov.u64 %rd4, 64; { .param .b64 n; .param .b64 r; st.param.b64 [n], %rd4;"
      " call (r), malloc, (n); ld.param.b64 %rd5, [r]; }";
  check_silent(allocate + " st.u32 [%rd5], %r1; ld.u32 %r9, [%rd5];" + kStore);
  check_silent(allocate + " ld.u32 %r9, [%rd5]; st.u32 [%rd5+4], %r9;");
  check_fault(allocate + " ld.u32 %r9, [%rd5];" + kStore, "what malloc returns");
  check_fault(allocate + " st.u32 [%rd5], %r1; ld.u32 %r9, [%rd5+4];" + kStore, "what malloc returns");
  check_fault(allocate + " ld.u32 %r9, [%rd5]; st.u32 [%rd5+4], %r9; ld.u32 %r9, [%rd5+4];" + kStore,
              "what malloc returns");
}

TEST_CASE("a scalar without a value is told, though all warps read it and one replaces it") {
  const std::string changes =
      "ld.global.u32 %r9, [%rd1]; add.u32 %r9, %r9, 1; setp.eq.u32 %p1, %r1, 0;"
      " @%p1 st.global.u32 [%rd1], %r9; ret;";
  std::vector<std::uint32_t> out;
  CHECK(run(changes, out, {.block = {64}}).ok());
  const ptx::Report report = run(changes, out, {.block = {64}}, false);
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::never_written);
}

TEST_CASE("what changes an array needs values there") {
  const std::string store = "mul.wide.u32 %rd3, %r1, 16; add.u64 %rd3, %rd1, %rd3; ",
                    zeros = "st.global.v4.u32 [%rd3], {0, 0, 0, 0}; ",
                    copies =
                        " st.shared.v4.u32 [%r2], {0, 0, 0, 0}; fence.proxy.async;"
                        " cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd3], [%r2], 16;"
                        " cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
  const std::string changes[] = {"red.global.add.u32 [%rd3], %r1;",
                                 "red.global.or.b32 [%rd3+12], %r1;",
                                 "red.global.add.v2.f32 [%rd3], {0f3f800000, 0f3f800000};",
                                 "atom.global.add.u32 %r9, [%rd3], 1;",
                                 "atom.global.cas.b32 %r9, [%rd3], 0, 1;",
                                 copies};
  for (const std::string& change : changes) {
    check_silent(store + zeros + change, false);
    check_fault(store + change, "memory that it reads has never been written", false);
  }
  check_silent(
      store + "atom.global.exch.b32 _, [%rd3], 1; ld.global.u32 %r9, [%rd3]; st.global.u32 [%rd2+2048], %r9;",
      false);
  const std::string init =
      "mapa.shared::cluster.u32 %r5, %r2, 0; mov.u32 %r6, tile; add.u32 %r6, %r6, 2048; setp.ne.u32 %p1, %r1, 0;"
      " @%p1 bra END; mbarrier.init.shared.b64 [%r6], 1; mapa.shared::cluster.u32 %r7, %r6, 0;"
      " fence.mbarrier_init.release.cluster; mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r6], 4; ";
  const std::string add =
      "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], 7, [%r7];"
      " L: mbarrier.try_wait.parity.shared.b64 %p2, [%r6], 0; @!%p2 bra L; END:";
  check_silent(init + "st.shared.u32 [%r2], 0; " + add);
  check_fault(init + add, "bytes 0x0 to 0x3 of shared memory have never been written");
}

TEST_CASE("a line that is discarded has no values until it is written again") {
  const std::string
      fill = "st.global.u32 [%rd2], 7; st.global.u32 [%rd2+128], 7; bar.warp.sync -1; setp.eq.u32 %p1, %r1, 0;",
      drop = " @%p1 discard.global.L2 [%rd1], 128; bar.warp.sync -1;",
      read = " ld.global.u32 %r9, [%rd2]; st.global.u32 [%rd2+256], %r9;";
  check_silent(fill + read, false);
  check_fault(fill + drop + read, "have never been written", false);
  check_fault(fill + " @%p1 discard.L2 [%rd1], 128; bar.warp.sync -1;" + read, "have never been written",
              false);
  check_fault(fill + drop + "red.global.add.u32 [%rd2], 1;", "memory that it reads has never been written",
              false);
  check_silent(fill + drop + " st.global.u32 [%rd2], 8;" + read, false);
  check_silent(fill + drop + " ld.global.u32 %r9, [%rd2+128]; st.global.u32 [%rd2+256], %r9;", false);
  // The same of arrays and variables that had values before.
  const std::string dropped = "setp.eq.u32 %p1, %r1, 0; @%p1 discard.global.L2 [%rd1], 128; bar.warp.sync -1;",
                    line = " have been discarded, and not written since";
  check_fault(dropped + read, "bytes 0 to 3 of the array of 'out'" + line);
  check_fault(dropped + " ld.global.u8 %r9, [%rd2]; st.global.u32 [%rd2+256], %r9;",
              "byte 0 of the array of 'out' has been discarded, and not written since");
  check_fault(dropped + " ld.global.v2.u32 {%r9, %r10}, [%rd1+120]; st.global.u32 [%rd1+256], %r9;",
              "bytes 120 to 127 of the array of 'out'" + line);
  check_silent(dropped + " ld.global.u32 %r9, [%rd2+128]; st.global.u32 [%rd2+256], %r9;");
  check_silent(dropped + " st.global.u32 [%rd2], 8;" + read);
  check_silent("ld.global.u32 %r9, [%rd2];" + dropped + kStore);
  const std::string variable = "setp.eq.u32 %p1, %r1, 0; @%p1 discard.global.L2 [line], 128; bar.warp.sync -1;";
  check_silent(variable + " ld.global.u32 %r9, [line+128]; st.global.u32 [%rd2], %r9;");
  check_fault(variable + " ld.global.u32 %r9, [line+4]; st.global.u32 [%rd2], %r9;",
              "bytes 4 to 7 of 'line'" + line);
}

TEST_CASE("races in arrays without values are told as in others") {
  const std::string store = "st.global.u32 [%rd2], %r1;",
                    next =
                        "xor.b32 %r5, %r1, 33; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd1, %rd3;"
                        " ld.global.u32 %r9, [%rd3]; st.global.u32 [%rd2+1024], %r9;";
  const auto rules = [&](const std::string& body, std::uint32_t threads, bool has_values) {
    std::vector<std::uint32_t> out;
    const ptx::Report report = run(body, out, {.block = {threads}}, has_values);
    std::set<KernelRule> all;
    for (const auto& one : report.findings) all.insert(one.fault.rule);
    if (report.fault) all.insert(report.fault->rule);
    return all;
  };
  const std::set<KernelRule> none;
  for (const bool has_values : {true, false}) {
    CHECK(rules(store + "bar.sync 0;" + next, 64, has_values) == none);
    CHECK(rules(store + "bar.warp.sync -1; xor.b32 %r1, %r1, 32;" + next, 64, has_values) == none);
    CHECK(rules(store + "bar.warp.sync -1; setp.lt.u32 %p1, %r1, 32; @%p1 bra END;" + next + "END:", 64,
                has_values) == std::set{KernelRule::data_race});
    CHECK(rules(store + "xor.b32 %r1, %r1, 32;" + next, 64, has_values) ==
          std::set{KernelRule::lanes_not_synchronised});
  }
}

TEST_CASE("discard takes whole lines of global memory") {
  const auto error = [](const std::string& body) -> std::optional<Errc> {
    INFO(body);
    std::vector<std::uint32_t> out;
    const ptx::Report report = run(body, out);
    return report.fault ? std::optional(report.fault->error.code) : std::nullopt;
  };
  CHECK(error("discard.global.L2 [%rd1+4], 128;") == Errc::address_misaligned);
  CHECK(error("discard.global.L2 [%rd1+3968], 128;") == std::nullopt);
  CHECK(error("discard.global.L2 [%rd1+4096], 128;") == Errc::address_out_of_bounds);
  CHECK(
      error(
          "cvt.u64.u32 %rd3, %r2; cvta.shared.u64 %rd3, %rd3; and.b64 %rd3, %rd3, -128; discard.L2 [%rd3], 128;") ==
      Errc::address_out_of_bounds);
}

TEST_CASE("a part without a value beside one that has some is a fault in a store that is no message") {
  const std::string sum = "mov.u32 %r8, 2; add.u32 %r9, %r9, 1;";  // nothing has written %r9
  check_fault(sum + " st.global.v2.u32 [%rd2], {%r9, %r8};", "has never been written", false);
  check_fault(sum + " st.relaxed.gpu.global.v2.u32 [%rd2], {%r9, %r9};", "has never been written", false);
  check_fault(sum + " st.relaxed.gpu.global.u32 [%rd2], %r9;", "has never been written", false);
}

TEST_CASE("arguments carry undefined bits into functions and back") {
  const std::string call =
      "{ .param .align 8 .b8 a[8]; .param .b32 r; st.param.u32 [a+%d], %r1;"
      " call (r), first_of, (a); ld.param.b32 %r9, [r]; }";
  const auto with = [&](const char* at) {
    std::string out = call;
    return out.replace(out.find("%d"), 2, at);
  };
  check_silent(with("0") + kStore);
  check_silent(with("4"));
  check_fault(with("4") + kStore, "never been written");
  const std::string print =
      "mov.u32 %r30, mine; cvt.u64.u32 %rd6, %r30; cvta.local.u64 %rd6, %rd6;"
      " mov.u64 %rd7, text; cvta.global.u64 %rd7, %rd7;"
      " { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd7; st.param.b64 [a], %rd6;"
      " call (r), vprintf, (f, a); }";
  check_silent("mov.u32 %r30, mine; st.local.u32 [%r30], %r1; " + print);
  check_fault(print, "memory that it reads has never been written");
}

TEST_CASE("fragments of arrays that nothing has written") {
  const std::string load =
      " wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1], 16;";
  const std::string
      fill = "mul.wide.u32 %rd3, %r1, 32; add.u64 %rd3, %rd1, %rd3; st.global.v4.u32 [%rd3], {0, 0, 0, 0};",
      rest = " st.global.v4.u32 [%rd3+16], {0, 0, 0, 0};", sync = " bar.warp.sync -1;",
      store = " add.f32 %f1, %f1, %f2; st.global.f32 [%rd2+2048], %f1;";
  check_silent(fill + rest + sync + load + store, false);
  check_silent(fill + sync + load, false);
  check_fault(fill + sync + load + store, "have never been written, and %f", false);
}

TEST_CASE("fragments of matrices that nothing has written") {
  // Rows 0 to 7 of A lie in %r10, rows 8 to 15 in %r11; column j of B in lanes 4 j and on.
  const std::string b = " mov.u32 %r12, 0x3c003c00;";
  const std::string product =
      " mov.f32 %f1, 0f00000000;"
      " mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r10, %r11}, {%r12},"
      " {%f1, %f1, %f1, %f1};";
  const std::string rows =
      "and.b32 %r4, %r1, 7; shl.b32 %r4, %r4, 4; mov.u32 %r5, tile; add.u32 %r4, %r4, %r5;"
      " setp.lt.u32 %p1, %r1, 8; @%p1 st.shared.v4.u32 [%r4], {%r1, %r1, %r1, %r1};"
      " bar.warp.sync -1;";
  const std::string load = rows + " ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r10, %r11}, [%r2];" + b;
  check_silent("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];");
  check_silent(load + product);
  check_silent(load + product + " st.global.f32 [%rd2], %f2;");
  check_fault(load + product + " st.global.f32 [%rd2], %f4;",
              "bytes 0x80 to 0xff of shared memory have never been written, and %f4 at PTX line 22");
  // A column of B.
  const std::string column = "setp.ge.u32 %p2, %r1, 8; @%p2 mov.u32 %r12, 0; mov.u32 %r10, 0; mov.u32 %r11, 0;";
  check_silent(column + product +
               " and.b32 %r6, %r1, 3; setp.gt.u32 %p3, %r6, 0; @%p3 st.global.f32 [%rd2], %f2;");
  check_fault(
      column + product + " and.b32 %r6, %r1, 3; setp.eq.u32 %p3, %r6, 0; @%p3 st.global.f32 [%rd2], %f2;",
      "never been written");
  // Moves of matrices.
  check_silent(load + " movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r10;" + kStore);
  check_fault(load + " movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r11;" + kStore, "%r9");
  const std::string back = load +
                           " mov.u32 %r5, tile; add.u32 %r6, %r2, 1024;"
                           " stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r6], {%r10, %r11}; bar.warp.sync -1;";
  check_silent(back + " ld.shared.u32 %r9, [tile+1024];" + kStore);
  check_fault(back + " ld.shared.u32 %r9, [tile+1152];" + kStore, "never been written");
}

TEST_CASE("a write that comes later is in a race with the load") {
  ptx::Launch how{.block = {64}};
  std::vector<std::uint32_t> out;
  const ptx::Report report =
      run("setp.ge.u32 %p1, %r1, 32; @%p1 bra WRITE; ld.shared.u32 %r9, [%r2];" + kStore +
              " ret;\nWRITE: sub.u32 %r2, %r2, 512; st.shared.u32 [%r2], %r1; ret;",
          out, how);
  REQUIRE(report.fault);
  CHECK(report.fault->error.code == Errc::data_race);
}

TEST_CASE("a lenient launch tells of undefined bits once and goes on; without checks nothing is followed") {
  ptx::Launch how{.block = {32}};
  how.lenient = true;
  std::vector<std::uint32_t> out;
  const std::string body = "ld.shared.u32 %r9, [%r2]; add.u32 %r9, %r9, 3;" + kStore + kStore;
  const ptx::Report told = run(body, out, how);
  CHECK_FALSE(told.fault);
  REQUIRE(told.findings.size() == 1);
  CHECK(told.findings[0].fault.error.code == Errc::never_written);
  CHECK(std::vector<std::uint32_t>(out.begin(), out.begin() + 32) == std::vector<std::uint32_t>(32, 3));
  how.lenient = false;
  how.check_shared = false;
  const ptx::Report unchecked = run(body, out, how);
  CHECK_FALSE(unchecked.fault);
  CHECK(unchecked.findings.empty());
}

TEST_CASE("an exchange whose old value is not read needs none") {
  const std::string exchange =
      "mov.u32 %r8, tile; atom.shared.exch.b32 %r7, [%r8], 3; bar.warp.sync -1; ld.shared.u32 %r9, [%r8];";
  check_silent(exchange + kStore);
  check_fault(exchange + " add.u32 %r9, %r9, %r7;" + kStore, "never been written");
}

}  // namespace undefined_test
