// SPDX-License-Identifier: Apache-2.0
// Which sums are fused where a guard or a choice is known, and beside it. Each case says what machine code of ptxas 13.0
// for sm_90a has: FFMA for the statements that are named, FMUL and FADD for others.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace ptx_assembler_known_test {

using namespace warpbit;

// %f1 to %f4 are loaded, %f20 to %f22 are stored.
std::string text_of(const std::string& body) {
  return R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<4>; .reg .f32 %f<30>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8]; ld.global.f32 %f4, [%rd1+12];
  mov.b32 %f20, 0; mov.b32 %f21, 0; mov.b32 %f22, 0;
)" + body +
         R"(
  st.global.f32 [%rd1], %f20; st.global.f32 [%rd1+4], %f21; st.global.f32 [%rd1+8], %f22;
  ret;
}
)";
}

std::vector<std::string> fused(const std::string& body) {
  const Result<ptx::Module> module = ptx::Module::load(text_of(body));
  if (!module) FAIL(module.error().message());
  std::vector<float> out{1, 2, 3, 4};
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
};

const std::string kSum = "mul.f32 %f20, %f3, %f4; @%p2 add.f32 %f20, %f20, %f1;",
                  kFused = "add.f32 %f20, %f20, %f1";

const std::vector<Case> kCases = {
    {"setp.lt.f32 %p2, %f1, %f2; " + kSum, {}},
    {"setp.lt.f32 %p1, %f1, %f2; xor.pred %p2, %p1, %p1; not.pred %p2, %p2; " + kSum, {kFused}},
    {"mul.f32 %f9, %f1, 0f3F800000; setp.leu.f32 %p2, %f9, %f1; " + kSum, {kFused}},
    {"setp.le.f32 %p2, %f1, %f1; " + kSum, {}},
    {"setp.lt.f32 %p2, %f1, %f1; mul.f32 %f10, %f3, %f4; selp.f32 %f11, %f2, %f10, %p2; add.f32 %f20, %f11, %f1;",
     {"add.f32 %f20, %f11, %f1"}},
    {"mul.ftz.f32 %f10, %f1, %f2; mul.ftz.f32 %f11, %f3, %f4; neg.ftz.f32 %f12, %f11; add.ftz.f32 %f20, %f10, %f1; "
     "add.ftz.f32 %f21, %f10, %f12;\nadd.ftz.f32 %f22, %f2, %f12;",
     {"add.ftz.f32 %f21, %f10, %f12", "add.ftz.f32 %f22, %f2, %f12"}},
};

TEST_CASE("a product fuses with a sum whose guard is known, and beside one that a neg alone uses") {
  for (const Case& one : kCases) {
    INFO(one.body);
    std::vector<std::string> found = fused(one.body);
    std::ranges::sort(found);
    CHECK(found == one.fused);
  }
}

}  // namespace ptx_assembler_known_test
