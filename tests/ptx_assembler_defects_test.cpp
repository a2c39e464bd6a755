// SPDX-License-Identifier: Apache-2.0
// Statements that the assembler (ptxas 13.0) gets wrong, each beside neighbours that it gets right, in machine code for
// sm_90a.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "assembler_defect_cases.hpp"
#include "warpbit/ptx.hpp"

namespace ptx_assembler_defects_test {

using namespace warpbit;

// %r1 to %r4 and %h1, %h2 are loaded; %r30 to %r35, %h30, %h31 and %rd30 are stored.
std::string text_of(const std::string& body) {
  return R"(.version 8.7
.target sm_90a
.address_size 64
.const .align 8 .b32 table[4] = {1, 2, 3, 4};
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>; .reg .b16 %h<40>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<10>;
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
  ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; ld.global.u32 %r3, [%rd1+8]; ld.global.u32 %r4, [%rd1+12];
  add.u32 %r5, %r1, %r2; cvt.u16.u32 %h1, %r5; add.u32 %r6, %r3, %r4; cvt.u16.u32 %h2, %r6;
)" + body +
         "\n  ret;\n}\n";
}

ptx::Module module_of(const std::string& text) {
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  return *module;
}

// "defect: statement" of each note.
std::vector<std::string> notes_of(const std::string& body) {
  std::vector<std::string> out;
  for (const ptx::AssemblerNote& one : module_of(text_of(body)).notes())
    out.push_back(one.defect + ": " + one.statement);
  return out;
}

const std::string kGuard = "setp.eq.u32 %p1, %r4, 0; ";
const std::string kTwice = "lop3.b32 %r11, %r1, %r2, %r2, 0x6A; ";
const std::string kTwiceNoted = "|lop3.b32 %r11, %r1, %r2, %r2, 0x6A";
const std::string kHigh = "mad.hi.s32 %r10, %r1, %r3, %r5; mad.hi.s32 %r11, %r1, %r3, %r10; ";
const std::string kHighNoted = "|mad.hi.s32 %r11, %r1, %r3, %r10";

// A loop; %f1, %f4, %f5 and %f6 are loaded, %f2 is stored.
std::string looped(const std::string& body) {
  return "ld.global.v4.f32 {%f1, %f4, %f5, %f6}, [%rd1+16]; mov.f32 %f2, %f4; mov.u32 %r10, 0; L: " + body +
         " add.s32 %r10, %r10, 1; setp.lt.s32 %p1, %r10, %r4; @%p1 bra L; st.global.f32 [%rd2], %f2;";
}

const std::vector<Case> kWordCases = {
    {"set-guard",
     {kGuard + "@%p1 set.lt.f32.f32 %r1, %r2, %r3; st.global.u32 [%rd2], %r1;|set.lt.f32.f32 %r1, %r2, %r3",
      kGuard + "@!%p1 set.lt.and.f16.s64 %h1, %rd1, %rd2, %p1; st.global.u16 [%rd2], %h1;"
               "|set.lt.and.f16.s64 %h1, %rd1, %rd2, %p1",
      kGuard + "@%p1 set.lt.u32.s16 %r1, %h1, %h2; st.global.u32 [%rd2], %r1;|set.lt.u32.s16 %r1, %h1, %h2"},
     {"set.lt.f32.f32 %r1, %r2, %r3; st.global.u32 [%rd2], %r1;",
      kGuard + "@%p1 set.lt.u32.f32 %r1, %r2, %r3; st.global.u32 [%rd2], %r1;",
      kGuard + "@%p1 set.lt.f16x2.f16x2 %r1, %r2, %r3; st.global.u32 [%rd2], %r1;",
      kGuard + "@%p1 set.lt.u16.f16 %h1, %h1, %h2; st.global.u16 [%rd2], %h1;",
      kGuard + "@%p1 set.lt.f32.f32 %r30, %r2, %r3; @%p1 st.global.u32 [%rd2], %r30;",
      "setp.eq.u32 %p1, 1, 1; @%p1 set.lt.f32.f32 %r1, %r2, %r3; st.global.u32 [%rd2], %r1;"}},
    {"testp-guard",
     {kGuard + "setp.eq.u32 %p2, %r3, 1; @%p1 testp.finite.f32 %p2, %r4; selp.b32 %r30, 1, 2, %p2; "
               "st.global.u32 [%rd2], %r30;|testp.finite.f32 %p2, %r4"},
     {"testp.finite.f32 %p2, %r4; selp.b32 %r30, 1, 2, %p2; st.global.u32 [%rd2], %r30;",
      kGuard +
          "@%p1 testp.finite.f32 %p2, %r4; @%p1 selp.b32 %r30, 1, 2, %p2; @%p1 st.global.u32 [%rd2], %r30;"}},
    {"lop3-twice",
     {kTwice + "xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;" + kTwiceNoted,
      kTwice + "and.b32 %r30, %r1, %r11; st.global.u32 [%rd2], %r30;" + kTwiceNoted,
      kTwice + "xor.b32 %r30, %r11, %r2; and.b32 %r31, %r11, %r1; st.global.v2.u32 [%rd2], {%r30, %r31};" +
          kTwiceNoted,
      "mov.b32 %r10, %r2; lop3.b32 %r11, %r1, %r2, %r10, 0x6A; xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;"
      "|lop3.b32 %r11, %r1, %r2, %r10, 0x6A",
      "lop3.b32 %r11, %r2, %r2, %r2, 0xCA; xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;"
      "|lop3.b32 %r11, %r2, %r2, %r2, 0xCA",
      "lop3.b32 %r11, %r2, %r2, 0x12345, 0x6A; xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;"
      "|lop3.b32 %r11, %r2, %r2, 0x12345, 0x6A",
      "lop3.b32 %r11, %r2, %r2, %r1, 0x0F; xor.b32 %r30, %r11, %r1; st.global.u32 [%rd2], %r30;"
      "|lop3.b32 %r11, %r2, %r2, %r1, 0x0F",
      kTwice +
          "@%p1 bra L; st.global.u32 [%rd2+4], %r1; L: xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;" +
          kTwiceNoted},
     {"lop3.b32 %r11, %r1, %r2, %r2, 0xFE; xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;",
      "lop3.b32 %r11, %r2, %r1, %r2, 0xCA; xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;",
      "lop3.b32 %r11, %r2, %r2, %r1, 0x0F; xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;",
      "lop3.b32 %r11, %r1, %r2, %r3, 0x6A; xor.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;",
      kTwice + "or.b32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;",
      kTwice + "xor.b32 %r30, %r11, %r3; st.global.u32 [%rd2], %r30;",
      kTwice + "lop3.b32 %r30, %r11, %r2, %r3, 0xD2; st.global.u32 [%rd2], %r30;",
      kTwice + "xor.b32 %r30, %r11, %r2; st.global.v2.u32 [%rd2], {%r30, %r11};",
      kGuard + kTwice + "@%p1 xor.b32 %r1, %r11, %r2; st.global.u32 [%rd2], %r1;"}},
    {"high-chain",
     {kHigh + "mad.hi.s32 %r12, %r1, %r3, %r11; st.global.u32 [%rd2], %r12;" + kHighNoted,
      kHigh + "mad.hi.s32 %r12, %r1, %r4, %r11; st.global.u32 [%rd2], %r12;" + kHighNoted,
      kHigh + "st.global.u32 [%rd2+4], %r11; mad.hi.u32 %r12, %r4, %r4, %r11; st.global.u32 [%rd2], %r12;" +
          kHighNoted,
      "mad.hi.u32 %r2, %r1, 12345, %r2; mad.hi.u32 %r2, %r1, 12345, %r2; mad.hi.u32 %r2, %r1, 12345, %r2; "
      "st.global.u32 [%rd2], %r2;|mad.hi.u32 %r2, %r1, 12345, %r2",
      "mov.u32 %r10, 0; L: mad.hi.s32 %r2, %r1, %r3, %r2; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r4; "
      "@%p1 bra L; st.global.u32 [%rd2], %r2;|mad.hi.s32 %r2, %r1, %r3, %r2"},
     {kHigh + "st.global.u32 [%rd2], %r11;",
      kHigh + "add.u32 %r11, %r11, 5; mad.hi.s32 %r12, %r1, %r3, %r11; st.global.u32 [%rd2], %r12;",
      kHigh + "mad.hi.s32 %r12, %r1, %r3, %r11; st.global.v2.u32 [%rd2], {%r10, %r12};",
      kHigh + "mad.hi.s32 %r12, %r1, %r3, %r11; add.u32 %r13, %r12, %r5; st.global.u32 [%rd2], %r13;",
      "mad.hi.s32 %r10, %r1, %r3, %r5; mad.hi.s32 %r11, %r1, %r4, %r10; mad.hi.s32 %r12, %r1, %r3, %r11; "
      "st.global.u32 [%rd2], %r12;",
      "mad.hi.s32 %r10, %r1, %r3, 5; mad.hi.s32 %r11, %r1, %r3, %r10; mad.hi.s32 %r12, %r1, %r3, %r11; "
      "st.global.u32 [%rd2], %r12;",
      "mov.u32 %r10, 0; L: mad.hi.s32 %r2, %r10, %r3, %r2; add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, %r4; "
      "@%p1 bra L; st.global.u32 [%rd2], %r2;"}},
    {"slct-literal",
     {"slct.s32.s32 %r30, %r1, %r2, 0x80000000; st.global.u32 [%rd2], %r30;|slct.s32.s32 %r30, %r1, %r2, 0x80000000",
      "mov.b32 %r10, 0x7FFFFFFF; slct.s32.s32 %r30, %r1, 5, %r10; st.global.u32 [%rd2], %r30;"
      "|slct.s32.s32 %r30, %r1, 5, %r10",
      "slct.s32.s32 %r30, %r1, %r2, 0x7F800001; st.global.u32 [%rd2], %r30;|slct.s32.s32 %r30, %r1, %r2, 0x7F800001"},
     {"slct.s32.s32 %r30, %r1, %r2, 0x7F800000; st.global.u32 [%rd2], %r30;",
      "slct.s32.s32 %r30, %r1, %r2, -1; st.global.u32 [%rd2], %r30;",
      "slct.s32.s32 %r30, %r1, %r1, 0x80000000; st.global.u32 [%rd2], %r30;",
      "slct.u32.s32 %r30, %r1, %r2, 0x80000000; st.global.u32 [%rd2], %r30;",
      "slct.s32.s32 %r30, %r1, %r2, %r3; st.global.u32 [%rd2], %r30;"}},
    {"minus-itself",
     {looped("mul.f32 %f3, %f1, 0f3FC00000; sub.f32 %f2, %f4, %f3; sub.f32 %f1, %f5, %f1;") +
          "|mul.f32 %f3, %f1, 0f3FC00000",
      looped("mul.f32 %f3, %f6, %f1; add.f32 %f2, %f3, %f4; neg.f32 %f7, %f1; add.f32 %f1, %f5, %f7;") +
          "|mul.f32 %f3, %f6, %f1",
      looped("mul.f32 %f3, %f1, %f6; sub.f32 %f2, %f3, %f4; sub.f32 %f7, 0f3F800000, %f1; mov.f32 %f1, %f7;") +
          "|mul.f32 %f3, %f1, %f6"},
     {looped("mul.f32 %f3, %f1, 0f3FC00000; sub.f32 %f2, %f4, %f3; sub.f32 %f1, %f1, %f5;"),
      looped("mul.rn.f32 %f3, %f1, 0f3FC00000; sub.f32 %f2, %f4, %f3; sub.f32 %f1, %f5, %f1;"),
      looped("mul.f32 %f3, %f1, 0f3FC00000; sub.f32 %f2, %f4, %f3; sub.rn.f32 %f1, %f5, %f1;"),
      looped("fma.rn.f32 %f2, %f1, 0f3FC00000, %f4; sub.f32 %f1, %f5, %f1;"),
      looped("mul.f32 %f3, %f1, 0f3FC00000; sub.f32 %f2, %f2, %f3; sub.f32 %f1, %f5, %f1;"),
      looped(
          "mul.f32 %f3, %f1, %f6; sub.f32 %f2, %f4, %f3; sub.f32 %f1, %f5, %f1; add.f32 %f6, %f6, 0f3F800000;"),
      looped(
          "mul.f32 %f3, %f1, %f6; sub.f32 %f2, %f4, %f3; sub.f32 %f1, %f5, %f1; add.f32 %f5, %f5, 0f3F800000;"),
      looped("mul.f32 %f3, %f1, %f6; sub.f32 %f2, %f4, %f3; sub.f32 %f7, %f5, %f1; add.f32 %f1, %f7, %f4;")}},
    {"saturated-sum",
     {"add.s32 %r10, %r1, %r2; sub.sat.s32 %r30, %r10, %r2; st.global.u32 [%rd2], %r30;|sub.sat.s32 %r30, %r10, %r2",
      "add.s32 %r10, %r1, %r2; sub.sat.s32 %r30, %r1, %r10; st.global.u32 [%rd2], %r30;|sub.sat.s32 %r30, %r1, %r10",
      "sub.s32 %r10, %r1, %r2; mov.b32 %r11, %r10; add.sat.s32 %r30, %r2, %r11; st.global.u32 [%rd2], %r30;|add.sat.s32 %r30, %r2, %r11",
      "sub.u32 %r10, %r1, %r2; sub.sat.s32 %r30, %r1, %r10; st.global.u32 [%rd2], %r30;|sub.sat.s32 %r30, %r1, %r10",
      "add.s32 %r10, %r1, 5; add.sat.s32 %r30, %r10, 7; st.global.u32 [%rd2], %r30;|add.sat.s32 %r30, %r10, 7",
      "sub.s32 %r10, 5, %r1; sub.sat.s32 %r30, %r10, 7; st.global.u32 [%rd2], %r30;|sub.sat.s32 %r30, %r10, 7"},
     {"add.s32 %r10, %r1, %r2; add.sat.s32 %r30, %r10, %r2; st.global.u32 [%rd2], %r30;",
      "sub.s32 %r10, %r1, %r2; add.sat.s32 %r30, %r10, %r1; st.global.u32 [%rd2], %r30;",
      "add.s32 %r10, %r1, 5; add.sat.s32 %r30, %r10, 7; st.global.v2.u32 [%rd2], {%r30, %r10};",
      "add.s32 %r10, %r1, 5; sub.sat.s32 %r30, 7, %r10; st.global.u32 [%rd2], %r30;",
      "add.s32 %r10, %r1, 5; add.sat.s32 %r30, %r10, 0; st.global.u32 [%rd2], %r30;",
      "add.sat.s32 %r10, %r1, 5; add.sat.s32 %r30, %r10, 7; st.global.u32 [%rd2], %r30;",
      "add.sat.s32 %r10, %r1, %r2; sub.sat.s32 %r30, %r10, %r2; st.global.u32 [%rd2], %r30;",
      "add.s32 %r10, %r1, %r2; add.s32 %r11, %r10, %r3; sub.sat.s32 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;"}},
    {"signed-part",
     {"bfe.s32 %r10, %r1, 8, 8; cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;|cvt.rn.f32.u32 %f2, %r10",
      "bfe.s32 %r10, %r1, 16, 16; cvt.sat.u8.u32 %r30, %r10; st.global.u32 [%rd2], %r30;|cvt.sat.u8.u32 %r30, %r10",
      "ld.global.v2.s8 {%r10, %r11}, [%rd1]; cvt.rn.f32.u32 %f2, %r11; st.global.f32 [%rd2], %f2;|cvt.rn.f32.u32 %f2, %r11",
      "bfe.s32 %r10, %r1, 0, 8; cvt.u64.u32 %rd10, %r10; cvt.rz.f32.u64 %f2, %rd10; st.global.f32 [%rd2], %f2;|cvt.rz.f32.u64 %f2, %rd10"},
     {"bfe.s32 %r10, %r1, 8, 8; cvt.rn.f32.s32 %f2, %r10; st.global.f32 [%rd2], %f2;",
      "bfe.s32 %r10, %r1, 4, 8; cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;",
      "bfe.s32 %r10, %r1, 8, 16; cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;",
      "bfe.u32 %r10, %r1, 8, 8; cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;",
      "ld.global.s8 %r10, [%rd1]; cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;",
      "ld.param.v2.s8 {%r10, %r11}, [in]; cvt.rn.f32.u32 %f2, %r11; st.global.f32 [%rd2], %f2;",
      "ld.global.v2.s16 {%r10, %r11}, [%rd1]; cvt.rn.f32.u32 %f2, %r11; st.global.f32 [%rd2], %f2;",
      "setp.eq.u32 %p1, %r4, 0; bfe.s32 %r10, %r1, 8, 8; mov.f32 %f2, 0f00000000; @%p1 cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;",
      "bfe.s32 %r10, %r1, 0, 8; cvt.u64.u32 %rd30, %r10; st.global.u64 [%rd2], %rd30;"}},
    {"half-to-half",
     {"cvt.rn.f16.bf16 %h10, %h1; cvt.rzi.s32.f16 %r30, %h10; st.global.u32 [%rd2], %r30;|cvt.rzi.s32.f16 %r30, %h10",
      "cvt.rm.bf16.f16 %h10, %h1; mov.b16 %h11, %h10; cvt.rzi.u16.bf16 %h30, %h11; st.global.u16 [%rd2], %h30;|cvt.rzi.u16.bf16 %h30, %h11",
      "cvt.rn.f16.bf16 %h10, %h1; mul.f16 %h30, %h10, %h2; cvt.rzi.s32.f16 %r30, %h10; st.global.u32 [%rd2], %r30; st.global.u16 [%rd2], %h30;|cvt.rzi.s32.f16 %r30, %h10"},
     {"cvt.rn.f16.bf16 %h10, %h1; cvt.rni.s32.f16 %r30, %h10; st.global.u32 [%rd2], %r30;",
      "cvt.f32.bf16 %f2, %h1; cvt.rn.f16.f32 %h10, %f2; cvt.rzi.s32.f16 %r30, %h10; st.global.u32 [%rd2], %r30;",
      "cvt.rn.f16.bf16 %h10, %h1; cvt.f32.f16 %f2, %h10; st.global.f32 [%rd2], %f2;",
      "@%p1 cvt.rn.f16.bf16 %h1, %h2; cvt.rzi.s32.f16 %r30, %h1; st.global.u32 [%rd2], %r30;"}},
    {"nan-range",
     {"abs.f32 %f1, %f5; setp.ge.f32 %p1, %f1, 0f00000000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;|setp.ge.f32 %p1, %f1, 0f00000000",
      "mul.f32 %f1, %f5, %f5; setp.lt.f32 %p1, 0fBF800000, %f1; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;|setp.lt.f32 %p1, 0fBF800000, %f1",
      "sin.approx.f32 %f1, %f5; setp.lt.f32 %p1, %f1, 0f40000000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;|setp.lt.f32 %p1, %f1, 0f40000000",
      "ex2.approx.f32 %f1, %f5; slct.b32.f32 %r30, %r1, %r2, %f1; st.global.u32 [%rd2], %r30;|slct.b32.f32 %r30, %r1, %r2, %f1"},
     {"abs.f32 %f1, %f5; setp.gt.f32 %p1, %f1, 0f00000000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "abs.f32 %f1, %f5; setp.geu.f32 %p1, %f1, 0f00000000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "abs.f32 %f1, %f5; setp.ge.f32 %p1, %f1, 0fFF800000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "mul.f32 %f1, %f5, %f6; setp.ge.f32 %p1, %f1, 0f00000000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "mul.rn.f32 %f1, %f5, %f5; setp.ge.f32 %p1, %f1, 0f00000000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "sqrt.rn.f32 %f1, %f5; setp.ge.f32 %p1, %f1, 0f00000000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "cos.approx.f32 %f1, %f5; setp.le.f32 %p1, %f1, 0f3F800000; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "abs.f32 %f1, %f5; setp.ge.and.f32 %p1, %f1, 0f00000000, %p2; selp.b32 %r30, 1, 2, %p1; st.global.u32 [%rd2], %r30;",
      "abs.f32 %f1, %f5; slct.f32.f32 %f2, %f5, %f6, %f1; st.global.f32 [%rd2], %f2;",
      "abs.f32 %f1, %f5; slct.ftz.b32.f32 %r30, %r1, %r2, %f1; st.global.u32 [%rd2], %r30;"}},
    {"half-square",
     {"neg.f16 %h10, %h1; mov.b32 %r11, {%h10, %h2}; fma.rn.f16x2 %r30, %r11, %r11, %r2; st.global.u32 [%rd2], %r30;|fma.rn.f16x2 %r30, %r11, %r11, %r2",
      "mov.b16 %h10, 0xC000; mov.b32 %r11, {%h2, %h10}; fma.rn.bf16x2 %r30, %r11, %r11, %r2; st.global.u32 [%rd2], %r30;|fma.rn.bf16x2 %r30, %r11, %r11, %r2",
      "neg.f16 %h10, %h1; mov.b32 %r11, {%h10, %h2}; mul.f16x2 %r12, %r11, %r11; sub.f16x2 %r30, %r12, %r2; st.global.u32 [%rd2], %r30;|mul.f16x2 %r12, %r11, %r11",
      "mov.b32 %r11, 0x80000000; fma.rn.f16x2 %r30, %r11, %r11, %r2; st.global.u32 [%rd2], %r30;|fma.rn.f16x2 %r30, %r11, %r11, %r2"},
     {"neg.f16 %h10, %h1; mov.b32 %r11, {%h10, %h2}; fma.rn.f16x2 %r30, %r11, %r1, %r2; st.global.u32 [%rd2], %r30;",
      "neg.f16 %h10, %h1; mov.b32 %r11, {%h10, %h2}; mul.f16x2 %r30, %r11, %r11; st.global.u32 [%rd2], %r30;",
      "neg.f16 %h10, %h1; neg.f16 %h11, %h2; mov.b32 %r11, {%h10, %h11}; fma.rn.f16x2 %r30, %r11, %r11, %r2; st.global.u32 [%rd2], %r30;",
      "mov.b16 %h10, 0x4000; mov.b32 %r11, {%h10, %h2}; fma.rn.f16x2 %r30, %r11, %r11, %r2; st.global.u32 [%rd2], %r30;",
      "neg.f16x2 %r11, %r1; fma.rn.f16x2 %r30, %r11, %r11, %r2; st.global.u32 [%rd2], %r30;",
      "mov.b32 %r11, 0xC0003C00; fma.rn.f16x2 %r30, %r11, %r11, %r2; st.global.u32 [%rd2], %r30;"}},
    {"cnot-minus",
     {"cnot.b32 %r10, %r1; shl.b16 %h30, %h1, %r10; st.global.u16 [%rd2], %h30;|cnot.b32 %r10, %r1",
      "cnot.b32 %r10, %r1; shr.u16 %h30, %h1, %r10; st.global.u16 [%rd2], %h30;|cnot.b32 %r10, %r1",
      "cnot.b32 %r10, %r1; cvt.sat.u8.u32 %r30, %r10; st.global.u32 [%rd2], %r30;|cnot.b32 %r10, %r1"},
     {"cnot.b32 %r10, %r1; shl.b32 %r30, %r2, %r10; st.global.u32 [%rd2], %r30;",
      "cnot.b32 %r10, %r1; cvt.u16.u32 %h30, %r10; st.global.u16 [%rd2], %h30;",
      "cnot.b32 %r10, %r1; min.u32 %r30, %r10, %r2; st.global.u32 [%rd2], %r30;",
      "cnot.b16 %h10, %h1; cvt.u32.u16 %r10, %h10; shl.b16 %h30, %h2, %r10; st.global.u16 [%rd2], %h30;"}},
    {"shift-sign",
     {"cvt.s64.u32 %rd10, %r1; shl.b64 %rd30, %rd10, 3; st.global.u64 [%rd2], %rd30;|shl.b64 %rd30, %rd10, 3",
      "cvt.s64.u32 %rd10, %r5; shl.b64 %rd11, %rd10, 31; shr.s64 %rd30, %rd11, 1; st.global.u64 [%rd2], %rd30;|shl.b64 %rd11, %rd10, 31"},
     {"cvt.u64.u32 %rd10, %r1; shl.b64 %rd30, %rd10, 3; st.global.u64 [%rd2], %rd30;",
      "cvt.s64.s32 %rd10, %r1; shl.b64 %rd30, %rd10, 3; st.global.u64 [%rd2], %rd30;",
      "cvt.s64.u32 %rd10, %r1; shl.b64 %rd30, %rd10, 32; st.global.u64 [%rd2], %rd30;",
      "cvt.s64.u32 %rd10, %r1; mul.lo.s64 %rd30, %rd10, 8; st.global.u64 [%rd2], %rd30;",
      "cvt.s64.u32 %rd10, %r1; shl.b64 %rd30, %rd10, %r2; st.global.u64 [%rd2], %rd30;",
      "and.b32 %r10, %r1, 0xFFFF; cvt.s64.u32 %rd10, %r10; shl.b64 %rd30, %rd10, 3; st.global.u64 [%rd2], %rd30;",
      "mov.u32 %r10, %tid.x; cvt.s64.u32 %rd10, %r10; shl.b64 %rd30, %rd10, 3; st.global.u64 [%rd2], %rd30;"}},
    {"carry-of-zero",
     {"mul.hi.u32 %r10, %r1, %r4; sub.cc.u32 %r11, %r10, %r2; subc.u32 %r30, %r3, 0; st.global.u32 [%rd2], %r30;|sub.cc.u32 %r11, %r10, %r2",
      "abs.s64 %rd10, %rd1; sub.cc.s64 %rd11, %rd2, %rd10; addc.s64 %rd30, %rd1, %rd2; st.global.u64 [%rd2], %rd30;|sub.cc.s64 %rd11, %rd2, %rd10"},
     {"mul.lo.u32 %r10, %r1, %r4; sub.cc.u32 %r11, %r10, %r2; subc.u32 %r30, %r3, 0; st.global.u32 [%rd2], %r30;",
      "mul.hi.u32 %r10, %r1, %r4; sub.cc.u32 %r11, %r2, %r10; subc.u32 %r30, %r3, 0; st.global.u32 [%rd2], %r30;",
      "mul.hi.u32 %r10, %r1, %r4; sub.cc.u32 %r11, %r10, 5; subc.u32 %r30, %r3, 0; st.global.u32 [%rd2], %r30;",
      "mul.hi.u32 %r10, %r1, %r4; sub.cc.u32 %r11, %r10, %r2; subc.u32 %r30, %r3, 0; st.global.v2.u32 [%rd2], {%r30, %r10};",
      "neg.s64 %rd10, %rd1; sub.cc.s64 %rd11, %rd2, %rd10; addc.s64 %rd30, %rd1, %rd2; st.global.u64 [%rd2], %rd30;"}},
    {"xorsign-half",
     {"abs.f16x2 %r10, %r1; neg.f16x2 %r11, %r2; max.NaN.xorsign.abs.f16x2 %r30, %r10, %r11; st.global.u32 [%rd2], %r30;|max.NaN.xorsign.abs.f16x2 %r30, %r10, %r11",
      "neg.f16x2 %r10, %r1; neg.f16x2 %r11, %r2; min.xorsign.abs.f16x2 %r30, %r10, %r11; st.global.u32 [%rd2], %r30;|min.xorsign.abs.f16x2 %r30, %r10, %r11"},
     {"abs.f16x2 %r10, %r1; max.NaN.xorsign.abs.f16x2 %r30, %r10, %r2; st.global.u32 [%rd2], %r30;",
      "abs.bf16x2 %r10, %r1; abs.bf16x2 %r11, %r2; max.NaN.xorsign.abs.bf16x2 %r30, %r10, %r11; st.global.u32 [%rd2], %r30;",
      "abs.f16x2 %r10, %r1; abs.f16x2 %r11, %r2; max.NaN.f16x2 %r30, %r10, %r11; st.global.u32 [%rd2], %r30;"}},
};

std::vector<Case> all_cases() {
  std::vector<Case> out = kHalfCases;
  out.insert(out.end(), kWordCases.begin(), kWordCases.end());
  return out;
}

TEST_CASE("a defect of the assembler is noted at its statement") {
  for (const Case& one : all_cases())
    for (const std::string& text : one.wrong) {
      const std::size_t bar = text.find('|');
      INFO(text);
      CHECK(notes_of(text.substr(0, bar)) == std::vector{one.defect + ": " + text.substr(bar + 1)});
    }
}

TEST_CASE("what the assembler gets right beside a defect is not noted") {
  for (const Case& one : all_cases())
    for (const std::string& text : one.right) {
      INFO(text);
      CHECK(notes_of(text).empty());
    }
}

TEST_CASE("each defect has cases, and says what it is") {
  std::set<std::string> names;
  for (const ptx::AssemblerDefect& one : ptx::assembler_defects()) {
    names.insert(std::string(one.name));
    for (const std::string_view text : {one.pattern, one.result, one.manual, one.seen, one.evidence})
      CHECK_FALSE(text.empty());
  }
  std::set<std::string> of_cases;
  for (const Case& one : all_cases()) of_cases.insert(one.defect);
  CHECK(names == of_cases);
}

// The statement that is not needed is not in the machine code.
TEST_CASE("no defect is noted where nobody needs the result") {
  CHECK(notes_of("bfe.s32 %r30, %r1, 32, 8; st.global.u32 [%rd2], %r1;").empty());
}

// Asked of ptxas -O0 and of an H200, as at -O3.
TEST_CASE("a launch as written has the notes of the defects that are there at -O0") {
  const ptx::Module module = module_of(text_of(
      kGuard + "@%p1 set.lt.f32.f32 %r1, %r2, %r3; bfe.s32 %r30, %r1, 32, 8; st.global.u32 [%rd2], %r30;"));
  const Result<ptx::Function> kernel = module.function("k");
  REQUIRE(kernel);
  const std::vector<std::uint32_t> in = {1, 2, 3, 4};
  std::vector<std::uint32_t> out(1);
  const auto names = [&](const ptx::Launch& how) {
    std::vector<std::string> all;
    for (const ptx::AssemblerNote& one : kernel->launch(how, {ptx::buffer(in), ptx::buffer(out)}).notes)
      all.push_back(one.defect);
    return all;
  };
  CHECK(names({}) == std::vector<std::string>{"set-guard", "bfe-position"});
  CHECK(names({.as_written = true}) == std::vector<std::string>{"set-guard"});
}

TEST_CASE("a launch has the notes of its kernel, and none as written") {
  const std::string text = text_of(
                               "mov.b32 %r10, 0x50003;\nadd.s16x2 %r11, %r1, %r10;\nmov.b32 {_, %h30}, %r11;\n"
                               "st.global.u16 [%rd2], %h30;") +
                           ".visible .entry other(.param .u64 in)\n{\n  ret;\n}\n";
  const ptx::Module module = module_of(text);
  const Result<ptx::Function> kernel = module.function("k"), other = module.function("other");
  REQUIRE(kernel);
  REQUIRE(other);
  const std::vector<std::uint32_t> in = {0xC0'0004, 0, 0, 0};
  std::vector<std::uint32_t> out(1);
  const ptx::Report report = kernel->launch({}, {ptx::buffer(in), ptx::buffer(out)});
  REQUIRE(report.ok());
  CHECK(out[0] == 0xC5);  // not what the GPU leaves: 0xC0
  REQUIRE(report.notes.size() == 1);
  const ptx::AssemblerNote& note = report.notes[0];
  CHECK(note.defect == "half-addend");
  CHECK(note.line == 12);
  CHECK(note.statement == "add.s16x2 %r11, %r1, %r10");
  CHECK(note.text == "ptxas (12.8 and 13.0) drops the addend; by the PTX manual each half is a sum");
  CHECK(kernel->launch({.as_written = true}, {ptx::buffer(in), ptx::buffer(out)}).notes.empty());
  CHECK(other->launch({}, {ptx::null()}).notes.empty());
  CHECK(module.notes().size() == 1);
}

}  // namespace ptx_assembler_defects_test
