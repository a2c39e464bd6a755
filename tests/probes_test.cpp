// SPDX-License-Identifier: Apache-2.0
// Probes: each plan beside its own has an input that shows it, or a proof that none can.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "combinations.hpp"
#include "numeric/node.hpp"
#include "probes/neighbour.hpp"
#include "warpbit/record.hpp"

namespace probes_test {

using namespace warpbit;
using namespace combinations;

// Other numbers of products have other plans beside them.
const std::vector<Combination>& all() {
  static const std::vector<Combination> list = [] {
    std::vector<Combination> out;
    for (const Combination& x : all_combinations()) {
      if (x.has_sign()) continue;
      const auto same = [&](const Combination& y) {
        return x.same_arithmetic(y) && x.instruction.terms() == y.instruction.terms();
      };
      if (std::ranges::none_of(out, same)) out.push_back(x);
    }
    return out;
  }();
  return list;
}

const Probes& probes_of(const Combination& x) {
  static std::map<std::string, Probes> known;
  const auto at = known.find(x.title());
  return at != known.end() ? at->second : known.emplace(x.title(), probes(x.instruction).value()).first->second;
}

std::string name(const Neighbour& n) {
  return fmt::format("{} {}, not {}", n.parameter, n.own, n.other);
}

// What a plan makes of codes.
std::uint64_t result(const Combination& x, const Plan& plan, const profiles::ScaledCase& in) {
  const Tile& t = x.tile();
  const auto elements = [&](const Format& f, const std::vector<std::uint64_t>& codes) {
    std::vector<Decoded> out;
    for (const std::uint64_t code : codes)
      out.push_back(plan.operands ? convert_operand(decode(f, code), f, format(*plan.operands))
                                  : decode(f, code));
    return out;
  };
  const auto scales = [](const Format* f, const std::vector<std::uint64_t>& codes) {
    std::vector<Decoded> out;
    for (const std::uint64_t code : codes) out.push_back(decode(*f, code));
    return out;
  };
  const auto a = elements(*t.a.format, in.a), b = elements(*t.b.format, in.b);
  const auto sa = scales(t.a_scale.format, in.scale_a), sb = scales(t.b_scale.format, in.scale_b);
  const Format* to = plan.operands ? &format(*plan.operands) : nullptr;
  return evaluate(plan, {a, to ? to : t.a.format, sa, t.a_scale.format},
                  {b, to ? to : t.b.format, sb, t.b_scale.format}, *t.c.format, in.c);
}

profiles::ScaledCase ordered(const profiles::ScaledCase& in, const Neighbour& n) {
  profiles::ScaledCase out = in;
  for (std::size_t k = 0; k < n.order.size(); ++k) {
    out.a[k] = in.a[n.order[k]];
    out.b[k] = in.b[n.order[k]];
  }
  return out;
}

profiles::ScaledCase inputs_of(const Probe& p) {
  return {p.a, p.b, p.a_scale, p.b_scale, p.c};
}

std::vector<Neighbour> neighbours_of(const Combination& x) {
  return neighbours(*x.tile().plan, static_cast<std::size_t>(x.instruction.terms()));
}

// Of each kind of step, the parameters that must have neighbours.
std::set<std::string_view> parameters(const Plan& plan) {
  std::set<std::string_view> out;
  for (const Step& step : plan) {
    const bool fused = std::holds_alternative<Fused>(step);
    if (fused || std::holds_alternative<GroupScaled>(step))
      out.insert({"F", "L", "floor", "rounding", "sign of zero", "zero products", "exponents", "overflow"});
    if (fused) out.insert({"order", "fraction bits", "C"});
    if (std::holds_alternative<FmaChain>(step)) out.insert({"rounding", "products", "order", "C"});
    if (const auto* chain = std::get_if<FmaChain>(&step); chain && chain->nan != NanRule::canonical)
      out.insert("NaN");
    if (std::holds_alternative<PairSums>(step)) out.insert({"rounding", "order", "L", "C"});
    if (std::holds_alternative<Add>(step)) out.insert({"rounding of C's addition", "C"});
    if (std::holds_alternative<Convert>(step)) out.insert("rounding of the conversion");
    if (const auto* sum = std::get_if<IntegerSum>(&step)) {
      out.insert("overflow");
      if (sum->overflow == Overflow::saturate) out.insert({"L", "order"});
    }
    if (std::holds_alternative<BitCount>(step)) out.insert("operation");
  }
  if (plan.operands) out.insert("operands");
  if (out.contains("rounding of the conversion") && out.contains("F")) out.insert("conversion");
  return out;
}

TEST_CASE("every parameter of every plan has neighbours, and each is shown by a probe or proved invisible") {
  std::size_t shown = 0, proved = 0, count = 0;
  for (const Combination& x : all()) {
    INFO(x.title() << ", " << describe(*x.tile().plan));
    const Probes& found = probes_of(x);
    CHECK(found.unknown.empty());
    CHECK_FALSE(found.probes.empty());
    count += found.probes.size();
    std::set<std::string> invisible;
    for (const Invisible& i : found.invisible) {
      CHECK_FALSE(i.reason.empty());
      invisible.insert(i.name);
    }
    std::set<std::string_view> varied;
    for (const Neighbour& n : neighbours_of(x)) {
      INFO(name(n));
      varied.insert(n.parameter);
      const bool is_shown = std::ranges::any_of(
          found.probes, [&](const Probe& p) { return result(x, n.plan, ordered(inputs_of(p), n)) != p.d; });
      CHECK(is_shown != invisible.contains(name(n)));
      ++(is_shown ? shown : proved);
    }
    CHECK(varied == parameters(*x.tile().plan));
  }
  fmt::print("{} plans, formats and lengths: {} neighbours shown by {} probes, {} proved invisible\n",
             all().size(), shown, count, proved);
  CHECK(shown > 10 * all().size());
}

TEST_CASE("the result of each probe is that of the oracle") {
  for (const Combination& x : all()) {
    INFO(x.title());
    const oracle::Dot dot(x.problem);
    for (const Probe& p : probes_of(x).probes) {
      INFO(p.name);
      CHECK(p.d == dot(p.a, p.b, p.c, p.a_scale, p.b_scale));
    }
  }
}

TEST_CASE("what a probe's name says is true of it") {
  for (const Combination& x : all()) {
    const std::vector<Neighbour> list = neighbours_of(x);
    for (const Probe& p : probes_of(x).probes) {
      INFO(x.title() << ": " << p.name);
      for (const Neighbour& n : list)
        if (p.name.find(name(n) + ";") != p.name.npos || p.name.find(name(n) + ":") != p.name.npos) {
          CHECK(std::ranges::find(p.parameters, n.parameter) != p.parameters.end());
          CHECK(result(x, n.plan, ordered(inputs_of(p), n)) != p.d);
        }
    }
  }
}

// A proof that does not hold would be found out here, if not for certain: inputs that know nothing of the plan.
TEST_CASE("no input shows what is proved invisible") {
  constexpr std::uint64_t kCases = 400;
  std::size_t compared = 0;
  for (const Combination& x : all()) {
    std::set<std::string> invisible;
    for (const Invisible& i : probes_of(x).invisible) invisible.insert(i.name);
    std::vector<Neighbour> list = neighbours_of(x);
    std::erase_if(list, [&](const Neighbour& n) { return !invisible.contains(name(n)); });
    const oracle::Dot dot(x.problem);
    const Inputs inputs(x, dot);
    for (std::uint64_t i = 0; i < kCases && !list.empty(); ++i) {
      const profiles::ScaledCase in = inputs(i);
      const std::uint64_t d = result(x, *x.tile().plan, in);
      for (const Neighbour& n : list)
        if (result(x, n.plan, ordered(in, n)) != d) {
          INFO(x.title() << ", " << describe(*x.tile().plan) << ", " << name(n) << ", case " << i);
          CHECK(result(x, n.plan, ordered(in, n)) == d);
        }
      compared += list.size();
    }
  }
  CHECK(compared > 100000);
}

TEST_CASE("only D = A B + C has probes") {
  const Target target = Target::find("sm_90a").value();
  const Instruction move = Instruction::parse("movmatrix.sync.aligned.m8n8.trans.b16", target).value();
  const Result<Probes> refused = probes(move);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == Errc::member_value);
}

}  // namespace probes_test
