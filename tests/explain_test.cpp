// SPDX-License-Identifier: Apache-2.0
// Explanations: their numbers obey the laws of a sum that is cut and rounded, judged with numbers of any size,
// and end in what the hardware returned; differences between targets, found and explained.
#include <fmt/format.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <catch2/catch.hpp>
#include <filesystem>
#include <random>
#include <set>

#include "count_wanted.hpp"
#include "oracle/formats.hpp"
#include "tally.hpp"
#include "tool.hpp"
#include "warpbit/explain.hpp"

namespace explain_test {

using namespace warpbit;
using boost::multiprecision::cpp_int;
using Ratio = boost::multiprecision::cpp_rational;

Ratio power(int n) {
  return n >= 0 ? Ratio(cpp_int(1) << n) : Ratio(cpp_int(1), cpp_int(1) << -n);
}

Ratio number(const ExactNumber& x) {
  cpp_int bits = 0;
  for (const char bit : x.bits) bits = 2 * bits + (bit - '0');
  const Ratio out = Ratio(bits) * power(x.exponent);
  return x.negative ? Ratio(-out) : out;
}
bool is_finite(const ExactNumber& x) {
  return x.kind == ExactNumber::Kind::finite;
}

Ratio number(std::string_view format, std::uint64_t code) {
  const oracle::Value value = oracle::decode(oracle::find_format(format), code);
  const Ratio out = Ratio(value.magnitude) * power(value.exponent);
  return value.negative ? Ratio(-out) : out;
}
bool is_number(std::string_view format, std::uint64_t code) {
  const auto kind = oracle::decode(oracle::find_format(format), code).kind;
  return kind == oracle::Value::zero || kind == oracle::Value::finite;
}

bool obeys_laws(const ExplainedSum& sum) {
  Ratio total = 0;
  for (const ExplainedAddend& addend : sum.addends) {
    if (!is_finite(addend.value)) return !sum.window;
    const Ratio value = number(addend.value), kept = number(addend.kept);
    total += kept;
    if (!sum.window) {
      if (kept != value) return false;
      continue;
    }
    const Ratio unit = power(sum.window->e - sum.window->f), lost = abs(value) - abs(kept);
    if (lost < 0 || lost >= unit || (kept != 0 && (kept < 0) != (value < 0))) return false;
    if (denominator(Ratio(kept / unit)) != 1) return false;
  }
  return total == number(sum.total) &&
         (!is_number(sum.format, sum.code) || number(sum.format, sum.code) == number(sum.result));
}

// What all cuts and roundings take away is what the result is off by.
Ratio lost(const Explanation& e) {
  Ratio out = 0;
  for (const ExplainedSum& sum : e.sums) {
    out += number(sum.total) - number(sum.result);
    for (const ExplainedAddend& addend : sum.addends) out += number(addend.value) - number(addend.kept);
  }
  return out;
}

// The nearest code, and the error in its units.
bool obeys_laws(const Explanation& e) {
  if (e.sums.empty() || e.sums.back().code != e.code || e.sums.back().format != e.format) return false;
  const bool finite = std::ranges::all_of(
      e.sums, [](const ExplainedSum& sum) { return is_finite(sum.total) && is_finite(sum.result); });
  if (finite && is_finite(e.exact) && lost(e) != number(e.exact) - number(e.result)) return false;
  for (const ExplainedSum& sum : e.sums)
    if (!obeys_laws(sum)) return false;
  if (!e.nearest) return true;
  const oracle::Format& f = oracle::find_format(e.format);
  const Ratio exact = number(e.exact);
  if (is_number(e.format, *e.nearest))
    for (const std::uint64_t other : {*e.nearest - 1, *e.nearest + 1}) {
      if (!is_number(e.format, other)) continue;
      const Ratio mine = abs(Ratio(number(e.format, *e.nearest) - exact)),
                  theirs = abs(Ratio(number(e.format, other) - exact));
      if (mine > theirs || (mine == theirs && *e.nearest % 2 != 0)) return false;
    }
  int exponent = f.min_exponent();
  if (exact != 0) {
    const int top = static_cast<int>(msb(cpp_int(abs(numerator(exact))))) -
                    static_cast<int>(msb(cpp_int(denominator(exact))));  // a power of two
    exponent = std::max(exponent, top);
  }
  return number(*e.ulps) * power(exponent - f.fraction_bits) == abs(Ratio(number(e.format, e.code) - exact));
}

TEST_CASE("an explained capture ends in what the hardware returned", "[explain]") {
  const std::set<std::string> families = {"mma", "mma_sp", "wmma_mma", "wgmma", "wgmma_sp"};
  Tally tally;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("golden")) {
    const std::filesystem::path path = entry.path();
    if (path.extension() != ".npz" || !families.contains(path.parent_path().filename().string())) continue;
    if (++files % 8 != 0) continue;  // for the time it takes
    const Result<CaptureReader> reader = CaptureReader::open(path);
    REQUIRE(reader.ok());
    if (reader->header().layout == CaptureLayout::digests) continue;
    const Coordinate at{static_cast<int>(files / 8 % 8), static_cast<int>(files / 64 % 8)};
    const std::uint64_t cases = reader->arrays()[0].shape[0];
    const Result<Explanation> e = explain_capture(path, files % cases, at);
    INFO(path << ": " << (e ? "" : e.error().message()));
    REQUIRE(e.ok());
    tally.check(e->recorded == e->code && obeys_laws(*e),
                [&] { return fmt::format("{}\n{}", path.string(), text(*e, 100)); });
  }
  tally.judge("explained captures");
}

// A statement, a target on which it exists, the formats of A, B and C.
struct Form {
  std::string_view text, target, a, b, c;
};
constexpr Form kForms[] = {
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_90", "f16", "f16", "f32"},
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "sm_80", "bf16", "bf16", "f32"},
    {"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "sm_90", "f16", "f16", "f16"},
    {"mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32", "sm_70", "f16", "f16", "f32"},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "sm_90", "tf32", "tf32", "f32"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "sm_89", "e4m3", "e5m2", "f32"},
    {"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", "sm_90", "e4m3", "e5m2", "f32"},
    {"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e2m1.f32", "sm_120a", "e3m2", "e2m1", "f32"},
    {"mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "sm_90", "f64", "f64", "f64"},
    {"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32", "sm_80", "s8", "u8", "s32"},
};

TEST_CASE("explanations of random elements obey the laws", "[explain][sampled]") {
  std::mt19937_64 random(1);
  for (const Form& form : kForms) {
    const Result<Instruction> instruction = Instruction::parse(form.text, *Target::find(form.target));
    REQUIRE(instruction.ok());
    const auto code = [&](std::string_view format) {
      const oracle::Format& f = oracle::find_format(format);
      std::uint64_t out = 0;
      do {
        out = f.width() == 64 ? random() : random() & ((std::uint64_t{1} << f.width()) - 1);
        if (f.exponent_bits > 4) out &= ~(std::uint64_t{3} << (f.width() - 3));  // no large exponents
      } while (!is_number(format, out));
      return out;
    };
    Tally tally;
    for (std::uint64_t run = count_wanted("WARPBIT_EXPLANATIONS", 300); run > 0; --run) {
      std::vector<std::uint64_t> a, b;
      const std::uint64_t c = code(form.c);
      Ratio exact = number(form.c, c);
      for (int k = 0; k < instruction->terms(); ++k) {
        a.push_back(code(form.a));
        b.push_back(code(form.b));
        exact += number(form.a, a.back()) * number(form.b, b.back());
      }
      const Result<Explanation> e = explain_element(*instruction, {a, b, c});
      const Result<Element> executed = execute_element(*instruction, {a, b, c});
      REQUIRE(e.ok());
      REQUIRE(executed.ok());
      tally.check(e->code == executed->code && number(e->exact) == exact && obeys_laws(*e),
                  [&] { return text(*e, 100); });
    }
    tally.judge(fmt::format("{} on {}", form.text, form.target));
  }
}

TEST_CASE("a sum that begins without C has no C among its addends", "[explain]") {
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", *Target::find("sm_90"));
  REQUIRE(mma.ok());
  const std::vector<std::uint64_t> one = {0x38};
  const Result<Explanation> e = explain_element(*mma, {one, one, 0x3F800000});
  REQUIRE(e.ok());
  REQUIRE(e->sums.size() == 3);
  CHECK(e->sums[0].addends[0].name == "zero");
  CHECK_FALSE(e->sums[0].after.has_value());
  CHECK(e->sums[1].addends[0].name == "sum 1");
  CHECK_FALSE(e->sums[1].after.has_value());
  CHECK(e->sums[2].addends[0].name == "c");
  CHECK(e->sums[2].after == 32);
}

TEST_CASE("exact numbers as text", "[explain]") {
  const auto text = [](std::string bits, int exponent, bool negative = false) {
    const ExactNumber x{ExactNumber::Kind::finite, negative, std::move(bits), exponent};
    return x.decimal() + " " + x.ratio();
  };
  CHECK(text("", 0) == "0 0");
  CHECK(text("1", 0) == "1 1");
  CHECK(text("101", -1, true) == "-2.5 -5/2");
  CHECK(text("1", -4) == "0.0625 1/16");
  CHECK(text("11", 4) == "48 48");
  CHECK(text("11", 70) == "3541774862152233910272 3 x 2^70");
  CHECK(text("1", -30) == "0.000000000931322574615478515625 1/2^30");
  CHECK(ExactNumber{ExactNumber::Kind::nan, false, "", 0}.decimal() == "nan");
  CHECK(ExactNumber{ExactNumber::Kind::infinity, true, "", 0}.ratio() == "-inf");
}

TEST_CASE("a NaN or Inf decides alone, and has no distance", "[explain]") {
  const Result<Instruction> mma =
      Instruction::parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", *Target::find("sm_90"));
  REQUIRE(mma.ok());
  const std::vector<std::uint64_t> a = {0x7C00, 0x3C00}, b = {0x0000, 0x3C00}, one = {0x3C00, 0x3C00};
  const Result<Explanation> nan = explain_element(*mma, {a, b, 0});
  REQUIRE(nan.ok());
  CHECK(nan->code == 0x7FFFFFFF);
  CHECK(nan->exact.kind == ExactNumber::Kind::nan);
  CHECK_FALSE(nan->sums[0].window.has_value());
  CHECK_FALSE(nan->nearest.has_value());
  CHECK(text(*nan, 100).find("a[0] b[0] + a[1] b[1] = nan + 1") != std::string::npos);
  const Result<Explanation> infinite = explain_element(*mma, {a, one, 0});
  REQUIRE(infinite.ok());
  CHECK(infinite->code == 0x7F800000);
  CHECK(infinite->exact.decimal() == "inf");
}

// ---- Differences

Instruction parse(std::string_view form, std::string_view target) {
  const Result<Instruction> out = Instruction::parse(form, *Target::find(target));
  REQUIRE(out.ok());
  return *out;
}

TEST_CASE("inputs that tell two targets apart are found, and are small", "[explain]") {
  for (const std::string_view form : {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                                      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
                                      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
                                      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"}) {
    INFO(form);
    const Instruction x = parse(form, "sm_80"), y = parse(form, "sm_90");
    const Result<DifferenceSearch> search = find_difference({x}, {y});
    REQUIRE(search.ok());
    REQUIRE(search->found.has_value());
    CHECK_FALSE(search->equal_steps);
    const ElementInputs& in = search->found->inputs;
    const Result<Element> first = execute_element(x, in), second = execute_element(y, in);
    REQUIRE(first.ok());
    REQUIRE(second.ok());
    CHECK(first->code != second->code);
    CHECK(search->found->comparison.explanations[0].code == first->code);
    CHECK(search->found->comparison.explanations[1].code == second->code);
    CHECK_FALSE(search->found->comparison.reasons[1].empty());
    CHECK(std::ranges::count_if(in.a, [](std::uint64_t code) { return code != 0; }) <= 4);
  }
}

TEST_CASE("targets with equal plans are said to be equal", "[explain]") {
  constexpr std::string_view kForm = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  const Result<DifferenceSearch> search = find_difference({parse(kForm, "sm_90")}, {parse(kForm, "sm_90a")});
  REQUIRE(search.ok());
  CHECK(search->equal_steps);
  CHECK_FALSE(search->found.has_value());
}

TEST_CASE("codes between two codes", "[explain]") {
  CHECK(codes_between("f32", 0x3F800000, 0x3F800001) == 1);
  CHECK(codes_between("f32", 0x80000000, 0) == 0);
  CHECK(codes_between("f32", 0x80000001, 0x00000002) == 3);
  CHECK(codes_between("f16", 0x7C00, 0x7BFF) == 1);
  CHECK(codes_between("f16", 0x7C01, 0x7BFF) == std::nullopt);
  CHECK(codes_between("s32", 1, 2) == std::nullopt);
}

}  // namespace explain_test
