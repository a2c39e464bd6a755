// SPDX-License-Identifier: Apache-2.0
// Steps that round each sum, and sums of integers (NUMERICS.md, "Chains").
#include <algorithm>
#include <array>

#include "numeric/problem.hpp"

namespace warpbit::node {
namespace {

// The code of a NaN, made quiet, with its sign and payload.
std::uint64_t quiet(const Format& f, const Decoded& nan) {
  const std::uint64_t quiet_bit = std::uint64_t{1} << (f.fraction_bits - 1);
  return infinity(f, nan.negative) | nan.significand | quiet_bit;
}

// The order in which b, the sum and a (0, 1, 2) are checked.
std::array<int, 3> nan_order(NanRule rule) {
  switch (rule) {
    case NanRule::canonical:
    case NanRule::first_of_b_sum_a: return {0, 1, 2};
    case NanRule::first_of_b_a_sum: return {0, 2, 1};
    case NanRule::first_of_sum_b_a: return {1, 0, 2};
    case NanRule::first_of_sum_a_b: return {1, 2, 0};
    case NanRule::first_of_a_b_sum: return {2, 0, 1};
    case NanRule::first_of_a_sum_b: return {2, 1, 0};
  }
  return {};
}

Value rounded(const Format& f, const Value& value, Rounding rounding) {
  return value_of(decode(f, round(f, value, rounding)), f);
}

std::int64_t integer(const Decoded& d) {
  const auto magnitude = static_cast<std::int64_t>(d.significand);
  return d.negative ? -magnitude : magnitude;
}

}  // namespace

Running run(const FmaChain& step, const Problem& p, Running running) {
  const Format& f = format(step.format);
  if (step.start == Start::zero) running = {&f, 0};
  for (std::size_t k = 0; k < p.size(); ++k) {
    Tracer tracer(p, f);
    tracer.add(running);
    tracer.add_product(k);
    if (step.nan != NanRule::canonical) {
      const Decoded operands[] = {p.b.values[k], running.decoded(), p.a.values[k]};
      const auto order = nan_order(step.nan);
      const auto nan = std::ranges::find_if(order, [&](int i) { return operands[i].cls == Class::nan; });
      if (nan != order.end()) {
        running = {&f, tracer.result(quiet(f, operands[*nan]))};
        continue;
      }
    }
    Value product = p.value_of_product(k);
    if (!step.fused) product = rounded(f, product, step.rounding);
    running = {&f, tracer.result(round(f, sum(product, running.value(), step.rounding), step.rounding))};
  }
  return running;
}

Running run(const PairSums& step, const Problem& p, Running running) {
  const Format& f = format(step.format);
  for (std::size_t k = 0; k + 1 < p.size(); k += 2) {
    Tracer pair_tracer(p, f), tracer(p, f);
    pair_tracer.add_product(k);
    pair_tracer.add_product(k + 1);
    const Value pair = sum(p.value_of_product(k), p.value_of_product(k + 1), step.rounding);
    const Value addend = value_of(decode(f, pair_tracer.result(round(f, pair, step.rounding))), f);
    tracer.add(running);
    tracer.add_products(k, k + 1, addend);
    running = {&f, tracer.result(round(f, sum(running.value(), addend, step.rounding), step.rounding))};
  }
  return running;
}

Running run(const Add& step, const Problem& p, Running running) {
  const Format& f = format(step.format);
  Tracer tracer(p, f);
  tracer.add(p.c);
  tracer.add(running);
  return {&f, tracer.result(round(f, sum(p.c.value(), running.value(), step.rounding), step.rounding))};
}

Running run(const Convert& step, const Problem& p, Running running) {
  const Format& f = format(step.format);
  Tracer tracer(p, f);
  tracer.add(running);
  return {&f, tracer.result(round(f, running.value(), step.rounding))};
}

Running run(const IntegerSum& step, const Problem& p, Running running) {
  const Format& f = *running.format;
  const auto length = static_cast<std::size_t>(step.products);
  for (std::size_t first = 0; first < p.size(); first += length) {
    Tracer tracer(p, f);
    tracer.add(running);
    std::int64_t total = integer(running.decoded());
    for (std::size_t k = first; k < std::min(first + length, p.size()); ++k) {
      tracer.add_product(k);
      total += integer(p.a.values[k]) * integer(p.b.values[k]);
    }
    const Exact exact_total{total < 0, static_cast<u128>(total < 0 ? -total : total), 0};
    running = {&f, tracer.result(encode(f, exact_total, Rounding::toward_zero, step.overflow))};
  }
  return running;
}

Running run(const BitCount& step, const Problem& p, Running running) {
  Tracer tracer(p, *running.format);
  tracer.add(running);
  std::uint64_t count = running.code;
  for (std::size_t k = 0; k < p.size(); ++k) {
    const std::uint64_t a = p.a.values[k].significand, b = p.b.values[k].significand;
    const std::uint64_t bit = step.operation == BitOperation::and_ ? a & b : a ^ b;
    tracer.add_products(k, k, {bit == 0 ? Class::zero : Class::finite, {false, bit, 0}});
    count += bit;
  }
  return {running.format, tracer.result(count & running.format->mask())};
}

}  // namespace warpbit::node
