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

/// The same of nvcc -G.
std::string in_debug(std::string text) {
  const std::string_view target = ".target sm_90a";
  return text.insert(text.find(target) + target.size(), ", debug");
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

// Numbers that every rounding leaves as they are: with the rules and as written, memory is the same. 1, 2, 3, 4 before.
const std::vector<std::string> kSame = {
    // the guard is the second predicate of the test, the opposite of the first
    "mov.b32 %r1, 0;\nL: add.f32 %f20, %f20, %f1; add.s32 %r1, %r1, 1; setp.ge.s32 %p1|%p2, %r1, 4;\n"
    "@%p2 bra L; mul.f32 %f21, %f20, %f2;",
    // what a barrier counts is no number that was there before
    "mov.b32 %r1, 4; setp.eq.u32 %p1, %r1, 4; bar.red.popc.u32 %r1, 0, %p1;\ncvt.rn.f32.u32 %f5, %r1; "
    "rcp.approx.f32 %f20, %f5;",
    "setp.eq.u32 %p1, 4, 4; mov.pred %p2, !%p1; selp.f32 %f5, %f1, %f2, %p2; mul.f32 %f20, %f5, %f3;",
    "setp.lt.f32 %p1, %f1, %f2; xor.pred %p2, %p1, !%p1; selp.f32 %f5, %f1, %f2, %p2; mul.f32 %f20, %f5, %f3;",
    "setp.lt.f32 %p1, %f1, %f2; mov.pred %p3, !%p1; xor.pred %p2, %p1, %p3; selp.f32 %f5, %f1, %f2, %p2; "
    "mul.f32 %f20, %f5, %f3;",
    // a product of the round before, whose factor is another one by now
    "mov.b32 %r1, 0; cvt.rzi.s32.f32 %r2, %f4;\nL: add.f32 %f21, %f21, %f1; setp.gt.s32 %p2, %r1, 0;\n"
    "@%p2 add.f32 %f20, %f5, %f1; mul.f32 %f5, %f21, 0f40000000; add.s32 %r1, %r1, 1;\n"
    "setp.lt.s32 %p1, %r1, %r2; @%p1 bra L;",
    "mov.b32 %r1, 0; cvt.rzi.s32.f32 %r2, %f4;\nL: add.f32 %f21, %f21, %f1; setp.gt.s32 %p2, %r1, 0;\n"
    "@%p2 mul.f32 %f20, %f5, 0f40000000; mul.f32 %f5, %f21, %f3; add.s32 %r1, %r1, 1;\n"
    "setp.lt.s32 %p1, %r1, %r2; @%p1 bra L;",
};

std::vector<float> left(const std::string& body, bool as_written) {
  const Result<ptx::Module> module = ptx::Module::load(text_of(body));
  if (!module) FAIL(module.error().message());
  std::vector<float> out{1, 2, 3, 4};
  ptx::Launch how;
  how.as_written = as_written;
  const ptx::Report report = module->function("k")->launch(how, {ptx::buffer(out)});
  REQUIRE(report.ok());
  return out;
}

TEST_CASE("the rules change no number that every rounding leaves as it is") {
  for (const std::string& body : kSame) {
    INFO(body);
    CHECK(left(body, false) == left(body, true));
  }
}

// ptxas 13.0 refuses to optimise such a module; an H200 left the two roundings in 23 kernels of nvcc -G.
TEST_CASE("the rules do not act in a module whose target says debug") {
  // x * x - 1 of x = 1 + 2^-12: 2^-11 + 2^-24, of which two roundings leave 2^-11.
  const std::string text = text_of("mul.f32 %f5, %f1, %f1; add.f32 %f20, %f5, 0fBF800000;");
  for (const bool is_debug : {false, true}) {
    INFO(is_debug);
    const Result<ptx::Module> module = ptx::Module::load(is_debug ? in_debug(text) : text);
    if (!module) FAIL(module.error().message());
    std::vector<float> out{1 + 0x1p-12F, 2, 3, 4};
    const ptx::Report report = module->function("k")->launch({}, {ptx::buffer(out)});
    REQUIRE(report.ok());
    CHECK(out[0] == (is_debug ? 0x1p-11F : 0x1p-11F + 0x1p-24F));
    CHECK(report.assembled.empty() == is_debug);
    CHECK(report.contracted != is_debug);
  }
}

TEST_CASE("a statement with too few operands, or too many, is refused and not looked at by the rules") {
  for (const std::string body :
       {"rcp.approx.f32 %f5;", "mul.f32;", "mul.f32 %f5, %f1, %f2; mov.b32 %r1;", "L: mul.f32 %f5; @%p1 bra;",
        "mul.f32 %f5, %f1, %f2; mov.b64 %rd1, {};",
        "mul.f32 %f5, %f1, %f2; add.s32 %r1, 1, 2, 3, 4, 5, 6, 7, 8;", "rsqrt.approx.f64 %rd1;", "bfe.s32 %r1;",
        "prmt.b32 %r1;", "setp %p1, %r1, %r1; mul.f32 %f5;",
        // what a rule would replace or leave out
        "mul.f32 %f5, %f1, %f2, %f3; add.f32 %f6, %f5, %f4;", "mul.f32 %f5, %f1, %f2; add.f32 %f6, 0f3F800000;",
        "div.approx.f32 %f5, %f1, 0f40000000, %f2;"}) {
    INFO(body);
    const Result<ptx::Module> module = ptx::Module::load(text_of(body));
    REQUIRE(module);
    static_cast<void>(module->notes());
    CHECK(!module->check().empty());
    CHECK_FALSE(module->function("k"));
  }
}

}  // namespace ptx_assembler_known_test
