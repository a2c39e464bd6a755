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
