// SPDX-License-Identifier: Apache-2.0
// Every plan against the oracle, on inputs of tests/profiles.hpp and tests/scale_profiles.hpp.
// WARPBIT_PROPERTY_COUNT is the number of dot products for each plan and pair of formats (100000 unless set);
// with scale_vec::1X a tenth of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>  // getenv, strtoull

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
  std::string title() const {
    return fmt::format("{} on {}", instruction.canonical(), instruction.target().name());
  }
  bool same_arithmetic(const Combination& x) const {
    return *tile().plan == *x.tile().plan && problem.sparse == x.problem.sparse &&
           problem.scale == x.problem.scale && problem.blocks == x.problem.blocks && problem.a == x.problem.a &&
           problem.b == x.problem.b && problem.c == x.problem.c && problem.d == x.problem.d;
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

// Every documented form of a dot product on every target that has it.
std::vector<Combination> all_combinations() {
  std::vector<Combination> out;
  for (const Family& family : families()) {
    for (const Form& form : family.forms) {
      if (!form.undocumented.empty() || !std::holds_alternative<DotProduct>(form.action)) continue;
      for (const Target target : targets_of(form)) {
        Result<Instruction> parsed = Instruction::parse(form.canonical, target);
        INFO(form.canonical << " on " << target.name());
        REQUIRE(parsed.ok());
        const Plan& plan = *std::get<Tile>(parsed->decoded().kernel).plan;
        out.push_back(
            {*parsed, oracle::problem_of(target.name(), form.canonical), node_count(plan, parsed->terms())});
      }
    }
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
    const std::uint64_t wanted = x.problem.blocks == 1 ? std::max<std::uint64_t>(count / 10, 100) : count;
    const Outcome outcome = compare(x, wanted);
    check(x, outcome, wanted);
    total += outcome.compared;
    fmt::print("{:>8} dot products of {:>3} terms{}{}: {} x {} + {} -> {}: {}{}\n", outcome.compared,
               x.instruction.terms(), x.problem.sparse ? ", sparse" : "",
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
