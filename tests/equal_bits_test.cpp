// SPDX-License-Identifier: Apache-2.0
// The matcher for Catch2, and what it says.
#include "warpbit/diagnose.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <sstream>
#include <utility>

#include "warpbit/execute.hpp"
#include "warpbit/matchers/catch2.hpp"

namespace equal_bits_test {

using namespace warpbit;
using catch2::EqualBits;
using Words = std::vector<std::uint32_t>;

Instruction parse(std::string_view form) {
  const Result<Instruction> out = Instruction::parse(form, *Target::find("sm_90"));
  REQUIRE(out.ok());
  return *out;
}

const Instruction& mma() {
  static const Instruction out = parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
  return out;
}

// f16 numbers between 1 and 4 of either sign, two a register.
Words halves(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Words out(count);
  for (std::uint32_t& word : out) word = (random() & 0x87FF87FF) | 0x3C003C00;
  return out;
}

struct Warp {
  Words a = halves(32 * 4, 1), b = halves(32 * 2, 2), c = Words(32 * 4), d = Words(32 * 4);

  Warp() {
    const std::vector<OperandView> sources = {OperandView::dense(a.data(), 32, 4, 32),
                                              OperandView::dense(b.data(), 32, 2, 32),
                                              OperandView::dense(c.data(), 32, 4, 32)};
    REQUIRE(execute_batch(mma(), sources, ResultView::dense(d.data(), 32, 4, 32), 1).ok());
  }
};

TEST_CASE("equal bits match, and so does what the instruction returns", "[equal_bits]") {
  const Warp warp;
  CHECK_THAT(warp.d, EqualBits(mma().operands()[0], warp.d));
  CHECK_THAT(warp.d, EqualBits(mma(), warp.a, warp.b, warp.c));
  CHECK_THAT(warp.a, EqualBits(mma().operands()[1], warp.a));
}

TEST_CASE("an element that differs is named with its place and both values", "[equal_bits]") {
  Words expected(32 * 4), got(32 * 4);
  expected[4 * 13 + 2] = 0x3F800000;  // row 11, column 2
  got[4 * 31 + 1] = 0x80000000;       // row 7, column 7
  const auto matcher = EqualBits(mma().operands()[0], expected);
  CHECK_FALSE(matcher.match(got));
  CHECK(matcher.describe() ==
        "\n2 of 128 elements of d differ:\n"
        "  lane 13 register 2, row 11 column 2: expected 0x3f800000 (1), got 0x00000000 (0)\n"
        "  lane 31 register 1, row 7 column 7: expected 0x00000000 (0), got 0x80000000 (-0)\n");
  const auto all = EqualBits(mma().operands()[0], Words(32 * 4));
  CHECK_FALSE(all.match(Words(32 * 4, 1)));
  CHECK_THAT(all.describe(), Catch::Contains("128 of 128 elements") && Catch::Contains("  and 120 more\n"));
  const auto packed = EqualBits(mma().operands()[1], Words(32 * 4));
  Words upper(32 * 4);
  upper[1] = 0x3C000000;
  CHECK_FALSE(packed.match(upper));
  CHECK(packed.describe() ==
        "\n1 of 256 elements of a differ:\n"
        "  lane 0 register 1, row 8 column 1: expected 0x0000 (0), got 0x3c00 (1)\n");
}

TEST_CASE("a failure starts with the mistake, not with all registers", "[equal_bits]") {
  const Words expected(32 * 4), got(32 * 4, 1);
  const auto matcher = EqualBits(mma().operands()[0], expected);
  std::ostringstream said;
  Catch::makeMatchExpr(got, matcher, Catch::StringRef("EqualBits(...)")).streamReconstructedExpression(said);
  CHECK_THAT(said.str(), Catch::StartsWith("128 of 128 elements of d differ:\n  lane 0 register 0, "));
}

TEST_CASE("a wrong result comes with the mistake that explains it", "[equal_bits]") {
  Warp warp;
  for (std::size_t lane = 0; lane < 32; ++lane) std::swap(warp.d[4 * lane], warp.d[4 * lane + 1]);
  const auto matcher = EqualBits(mma(), warp.a, warp.b, warp.c);
  CHECK_FALSE(matcher.match(warp.d));
  CHECK_THAT(matcher.describe(),
             Catch::StartsWith("\nambiguous: 2 mistakes explain all 128 elements") &&
                 Catch::Contains(" elements of d differ:\n  lane 0 register 0, row 0 column 0: ") &&
                 Catch::Contains("\n  registers of D: "));
}

TEST_CASE("wrong registers of an operand come with the mistake", "[equal_bits]") {
  const Warp warp;
  const auto said = [&](std::string_view role, const Words& expected, const Words& got) {
    const auto matcher = EqualBits(*mma().operand(role), expected);
    CHECK_FALSE(matcher.match(got));
    return matcher.describe();
  };
  Words exchanged = warp.a, twice = warp.a, half = warp.a, turned = warp.b, smaller = warp.b;
  for (std::size_t i = 0; i < exchanged.size(); i += 4) std::swap(exchanged[i + 1], exchanged[i + 2]);
  for (std::size_t i = 0; i < twice.size(); i += 4) twice[i + 3] = twice[i + 2];
  for (std::size_t i = 64; i < half.size(); ++i) half[i] = 0;
  for (std::uint32_t& word : turned) word = word << 16 | word >> 16;
  for (std::uint32_t& word : smaller) word -= 0x04000400;
  CHECK_THAT(
      said("a", warp.a, exchanged),
      Catch::StartsWith("\nmistake: registers of A: a1 and a2 are exchanged (explains all 256 elements, ") &&
          Catch::Contains(" elements of a differ:\n  lane 0 register 1, "));
  CHECK_THAT(said("a", warp.a, twice), Catch::StartsWith("\nmistake: register a3 holds a2 "));
  CHECK_THAT(said("a", warp.a, half),
             Catch::StartsWith("\nprobable mistake: A in lanes 16 to 31 is not loaded, 0 "));
  CHECK_THAT(said("b", warp.b, turned),
             Catch::StartsWith("\nmistake: the two halves of each register of B are exchanged "));
  CHECK_THAT(said("b", warp.b, smaller), Catch::StartsWith("\nmistake: B is divided by 2 "));
}

TEST_CASE("what cannot be compared says why", "[equal_bits]") {
  const auto too_few = EqualBits(mma().operands()[0], Words(3));
  CHECK_FALSE(too_few.match(Words(32 * 4)));
  CHECK_THAT(too_few.describe(), Catch::Contains("12 bytes") && Catch::Contains("4 registers of 32 bits"));
  const auto matcher = EqualBits(mma().operands()[0], Words(32 * 4));
  CHECK_FALSE(matcher.match(Words(5)));
  CHECK_THAT(matcher.describe(), Catch::Contains("20 bytes"));
  const auto missing = EqualBits(mma(), Words(32 * 4), Words(32 * 2));
  CHECK_FALSE(missing.match(Words(32 * 4)));
  CHECK_THAT(missing.describe(), Catch::Contains("2 sources"));
  const auto wrong = EqualBits(mma(), Words(32 * 4), Words(32 * 4), Words(32 * 4));
  CHECK_FALSE(wrong.match(Words(32 * 4)));
  CHECK_THAT(wrong.describe(), Catch::Contains("b: ") && Catch::Contains("512 bytes"));
}

}  // namespace equal_bits_test
