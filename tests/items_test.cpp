// SPDX-License-Identifier: Apache-2.0
// Arrays of codes. Expected codes are IEEE 754's of this machine's float, written by hand, or those of the definition.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "warpbit/format.hpp"

namespace items_test {

using warpbit::BlockFormat;
using warpbit::Codec;

template <class T>
std::vector<T> encoded(std::string_view format, const std::vector<double>& numbers) {
  std::vector<T> out(numbers.size());
  const auto bad = warpbit::encode_items(*Codec::find(format), numbers, std::as_writable_bytes(std::span(out)));
  REQUIRE_FALSE(bad);
  return out;
}

TEST_CASE("f32 is rounded as this machine rounds it, subnormals and infinities too") {
  std::mt19937_64 random(1);
  std::vector<double> numbers = {0.0,     -0.0,     0x1p-150, 0x1.8p-149, -0x1p-1074, 0x1.fffffffp127,
                                 0x1p128, -0x1p200, INFINITY};
  for (int i = 0; i < 50'000; ++i) {
    numbers.push_back(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                                 static_cast<int>(random() % 300) - 213));
    numbers.push_back((static_cast<double>(static_cast<float>(numbers.back())) +
                       std::nextafter(static_cast<float>(numbers.back()), 0.0f)) /
                      2);
  }
  const auto codes = encoded<std::uint32_t>("f32", numbers);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    wrong += codes[i] != std::bit_cast<std::uint32_t>(static_cast<float>(numbers[i])) ? 1u : 0u;
  CHECK(wrong == 0);
}

TEST_CASE("small formats round ties to even, and go on where the fast way ends") {
  CHECK(encoded<std::uint8_t>("e2m1", {0.25, 0.75, 5, 5.1, -7, 1e300, -0x1p-1060}) ==
        std::vector<std::uint8_t>{0, 2, 6, 7, 0xF, 7, 8});
  CHECK(encoded<std::uint8_t>("e4m3", {0x1p-10, 0x1.8p-10, 448, 464, 465, -0.0}) ==
        std::vector<std::uint8_t>{0, 1, 0x7E, 0x7E, 0x7F, 0x80});
  CHECK(encoded<std::uint16_t>("f16", {65519, 65520, 0x1p-25, 0x1.4p-24}) ==
        std::vector<std::uint16_t>{0x7BFF, 0x7C00, 0, 1});
  CHECK(encoded<std::uint8_t>("ue4m3", {1, -1}) == std::vector<std::uint8_t>{0x38, 0x7F});
}

TEST_CASE("the first number that is refused is named") {
  std::vector<double> numbers(100'000, 1.0);
  numbers[99'000] = numbers[70'000] = 0.1;
  std::vector<std::uint16_t> codes(numbers.size());
  const auto bad = warpbit::encode_items(*Codec::find("f16"), numbers, std::as_writable_bytes(std::span(codes)),
                                         {.exactly = true});
  REQUIRE(bad);
  CHECK(bad->item == 70'000);
}

TEST_CASE("items come back") {
  std::vector<std::uint8_t> codes(256);
  for (std::size_t i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
  std::vector<double> numbers(256);
  warpbit::decode_items(*Codec::find("e5m2"), std::as_bytes(std::span(codes)), numbers);
  CHECK(numbers[0x3C] == 1);
  CHECK(numbers[0x80 | 0x01] == -0x1p-16);
  CHECK(numbers[0x7C] == INFINITY);
  CHECK(std::isnan(numbers[0x7F]));
}

// By hand: amax 6 needs a scale factor of 1 (0x38), amax 3 of 0.5 (0x30); the second block has one number.
TEST_CASE("rows begin blocks of their own") {
  const BlockFormat nvfp4 = *warpbit::find_block_format("nvfp4");
  std::vector<double> numbers(34, 0.5);
  numbers[0] = 6;
  numbers[16] = 3;
  numbers[17] = -6;
  numbers[33] = 0;
  std::vector<std::byte> codes(34), scales(4);
  REQUIRE(warpbit::quantize_items(nvfp4, numbers, 17, codes, scales));
  const auto code = [&](std::size_t i) { return std::to_integer<int>(codes[i]); };
  CHECK(code(0) == 7);
  CHECK(code(1) == 1);
  CHECK(code(16) == 7);
  CHECK(code(17) == 0xF);
  CHECK(code(33) == 0);
  CHECK(std::to_integer<int>(scales[0]) == 0x38);
  CHECK(std::to_integer<int>(scales[1]) == 0x30);
  CHECK(std::to_integer<int>(scales[3]) == 0);
  std::vector<double> back(34);
  warpbit::dequantize_items(nvfp4, codes, scales, 17, 2, back);
  CHECK(back[0] == 12);
  CHECK(back[16] == 6);
  numbers[20] = NAN;
  CHECK(warpbit::quantize_items(nvfp4, numbers, 17, codes, scales).error().where == "number 20");
}

}  // namespace items_test
