// SPDX-License-Identifier: Apache-2.0
// The arithmetic of tcgen05.mma, by plans alone: published results of a B200 (tests/published/tcgen05_b200.tsv), what they
// show, inputs that tell the plans from others, and the oracle. WARPBIT_PROPERTY_COUNT is the number of dot products of each
// kind (10000 unless set).
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <vector>

#include "count_wanted.hpp"
#include "oracle/oracle.hpp"
#include "scale_profiles.hpp"
#include "tensor_words.hpp"

namespace tensor_sums_test {

using namespace warpbit;
using namespace tensor_words;
constexpr std::uint64_t kSeed = 1;

TEST_CASE("the plans give the published results of a B200") {
  const std::vector<Published> all = published();
  std::set<std::string> kinds;
  for (const Published& x : all) {
    INFO(x.name << ", " << x.kind.title() << ", " << describe(x.kind.plan()) << "\n" << text(x.in));
    CHECK(run(x.kind, x.kind.plan(), x.in) == x.word);
    kinds.insert(x.kind.title());
  }
  CHECK(all.size() == 74);
  CHECK(kinds.size() == 31);
}

// What the published results show of the plans: other numbers that some of them exclude (NUMERICS.md, "tcgen05").
TEST_CASE("the published results exclude some neighbours of the plans, and no others of their kind") {
  const std::vector<Published> all = published();
  // Whether all results with these factors are those of the edited plan.
  const auto agree = [&](std::string_view a, std::string_view scale, auto edit) {
    return std::ranges::all_of(all, [&](const Published& x) {
      if (x.kind.a != a || x.kind.scale != scale || x.kind.d != "f32") return true;
      Plan plan = x.kind.plan();
      edit(*plan.begin());
      return run(x.kind, plan, x.in) == x.word;
    });
  };
  const auto with_window = [](int window) {
    return [window](Step& step) { std::get<Fused>(step).window = window; };
  };
  const auto with_floor = [](int floor) {
    return [floor](Step& step) { std::get<Fused>(step).floor = floor; };
  };
  struct Allowed {
    const char* a;
    int least, most;  // F, as far as 35
    int excluded = 0, excluded_too = 0;
  };
  for (const Allowed& x : {Allowed{"tf32", 21, 35, 23, 24},
                           {"bf16", 7, 35},
                           {"f16", 24, 35},
                           {"e4m3", 24, 35},
                           {"e5m2", 23, 25},
                           {"e2m3", 23, 35},
                           {"e3m2", 23, 30},
                           {"e2m1", 23, 35}})
    for (int window = 1; window <= 35; ++window) {
      INFO(x.a << ", F " << window);
      const bool is_allowed =
          window >= x.least && window <= x.most && window != x.excluded && window != x.excluded_too;
      CHECK(agree(x.a, "", with_window(window)) == is_allowed);
    }
  for (const char* a : {"tf32", "bf16", "f16", "e5m2"}) CHECK(agree(a, "", with_floor(-133)));
  for (const int length : {1, 2, 4, 8}) {
    INFO("L " << length);
    CHECK(agree("f16", "", [&](Step& step) { std::get<Fused>(step).products = length; }) == (length >= 4));
    CHECK(agree("tf32", "", [&](Step& step) { std::get<Fused>(step).products = length; }));
    CHECK(agree("e2m1", "ue4m3", [&](Step& step) { std::get<WindowedGroups>(step).group = length; }) ==
          (length >= 4));
  }
}

// ---- Evidence

std::vector<Kind> kinds() {
  std::vector<Kind> out{{"f16", "f32", "f16", "f16"},   {"f16", "f16", "f16", "f16"},
                        {"f16", "f32", "bf16", "bf16"}, {"tf32", "f32", "tf32", "tf32"},
                        {"f8f6f4", "f32", "", ""},      {"f8f6f4", "f16", "", ""},
                        {"i8", "s32", "", ""},          {"i8", "s32", "", "", true}};
  out.push_back({"mxf8f6f4", "f32", "", "", false, false, "ue8m0", 1});
  out.push_back({"mxf4", "f32", "e2m1", "e2m1", false, false, "ue8m0", 2});
  out.push_back({"mxf4nvf4", "f32", "e2m1", "e2m1", false, false, "ue8m0", 4});
  out.push_back({"mxf4nvf4", "f32", "e2m1", "e2m1", false, false, "ue4m3", 4});
  return out;
}

// The pairs of factors of a kind.
std::vector<Kind> pairs_of(const Kind& x) {
  if (!x.a.empty()) return {x};
  const std::vector<std::string> types = x.kind == "i8"
                                             ? std::vector<std::string>{"u8", "s8"}
                                             : std::vector<std::string>{"e4m3", "e5m2", "e3m2", "e2m3", "e2m1"};
  std::vector<Kind> out;
  for (const std::string& a : types)
    for (const std::string& b : types) {
      out.push_back(x);
      out.back().a = a;
      out.back().b = b;
    }
  return out;
}

TEST_CASE(
    "every kind has one plan on all its targets, published on sm_100 where words show its sums, else inferred") {
  int found = 0, published_rows = 0;
  for (const Kind& kind : kinds())
    for (Kind x : pairs_of(kind)) {
      const PlanRow* dense = nullptr;
      for (const bool sparse : {false, true}) {
        x.sparse = sparse;
        const TargetPlan own = x.plan_on("sm_100a");
        if (!sparse) dense = own.row;
        CHECK(own.row == dense);
        // No word of clamped integers reaches the limit.
        const bool has_words =
            !sparse && !x.saturates && (x.kind == "tf32" || x.kind == "i8" || x.is_grouped());
        INFO(x.title());
        CHECK(own.evidence.overall() == (has_words ? Basis::published : Basis::inferred));
        CHECK((own.evidence.floor.basis == Basis::inferred || x.kind == "i8"));
        published_rows += has_words;
        for (const char* target : {"sm_100f", "sm_103a", "sm_103f", "sm_110a", "sm_110f"}) {
          const TargetPlan other = x.plan_on(target);
          CHECK(other.row->plan == own.row->plan);
          CHECK((other.evidence.overall() == Basis::inferred) ==
                (!has_words || target != std::string_view("sm_100f")));
          ++found;
        }
        for (const char* target : {"sm_90a", "sm_120a"})
          CHECK_FALSE(find_plan(Target::find(target).value().row(), x.arithmetic()).has_value());
      }
    }
  CHECK(found == 5 * 2 * 90);
  CHECK(published_rows == 8);
}

// ---- Inputs that tell rules apart (NUMERICS.md, "tcgen05")

const Kind kTf32{"tf32", "f32", "tf32", "tf32"};
const Kind kMxf4{"mxf4", "f32", "e2m1", "e2m1", false, false, "ue8m0", 2};
const Kind kNvf4{"mxf4nvf4", "f32", "e2m1", "e2m1", false, false, "ue4m3", 4};

// Factors at some k, the others zero.
struct Term {
  std::size_t k;
  std::uint64_t a, b;
};
Inputs inputs(const Kind& x, std::initializer_list<Term> terms, Codes scale_a = {}, Codes scale_b = {}) {
  Inputs in;
  in.a.assign(static_cast<std::size_t>(x.terms()), 0);
  in.b = in.a;
  for (const Term& t : terms) {
    in.a[t.k] = t.a;
    in.b[t.k] = t.b;
  }
  in.scale_a = std::move(scale_a);
  in.scale_b = std::move(scale_b);
  return in;
}

// 2^-149 - 2^-159: without a floor the second is a part of the sum, which is cut to 0.
TEST_CASE("an input tells no floor from one of -133") {
  const Inputs in = inputs(kTf32, {{0, 0x1A000000, 0x1A800000}, {1, 0x97800000, 0x18000000}});
  Plan floored = kTf32.plan();
  std::get<Fused>(*floored.begin()).floor = -133;
  CHECK(run(kTf32, kTf32.plan(), in) == 0);
  CHECK(run(kTf32, floored, in) == 1);
}

const Plan kRtxGroups{GroupScaled{16, 35, -139, FormatId::f32, Rounding::toward_zero}};

// 2^-149 with scales of 2^-150; then -1.5 and 1 times 2^-174. A floor of -139 cuts the former to -1.
TEST_CASE("an input tells mxf4 of tcgen05 from that of mma.sync on sm_120") {
  const TargetPlan rtx =
      find_plan(Target::find("sm_120a").value().row(), {Unit::block_scale, FormatId::f32, FormatId::e2m1,
                                                        FormatId::e2m1, FormatId::f32, Modifier::packed_fp4})
          .value();
  CHECK(rtx.row->plan == kRtxGroups);
  const Inputs in = inputs(kMxf4, {{0, 4, 2}, {32, 0xB, 2}, {48, 2, 2}}, {0x34, 0x28}, {0x34, 0x28});
  CHECK(run(kMxf4, kMxf4.plan(), in) == 0);
  CHECK(run(kMxf4, kRtxGroups, in) == 1);
}

// Groups of 4 and of 16: 2^16 (36 - 36), and 2^-20 twice, which only together reach the last bit, 2^-19.
TEST_CASE("an input tells mxf4nvf4 with scales of ue4m3 of tcgen05 from that of mma.sync on sm_120") {
  const Inputs in = inputs(kNvf4, {{0, 7, 7}, {1, 0xF, 7}, {16, 1, 1}, {20, 1, 1}}, {0x78, 1, 0x38, 0x38},
                           {0x78, 1, 0x38, 0x38});
  CHECK(run(kNvf4, kNvf4.plan(), in) == 0);
  CHECK(run(kNvf4, kRtxGroups, in) == 0x36000000);
  // Below a C that is above all products they are groups of 16 here, too: 2^16 - 2^-20 - 2^-20.
  Inputs below = inputs(kNvf4, {{16, 9, 1}, {20, 9, 1}}, {0x38, 1, 0x38, 0x38}, {0x38, 1, 0x38, 0x38});
  below.c = 0x47800000;
  Plan fours = kNvf4.plan();
  std::get<WindowedGroups>(*fours.begin()).group_below_c = 4;
  CHECK(run(kNvf4, kNvf4.plan(), below) == 0x477FFFFF);
  CHECK(run(kNvf4, fours, below) == 0x47800000);
}

// 2^-148, and -2^-175 with lower scales: left out, since the result is a subnormal.
TEST_CASE("groups with lower scales are left out of subnormal results") {
  const Inputs in = inputs(kMxf4, {{0, 4, 4}, {32, 9, 2}}, {0x34, 0x28}, {0x34, 0x28});
  Plan all = kMxf4.plan();
  std::get<GroupScaled>(*all.begin()).least = kNoFloor;
  CHECK(run(kMxf4, kMxf4.plan(), in) == 2);
  CHECK(run(kMxf4, all, in) == 1);
}

// A K of 96 has the same rules, over 96 products and 3 or 6 scales: assumed.
TEST_CASE("a K of 96 is one sum") {
  for (const std::size_t scales : {3U, 6U}) {
    Kind x = scales == 3 ? kMxf4 : kNvf4;
    Inputs in;
    in.a.assign(96, 2);
    in.b.assign(96, 2);
    in.scale_a.assign(scales, x.scale == "ue8m0" ? 0x7F : 0x38);
    in.scale_b = in.scale_a;
    in.scale_a.back() += x.scale == "ue8m0" ? 1U : 8U;                       // times 2
    CHECK(run(x, x.plan(), in) == (scales == 3 ? 0x43000000 : 0x42E00000));  // 96 + 32, 96 + 16
  }
}

// ---- scale-input-d: C counts 2^-n times

TEST_CASE("C counts 2^-n times, before it is cut") {
  const Kind f16{"f16", "f16", "f16", "f16"};
  struct Case {
    const Kind& kind;
    std::uint64_t c;
    int n;
    std::uint64_t d;
  };
  for (const Case& x : {Case{kTf32, 0x40400000, 1, 0x3FC00000},  // 3 / 2
                        {kTf32, 0x3F800000, 15, 0x38000000},
                        {kTf32, 0x00800000, 1, 0x00400000},  // 2^-127, a subnormal
                        {kTf32, 0x00000003, 1, 0x00000001},  // toward zero
                        {kTf32, 0x80000001, 1, 0},           // +0
                        {kTf32, 0x7F800000, 9, 0x7F800000},
                        {kTf32, 0xFFFFFFFF, 9, 0x7FFFFFFF},
                        {kTf32, 0x80000000, 3, 0},
                        {f16, 0x0003, 1, 0x0002},  // to nearest even
                        {f16, 0x3C00, 15, 0x0200}}) {
    Inputs in = inputs(x.kind, {});
    in.c = x.c;
    INFO(x.kind.title() << ", C " << x.c << ", n " << x.n);
    CHECK(run(x.kind, x.kind.plan(), in, x.n) == x.d);
  }
  // 1 + 2^-24 + C, cut to multiples of 2^-25: with a C of 2^-24 (1 + 2^-23) the sum reaches the last bit of f32.
  Inputs in = inputs(kTf32, {{0, 0x3F800000, 0x3F800000}, {1, 0x3F800000, 0x33800000}});
  in.c = 0x40000001;  // times 2^-25
  CHECK(run(kTf32, kTf32.plan(), in, 25) == 0x3F800001);
  CHECK(run(kTf32, kTf32.plan(), in, 26) == 0x3F800000);
}

// ---- The oracle

std::size_t compare(const Kind& kind, std::uint64_t count) {
  std::uint64_t different = 0;
  const std::vector<Kind> pairs = pairs_of(kind);
  const std::uint64_t each = std::max<std::uint64_t>(1, count / pairs.size());
  for (const Kind& x : pairs) {
    const oracle::TensorDot dot({x.kind, x.d, x.a, x.b, x.saturates, x.scale});
    const auto alphabet = [](const std::string& name) { return profiles::Alphabet(oracle::find_format(name)); };
    const profiles::Formats elements{alphabet(x.a), alphabet(x.b), alphabet(x.d), alphabet(x.d), x.terms()};
    const profiles::ScaledFormats scaled{elements, alphabet(x.scale.empty() ? "ue8m0" : x.scale), x.scales};
    const Plan& plan = x.plan();
#pragma omp parallel for schedule(dynamic, 16)
    for (std::uint64_t i = 0; i < each; ++i) {
      Inputs in;
      if (x.scale.empty()) {
        profiles::Case c;
        profiles::fill(elements, kSeed, i, c);
        in.a.assign(c.a.begin(), c.a.begin() + x.terms());
        in.b.assign(c.b.begin(), c.b.begin() + x.terms());
        in.c = c.c;
      } else {
        in = profiles::scaled_case(scaled, dot, kSeed, i);
      }
      const std::uint64_t got = run(x, plan, in), expected = dot(in.a, in.b, in.c, in.scale_a, in.scale_b);
      if (got == expected) continue;
#pragma omp critical
      if (++different <= 3)
        UNSCOPED_INFO(
            fmt::format("{}, case {}:\n{}\ngot {:x}, oracle {:x}", x.title(), i, text(in), got, expected));
    }
  }
  CHECK(different == 0);
  return each * pairs.size();
}

TEST_CASE("random inputs of every kind equal the oracle", "[sampled]") {
  const std::uint64_t count = count_wanted("WARPBIT_PROPERTY_COUNT", 10000);
  std::size_t total = 0;
  for (const Kind& kind : kinds()) {
    const std::size_t done = compare(kind, count);
    fmt::print("{:>8} dot products of {}, {} -> {}\n", done, kind.kind, kind.scale, kind.d);
    total += done;
  }
  CHECK(total > 11 * count);
}

TEST_CASE("the plans of sm_107a are these") {
  for (const Kind& kind : kinds()) {
    if (kind.kind == "i8") continue;  // sm_107 has none
    for (const Kind& x : pairs_of(kind)) {
      INFO(x.title());
      CHECK(describe(x.plan_on("sm_107a").row->plan) == describe(x.plan()));
    }
  }
}

// Any codes, with scales near each other and a C near what they scale.
Inputs random_groups(const Kind& x, std::size_t terms, std::size_t scales, std::uint64_t index) {
  profiles::Stream s(kSeed, index);
  Inputs in;
  const bool wide = x.scale == "ue8m0";
  const int at = s.one_in(4) ? s.range(-160, -130) : s.range(-60, 60), spread = s.pick(std::array{0, 3, 40});
  for (std::size_t k = 0; k < terms; ++k) {
    in.a.push_back(s.one_in(3) ? 0 : s.bits() & 15);
    in.b.push_back(s.bits() & 15);
  }
  for (std::size_t i = 0; i < scales; ++i) {
    const int half = wide ? (at - s.range(0, spread)) / 2 : s.range(-6, 8);
    in.scale_a.push_back(static_cast<std::uint64_t>(wide ? half + 127 : std::max(half + 7, 0) * 8) |
                         (wide ? 0 : s.bits() & 3));
    in.scale_b.push_back(in.scale_a.back());
  }
  const int exponent = std::clamp((wide ? at : 8) + s.range(-6, 8), -126, 127);
  in.c = s.one_in(3) ? 0
                     : static_cast<std::uint64_t>(exponent + 127) << 23 | (s.bits() & 0x7FFFFF) |
                           static_cast<std::uint64_t>(s.coin()) << 31;
  return in;
}

TEST_CASE("a K of 96 equals the oracle") {
  struct Shape {
    const char* scale;
    std::size_t scales;
  };
  for (const Shape& shape : {Shape{"ue8m0", 3}, {"ue8m0", 6}, {"ue4m3", 6}}) {
    const Kind x{"mxf4nvf4", "f32", "e2m1", "e2m1", false, false, shape.scale, static_cast<int>(shape.scales)};
    const oracle::TensorDot dot({x.kind, x.d, x.a, x.b, false, x.scale});
    const std::uint64_t count = count_wanted("WARPBIT_PROPERTY_COUNT", 1000);
    for (std::uint64_t i = 0; i < count; ++i) {
      const Inputs in = random_groups(x, 96, shape.scales, i);
      INFO(x.title() << ", case " << i << "\n" << text(in));
      REQUIRE(run(x, x.plan(), in) == dot(in.a, in.b, in.c, in.scale_a, in.scale_b));
    }
  }
}

TEST_CASE("a trace has what is kept of each group, and of C") {
  int compared = 0;
  for (const Kind& x : {kMxf4, kNvf4})
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Inputs in = random_groups(x, 64, static_cast<std::size_t>(x.scales), i);
      Trace trace;
      const std::uint64_t code = run(x, x.plan(), in, 0, &trace);
      INFO(x.title() << ", case " << i << "\n" << text(in));
      REQUIRE(trace.size() == 1);
      const TracedSum& sum = trace[0];
      CHECK(sum.code == code);
      CHECK((sum.addends.size() == 5 || sum.addends.size() == 17));
      if (!sum.cut || (code & 0x7FFFFFFF) >= 0x7F800000) continue;
      std::int64_t units = 0;
      for (const Addend& addend : sum.addends) units += addend.units;
      const std::uint64_t magnitude = static_cast<std::uint64_t>(units < 0 ? -units : units);
      const std::uint64_t kept = units == 0
                                     ? 0
                                     : oracle::encode("f32", units < 0, magnitude, sum.cut->e - sum.cut->window,
                                                      oracle::Round::toward_zero, false);
      CHECK((kept == code || (kept == 0x80000000 && code == 0)));
      ++compared;
    }
  CHECK(compared > 900);
}

}  // namespace tensor_sums_test
