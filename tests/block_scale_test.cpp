// SPDX-License-Identifier: Apache-2.0
// The arithmetic of block scaling, by plans alone: hand-computed cases, plain arithmetic where nothing is lost,
// and the oracle on random inputs. WARPBIT_PROPERTY_COUNT is the number of those for each combination.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <initializer_list>
#include <vector>

#include "count_wanted.hpp"
#include "numeric/node.hpp"
#include "oracle/arithmetic.hpp"
#include "oracle/oracle.hpp"
#include "profiles.hpp"
#include "scale_profiles.hpp"

namespace block_scale_test {

using namespace warpbit;
using Codes = std::vector<std::uint64_t>;
using profiles::Stream;

constexpr std::uint64_t kSeed = 1, kNan = 0x7FFFFFFF, kInf = 0x7F800000, kMinusZero = 0x80000000;

const Plan kScaledNode{Fused{32, 25, -133, FormatId::f32, 23, Rounding::toward_zero}};
const Plan kScaledGroups{GroupScaled{16, 35, -139, FormatId::f32, Rounding::toward_zero}};

struct Combination {
  std::string a, b, scale;
  int blocks;
  bool sparse;

  bool grouped() const { return blocks > 1; }
  std::size_t terms() const { return grouped() ? 64 : 32; }
  const Plan& plan() const { return grouped() ? kScaledGroups : kScaledNode; }
  oracle::Problem problem() const {
    const std::size_t k = sparse ? 2 * terms() : terms();
    oracle::Problem p;
    p.target = "sm_120a";
    p.shape = fmt::format("m16n8k{}", k);
    p.d = p.c = "f32";
    p.a = a;
    p.b = b;
    p.sparse = sparse;
    p.scale = scale;
    p.blocks = blocks;
    return p;
  }
  std::string title() const {
    return fmt::format("{} x {}, {}X {}{}", a, b, blocks, scale, sparse ? ", sparse" : "");
  }
};

const Combination kMxf4{"e2m1", "e2m1", "ue8m0", 2, false};  // mxf4, and mxf4nvf4 with scale_vec::2X
const Combination kNvf4{"e2m1", "e2m1", "ue4m3", 4, false};  // mxf4nvf4 with scale_vec::4X
const Combination kMxf8{"e4m3", "e4m3", "ue8m0", 1, false};  // mxf8f6f4
const Combination kMxf8Wide{"e5m2", "e5m2", "ue8m0", 1, false};

std::vector<Combination> all_combinations() {
  std::vector<Combination> out;
  for (const bool sparse : {false, true}) {
    for (const char* a : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"})
      for (const char* b : {"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"}) out.push_back({a, b, "ue8m0", 1, sparse});
    out.push_back({"e2m1", "e2m1", "ue8m0", 2, sparse});
    out.push_back({"e2m1", "e2m1", "ue4m3", 4, sparse});
    out.push_back({"e2m1", "e2m1", "ue8m0", 4, sparse});  // PTX ISA 9.1
  }
  return out;
}

using Inputs = profiles::ScaledCase;

std::vector<Decoded> decoded(const Format& f, const Codes& codes) {
  std::vector<Decoded> out;
  for (const std::uint64_t code : codes) out.push_back(decode(f, code));
  return out;
}

std::uint64_t run(const Combination& x, const Inputs& in) {
  const Format &a = *find_format(x.a), &b = *find_format(x.b), &scale = *find_format(x.scale);
  const auto values_a = decoded(a, in.a), values_b = decoded(b, in.b);
  const auto scales_a = decoded(scale, in.scale_a), scales_b = decoded(scale, in.scale_b);
  return evaluate(x.plan(), {values_a, &a, scales_a, &scale}, {values_b, &b, scales_b, &scale},
                  format(FormatId::f32), in.c);
}

std::string text(const Inputs& in) {
  return fmt::format("a {:x}\nb {:x}\nscales of a {:x}\nscales of b {:x}\nc {:x}", fmt::join(in.a, " "),
                     fmt::join(in.b, " "), fmt::join(in.scale_a, " "), fmt::join(in.scale_b, " "), in.c);
}

// ---- Inputs by hand

std::uint64_t bits(double x) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(x));
}
double power(int exponent) {
  return std::ldexp(1.0, exponent);
}

// The numbers of ue8m0 and ue4m3 codes, but NaN.
double ue8m0(std::uint64_t code) {
  return power(static_cast<int>(code) - 127);
}
double ue4m3(std::uint64_t code) {
  const int field = static_cast<int>(code >> 3) & 15, fraction = static_cast<int>(code & 7);
  return field == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, field - 10);
}
bool is_nan(const Combination& x, std::uint64_t code) {
  return x.scale == "ue8m0" ? code == 0xFF : (code & 0x7F) == 0x7F;
}

// One code each for small numbers: by hand, since tables made by the code under test could err with it.
std::uint64_t element(const std::string& format, double x) {
  const auto code = [&]() -> std::uint64_t {
    const double size = std::abs(x);
    if (size == 0) return 0;
    const int e = std::ilogb(size);
    if (format == "e2m1") return size == 0.5 ? 1 : size == 1 ? 2 : size == 1.5 ? 3 : size == 2 ? 4 : 7;
    if (format == "e4m3") return static_cast<std::uint64_t>(e + 7) << 3;
    return static_cast<std::uint64_t>(e + 15) << 2;  // e5m2
  }();
  return code | (std::signbit(x) ? (format == "e2m1" ? 8u : 0x80u) : 0u);
}

// The scale 2^e.
std::uint64_t scale(const Combination& x, int e) {
  return x.scale == "ue8m0" ? static_cast<std::uint64_t>(e + 127) : static_cast<std::uint64_t>(e + 7) << 3;
}

// Zeros with scales of 1, and what is set: products x * 1 at k.
struct Term {
  std::size_t k;
  double x;
};
Inputs inputs(const Combination& x, std::initializer_list<Term> terms, double c = 0) {
  const auto blocks = static_cast<std::size_t>(x.blocks);
  Inputs in{Codes(x.terms()), Codes(x.terms()), Codes(blocks, scale(x, 0)), Codes(blocks, scale(x, 0)),
            bits(c)};
  for (const Term& t : terms) {
    in.a[t.k] = element(x.a, t.x);
    in.b[t.k] = element(x.b, 1);
  }
  return in;
}
// The scales of block i are 2^of_a and 2^of_b.
Inputs with_scales(const Combination& x, Inputs in, std::size_t i, int of_a, int of_b) {
  in.scale_a[i] = scale(x, of_a);
  in.scale_b[i] = scale(x, of_b);
  return in;
}

void check_code(const Combination& x, const Inputs& in, std::uint64_t expected) {
  INFO(x.title() << "\n" << text(in));
  CHECK(run(x, in) == expected);
  CHECK(oracle::Dot(x.problem())(in.a, in.b, in.c, in.scale_a, in.scale_b) == expected);
}
void check(const Combination& x, const Inputs& in, double expected) {
  check_code(x, in, bits(expected));
}

// x cut to a number of f32; Inf beyond the largest one, and no negative zero.
double toward_zero(double x) {
  if (std::abs(x) >= power(128)) return std::copysign(INFINITY, x);
  auto f = static_cast<float>(x);
  if (std::abs(static_cast<double>(f)) > std::abs(x)) f = std::nextafter(f, 0.0F);
  return f == 0 ? 0 : static_cast<double>(f);
}

TEST_CASE("plans with block scaling describe themselves", "[quick][block_scale]") {
  CHECK(describe(kScaledGroups) == "scaled groups of 16, F 35, floor -139 -> f32 rz");
  CHECK(describe(kScaledNode) == "fused L 32, F 25, floor -133 -> f32 rz");
}

TEST_CASE("every pair of scales of one product", "[quick][block_scale]") {
  for (const Combination& x : {kMxf8, kMxf4, kNvf4}) {
    const auto number = [&](std::uint64_t code) { return x.scale == "ue8m0" ? ue8m0(code) : ue4m3(code); };
    const std::size_t k = 17, block = k * static_cast<std::size_t>(x.blocks) / x.terms();
    Inputs in = inputs(x, {{k, -1.5}});
    in.c = kMinusZero;
    if (x.a == "e4m3") in.a[k] = 0xBC;  // -1.5
    std::size_t different = 0;
    for (std::uint64_t i = 0; i < 256; ++i)
      for (std::uint64_t j = 0; j < 256; ++j) {
        in.scale_a[block] = i;
        in.scale_b[block] = j;
        const bool nan = is_nan(x, i) || is_nan(x, j);
        const std::uint64_t expected = nan ? kNan : bits(toward_zero(-1.5 * number(i) * number(j))),
                            got = run(x, in);
        if (got == expected || ++different > 3) continue;
        UNSCOPED_INFO(fmt::format("scales {:x} {:x}: got {:x}, expected {:x}", i, j, got, expected));
      }
    INFO(x.title());
    CHECK(different == 0);
  }
}

TEST_CASE("a scale belongs to its block and side", "[quick][block_scale]") {
  for (const Combination& x : {kMxf8, kMxf4, kNvf4})
    for (std::size_t k = 0; k < x.terms(); ++k) {
      const std::size_t block = k / (x.terms() / static_cast<std::size_t>(x.blocks));
      Inputs in = inputs(x, {{k, 1}}, 4);
      for (std::size_t i = 0; i < in.scale_a.size(); ++i)
        in = with_scales(x, in, i, 3, static_cast<int>(i) + 2);
      check(x, in, 4 + power(5 + static_cast<int>(block)));
    }
}

TEST_CASE("a NaN among the scales is the result", "[quick][block_scale]") {
  for (const Combination& x : {kMxf8, kMxf4, kNvf4})
    for (const std::uint64_t nan : {0x7F, 0xFF})
      for (std::size_t i = 0; i < static_cast<std::size_t>(x.blocks); ++i) {
        const bool is = is_nan(x, nan);
        for (const std::uint64_t c : {std::uint64_t{0}, kInf, kInf | kMinusZero}) {
          Inputs in = inputs(x, {});  // zeros only
          in.c = c;
          in.scale_a[i] = nan;
          check_code(x, in, is ? kNan : c);
          std::swap(in.scale_a, in.scale_b);
          check_code(x, in, is ? kNan : c);
        }
      }
}

TEST_CASE("specials of C and of the elements beside extreme scales", "[quick][block_scale]") {
  for (const Combination& x : {kMxf8, kMxf8Wide, kMxf4, kNvf4}) {
    const Inputs in = inputs(x, {{3, 1}});
    for (const auto& [c, expected] : {std::pair{0x7FC00000, kNan},
                                      {0xFF800001, kNan},
                                      {kInf, kInf},
                                      {kInf | kMinusZero, kInf | kMinusZero}}) {
      Inputs special = in;
      special.c = static_cast<std::uint64_t>(c);
      check_code(x, special, expected);
    }
  }
  const auto infinity = [](int of_a, int of_b) {
    Inputs in = with_scales(kMxf8Wide, inputs(kMxf8Wide, {{3, 1}}), 0, of_a, of_b);
    in.a[3] = 0x7C;
    return in;
  };
  check_code(kMxf8Wide, infinity(-127, -127), kInf);  // no scale is zero
  check_code(kMxf8Wide, infinity(127, 127), kInf);
  Inputs in = infinity(127, 127);
  in.c = kInf | kMinusZero;
  check_code(kMxf8Wide, in, kNan);
  in = infinity(127, 127);
  in.b[3] = 0;
  check_code(kMxf8Wide, in, kNan);
}

// Products +1 and -1 in two groups whose scales give 2^e, one at 2^low in the second block.
Inputs remainder(const Combination& x, int e, int low, double c = 0) {
  Inputs in = inputs(x, {{0, 1}, {16, -1}, {40, 1}}, c);
  return with_scales(x, with_scales(x, in, 0, e - e / 2, e / 2), 1, low - low / 2, low / 2);
}

TEST_CASE("the window of scaled groups", "[quick][block_scale]") {
  for (const int e : {-100, -30, 0, 60}) {
    check(kMxf4, remainder(kMxf4, e, e - 35), power(e - 35));
    check(kMxf4, remainder(kMxf4, e, e - 36), 0.0);
    check(kMxf4, remainder(kMxf4, e, e - 36, power(e)), power(e));
  }
  // A group of 36 units is cut no other than one of 1: E is that of the scales.
  Inputs in = inputs(kMxf4, {{40, 1}});
  in.a[0] = in.b[0] = in.b[16] = 7;
  in.a[16] = 15;
  check(kMxf4, with_scales(kMxf4, in, 1, -35, 0), power(-35));
  check(kMxf4, with_scales(kMxf4, in, 1, -36, 0), 0.0);
  // C takes part, also as the largest.
  check(kMxf4, with_scales(kMxf4, inputs(kMxf4, {{0, -1}}, power(-35)), 1, 0, 0), toward_zero(-1 + power(-35)));
  check(kMxf4, inputs(kMxf4, {{0, 1}, {16, -1}}, power(-35)), power(-35));
  check(kMxf4, inputs(kMxf4, {{0, 1}, {16, -1}}, power(-36)), 0.0);
  check(kMxf4, inputs(kMxf4, {{0, 1}, {16, -1}}, -1.5 * power(-35)), -power(-35));
  check(kMxf4, inputs(kMxf4, {{0, -1}, {40, 0.5}}, 1), 0.5);
  check(kMxf4, with_scales(kMxf4, inputs(kMxf4, {{0, -1}, {40, 1}}, 1), 1, -36, 0), 0.0);
}

TEST_CASE("the window of a scaled node", "[quick][block_scale]") {
  for (const int e : {-100, -30, 0, 90}) {
    for (const auto& [fraction, expected] : {std::pair{-15, power(-25)}, {-16, 0.0}}) {
      Inputs in = inputs(kMxf8Wide, {{0, 1}, {31, -1}, {7, power(fraction + 3)}});
      in.b[7] = element("e5m2", power(-13));
      check(kMxf8Wide, with_scales(kMxf8Wide, in, 0, e - e / 2, e / 2), expected * power(e));
    }
  }
}

// C makes the unit 1: two halves of one group are kept, of two groups lost.
TEST_CASE("a group is 16 consecutive products, added before they are cut", "[quick][block_scale]") {
  const double c = -power(35);
  for (const Combination& x : {kMxf4, kNvf4})
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t j = i + 1; j < 64; ++j)
        check(x, inputs(x, {{i, 0.5}, {j, 0.5}}, c), i / 16 == j / 16 ? toward_zero(c + 1) : c);
}

TEST_CASE("which groups raise E", "[quick][block_scale]") {
  const double small = power(-30);
  // Zeros, however large their scales: do not.
  Inputs in = with_scales(kMxf4, inputs(kMxf4, {}, small), 0, 127, 127);
  for (std::size_t k = 0; k < 32; ++k) (k % 2 ? in.a : in.b)[k] = k % 3 ? 7 : 15;
  check(kMxf4, in, small);
  // Products that cancel: do.
  in = with_scales(kMxf4, inputs(kMxf4, {{0, 1}, {15, -1}}, 33), 0, 20, 20);
  check(kMxf4, in, 32.0);
  check(kMxf4, with_scales(kMxf4, in, 0, 127, 127), 0.0);
  // A scale of zero, also beside nonzero products: does not. (Its exponent is -6.)
  in = with_scales(kNvf4, inputs(kNvf4, {{0, 1}}, small), 0, 8, 8);
  in.scale_a[0] = 0;
  check(kNvf4, with_scales(kNvf4, inputs(kNvf4, {{0, 1}}, small), 0, -6, 8), toward_zero(4 + small));
  check(kNvf4, in, small);
  in.c = bits(power(-34));
  check(kNvf4, in, power(-34));
  // A zero product of a node: does not.
  in = with_scales(kMxf8, inputs(kMxf8, {}, small), 0, 127, 127);
  in.a[5] = 0x7E;
  check(kMxf8, in, small);
}

TEST_CASE("a subnormal scale has the exponent of the smallest normal one", "[quick][block_scale]") {
  Inputs in = inputs(kNvf4, {{0, 1}, {16, -1}}, power(-41));
  in.scale_a[0] = in.scale_a[1] = 1;  // 2^-9, exponent -6
  check(kNvf4, in, power(-41));
  in.c = bits(power(-42));
  check(kNvf4, in, 0.0);
  in.scale_b[0] = in.scale_b[1] = 7;  // 7 * 2^-9, exponent -6
  in.c = bits(power(-47));
  check(kNvf4, in, power(-47));
  in.c = bits(power(-48));
  check(kNvf4, in, 0.0);
}

TEST_CASE("the floors of E", "[quick][block_scale]") {
  check(kMxf4,
        with_scales(kMxf4, with_scales(kMxf4, inputs(kMxf4, {{0, 1}, {40, -1}}), 0, -100, -49), 1, -100, -74),
        0.0);
  check(kMxf4,
        with_scales(kMxf4, with_scales(kMxf4, inputs(kMxf4, {{0, 1}, {40, -1}}), 0, -100, -49), 1, -100, -75),
        power(-149));
  for (const auto& [low, expected] : {std::pair{-9, 0.0}, {-10, power(-149)}}) {
    Inputs in = inputs(kMxf8Wide, {{0, 1}, {1, -power(low)}});
    check(kMxf8Wide, with_scales(kMxf8Wide, in, 0, -100, -49), expected);
  }
  // A C below the normal range has the exponent -126, above the floor.
  check(kMxf4, with_scales(kMxf4, inputs(kMxf4, {{0, -1}}, power(-149)), 0, -100, -61), 0.0);
  check(kMxf4, with_scales(kMxf4, inputs(kMxf4, {{0, -1}}, power(-149)), 0, -100, -62), power(-149));
}

TEST_CASE("C and the result at the ends of the range", "[quick][block_scale]") {
  const double largest = static_cast<double>(std::bit_cast<float>(0x7F7FFFFF));
  for (const Combination& x : {kMxf4, kMxf8}) {
    const Inputs one = inputs(x, {{2, 1}});
    check(x, with_scales(x, one, 0, 127, 0), power(127));
    check_code(x, with_scales(x, one, 0, 64, 64), kInf);
    check_code(x, with_scales(x, one, 0, 127, 127), kInf);
    check_code(x, with_scales(x, inputs(x, {{2, -1}}), 0, 127, 127), kInf | kMinusZero);
    check(x, with_scales(x, inputs(x, {{2, 1}}, largest), 0, 103, 0), largest);  // cut again: below 2^128
    check_code(x, with_scales(x, inputs(x, {{2, 1}}, largest), 0, 104, 0), kInf);
    check(x, with_scales(x, inputs(x, {{2, -1}}, largest), 0, 64, 64), -power(104));
    check(x, with_scales(x, one, 0, -127, -22), power(-149));
    check(x, with_scales(x, one, 0, -127, -23), 0.0);
    check(x, with_scales(x, one, 0, -127, -127), 0.0);
    check(x, with_scales(x, inputs(x, {{2, -1}}), 0, -127, -127), 0.0);  // +0
    check(x, with_scales(x, inputs(x, {{2, 1}}, 3), 0, -127, -127), 3.0);
    check(x, with_scales(x, inputs(x, {{2, 1}}, power(-140)), 0, -70, -72), power(-140) + power(-142));
  }
  // All of the largest size: no carry is lost.
  Inputs in = inputs(kNvf4, {});
  std::ranges::fill(in.a, 7);
  std::ranges::fill(in.b, 7);
  std::ranges::fill(in.scale_a, 0x7E);
  std::ranges::fill(in.scale_b, 0x7E);
  check(kNvf4, in, 64 * 36 * 448.0 * 448.0);
  std::ranges::fill(in.a, 15);
  check(kNvf4, in, 64 * -36 * 448.0 * 448.0);
}

// ---- Plain arithmetic, where the windows hold every bit

double number(const std::string& format, std::uint64_t code) {
  const oracle::Value v = oracle::decode(format, code);
  return std::ldexp(static_cast<double>(v.magnitude), v.exponent) * (v.negative ? -1 : 1);
}

TEST_CASE("sums of few bits equal plain arithmetic", "[quick][block_scale]") {
  std::size_t compared = 0, nonzero = 0;
  for (const Combination& x : all_combinations()) {
    const profiles::Alphabet a(oracle::find_format(x.a)), b(oracle::find_format(x.b));
    for (std::uint64_t i = 0; i < 200; ++i) {
      Stream s(kSeed, i);
      Inputs in = inputs(x, {});
      // Factors are multiples of 2^-4 below 4, or all of e2m1; the scales of a column move it as a whole.
      for (std::size_t k = 0; k < x.terms(); ++k) {
        in.a[k] = x.grouped() ? s.bits() & 15 : a.number(s.coin(), s.range(-1, 1), s.bits());
        in.b[k] = x.grouped() ? s.bits() & 15 : b.number(s.coin(), s.range(-1, 1), s.bits());
      }
      const bool wide = x.scale == "ue8m0";
      const int shift = wide ? s.range(-60, 60) : 0, apart = wide ? s.range(-50, 50) : 0;
      double exact = 0;
      for (std::size_t block = 0; block < in.scale_a.size(); ++block) {
        const auto draw = [&](int e) { return wide ? scale(x, e) : scale(x, s.range(-1, 1)) | (s.bits() & 7); };
        in.scale_a[block] = draw(apart + s.range(0, 2));
        in.scale_b[block] = draw(shift - apart + s.range(0, 2));
        const std::size_t length = x.terms() / in.scale_a.size();
        for (std::size_t k = block * length; k < (block + 1) * length; ++k)
          exact += number(x.a, in.a[k]) * number(x.b, in.b[k]) * number(x.scale, in.scale_a[block]) *
                   number(x.scale, in.scale_b[block]);
      }
      const double c = std::ldexp(s.range(-4096, 4096), shift - s.range(0, 10));
      in.c = bits(c);
      INFO(x.title() << "\n" << text(in));
      REQUIRE(run(x, in) == bits(toward_zero(exact + c)));
      ++compared;
      nonzero += exact + c != 0 ? 1 : 0;
    }
  }
  CHECK(compared == 56 * 200);
  CHECK(nonzero > compared / 2);
}

// ---- Random inputs against the oracle

TEST_CASE("random inputs with block scaling equal the oracle", "[quick][block_scale]") {
  std::uint64_t total = 0;
  std::size_t combinations = 0;
  for (const Combination& x : all_combinations()) {
    const oracle::Dot dot(x.problem());
    const auto alphabet = [](const std::string& name) { return profiles::Alphabet(oracle::find_format(name)); };
    const profiles::ScaledFormats formats{
        {alphabet(x.a), alphabet(x.b), alphabet("f32"), alphabet("f32"), static_cast<int>(x.terms())},
        alphabet(x.scale),
        x.blocks};
    const std::uint64_t count = count_wanted("WARPBIT_PROPERTY_COUNT", x.grouped() ? 2500 : 250);
    std::uint64_t different = 0;
#pragma omp parallel for schedule(dynamic, 16)
    for (std::uint64_t i = 0; i < count; ++i) {
      const Inputs in = profiles::scaled_case(formats, dot, kSeed, i);
      const std::uint64_t got = run(x, in), expected = dot(in.a, in.b, in.c, in.scale_a, in.scale_b);
      if (got == expected) continue;
#pragma omp critical
      if (++different <= 3)
        UNSCOPED_INFO(fmt::format("case {}:\n{}\ngot {:x}, oracle {:x}", i, text(in), got, expected));
    }
    UNSCOPED_INFO(x.title());
    CHECK(different == 0);
    total += count;
    ++combinations;
  }
  fmt::print("block scaling: {} combinations, {} dot products\n", combinations, total);
  CHECK(combinations == 56);
}

}  // namespace block_scale_test
