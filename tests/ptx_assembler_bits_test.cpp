// SPDX-License-Identifier: Apache-2.0
// What an H200 left of short bodies, as ptxas 13.0 makes them at -O3 and at -O0: NaNs, clamps, moves and signs.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_assembler_bits_test {

using namespace warpbit;

struct Case {
  std::string body;
  std::vector<std::uint64_t> in;  // %f1 to %f4, %h1 to %h4, %d1, or fewer; %r1 is 2, %p1 is true and %p2 false
  std::uint64_t left;
  std::optional<std::uint64_t> as_written = {};
  std::string rule = {};
};

enum Kind { f32, f16, f64 };

std::string text_of(const std::string& body, Kind kind) {
  const std::string loads =
      kind == f64   ? "ld.global.b64 %d1, [%rd1];"
      : kind == f32 ? "ld.global.b32 %f1, [%rd1]; ld.global.b32 %f2, [%rd1+8]; ld.global.b32 %f3, [%rd1+16]; "
                      "ld.global.b32 %f4, [%rd1+24];"
                    : "ld.global.b16 %h1, [%rd1]; ld.global.b16 %h2, [%rd1+8]; ld.global.b16 %h3, [%rd1+16];";
  return R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in)
{
  .reg .pred %p<4>; .reg .b32 %r<4>; .reg .b32 %f<10>; .reg .b16 %h<10>; .reg .b64 %d<10>, %rd<4>;
  ld.param.u64 %rd1, [in];
  ld.global.b32 %r1, [%rd1+56]; setp.eq.s32 %p1, %r1, 2; setp.ne.s32 %p2, %r1, 2;
  )" + loads +
         "\n  mov.b32 %f9, 0; mov.b16 %h9, 0; mov.b64 %d9, 0;\n" + body +
         "\n  st.global.b32 [%rd1+32], %f9; st.global.b64 [%rd1+40], %d9; st.global.b16 [%rd1+48], %h9;\n  ret;\n}\n";
}

void check(const Case& one, Kind kind, bool as_written) {
  INFO(one.body << (as_written ? ", as written" : ""));
  const Result<ptx::Module> module = ptx::Module::load(text_of(one.body, kind));
  if (!module) FAIL(module.error().message());
  std::vector<std::uint64_t> memory = one.in;
  memory.resize(8);
  memory[7] = 2;
  ptx::Launch how;
  how.as_written = as_written;
  const ptx::Report report = module->function("k")->launch(how, {ptx::buffer(memory)});
  REQUIRE(report.ok());
  CHECK(memory[kind == f32 ? 4 : kind == f64 ? 5 : 6] == (as_written ? *one.as_written : one.left));
  const bool named =
      std::ranges::find(report.assembled, one.rule, &ptx::AssembledLine::rule) != report.assembled.end();
  CHECK(named == (!as_written && !one.rule.empty()));
}

void check_all(const std::vector<Case>& cases, Kind kind) {
  for (const Case& one : cases) {
    check(one, kind, false);
    if (one.as_written) check(one, kind, true);
  }
}

// As written: by the PTX manual, with the NaNs of NUMERICS.md.
TEST_CASE("a clamp between 0 and 1 leaves no -0 and no NaN") {
  check_all(
      {{"max.f32 %f5, %f1, 0f80000000; min.f32 %f9, %f5, 0f3F800000;", {0xBF80'0000}, 0, 0x8000'0000, "clamp"},
       {"min.f32 %f5, %f1, 0f3F800000; max.f32 %f9, %f5, 0f00000000;", {0x7FC0'0000}, 0, 0x3F80'0000, "clamp"},
       {"min.ftz.f32 %f5, 0f3F800000, %f1; max.ftz.f32 %f9, 0f00000000, %f5;",
        {0xFF80'0123},
        0,
        0x3F80'0000,
        "clamp"},
       {"mov.f32 %f2, 0f3F800000; max.f32 %f5, %f1, 0f80000000; min.f32 %f9, %f5, %f2;",
        {0x3F00'0000},
        0x3F00'0000,
        0x3F00'0000,
        "clamp"},
       {"max.NaN.f32 %f5, %f1, 0f80000000; min.f32 %f9, %f5, 0f3F800000;", {0xBF80'0000}, 0x8000'0000}},
      f32);
  check_all({{"min.f64 %d2, %d1, 0d3FF0000000000000; max.f64 %d9, %d2, 0d0000000000000000;",
              {0x7FFF'FFFF'FFFF'FFFF},
              0,
              0x3FF0'0000'0000'0000,
              "clamp"},
             {"max.f64 %d2, %d1, 0d8000000000000000; min.f64 %d9, %d2, 0d3FF0000000000000;",
              {0xBFF0'0000'0000'0000},
              0,
              std::uint64_t{1} << 63,
              "clamp"}},
            f64);
}

TEST_CASE("what leaves all bits of its source keeps those of a NaN") {
  check_all({{"min.f32 %f9, %f1, %f1;", {0xFF80'0123}, 0xFF80'0123, 0x7FFF'FFFF, "identity"},
             {"min.ftz.f32 %f9, %f1, %f1;", {0xFF80'0123}, 0x7FFF'FFFF},
             {"cvt.f32.f32 %f9, %f1;", {0xFF80'0123}, 0xFF80'0123, 0x7FFF'FFFF, "identity"}},
            f32);
  check_all({{"neg.f16 %h5, %h1; neg.f16 %h9, %h5;", {0xFD00}, 0xFD00, 0x7FFF, "identity"},
             {"max.f16 %h9, %h1, %h1;", {0xFD00}, 0xFD00, 0x7FFF, "identity"},
             {"mov.b16 %h5, 0x3c00; mul.f16 %h9, %h5, %h1;", {0xFFFF}, 0xFFFF, 0x7FFF, "identity"}},
            f16);
  check_all({{"max.f64 %d9, %d1, %d1;",
              {0x7FF0'0000'0000'0001},
              0x7FF0'0000'0000'0001,
              0x7FF8'0000'0000'0001,
              "identity"},
             {"cvt.f64.f64 %d9, %d1;",
              {0xFFF0'0000'1000'0000},
              0xFFF0'0000'1000'0000,
              0xFFF8'0000'1000'0000,
              "identity"},
             {"mul.f64 %d2, %d1, 0d4000000000000000; sub.f64 %d9, %d1, %d2;",
              {0xFFF0'0000'0000'0000},
              0x7FF0'0000'0000'0000,
              0xFFF8'0000'0000'0000,
              "identity"},
             {"mul.f64 %d2, %d1, 0d4000000000000000; sub.f64 %d9, %d1, %d2;",
              {0},
              std::uint64_t{1} << 63,
              0,
              "identity"}},
            f64);
}

TEST_CASE("a product fuses by way of what leaves all bits, and where a guard is known") {
  const std::vector<std::uint64_t> in = {0xBED3'5000, 0x40CE'AC58, 0, 0xBE2D'4CB5};
  for (const std::string between :
       {"slct.f32.s32 %f5, %f5, %f5, %r1;", "max.f32 %f5, %f5, %f5;", "cvt.f32.f32 %f5, %f5;"})
    check({"mul.f32 %f5, %f1, %f2; " + between + " add.f32 %f9, %f5, %f4;", in, 0xC035'6D6E, {}, "contract"},
          f32, false);
  const std::vector<std::uint64_t> other = {0xC2EC'0000, 0x3F7F'FFFF, 0, 0x3E0A'BF0F};
  for (const std::string between :
       {"slct.f32.s32 %f5, %f5, %f3, 1;", "and.b32 %f5, %f5, -1;", "shl.b32 %f5, %f5, 0;"})
    check({"mul.f32 %f5, %f1, %f2; " + between + " add.f32 %f9, %f5, %f4;", other, 0xC2EB'BAA0, {}, "contract"},
          f32, false);
  for (const std::string known : {"setp.eq.b32 %p3, 0x23, 36;", "testp.infinite.f32 %p3, 0f3F800000;",
                                  "and.b32 %r2, %r1, 0; setp.ne.u32 %p3, %r2, 0;"})
    check({known + " @!%p3 mul.f32 %f1, %f1, %f2; add.f32 %f9, %f1, %f3;",
           {0xC27C'0000, 0xBFB3'A0E0, 0xC27C'0000},
           0x41CB'4972,
           {},
           "contract"},
          f32, false);
  check({"mov.b16 %h5, 0x3c00; mul.f16 %h6, %h5, %h1; mul.f16 %h7, %h2, %h3; sub.f16 %h9, %h6, %h7;",
         {0x2000, 0xC120, 0xC760},
         0xCCB9,
         {},
         "contract"},
        f16, false);
}

// Where another value of the register comes to the sum, machine code of ptxas 13.0 has FMUL and FADD.
TEST_CASE("a product with a literal fuses in another block, whatever the register was before") {
  const std::vector<std::uint64_t> in = {0x3F07'8747, 0x3F80'0000, 0x3380'0000};
  check({"mul.f32 %f1, %f1, 0f3FC00000;\n@%p1 bra M; st.global.b32 [%rd1+24], %r1;\nM: add.f32 %f9, %f1, %f3;",
         in,
         0x3F4B'4AEC,
         {},
         "contract"},
        f32, false);
  check({"mul.f32 %f1, %f1, 0f3FC00000;\n@%p1 bra M; st.global.b32 [%rd1+24], %r1; mul.f32 %f1, %f2, %f4;\n"
         "M: add.f32 %f9, %f1, %f3;",
         in, 0x3F4B'4AEB},
        f32, false);
}

TEST_CASE("literals that are NaNs have their sign as bits, as written too") {
  check_all({{"neg.f32 %f9, 0f7F800001;", {0}, 0xFFC0'0001, 0xFFC0'0001},
             {"abs.f32 %f9, 0fFFC12345;", {0}, 0x7FC1'2345, 0x7FC1'2345},
             {"mov.b32 %f5, 0x7e013c00; neg.f16x2 %f9, %f5;", {0}, 0xFE01'BC00, 0x7FFF'BC00}},
            f32);
  check_all({{"neg.f64 %d9, 0d7FF0000000000001;", {0}, 0xFFF0'0000'0000'0001, 0xFFF0'0000'0000'0001},
             {"sub.f64 %d9, %d1, 0d7FF8000000000000;", {0}, 0xFFF8'0000'0000'0000, 0xFFF8'0000'0000'0000},
             {"min.f64 %d9, 0d7FF8000000000000, %d1;",
              {0xFFF4'0000'0000'0000},
              0x7FF8'0000'0000'0000,
              0xFFFC'0000'0000'0000}},
            f64);
}

TEST_CASE("neg and abs are signs of what a guard leaves, and of cvt.f64.f32") {
  check_all({{"neg.f32 %f9, %f1; @%p2 mad.rm.sat.f32 %f9, %f9, %f2, %f3;",
              {0x7F80'0001, 0x3FBC'A000, 0xBEE3'0340},
              0xFF80'0001,
              {},
              "sign"},
             {"abs.f32 %f9, %f1; @%p2 min.f32 %f9, %f2, %f1;", {0x7FC0'0000}, 0x7FC0'0000, {}, "sign"},
             // machine code: FADD, and IADD with a guard
             {"neg.f32 %f9, %f1; @%p2 add.s32 %f9, %r1, 1;", {0x7FC0'0000}, 0x7FFF'FFFF}},
            f32);
  const std::vector<std::uint64_t> in = {0xFFC1'2345'0000'0000};
  check({"mov.b64 {%r2, %f5}, %d1; neg.f32 %f5, %f5; cvt.f64.f32 %d9, %f5;",
         in,
         0xFFF8'2468'A000'0000,
         {},
         "sign"},
        f64, false);
}

}  // namespace ptx_assembler_bits_test
