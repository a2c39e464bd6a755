// SPDX-License-Identifier: Apache-2.0
// Every plan against the oracle, on inputs of tests/profiles.hpp. WARPBIT_PROPERTY_COUNT is the number of dot
// products for each plan and pair of formats (100000 unless set).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>  // getenv, strtoull

#include "isa/instruction.hpp"
#include "oracle/oracle.hpp"
#include "profiles.hpp"

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

bool is_format(std::string_view word) {
  return std::ranges::any_of(formats(), [&](const Format& f) { return f.name == word; });
}

// The oracle's problem by the words of a canonical form. Formats stand in the order D, A, B, C.
oracle::Problem problem_of(std::string_view target, std::string_view canonical) {
  oracle::Problem p;
  p.target = target;
  std::string* const in_order[] = {&p.d, &p.a, &p.b, &p.c};
  std::size_t types = 0;
  for (std::string_view rest = canonical; !rest.empty();) {
    const std::size_t end = std::min(rest.find('.'), rest.size());
    const std::string word(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (is_format(word))
      *in_order[types++ & 3] = word;
    else if (word.size() > 2 && word[0] == 'm' && word[1] >= '0' && word[1] <= '9')
      p.shape = word;
    else if (word == "satfinite")
      p.satfinite = true;
    else if (word == "rn" || word == "rz" || word == "rm" || word == "rp")
      p.rounding = word;
    else if (word == "xor" || word == "and")
      p.bit_operation = word;
    else if (word == "sp" || word == "sp::ordered_metadata")
      p.sparse = true;
    else if (word != "mma" && word != "sync" && word != "aligned" && word != "row" && word != "col" &&
             word != "popc" && word != "kind::f8f6f4")
      FAIL("a word that the oracle does not know: " << word << " in " << canonical);
  }
  INFO(canonical);
  REQUIRE(types == 4);
  return p;
}

struct Combination {
  Instruction instruction;
  oracle::Problem problem;
  int nodes;  // rounded sums of one dot product

  const Tile& tile() const { return instruction.decoded().tile; }
  std::string title() const {
    return fmt::format("{} on {}", instruction.canonical(), instruction.target().name());
  }
  bool same_arithmetic(const Combination& x) const {
    return *tile().plan == *x.tile().plan && problem.sparse == x.problem.sparse && problem.a == x.problem.a &&
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

// Every documented form of mma and mma.sp on every target that has it.
std::vector<Combination> all_combinations() {
  std::vector<Combination> out;
  for (const Family& family : families()) {
    if (family.name != "mma" && family.name != "mma.sp") continue;
    for (const Form& form : family.forms) {
      if (!form.undocumented.empty()) continue;
      for (const Target target : targets_of(form)) {
        Result<Instruction> parsed = Instruction::parse(form.canonical, target);
        INFO(form.canonical << " on " << target.name());
        REQUIRE(parsed.ok());
        const Plan& plan = *parsed->decoded().tile.plan;
        out.push_back({*parsed, problem_of(target.name(), form.canonical), node_count(plan, parsed->terms())});
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
  profiles::Case inputs;
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
  const oracle::Dot expected_dot(x.problem);
  const auto alphabet = [](const std::string& name) { return profiles::Alphabet(oracle::find_format(name)); };
  const profiles::Formats formats{alphabet(x.problem.a), alphabet(x.problem.b), alphabet(x.problem.c),
                                  alphabet(x.problem.d), x.instruction.terms()};
  const auto terms = static_cast<std::size_t>(formats.depth);
  Outcome out;
  std::uint64_t compared = 0, different = 0;
#pragma omp parallel for schedule(dynamic, 64) reduction(+ : compared, different)
  for (std::uint64_t i = 0; i < count; ++i) {
    profiles::Case in;
    profiles::fill(formats, kSeed, i, in);
    const std::uint64_t got = run_element(x.tile(), {in.a.data(), terms}, {in.b.data(), terms}, in.c);
    const std::uint64_t expected = expected_dot({in.a.data(), terms}, {in.b.data(), terms}, in.c);
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
  const auto terms = static_cast<std::ptrdiff_t>(x.instruction.terms());
  return fmt::format("{}, seed {}, case {}:\n  a {:x}\n  b {:x}\n  c {:x}\n  got {:x}, oracle {:x}", x.title(),
                     kSeed, f.index, fmt::join(f.inputs.a.begin(), f.inputs.a.begin() + terms, " "),
                     fmt::join(f.inputs.b.begin(), f.inputs.b.begin() + terms, " "), f.inputs.c, f.got,
                     f.expected);
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
    const Outcome outcome = compare(x, count);
    check(x, outcome, count);
    total += outcome.compared;
    fmt::print("{:>8} dot products of {:>3} terms{}: {} x {} + {} -> {}: {}{}\n", outcome.compared,
               x.instruction.terms(), x.problem.sparse ? ", sparse" : "", x.problem.a, x.problem.b, x.problem.c,
               x.problem.d, describe(*x.tile().plan),
               outcome.different == 0 ? "" : fmt::format(": {} DIFFER", outcome.different));
  }
  fmt::print("total: {} combinations of plan, formats and nodes, {} dot products\n", list.size(), total);
  CHECK(list.size() > 100);
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
