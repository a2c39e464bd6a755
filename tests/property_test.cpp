// SPDX-License-Identifier: Apache-2.0
// Every plan against the oracle, on inputs of tests/profiles.hpp and tests/scale_profiles.hpp.
// WARPBIT_PROPERTY_COUNT is the number of dot products for each plan and pair of formats (10000 unless set);
// with scale_vec::1X, and with a sign of -1, a tenth of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "combinations.hpp"
#include "count_wanted.hpp"

namespace property_test {

using namespace warpbit;
using namespace combinations;

constexpr std::size_t kFailuresShown = 3;

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
      x.title(), kCombinationSeed, f.index, fmt::join(in.a, " "), fmt::join(in.b, " "),
      fmt::join(in.scale_a, " "), fmt::join(in.scale_b, " "), in.c, f.got, f.expected);
}

void check(const Combination& x, const Outcome& outcome, std::uint64_t count) {
  for (const Failure& failure : outcome.first) UNSCOPED_INFO(text(x, failure));
  UNSCOPED_INFO(x.title() << ", " << describe(*x.tile().plan));
  CHECK(outcome.different == 0);
  INFO(x.title());
  CHECK(outcome.compared == count);
}

TEST_CASE("each plan and pair of formats equals the oracle", "[sampled]") {
  const std::uint64_t count = count_wanted("WARPBIT_PROPERTY_COUNT", 5000);
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
TEST_CASE("each form on each target equals the oracle", "[once]") {
  const std::uint64_t count = std::max<std::uint64_t>(count_wanted("WARPBIT_PROPERTY_COUNT", 5000) / 100, 56);
  const std::vector<Combination> list = all_combinations();
  std::vector<Outcome> outcomes(list.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < list.size(); ++i) outcomes[i] = compare(list[i], count);
  for (std::size_t i = 0; i < list.size(); ++i) check(list[i], outcomes[i], count);
  fmt::print("total: {} forms on their targets, {} dot products each\n", list.size(), count);
}

}  // namespace property_test
