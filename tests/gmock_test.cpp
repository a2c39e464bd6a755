// SPDX-License-Identifier: Apache-2.0
// The matcher for GoogleTest, as a project that uses it has it.
#include <gmock/gmock.h>

#include <cstdint>
#include <string>
#include <vector>

#include "warpbit/matchers/gmock.hpp"

namespace {

using namespace warpbit;
using gmock::EqualBits;
using Words = std::vector<std::uint32_t>;

Instruction parse() {
  return *Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *Target::find("sm_90"));
}

TEST(EqualBits, MatchesWhatTheInstructionReturns) {
  const Instruction mma = parse();
  const Words ones(32 * 4, 0x3C003C00), b(32 * 2, 0x3C003C00), c(32 * 4), d(32 * 4, 0x41800000);
  EXPECT_THAT(d, EqualBits(mma, ones, b, c));
  EXPECT_THAT(c, ::testing::Not(EqualBits(mma, ones, b, c)));
  EXPECT_THAT(d, EqualBits(mma.operands()[0], d));
}

TEST(EqualBits, SaysWhereAndWhat) {
  const Instruction mma = parse();
  Words expected(32 * 4), got(32 * 4);
  expected[4 * 13 + 2] = 0x3F800000;
  const ::testing::Matcher<const Words&> matcher = EqualBits(mma.operands()[0], expected);
  ::testing::StringMatchResultListener said;
  EXPECT_FALSE(matcher.MatchAndExplain(got, &said));
  EXPECT_THAT(said.str(), ::testing::StartsWith("\nambiguous: "));
  EXPECT_THAT(said.str(),
              ::testing::EndsWith(
                  " more\n1 of 128 elements of d differ:\n"
                  "  lane 13 register 2, row 11 column 2: expected 0x3f800000 (1), got 0x00000000 (0)\n"));
  EXPECT_EQ(::testing::DescribeMatcher<const Words&>(EqualBits(mma.operands()[0], expected)),
            "has the expected bits");
}

TEST(EqualBits, ComparesWholeArrays) {
  std::vector<float> d(64 * 32, 1.0F);
  const std::vector<float> expected = d;
  EXPECT_THAT(d, EqualBits(expected));
  d[32 + 3] = -0.0F;
  const ::testing::Matcher<const std::vector<float>&> matcher = EqualBits(expected, {.shape = {64, 32}});
  ::testing::StringMatchResultListener said;
  EXPECT_FALSE(matcher.MatchAndExplain(d, &said));
  EXPECT_THAT(said.str(), ::testing::StartsWith(
                              "\n1 of 2048 elements of the array differ, numbers by at most 1065353216 ulp\n"
                              "first at [1, 3]: expected 0x3f800000 (1), got 0x80000000 (-0), "
                              "1065353216 ulp apart\n"));
  EXPECT_THAT(d, ::testing::Not(EqualBits(expected)));
}

// What `warpbit findings` is told (tests/CMakeLists.txt): of these three the last one alone.
TEST(EqualBits, DISABLED_TellsThatItFails) {
  const std::vector<float> ones(8, 1.0F), zeros(8);
  EXPECT_THAT(ones, EqualBits(ones));
  EXPECT_THAT(zeros, ::testing::Not(EqualBits(ones)));
  EXPECT_THAT(zeros, EqualBits(ones));
}

}  // namespace
