// SPDX-License-Identifier: Apache-2.0
// Forms on targets as the oracle knows them, and inputs for their dot products.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>
#include <set>

#include "isa/instruction.hpp"
#include "oracle/oracle.hpp"
#include "profiles.hpp"
#include "scale_profiles.hpp"

namespace combinations {

using namespace warpbit;

inline constexpr std::uint64_t kCombinationSeed = 1;

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

inline int node_count(const Plan& plan, int terms) {
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
inline std::string without_n(const std::string& canonical) {
  static const std::regex kShape("m64n[0-9]+k");
  return std::regex_replace(canonical, kShape, "m64k");
}

// A form by its statement, the signs of its factors chosen.
inline Combination combination(const FormInfo& form, Target target, bool negate_a, bool negate_b) {
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
inline std::vector<Combination> all_combinations() {
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
inline std::vector<Combination> distinct_combinations() {
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

inline profiles::Alphabet alphabet(const std::string& name) {
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
    if (scaled_) return profiles::scaled_case(formats_, dot_, kCombinationSeed, index);
    profiles::Case in;
    profiles::fill(formats_.elements, kCombinationSeed, index, in);
    const auto terms = static_cast<std::ptrdiff_t>(formats_.elements.depth);
    return {{in.a.begin(), in.a.begin() + terms}, {in.b.begin(), in.b.begin() + terms}, {}, {}, in.c};
  }

 private:
  bool scaled_;
  profiles::ScaledFormats formats_;
  const oracle::Dot& dot_;
};

}  // namespace combinations
