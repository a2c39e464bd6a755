// SPDX-License-Identifier: Apache-2.0
// Numbers of every format as doubles, and back: against the oracle, and against the same numbers as text.
#include <fmt/format.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "oracle/formats.hpp"
#include "tally.hpp"
#include "warpbit/format.hpp"

namespace codec_test {

using namespace warpbit;

// Of numbers that a double holds, which all of these are.
double number(const oracle::Value& value) {
  const double magnitude = std::ldexp(value.magnitude.convert_to<double>(), value.exponent);
  return value.negative ? -magnitude : magnitude;
}

bool is_same(double x, double y) {
  return std::isnan(x) ? std::isnan(y) : std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
}

TEST_CASE("codes are decoded as the oracle does", "[codec]") {
  std::mt19937_64 random(1);
  for (const FormatInfo& f : all_formats()) {
    const Result<Codec> codec = Codec::find(f.name);
    REQUIRE(codec.ok());
    CHECK(codec->name() == f.name);
    CHECK(codec->bits() == f.bits);
    Tally tally;
    for (int i = 0; i < 5000; ++i) {
      const std::uint64_t code =
          (f.bits <= 12 ? static_cast<std::uint64_t>(i) : random()) >> (f.bits <= 12 ? 0 : 64 - f.bits);
      const oracle::Value value = oracle::decode(oracle::find_format(f.name), code);
      const double expected = value.kind == oracle::Value::nan ? std::numeric_limits<double>::quiet_NaN()
                              : value.kind == oracle::Value::infinity
                                  ? (value.negative ? -1 : 1) * std::numeric_limits<double>::infinity()
                                  : number(value);
      tally.check(is_same(codec->decode(code), expected), [&] {
        return fmt::format("{} {:#x}: {} for {}", f.name, code, codec->decode(code), expected);
      });
    }
    tally.judge(std::string(f.name));
  }
}

TEST_CASE("doubles are encoded as the same numbers as text are", "[codec]") {
  std::mt19937_64 random(2);
  for (const FormatInfo& f : all_formats()) {
    const Codec codec = *Codec::find(f.name);
    Tally tally;
    for (int i = 0; i < 1500; ++i) {
      const double x = i % 3 == 0   ? std::bit_cast<double>(random())
                       : i % 3 == 1 ? std::ldexp(static_cast<double>(random() % 4096) - 2048, i % 23 - 11)
                                    : codec.decode(random());
      const auto mode = static_cast<Rounding>(i % 5);
      const bool satfinite = i % 2 != 0;
      const Result<EncodedNumber> expected = encode_number(f.name, fmt::format("{:a}", x), mode, satfinite);
      const Result<std::uint64_t> got = codec.encode(x, mode, satfinite);
      const bool same = expected ? got && *got == expected->code
                                 : !got && got.error().message() == expected.error().message();
      tally.check(same, [&] { return fmt::format("{} of {:a}", f.name, x); });
    }
    tally.judge(std::string(f.name));
  }
}

TEST_CASE("a format that is none", "[codec]") {
  CHECK(Codec::find("f17").error().message().starts_with("format: 'f17'; expected one of f64, f32, "));
}

}  // namespace codec_test
