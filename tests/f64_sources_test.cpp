// SPDX-License-Identifier: Apache-2.0
// Which of two f64 NaNs leaves a product: that of the second source, as ptxas 13.0 for sm_90a has them in the machine code of
// each of these bodies.
#include <catch2/catch.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "warpbit/ptx.hpp"

namespace f64_sources_test {

using namespace warpbit;

constexpr std::uint64_t kNan = 0x7FF8'0000'0000'0000;

// %d1 and %d2 are NaNs of payload 1 and 2, %d3 and %d4 are 3 and 4. What is left at `out`.
std::uint64_t run(const std::string& body) {
  const std::string text = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
  .reg .pred %p<4>; .reg .b64 %rd<4>; .reg .f64 %d<40>;
  ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];
  ld.global.f64 %d1, [%rd1]; ld.global.f64 %d2, [%rd1+8]; ld.global.f64 %d3, [%rd1+16]; ld.global.f64 %d4, [%rd1+24];
)" + body + "\n  st.global.f64 [%rd2], %d22;\n  ret;\n}\n";
  const Result<ptx::Module> module = ptx::Module::load(text);
  if (!module) FAIL(module.error().message());
  const Result<ptx::Function> function = module->function("k");
  if (!function) FAIL(function.error().message());
  const std::vector<std::uint64_t> in = {kNan | 1, kNan | 2, std::bit_cast<std::uint64_t>(3.0),
                                         std::bit_cast<std::uint64_t>(4.0)};
  std::vector<std::uint64_t> out(8);
  const ptx::Report report = function->launch({}, {ptx::buffer(in), ptx::buffer(out)});
  if (report.fault) FAIL(report.fault->message());
  return out[0];
}

// %d20, of %d1
const std::string kSelp = "setp.gt.f64 %p1, %d1, %d3; selp.f64 %d20, %d3, %d1, %p1; ";
const std::string kSlct = ".reg .b32 %r<2>; cvt.rzi.s32.f64 %r1, %d4; slct.f64.s32 %d20, %d1, %d3, %r1; ";
const std::string kRsqrt = "rsqrt.approx.ftz.f64 %d20, %d1; ";
const std::string kGuard = "setp.ne.f64 %p1, %d3, %d4; mov.f64 %d20, %d4; @%p1 add.rn.f64 %d20, %d1, %d3; ";
const std::string kRcp = "rcp.approx.ftz.f64 %d20, %d1; ";
const std::string kCopysign = "copysign.f64 %d20, %d4, %d1; ";
const std::string kDiv = "div.rz.f64 %d20, %d1, %d4; ";
// %d21, of %d2
const std::string kSum = "add.rn.f64 %d21, %d2, 0d4014000000000000; ";
const std::string kOtherSelp = "setp.gt.f64 %p2, %d2, %d4; selp.f64 %d21, %d4, %d2, %p2; ";
const std::string kJoin = "sqrt.rn.f64 %d21, %d2; ";
// Uses of %d20
const std::string kAdd = "add.rn.f64 %d30, %d20, %d3; st.global.f64 [%rd2+8], %d30; ";
const std::string kSub = "sub.rn.f64 %d31, %d20, %d4; st.global.f64 [%rd2+16], %d31; ";
const std::string kChosen =
    "setp.gt.f64 %p2, %d3, %d4; selp.f64 %d32, %d20, %d4, %p2; st.global.f64 [%rd2+24], %d32; ";
const std::string kChosenAgain = "selp.f64 %d35, %d20, %d3, %p2; st.global.f64 [%rd2+48], %d35; ";
const std::string kChosenNegated =
    "neg.f64 %d34, %d20; selp.f64 %d34, %d34, %d4, %p1; st.global.f64 [%rd2+40], %d34; ";
const std::string kHandedOn = "rcp.rz.f64 %d33, %d20; st.global.f64 [%rd2+32], %d33; ";
const std::string kRoot = "sqrt.rn.f64 %d34, %d20; st.global.f64 [%rd2+40], %d34; ";
const std::string kRootOfAbs = "abs.f64 %d34, %d20; sqrt.rn.f64 %d34, %d34; st.global.f64 [%rd2+40], %d34; ";
// An earlier call of the division
const std::string kCall = "div.rz.f64 %d25, %d3, %d4; add.rn.f64 %d26, %d25, %d3; ";
const std::string kStored = "st.global.f64 [%rd2+8], %d26; ";

const std::string kProduct = "mul.rn.f64 %d22, %d20, %d21;", kTurned = "mul.rn.f64 %d22, %d21, %d20;";

struct Case {
  std::string body;
  int last;  ///< the register that is the second source
};

void check(const std::vector<Case>& cases) {
  for (const Case& one : cases) {
    INFO(one.body);
    CHECK((run(one.body) == (kNan | 2)) == (one.last == 21));
  }
}

TEST_CASE("a value that is chosen is behind one that is computed, if few instructions use it as a number") {
  check({{kSelp + kSum + kProduct, 20},
         {kSelp + kSum + kTurned, 20},
         {kSelp + kSum + kAdd + kProduct, 21},
         {kSelp + kSum + kAdd + kChosen + kProduct, 20},
         {kSelp + kSum + kAdd + kSub + kChosen + kProduct, 21},
         {kSelp + kSum + kAdd + kSub + kHandedOn + kProduct, 20},
         {kSelp + kSum + kChosenNegated + kAdd + kProduct, 20},
         {kSelp + kSum + kRoot + kProduct, 20},
         {kSelp + kSum + kRootOfAbs + kProduct, 21},
         {kSlct + kSum + kProduct, 20},
         {kSlct + kSum + kTurned, 20},
         {kSlct + kSum + kAdd + kProduct, 21},
         {kSlct + kSum + kAdd + kChosen + kProduct, 20},
         {kRsqrt + kSum + kProduct, 20},
         {kRsqrt + kSum + kAdd + kProduct, 21},
         {kGuard + kSum + kProduct, 20},
         {kGuard + kSum + kAdd + kProduct, 21}});
}

TEST_CASE("so is one that is made of two halves, if more of its uses take them alone") {
  check({{kRcp + kSum + kProduct, 21},
         {kRcp + kSum + kHandedOn + kProduct, 20},
         {kRcp + kSum + kHandedOn + kAdd + kProduct, 21},
         {kCopysign + kSum + kChosen + kProduct, 21},
         {kCopysign + kSum + kChosen + kChosenAgain + kProduct, 20}});
}

TEST_CASE("choices stay in their order, behind joins") {
  check({{kSelp + kOtherSelp + kProduct, 21},
         {kSelp + kOtherSelp + kTurned, 20},
         {kSelp + kJoin + kProduct, 20},
         {kJoin + kSelp + kProduct, 20}});
}

TEST_CASE("the results of calls of one function lie in the registers of the first") {
  check({{kDiv + kSum + kProduct, 21},
         {kSum + kDiv + kProduct, 20},
         {kCall + kSum + kDiv + kStored + kProduct, 21},
         {kCall + kSum + kDiv + "st.global.v2.f64 [%rd2+16], {%d26, %d25}; " + kProduct, 20},
         {kCall + kSum + "div.rm.f64 %d20, %d1, %d4; " + kStored + kProduct, 20}});
}

TEST_CASE("a later call's result that stays is behind, if that of the first one does not") {
  const std::string first = "sqrt.rz.f64 %d25, %d3; ", stored = "st.global.f64 [%rd2+8], %d25; ";
  check({{first + "sqrt.rz.f64 %d20, %d1; " + kSum + stored + kProduct, 20},
         {"sqrt.rm.f64 %d25, %d3; sqrt.rz.f64 %d20, %d1; " + kSum + stored + kProduct, 21},
         {first + "add.rn.f64 %d26, %d25, %d4; sqrt.rz.f64 %d20, %d1; " + kSum +
              "st.global.f64 [%rd2+8], %d26; " + kProduct,
          21}});
}

TEST_CASE("a root of a negative literal is a call; rsqrt.approx.ftz shares the word of rsqrt.approx") {
  const std::string root = "rsqrt.approx.f64 %d25, %d1; ", stored = "st.global.f64 [%rd2+8], %d25; ";
  const std::string literal = "rsqrt.approx.f64 %d20, 0dBFE4CCCCCCCCCCCC; ",
                    other = "rsqrt.approx.f64 %d25, %d3; ";
  check({{literal + kSum + kProduct, 20},
         {literal + kSum + other + stored + kProduct, 21},
         {root + kRsqrt + kSum + stored + kProduct, 21},
         {kRsqrt + root + kSum + stored + kProduct, 21}});
}

TEST_CASE("what is computed above already is that") {
  const std::string first = "rcp.approx.ftz.f64 %d25, %d1; ";
  check({{first + kSum + kRcp + "add.rn.f64 %d26, %d25, %d3; st.global.f64 [%rd2+8], %d26; " + kProduct, 21},
         {first + kSum + kRcp + kProduct, 20}});
}

TEST_CASE("min and max have their sources exchanged, too") {
  const std::string sums = "add.rn.f64 %d20, %d1, %d3; add.rn.f64 %d21, %d2, %d4; ";
  check({{sums + "max.f64 %d22, %d21, %d20;", 21}, {sums + "min.f64 %d22, %d20, %d21;", 21}});
}

}  // namespace f64_sources_test
