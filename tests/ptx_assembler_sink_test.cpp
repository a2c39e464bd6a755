// SPDX-License-Identifier: Apache-2.0
// Which sums are fused where a value is computed below the statement that writes it, before a call, and where the result of a
// call is not needed. Each case says what machine code of ptxas 13.0 for sm_90a has: FFMA or DFMA for the statements that are
// named, a product and a sum for others.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_assembler_sink_test {

using namespace warpbit;

// %f1 to %f3 are loaded, and stored if they shall live; %f9, %f12 and %f20 are stored.
std::string text_of(const std::string& body, int living) {
  std::string stores =
      "st.global.f32 [%rd1+16], %f9; st.global.f32 [%rd1+20], %f12; st.global.f32 [%rd1+24], %f20;";
  for (int k = 1; k <= living; ++k)
    stores += "st.global.f32 [%rd1+" + std::to_string(28 + 4 * k) + "], %f" + std::to_string(k) + ";";
  return R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<9>; .reg .f32 %f<50>; .reg .f64 %d<20>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8]; ld.global.u32 %r1, [%rd1+12];
)" + body +
         stores + " ret; }";
}

std::vector<std::string> fused(const std::string& body, int living) {
  const Result<ptx::Module> module = ptx::Module::load(text_of(body, living));
  if (!module) FAIL(module.error().message());
  std::vector<float> out{1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0};
  const ptx::Report report = module->function("k")->launch({}, {ptx::buffer(out)});
  REQUIRE(report.ok());
  std::vector<std::string> lines;
  for (const ptx::AssembledLine& one : report.assembled)
    if (one.rule == "contract") lines.push_back(one.statement);
  return lines;
}

struct Case {
  std::string body;
  std::vector<std::string> fused;
  int living = 3;
};

// n statements behind the sum.
std::string longer(int n) {
  std::string out = "mul.f32 %f9, %f1, %f2; add.f32 %f30, %f9, %f3;";
  for (int k = 30; k < 30 + n; ++k) {
    const std::string from = std::to_string(k), to = std::to_string(k + 1);
    out += "max.f32 %f" + to + ", %f" + from + ", %f" + std::to_string(1 + k % 2) + ";";
  }
  return out + "mov.f32 %f20, %f" + std::to_string(30 + n) + ";";
}

const std::string
    kSum = "mul.f32 %f9, %f1, %f2; add.f32 %f20, %f9, %f3;",
    kFused = "add.f32 %f20, %f9, %f3", kRoots = "sqrt.rn.f32 %f11, %f9; sqrt.rn.f32 %f12, %f11;",
    kDoubles =
        "mov.b32 %f9, 0; mov.b32 %f12, 0; cvt.f64.f32 %d1, %f1; cvt.f64.f32 %d2, %f2; cvt.f64.f32 %d3, %f3;"
        "mul.f64 %d9, %d1, %d2; add.f64 %d10, %d9, %d3; cvt.rn.f32.f64 %f20, %d10;",
    kFusedDouble = "add.f64 %d10, %d9, %d3";

const std::vector<Case> kCases = {
    {kSum + kRoots, {kFused}},
    {kSum + kRoots, {}, 2},  // %f3 would take a register
    {kSum + "sqrt.rn.f32 %f12, %f9;", {}},
    {kSum + "sqrt.rn.f32 %f11, %f9; sqrt.rn.f32 %f12, %f20;", {}},
    {longer(7) + kRoots, {"add.f32 %f30, %f9, %f3"}},
    {longer(8) + kRoots, {}},
    {kSum + "cvt.rzi.s32.f32 %r2, %f1; div.s32 %r3, %r2, %r1; cvt.rn.f32.s32 %f12, %r3;", {}},
    {kSum + "cvt.rzi.s32.f32 %r2, %f1; div.s32 %r3, %r2, %r1; div.s32 %r4, %r3, %r1; cvt.rn.f32.s32 %f12, %r4;",
     {kFused}},
    // The result of a call without a fast path is not needed: a product that one sum uses beside.
    {kDoubles + "sqrt.rz.f64 %d11, %d9;", {kFusedDouble}},
    {kDoubles + "sqrt.rn.f64 %d11, %d9;", {}},
    {kDoubles + "sqrt.rz.f64 %d11, %d9; cvt.rn.f32.f64 %f12, %d11;", {}},
    {kDoubles + "sqrt.rz.f64 %d11, %d9; sub.f64 %d13, %d9, %d1; cvt.rn.f32.f64 %f12, %d13;", {}},
};

TEST_CASE(
    "a value that is first used behind two calls is computed before the last one, and its product fuses there") {
  for (const Case& one : kCases) {
    INFO(one.body);
    CHECK(fused(one.body, one.living) == one.fused);
  }
}

// Numbers that every rounding leaves as they are.
TEST_CASE("what is computed below has the number that it has as written") {
  for (const Case& one : kCases) {
    INFO(one.body);
    const Result<ptx::Module> module = ptx::Module::load(text_of(one.body, one.living));
    REQUIRE(module);
    std::vector<float> by_rules{2, 2, 5, 4, 0, 0, 0, 0, 0, 0, 0}, as_written = by_rules;
    ptx::Launch how;
    REQUIRE(module->function("k")->launch(how, {ptx::buffer(by_rules)}).ok());
    how.as_written = true;
    REQUIRE(module->function("k")->launch(how, {ptx::buffer(as_written)}).ok());
    CHECK(by_rules == as_written);
  }
}

}  // namespace ptx_assembler_sink_test
