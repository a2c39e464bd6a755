// SPDX-License-Identifier: Apache-2.0
// What codes mean and what numbers become: the texts are read again with big integers and compared with the
// oracle's reading of the fields.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "oracle/arithmetic.hpp"
#include "tally.hpp"
#include "tool.hpp"
#include "warpbit/format.hpp"

namespace explain_format_test {

using namespace tool;
using oracle::cpp_int;
using warpbit::CodeClass;
using warpbit::encode_number;
using warpbit::explain_code;
using warpbit::ExplainedCode;
using warpbit::FormatInfo;
using warpbit::Rounding;

// +-numerator / denominator
struct Ratio {
  cpp_int numerator, denominator = 1;

  friend bool operator==(const Ratio& x, const Ratio& y) {
    return x.numerator * y.denominator == y.numerator * x.denominator;
  }
  friend bool operator<(const Ratio& x, const Ratio& y) {
    return x.numerator * y.denominator < y.numerator * x.denominator;
  }
};

Ratio scaled(cpp_int numerator, int base, int exponent) {
  Ratio out{std::move(numerator)};
  (exponent < 0 ? out.denominator : out.numerator) *=
      pow(cpp_int(base), static_cast<unsigned>(std::abs(exponent)));
  return out;
}

// "-1.25e-7"
Ratio read_decimal(const std::string& text) {
  const std::size_t e = std::min(text.find('e'), text.size()), point = text.find('.');
  std::string digits = text.substr(0, e);
  std::erase_if(digits, [](char c) { return c == '.' || c == '-'; });
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  int exponent = e < text.size() ? std::stoi(text.substr(e + 1)) : 0;
  if (point < e) exponent -= static_cast<int>(e - point - 1);
  const cpp_int magnitude(digits);
  return scaled(text.starts_with('-') ? -magnitude : magnitude, 10, exponent);
}

// "-1.75 x 2^-3"
Ratio read_power(const std::string& text) {
  const std::size_t times = text.find(" x 2^");
  Ratio out = read_decimal(text.substr(0, times));
  const Ratio power = scaled(1, 2, std::stoi(text.substr(times + 5)));
  return {out.numerator * power.numerator, out.denominator * power.denominator};
}

// "-0x1.cp-3"
Ratio read_hexadecimal(std::string text) {
  const bool negative = text.starts_with('-');
  if (negative) text.erase(0, 1);
  const std::size_t p = text.find('p'), point = text.find('.');
  std::string digits = text.substr(0, p);
  if (point < p) digits.erase(point, 1);
  const int exponent = std::stoi(text.substr(p + 1)) - (point < p ? 4 * static_cast<int>(p - point - 1) : 0);
  const cpp_int magnitude(digits);
  return scaled(negative ? -magnitude : magnitude, 2, exponent);
}

// The oracle knows no registers' types; they are plain integers.
oracle::Value value_of(const FormatInfo& f, std::uint64_t code) {
  if (f.name == "b8" || f.name == "b16" || f.name == "b32")
    return {code ? oracle::Value::finite : oracle::Value::zero, false, code, 0, 0, code};
  return oracle::decode(std::string(f.name), code);
}

Ratio ratio_of(const oracle::Value& v) {
  return scaled(v.negative ? -v.magnitude : v.magnitude, 2, v.exponent);
}

bool is_number(const oracle::Value& v) {
  return v.kind == oracle::Value::zero || v.kind == oracle::Value::finite;
}

CodeClass class_of(const FormatInfo& f, const oracle::Value& v) {
  if (v.kind == oracle::Value::nan) return CodeClass::nan;
  if (v.kind == oracle::Value::infinity) return CodeClass::infinity;
  if (v.kind == oracle::Value::zero) return CodeClass::zero;
  if (f.is_integer) return f.fraction_bits > 0 ? CodeClass::fixed_point : CodeClass::integer;
  const bool is_short = f.has_subnormals && v.magnitude < (cpp_int(1) << f.fraction_bits);
  return is_short ? CodeClass::subnormal : CodeClass::normal;
}

std::string bits_of(const ExplainedCode& e) {
  std::string out;
  for (const warpbit::CodeField& field : e.fields) out += field.bits;
  return out;
}

// The bits of a code that count.
std::uint64_t counted(const FormatInfo& f, std::uint64_t code) {
  return code & ((std::uint64_t{1} << (f.bits - f.ignored_high)) - 1);
}

bool reads_back(const FormatInfo& f, std::uint64_t code, const ExplainedCode& e, const oracle::Value& v) {
  const Ratio expected = ratio_of(v);
  if (!(read_decimal(e.decimal) == expected) || e.decimal.starts_with('-') != v.negative) return false;
  if (!f.is_integer && (!(read_power(e.power) == expected) || !(read_hexadecimal(e.hexadecimal) == expected)))
    return false;
  for (const std::string& text : {e.decimal, f.is_integer ? e.decimal : e.hexadecimal}) {
    const auto n = encode_number(f.name, text);
    if (!n || n->code != counted(f, code) || !n->is_exact || n->error != "0" || n->is_beyond_largest)
      return false;
  }
  return true;
}

TEST_CASE("every code up to 16 bits is what its fields say, and its text is that code again",
          "[quick][explain][once]") {
  for (const FormatInfo& f : warpbit::all_formats()) {
    if (f.bits > 16) continue;
    Tally tally;
    for (std::uint64_t code = 0; code >> f.bits == 0; ++code) {
      const auto e = explain_code(f.name, code);
      const oracle::Value v = value_of(f, code);
      if (f.zero_bits != 0 && v.kind == oracle::Value::nan) {
        tally.check(!e, [&] { return fmt::format("{} {:#x}", f.name, code); });
        continue;
      }
      REQUIRE(e);
      const bool good = e->cls == class_of(f, v) && bits_of(*e) == fmt::format("{:0{}b}", code, f.bits) &&
                        (is_number(v) ? reads_back(f, code, *e, v)
                                      : e->decimal == (v.kind == oracle::Value::nan ? "NaN"
                                                       : v.negative                 ? "-Inf"
                                                                                    : "Inf"));
      tally.check(good, [&] { return fmt::format("{} {:#x}: {}", f.name, code, e->decimal); });
    }
    tally.judge(f.name);
  }
}

// Inf is greater than every number.
Ratio order_of(const oracle::Value& v) {
  if (v.kind == oracle::Value::infinity) return {(v.negative ? -1 : 1) * (cpp_int(1) << 2000)};
  return ratio_of(v);
}

TEST_CASE("neighbours are the next values", "[quick][explain]") {
  for (const FormatInfo& f : warpbit::all_formats()) {
    if (f.bits > 8 && f.name != "f16") continue;
    std::vector<std::pair<Ratio, std::uint64_t>> ordered;
    for (std::uint64_t code = 0; code >> f.bits == 0; ++code)
      if (const oracle::Value v = value_of(f, code); v.kind != oracle::Value::nan)
        ordered.emplace_back(order_of(v), code);
    std::ranges::sort(ordered, [](const auto& x, const auto& y) { return x.first < y.first; });
    Tally tally;
    const auto is = [&](const std::optional<std::uint64_t>& code, const Ratio* expected) {
      return code.has_value() == (expected != nullptr) &&
             (!code || (order_of(value_of(f, *code)) == *expected && counted(f, *code) == *code));
    };
    for (std::size_t first = 0, end = 0; first < ordered.size(); first = end) {
      while (end < ordered.size() && ordered[end].first == ordered[first].first) ++end;
      for (std::size_t i = first; i < end; ++i) {
        const auto e = explain_code(f.name, ordered[i].second);
        REQUIRE(e);
        tally.check(is(e->below, first ? &ordered[first - 1].first : nullptr) &&
                        is(e->above, end < ordered.size() ? &ordered[end].first : nullptr),
                    [&] { return fmt::format("{} {:#x}", f.name, ordered[i].second); });
      }
    }
    tally.judge(f.name);
  }
  for (const FormatInfo& f : warpbit::all_formats())
    if (f.has_nan) {
      const auto e = explain_code(f.name, encode_number(f.name, "nan")->code);
      CHECK(e->cls == CodeClass::nan);
      CHECK_FALSE((e->below || e->above));
    }
}

constexpr std::pair<Rounding, oracle::Round> kRoundings[] = {
    {Rounding::nearest_even, oracle::Round::nearest_even},
    {Rounding::toward_zero, oracle::Round::toward_zero},
    {Rounding::down, oracle::Round::down},
    {Rounding::up, oracle::Round::up},
    {Rounding::nearest_away, oracle::Round::nearest_away},
};

// magnitude * 2^exponent + far * 10^-places, as a decimal number with an exponent.
std::string decimal_of(bool negative, const cpp_int& magnitude, int exponent, int far, int places) {
  const Ratio x = scaled(magnitude, 2, exponent);
  const cpp_int digits = x.numerator * pow(cpp_int(10), static_cast<unsigned>(places)) / x.denominator + far;
  return fmt::format("{}{}e-{}", negative ? "-" : "", digits.str(), places);
}

// Of each number its upper midpoint, and what lies far below the last digit beside it.
TEST_CASE("numbers are rounded once, from all their digits", "[quick][explain][once]") {
  for (const char* name : {"e4m3", "e5m2", "e2m1", "ue8m0", "ue4m3", "s8", "f32", "f64", "s32"}) {
    Tally tally;
    const FormatInfo f = *warpbit::find_format_info(name);
    const std::uint64_t step = f.bits == 64 ? 0x0123'4567'89AB'CDEF : f.bits == 32 ? 0x0765'4321 : 1;
    const std::uint64_t last = f.bits == 64 ? ~std::uint64_t{0} - step : (std::uint64_t{1} << f.bits) - 1;
    for (std::uint64_t code = 0; code <= last; code += step) {
      const oracle::Value v = oracle::decode(name, code);
      if (!is_number(v)) continue;
      for (const int far : {-1, 0, 1})
        for (const auto& [mode, round] : kRoundings)
          for (const bool satfinite : {false, true}) {
            const std::string text =
                decimal_of(v.negative, 2 * v.magnitude + 1, v.exponent - 1, far, f.bits == 64 ? 1200 : 200);
            const auto got = encode_number(name, text, mode, satfinite);
            const cpp_int near = ((2 * v.magnitude + 1) << 200) + far;
            const std::uint64_t expected =
                oracle::encode(name, v.negative, near, v.exponent - 201, round, satfinite);
            tally.check(got && got->code == expected, [&] {
              return fmt::format("{} {:#x} {} {}: {:#x}", name, code, far, static_cast<int>(mode), expected);
            });
          }
    }
    tally.judge(name);
  }
}

TEST_CASE("what a number becomes, by hand", "[quick][explain]") {
  struct Case {
    const char *format, *text;
    std::uint64_t code;
    const char* error;
    Rounding mode = Rounding::nearest_even;
    bool satfinite = false;
  };
  const Case cases[] = {
      {"e4m3", "3.3", 0x45, "-0.2"},
      {"e4m3", "-3.3", 0xC5, "+0.2"},
      {"e4m3", "3.3", 0x46, "+0.8", Rounding::up},
      {"e4m3", "3.375", 0x46, "+0.5"},
      {"e4m3", "3.375", 0x46, "+0.5", Rounding::nearest_away},
      {"e4m3", "3.125", 0x44, "-0.5"},
      {"e4m3", "3.125", 0x45, "+0.5", Rounding::nearest_away},
      {"e4m3", "450", 0x7E, "-0.0625"},
      {"e4m3", "464", 0x7E, "-0.5"},
      {"e4m3", "464.001", 0x7F, ""},
      {"e4m3", "1e9999", 0x7E, "about -3.125e+9997", Rounding::nearest_even, true},
      {"e4m3", "inf", 0x7F, ""},
      {"e4m3", "-inf", 0xFE, "", Rounding::nearest_even, true},
      {"e5m2", "-inf", 0xFC, ""},
      {"e2m1", "inf", 0x7, ""},
      {"f16", "65520", 0x7C00, ""},
      {"f16", "65519.99", 0x7BFF, "-0.4996875"},
      {"f64", "0.1", 0x3FB999999999999A, "+0.4"},
      {"f64", "1/3", 0x3FD5555555555555, "-1/3"},
      {"f64", "2/6", 0x3FD5555555555555, "-1/3"},
      {"f32", "2^-12", 0x39800000, "0"},
      {"f32", "-2^3", 0xC1000000, "0"},
      {"f32", "0x1.000001p0", 0x3F800000, "-0.5"},
      {"f32", "0x1.00000100000000000000000000000001p0", 0x3F800001, "about +0.5"},
      {"f32", "16777217", 0x4B800000, "-0.5"},
      {"f64", "1e-10000", 0, "about -2.02402e-9677"},
      {"f64", "1e-10000", 1, "about +1", Rounding::up},
      {"ue8m0", "0", 0, "+1"},
      {"ue8m0", "-1", 0xFF, ""},
      {"s8", "-128.5", 0x80, "+0.5"},
      {"s8", "300", 44, "-256"},
      {"s8", "300", 127, "-173", Rounding::nearest_even, true},
      {"s8", "1e40", 127, "about -10000000000000000000000000000000000000000", Rounding::nearest_even, true},
      {"u8", "-1", 0xFF, "+256"},
      {"u8", "-1", 0, "+1", Rounding::nearest_even, true},
      {"b32", "0xABp4", 0xAB0, "0"},
      {"double", ".5e+0", 0x3FE0000000000000, "0"},
      {"half", "+0.", 0, "0"},
  };
  for (const Case& c : cases) {
    INFO(c.format << " " << c.text);
    const auto got = encode_number(c.format, c.text, c.mode, c.satfinite);
    REQUIRE(got);
    CHECK(got->code == c.code);
    CHECK(got->error == c.error);
    CHECK(got->is_exact == (std::string(c.error) == "0" || (got->error.empty() && got->code == 0xFC)));
  }
}

TEST_CASE("what is no number or no code", "[quick][explain]") {
  for (const std::string text : {"",
                                 "-",
                                 "+",
                                 ".",
                                 "e5",
                                 "1e",
                                 "1e+",
                                 "1e+-2",
                                 "1e5.",
                                 "0x",
                                 "0x1",
                                 "0x1.8",
                                 "0xp1",
                                 "0x1p",
                                 "1/",
                                 "2^",
                                 "2^x",
                                 "/3",
                                 "1/0",
                                 "1//3",
                                 "1.5/2",
                                 "1/2/3",
                                 "--1",
                                 "1 ",
                                 " 1",
                                 "1,5",
                                 "nano",
                                 "infin",
                                 "1e10001",
                                 "1e-10001",
                                 "0x1p10001",
                                 "1e99999999999999999999",
                                 "1e-99999999999999999999",
                                 "12a",
                                 "½"}) {
    INFO("'" << text << "'");
    const auto got = encode_number("f32", text);
    REQUIRE_FALSE(got);
    CHECK_THAT(got.error().message(), Catch::StartsWith("number: "));
  }
  CHECK_FALSE(encode_number("f32", std::string(10'001, '1')));
  CHECK(encode_number("f32", std::string(10'000, '1'))->code == 0x7F800000);
  CHECK(encode_number("e2m1", "nan").error().message() == "e2m1: it has no NaN; expected a number");
  CHECK_FALSE(encode_number("s8", "inf"));
  CHECK(encode_number("s8", "-inf", Rounding::nearest_even, true)->code == 0x80);
  CHECK_FALSE(explain_code("f33", 0));
  CHECK_FALSE(warpbit::landmarks("f33"));
  CHECK(explain_code("e4m3", 0x100).error().message() == "e4m3: code 0x100; expected at most 8 bits, 0xff");
  CHECK(explain_code("f64", ~std::uint64_t{0})->cls == CodeClass::nan);
}

TEST_CASE("warpbit format prints codes and numbers", "[quick][cli]") {
  const Output code = run({"format", "e4m3", "0x7e"});
  CHECK(code.status == 0);
  CHECK(code.out ==
        "e4m3 0x7e\n"
        "  bits       0 1111 110   sign | exponent | fraction\n"
        "  class      normal\n"
        "  value      448\n"
        "             1.75 x 2^8 = 0x1.cp+8\n"
        "  ulp        32\n"
        "  next below 0x7d  416\n"
        "  next above none\n");
  CHECK(run({"format", "e4m3", "0b0111_1110"}).out == code.out);
  CHECK(run({"format", "e4m3", "3.3", "--round", "rn"}).out ==
        "e4m3 0x45 = 3.3 by rn\n"
        "  bits       0 1000 101   sign | exponent | fraction\n"
        "  class      normal\n"
        "  value      3.25\n"
        "             1.625 x 2^1 = 0x1.ap+1\n"
        "  ulp        0.25\n"
        "  error      -0.2 ulp\n"
        "  next below 0x44  3\n"
        "  next above 0x46  3.5\n");
  CHECK(run({"format", "tf32", "0x3f801fff"}).out ==
        "tf32 0x3f801fff\n"
        "  bits       0 01111111 0000000000 1111111111111   sign | exponent | fraction | ignored\n"
        "  class      normal\n"
        "  value      1\n"
        "             1 x 2^0 = 0x1p+0\n"
        "  ulp        0.0009765625\n"
        "  next below 0x3f7fe000  0.99951171875\n"
        "  next above 0x3f802000  1.0009765625\n");
  CHECK(run({"format", "s8", "-300.5", "--satfinite"}).out ==
        "s8 0x80 = -300.5 by rn, satfinite\n"
        "  bits       10000000   integer\n"
        "  class      integer\n"
        "  value      -128\n"
        "  error      +172.5\n"
        "  beyond     the least number is -128\n"
        "  next below none\n"
        "  next above 0x81  -127\n");
}

TEST_CASE("warpbit format prints formats and tables", "[quick][cli]") {
  CHECK(run({"format", "e4m3"}).out ==
        "e4m3 (float8_e4m3fn fp8_e4m3)\n"
        "  bits       8: 1 sign, 4 exponent, 3 fraction\n"
        "  bias       7\n"
        "  defined in OCP OFP8 1.0\n"
        "\n"
        "landmark         code  bits        value\n"
        "zero             0x00  0 0000 000  0\n"
        "least subnormal  0x01  0 0000 001  0.001953125\n"
        "least normal     0x08  0 0001 000  0.015625\n"
        "one              0x38  0 0111 000  1\n"
        "largest          0x7e  0 1111 110  448\n"
        "NaN              0x7f  0 1111 111  NaN\n");
  CHECK(run({"format", "e2m1", "--table"}).out ==
        "code  +0  +1   +2  +3   +4  +5  +6  +7  +8  +9    +a  +b    +c  +d  +e  +f\n"
        "0x0   0   0.5  1   1.5  2   3   4   6   -0  -0.5  -1  -1.5  -2  -3  -4  -6\n");
  const Output all = run({"format"});
  CHECK(all.status == 0);
  CHECK(all.lines().size() == warpbit::all_formats().size() + warpbit::block_formats().size() + 3);
  CHECK(all.lines()[7] ==
        "e4m3     8     1 4 3    7     448           0.015625      0.001953125      -    yes");
  for (const FormatInfo& f : warpbit::all_formats()) {
    const std::string name(f.name);
    for (const Output& output : {run({"format", name}), run({"format", name, "--table"}), all})
      for (const std::string& line : output.lines()) CHECK(line.size() <= 110);
  }
  const auto json = nlohmann::json::parse(run({"format", "e5m2", "--table", "--json"}).out);
  REQUIRE(json["codes"].size() == 256);
  CHECK(json["codes"][0x3D] == nlohmann::json{{"code", "0x3d"},
                                              {"bits", "0 01111 01"},
                                              {"class", "normal"},
                                              {"value", "1.25"},
                                              {"power", "1.25 x 2^0"},
                                              {"hexadecimal", "0x1.4p+0"}});
  const Output csv = run({"format", "u4", "--table", "--csv"});
  CHECK(csv.lines().size() == 17);
  CHECK(csv.lines()[16] == "0xf,1111,integer,15,,");
  CHECK_THAT(run({"format", "f32", "--table", "--markdown"}).out, Catch::Contains("| least normal "));
  CHECK_THAT(run({"format", "f32", "--table"}).out,
             Catch::StartsWith("f32 has 2^32 codes; these are its landmarks\n"));
}

TEST_CASE("warpbit format refuses with what would be right", "[quick][cli]") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Output output = run(arguments);
    CHECK(output.status == 2);
    CHECK(output.out.empty());
    CHECK_THAT(output.err, Catch::Contains(message));
  };
  refused({"format", "e9m9"}, "'e9m9'; expected one of f64, f32, tf32, ");
  refused({"format", "e4m3", "0x100"}, "code 0x100; expected at most 8 bits, 0xff");
  refused({"format", "e4m3", "0x"}, "'0x'; expected 0x and at most 16 hexadecimal digits");
  refused({"format", "e4m3", "0b12"}, "'0b12'; expected 0b and at most 64 binary digits");
  refused({"format", "e4m3", "abc"}, "'abc'; expected a decimal number");
  refused({"format", "e4m3", "3.3", "--round", "up"}, "--round");
  refused({"format", "e4m3", "0x7e", "--round", "rz"}, "with a code");
  refused({"format", "e4m3", "--satfinite"}, "without a number");
  refused({"format", "--table"}, "behind a format alone");
  refused({"format", "e4m3", "1", "--table"}, "behind a format alone");
  refused({"format", "e4m3", "--csv"}, "without --table");
  refused({"format", "e4m3", "1", "2"}, "2 numbers; expected one");
  refused({"format", "e4m3", "--table", "--json", "--csv"}, "--");
}

}  // namespace explain_format_test
