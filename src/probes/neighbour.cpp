// SPDX-License-Identifier: Apache-2.0
#include "probes/neighbour.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {
namespace {

// A floor below every exponent.
constexpr int kNoFloor = -4096;

// The plan with each step replaced by the result of `steps_of`.
template <class StepsOf>
Plan replaced(const Plan& plan, StepsOf steps_of) {
  Plan out{};
  out.operands = plan.operands;
  for (std::size_t i = 0; i < plan.size(); ++i)
    for (const Step& step : steps_of(i, plan.begin()[i])) out.push_back(step);
  return out;
}

constexpr Rounding kRoundings[] = {Rounding::nearest_even, Rounding::toward_zero, Rounding::down, Rounding::up,
                                   Rounding::nearest_away};

class Neighbours {
 public:
  Neighbours(const Plan& plan, std::size_t terms) : plan_(plan), terms_(terms) {}

  std::vector<Neighbour> run() {
    of_first<Fused, GroupScaled, FmaChain, PairSums, Add>();
    of_conversions();
    of_first<IntegerSum, BitCount>();
    return std::move(out_);
  }

 private:
  // Of the first step of each kind.
  template <class... S>
  void of_first() {
    const auto each = [&](const auto* step) {
      if (step != nullptr) of(*step);
    };
    (each(first_of<S>(plan_)), ...);
  }
  void add(std::string_view parameter, std::string own, std::string other, const Plan& plan) {
    out_.push_back({parameter, std::move(own), std::move(other), plan});
  }
  // Neighbours with the products in another order.
  template <class Order>
  void reorder(std::string other, Order order) {
    out_.push_back({"order", "ascending k", std::move(other), plan_});
    for (std::size_t k = 0; k < terms_; ++k) out_.back().order.push_back(order(k));
  }

  template <class S>
  void number(std::string_view parameter, const S& step, int S::*member, std::initializer_list<int> others) {
    for (const int other : others)
      rule<S>(parameter, std::to_string(step.*member), other == kNoFloor ? "none" : std::to_string(other),
              [&](S& s) { s.*member = other; });
  }
  template <class S>
  void roundings(std::string_view parameter, const S& step) {
    for (const Rounding other : kRoundings)
      if (other != step.rounding)
        rule<S>(parameter, name(step.rounding), name(other), [&](S& s) { s.rounding = other; });
  }
  // With every step of a kind edited.
  template <class S, class Edit>
  void rule(std::string_view parameter, std::string_view own, std::string_view other, Edit edit) {
    add(parameter, std::string(own), std::string(other), plan_);
    for (Step& step : out_.back().plan)
      if (S* s = std::get_if<S>(&step)) edit(*s);
  }

  // Neighbours common to Fused and GroupScaled.
  template <class S>
  void of_sum(const S& s) {
    number("F", s, &S::window, {s.window - 1, s.window + 1});
    number("floor", s, &S::floor, {s.floor - 1, s.floor + 1, kNoFloor});
    roundings("rounding", s);
    rule<S>("sign of zero", "+0", "that of the sum", [](S& x) { x.rules.positive_zero = false; });
    rule<S>("zero products", "no part of E", "part of E", [](S& x) { x.rules.zeros_raise = true; });
    rule<S>("exponents", std::is_same_v<S, Fused> ? "raw" : "of the scales", "of products in [1, 2)",
            [](S& x) { x.rules.exponents = Exponents::of_products; });
    rule<S>("overflow", "Inf", "the largest number", [](S& x) { x.rules.overflow = Overflow::saturate; });
  }

  void of(const Fused& s) {
    of_sum(s);
    rule<Fused>("exponents", "raw", "of normalised factors",
                [](Fused& x) { x.rules.exponents = Exponents::normalised; });
    const int bits = s.kept_fraction_bits;
    number("fraction bits", s, &Fused::kept_fraction_bits, {bits - 1});
    if (bits < format(s.result).fraction_bits)
      number("fraction bits", s, &Fused::kept_fraction_bits, {bits + 1});
    number("L", s, &Fused::products, {s.products / 2, 2 * s.products});
    orders();
    if (s.k != KSet{}) reorder("k % 4 in {2, 3} first", [](std::size_t k) { return k ^ 2; });
    if (s.start == Start::running) add("C", "in the sum", "added last", c_last());
  }

  // Other assignments of products to nodes: reversed; even k, then odd k; and the opposite.
  void orders() {
    const std::size_t half = terms_ / 2;
    reorder("descending k", [&](std::size_t k) { return terms_ - 1 - k; });
    reorder("even k, then odd k", [&](std::size_t k) { return k < half ? 2 * k : 2 * (k - half) + 1; });
    reorder("k and k + K/2 side by side", [&](std::size_t k) { return k / 2 + k % 2 * half; });
  }

  // The first sum starts from zero, and C is added in a new step behind it.
  Plan c_last() const {
    bool done = false;
    const auto split = [&](auto sum, FormatId format, Rounding rounding) {
      done = true;
      sum.start = Start::zero;
      return std::vector<Step>{sum, Add{format, rounding}};
    };
    return replaced(plan_, [&](std::size_t, const Step& step) {
      const auto* fused = std::get_if<Fused>(&step);
      const auto* chain = std::get_if<FmaChain>(&step);
      const auto* pairs = std::get_if<PairSums>(&step);
      return done    ? std::vector<Step>{step}
             : fused ? split(*fused, fused->result, Rounding::nearest_even)
             : chain ? split(*chain, chain->format, chain->rounding)
             : pairs ? split(as_chain(*pairs), pairs->format, pairs->rounding)
                     : std::vector<Step>{step};
    });
  }
  static FmaChain as_chain(const PairSums& s) { return {s.format, s.rounding, NanRule::canonical}; }

  void of(const GroupScaled& s) {
    of_sum(s);
    number("L", s, &GroupScaled::group, {s.group / 2, 2 * s.group});
  }

  void of(const FmaChain& s) {
    roundings("rounding", s);
    rule<FmaChain>("products", "exact", "rounded", [](FmaChain& x) { x.fused = false; });
    orders();
    if (s.start == Start::running) add("C", "first", "added last", c_last());
    if (s.nan == NanRule::canonical) return;
    static constexpr std::pair<NanRule, const char*> kOrders[] = {
        {NanRule::canonical, "canonical"},
        {NanRule::first_of_b_sum_a, "the first of b, sum, a"},
        {NanRule::first_of_b_a_sum, "the first of b, a, sum"},
        {NanRule::first_of_sum_b_a, "the first of sum, b, a"},
        {NanRule::first_of_sum_a_b, "the first of sum, a, b"},
        {NanRule::first_of_a_b_sum, "the first of a, b, sum"},
        {NanRule::first_of_a_sum_b, "the first of a, sum, b"}};
    const auto* own = std::ranges::find(kOrders, s.nan, &std::pair<NanRule, const char*>::first);
    for (const auto& [other, text] : kOrders)
      if (other != s.nan)
        rule<FmaChain>("NaN", own->second, text, [order = other](FmaChain& x) { x.nan = order; });
  }

  void of(const PairSums& s) {
    roundings("rounding", s);
    orders();
    add("L", "2", "1", replaced(plan_, [](std::size_t, const Step& step) {
          const auto* pairs = std::get_if<PairSums>(&step);
          return std::vector<Step>{pairs ? as_chain(*pairs) : step};
        }));
    add("C", "first", "added last", c_last());
  }

  void of(const Add& s) {
    roundings("rounding of C's addition", s);
    add("C", "added last", "first", replaced(plan_, [](std::size_t i, const Step& step) {
          if (std::holds_alternative<Add>(step)) return std::vector<Step>{};
          Step out = step;
          std::visit(
              [&](auto& sum) {
                if constexpr (requires { sum.start; })
                  if (i == 0) sum.start = Start::running;
              },
              out);
          return std::vector<Step>{out};
        }));
  }

  void of_conversions() {
    if (plan_.operands) {
      Plan other = plan_;
      other.operands.reset();
      add("operands", std::string(format(*plan_.operands).name), "as they are", other);
    }
    if (const auto* s = first_of<Convert>(plan_)) roundings("rounding of the conversion", *s);
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const auto* convert = std::get_if<Convert>(plan_.begin() + i);
      if (!convert) continue;
      const bool before = i == 0 && plan_.size() > 1;
      const bool fused = std::holds_alternative<Fused>(plan_.begin()[before ? 1 : i - 1]);
      if (!fused) continue;
      add("conversion", fmt::format("to {}", format(convert->format).name), "none",
          replaced(plan_, [&](std::size_t j, const Step& step) {
            if (j == i) return std::vector<Step>{};
            Step out = step;
            if (auto* sum = std::get_if<Fused>(&out); sum && !before) {
              sum->result = convert->format;
              sum->rounding = convert->rounding;
              sum->kept_fraction_bits = format(convert->format).fraction_bits;
            }
            return std::vector<Step>{out};
          }));
    }
  }

  void of(const IntegerSum& s) {
    const bool clamps = s.overflow == Overflow::saturate;
    rule<IntegerSum>("overflow", clamps ? "clamped" : "wrapped", clamps ? "wrapped" : "clamped",
                     [&](IntegerSum& x) { x.overflow = clamps ? Overflow::ieee : Overflow::saturate; });
    if (clamps)
      rule<IntegerSum>("overflow", "once", "after each product", [](IntegerSum& x) { x.once = false; });
  }

  void of(const BitCount& s) {
    const bool and_ = s.operation == BitOperation::and_;
    rule<BitCount>("operation", and_ ? "and" : "xor", and_ ? "xor" : "and",
                   [&](BitCount& x) { x.operation = and_ ? BitOperation::xor_ : BitOperation::and_; });
  }

  const Plan& plan_;
  std::size_t terms_;
  std::vector<Neighbour> out_;
};

}  // namespace

std::vector<Neighbour> neighbours(const Plan& plan, std::size_t terms) {
  return Neighbours(plan, terms).run();
}

}  // namespace warpbit
