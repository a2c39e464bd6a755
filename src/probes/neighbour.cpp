// SPDX-License-Identifier: Apache-2.0
#include "probes/neighbour.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {
namespace {

constexpr Rounding kRoundings[] = {Rounding::nearest_even, Rounding::toward_zero, Rounding::down, Rounding::up,
                                   Rounding::nearest_away};

template <class S>
bool is(const Step& step) {
  return std::holds_alternative<S>(step);
}

// The floor of sums that have one on sm_90.
int usual_floor(const Format& result) {
  return result.min_exponent() - 7;
}

class Neighbours {
 public:
  Neighbours(const Plan& plan, std::size_t terms) : plan_(plan), terms_(terms) {}

  std::vector<Neighbour> run() {
    of_first<Fused, GroupScaled, WindowedGroups, FmaChain, PairSums, Add>();
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
  // Neighbours with other steps.
  void add(std::string_view parameter, std::string own, std::string other, const std::vector<Step>& steps) {
    add(parameter, std::move(own), std::move(other), Plan{});
    out_.back().plan.operands = plan_.operands;
    for (const Step& step : steps) out_.back().plan.push_back(step);
  }
  std::vector<Step> steps() const { return {plan_.begin(), plan_.end()}; }
  // Neighbours with the products in another order.
  template <class Order>
  void reorder(std::string other, Order order) {
    out_.push_back({"order", "ascending k", std::move(other), plan_});
    for (std::size_t k = 0; k < terms_; ++k) out_.back().order.push_back(order(k));
  }

  static std::string text(int number) { return number == kNoFloor ? "none" : std::to_string(number); }
  template <class S>
  void number(std::string_view parameter, const S& step, int S::*member, std::initializer_list<int> others) {
    for (const int other : others)
      rule<S>(parameter, text(step.*member), text(other), [&](S& s) { s.*member = other; });
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
    if (s.floor == kNoFloor)
      number("floor", s, &S::floor, {usual_floor(format(s.result))});
    else
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
    if (s.start == Start::running)
      add("C", "in the sum", "added last", c_last<Fused>(s, s.result, Rounding::nearest_even));
  }

  // Other assignments of products to nodes: reversed; even k, then odd k; and the opposite.
  void orders() {
    const std::size_t half = terms_ / 2;
    reorder("descending k", [&](std::size_t k) { return terms_ - 1 - k; });
    reorder("even k, then odd k", [&](std::size_t k) { return even_first()[k]; });
    reorder("k and k + K/2 side by side", [&](std::size_t k) { return k / 2 + k % 2 * half; });
  }

  std::vector<std::size_t> even_first() const {
    std::vector<std::size_t> out;
    for (const std::size_t odd : {0, 1})
      for (std::size_t k = odd; k < terms_; k += 2) out.push_back(k);
    return out;
  }

  // `sum`, in the place of the first S, starts from zero, and C is added in a new step behind it.
  template <class S>
  std::vector<Step> c_last(auto sum, FormatId format, Rounding rounding) const {
    std::vector<Step> out = steps();
    const auto at = std::ranges::find_if(out, is<S>);
    sum.start = Start::zero;
    *at = sum;
    out.insert(at + 1, Add{format, rounding});
    return out;
  }
  static FmaChain as_chain(const PairSums& s) { return {s.format, s.rounding, NanRule::canonical}; }

  void of(const GroupScaled& s) {
    of_sum(s);
    number("L", s, &GroupScaled::group, {s.group / 2, 2 * s.group});
    if (s.least != kNoFloor) number("floor", s, &GroupScaled::least, {s.least - 1, s.least + 1, kNoFloor});
  }

  void of(const WindowedGroups& s) {
    number("F", s, &WindowedGroups::window, {s.window - 1, s.window + 1});
    number("L", s, &WindowedGroups::group, {s.group / 2, 2 * s.group});
    number("L", s, &WindowedGroups::group_below_c, {s.group_below_c / 2, 2 * s.group_below_c});
    roundings("rounding", s);
  }

  void of(const FmaChain& s) {
    roundings("rounding", s);
    rule<FmaChain>("products", "exact", "rounded", [](FmaChain& x) { x.fused = false; });
    orders();
    if (s.start == Start::running) add("C", "first", "added last", c_last<FmaChain>(s, s.format, s.rounding));
    if (s.nan == NanRule::canonical) return;
    constexpr std::string_view kRules[] = {// by NanRule
                                           "canonical",
                                           "the first of b, sum, a",
                                           "the first of b, a, sum",
                                           "the first of sum, b, a",
                                           "the first of sum, a, b",
                                           "the first of a, b, sum",
                                           "the first of a, sum, b"};
    const auto own = static_cast<std::size_t>(s.nan);
    for (std::size_t i = 0; i < std::size(kRules); ++i)
      if (i != own)
        rule<FmaChain>("NaN", kRules[own], kRules[i], [&](FmaChain& x) { x.nan = static_cast<NanRule>(i); });
  }

  void of(const PairSums& s) {
    roundings("rounding", s);
    orders();
    add("L", "2", "1", plan_);
    for (Step& step : out_.back().plan)
      if (const auto* pairs = std::get_if<PairSums>(&step)) step = as_chain(*pairs);
    add("C", "first", "added last", c_last<PairSums>(as_chain(s), s.format, s.rounding));
  }

  void of(const Add& s) {
    roundings("rounding of C's addition", s);
    std::vector<Step> others = steps();
    std::erase_if(others, is<Add>);
    std::visit(
        [](auto& sum) {
          if constexpr (requires { sum.start; }) sum.start = Start::running;
        },
        others.front());
    add("C", "added last", "first", others);
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
      const bool fused = is<Fused>(plan_.begin()[before ? 1 : i - 1]);
      if (!fused) continue;
      std::vector<Step> others = steps();
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      for (Step& step : others)
        if (auto* sum = std::get_if<Fused>(&step); sum && !before) {
          sum->result = convert->format;
          sum->rounding = convert->rounding;
          sum->kept_fraction_bits = format(convert->format).fraction_bits;
        }
      add("conversion", fmt::format("to {}", format(convert->format).name), "none", others);
    }
  }

  void of(const IntegerSum& s) {
    const bool clamps = s.overflow == Overflow::saturate;
    rule<IntegerSum>("overflow", clamps ? "clamped" : "wrapped", clamps ? "wrapped" : "clamped",
                     [&](IntegerSum& x) { x.overflow = clamps ? Overflow::ieee : Overflow::saturate; });
    if (!clamps) return;
    const int terms = static_cast<int>(terms_), own = std::min(s.products, terms);
    const auto lengths = [&](int other, std::string_view what) {
      rule<IntegerSum>("L", s.products == kWholeDepth ? "all" : std::to_string(s.products), what,
                       [&](IntegerSum& x) { x.products = other; });
    };
    for (const int other : {1, own / 2, 2 * own}) lengths(other, std::to_string(other));
    // Two instructions of a half each, as 4-bit types become where there are none for them.
    lengths(terms / 2, "even k, then odd k");
    out_.back().order = even_first();
    orders();
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
