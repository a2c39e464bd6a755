// SPDX-License-Identifier: Apache-2.0
// Orders of a sum: their notation, and products in them against chains of single elements, whose runs stand in the table
// below and whose sums are doubles that are rounded here.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "warp.hpp"
#include "warpbit/format.hpp"
#include "warpbit/gemm.hpp"

namespace sum_order_test {

using namespace warpbit;
using Codes = std::vector<std::uint64_t>;

// ---- Numbers

// A number of a format with p fraction bits and this minimum exponent, to nearest even.
double rounded(double x, std::string_view format) {
  const int p = format == "f16" ? 10 : format == "bf16" ? 7 : 23, least = format == "f16" ? -14 : -126;
  if (x == 0) return x;
  int e = 0;
  std::frexp(x, &e);
  const double unit = std::ldexp(1, std::max(e - 1, least) - p);
  return std::nearbyint(x / unit) * unit;
}
// Exact in double, or the test is none.
double exact_sum(double x, double y) {
  const double s = x + y, back = s - x;
  REQUIRE((x - (s - back)) + (y - back) == 0);
  return s;
}
double exact_product(double x, double y) {
  REQUIRE(std::fma(x, y, -(x * y)) == 0);
  return x * y;
}
double number(std::string_view format, std::uint64_t code) {
  return decode(format, std::vector{code}).value()[0];
}
std::uint64_t code_of(std::string_view format, double x) {
  return encode(format, std::vector{x}).value()[0];
}

// ---- The naive sum

struct Range {
  std::size_t first, last;
};
// "0-64,64-100/..|..": runs, of slices, of blocks; each block is ranges joined by +.
using Blocks = std::vector<std::vector<Range>>;
using Run = std::vector<Blocks>;

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> out(1);
  for (const char c : text)
    if (c == separator)
      out.emplace_back();
    else
      out.back() += c;
  return out;
}
std::vector<Run> runs_of(const std::string& text) {
  std::vector<Run> out;
  for (const std::string& run : parts_of(text, '|')) {
    out.emplace_back();
    for (const std::string& slice : parts_of(run, '/')) {
      out.back().emplace_back();
      for (const std::string& block : parts_of(slice, ',')) {
        out.back().back().emplace_back();
        for (const std::string& range : parts_of(block, '+')) {
          const std::vector<std::string> ends = parts_of(range, '-');
          out.back().back().back().push_back({std::stoul(ends.at(0)), std::stoul(ends.at(1))});
        }
      }
    }
  }
  return out;
}

constexpr std::size_t kRows = 9, kColumns = 10;

struct Problem {
  Instruction instruction;
  std::size_t depth;
  Codes a, b;

  Problem(const std::string& form, std::size_t k, std::string_view format, unsigned seed = 1)
      : instruction(warp::parse(form, "sm_90a")), depth(k), a(kRows * k), b(k * kColumns) {
    std::mt19937_64 random(seed);
    for (Codes* codes : {&a, &b})
      for (std::uint64_t& code : *codes)
        code = code_of(format, static_cast<double>(static_cast<int>(random() % 2047) - 1023) /
                                   static_cast<double>(64U << random() % 8));
  }

  double block(const std::vector<Range>& ranges, std::size_t row, std::size_t column, double start) const {
    const auto terms = static_cast<std::size_t>(instruction.terms());
    std::uint64_t running = code_of("f32", start);
    for (const Range& range : ranges)
      for (std::size_t first = range.first; first < range.last; first += terms) {
        Codes x, y;
        for (std::size_t k = first; k < std::min(first + terms, range.last); ++k) {
          x.push_back(a[row * depth + k]);
          y.push_back(b[k * kColumns + column]);
        }
        running = execute_element(instruction, {x, y, running, {}, {}}).value().code;
      }
    return number("f32", running);
  }
};

// A row: an order of the sum, the runs that it means, and how they are merged.
struct Case {
  std::string order;
  std::string runs;
  std::size_t depth = 100;
  std::string form = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
  std::string format = "f16";
};
const Case kCases[] = {
    {"ascending", "0-100"},
    {"descending", "96-100+80-96+64-80+48-64+32-48+16-32+0-16"},
    {"2:0:1 split_k=2", "32-40+0-16|16-32", 40},
    {"split_k=3", "0-48|48-96|96-100"},
    {"split_k=3 unit=32", "0-64|64-100"},
    {"split_k=3 unit=32 spread=first", "0-64|64-96|96-100"},
    {"split_k=3 unit=32 spread=last", "0-32|32-64|64-100"},
    {"split_k=3 unit=24 spread=down", "0-24|24-48|48-100"},
    {"split_k=3 unit=32 spread=cut", "0-64|64-100"},
    {"split_k=3 unit=64 spread=cut", "0-64|64-128|128-192", 194},
    {"split_k=3 unit=64", "0-128|128-200", 200},
    {"split_k=90 unit=32", "0-32|32-64|64-96|96-100"},
    {"omit=64", "0-64"},
    {"omit=64 split_k=2 unit=32", "0-32|32-64"},
    {"runs=40:7:53", "0-40|40-47|47-100"},
    {"runs=60:40 short_first=32", "0-28+28-60|60-68+68-100"},
    {"short_first=64", "0-36+36-100"},
    {"sliced=2x32", "0-32+64-96/32-64+96-100"},
    {"sliced=2x32 short_first=64", "0-32+36-68/32-36+68-100"},
    {"sliced=3x16 split_k=2 unit=64", "0-16+48-64/16-32/32-48|64-80/80-96/96-100"},
    {"promote=32", "0-32,32-64,64-96,96-100"},
    {"promote=48 split_k=2 unit=64 descending", "96-100+80-96+64-80,48-64|32-48+16-32+0-16"},
    {"split_k=4 merge_order=descending", "0-32|32-64|64-96|96-100"},
    {"split_k=5 unit=16 merge_order=pairs", "0-32|32-64|64-96|96-100"},
    {"split_k=7 merge_order=pairs", "0-16|16-32|32-48|48-64|64-80|80-96|96-100"},
    {"split_k=7 merge_order=halves", "0-16|16-32|32-48|48-64|64-80|80-96|96-100"},
    {"split_k=7 merge_order=tree", "0-16|16-32|32-48|48-64|64-80|80-96|96-100"},
    {"split_k=7 merge_order=fours", "0-16|16-32|32-48|48-64|64-80|80-96|96-100"},
    {"split_k=6 unit=8 merge_order=fours store=f16", "0-8|8-16|16-24|24-32|32-40|40-42", 42},
    {"split_k=3 spread=turns", "0-16+48-64+96-100|16-32+64-80|32-48+80-96"},
    {"split_k=2 unit=24 spread=turns", "0-24+48-72+96-100|24-48+72-96"},
    {"split_k=3 partials=f16 store=f16", "0-48|48-96|96-100"},
    {"split_k=3 merge=bf16 store=f16", "0-48|48-96|96-100"},
    {"split_k=3 partials=bf16 merge=f16", "0-48|48-96|96-100"},
    {"store=bf16", "0-100"},
    {"tf32=rn split_k=2 unit=24", "0-24|24-42", 42, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
     "tf32"},
};

struct Formats {
  std::string partials, merge, store;
};
Formats formats_of(const SumOrder& o) {
  const auto usual = [](const std::string& name, const std::string& other) {
    return name.empty() ? other : name;
  };
  const std::string merge = usual(o.merge, "f32");
  return {usual(o.partials, "f32"), merge, usual(o.store, merge)};
}

// Sums of runs as they are merged, by the words of the manual page.
double merged(std::vector<double> sums, const SumOrder& o, const std::string& to) {
  const auto add = [&](double x, double y) { return rounded(rounded(exact_sum(x, y), "f32"), to); };
  if (o.merge_order == MergeOrder::descending) std::ranges::reverse(sums);
  if (o.merge_order == MergeOrder::fours) {
    for (std::size_t i = 4; i < sums.size(); ++i) sums[i % 4] = add(sums[i % 4], sums[i]);
    sums.resize(std::min<std::size_t>(sums.size(), 4));
  }
  if (o.merge_order == MergeOrder::ascending || o.merge_order == MergeOrder::descending ||
      o.merge_order == MergeOrder::fours) {
    double out = rounded(sums[0], to);
    for (std::size_t i = 1; i < sums.size(); ++i) out = add(out, sums[i]);
    return out;
  }
  if (o.merge_order == MergeOrder::tree) {
    if (sums.size() == 1) return sums[0];
    const auto middle = sums.begin() + static_cast<std::ptrdiff_t>(sums.size() / 2);
    return add(merged({sums.begin(), middle}, o, to), merged({middle, sums.end()}, o, to));
  }
  while (sums.size() > 1) {
    const std::size_t half = (sums.size() + 1) / 2;
    std::vector<double> next;
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t x = o.merge_order == MergeOrder::pairs ? 2 * i : i,
                        y = o.merge_order == MergeOrder::pairs ? 2 * i + 1 : i + half;
      next.push_back(y < sums.size() ? add(sums[x], sums[y]) : sums[x]);
    }
    sums = next;
  }
  return sums[0];
}

double naive(const Problem& p, const std::vector<Run>& runs, const SumOrder& o, std::size_t row,
             std::size_t column) {
  const Formats formats = formats_of(o);
  std::vector<double> sums;
  for (const Run& run : runs) {
    double total = 0;
    for (std::size_t slice = 0; slice < run.size(); ++slice) {
      double outer = 0;
      for (const std::vector<Range>& block : run[slice])
        outer = rounded(exact_sum(outer, p.block(block, row, column, 0)), "f32");
      total = slice == 0 ? outer : rounded(exact_sum(total, outer), "f32");
    }
    sums.push_back(rounded(total, formats.partials));
  }
  return rounded(merged(sums, o, formats.merge), formats.store);
}

// D of the library, as numbers.
std::vector<double> product(const Problem& p, const SumOrder& order, int threads = 1,
                            const std::function<void(Gemm&)>& change = {}) {
  const auto items = [](const Codes& codes, std::size_t bytes) {
    std::vector<std::byte> out(codes.size() * bytes);
    for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&out[i * bytes], &codes[i], bytes);
    return out;
  };
  const std::string_view format = format_of_result(p.instruction, order);
  const std::size_t in = static_cast<std::size_t>(p.instruction.operands()[1].element_bits) / 8,
                    out = format == "f32" ? 4 : 2;
  const std::vector<std::byte> a = items(p.a, in), b = items(p.b, in);
  std::vector<std::byte> d(kRows * kColumns * out);
  Gemm problem{kRows,
               kColumns,
               p.depth,
               {a.data(), static_cast<std::ptrdiff_t>(p.depth), 1},
               {b.data(), kColumns, 1},
               {},
               {d.data(), kColumns, 1}};
  if (change) change(problem);
  GemmOptions options{order};
  options.execute.threads = threads;
  const Result<Execution> done = gemm(p.instruction, problem, options);
  REQUIRE((done ? "" : done.error().message()) == "");
  std::vector<double> numbers;
  for (std::size_t i = 0; i < kRows * kColumns; ++i) {
    std::uint64_t code = 0;
    std::memcpy(&code, &d[i * out], out);
    numbers.push_back(number(format, code));
  }
  return numbers;
}

TEST_CASE("products are summed in the order that is described", "[sum_order]") {
  const Case& c = GENERATE(from_range(std::begin(kCases), std::end(kCases)));
  INFO(c.order << " of " << c.depth);
  const SumOrder order = SumOrder::parse(c.order).value();
  Problem p(c.form, c.depth, c.format);
  const std::vector<double> d = product(p, order);
  CHECK(product(p, order, 2) == d);
  for (std::size_t i = 0; i < kRows * kColumns; ++i) {
    INFO("element " << i / kColumns << ", " << i % kColumns);
    CHECK(d[i] == naive(p, runs_of(c.runs), order, i / kColumns, i % kColumns));
  }
}

// f32 operands whose bits below tf32 count.
TEST_CASE("f32 operands are rounded to tf32", "[sum_order]") {
  Problem p("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 20, "f32");
  std::mt19937_64 random(7);
  const std::uint64_t kEdges[] = {0x3F801000, 0x3F803000, 0x3F802FFF, 0x3F801001, 0xBF801000, 0x3FFFF000};
  for (Codes* codes : {&p.a, &p.b})
    for (std::uint64_t& code : *codes)
      code = random() % 3 == 0 ? kEdges[random() % 6] : 0x3F000000 | (random() & 0x81FFFFFF);
  for (const auto& [word, away] :
       {std::pair("tf32=rn", false), std::pair("tf32=rna", true), std::pair("tf32=rz", false)}) {
    INFO(word);
    Problem exact = p;
    for (Codes* codes : {&exact.a, &exact.b})
      for (std::uint64_t& code : *codes) {
        const double x = number("f32", code), unit = std::ldexp(1, std::ilogb(x) - 10);
        const double steps = std::abs(x) / unit, down = std::floor(steps);
        double kept = std::string(word) == "tf32=rz" ? down : std::nearbyint(steps);
        if (away && steps - down == 0.5) kept = down + 1;
        code = code_of("f32", std::copysign(kept * unit, x));
      }
    CHECK(product(p, SumOrder::parse(word).value()) == product(exact, SumOrder()));
  }
}

// ---- C, alpha, beta, bias, scale factors

TEST_CASE("what is added behind the sum", "[sum_order]") {
  struct Row {
    std::string words;
    double (*expected)(double sum, double c, double bias);  // before the store to f16
  };
  const Row rows[] = {
      {"c=last store=f16",
       [](double s, double c, double b) {
         return rounded(exact_sum(rounded(exact_sum(s, c), "f32"), b), "f32");
       }},
      {"c=last alpha=1.7 beta=0.3 store=f16",
       [](double s, double c, double b) {
         const double bc = rounded(exact_product(0.3F, c), "f32");
         return rounded(exact_sum(rounded(std::fma(double(1.7F), s, bc), "f32"), b), "f32");
       }},
      {"c=last alpha=1.7 beta=0.3 fused=beta store=f16",
       [](double s, double c, double b) {
         const double as = rounded(exact_product(1.7F, s), "f32");
         return rounded(exact_sum(rounded(std::fma(double(0.3F), c, as), "f32"), b), "f32");
       }},
      {"c=last alpha=1.7 beta=0.3 fused=none store=f16",
       [](double s, double c, double b) {
         const double as = rounded(exact_product(1.7F, s), "f32"), bc = rounded(exact_product(0.3F, c), "f32");
         return rounded(exact_sum(rounded(exact_sum(as, bc), "f32"), b), "f32");
       }},
      {"c=last alpha=1.7 between=f16 store=f16",
       [](double s, double c, double b) {
         const double as = rounded(rounded(exact_product(1.7F, s), "f32"), "f16");
         return rounded(exact_sum(rounded(exact_sum(as, c), "f32"), b), "f32");
       }},
  };
  const Problem p("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 40, "f16", 3);
  std::vector<std::uint16_t> c(kRows * kColumns), bias(kColumns);
  std::mt19937_64 random(9);
  for (auto* values : {&c, &bias})
    for (std::uint16_t& x : *values)
      x = static_cast<std::uint16_t>(
          code_of("f16", static_cast<double>(static_cast<int>(random() % 4095) - 2047) / 8));
  const std::vector<double> sums = product(p, SumOrder());
  for (const Row& row : rows) {
    INFO(row.words);
    const std::vector<double> d = product(p, SumOrder::parse(row.words).value(), 1, [&](Gemm& g) {
      g.c = {c.data(), kColumns, 1};
      g.bias = {bias.data(), 0, 1};
    });
    for (std::size_t i = 0; i < d.size(); ++i) {
      INFO("element " << i);
      CHECK(d[i] ==
            rounded(row.expected(sums[i], number("f16", c[i]), number("f16", bias[i % kColumns])), "f16"));
    }
  }
}

TEST_CASE("promotions take scale factors", "[sum_order]") {
  const Problem p("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 80, "f16", 5);
  std::vector<float> left(kRows * 3), right(3 * kColumns);
  std::mt19937_64 random(11);
  for (auto* values : {&left, &right})
    for (float& x : *values) x = static_cast<float>(random() % 1000 + 1) / 512;
  const std::vector<Run> runs = runs_of("0-32,32-64,64-80");
  const auto scale = [&](std::size_t row, std::size_t block, std::size_t column) {
    return rounded(exact_product(left[row * 3 + block], right[block * kColumns + column]), "f32");
  };
  const auto with = [&](Gemm& g) {
    g.a_scale = {left.data(), 3, 1};
    g.b_scale = {right.data(), kColumns, 1};
  };
  const std::vector<double> each = product(p, SumOrder::parse("promote=32").value(), 1, with),
                            last = product(p, SumOrder::parse("promote=32 scales=last").value(), 1, with);
  for (std::size_t i = 0; i < each.size(); ++i) {
    const std::size_t row = i / kColumns, column = i % kColumns;
    double outer = 0, plain = 0;
    for (std::size_t block = 0; block < 3; ++block) {
      const double sum = p.block(runs[0][0][block], row, column, 0);
      // fma in double is exact here: the products have at most 48 bits.
      outer = rounded(exact_sum(exact_product(scale(row, block, column), sum), outer), "f32");
      plain = rounded(exact_sum(plain, sum), "f32");
    }
    CHECK(each[i] == outer);
    CHECK(last[i] == rounded(exact_product(scale(row, 0, column), plain), "f32"));
  }
}

// ---- The notation

TEST_CASE("orders of a sum are written and read", "[quick][sum_order]") {
  const std::string full =
      "descending omit=64 tf32=rn split_k=4 unit=64 spread=cut promote=128:f16 scales=last scale_order=b "
      "partials=bf16 merge=f16 merge_order=halves c=last alpha=0.5 beta=1e+20 fused=none between=f16 store=f16:rz";
  CHECK(SumOrder::parse(full).value().text() == full);
  CHECK(SumOrder().text() == "ascending");
  const std::pair<std::string, std::string> rows[] = {
      {"ascending", "ascending"},
      {"descending+split_k=2", "descending split_k=2"},
      {" store=half  split_k=2 ", "split_k=2 store=f16"},
      {"3:1:0:2", "3:1:0:2"},
      {"runs=64:32:4 sliced=2x32 short_first=16 promote=32",
       "runs=64:32:4 short_first=16 sliced=2x32 promote=32"},
      {"split_k=1 spread=up tf32=rz c=first store=f16:rn alpha=1", "store=f16"},
      {"beta=1e5+c=last", "c=last beta=100000"}};
  for (const auto& [typed, text] : rows) {
    INFO(typed);
    REQUIRE(SumOrder::parse(typed).ok());
    CHECK(SumOrder::parse(typed)->text() == text);
    CHECK(SumOrder::parse(text).value() == SumOrder::parse(typed).value());
  }
  for (const SumOrderWord& word : sum_order_words()) CHECK(word.meaning.size() > 10);
}

TEST_CASE("words that are none", "[quick][sum_order]") {
  const std::pair<std::string, std::string> rows[] = {
      {"", "''; expected ascending, descending, 1:0:3:2, omit="},
      {"backward", "'backward'; expected ascending, descending, 1:0:3:2"},
      {"split=2", "'split=2'; expected"},
      {"split_k", "'split_k'; expected"},
      {"split_k=", "'split_k='; expected split_k=4"},
      {"split_k=-1", "'split_k=-1'; expected split_k=4"},
      {"split_k=99999999999999999999", "expected split_k=4"},
      {"spread=middle", "'spread=middle'; expected spread=up, first, last, down, cut"},
      {"store=s32", "'store=s32'; expected store=f16, f16:rz"},
      {"store=e4m3", "'store=e4m3'; expected"},
      {"store=f16:", "'store=f16:'; expected"},
      {"sliced=2", "'sliced=2'; expected sliced=2x32"},
      {"runs=1::2", "'runs=1::2'; expected"},
      {"unit=2 unit=3", "'unit=3', a second one; expected unit=64"},
      {"=4", "'=4'; expected"}};
  for (const auto& [typed, message] : rows) {
    INFO(typed);
    const Result<SumOrder> read = SumOrder::parse(typed);
    REQUIRE_FALSE(read.ok());
    CHECK_THAT(read.error().message(), Catch::Contains(message));
  }
}

TEST_CASE("orders that do not fit are refused", "[quick][sum_order]") {
  const std::string half = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
                    integer = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
                    scaled =
                        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0";
  struct Row {
    std::string form, order, message;
  };
  const Row rows[] = {{half, "split_k=0", "split_k is 0; expected at least 1"},
                      {half, "runs=60:30", "runs of 60 + 30 values"},
                      {half, "runs=60:40 split_k=2", "both runs and split_k; expected one of them"},
                      {half, "runs=60:0:40", "expected lengths above 0 that add up to 100, the depth of K"},
                      {half, "runs=18446744073709551615:101", "expected lengths above 0"},
                      {half, "runs=60:40 omit=64", "add up to 64, the depth of K without what is left out"},
                      {half, "promote=24", "promote is 24; expected a multiple of 16"},
                      {half, "sliced=0x8", "0 slices of 8; expected at least 1 slice"},
                      {half, "sliced=2x0", "2 slices of 0; expected"},
                      {half, "sliced=2x16 descending", "sliced with steps that do not ascend"},
                      {half, "short_first=32 descending", "short_first with steps that do not ascend"},
                      {half, "split_k=2 unit=8 descending",
                       "a unit of 8 with steps that do not ascend; expected a multiple of 16"},
                      {half, "runs=8:92 descending", "a run of 8 with steps that do not ascend"},
                      {half, "1:0", "2 steps in k_order; expected each of the 7 steps of K once"},
                      {half, "beta=2", "beta is 2, and the accumulators start at C; expected c=last"},
                      {half, "between=f16", "expected c=last"},
                      {half, "tf32=rn", "a rounding to tf32; expected none: A is f16, B is f16"},
                      {integer, "store=f16", "sums of f16; expected s32, the format of the accumulators"},
                      {integer, "promote=32", "accumulators of integers"},
                      {integer, "alpha=2", "accumulators of integers"},
                      {scaled, "runs=40:60", "a step of 8 values of K from 32 on; expected whole steps of 32"},
                      {scaled, "scales=last", "scales=last; expected no such scale factors"}};
  std::vector<std::uint64_t> memory(100 * 16);
  for (const Row& row : rows) {
    INFO(row.order << " of " << row.form);
    const Instruction i = warp::parse(row.form, row.form == scaled ? "sm_120a" : "sm_90a");
    Gemm problem{1, 1, 100, {memory.data(), 1, 1}, {memory.data(), 1, 1}, {}, {memory.data(), 1, 1}};
    if (row.form == scaled) problem.a_scale = problem.b_scale = {memory.data(), 1, 1};
    const Result<Execution> done = gemm(i, problem, {SumOrder::parse(row.order).value()});
    REQUIRE_FALSE(done.ok());
    CHECK(done.error().code == Errc::view_mismatch);
    CHECK_THAT(done.error().message(), Catch::Contains(row.message));
  }
}

}  // namespace sum_order_test
