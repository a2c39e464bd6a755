// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "probes/neighbour.hpp"
#include "probes/probe_inputs.hpp"

namespace warpbit {
namespace {

constexpr int kNever = -100000;  // below every exponent

// The nonzero numbers of a format, or products of them: multiples of 2^bit with raw exponents in [least,
// most].
struct Range {
  int bit, least, most;
};

Range range_of(const Format& f) {
  return {least_bit(f), f.min_exponent(), largest_exponent(f)};
}
// Factors multiply; so do their scales.
Range operator*(const Range& x, const Range& y) {
  return {x.bit + y.bit, x.least + y.least, x.most + y.most};
}
// The union.
Range operator|(const Range& x, const Range& y) {
  return {std::min(x.bit, y.bit), std::min(x.least, y.least), std::max(x.most, y.most)};
}

// Elements in the format that they are converted to. Conversion is exact, so they stay multiples of the same
// power.
Range converted(const Format& from, const Format& to) {
  const Range own = range_of(from);
  return {own.bit, std::max(own.bit, to.min_exponent()), own.most};
}

bool holds(const Format& f, const Format& other) {
  const Range own = range_of(f), in = range_of(other);
  return own.bit <= in.bit && own.most >= in.most && f.fraction_bits >= other.fraction_bits;
}

// ---- Products that are added at once

// The products of each node. A step that adds all of them at once is one node.
std::vector<std::vector<std::size_t>> nodes(const Plan& plan, const std::vector<std::size_t>& order,
                                            std::size_t terms) {
  std::vector<std::vector<std::size_t>> out;
  for (const Step& step : plan) {
    const auto* fused = std::get_if<Fused>(&step);
    const auto* groups = std::get_if<GroupScaled>(&step);
    const auto* integers = std::get_if<IntegerSum>(&step);
    if (!fused && !groups && !integers) continue;
    const auto length = static_cast<std::size_t>(fused    ? fused->products
                                                 : groups ? groups->group
                                                          : integers->products);
    std::vector<std::size_t> all;
    for (std::size_t k = 0; k < terms; ++k)
      if (!fused || fused->k.contains(k)) all.push_back(order.empty() ? k : order[k]);
    for (std::size_t first = 0; first < all.size(); first += length) {
      const auto node = std::span(all).subspan(first, std::min(length, all.size() - first));
      std::ranges::sort(node);
      out.emplace_back(node.begin(), node.end());
    }
  }
  return out;
}

// ---- E

// The addends of a plan of Fused steps, or of GroupScaled.
class Sums {
 public:
  Sums(const Plan& plan, const SumFormats& f) : plan_(plan), f_(f) {
    left_ = converted(*f.a, operand(*f.a));
    right_ = converted(*f.b, operand(*f.b));
    if (f.a_scale) scales_ = range_of(*f.a_scale) * range_of(*f.b_scale);
    products_ = left_ * right_ * scales_;
    find_accumulator();
  }

  const Range& products() const { return products_; }
  const std::optional<Range>& accumulator() const { return accumulator_; }

  // Suppose that E, or F, differs only if E is at most `e`, and that E - F is at most `unit` then. Whether no
  // addend has a bit below 2^unit, so that nothing is cut.
  bool nothing_is_cut(int e, int unit) const {
    if (products_.bit < unit) return false;
    return !accumulator_ || accumulator_->least > e || accumulator_->bit >= unit;
  }

  // The maximum raw exponent of a product with a zero, and of one with a subnormal. `converted`: after the
  // conversion to plan.operands.
  int most_with_zero() const {
    const int a = operand(*f_.a).min_exponent(), b = operand(*f_.b).min_exponent();
    return std::max(a + right_.most, left_.most + b) + scales_.most;
  }
  int most_with_subnormal(bool are_converted) const {
    const Format &a = are_converted ? operand(*f_.a) : *f_.a, &b = are_converted ? operand(*f_.b) : *f_.b;
    int out = kNever;
    if (left_.bit < a.min_exponent()) out = std::max(out, a.min_exponent() + right_.most);
    if (right_.bit < b.min_exponent()) out = std::max(out, left_.most + b.min_exponent());
    return out == kNever ? out : out + scales_.most;
  }
  int most() const { return accumulator_ ? std::max(products_.most, accumulator_->most) : products_.most; }

 private:
  // Sets the range of C and of earlier nodes' results; nothing if the only node starts from zero. A result is
  // a multiple of the same power as its addends.
  void find_accumulator() {
    std::optional<Range> running = range_of(*f_.c);
    const auto join = [&] {
      if (running) accumulator_ = accumulator_ ? *accumulator_ | *running : *running;
    };
    const auto become = [&](const Format& f, int bit) {
      const Range all = range_of(f);
      bit = std::max(bit, all.bit);
      running = Range{bit, std::max(bit, all.least), all.most};
    };
    for (const Step& step : plan_) {
      const auto* fused = std::get_if<Fused>(&step);
      if (const auto* convert = std::get_if<Convert>(&step)) become(format(convert->format), running->bit);
      if (std::holds_alternative<GroupScaled>(step)) join();
      if (!fused) continue;
      if (fused->start == Start::zero) running.reset();
      join();
      become(format(fused->result), running ? std::min(products_.bit, running->bit) : products_.bit);
      if (static_cast<std::size_t>(fused->products) < f_.terms) join();
    }
  }

  const Format& operand(const Format& f) const { return plan_.operands ? format(*plan_.operands) : f; }

  const Plan& plan_;
  const SumFormats& f_;
  Range left_, right_, products_, scales_{0, 0, 0};
  std::optional<Range> accumulator_;
};

// The sum of a plan; a group's, as far as Fused describes it.
std::optional<Fused> node_of(const Plan& plan) {
  if (const auto* f = first_of<Fused>(plan)) return *f;
  if (const auto* g = first_of<GroupScaled>(plan))
    return Fused{g->group, g->window, g->floor, g->result, 0, g->rounding, Start::running, {}, g->rules};
  return std::nullopt;
}

using Reason = std::optional<std::string>;

Reason uncut(const Sums& sums, int e, int unit, std::string_view where) {
  if (!sums.nothing_is_cut(e, unit)) return std::nullopt;
  return fmt::format("{} E is at most {}, and all that is added is a multiple of 2^{}: nothing is cut", where,
                     e, unit);
}

Reason of_exponents(const Plan& plan, const Plan& other, const SumFormats& f) {
  const Sums sums(plan, f);
  const Fused own = node_of(plan).value(), changed = node_of(other).value();
  const int window = std::min(own.window, changed.window);
  if (own.floor != changed.floor) {
    const int e = std::max(own.floor, changed.floor);
    return uncut(sums, e - 1, e - window, "where it counts");
  }
  if (own.window != changed.window) return uncut(sums, sums.most(), sums.most() - window, "always");
  if (changed.rules.zeros_raise != own.rules.zeros_raise) {
    const int e = sums.most_with_zero();
    return uncut(sums, e, e - window, "of a zero product");
  }
  if (changed.rules.exponents == Exponents::normalised) {
    const int e =
        std::max(sums.most_with_subnormal(true), sums.accumulator() ? sums.accumulator()->least : kNever);
    return uncut(sums, e, e - window, "of a subnormal");
  }
  if (changed.rules.exponents == Exponents::of_products)
    return uncut(sums, sums.most() + 1, sums.most() + 1 - window, "always");
  return std::nullopt;
}

Reason of_operands(const Plan& plan, const SumFormats& f) {
  const Format& to = format(*plan.operands);
  if (to.min_exponent() == f.a->min_exponent() && to.min_exponent() == f.b->min_exponent())
    return "the conversion changes no exponent";
  const Sums sums(plan, f);
  const int e = sums.most_with_subnormal(false);
  return uncut(sums, e, e - node_of(plan)->window, "of a subnormal");
}

// A sum is at most 2^(most + 2) for each product, plus C.
Reason of_overflow(const Plan& plan, const SumFormats& f) {
  const Sums sums(plan, f);
  const Fused node = node_of(plan).value();
  const Range result = range_of(format(node.result));
  int bits = 2;  // the products together are below 2^(most + bits)
  while ((std::size_t{1} << (bits - 2)) < f.terms) ++bits;
  const int together = sums.products().most + bits;
  const int c = sums.accumulator() ? sums.accumulator()->most : std::numeric_limits<int>::min();
  if (together >= result.most) return std::nullopt;
  if (c < result.most) return fmt::format("no sum reaches 2^{}", result.most + 1);
  // Beside the maximum exponent all products are cut to zero.
  if (c > result.most || sums.products().most + 2 > result.most - node.window) return std::nullopt;
  return fmt::format("products below 2^{} are cut beside a C of 2^{} or more, and no other sum reaches 2^{}",
                     sums.products().most + 2, result.most, result.most + 1);
}

// Whether the first node has a term of +0, and no node turns a nonzero number into zero.
Reason of_zero(const Plan& plan, const SumFormats& f) {
  const auto* first = std::get_if<Fused>(plan.begin());
  if (!first || first->start == Start::running) return std::nullopt;
  const Sums sums(plan, f);
  const int bits = f.a->fraction_bits + f.b->fraction_bits + 1;
  for (const Step& step : plan)
    if (const auto* fused = std::get_if<Fused>(&step)) {
      const Format& result = format(fused->result);
      const bool cut = fused->window < std::max(bits, result.fraction_bits);
      if (cut || range_of(result).bit > sums.products().bit) return std::nullopt;
    }
  return "the first node starts from +0, and no sum but zero becomes zero";
}

Reason of_conversion_rounding(const Plan& plan, const SumFormats& f) {
  const Format* running = f.c;
  for (const Step& step : plan) {
    if (const auto* convert = std::get_if<Convert>(&step)) {
      if (!holds(format(convert->format), *running)) return std::nullopt;
      running = &format(convert->format);
    }
    std::visit(
        [&](const auto& s) {
          if constexpr (requires { s.result; }) running = &format(s.result);
          if constexpr (requires { s.format; }) running = &format(s.format);
        },
        step);
  }
  return "the conversion is exact";
}

// Whether the format that sums are rounded to contains all products.
Reason of_products(const Format& sum, const SumFormats& f) {
  const Range products = range_of(*f.a) * range_of(*f.b), own = range_of(sum);
  const int bits = f.a->fraction_bits + f.b->fraction_bits + 1;
  if (bits > sum.fraction_bits || own.bit > products.bit || own.most < products.most + 1) return std::nullopt;
  return fmt::format("all products are numbers of {}", sum.name);
}

}  // namespace

Reason why_invisible(const Plan& plan, const Neighbour& neighbour, const SumFormats& f) {
  const std::string_view what = neighbour.parameter;
  const bool has_node = node_of(plan).has_value(), has_integers = first_of<IntegerSum>(plan) != nullptr;
  if ((has_node || has_integers) && (what == "L" || what == "order")) {
    if (has_integers && !f.a->is_signed && !f.b->is_signed)
      return "no product is negative: what was clamped stays so";
    const auto own = nodes(plan, {}, f.terms);
    if (own == nodes(neighbour.plan, neighbour.order, f.terms))
      return own.size() == 1 ? fmt::format("all {} products are added at once", f.terms)
                             : "the same products are added at once";
    return std::nullopt;
  }
  if (has_node && (what == "F" || what == "floor" || what == "zero products" || what == "exponents"))
    return of_exponents(plan, neighbour.plan, f);
  if (has_node && what == "overflow") return of_overflow(plan, f);
  if (has_node && what == "sign of zero") return of_zero(plan, f);
  if (what == "operands") return of_operands(plan, f);
  if (what == "rounding of the conversion") return of_conversion_rounding(plan, f);
  if (what == "products") return of_products(format(first_of<FmaChain>(plan)->format), f);
  return std::nullopt;
}

}  // namespace warpbit
