// SPDX-License-Identifier: Apache-2.0
// The matcher for Catch2 beside headers of its version 3, as far as it uses them (fake_catch3). The test itself
// needs no framework: it exits with the number of failures.
#include <iostream>
#include <sstream>

#include "warpbit/matchers/catch2.hpp"

namespace {

int failures = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  std::cerr << what << "\n";
  ++failures;
}

}  // namespace

int main() {
  using namespace warpbit;
  const Result<Target> target = Target::find("sm_90");
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *target);
  const std::vector<std::uint32_t> expected(32 * 4);
  std::vector<std::uint32_t> got = expected;
  const auto matcher = catch2::EqualBits(mma->operands()[0], expected);
  check(Catch::makeMatchExpr(got, matcher).getResult(), "equal registers match");
  got[4] = 0x3F800000;
  const auto failed = Catch::makeMatchExpr(got, matcher);
  check(!failed.getResult(), "different registers do not match");
  std::ostringstream said;
  failed.streamReconstructedExpression(said);
  check(said.str().starts_with("1 of 128 elements of d differ:\n"), "a failure starts with the mistake");
  const std::vector<float> ones(8, 1);
  std::vector<float> other = ones;
  check(Catch::makeMatchExpr(other, catch2::EqualBits(ones)).getResult(), "equal arrays match");
  other[5] = 2;
  const auto wrong = catch2::EqualBits(ones);
  const auto array_failed = Catch::makeMatchExpr(other, wrong);
  check(!array_failed.getResult(), "different arrays do not match");
  std::ostringstream array_said;
  array_failed.streamReconstructedExpression(array_said);
  check(array_said.str().starts_with("1 of 8 elements of the array differ, "),
        "a failure of an array starts so");
  return failures;
}
