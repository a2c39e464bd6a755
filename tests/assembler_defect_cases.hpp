// SPDX-License-Identifier: Apache-2.0
// Bodies with a defect of the assembler, and neighbours without it: halves, bytes and signs.
#pragma once

#include <string>
#include <vector>

namespace ptx_assembler_defects_test {

struct Case {
  std::string defect;              ///< of the last statement but those behind |
  std::vector<std::string> wrong;  ///< STATEMENTS|the one that is noted
  std::vector<std::string> right;
};

inline const std::string kAdd = "mov.b32 %r10, 0x50003; add.s16x2 %r11, %r1, %r10; ";
inline const std::string kNoted = "|add.s16x2 %r11, %r1, %r10";

inline const std::vector<Case> kHalfCases = {
    {"half-addend",
     {kAdd + "mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;" + kNoted,
      kAdd + "mov.b32 {%h30, _}, %r11; st.global.u16 [%rd2], %h30;" + kNoted,
      kAdd + "mov.b32 {%h29, %h30}, %r11; st.global.u16 [%rd2], %h30;" + kNoted,
      kAdd + "cvt.u16.u32 %h30, %r11; st.global.u16 [%rd2], %h30;" + kNoted,
      kAdd + "cvt.s32.s16 %r30, %r11; st.global.u32 [%rd2], %r30;" + kNoted,
      kAdd +
          "min.s16x2 %r30, %r11, %r2; st.global.u32 [%rd2], %r30; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2+4], %h30;" +
          kNoted,
      kAdd + "st.global.b16 [%rd2], %r11;" + kNoted,
      kAdd + "cvt.pack.sat.u8.s32.b32 %r30, %r2, %r3, %r11; st.global.u32 [%rd2], %r30;" + kNoted,
      kAdd + "add.u16x2 %r12, %r11, %r2; mov.b32 {_, %h30}, %r12; st.global.u16 [%rd2], %h30;" + kNoted,
      kAdd + "mov.b64 %rd10, {%r2, %r11}; mov.b64 {_, _, _, %h30}, %rd10; st.global.u16 [%rd2], %h30;" + kNoted,
      "mov.b32 %r9, 0x30000; add.u32 %r10, %r9, 0x50003; add.u16x2 %r11, %r10, %r1; mov.b32 {_, %h30}, %r11; "
      "st.global.u16 [%rd2], %h30;|add.u16x2 %r11, %r10, %r1"},
     {kAdd + "shr.u32 %r30, %r11, 16; st.global.u32 [%rd2], %r30;",
      kAdd + "and.b32 %r30, %r11, 0xFFFF; st.global.u32 [%rd2], %r30;",
      kAdd + "cvt.u16.u8 %h30, %r11; st.global.u16 [%rd2], %h30;",
      kAdd + "prmt.b32 %r30, %r11, %r2, 0x5432; st.global.u32 [%rd2], %r30;",
      kAdd + "mov.b32 {%h30, %h31}, %r11; st.global.u16 [%rd2], %h30; st.global.u16 [%rd2+2], %h31;",
      kAdd + "mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30; st.global.u32 [%rd2+4], %r11;",
      kAdd + "min.s16x2 %r30, %r11, %r2; st.global.u32 [%rd2], %r30;",
      kAdd +
          "min.s16x2 %r12, %r11, %r2; mov.b32 {%h31, _}, %r12; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30; st.global.u16 [%rd2+2], %h31;",
      "mov.b32 %r10, 0x50003; min.s16x2 %r11, %r1, %r10; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "add.s16x2 %r11, %r1, %r2; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "mov.b32 %r10, 5; add.s16x2 %r11, %r1, %r10; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "prmt.b32 %r10, 0x50003, 0, 0x3232; add.s16x2 %r11, %r1, %r10; mov.b32 {_, %h30}, %r11; "
      "st.global.u16 [%rd2], %h30;"}},
    {"upper-half",
     {"ld.global.s16 %r11, [%rd1]; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;|ld.global.s16 %r11, [%rd1]",
      "ld.global.u8 %r11, [%rd1]; mov.b32 {%h29, %h30}, %r11; st.global.u16 [%rd2], %h30;|ld.global.u8 %r11, [%rd1]",
      "ld.global.u16 %h10, [%rd1]; cvt.u32.u16 %r11, %h10; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;"
      "|ld.global.u16 %h10, [%rd1]",
      "ld.global.u16 %h10, [%rd1]; cvt.u64.u16 %rd11, %h10; mov.b64 {_, %h30, _, _}, %rd11; st.global.u16 [%rd2], %h30;"
      "|ld.global.u16 %h10, [%rd1]",
      "ld.const.v2.u8 {%r10, %r11}, [table]; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;"
      "|ld.const.v2.u8 {%r10, %r11}, [table]"},
     {"ld.global.s16 %r11, [%rd1]; shr.u32 %r30, %r11, 16; st.global.u32 [%rd2], %r30;",
      "ld.global.s16 %r11, [%rd1]; mov.b32 {%h30, %h31}, %r11; st.global.u16 [%rd2], %h30; st.global.u16 [%rd2+2], "
      "%h31;",
      "ld.param.u16 %r11, [in]; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "cvt.u32.u16 %r11, %h1; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "ld.global.u16 %h10, [%rd1]; cvt.s32.s16 %r11, %h10; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "ld.const.u16 %r11, [table]; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "ld.const.v2.s8 {%r10, %r11}, [table]; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;",
      "ld.const.v2.u16 {%r10, %r11}, [table]; mov.b32 {_, %h30}, %r10; st.global.u16 [%rd2], %h30;",
      "ld.global.v2.u8 {%r10, %r11}, [%rd1]; mov.b32 {_, %h30}, %r11; st.global.u16 [%rd2], %h30;"}},
    {"bfe-position",
     {"bfe.s32 %r30, %r1, 32, 8; st.global.u32 [%rd2], %r30;|bfe.s32 %r30, %r1, 32, 8",
      "add.u32 %r9, 30, 7; bfe.s32 %r30, %r1, %r9, 8; st.global.u32 [%rd2], %r30;|bfe.s32 %r30, %r1, %r9, 8"},
     {"bfe.s32 %r30, %r1, 31, 8; st.global.u32 [%rd2], %r30;",
      "bfe.s32 %r30, %r1, 37, 0; st.global.u32 [%rd2], %r30;",
      "bfe.s32 %r30, %r1, 37, %r2; st.global.u32 [%rd2], %r30;",
      "bfe.s32 %r30, 5, 37, 8; st.global.u32 [%rd2], %r30;",
      "bfe.u32 %r30, %r1, 37, 8; st.global.u32 [%rd2], %r30;",
      "bfe.s64 %rd30, %rd1, 70, 3; st.global.u64 [%rd2], %rd30;"}},
    {"bfi-length",
     {"bfi.b32 %r30, %r1, %r2, 10, 32; st.global.u32 [%rd2], %r30;|bfi.b32 %r30, %r1, %r2, 10, 32",
      "bfi.b32 %r30, 5, %r2, 31, 33; st.global.u32 [%rd2], %r30;|bfi.b32 %r30, 5, %r2, 31, 33"},
     {"bfi.b32 %r30, %r1, %r2, 10, 31; st.global.u32 [%rd2], %r30;",
      "bfi.b32 %r30, %r1, %r2, 0, 32; st.global.u32 [%rd2], %r30;",
      "bfi.b32 %r30, %r1, %r2, 33, 32; st.global.u32 [%rd2], %r30;",
      "bfi.b32 %r30, %r1, 7, 10, 32; st.global.u32 [%rd2], %r30;",
      "bfi.b32 %r30, %r1, %r2, 10, %r3; st.global.u32 [%rd2], %r30;",
      "bfi.b64 %rd30, %rd1, %rd2, 10, 64; st.global.u64 [%rd2], %rd30;"}},
    {"funnel-clamp",
     {"shf.r.clamp.b32 %r30, %r1, %r1, %r2; st.global.u32 [%rd2], %r30;|shf.r.clamp.b32 %r30, %r1, %r1, %r2",
      "shf.l.clamp.b32 %r30, %r1, %r1, %r2; st.global.u32 [%rd2], %r30;|shf.l.clamp.b32 %r30, %r1, %r1, %r2"},
     {"shf.r.clamp.b32 %r30, %r1, %r3, %r2; st.global.u32 [%rd2], %r30;",
      "shf.r.wrap.b32 %r30, %r1, %r1, %r2; st.global.u32 [%rd2], %r30;",
      "shf.l.clamp.b32 %r30, %r1, %r1, 40; st.global.u32 [%rd2], %r30;"}},
    {"short-sign",
     {"neg.s16 %h10, %h1; cvt.s32.s16 %r30, %h10; st.global.u32 [%rd2], %r30;|neg.s16 %h10, %h1",
      "abs.s16 %h10, %h1; mul.wide.s16 %r30, %h10, %h2; st.global.u32 [%rd2], %r30;|abs.s16 %h10, %h1",
      "sub.s16 %h10, 0, %h1; mad.wide.s16 %r30, %h10, %h2, %r1; st.global.u32 [%rd2], %r30;|sub.s16 %h10, 0, %h1",
      "neg.s16 %h10, %h1; shr.s16 %h30, %h10, 3; st.global.u16 [%rd2], %h30;|neg.s16 %h10, %h1",
      "neg.s16 %h10, %h1; mov.b32 %r11, {%h10, %h2}; cvt.u16.u32 %h12, %r11; mul.hi.s16 %h30, %h12, %h2; "
      "st.global.u16 [%rd2], %h30;|neg.s16 %h10, %h1",
      "neg.s16 %h10, %h1; cvt.u64.s16 %rd30, %h10; st.global.u64 [%rd2], %rd30;|neg.s16 %h10, %h1",
      "abs.s16 %h10, %h1; set.lt.u32.s16 %r30, %h10, %h2; st.global.u32 [%rd2], %r30;|abs.s16 %h10, %h1",
      "neg.s16 %h10, %h1; sad.s16 %h30, %h10, %h2, %h1; st.global.u16 [%rd2], %h30;|neg.s16 %h10, %h1",
      "abs.s16 %h10, %h1; cvt.rn.f32.u16 %f2, %h10; st.global.f32 [%rd2], %f2;|abs.s16 %h10, %h1"},
     {"neg.s16 %h10, %h1; cvt.u32.u16 %r30, %h10; st.global.u32 [%rd2], %r30;",
      "neg.s16 %h10, %h1; mul.wide.u16 %r30, %h10, %h2; st.global.u32 [%rd2], %r30;",
      "neg.s16 %h10, %h1; max.s16 %h30, %h10, %h2; st.global.u16 [%rd2], %h30;",
      "sub.s16 %h10, 5, %h1; cvt.s32.s16 %r30, %h10; st.global.u32 [%rd2], %r30;",
      "not.b16 %h10, %h1; mul.wide.s16 %r30, %h10, %h2; st.global.u32 [%rd2], %r30;",
      "neg.s16 %h10, %h1; cvt.rn.f32.u16 %f2, %h10; st.global.f32 [%rd2], %f2;",
      "abs.s16 %h10, %h1; cvt.rn.f32.s16 %f2, %h10; st.global.f32 [%rd2], %f2;",
      "abs.s16 %h10, %h1; cvt.rn.f64.u16 %rd30, %h10; st.global.u64 [%rd2], %rd30;",
      "neg.s16 %h10, %h1; set.lt.u32.u16 %r30, %h10, %h2; st.global.u32 [%rd2], %r30;"}},
    {"sign-byte",
     {"prmt.b32 %r11, %r1, %r2, 0x27FB; cvt.u32.u8 %r30, %r11; st.global.u32 [%rd2], %r30;"
      "|prmt.b32 %r11, %r1, %r2, 0x27FB",
      "prmt.b32 %r11, %r1, %r2, 0x27FB; and.b32 %r30, %r11, 0xFF; st.global.u32 [%rd2], %r30;"
      "|prmt.b32 %r11, %r1, %r2, 0x27FB",
      "prmt.b32 %r11, %r1, %r2, 0xBE84; mov.b32 {%h10, _}, %r11; mul.wide.u16 %r30, %h10, %h2; st.global.u32 [%rd2], "
      "%r30;|prmt.b32 %r11, %r1, %r2, 0xBE84"},
     {"prmt.b32 %r11, %r1, %r2, 0x27FF; cvt.u32.u8 %r30, %r11; st.global.u32 [%rd2], %r30;",
      "prmt.b32 %r11, %r1, %r2, 0x27F3; cvt.u32.u8 %r30, %r11; st.global.u32 [%rd2], %r30;",
      "prmt.b32 %r11, %r1, %r2, 0xFFFD; and.b32 %r30, %r11, 0xFFFF; st.global.u32 [%rd2], %r30;",
      "prmt.b32 %r11, %r1, %r2, 0x27FB; cvt.s32.s8 %r30, %r11; st.global.u32 [%rd2], %r30;",
      "prmt.b32 %r11, %r1, %r2, 0xBE84; cvt.u16.u32 %h30, %r11; st.global.u16 [%rd2], %h30;",
      "prmt.b32 %r30, %r1, %r2, 0x27FB; st.global.u32 [%rd2], %r30;"}},
    {"word-sign",
     {"abs.s32 %r10, %r1; setp.lt.s32 %p1, %r10, 0; selp.b32 %r30, %r2, %r3, %p1; st.global.u32 [%rd2], %r30;"
      "|abs.s32 %r10, %r1",
      "abs.s32 %r10, %r1; setp.gt.s32 %p1, 0, %r10; selp.b32 %r30, %r2, %r3, %p1; st.global.u32 [%rd2], %r30;"
      "|abs.s32 %r10, %r1",
      "abs.s64 %rd10, %rd1; setp.ge.s64 %p1, %rd10, 0; selp.b32 %r30, %r2, %r3, %p1; st.global.u32 [%rd2], %r30;"
      "|abs.s64 %rd10, %rd1",
      "abs.s32 %r10, %r1; slct.b32.s32 %r30, %r2, %r3, %r10; st.global.u32 [%rd2], %r30;|abs.s32 %r10, %r1",
      "neg.s32 %r10, %r1; slct.s32.s32 %r30, %r2, %r3, %r10; st.global.u32 [%rd2], %r30;|neg.s32 %r10, %r1",
      "sub.s32 %r10, 0, %r1; slct.s32.s32 %r30, %r2, %r3, %r10; st.global.u32 [%rd2], %r30;|sub.s32 %r10, 0, %r1",
      "neg.s32 %r10, %r1; cvt.sat.u32.s32 %r30, %r10; st.global.u32 [%rd2], %r30;|neg.s32 %r10, %r1",
      "abs.s32 %r10, %r1; cvt.sat.s8.s32 %r30, %r10; st.global.u32 [%rd2], %r30;|abs.s32 %r10, %r1",
      "abs.s32 %r10, %r1; cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;|abs.s32 %r10, %r1"},
     {"abs.s32 %r10, %r1; setp.gt.s32 %p1, %r10, 0; selp.b32 %r30, %r2, %r3, %p1; st.global.u32 [%rd2], %r30;",
      "abs.s32 %r10, %r1; setp.lt.s32 %p1, %r10, 7; selp.b32 %r30, %r2, %r3, %p1; st.global.u32 [%rd2], %r30;",
      "neg.s32 %r10, %r1; setp.lt.s32 %p1, %r10, 0; selp.b32 %r30, %r2, %r3, %p1; st.global.u32 [%rd2], %r30;",
      "abs.s32 %r10, %r1; slct.s32.s32 %r30, %r2, %r3, %r10; st.global.u32 [%rd2], %r30;",
      "neg.s32 %r10, %r1; slct.b32.s32 %r30, %r2, %r3, %r10; st.global.u32 [%rd2], %r30;",
      "abs.s32 %r10, %r1; shr.s32 %r30, %r10, 31; st.global.u32 [%rd2], %r30;",
      "neg.s32 %r10, %r1; cvt.rn.f32.u32 %f2, %r10; st.global.f32 [%rd2], %f2;",
      "abs.s32 %r10, %r1; cvt.rn.f64.u32 %rd30, %r10; st.global.u64 [%rd2], %rd30;",
      "neg.s32 %r10, %r1; cvt.u16.u32 %h30, %r10; st.global.u16 [%rd2], %h30;",
      "neg.s32 %r10, %r1; cvt.pack.sat.u16.s32 %r30, %r10, %r2; st.global.u32 [%rd2], %r30;"}},
};

}  // namespace ptx_assembler_defects_test
