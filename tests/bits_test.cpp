// SPDX-License-Identifier: Apache-2.0
// Whole arrays compared by their bits. Every text is written by hand.
#include "warpbit/bits.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "warpbit/matchers/catch2.hpp"

namespace bits_test {

using namespace warpbit;
using Words = std::vector<std::uint16_t>;

template <class T>
BitsComparison compared(const std::vector<T>& expected, const std::vector<T>& got, const ArrayShape& how = {}) {
  const Result<BitsComparison> out = compare_bits(array_bits(std::span<const T>(expected), how),
                                                  array_bits(std::span<const T>(got), how), "d");
  REQUIRE(out.ok());
  return *out;
}

// 16-bit zeros in rows and columns, with ones where a predicate holds.
template <class IsWrong>
BitsComparison pattern(std::size_t rows, std::size_t columns, IsWrong is_wrong) {
  Words got(rows * columns);
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      got[row * columns + column] = is_wrong(row, column) ? 1 : 0;
  return compared(Words(rows * columns), got, {{rows, columns}, ""});
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  while (times-- > 0) out += text;
  return out;
}

TEST_CASE("equal arrays have no text", "[quick][bits]") {
  const BitsComparison same = compared<float>({1, -0.0F}, {1, -0.0F});
  CHECK(same.equal());
  CHECK(same.text().empty());
  CHECK(compared<float>({}, {}).equal());
}

TEST_CASE("the whole text of a difference", "[quick][bits]") {
  std::vector<float> expected(4 * 8, 1), got = expected;
  for (std::size_t column = 0; column < 8; ++column) got[2 * 8 + column] = 1.5F;
  got[2 * 8] = std::bit_cast<float>(0x3F800003);
  CHECK(compared(expected, got, {{4, 8}, ""}).text() ==
        "8 of 32 elements of d differ, numbers by at most 4194304 ulp\n"
        "first at [2, 0]: expected 0x3f800000 (1), got 0x3f800003 (1.0000003576278687), 3 ulp apart\n"
        "8 wrong: all with row 2\n"
        "a character is 1 row x 1 column: · right, ░▒▓ some wrong, █ all wrong\n"
        "0 ········\n"
        "1 ········\n"
        "2 ████████\n"
        "3 ········\n");
}

TEST_CASE("signs of zeros, payloads of NaNs and integers", "[quick][bits]") {
  const auto first = [](const std::vector<std::uint32_t>& expected, const std::vector<std::uint32_t>& got,
                        std::string_view format) {
    return compared(expected, got, {{}, std::string(format)}).lines();
  };
  CHECK(first({0}, {0x80000000}, "f32") ==
        std::vector<std::string>{
            "1 of 1 elements of d differ",
            "first at [0]: expected 0x00000000 (0), got 0x80000000 (-0): the same number, with "
            "other bits"});
  CHECK(first({0x7FC00000}, {0x7FC00001}, "f32")[1] ==
        "first at [0]: expected 0x7fc00000 (nan), got 0x7fc00001 (nan): both NaN, with other bits");
  CHECK(first({0x7FC00000}, {0}, "f32")[1] == "first at [0]: expected 0x7fc00000 (nan), got 0x00000000 (0)");
  CHECK(first({0x00000001}, {0x80000001}, "f32")[1].ends_with(", 2 ulp apart"));
  CHECK(first({5}, {9}, "") == std::vector<std::string>{"1 of 1 elements of d differ",
                                                        "first at [0]: expected 0x00000005, got 0x00000009"});
  CHECK(compared<std::int32_t>({-3}, {4}).lines() ==
        std::vector<std::string>{"1 of 1 elements of d differ, numbers by at most 7",
                                 "first at [0]: expected 0xfffffffd (-3), got 0x00000004 (4), 7 apart"});
  CHECK(compared<double>({-1.7976931348623157e308}, {1.7976931348623157e308}).farthest ==
        std::uint64_t{2} * 0x7FEFFFFFFFFFFFFF);
  // The largest e4m3 and its neighbour: 448 and 416.
  CHECK(compared<std::uint8_t>({0x7E}, {0x7D}, {{}, "e4m3"}).lines()[1] ==
        "first at [0]: expected 0x7e (448), got 0x7d (416), 1 ulp apart");
}

TEST_CASE("patterns in words", "[quick][bits]") {
  const auto words = [](const BitsComparison& of) { return of.lines().at(2); };
  CHECK(words(pattern(32, 32, [](std::size_t row, std::size_t) { return row % 16 >= 8; })) ==
        "512 wrong: all with row 8 to 15 of each 16");
  CHECK(words(pattern(32, 32, [](std::size_t, std::size_t column) { return column == 3 || column == 7; })) ==
        "64 wrong: all with column 3, 7");
  CHECK(words(pattern(32, 32, [](std::size_t row, std::size_t column) {
          return row / 8 == 1 && column / 8 == 2;
        })) == "64 wrong: all with row 8 to 15, column 16 to 23");
  CHECK(words(pattern(32, 32, [](std::size_t row, std::size_t column) { return row / 8 == column / 8; })) ==
        "whole tiles of 8 x 8: 4 of 16, the first at row 0, column 0");
  CHECK(words(pattern(64, 64, [](std::size_t row, std::size_t column) {
          return row / 16 == 3 - column / 16;
        })) == "whole tiles of 16 x 16: 4 of 16, the first at row 0, column 48");
  CHECK(words(pattern(32, 32, [](std::size_t row, std::size_t column) { return row == column; })) ==
        "wrong elements are everywhere");
  CHECK(words(pattern(4, 4, [](std::size_t, std::size_t) { return true; })) == "every element is wrong");
  CHECK(words(compared(Words(6), Words{0, 0, 1, 1, 0, 0})) == "2 wrong: all with index 2 to 3");
  CHECK(words(compared(Words(8), Words{0, 0, 1, 1, 0, 0, 0, 0}, {{2, 2, 2}, ""})) ==
        "2 wrong: all with index 0 0, index 1 1");
}

TEST_CASE("a map fits 80 columns, and a character is a part of the array", "[quick][bits]") {
  const std::string large =
      pattern(4096, 4096, [](std::size_t row, std::size_t column) { return row < 64 && column == 64; }).text();
  const std::string dots = repeated("·", 62);
  // 64 of the 128 x 64 elements of the second character.
  CHECK(large.substr(large.find("a character")) ==
        "a character is 128 rows x 64 columns: · right, ░▒▓ some wrong, █ all wrong\n   0 ·░" + dots + "\n" +
            [] {
              std::string out;
              for (int row = 128; row < 4096; row += 128)
                out += std::string(4 - std::to_string(row).size(), ' ') + std::to_string(row) + " " +
                       repeated("·", 64) + "\n";
              return out;
            }());
  // Shades: 1, 2 and 3 of 4 elements of a character, and 4; of 3 at the edge all.
  Words got(259);
  for (const std::size_t i : std::vector<std::size_t>{0, 4, 5, 8, 9, 10, 12, 13, 14, 15, 256, 257, 258})
    got[i] = 1;
  const std::string row = compared(Words(259), got).text();
  CHECK(row.substr(row.find("a character")) ==
        "a character is 8 elements: · right, ░▒▓ some wrong, █ all wrong\n0 ▒▓" + repeated("·", 30) + "█\n");
  Words less(128);
  for (const std::size_t i : std::vector<std::size_t>{0, 2, 3}) less[i] = 1;
  const std::string pairs = compared(Words(128), less).text();
  CHECK(pairs.substr(pairs.find("a character")) ==
        "a character is 2 elements: · right, ░▒▓ some wrong, █ all wrong\n0 ▒█" + repeated("·", 62) + "\n");
}

TEST_CASE("a picture has both colour schemes, the words, and a cell for each part that is wrong",
          "[quick][bits]") {
  std::vector<float> expected(4 * 8, 1), got = expected;
  got[2 * 8 + 1] = 2;
  const BitsComparison of = compared(expected, got, {{4, 8}, ""});
  const std::string svg = bits_svg(of);
  CHECK_THAT(
      svg, Catch::StartsWith("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg ") &&
               Catch::Contains("@media(prefers-color-scheme:dark)") &&
               Catch::Contains(">1 of 32 elements of d differ, numbers by at most 8388608 ulp</text>") &&
               Catch::Contains(">1 wrong: all with row 2, column 1</text>") &&
               Catch::Contains(">a cell is 1 x 1 elements (rows x columns), redder the more are wrong</text>"));
  const std::string cell = "class=\"wb-wrong\"";
  CHECK(svg.find(cell) != svg.npos);
  CHECK(svg.find(cell) == svg.rfind(cell));
  const std::string path = "bits_test.svg";
  REQUIRE(write_bits_svg(path, of).ok());
  std::ifstream file(path);
  CHECK(std::string(std::istreambuf_iterator<char>(file), {}) == svg);
  CHECK(std::remove(path.c_str()) == 0);
  CHECK(write_bits_svg("no such folder/x.svg", of).error().code == Errc::file_unwritable);
}

TEST_CASE("what cannot be compared says what was seen and what is accepted", "[quick][bits]") {
  const std::vector<float> four(4);
  const std::vector<double> doubles(4);
  const auto said = [](const ArrayBits& expected, const ArrayBits& got) {
    const Result<BitsComparison> out = compare_bits(expected, got, "d");
    REQUIRE_FALSE(out.ok());
    CHECK(out.error().code == Errc::view_mismatch);
    return out.error();
  };
  const auto bits = [](const auto& items, ArrayShape how = {}) {
    return array_bits(std::span<const typename std::decay_t<decltype(items)>::value_type>(items), how);
  };
  const Error size = said(bits(four), bits(doubles));
  CHECK(size.seen == "items of 8 bytes of shape (4)");
  CHECK(size.accepted == "items of 4 bytes of shape (4), as expected has");
  CHECK(said(bits(four, {{2, 2}, ""}), bits(four)).accepted ==
        "items of 4 bytes of shape (2, 2), as expected has");
  CHECK(said(bits(four, {{5}, ""}), bits(four)).seen == "16 bytes for items of 4 bytes of shape (5)");
  const Error format = said(bits(four), bits(four, {{}, "tf32"}));
  CHECK(format.seen == "codes of tf32");
  CHECK(format.accepted == "codes of f32, as expected has");
  const std::vector<std::array<char, 3>> odd(2);
  CHECK(said(bits(odd), bits(odd)).accepted == "items of 1, 2, 4 or 8 bytes");
  const Result<BitsComparison> unknown = compare_bits(bits(four, {{}, "f31"}), bits(four));
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().code == Errc::usage);
}

TEST_CASE("the matcher takes vectors, spans and arrays", "[quick][bits]") {
  using catch2::EqualBits;
  const std::vector<float> expected = {1, 2, 3, 4};
  std::vector<float> got = expected;
  CHECK_THAT(got, EqualBits(expected));
  CHECK_THAT(std::span<const float>(got), EqualBits(std::span(expected), {.shape = {2, 2}}));
  CHECK_THAT((std::array<float, 4>{1, 2, 3, 4}), EqualBits(expected));
  got[3] = 4.5F;
  const auto matcher = EqualBits(expected, {.shape = {2, 2}});
  CHECK_FALSE(matcher.match(got));
  CHECK(matcher.describe() ==
        "\n1 of 4 elements of the array differ, numbers by at most 1048576 ulp\n"
        "first at [1, 1]: expected 0x40800000 (4), got 0x40900000 (4.5), 1048576 ulp apart\n"
        "1 wrong: all with row 1, column 1\n"
        "a character is 1 row x 1 column: · right, ░▒▓ some wrong, █ all wrong\n0 ··\n1 ·█\n");
  std::ostringstream said;
  Catch::makeMatchExpr(got, matcher, Catch::StringRef("EqualBits(...)")).streamReconstructedExpression(said);
  CHECK("\n" + said.str() == matcher.describe());
  const auto longer = EqualBits(expected);
  CHECK_FALSE(longer.match(std::vector<float>(5)));
  CHECK_THAT(longer.describe(), Catch::Contains("items of 4 bytes of shape (5)"));
}

TEST_CASE("the matcher names the mistake that makes a wrong product", "[quick][bits]") {
  using catch2::EqualBits, catch2::product_of;
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", *Target::find("sm_80"));
  REQUIRE(mma);
  // A has one 1 in each row, so that D has rows of B: codes of f16, and the same numbers as f32.
  std::vector<std::uint16_t> a(16 * 8, 0), b(8 * 8);
  std::vector<float> expected(16 * 8), transposed(16 * 8);
  const auto row_of = [](std::size_t i) { return i * 3 % 8; };
  const auto number = [](std::size_t k, std::size_t j) { return static_cast<std::uint16_t>(1 + 8 * k + j); };
  const auto code = [](std::uint16_t n) {  // of 1 to 64
    const int exponent = std::bit_width(n) - 1;
    return static_cast<std::uint16_t>((exponent + 15) << 10 | ((n << (10 - exponent)) & 0x3ff));
  };
  for (std::size_t i = 0; i < 16; ++i) a[i * 8 + row_of(i)] = code(1);
  for (std::size_t k = 0; k < 8; ++k)
    for (std::size_t j = 0; j < 8; ++j) b[k * 8 + j] = code(number(k, j));
  for (std::size_t i = 0; i < 16; ++i)
    for (std::size_t j = 0; j < 8; ++j) {
      expected[i * 8 + j] = number(row_of(i), j);
      transposed[i * 8 + j] = number(j, row_of(i));
    }
  const auto matcher = EqualBits(expected, {.shape = {16, 8}}, product_of(*mma, a, b));
  CHECK(matcher.match(expected));
  CHECK_FALSE(matcher.match(transposed));
  CHECK_THAT(matcher.describe(),
             Catch::Contains("ambiguous: 2 mistakes explain all 128 elements") &&
                 Catch::Contains("\n  B (row-major) is taken as column-major: explains 128 of 128"));
  const auto wrong = EqualBits(expected, {.shape = {16, 8}}, product_of(*mma, std::vector<float>(16 * 8), b));
  CHECK_FALSE(wrong.match(transposed));
  CHECK_THAT(
      wrong.describe(),
      Catch::Contains("no diagnosis: a: 512 bytes in items of 4, of shape (16, 8); expected a matrix of f16"));
}

}  // namespace bits_test
