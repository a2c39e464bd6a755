// SPDX-License-Identifier: Apache-2.0
// Errors of targets and orders over several K. What a study says is judged by sums of rational numbers from the bits alone, and by
// whole products of warpbit::gemm in the words of each order.
#include "warpbit/study.hpp"

#include <fmt/format.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compare/compare_inputs.hpp"
#include "tool.hpp"
#include "warpbit/gemm.hpp"

namespace study_test {

using namespace warpbit;
using namespace tool;
using Catch::Contains;
using Rational = boost::multiprecision::cpp_rational;
using Depths = std::vector<std::size_t>;

Computation made(const char* form, const char* target, const char* order, std::size_t depth) {
  const Result<Instruction> instruction = Instruction::parse(form, target);
  REQUIRE((instruction ? "" : instruction.error().message()) == "");
  const Result<Computation> out = computation(*instruction, order, depth);
  REQUIRE((out ? "" : out.error().message()) == "");
  return *out;
}

constexpr const char *kHopper = "wgmma.m64n8k32.f32.e4m3", *kBlackwell = "tcgen05.f32.e4m3";

// FP8 on both GPUs, in three orders.
std::vector<Computation> fp8(std::size_t depth) {
  std::vector<Computation> out;
  for (const auto& [form, target] : {std::pair(kHopper, "H100"), std::pair(kBlackwell, "B200")})
    for (const char* order : {"ascending", "promote=128", "split_k=4"})
      out.push_back(made(form, target, order, depth));
  return out;
}

DepthStudy studied(const std::vector<Computation>& computations, const InputChoice& choice, std::uint64_t cases,
                   const Depths& depths, bool zero_c = false) {
  Result<DepthStudy> out = compare_depths(computations, choice, cases, depths, {}, zero_c);
  REQUIRE((out ? "" : out.error().message()) == "");
  return *std::move(out);
}

// ---- By other means

Rational power_of_two(int exponent) {
  const Rational out(boost::multiprecision::cpp_int(1) << std::abs(exponent));
  return exponent < 0 ? 1 / out : out;
}

// A code of some exponent and fraction bits.
Rational value(std::uint64_t code, int exponent_bits, int fraction_bits) {
  const auto fraction = static_cast<std::int64_t>(code & ((1ULL << fraction_bits) - 1));
  const auto field = static_cast<int>(code >> fraction_bits & ((1ULL << exponent_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const Rational magnitude = Rational(field == 0 ? fraction : fraction + (1LL << fraction_bits)) *
                             power_of_two(std::max(field, 1) - bias - fraction_bits);
  return (code >> (exponent_bits + fraction_bits) & 1) != 0 ? Rational(-magnitude) : magnitude;
}

// 2^(e - 23) for 2^e <= |x| < 2^(e+1) and a normal x. The denominator is a power of two.
Rational f32_ulp(const Rational& x) {
  using boost::multiprecision::msb;
  if (x == 0) return power_of_two(-149);
  const int e = static_cast<int>(msb(abs(numerator(x)))) - static_cast<int>(msb(denominator(x)));
  return power_of_two(std::max(e, -126) - 23);
}

// The inputs of a case: K factors of each row and column.
struct Product {
  std::size_t rows = 0, columns = 0, depth = 0;
  std::vector<std::uint8_t> a, b;  // a row by row, b column by column
  std::vector<std::uint32_t> c;

  Rational exact(std::size_t row, std::size_t column, std::size_t k_end) const {
    Rational out = value(c[row * columns + column], 8, 23);
    for (std::size_t k = 0; k < k_end; ++k)
      out += value(a[row * depth + k], 4, 3) * value(b[column * depth + k], 4, 3);
    return out;
  }
  std::vector<std::uint32_t> by(const Instruction& instruction, const char* order, std::size_t k_end) const {
    std::vector<std::uint32_t> d(rows * columns);
    const auto down = static_cast<std::ptrdiff_t>(depth), across = static_cast<std::ptrdiff_t>(columns);
    const Gemm problem{rows,
                       columns,
                       k_end,
                       {a.data(), down, 1},
                       {b.data(), 1, down},
                       {c.data(), across, 1},
                       {d.data(), across, 1}};
    GemmOptions options;
    options.order = SumOrder::parse(order).value();
    REQUIRE(gemm(instruction, problem, options).ok());
    return d;
  }
};

Product product_of(const std::vector<Computation>& computations, const InputChoice& choice, std::size_t depth) {
  const Instruction& i = computations[0].instruction;
  Product out{static_cast<std::size_t>(i.rows()), static_cast<std::size_t>(i.columns()), depth, {}, {}, {}};
  const auto captures = inputs_along_steps(computations, choice, 0, 1, depth).value();
  std::vector<Coordinate> elements;
  for (int row = 0; row < i.rows(); ++row)
    for (int column = 0; column < i.columns(); ++column) elements.push_back({row, column, 0});
  for (const ElementInputs& in : inputs_along_k(captures, 0, elements)) {
    if (out.c.size() % out.columns == 0) out.a.insert(out.a.end(), in.a.begin(), in.a.end());
    if (out.c.size() < out.columns) out.b.insert(out.b.end(), in.b.begin(), in.b.end());
    out.c.push_back(static_cast<std::uint32_t>(in.c));
  }
  return out;
}

// The errors of results in ascending order, and how many are none.
struct Errors {
  std::vector<Rational> list, magnitudes;
  Errors(const Product& p, const std::vector<std::uint32_t>& d, const std::vector<Rational>& exact) {
    for (std::size_t i = 0; i < p.c.size(); ++i)
      list.push_back((value(d[i], 8, 23) - exact[i]) / f32_ulp(exact[i]));
    for (const Rational& error : list) magnitudes.push_back(abs(error));
    std::ranges::sort(list);
    std::ranges::sort(magnitudes);
  }
};

// Doubles hold these errors: all are multiples of a power of two with few bits.
void check_errors(const ComparedResults& got, const Errors& expected) {
  REQUIRE(got.errors.size() == expected.list.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.errors.size(); ++i)
    wrong += Rational(got.errors[i]) != expected.list[i] ? 1 : 0;
  CHECK(wrong == 0);
  const std::size_t count = expected.list.size();
  CHECK(Rational(statistics(got).p50) == expected.magnitudes[(count + 1) / 2 - 1]);
  CHECK(Rational(statistics(got).p99) == expected.magnitudes[(99 * count + 99) / 100 - 1]);
  CHECK(Rational(statistics(got).max) == expected.magnitudes.back());
}

TEST_CASE("each row of a study is what gemm gives in its order, against rational sums",
          "[quick][study][once]") {
  const Depths depths = {128, 256};
  const InputChoice choice{11, inputs::Profile::ordinary};
  const std::vector<Computation> computations = fp8(256);
  constexpr const char* kOrders[] = {"ascending", "promote=128", "split_k=4"};
  Product p = product_of(computations, choice, 256);
  for (const bool zero_c : {false, true}) {
    if (zero_c) std::ranges::fill(p.c, 0);
    const DepthStudy study = studied(computations, choice, 1, depths, zero_c);
    REQUIRE(study.comparisons.size() == depths.size());
    for (std::size_t i = 0; i < depths.size(); ++i) {
      const Comparison& c = study.comparisons[i];
      CHECK(c.depth == depths[i]);
      CHECK(c.elements == p.c.size());
      std::vector<Rational> exact;
      for (std::size_t e = 0; e < p.c.size(); ++e)
        exact.push_back(p.exact(e / p.columns, e % p.columns, depths[i]));
      const std::vector<std::uint32_t> first = p.by(computations[0].instruction, "ascending", depths[i]);
      for (std::size_t n = 0; n < computations.size(); ++n) {
        INFO(study.computations[n].name << ", K " << depths[i] << (zero_c ? ", C is zero" : ""));
        const std::vector<std::uint32_t> d = p.by(computations[n].instruction, kOrders[n % 3], depths[i]);
        check_errors(c.results[n], Errors(p, d, exact));
        std::uint64_t differing = 0;
        for (std::size_t e = 0; e < d.size(); ++e) differing += d[e] != first[e] ? 1 : 0;
        CHECK(c.results[n].differing == differing);
      }
    }
    // What the study is for: promotion mends some of what a Hopper loses, and a Blackwell loses less.
    const auto correct = [&](std::size_t n) { return study.comparisons[1].results[n].correctly_rounded; };
    CHECK(correct(0) < correct(1));
    CHECK(correct(0) < correct(3));
  }
}

// ---- One K at a time

void check_same(const Comparison& got, const Comparison& expected) {
  CHECK(got.cases == expected.cases);
  CHECK(got.elements == expected.elements);
  CHECK(got.depth == expected.depth);
  CHECK(got.names == expected.names);
  REQUIRE(got.results.size() == expected.results.size());
  for (std::size_t n = 0; n < got.results.size(); ++n) {
    const ComparedResults &x = got.results[n], &y = expected.results[n];
    CHECK(x.differing == y.differing);
    CHECK(x.most_codes == y.most_codes);
    CHECK(x.correctly_rounded == y.correctly_rounded);
    CHECK(x.special == y.special);
    CHECK(x.overflowed == y.overflowed);
    CHECK(x.errors == y.errors);
  }
  REQUIRE(got.first.has_value() == expected.first.has_value());
  if (!got.first) return;
  CHECK(got.first->index == expected.first->index);
  CHECK(text(got.first->comparison, 100) == text(expected.first->comparison, 100));
}

TEST_CASE("a study has what each K has alone", "[quick][study]") {
  struct Row {
    std::vector<Computation> computations;
    Depths depths;
    inputs::Profile profile;
  };
  constexpr const char *kF16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                       *kShallow = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32",
                       *kSparse = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
                       *kInteger = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
                       *kScaled = "mma.m16n8k64.nvfp4";
  const std::vector<Row> rows = {
      {{made(kF16, "sm_80", "ascending", 48), made(kShallow, "sm_90", "descending", 48)},
       {16, 32, 48},
       inputs::Profile::mixed},
      {{made(kSparse, "sm_90", "ascending", 64), made(kSparse, "sm_90", "split_k=2", 64)},
       {32, 64},
       inputs::Profile::ordinary},
      {{made(kInteger, "sm_90", "ascending", 64), made(kInteger, "sm_80", "ascending", 64)},
       {32, 64},
       inputs::Profile::mixed},
      {{made(kScaled, "RTX 5090", "ascending", 64), made(kScaled, "RTX 5090", "ascending", 64)},
       {64},
       inputs::Profile::ordinary}};
  for (const Row& row : rows) {
    const InputChoice choice{5, row.profile};
    const DepthStudy study = studied(row.computations, choice, 3, row.depths);
    for (std::size_t i = 0; i < row.depths.size(); ++i) {
      INFO(row.computations[0].instruction.canonical() << ", K " << row.depths[i]);
      check_same(study.comparisons[i], compare_generated(row.computations, choice, 3, row.depths[i]).value());
    }
  }
}

TEST_CASE("computations of a study have short names", "[quick][study]") {
  const auto names = [](const std::vector<Computation>& list) {
    std::vector<std::string> out;
    for (const StudiedComputation& c : study_of(list, {}).computations) out.push_back(c.name);
    return out;
  };
  using Names = std::vector<std::string>;
  CHECK(names(fp8(512)) == Names{"sm_90a ascending", "sm_90a promote=128", "sm_90a split_k=4",
                                 "sm_100a ascending", "sm_100a promote=128", "sm_100a split_k=4"});
  CHECK(names({made(kHopper, "H100", "ascending", 32), made(kBlackwell, "B200", "ascending", 32)}) ==
        Names{"sm_90a", "sm_100a"});
  CHECK(names({made(kHopper, "H100", "ascending", 64), made(kHopper, "H100", "split_k=2", 64)}) ==
        Names{"ascending", "split_k=2"});
  constexpr const char* kMma = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32";
  CHECK(names({made(kHopper, "H100", "ascending", 32), made(kMma, "H100", "ascending", 32)}) ==
        Names{"wgmma.mma_async.m64n8k32", "mma.m16n8k32.row.col"});
}

TEST_CASE("K that do not ascend are refused", "[quick][study]") {
  const auto refused = [](const Depths& depths) {
    const Result<DepthStudy> out = compare_depths(fp8(64), {}, 1, depths);
    REQUIRE_FALSE(out.ok());
    return out.error().message();
  };
  CHECK_THAT(refused({}), Contains("depth: no K; expected one or more"));
  CHECK_THAT(refused({64, 32}), Contains("a K of 32 behind one of 64"));
  CHECK_THAT(refused({33, 40}), Contains("a K of 64 behind one of 64") && Contains("multiples of 32"));
}

// ---- The command

const std::vector<std::string> kCommand = {"compare",
                                           kHopper + std::string("@H100"),
                                           kBlackwell + std::string("@B200"),
                                           "--order",
                                           "ascending",
                                           "--order",
                                           "promote=128,split_k=4",
                                           "--random",
                                           "ordinary",
                                           "--cases",
                                           "2",
                                           "--seed",
                                           "3",
                                           "--depth",
                                           "128,512"};

Output command(const std::vector<std::string>& more) {
  std::vector<std::string> all = kCommand;
  all.insert(all.end(), more.begin(), more.end());
  return run(all);
}

TEST_CASE("a table of several K, targets and orders", "[quick][cli]") {
  const Output out = command({});
  CHECK(out.err.empty());
  CHECK(out.status == 1);
  const std::vector<std::string> lines = out.lines();
  CHECK_THAT(lines[0], Contains("error: result - exact sum, in ulp of f32"));
  const DepthStudy study = studied(fp8(512), {3, inputs::Profile::ordinary}, 2, {128, 512});
  const auto heading = std::ranges::find_if(lines, [](const std::string& l) { return l.starts_with("  K  "); });
  REQUIRE(lines.end() - heading > 12);
  for (std::size_t i = 0; i < 12; ++i) {
    const ComparedResults& r = study.comparisons[i / 6].results[i % 6];
    const ErrorStatistics s = statistics(r);
    std::istringstream words(*(heading + 1 + static_cast<std::ptrdiff_t>(i)));
    const std::vector<std::string> got(std::istream_iterator<std::string>(words), {});
    const std::string correct = fmt::format(
        "{:.4g}", 100 * static_cast<double>(r.correctly_rounded) / static_cast<double>(r.errors.size()));
    const StudiedComputation& c = study.computations[i % 6];
    CHECK(got == std::vector<std::string>{i < 6 ? "128" : "512", fmt::format("{:.4g}", s.p50),
                                          fmt::format("{:.4g}", s.p99), fmt::format("{:.4g}", s.max),
                                          fmt::format("{:.4g}", s.bias), correct, "%", c.target, c.order});
  }
  // Which of them rests on a model.
  CHECK_THAT(out.out, Contains("tcgen05.mma.kind::f8f6f4.f32.e4m3.e4m3 on sm_100a: fused L 32, F 25") &&
                          Contains("(inferred:\n    no result of that GPU)"));
  // The same seed gives the same, and another one something else.
  CHECK(command({}).out == out.out);
  std::vector<std::string> other = kCommand;
  *(std::ranges::find(other, "--seed") + 1) = "4";
  CHECK(run(other).out != out.out);
  for (const std::size_t columns : {80, 100, 120})
    for (const std::string& line : run_with(fmt::format("COLUMNS={}", columns), kCommand).lines()) {
      INFO(line);
      CHECK(line.size() <= columns);
    }
}

TEST_CASE("the same as JSON and CSV", "[quick][cli]") {
  const auto json = nlohmann::json::parse(command({"--json"}).out);
  const DepthStudy study = studied(fp8(512), {3, inputs::Profile::ordinary}, 2, {128, 512});
  CHECK(json["computations"][4]["target"] == "sm_100a");
  CHECK(json["computations"][4]["order"] == "promote=128");
  CHECK(json["computations"][4]["mark"] == "inferred: no result of that GPU");
  CHECK_FALSE(json["computations"][0].contains("mark"));
  REQUIRE(json["depths"].size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& of = json["depths"][i];
    CHECK(of["depth"] == study.comparisons[i].depth);
    for (std::size_t n = 0; n < 6; ++n) {
      const ComparedResults& r = study.comparisons[i].results[n];
      CHECK(of["computations"][n]["p50"] == statistics(r).p50);
      CHECK(of["computations"][n]["bias"] == statistics(r).bias);
      CHECK(of["computations"][n]["correctly_rounded"] == r.correctly_rounded);
      CHECK(of["computations"][n]["differing"] == r.differing);
    }
  }
  const std::vector<std::string> rows = command({"--csv"}).lines();
  REQUIRE(rows.size() == 13);
  CHECK_THAT(rows[0], Catch::StartsWith("name,form,target,order,depth,differing,"));
  CHECK_THAT(rows[12], Contains(",sm_100a,split_k=4,512,") &&
                           Catch::EndsWith("," + json["depths"][1]["computations"][5]["max"].dump()));
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t out = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++out;
  return out;
}

TEST_CASE("a plot of errors against K, and bars of one K", "[quick][cli]") {
  const Directory directory;
  const std::string file = (directory.path / "errors.svg").string();
  CHECK(command({"--svg", file}).out == command({}).out);
  const std::string lines = archive::bytes_of(file);
  CHECK_THAT(lines, Catch::StartsWith("<?xml") && Catch::EndsWith("</svg>\n") &&
                        Contains("prefers-color-scheme:dark") && Contains("in ulp of f32") &&
                        Contains("sm_90a promote=128<") && Contains("sm_100a promote=128 (inferred)<") &&
                        Contains("dashed: inferred"));
  // Two panels of two K, and the legend; of three computations the marks are hollow and the lines dashed.
  CHECK(count(lines, "<circle") == 2 * 2 * 6 + 6);
  CHECK(count(lines, "<circle cx") == count(lines, "r=\"4\""));
  CHECK(count(lines, "r=\"4\" class=\"wb-paper\"") == 2 * 2 * 3 + 3);
  CHECK(count(lines, "stroke-dasharray") == 2 * 3 + 3);
  std::vector<std::string> one = kCommand;
  one.back() = "128";
  one.insert(one.end(), {"--svg", file});
  CHECK(run(one).status == 1);
  const std::string bars = archive::bytes_of(file);
  CHECK(count(bars, "<rect x=") == 2 * 6);
  CHECK(count(bars, "fill-opacity=\"0.25\"") == 2 * 3);
  CHECK_THAT(bars, Contains(">K 128<"));
  // Every statistic stands at its bar.
  const DepthStudy study = studied(fp8(128), {3, inputs::Profile::ordinary}, 2, {128});
  for (const ComparedResults& r : study.comparisons[0].results)
    CHECK_THAT(bars, Contains(fmt::format(">{:.3g}<", statistics(r).p50)) &&
                         Contains(fmt::format(">{:.3g}<", statistics(r).p99)));
}

TEST_CASE("studies that there are not", "[quick][cli]") {
  const auto refused = [](const std::vector<std::string>& arguments, const char* message) {
    const Output out = run(arguments);
    CHECK(out.status == 2);
    CHECK(out.out.empty());
    CHECK_THAT(out.err, Catch::StartsWith("warpbit: ") && Contains(message));
  };
  const auto with = [](const std::string& depths, const std::vector<std::string>& more = {}) {
    std::vector<std::string> out = kCommand;
    out.back() = depths;
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  refused(with("512,128"), "--depth: a K of 128 behind one of 512; expected numbers that ascend");
  refused(with("100,128"), "--depth: a K of 128 behind one of 128");
  const Output deep = run(with("128,16416"));
  CHECK(deep.status == 2);
  CHECK_THAT(deep.err, Contains("--depth: Value 16416 not in range 1 to 16384"));
  refused({"compare", kHopper, "--targets", "H100", "--order", "ascending,split_k=2", "--a", "1", "--zero-c"},
          "--zero-c: a comparison without generated inputs; expected it with --random PROFILE");
  refused(with("128,512", {"--explain"}),
          "--explain: several K, of which no element is explained; expected one K");
  refused(with("128,512", {"--svg", "errors.png"}), "--svg: 'errors.png'; expected a name that ends in .svg");
  refused(with("128,512", {"--order", "promote=100"}), "promote");
  refused({"compare", kHopper, "--targets", "H100", "--order", "ascending,split_k=2", "--depth", "64,128",
           "--a", "1"},
          "--depth: 2 numbers; expected one, or several with --random PROFILE");
  refused(
      {"compare", kHopper, "--targets", "H100", "--order", "ascending,split_k=2", "--a", "1", "--svg", "x.svg"},
      "--svg: a comparison without statistics; expected it with --random PROFILE");
  std::vector<std::string> many = with("4096,8192,16384");
  *(std::ranges::find(many, "--cases") + 1) = "100000";
  refused(many, "--cases: 100000 with a K of 4096,8192,16384; expected at most 195, or as many in each share");
  refused({"compare", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", "--targets", "sm_80,sm_90", "--random",
           "mixed", "--cases", "1", "--depth", "32,64", "--svg", "x.svg"},
          "picture: no element has an error; expected sums of floating-point numbers");
  CHECK_FALSE(std::filesystem::exists("x.svg"));
}

}  // namespace study_test
