// SPDX-License-Identifier: Apache-2.0
// The same operands by several forms and in several orders of K: results derived by hand, products by
// warpbit::gemm and by one instruction after the other, and what a GPU returned.
#include <fmt/format.h>

#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "compare/compare_inputs.hpp"
#include "tally.hpp"
#include "warp.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/gemm.hpp"

namespace compare_test {

using namespace warpbit;
using Codes = std::vector<std::uint64_t>;

const std::string kK16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32";
const std::string kK8 = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32";
const std::string kInteger = "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32";
const std::string kClamped = "mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32";

Computation make(const std::string& form, std::string_view target, std::string_view order = "ascending",
                 std::size_t depth = 0) {
  const Instruction instruction = warp::parse(form, target);
  const auto terms = static_cast<std::size_t>(instruction.terms());
  const Result<Computation> out = computation(instruction, order, depth == 0 ? 2 * terms : depth);
  INFO((out ? std::string() : out.error().message()));
  REQUIRE(out.ok());
  return *out;
}

// A row and a column of K elements that are zero but for some.
struct Element {
  Codes a, b;
  std::uint64_t c = 0;
  Element(std::size_t depth, std::uint64_t c_in,
          const std::map<std::size_t, std::array<std::uint64_t, 2>>& products)
      : a(depth), b(depth), c(c_in) {
    for (const auto& [k, factors] : products) {
      a[k] = factors[0];
      b[k] = factors[1];
    }
  }
};

ElementComparison compare(const std::vector<Computation>& computations, const Element& e) {
  const Result<ElementComparison> out = compare_element(computations, {e.a, e.b, e.c});
  INFO((out ? std::string() : out.error().message()));
  REQUIRE(out.ok());
  return *out;
}

Codes results(const ElementComparison& c) {
  Codes out;
  for (const Explanation& e : c.explanations) out.push_back(e.code);
  return out;
}

// ---- By hand

constexpr std::uint64_t kOne = 0x3C00, kThree = 0x4200, kMinusOne = 0xBC00, k4096 = 0x6C00;  // f16
constexpr std::uint64_t k2To24 = 0x4B800000;                                                 // f32

TEST_CASE("two shallow instructions round where a deep one has not yet", "[compare]") {
  // 2^24 + 1 + 1: the first 1 is cut from a sum that is rounded before the second comes.
  const Element e(16, k2To24, {{0, {kOne, kOne}}, {8, {kOne, kOne}}});
  const std::vector<Computation> computations = {make(kK16, "sm_90"), make(kK8, "sm_90")};
  const ElementComparison c = compare(computations, e);
  CHECK(results(c) == Codes{k2To24 + 1, k2To24});
  CHECK(
      c.reasons[1] ==
      "m16n8k8 is 1 ulp off: it rounds 16777217 to 0x4b800000 (16777216) after k = 8, in sum 1 (instruction 1 of "
      "2), and loses as much or less in 1 other place; m16n8k16 loses nothing");
  const Explanation& chain = c.explanations[1];
  CHECK(chain.instructions == 2);
  REQUIRE(chain.sums.size() == 2);
  CHECK(chain.sums[0].instruction == 1);
  CHECK(chain.sums[0].after == 8);
  CHECK(chain.sums[1].instruction == 2);
  CHECK(chain.sums[1].after == 16);
  CHECK(chain.sums[1].addends[0].name == "sum 1");
  CHECK(chain.sums[1].addends[1].name == "a[8] b[8]");
  CHECK(chain.exact.decimal() == "16777218");
  CHECK(chain.ulps->decimal() == "1");
  // A GPU whose nodes have 8 products rounds there in any case.
  const ElementComparison older = compare({make(kK16, "sm_80"), make(kK8, "sm_80")}, e);
  CHECK(results(older) == Codes{k2To24, k2To24});
  CHECK(older.reasons[1].empty());
}

TEST_CASE("the sum of a run is added to nearest", "[compare]") {
  // 2^24 + 3 lies halfway between the codes of 2^24 + 2 and 2^24 + 4: cut in a chain, to even in an addition.
  const Element e(32, k2To24, {{16, {kThree, kOne}}});
  const ElementComparison c = compare({make(kK16, "sm_90"), make(kK16, "sm_90", "split_k=2")}, e);
  CHECK(results(c) == Codes{k2To24 + 1, k2To24 + 2});
  const Explanation& split = c.explanations[1];
  REQUIRE(split.sums.size() == 3);
  CHECK(split.sums[1].addends[0].name == "zero");
  CHECK_FALSE(split.sums[1].after.has_value());
  CHECK(split.sums[2].instruction == 0);
  CHECK(split.sums[2].step == "add in f32 rn");
  CHECK(split.sums[2].addends[1].name == "sum 2");
  CHECK(split.sums[2].after == 32);
  CHECK(c.reasons[1] ==
        "ascending is 0.5 ulp off: it rounds 16777219 to 0x4b800001 (16777218) in sum 2 (instruction 2 of 2); "
        "split_k=2 is 0.5 ulp off: it rounds 16777219 to 0x4b800002 (16777220) in sum 3 (of two runs)");
}

TEST_CASE("in another order of K something else is cut", "[compare]") {
  // 2^24 + 1 is rounded to 2^24 unless -2^24 came before.
  const Element e(32, 0, {{0, {k4096, k4096}}, {1, {kOne, kOne}}, {16, {k4096, k4096 | 0x8000}}});
  const std::vector<Computation> computations = {make(kK16, "sm_90"), make(kK16, "sm_90", "descending"),
                                                 make(kK16, "sm_90", "1:0")};
  const ElementComparison c = compare(computations, e);
  CHECK(results(c) == Codes{0, 0x3F800000, 0x3F800000});
  CHECK(c.reasons[1] ==
        "ascending is 8.389e+06 ulp off: it rounds 16777217 to 0x4b800000 (16777216) after k = 16, in sum 1 "
        "(instruction 1 of 2); descending loses nothing");
}

TEST_CASE("the reason is behind the last sums that are equal", "[compare]") {
  // Both have 1 after k = 16; the same as above follows, 1 being cut from 2^24.
  const Element e(32, 0, {{0, {kOne, kOne}}, {16, {k4096, k4096}}, {24, {kOne, kOne}}});
  const ElementComparison c = compare({make(kK16, "sm_90"), make(kK8, "sm_90")}, e);
  CHECK(results(c) == Codes{k2To24 + 1, k2To24});
  CHECK(c.reasons[1] ==
        "m16n8k8 is 1 ulp off: it rounds 16777217 to 0x4b800000 (16777216) after k = 24, in sum 3 "
        "(instruction 3 of 4), and loses as much or less in 1 other place; m16n8k16 loses nothing");
}

TEST_CASE("the reason is what was lost, however the sides group their addends", "[compare]") {
  // e4m3: 1 * 1, 0.1015625 * 1, 0.3125 * 2^-9. The sums of sm_90's two nodes, 1.1015625 and 1.1021728515625, are
  // exact. wgmma keeps multiples of 2^-13, E being 0: 5 of the third product, 8.19 of C.
  const Element e(32, 0x3A83126F, {{0, {0x38, 0x38}}, {1, {0x1D, 0x38}}, {2, {0x2A, 0x01}}});
  const ElementComparison c = compare({make("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3", "sm_90a"),
                                       make("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32", "sm_90a")},
                                      e);
  CHECK(results(c) == Codes{0x3F8D3400, 0x3F8D34C5});
  CHECK(
      c.reasons[1] ==
      "wgmma.mma_async.m64n64k32 is 196.6 ulp off: it cuts c = 0.0010000000474974513 to 0.0009765625 in sum 1, to "
      "multiples of 2^-13 (F 13); mma.m16n8k32.row.col is 0.3916 ulp off: it rounds 1.1031728516099975 to "
      "0x3f8d34c5 (1.1031728982925415) in sum 3");
}

TEST_CASE("an addend that both keep is no reason, and one that both cut alike is none", "[compare]") {
  // Beside 2^13, sm_80 keeps multiples of 2^-11 and sm_90 of 2^-12: four of 2^-12 are cut by one, 2^-13 by both.
  constexpr std::uint64_t k2ToMinus12 = 0x0C00, k2To13 = 0x46000000, kHalf = 0x3800;
  const std::array<std::uint64_t, 2> small = {k2ToMinus12, kOne};
  const Element e(16, k2To13, {{0, small}, {1, {k2ToMinus12, kHalf}}, {2, small}, {3, small}, {4, small}});
  const ElementComparison c = compare({make(kK16, "sm_80"), make(kK16, "sm_90")}, e);
  CHECK(results(c) == Codes{k2To13, k2To13 + 1});
  CHECK(
      c.reasons[1] ==
      "sm_80 is another 1 ulp off: it cuts 4 addends of sum 1 to multiples of 2^-11 (F 24), most of all a[0] b[0] "
      "= 0.000244140625 to 0; sm_90 keeps multiples of 2^-12 (F 25) and loses nothing else");
}

TEST_CASE("integers wrap or are clamped, and zeros and NaNs have codes", "[compare]") {
  const Element sum(16, 0x7FFFFFFF, {{3, {1, 1}}});
  CHECK(
      compare({make(kInteger, "sm_90"), make(kClamped, "sm_90")}, sum).reasons[1] ==
      "no satfinite is 4294967296 off: it wraps 2147483648 to 0x80000000 (-2147483648) in sum 1; satfinite is 1 "
      "off: it clamps 2147483648 to 0x7fffffff (2147483647) in sum 1");
  // A node's zero is +0; IEEE additions of -0 keep it.
  const std::string shallow = "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16";
  const std::array<std::uint64_t, 2> minus = {0x8000, kOne};
  const Element zero(4, 0x8000, {{0, minus}, {1, minus}, {2, minus}, {3, minus}});
  CHECK(compare({make(shallow, "sm_70", "ascending", 4), make(shallow, "sm_80", "ascending", 4)}, zero)
            .reasons[1] == "the signs of zero differ: sm_70 returns 0x0000 (0), sm_80 0x8000 (-0)");
  // Of two NaNs f64 returns that of B first, and in another order of K the other one.
  const std::string real = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
  const std::uint64_t nan = 0x7FF8000000000001, other = 0x7FF8000000000002, one = 0x3FF0000000000000;
  const Element nans(8, 0, {{0, {one, nan}}, {4, {one, other}}});
  CHECK_THAT(compare({make(real, "sm_90"), make(real, "sm_90", "descending")}, nans).reasons[1],
             Catch::StartsWith("the NaNs differ: ascending returns 0x7ff8000000000002"));
  // An overflow is a loss without an end.
  const Element large(16, 0x7F7FFFFF, {{0, {k4096, k4096}}, {8, {k4096, k4096}}});
  CHECK(compare({make(kK16, "sm_90"), make(kK16, "sm_80")}, large).reasons[1].empty());
}

// ---- By other means

std::size_t item_bytes(int bits) {
  return bits <= 8 ? 1 : static_cast<std::size_t>(bits) / 8;
}
std::vector<std::byte> items(const Codes& codes, int bits) {
  const std::size_t bytes = item_bytes(bits);
  std::vector<std::byte> out(codes.size() * bytes);
  for (std::size_t i = 0; i < codes.size(); ++i) std::memcpy(&out[i * bytes], &codes[i], bytes);
  return out;
}

// Matrices as warpbit::gemm takes them: a row by row, b column by column.
Codes product(const Computation& computation, std::size_t rows, std::size_t columns, const Codes& a,
              const Codes& b, const Codes& c) {
  const Instruction& i = computation.instruction;
  const std::size_t depth = a.size() / rows;
  const int bits = i.operands()[0].element_bits;
  const auto left = items(a, i.operands()[1].element_bits), right = items(b, i.operands()[2].element_bits);
  auto d = items(c, bits);
  const auto across = static_cast<std::ptrdiff_t>(columns), down = static_cast<std::ptrdiff_t>(depth);
  const Gemm problem{rows,
                     columns,
                     depth,
                     {left.data(), down, 1},
                     {right.data(), 1, down},
                     {d.data(), across, 1},
                     {d.data(), across, 1}};
  GemmOptions options;
  options.order = computation.order;
  options.execute.threads = 1;
  REQUIRE(gemm(i, problem, options).ok());
  Codes out(c.size());
  for (std::size_t k = 0; k < out.size(); ++k) std::memcpy(&out[k], &d[k * item_bytes(bits)], item_bytes(bits));
  return out;
}

struct Pair {
  Computation x, y;
  std::size_t depth;
};
std::vector<Pair> pairs() {
  const std::string tf4 = "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32",
                    tf8 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
                    half16 = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
                    half8 = "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16",
                    double4 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
                    double16 = "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64",
                    byte32 = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
                    byte16 = "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e4m3.f32",
                    integer32 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
  return {{make(kK16, "sm_90"), make(kK8, "sm_90"), 48},
          {make(kK16, "sm_80"), make(kK8, "sm_80"), 48},
          {make(kK16, "sm_80"), make(kK8, "sm_90", "descending", 32), 32},
          {make(kK16, "sm_90", "2:0:1:3", 64), make(kK8, "sm_90", "descending+split_k=3", 64), 64},
          {make(tf8, "sm_90"), make(tf4, "sm_90"), 16},
          {make(half16, "sm_90"), make(half8, "sm_90", "split_k=2"), 32},
          {make(double16, "sm_90"), make(double4, "sm_90"), 32},
          {make(double4, "sm_90"), make(double4, "sm_90", "split_k=2"), 16},
          {make(byte32, "sm_90"), make(byte16, "sm_90"), 32},
          {make(byte32, "sm_89"), make(byte16, "sm_89"), 32},
          {make(integer32, "sm_90"), make(kInteger, "sm_90", "descending+split_k=2", 64), 64},
          {make(kClamped, "sm_90"), make(kClamped, "sm_90", "split_k=2"), 32}};
}

std::string name_of(const Pair& pair) {
  const Computation both[] = {pair.x, pair.y};
  const std::vector<std::string> names = distinct_names(both);
  return fmt::format("{} ({}, {})", pair.x.instruction.canonical(), names[0], names[1]);
}

TEST_CASE("explained elements of chains are those of gemm", "[compare]") {
  std::mt19937_64 random(7);
  for (const Pair& pair : pairs()) {
    Tally tally;
    const auto codes = [&](std::size_t operand, std::size_t count) {
      Codes out(count);
      const int bits = pair.x.instruction.operands()[operand].element_bits;
      for (std::uint64_t& code : out) {
        code = bits == 64 ? random() : random() & ((1ULL << bits) - 1);
        // Exponents around the middle, so that sums overlap.
        if (bits == 64) code = (code & 0x803F'FFFF'FFFF'FFFF) | 0x3FC0'0000'0000'0000;
        if (bits == 32 && pair.x.instruction.operands()[0].format == "f32")
          code = (code & 0x81FF'FFFF) | 0x3E00'0000;
        if (bits == 16) code = (code & 0x8FFF) | 0x3000;
      }
      return out;
    };
    for (int run = 0; run < 60; ++run) {
      const Codes a = codes(1, pair.depth), b = codes(2, pair.depth), c = codes(3, 1);
      for (const Computation& computation : {pair.x, pair.y}) {
        const Result<Explanation> e = explain_element(computation, {a, b, c[0]});
        REQUIRE(e.ok());
        const std::uint64_t expected = product(computation, 1, 1, a, b, c)[0];
        tally.check(e->code == expected && e->sums.back().code == expected, [&] { return text(*e, 100); });
      }
    }
    tally.judge(name_of(pair));
  }
}

// Element (row, column) of an operand in a case of a generated capture.
std::uint64_t code_at(const std::vector<Array>& arrays, const Operand& operand, std::uint64_t index, int row,
                      int column) {
  const auto array = std::ranges::find(arrays, operand.label, [](const Array& a) { return a.header.name; });
  REQUIRE(array != arrays.end());
  const Place place = operand.fragment.find({row, column, 0}).front();
  const auto lanes = static_cast<std::uint64_t>(operand.fragment.lanes()),
             registers = static_cast<std::uint64_t>(operand.registers);
  const std::uint64_t item = (index * lanes + static_cast<std::uint64_t>(place.lane)) * registers +
                             static_cast<std::uint64_t>(place.reg);
  const std::uint64_t mask = place.bits == 64 ? ~0ULL : (1ULL << place.bits) - 1;
  return array->at(item) >> place.low_bit & mask;
}

// A (16 x 32), B (column by column) and C of a case: step s of K has the inputs of steps[s].
struct DeepCase {
  Codes a, b, c;
};
DeepCase deep_case(const std::vector<std::vector<Array>>& steps, std::span<const Operand> operands,
                   std::uint64_t index) {
  DeepCase out;
  const auto step = [&](int k) -> const std::vector<Array>& { return steps[static_cast<std::size_t>(k / 16)]; };
  for (int row = 0; row < 16; ++row)
    for (int k = 0; k < 32; ++k) out.a.push_back(code_at(step(k), operands[1], index, row, k % 16));
  for (int column = 0; column < 8; ++column)
    for (int k = 0; k < 32; ++k) out.b.push_back(code_at(step(k), operands[2], index, k % 16, column));
  for (int i = 0; i < 128; ++i) out.c.push_back(code_at(steps[0], operands[3], index, i / 8, i % 8));
  return out;
}

TEST_CASE("generated cases are compared as whole products are", "[compare]") {
  constexpr std::uint64_t kCases = 12, kSeed = 5;
  const Computation deep = make(kK16, "sm_90");
  const std::vector<Computation> computations = {
      deep, make(kK8, "sm_90"), make(kK16, "sm_80", "descending", 32), make(kK8, "sm_90", "split_k=2", 32)};
  const Result<Comparison> comparison =
      compare_generated(computations, {kSeed, inputs::Profile::ordinary}, kCases, 32);
  REQUIRE(comparison.ok());
  CHECK(comparison->cases == kCases);
  CHECK(comparison->elements == kCases * 16 * 8);
  // Step s of K has the inputs of seed kSeed + s.
  std::vector<std::vector<Array>> steps;
  for (const std::uint64_t seed : {kSeed, kSeed + 1}) {
    Result<std::vector<Array>> arrays =
        generated_capture(deep.instruction, {seed, inputs::Profile::ordinary}, 0, kCases);
    REQUIRE(arrays.ok());
    steps.push_back(std::move(*arrays));
  }
  const std::span<const Operand> operands = deep.instruction.operands();
  std::vector<std::uint64_t> differing(computations.size());
  std::optional<std::tuple<std::uint64_t, int, int>> first;
  for (std::uint64_t index = 0; index < kCases; ++index) {
    const auto [a, b, c] = deep_case(steps, operands, index);
    const Codes expected = product(computations[0], 16, 8, a, b, c);
    for (std::size_t i = 0; i < computations.size(); ++i) {
      const Codes got = product(computations[i], 16, 8, a, b, c);
      for (std::size_t n = 0; n < got.size(); ++n) differing[i] += got[n] != expected[n];
    }
  }
  for (std::size_t i = 0; i < computations.size(); ++i) CHECK(comparison->results[i].differing == differing[i]);
  CHECK(differing[1] > 100);
  CHECK(comparison->results[0].most_codes == 0);
  REQUIRE(comparison->first.has_value());
  CHECK(comparison->first->comparison.explanations.size() == computations.size());
}

// Everything that a comparison says of many cases, with the first difference in words.
std::string told(const Comparison& c) {
  std::string out = fmt::format("{} cases, {} elements", c.cases, c.elements);
  for (const ComparedResults& r : c.results) out += fmt::format("; {} by {}", r.differing, r.most_codes);
  if (c.first)
    out += fmt::format("\ncase {} [{},{}]\n{}", c.first->index, c.first->at.row, c.first->at.column,
                       text(c.first->comparison, 100));
  return out;
}

TEST_CASE("shares of generated cases together are all of them", "[compare]") {
  const InputChoice choice{3, inputs::Profile::mixed};
  const std::vector<Computation> instructions = {make(kK16, "sm_80"), make(kK16, "sm_90")};
  const std::vector<Computation> chains = {make(kK16, "sm_90"), make(kK8, "sm_90", "split_k=2", 32)};
  for (const auto& [computations, depth] : {std::pair(instructions, 0), std::pair(chains, 32)}) {
    const auto share = [&](std::uint64_t number, std::uint64_t count) {
      const Result<Comparison> out =
          compare_generated(computations, choice, 23, static_cast<std::size_t>(depth), {number, count});
      REQUIRE(out.ok());
      return *out;
    };
    const Comparison whole = share(1, 1);
    REQUIRE(whole.cases == 23);
    REQUIRE(whole.first.has_value());
    for (const std::uint64_t count : {2, 5, 23, 30}) {  // of 30 seven are empty
      std::vector<Comparison> shares;
      for (std::uint64_t number = count; number > 0; --number) shares.push_back(share(number, count));
      for (const Comparison& c : shares) CHECK(c.cases - 23 / count <= (23 % count == 0 ? 0U : 1U));
      const Result<Comparison> merged = merge(shares);
      REQUIRE(merged.ok());
      CHECK(told(*merged) == told(whole));
    }
  }
  CHECK(merge(std::span<const Comparison>()).error().message() == "merge: no share; expected one or more");
  const std::vector<Comparison> unlike = {Comparison{1, 1, {{}, {}}, {}}, Comparison{1, 1, {{}}, {}}};
  CHECK(merge(unlike).error().message() ==
        "merge: shares of 2 and of 1 computations; expected shares of the same computations");
}

TEST_CASE("a chain of f64 instructions returns what a GPU returned for a deeper one", "[compare]") {
  const std::string file = "golden/sm_90a/mma/mma_sync_aligned_m16n8k16_row_col_f64_f64_f64_f64.npz";
  const std::vector<Computation> computations = {
      make("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "sm_90a"),
      make("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_90a"),
      make("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", "sm_90a", "descending", 16)};
  REQUIRE(replay(file).mismatches == 0);  // the first one returns what the file has
  const Result<Comparison> c = compare_capture(file, computations);
  REQUIRE(c.ok());
  CHECK(c->elements > 1000);
  CHECK(c->results[1].differing == 0);
  CHECK(c->results[2].differing > 0);
}

// ---- Errors against the exact sums

using Rational = boost::multiprecision::cpp_rational;

Rational power_of_two(int exponent) {
  const Rational out(boost::multiprecision::cpp_int(1) << std::abs(exponent));
  return exponent < 0 ? 1 / out : out;
}

// An IEEE code of 1 + exponent_bits + fraction_bits bits. Nothing for Inf and NaN.
std::optional<Rational> ieee_value(std::uint64_t code, int exponent_bits, int fraction_bits) {
  const auto fraction = static_cast<std::int64_t>(code & ((1ULL << fraction_bits) - 1));
  const int field = static_cast<int>(code >> fraction_bits & ((1ULL << exponent_bits) - 1));
  if (field == (1 << exponent_bits) - 1) return std::nullopt;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const Rational magnitude = Rational(field == 0 ? fraction : fraction + (1LL << fraction_bits)) *
                             power_of_two(std::max(field, 1) - bias - fraction_bits);
  return (code >> (exponent_bits + fraction_bits) & 1) != 0 ? Rational(-magnitude) : magnitude;
}

// 2^(max(e, -126) - 23) for 2^e <= |x| < 2^(e+1). The denominator is a power of two.
Rational f32_ulp(const Rational& x) {
  using boost::multiprecision::msb;
  if (x == 0) return power_of_two(-149);
  const int e = static_cast<int>(msb(abs(numerator(x)))) - static_cast<int>(msb(denominator(x)));
  return power_of_two(std::max(e, -126) - 23);
}

Rational rational(const ExactNumber& x) {
  boost::multiprecision::cpp_int magnitude = 0;
  for (const char bit : x.bits) magnitude = magnitude * 2 + (bit - '0');
  return Rational(x.negative ? boost::multiprecision::cpp_int(-magnitude) : magnitude) *
         power_of_two(x.exponent);
}

// No other double is nearer to x.
bool is_nearest(double d, const Rational& x) {
  if (std::isinf(d)) return (d < 0) == (x < 0) && abs(x) >= power_of_two(1024);
  const auto off = [&](double other) { return Rational(abs(Rational(other) - x)); };
  return off(d) <= off(std::nextafter(d, -HUGE_VAL)) && off(d) <= off(std::nextafter(d, HUGE_VAL));
}

struct Errors {
  std::vector<Rational> list;
  std::uint64_t correctly_rounded = 0, special = 0, overflowed = 0;
};

void check_errors(const ComparedResults& got, Errors expected) {
  std::ranges::sort(expected.list);
  REQUIRE(got.errors.size() == expected.list.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.errors.size(); ++i) wrong += !is_nearest(got.errors[i], expected.list[i]);
  CHECK(wrong == 0);
  CHECK(got.correctly_rounded == expected.correctly_rounded);
  CHECK(got.special == expected.special);
  CHECK(got.overflowed == expected.overflowed);
}

// Of a row of f16, a column of f16 and C in f32, from the bits alone. Nothing if there is a NaN or Inf among them.
std::optional<Rational> exact_sum(const Codes& a, const Codes& b, std::uint64_t c) {
  std::optional<Rational> out = ieee_value(c, 8, 23);
  for (std::size_t k = 0; k < a.size() && out; ++k) {
    const std::optional<Rational> x = ieee_value(a[k], 5, 10), y = ieee_value(b[k], 5, 10);
    if (!x || !y) return std::nullopt;
    *out += *x * *y;
  }
  return out;
}

void take_error(const std::optional<Rational>& sum, std::uint64_t d, Errors& out) {
  const std::optional<Rational> result = ieee_value(d, 8, 23);
  if (!sum || !result) {
    ++(!sum ? out.special : out.overflowed);
    return;
  }
  const Rational own = abs(*result - *sum);
  out.list.push_back((*result - *sum) / f32_ulp(*sum));
  // Neither neighbour in f32 is nearer; of two as near the even one counts. Where Inf is, 2^128 would be.
  const bool is_zero = (d & 0x7FFFFFFF) == 0;
  bool nearest = true;
  for (const std::uint64_t neighbour : {is_zero ? 1 : d + 1, is_zero ? 0x80000001 : d - 1}) {
    const Rational limit = (neighbour >> 31) != 0 ? Rational(-power_of_two(128)) : power_of_two(128);
    const Rational theirs = abs(ieee_value(neighbour, 8, 23).value_or(limit) - *sum);
    nearest = nearest && (own < theirs || (own == theirs && (d & 1) == 0));
  }
  out.correctly_rounded += nearest;
}

Codes part_of(const Codes& all, std::size_t first, std::size_t count) {
  const auto from = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

TEST_CASE("errors are those of rational sums", "[compare][statistics]") {
  constexpr std::uint64_t kCases = 9, kSeed = 2, kDepth = 32;
  for (const inputs::Profile profile : {inputs::Profile::ordinary, inputs::Profile::mixed}) {
    const std::vector<Computation> computations = {make(kK16, "sm_80"), make(kK16, "sm_90", "descending"),
                                                   make(kK8, "sm_90", "split_k=2", kDepth)};
    const Result<Comparison> comparison = compare_generated(computations, {kSeed, profile}, kCases, kDepth);
    REQUIRE(comparison.ok());
    CHECK(comparison->format == "f32");
    CHECK(comparison->names == distinct_names(computations));
    std::vector<std::vector<Array>> steps;
    for (const std::uint64_t seed : {kSeed, kSeed + 1})
      steps.push_back(*generated_capture(computations[0].instruction, {seed, profile}, 0, kCases));
    const std::span<const Operand> operands = computations[0].instruction.operands();
    std::vector<Errors> expected(computations.size());
    for (std::uint64_t index = 0; index < kCases; ++index) {
      const auto [a, b, c] = deep_case(steps, operands, index);
      std::vector<std::optional<Rational>> sums;
      for (std::size_t i = 0; i < c.size(); ++i)
        sums.push_back(exact_sum(part_of(a, i / 8 * kDepth, kDepth), part_of(b, i % 8 * kDepth, kDepth), c[i]));
      for (std::size_t n = 0; n < computations.size(); ++n) {
        const Codes d = product(computations[n], 16, 8, a, b, c);
        for (std::size_t i = 0; i < d.size(); ++i) take_error(sums[i], d[i], expected[n]);
      }
    }
    for (std::size_t n = 0; n < computations.size(); ++n) check_errors(comparison->results[n], expected[n]);
    if (profile == inputs::Profile::mixed) CHECK(expected[0].special > 0);
  }
}

TEST_CASE("errors of other forms are those of each element's explanation", "[compare][statistics]") {
  const std::string
      tf32 = "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
      scaled =
          "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32."
          "ue4m3",
      scaled8 =
          "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32."
          "ue8m0",
      sparse = "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
      four = "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
      negated = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d}, a, b, p, -1, 1, 0, 0;",
      wgmma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d}, a, b, p, 1, 1, 0, 0;",
      real = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64",
      half = "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16";
  const auto terms = [](const std::string& form, std::string_view target) {
    return static_cast<std::size_t>(warp::parse(form, target).terms());
  };
  const std::tuple<std::vector<Computation>, std::size_t> kCompared[] = {
      {{make(tf32, "sm_80"), make(tf32, "sm_90", "descending")}, 16},
      {{make(scaled, "sm_120a", "ascending", 64), make(scaled, "sm_121a", "ascending", 64)}, 64},
      {{make(scaled8, "sm_120a", "ascending", 32), make(scaled8, "sm_121a", "ascending", 32)}, 32},
      {{make(sparse, "sm_80"), make(sparse, "sm_90", "descending")}, 2 * terms(sparse, "sm_90")},
      {{make(four, "sm_70"), make(four, "sm_80", "descending")}, 8},
      {{make(wgmma, "sm_90a"), make(negated, "sm_90a")}, 32},
      {{make(real, "sm_90"), make(real, "sm_90", "descending")}, 8},
      {{make(half, "sm_80"), make(half, "sm_90", "split_k=2")}, 32}};
  for (const auto& [computations, depth] : kCompared) {
    INFO(computations[0].instruction.canonical());
    constexpr std::uint64_t kCases = 9;
    const InputChoice choice{4, inputs::Profile::mixed};
    const Result<Comparison> comparison = compare_generated(computations, choice, kCases, depth);
    INFO((comparison ? std::string() : comparison.error().message()));
    REQUIRE(comparison.ok());
    const Result<std::vector<LoadedCapture>> captures =
        inputs_along_steps(computations, choice, 0, kCases, depth);
    REQUIRE(captures.ok());
    const Instruction& i = (*captures)[0].instruction;
    for (std::size_t n = 0; n < computations.size(); ++n) {
      std::vector<double> magnitudes;
      Errors expected;
      for (std::uint64_t index = 0; index < kCases; ++index)
        for (int p = 0; p < i.products(); ++p)
          for (int row = 0; row < i.rows(); ++row) {
            const Coordinate at{row, row % i.columns(), p};
            const Result<Explanation> e =
                explain_element(computations[n], inputs_along_k(*captures, index, {&at, 1})[0]);
            REQUIRE(e.ok());
            if (!e->ulps) continue;
            const Rational error = rational(e->result) - rational(e->exact);
            expected.list.push_back(error < 0 ? Rational(-rational(*e->ulps)) : rational(*e->ulps));
          }
      // Those of one column are among all.
      std::size_t missing = 0;
      const std::vector<double>& errors = comparison->results[n].errors;
      for (const Rational& x : expected.list) {
        const double near = x.convert_to<double>();
        const double candidates[] = {std::nextafter(near, -HUGE_VAL), near, std::nextafter(near, HUGE_VAL)};
        missing += std::ranges::none_of(
            candidates, [&](double d) { return std::ranges::binary_search(errors, d) && is_nearest(d, x); });
      }
      CHECK(missing == 0);
      CHECK(expected.list.size() > 10);
      const ComparedResults& r = comparison->results[n];
      CHECK(r.errors.size() + r.special + r.overflowed == comparison->elements);
    }
  }
}

TEST_CASE("statistics of errors", "[compare][statistics]") {
  ComparedResults r;
  CHECK(statistics(r) == ErrorStatistics{});
  r.errors = {-3, -3, 1, 1};
  CHECK(statistics(r) == ErrorStatistics{4, -1, 2, 2, 1, 3, 3, 3, 3});
  // i/8 for i from 1 to 1000: of n numbers the one at rank n p.
  r.errors.clear();
  for (int i = 1; i <= 1000; ++i) r.errors.push_back(i / 8.0);
  const ErrorStatistics s = statistics(r);
  CHECK(s.bias == 62.5625);  // 1001/16
  CHECK(s.mean == 62.5625);
  CHECK(std::array{s.p50, s.p90, s.p99, s.p999, s.max} == std::array{62.5, 112.5, 123.75, 124.875, 125.0});

  Comparison c;
  CHECK(histogram(c).empty());
  CHECK(statistics_text(c, 80).empty());
  c.elements = 4;
  c.results.resize(2);
  c.results[0].errors = {-1.5, -0.5, 0, 0.25};
  c.results[1].errors = {0, 0, 0, 0.126};
  c.results[1].correctly_rounded = 3;
  c.results[1].special = 7;
  c.names = {"x", "y"};
  c.format = "f32";
  CHECK(histogram(c) == std::vector<ErrorBin>{{0, 0, {1, 3}},
                                              {0, 0.125, {0, 0}},
                                              {0.125, 0.25, {1, 1}},
                                              {0.25, 0.5, {1, 0}},
                                              {0.5, 1, {0, 0}},
                                              {1, 2, {1, 0}}});
  CHECK(statistics_text(c, 60) == R"(error: result - exact sum, in ulp of f32: the distance of
    its numbers at the exact sum
error         x         y
bias          -0.4375   0.0315
deviation     0.6702    0.05456
mean |error|  0.5625    0.0315
50 %          0.25      0
90 %          1.5       0.126
99 %          1.5       0.126
99.9 %        1.5       0.126
max           1.5       0.126
correct       0 (0 %)   3 (75 %)
special       0         7
overflow      0         0

|error|  x                         y
0         25.0 % ######             75.0 % ################
<= 1/8     0.0 %                     0.0 %
<= 1/4    25.0 % ######             25.0 % ######
<= 1/2    25.0 % ######              0.0 %
<= 1       0.0 %                     0.0 %
<= 2      25.0 % ######              0.0 %
)");
  // Where they do not fit beside each other, they are below.
  c.results.resize(4);
  c.names = {"x", "y", "z", "w"};
  const std::string narrow = statistics_text(c, 40);
  for (const std::string_view line : {"\n|error|  x", "\n|error|  y", "\n|error|  z", "\n|error|  w"})
    CHECK_THAT(narrow, Catch::Contains(std::string(line)));
  // The last bin has no end.
  c.results[0].errors = {0x1p41, HUGE_VAL};
  CHECK(histogram(c).back() == ErrorBin{0x1p40, HUGE_VAL, {2, 0, 0, 0}});
}

TEST_CASE("integers have no errors", "[compare][statistics]") {
  const std::vector<Computation> computations = {make(kInteger, "sm_80"), make(kClamped, "sm_90")};
  const Result<Comparison> c = compare_generated(computations, {1, inputs::Profile::mixed}, 9, 32);
  REQUIRE(c.ok());
  CHECK(c->results[1].errors.empty());
  CHECK(statistics_text(*c, 80).empty());
}

// ---- The search

TEST_CASE("computations of equal steps are said to be equal, and are", "[compare]") {
  // sm_80 and sm_89 round after 8 and 16 products in any case, f64 after each; integers wrap in any order.
  const bool equal[] = {false, true, false, false, false, false, true, false, false, true, true, false};
  std::size_t i = 0;
  for (const Pair& pair : pairs()) {
    INFO(name_of(pair));
    const Result<DifferenceSearch> search = find_difference(pair.x, pair.y, pair.depth);
    REQUIRE(search.ok());
    REQUIRE(i < std::size(equal));
    CHECK(search->equal_steps == equal[i++]);
    if (search->equal_steps) {
      CHECK_FALSE(search->found.has_value());
      const Computation both[] = {pair.x, pair.y};
      const Result<Comparison> c = compare_generated(both, {1, inputs::Profile::mixed}, 18, pair.depth);
      REQUIRE(c.ok());
      CHECK(c->results[1].differing == 0);
      continue;
    }
    if (!search->found) continue;  // nothing is said then
    const ElementInputs& in = search->found->inputs;
    REQUIRE(in.a.size() <= pair.depth);
    Codes a = in.a, b = in.b;
    a.resize(pair.depth);
    b.resize(pair.depth);
    CHECK(product(pair.x, 1, 1, a, b, {in.c}) != product(pair.y, 1, 1, a, b, {in.c}));
    CHECK_FALSE(search->found->comparison.reasons[1].empty());
  }
  CHECK(i == std::size(equal));
}

TEST_CASE("differences between forms and orders are found", "[compare]") {
  const std::vector<std::pair<Computation, Computation>> different = {
      {make(kK16, "sm_90"), make(kK8, "sm_90")},
      {make(kK16, "sm_90"), make(kK16, "sm_90", "descending")},
      {make(kK16, "sm_90"), make(kK16, "sm_90", "split_k=2")},
      {make(kClamped, "sm_90"), make(kClamped, "sm_90", "descending")}};
  for (const auto& [x, y] : different) {
    const Result<DifferenceSearch> search = find_difference(x, y, 32);
    REQUIRE(search.ok());
    REQUIRE(search->found.has_value());
    CHECK(std::ranges::count_if(search->found->inputs.a, [](std::uint64_t code) { return code != 0; }) <= 4);
  }
}

TEST_CASE("a product of a warpgroup is a form like others", "[compare]") {
  const std::vector<Computation> computations = {
      make(kK16, "sm_90a"), make("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "sm_90a")};
  const Result<DifferenceSearch> search = find_difference(computations[0], computations[1]);
  REQUIRE(search.ok());
  CHECK(search->equal_steps);
  const Result<Comparison> c = compare_generated(computations, {0, inputs::Profile::mixed}, 9, 48);
  REQUIRE(c.ok());
  CHECK(c->elements == 9 * 16 * 8);
  CHECK(c->results[1].differing == 0);
}

// ---- Promotions

// 2^24 and then ones: the accumulators of the second step begin at 0 and keep 1, which the outer ones lose.
TEST_CASE("promotions are explained", "[compare]") {
  const Computation plain = make(kK8, "sm_90", "ascending", 16), promoted = make(kK8, "sm_90", "promote=8", 16);
  ElementInputs e{Codes(16), Codes(16), 0};
  e.a[0] = 0x6C00, e.b[0] = 0x6C00;  // 2^12 2^12
  for (const std::size_t k : {8, 9, 10}) e.a[k] = e.b[k] = 0x3C00;
  const Explanation by_chain = explain_element(plain, e).value(),
                    by_outer = explain_element(promoted, e).value();
  CHECK(by_chain.code == 0x4B800001);  // 2^24 + 3, cut to 2^24 + 2
  CHECK(by_outer.code == 0x4B800002);  // to nearest even: 2^24 + 4
  // The outer accumulator starts at C.
  REQUIRE(by_outer.sums.size() == 4);
  for (const std::size_t n : {1, 3}) {
    CHECK(by_outer.sums[n].step == "add in f32 rn");
    CHECK(by_outer.sums[n].addends.size() == 2);
  }
  CHECK(by_outer.sums[1].addends[0].name == "c");
}

// ---- Words and errors

TEST_CASE("orders of K in words", "[compare]") {
  const Instruction mma = warp::parse(kK8, "sm_90");
  const auto made = [&](std::string_view order, std::size_t depth) {
    const Result<Computation> out = computation(mma, order, depth);
    return out ? order_text(*out) : out.error().message();
  };
  CHECK(made("ascending", 64) == "ascending");
  CHECK(made("0:1:2", 24) == "ascending");
  CHECK(made("descending", 20) == "descending");
  CHECK(made("2:1:0", 20) == "descending");
  CHECK(made("1:0:2", 24) == "1:0:2");
  CHECK(made("split_k=3", 24) == "split_k=3");
  CHECK(made("1:0:2+split_k=2", 24) == "1:0:2 split_k=2");
  CHECK(made("descending+split_k=2", 32) == "descending split_k=2");
  CHECK(made("split_k=2 descending", 32) == "descending split_k=2");
  CHECK(made("promote=16 split_k=2", 64) == "split_k=2 promote=16");
  CHECK(computation(mma, "2:0:1", 24)->order.k_order == std::vector<std::size_t>{2, 0, 1});
  for (const std::string_view wrong : {"", "up", "split_k=", "1:0:", "+", "ascending+1:0"})
    CHECK_THAT(made(wrong, 16), Catch::Contains("'" + std::string(wrong) + "'; expected "));
  for (const std::string_view beside : {"c=last", "c=last alpha=2", "scales=last"})
    CHECK_THAT(made(beside, 16), Catch::Contains("expected words of the sum along K alone"));
  CHECK_THAT(made("store=f16", 16), Catch::Contains("D is f16; expected f32"));
  CHECK_THAT(made("1:0", 24), Catch::Contains("2 steps in k_order; expected each of the 3 steps of K once"));
  CHECK_THAT(made("1:1", 16), Catch::Contains("step 1 twice in k_order"));
  CHECK_THAT(made("split_k=0", 16), Catch::Contains("split_k is 0; expected at least 1"));
}

TEST_CASE("computations are called by what tells them apart", "[compare]") {
  const auto names = [](const std::vector<Computation>& list) { return distinct_names(list); };
  using Names = std::vector<std::string>;
  CHECK(names({make(kK16, "sm_80"), make(kK16, "sm_90")}) == Names{"sm_80", "sm_90"});
  CHECK(names({make(kK16, "sm_80"), make(kK8, "sm_80")}) == Names{"m16n8k16", "m16n8k8"});
  CHECK(names({make(kK16, "sm_80"), make(kK8, "sm_90", "descending")}) ==
        Names{"m16n8k16 ascending on sm_80", "m16n8k8 descending on sm_90"});
  CHECK(names({make(kInteger, "sm_80"), make(kClamped, "sm_80")}) == Names{"no satfinite", "satfinite"});
  CHECK(names({make(kK16, "sm_80"), make(kK16, "sm_80")}) == Names{"sm_80", "sm_80"});
}

TEST_CASE("what cannot be compared or be in a chain says why", "[compare]") {
  const auto refused = [](const std::vector<Computation>& computations, std::size_t depth) {
    const Codes zeros(depth);
    const Result<ElementComparison> element = compare_element(computations, {zeros, zeros});
    const Result<Comparison> generated = compare_generated(computations, {}, 1, depth);
    REQUIRE_FALSE(element.ok());
    REQUIRE_FALSE(generated.ok());
    CHECK(element.error().message() == generated.error().message());
    CHECK(element.error().code == Errc::view_mismatch);
    return element.error().message();
  };
  const auto alone = [](const std::string& form, std::string_view target) {
    return Computation{warp::parse(form, target)};
  };
  const Computation bf16 = alone("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "sm_90");
  CHECK_THAT(refused({make(kK16, "sm_90"), bf16}, 16), Catch::Contains("A is bf16; expected f16, as " + kK16));
  const Computation mixed = alone("wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32", "sm_90");
  CHECK_THAT(refused({mixed, mixed}, 17), Catch::Contains("a K of 32, C is f32 and D is f16"));
  CHECK(explain_element(mixed, {Codes(16), Codes(16)}).ok());
  const Computation scaled =
      alone("mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0",
            "sm_120a");
  CHECK_THAT(refused({scaled, scaled}, 65), Catch::Contains("a K of 128, and its blocks are scaled"));
  CHECK_THAT(refused({alone("movmatrix.sync.aligned.m8n8.trans.b16", "sm_90"), bf16}, 16),
             Catch::Contains("no product of matrices"));
  Computation wrong = make(kK16, "sm_90");
  wrong.order.k_order = {0, 0};
  CHECK_THAT(refused({wrong, wrong}, 32), Catch::Contains("step 0 twice"));
  CHECK_FALSE(explain_element(make(kK16, "sm_90"), {Codes(16), Codes(15)}).ok());
}

}  // namespace compare_test
