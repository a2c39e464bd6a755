// SPDX-License-Identifier: Apache-2.0
// Block formats (OCP Microscaling Formats 1.0, 6.3; NVFP4). Expected values are worked out by hand, or by trying every code with
// numbers that a double has exactly.
#include "warpbit/format.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "tally.hpp"
#include "tool.hpp"

namespace quantize_test {

using namespace tool;
using warpbit::quantize;
using warpbit::QuantizedBlock;
using Words = std::vector<std::string>;

struct Expected {
  std::uint64_t code;
  std::string value, error;
};

void check(const QuantizedBlock& block, std::uint64_t scale, const std::string& scale_value,
           const std::vector<Expected>& elements) {
  CHECK(block.scale == scale);
  CHECK(block.scale_value == scale_value);
  REQUIRE(block.elements.size() == elements.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    INFO("element " << i);
    CHECK(block.elements[i].code == elements[i].code);
    CHECK(block.elements[i].value == elements[i].value);
    CHECK(block.elements[i].error == elements[i].error);
  }
}

const Words kSixteen = {"0.1", "0.2", "0.3", "-0.4", "0.5", "0.6", "0.7", "0.8",
                        "0.9", "1",   "1.1", "1.2",  "1.3", "1.4", "1.5", "6.5"};

TEST_CASE("a block of NVFP4", "[quick][quantize]") {
  const auto blocks = quantize("nvfp4", kSixteen);
  REQUIRE(blocks.ok());
  REQUIRE(blocks->size() == 1);
  const QuantizedBlock& block = blocks->front();
  CHECK(block.amax == "6.5");
  CHECK(block.unrounded_scale == "13/12");  // between 1 and 1.125, nearer to that
  check(block, 0x39, "1.125",
        {{0, "0", "-0.1"},
         {0, "0", "-0.2"},
         {1, "0.5625", "+0.2625"},
         {9, "-0.5625", "-0.1625"},
         {1, "0.5625", "+0.0625"},
         {1, "0.5625", "-0.0375"},
         {1, "0.5625", "-0.1375"},
         {1, "0.5625", "-0.2375"},
         {2, "1.125", "+0.225"},
         {2, "1.125", "+0.125"},
         {2, "1.125", "+0.025"},
         {2, "1.125", "-0.075"},
         {2, "1.125", "-0.175"},
         {2, "1.125", "-0.275"},
         {3, "1.6875", "+0.1875"},
         {7, "6.75", "+0.25"}});
}

TEST_CASE("ties go to the even code, and limits hold", "[quick][quantize]") {
  const auto one = [](const char* format, const Words& numbers) {
    const auto blocks = quantize(format, numbers);
    REQUIRE(blocks.ok());
    REQUIRE(blocks->size() == 1);
    return blocks->front();
  };
  check(one("nvfp4", {"6", "0.25", "0.75", "1.25", "2.5", "3.5", "5", "-0.25", "0", "-0"}), 0x38, "1",
        {{7, "6", "0"},
         {0, "0", "-0.25"},
         {2, "1", "+0.25"},
         {2, "1", "-0.25"},
         {4, "2", "-0.5"},
         {6, "4", "+0.5"},
         {6, "4", "-1"},
         {8, "-0", "+0.25"},
         {0, "0", "0"},
         {8, "-0", "0"}});
  check(one("nvfp4", {"6000", "-1"}), 0x7E, "448", {{7, "2688", "-3312"}, {8, "-0", "+1"}});
  check(one("nvfp4", {"0.001", "-0.001"}), 0, "0", {{0, "0", "-0.001"}, {8, "-0", "+0.001"}});
  check(one("nvfp4", {"0", "0"}), 0, "0", {{0, "0", "0"}, {0, "0", "0"}});
  check(one("mxfp8_e4m3", {"1", "3.3", "-1000"}), 0x80, "2",
        {{0x30, "1", "0"}, {0x3D, "3.25", "-0.05"}, {0xFE, "-896", "+104"}});
  check(one("mxfp4", {"5", "7", "-7"}), 0x7F, "1", {{6, "4", "-1"}, {7, "6", "-1"}, {15, "-6", "+1"}});
  CHECK(one("mxfp4", {"0x1p-140"}).scale == 0);
  CHECK(one("mxfp4", {"0x1p-140"}).elements[0].code == 0);
  CHECK(one("mxfp4", {"0"}).scale == 0);
  CHECK(one("mxfp4", {"1e300"}).scale == 0xFE);
  CHECK(one("mxfp4", {"1e300"}).unrounded_scale == "2^994");
  CHECK(one("mxfp4", {"-1e300"}).elements[0].code == 15);
}

TEST_CASE("the exponent of each format's largest element", "[quick][quantize]") {
  struct Row {
    const char* format;
    std::uint64_t scale, code;  // of 1
  };
  for (const Row& row : {Row{"mxfp8_e4m3", 119, 0x78}, Row{"mxfp8_e5m2", 112, 0x78},
                         Row{"mxfp6_e3m2", 123, 0x1C}, Row{"mxfp6_e2m3", 125, 0x18}, Row{"mxfp4", 125, 6}}) {
    INFO(row.format);
    const auto blocks = quantize(row.format, Words{"1"});
    REQUIRE(blocks.ok());
    CHECK(blocks->front().scale == row.scale);
    CHECK(blocks->front().elements[0].code == row.code);
    CHECK(blocks->front().elements[0].value == "1");
  }
}

TEST_CASE("blocks follow each other, and what is no block format or number is refused", "[quick][quantize]") {
  Words numbers(40, "1");
  numbers[16] = "3";
  const auto blocks = quantize("NVFP4", numbers);
  REQUIRE(blocks.ok());
  REQUIRE(blocks->size() == 3);
  CHECK((*blocks)[1].amax == "3");
  CHECK((*blocks)[2].elements.size() == 8);
  CHECK(quantize("mxfp4", numbers)->size() == 2);
  CHECK_THAT(quantize("fp4", numbers).error().message(),
             Catch::Contains("'fp4'; expected one of nvfp4, mxfp4, "));
  CHECK_FALSE(quantize("nvfp4", Words{}).ok());
  CHECK(quantize("nvfp4", Words{"1", "inf"}).error().message() == "number 1: 'inf'; expected a finite number");
  CHECK_FALSE(quantize("nvfp4", Words{"nan"}).ok());
  CHECK_FALSE(quantize("nvfp4", Words{"x"}).ok());
  CHECK_FALSE(quantize("nvfp4", std::vector<double>{HUGE_VAL}).ok());
  CHECK(quantize("nvfp4", std::vector<double>{0.1})->front().amax == "3602879701896397/36028797018963968");
}

// ---- Every code is tried

struct Naive {
  const char* name;
  int exponent_bits, fraction_bits, bias, codes;  // codes without a sign that are numbers
  int block;
};
constexpr Naive kNaive[] = {{"nvfp4", 2, 1, 1, 8, 16},        {"mxfp4", 2, 1, 1, 8, 32},
                            {"mxfp6_e3m2", 3, 2, 3, 32, 32},  {"mxfp6_e2m3", 2, 3, 1, 32, 32},
                            {"mxfp8_e4m3", 4, 3, 7, 127, 32}, {"mxfp8_e5m2", 5, 2, 15, 124, 32}};

double number(int code, int fraction_bits, int bias) {
  const int exponent = code >> fraction_bits, fraction = code & ((1 << fraction_bits) - 1);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                       : std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

// The code whose number times `unit` is nearest to x >= 0; of two the even one. All differences are exact.
int nearest(double x, double unit, int fraction_bits, int bias, int codes) {
  int best = 0;
  for (int code = 1; code < codes; ++code) {
    const double is = std::abs(number(code, fraction_bits, bias) * unit - x),
                 was = std::abs(number(best, fraction_bits, bias) * unit - x);
    if (is < was || (is == was && code % 2 == 0)) best = code;
  }
  return best;
}

TEST_CASE("random blocks equal the naive search", "[quick][quantize]") {
  std::mt19937 random(1);
  Tally tally;
  for (const Naive& f : kNaive)
    for (int round = 0; round < 40; ++round) {
      std::vector<double> numbers(static_cast<std::size_t>(f.block));
      const int size = 1 << (1 + random() % 13);
      for (double& x : numbers)
        x = (static_cast<int>(random() % (2U * static_cast<unsigned>(size) + 1)) - size) / 1024.0;
      double amax = 0;
      for (const double x : numbers) amax = std::max(amax, std::abs(x));
      if (amax == 0) continue;
      const auto blocks = quantize(f.name, numbers);
      REQUIRE(blocks.ok());
      const QuantizedBlock& block = blocks->front();
      double scale = 0;
      if (std::string_view(f.name) == "nvfp4") {
        const int code = nearest(amax, 6, 3, 7, 127);
        tally.check(block.scale == static_cast<std::uint64_t>(code),
                    [&] { return fmt::format("amax {}", amax); });
        scale = number(code, 3, 7);
      } else {
        int power = -200;
        while (std::ldexp(1, power + 1) <= amax) ++power;
        int of_largest = -200;
        while (std::ldexp(1, of_largest + 1) <= number(f.codes - 1, f.fraction_bits, f.bias)) ++of_largest;
        tally.check(block.scale == static_cast<std::uint64_t>(power - of_largest + 127),
                    [&] { return fmt::format("{}: amax {}", f.name, amax); });
        scale = std::ldexp(1, power - of_largest);
      }
      tally.check(std::stod(block.scale_value) == scale, [&] { return block.scale_value; });
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double x = numbers[i];
        const int code = scale == 0 ? 0 : nearest(std::abs(x), scale, f.fraction_bits, f.bias, f.codes);
        const double value = std::copysign(number(code, f.fraction_bits, f.bias) * scale, x);
        const auto wanted =
            static_cast<std::uint64_t>(code + (x < 0 ? 1 << (f.exponent_bits + f.fraction_bits) : 0));
        const auto& e = block.elements[i];
        tally.check(e.code == wanted && std::stod(e.value) == value && std::stod(e.error) == value - x, [&] {
          return fmt::format("{}: {} with scale {}: {:#x} {} {}", f.name, x, scale, e.code, e.value, e.error);
        });
      }
    }
  tally.judge("quantised numbers");
}

// ---- The command

TEST_CASE("warpbit format quantises a block", "[quick][quantize][cli]") {
  Words words = {"format", "nvfp4"};
  words.insert(words.end(), kSixteen.begin(), kSixteen.end());
  const Output shown = run(words);
  CHECK(shown.status == 0);
  CHECK_THAT(shown.out, Catch::StartsWith("nvfp4\n"
                                          "amax   6.5\n"
                                          "scale  6.5 / 6 = 13/12 -> ue4m3 0x39 (1.125)\n"
                                          "number  code  e2m1  value    error\n"
                                          "0.1     0x0   0     0        -0.1\n"));
  CHECK_THAT(shown.out, Catch::Contains("-0.4    0x9   -0.5  -0.5625  -0.1625\n"));
  words.push_back("--json");
  const auto json = nlohmann::json::parse(run(words).out);
  CHECK(json["schema"] == "format/1");
  CHECK(json["blocks"][0]["scale_code"] == "0x39");
  CHECK(json["blocks"][0]["elements"][3] == nlohmann::json{{"number", "-0.4"},
                                                           {"code", "0x9"},
                                                           {"element", "-0.5"},
                                                           {"value", "-0.5625"},
                                                           {"error", "-0.1625"}});
  CHECK_THAT(run({"format", "mxfp8", "1"}).out,
             Catch::StartsWith("mxfp8: mxfp8_e4m3 is meant; mxfp8_e5m2 is the other\nmxfp8_e4m3\n"));
  CHECK_THAT(run({"format", "nvfp4"}).out,
             Catch::Contains("  block      16 elements share a scale factor; 4.5 bits an element\n") &&
                 Catch::Contains("  scale      ue4m3: amax / 6, to nearest even, at most 448"));
  CHECK_THAT(run({"format", "mxfp4"}).out, Catch::Contains("ue8m0: 2^(floor(log2 amax) - 2)"));
  CHECK(run({"format", "nvfp4", "--table"}).status == 2);
  CHECK(run({"format", "nvfp4", "1", "inf"}).status == 2);
}

TEST_CASE("warpbit format knows the names that people use", "[quick][quantize][cli]") {
  const std::pair<const char*, const char*> kNames[] = {
      {"fp16", "f16"},         {"half", "f16"},   {"bfloat16", "bf16"},      {"fp32", "f32"},
      {"float", "f32"},        {"double", "f64"}, {"fp8_e4m3", "e4m3"},      {"float8_e4m3fn", "e4m3"},
      {"float8_e5m2", "e5m2"}, {"fp4", "e2m1"},   {"float4_e2m1fn", "e2m1"}, {"FP4", "e2m1"},
      {"fp6_e2m3", "e2m3"},    {"e8m0", "ue8m0"}, {"E4M3", "e4m3"}};
  for (const auto& [name, format] : kNames) {
    INFO(name);
    const auto found = warpbit::find_format_info(name);
    REQUIRE(found.ok());
    CHECK(found->name == format);
  }
  CHECK(warpbit::find_format_info("fp8")->name == "e4m3");
  CHECK_THAT(run({"format", "fp8", "0.3"}).out,
             Catch::StartsWith("fp8: e4m3 is meant; e5m2 is the other\ne4m3 0x2a = 0.3 by rn\n"));
  CHECK_THAT(run({"format", "fp6"}).out, Catch::StartsWith("fp6: e3m2 is meant; e2m3 is the other\n"));
}

TEST_CASE("warpbit format as JSON, and one notation for all largest numbers", "[quick][quantize][cli]") {
  const auto parsed = [](const Words& words) { return nlohmann::json::parse(run(words).out); };
  const auto code = parsed({"format", "e4m3", "0x7e", "--json"});
  CHECK(code["schema"] == "format/1");
  CHECK(code["code"] == "0x7e");
  CHECK(code["value"] == "448");
  CHECK(code["above"].is_null());
  CHECK(code["below"] == "0x7d");
  const auto number = parsed({"format", "e4m3", "3.3", "--json"});
  CHECK(number["code"] == "0x45");
  CHECK(number["error_ulp"] == "-0.2");
  CHECK(number["is_exact"] == false);
  CHECK(parsed({"format", "e4m3", "--json"})["landmarks"].size() == 6);
  CHECK(parsed({"format", "--json"})["block_formats"].size() == 6);
  const Output all = run({"format"});
  CHECK(all.out.find("0x1") == std::string::npos);
  CHECK_THAT(all.out, Catch::Contains(" 3.40282e+38 ") && Catch::Contains(" 1.79769e+308 ") &&
                          Catch::Contains(" 65504 "));
}

}  // namespace quantize_test
