// SPDX-License-Identifier: Apache-2.0
// Every plan against the oracle, on inputs of tests/profiles.hpp and tests/scale_profiles.hpp.
// WARPBIT_PROPERTY_COUNT is the number of dot products for each plan and pair of formats (100000 unless set);
// with scale_vec::1X, and with a sign of -1, a tenth of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>  // getenv, strtoull
#include <regex>
#include <set>

#include "isa/instruction.hpp"
#include "oracle/oracle.hpp"
#include "profiles.hpp"
#include "scale_profiles.hpp"

namespace {

using namespace warpbit;

constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kFailuresShown = 3;

std::uint64_t count_wanted() {
  const char* text = std::getenv("WARPBIT_PROPERTY_COUNT");
  if (text == nullptr) return 100000;
  char* end = nullptr;
  const std::uint64_t count = std::strtoull(text, &end, 10);
  INFO("WARPBIT_PROPERTY_COUNT is " << text);
  REQUIRE((*end == '\0' && count > 0));
  return count;
}

struct Combination {
  Instruction instruction;
  oracle::Problem problem;
  int nodes;  // rounded sums of one dot product

  const Tile& tile() const { return std::get<Tile>(instruction.decoded().kernel); }
  bool has_sign() const { return problem.negate_a || problem.negate_b; }
  std::string signs() const {
    return fmt::format("{}{}", problem.negate_a ? ", -a" : "", problem.negate_b ? ", -b" : "");
  }
  std::string title() const {
    return fmt::format("{}{} on {}", instruction.canonical(), signs(), instruction.target().name());
  }
  bool same_arithmetic(const Combination& x) const {
    return *tile().plan == *x.tile().plan && problem.sparse == x.problem.sparse &&
           problem.scale == x.problem.scale && problem.blocks == x.problem.blocks && problem.a == x.problem.a &&
           problem.b == x.problem.b && problem.c == x.problem.c && problem.d == x.problem.d &&
           problem.negate_a == x.problem.negate_a && problem.negate_b == x.problem.negate_b;
  }
};

int node_count(const Plan& plan, int terms) {
  int nodes = 0;
  for (const Step& step : plan) {
    const Fused* fused = std::get_if<Fused>(&step);
    int chosen = 0;
    for (int k = 0; fused != nullptr && k < terms; ++k)
      chosen += fused->k.contains(static_cast<std::size_t>(k)) ? 1 : 0;
    if (fused != nullptr) nodes += (chosen + fused->products - 1) / fused->products;
  }
  return nodes;
}

// What no element of D depends on: N of m64n8k16 (but not of m16n8k16, which has no other), where A lies.
std::string without_n(const std::string& canonical) {
  static const std::regex kShape("m64n[0-9]+k");
  return std::regex_replace(canonical, kShape, "m64k");
}

// A form by its statement, the signs of its factors chosen.
Combination combination(const FormInfo& form, Target target, bool negate_a, bool negate_b) {
  std::string notation = form.operands;
  for (const auto& [sign, negate] : {std::pair("imm_scale_a:", negate_a), {"imm_scale_b:", negate_b}})
    if (const std::size_t at = notation.find(sign); at != notation.npos) {
      const std::size_t value = at + std::string_view(sign).size();
      notation.replace(value, notation.find(' ', value) - value, negate ? "=-1" : "=1");
    }
  const Result<Instruction> parsed = Instruction::parse(form.canonical, notation, target);
  INFO(form.canonical << " " << notation << " on " << target.name());
  REQUIRE(parsed.ok());
  oracle::Problem problem = oracle::problem_of(target.name(), form.canonical);
  problem.negate_a = negate_a;
  problem.negate_b = negate_b;
  const int nodes = node_count(*std::get<Tile>(parsed->decoded().kernel).plan, parsed->terms());
  return {*parsed, problem, nodes};
}

// Every documented form of a dot product on every target that has it, with all signs of its factors.
std::vector<Combination> all_combinations() {
  std::vector<Combination> out;
  std::set<std::string> seen;
  for (const FormInfo& form : forms()) {
    const Instruction bare = Instruction::parse(form.canonical, form.targets.back()).value();
    if (!std::holds_alternative<DotProduct>(bare.decoded().form->action)) continue;
    if (!seen.insert(without_n(form.canonical)).second) continue;
    const bool has_signs = form.operands.find("imm_scale_a:") != std::string::npos;
    for (const Target target : form.targets)
      for (const bool negate_a : {false, true})
        for (const bool negate_b : {false, true})
          if (has_signs || (!negate_a && !negate_b))
            out.push_back(combination(form, target, negate_a, negate_b));
  }
  return out;
}

// One for each plan, formats and number of nodes, dense and sparse: that of the most products.
std::vector<Combination> distinct_combinations() {
  std::vector<Combination> out;
  for (const Combination& x : all_combinations()) {
    const auto same = [&](const Combination& y) { return x.nodes == y.nodes && x.same_arithmetic(y); };
    const auto found = std::ranges::find_if(out, same);
    if (found == out.end())
      out.push_back(x);
    else if (found->instruction.terms() < x.instruction.terms())
      *found = x;
  }
  return out;
}

struct Failure {
  std::uint64_t index;
  profiles::ScaledCase inputs;
  std::uint64_t got, expected;
};

struct Outcome {
  std::uint64_t compared = 0, different = 0;
  std::vector<Failure> first;  // by index
};

void keep_first(std::vector<Failure>& list, Failure failure) {
  list.push_back(std::move(failure));
  std::ranges::sort(list, {}, &Failure::index);
  if (list.size() > kFailuresShown) list.pop_back();
}

profiles::Alphabet alphabet(const std::string& name) {
  return profiles::Alphabet(oracle::find_format(name));
}

// Case `index` for a combination with or without scales.
class Inputs {
 public:
  Inputs(const Combination& x, const oracle::Dot& dot)
      : scaled_(x.problem.blocks > 0),
        formats_{{alphabet(x.problem.a), alphabet(x.problem.b), alphabet(x.problem.c), alphabet(x.problem.d),
                  x.instruction.terms()},
                 alphabet(scaled_ ? x.problem.scale : x.problem.c),
                 x.problem.blocks},
        dot_(dot) {}

  profiles::ScaledCase operator()(std::uint64_t index) const {
    if (scaled_) return profiles::scaled_case(formats_, dot_, kSeed, index);
    profiles::Case in;
    profiles::fill(formats_.elements, kSeed, index, in);
    const auto terms = static_cast<std::ptrdiff_t>(formats_.elements.depth);
    return {{in.a.begin(), in.a.begin() + terms}, {in.b.begin(), in.b.begin() + terms}, {}, {}, in.c};
  }

 private:
  bool scaled_;
  profiles::ScaledFormats formats_;
  const oracle::Dot& dot_;
};

Outcome compare(const Combination& x, std::uint64_t count) {
  const oracle::Dot dot(x.problem);
  const Inputs inputs(x, dot);
  Outcome out;
  std::uint64_t compared = 0, different = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : compared, different)
  for (std::uint64_t i = 0; i < count; ++i) {
    const profiles::ScaledCase in = inputs(i);
    const std::uint64_t got = run_element(x.tile(), {in.a, in.b, in.c, in.scale_a, in.scale_b});
    const std::uint64_t expected = dot(in.a, in.b, in.c, in.scale_a, in.scale_b);
    ++compared;
    if (got == expected) continue;
    ++different;
#pragma omp critical
    keep_first(out.first, {i, in, got, expected});
  }
  out.compared = compared;
  out.different = different;
  return out;
}

std::string text(const Combination& x, const Failure& f) {
  const profiles::ScaledCase& in = f.inputs;
  return fmt::format(
      "{}, seed {}, case {}:\n  a {:x}\n  b {:x}\n  scales {:x}; {:x}\n  c {:x}\n  got {:x}, oracle {:x}",
      x.title(), kSeed, f.index, fmt::join(in.a, " "), fmt::join(in.b, " "), fmt::join(in.scale_a, " "),
      fmt::join(in.scale_b, " "), in.c, f.got, f.expected);
}

void check(const Combination& x, const Outcome& outcome, std::uint64_t count) {
  for (const Failure& failure : outcome.first) UNSCOPED_INFO(text(x, failure));
  UNSCOPED_INFO(x.title() << ", " << describe(*x.tile().plan));
  CHECK(outcome.different == 0);
  INFO(x.title());
  CHECK(outcome.compared == count);
}

TEST_CASE("each plan and pair of formats equals the oracle") {
  const std::uint64_t count = count_wanted();
  const std::vector<Combination> list = distinct_combinations();
  std::uint64_t total = 0;
  for (const Combination& x : list) {
    const bool fewer = x.problem.blocks == 1 || x.has_sign();
    const std::uint64_t wanted = fewer ? std::max<std::uint64_t>(count / 10, 100) : count;
    const Outcome outcome = compare(x, wanted);
    check(x, outcome, wanted);
    total += outcome.compared;
    fmt::print("{:>8} dot products of {:>3} terms{}{}{}: {} x {} + {} -> {}: {}{}\n", outcome.compared,
               x.instruction.terms(), x.problem.sparse ? ", sparse" : "", x.signs(),
               x.problem.blocks > 0 ? fmt::format(", {}X {}", x.problem.blocks, x.problem.scale) : "",
               x.problem.a, x.problem.b, x.problem.c, x.problem.d, describe(*x.tile().plan),
               outcome.different == 0 ? "" : fmt::format(": {} DIFFER", outcome.different));
  }
  fmt::print("total: {} combinations of plan, formats and nodes, {} dot products\n", list.size(), total);
  CHECK(list.size() > 200);
}

// A target that was given another target's plan is not seen above.
TEST_CASE("each form on each target equals the oracle") {
  const std::uint64_t count = std::max<std::uint64_t>(count_wanted() / 100, 56);
  const std::vector<Combination> list = all_combinations();
  std::vector<Outcome> outcomes(list.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < list.size(); ++i) outcomes[i] = compare(list[i], count);
  for (std::size_t i = 0; i < list.size(); ++i) check(list[i], outcomes[i], count);
  fmt::print("total: {} forms on their targets, {} dot products each\n", list.size(), count);
}

}  // namespace
