// SPDX-License-Identifier: Apache-2.0
// The fused node (NUMERICS.md, "The node"): unpack, specials, multiply, align, add, round.
#include "numeric/node.hpp"

#include <algorithm>

#include "numeric/problem.hpp"

namespace warpbit {
namespace node {

std::int64_t cut(bool negative, std::uint64_t significand, int exponent, int fraction_bits, int e, int window) {
  if (significand == 0) return 0;  // its exponent was ignored and may be above e
  const int shift = exponent - fraction_bits - (e - window);
  const std::uint64_t units = shift >= 0 ? significand << shift : shift > -64 ? significand >> -shift : 0;
  return negative ? -static_cast<std::int64_t>(units) : static_cast<std::int64_t>(units);
}

std::uint64_t convert_sum(std::int64_t sum, bool negative, int unit, const Format& result, Rounding rounding,
                          int kept, const SumRules& rules) {
  const Exact total{sum == 0 ? negative : sum < 0, static_cast<u128>(sum < 0 ? -sum : sum), unit};
  const std::uint64_t code = encode(result, total, rounding, rules.overflow, kept);
  if (!rules.positive_zero) return code;
  return decode(result, code).cls == Class::zero ? 0 : code;  // a node's zero is +0, whatever was rounded to it
}

namespace {

// The exponent of a finite C, as it counts for E.
int exponent(const Decoded& c, const Format& f, Exponents which) {
  return which == Exponents::raw ? c.exponent : c.exponent + bit_length(c.significand) - 1 - f.fraction_bits;
}

// One node over the k in [first, last) that the step selects.
std::uint64_t sum_of_products(const Fused& step, const Problem& p, std::size_t first, std::size_t last,
                              const Running& start) {
  const Format& result = format(step.result);
  const Decoded c = start.decoded();

  SpecialSum specials;
  specials.add_scales(p);
  specials.add(c);
  const SumRules& rules = step.rules;
  int e = step.floor;
  if (c.cls == Class::finite) e = std::max(e, exponent(c, *start.format, rules.exponents));
  bool negative = c.negative;
  for (std::size_t k = first; k < last; ++k) {
    if (!step.k.contains(k)) continue;
    const Decoded &a = p.a.values[k], &b = p.b.values[k];
    negative = negative && a.negative != b.negative;
    if (a.cls == Class::finite && b.cls == Class::finite) {
      e = std::max(e, p.exponent(k, rules.exponents));
      continue;
    }
    specials.add_product(a, b);
    if (rules.zeros_raise) e = std::max(e, p.exponent(k));
  }
  Tracer tracer(p, result);
  if (specials.any()) {
    tracer.add(start);
    for (std::size_t k = first; k < last; ++k)
      if (step.k.contains(k)) tracer.add_product(k);
    return tracer.result(specials.code(result));
  }

  tracer.cut(e, step.window);
  std::int64_t sum = tracer.add(
      start, cut(c.negative, c.significand, c.exponent, start.format->fraction_bits, e, step.window));
  const int fraction_bits = p.a.format->fraction_bits + p.b.format->fraction_bits;
  for (std::size_t k = first; k < last; ++k) {
    if (!step.k.contains(k)) continue;
    const Decoded &a = p.a.values[k], &b = p.b.values[k];
    sum += tracer.add_product(k, cut(a.negative != b.negative, a.significand * b.significand, p.exponent(k),
                                     fraction_bits, e, step.window));
  }

  return tracer.result(
      convert_sum(sum, negative, e - step.window, result, step.rounding, step.kept_fraction_bits, rules));
}

}  // namespace

Running run(const Fused& step, const Problem& p, Running running) {
  const Format& result = format(step.result);
  if (step.start == Start::zero) running = {&result, 0};
  std::size_t first = 0;
  int taken = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    taken += step.k.contains(k) ? 1 : 0;
    if (taken == step.products || (taken > 0 && k + 1 == p.size())) {
      running = {&result, sum_of_products(step, p, first, k + 1, running)};
      first = k + 1;
      taken = 0;
    }
  }
  return running;
}

}  // namespace node

std::uint64_t evaluate(const Plan& plan, Elements a, Elements b, const Format& c, std::uint64_t c_code,
                       Trace* trace, int c_scale) {
  const node::Problem problem{a, b, {&c, c_code & c.mask(), Addend::What::accumulator, c_scale}, trace};
  node::Running running = problem.c;
  for (const Step& step : plan) {
    const std::size_t traced = trace != nullptr ? trace->size() : 0;
    running = std::visit([&](const auto& s) { return node::run(s, problem, running); }, step);
    for (std::size_t i = traced; trace != nullptr && i < trace->size(); ++i)
      (*trace)[i].step = static_cast<std::size_t>(&step - plan.begin());
  }
  return running.code;
}

Decoded convert_operand(const Decoded& element, const Format& from, const Format& to) {
  return decode(to, round(to, value_of(element, from), Rounding::nearest_even));
}

}  // namespace warpbit
