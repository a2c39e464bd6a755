// SPDX-License-Identifier: Apache-2.0
#include "numeric/node.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "numeric/value.hpp"

namespace warpbit {
namespace {

// The running value: a code in a format, times 2^-scale.
struct Running {
  const Format* format;
  std::uint64_t code;
  Addend::What what = Addend::What::running;  // for the trace
  int scale = 0;

  Decoded decoded() const {
    Decoded out = decode(*format, code);
    out.exponent -= scale;
    return out;
  }
  Value value() const { return value_of(decoded(), *format); }
};

// The scale of the block that holds element k. Precondition: there are scales.
const Decoded& scale_of(const Elements& x, std::size_t k) {
  return x.scales[k * x.scales.size() / x.values.size()];
}

struct Problem {
  Elements a, b;
  Running c;
  Trace* trace = nullptr;

  std::size_t size() const { return a.values.size(); }
  // The raw exponent of product k, including those of its scales.
  int exponent(std::size_t k) const {
    const int unscaled = a.values[k].exponent + b.values[k].exponent;
    return a.scales.empty() ? unscaled : unscaled + scale_of(a, k).exponent + scale_of(b, k).exponent;
  }
  // The exponent that counts for E. Precondition: the product is finite.
  int exponent(std::size_t k, Exponents which) const {
    const std::uint64_t x = a.values[k].significand, y = b.values[k].significand;
    const int raw = exponent(k), fraction_bits = a.format->fraction_bits + b.format->fraction_bits;
    switch (which) {
      case Exponents::raw: return raw;
      case Exponents::normalised: return raw + bit_length(x) - 1 + bit_length(y) - 1 - fraction_bits;
      case Exponents::of_products: return raw + bit_length(x * y) - 1 - fraction_bits;
    }
    return raw;
  }
  Value value_of_product(std::size_t k) const {
    return product(value_of(a.values[k], *a.format), value_of(b.values[k], *b.format));
  }
  // The product times its scales.
  Value value_of_scaled_product(std::size_t k) const {
    Value out = value_of_product(k);
    for (const Elements& x : {a, b})
      if (!x.scales.empty()) out = product(out, value_of(scale_of(x, k), *x.scale_format));
    return out;
  }
};

// Records one sum of a trace as it is computed; does nothing without a trace. Returns its arguments.
class Tracer {
 public:
  Tracer(const Problem& p, const Format& result) : p_(p) {
    if (p_.trace != nullptr) sum_.format = &result;
  }
  void cut(int e, int window) { sum_.cut = {e, window}; }
  std::int64_t add(const Running& running, std::int64_t units = 0) {
    if (p_.trace != nullptr)
      sum_.addends.push_back({running.what, 0, 0, running.value(), running.decoded().exponent, units});
    return units;
  }
  std::int64_t add_product(std::size_t k, std::int64_t units = 0) {
    if (p_.trace == nullptr) return units;
    return add_products(k, k, p_.value_of_scaled_product(k), p_.exponent(k), units);
  }
  std::int64_t add_products(std::size_t first, std::size_t last, const Value& value, int exponent = 0,
                            std::int64_t units = 0) {
    if (p_.trace != nullptr)
      sum_.addends.push_back({Addend::What::products, first, last, value, exponent, units});
    return units;
  }
  // Ends the sum.
  std::uint64_t result(std::uint64_t code) {
    if (p_.trace == nullptr) return code;
    sum_.code = code;
    p_.trace->push_back(std::move(sum_));
    return code;
  }

 private:
  const Problem& p_;
  TracedSum sum_;
};

// ---- The fused node (NUMERICS.md, "The node"): unpack, specials, multiply, align, add, round.

// The effect of the special addends on the sum, determined before any arithmetic.
struct SpecialSum {
  bool nan = false, plus = false, minus = false;

  void add_infinity(bool negative) { (negative ? minus : plus) = true; }
  void add(const Decoded& d) {
    if (d.cls == Class::nan) nan = true;
    if (d.cls == Class::infinity) add_infinity(d.negative);
  }
  void add_product(const Decoded& a, const Decoded& b) {
    if (a.cls == Class::nan || b.cls == Class::nan) nan = true;
    if (a.cls != Class::infinity && b.cls != Class::infinity) return;
    if (a.cls == Class::zero || b.cls == Class::zero) nan = true;
    add_infinity(a.negative != b.negative);
  }
  void add_scales(const Problem& p) {
    for (const Decoded& scale : p.a.scales) add(scale);
    for (const Decoded& scale : p.b.scales) add(scale);
  }
  bool any() const { return nan || plus || minus; }
  std::uint64_t code(const Format& f) const {
    return nan || (plus && minus) ? f.canonical_nan : infinity(f, minus);
  }
};

// An addend, (-1)^negative * significand * 2^(exponent - fraction_bits), cut toward zero to a multiple of
// 2^(e - window), in units of that. A product's significand is not normalised: it lies in [0, 4) *
// 2^fraction_bits.
//
//     e+1 e . e-1             e-window
//      |..|...|..................|xxxxxxx    x is lost
std::int64_t cut(bool negative, std::uint64_t significand, int exponent, int fraction_bits, int e, int window) {
  if (significand == 0) return 0;  // its exponent was ignored and may be above e
  const int shift = exponent - fraction_bits - (e - window);
  const std::uint64_t units = shift >= 0 ? significand << shift : shift > -64 ? significand >> -shift : 0;
  return negative ? -static_cast<std::int64_t>(units) : static_cast<std::int64_t>(units);
}

// The exponent of a finite C, as it counts for E.
int exponent(const Decoded& c, const Format& f, Exponents which) {
  return which == Exponents::raw ? c.exponent : c.exponent + bit_length(c.significand) - 1 - f.fraction_bits;
}

// Converts a sum in units of 2^unit, with one rounding. `negative`: all of its terms are.
std::uint64_t convert_sum(std::int64_t sum, bool negative, int unit, const Format& result, Rounding rounding,
                          int kept, const SumRules& rules) {
  const Exact total{sum == 0 ? negative : sum < 0, static_cast<u128>(sum < 0 ? -sum : sum), unit};
  const std::uint64_t code = encode(result, total, rounding, rules.overflow, kept);
  if (!rules.positive_zero) return code;
  return decode(result, code).cls == Class::zero ? 0 : code;  // a node's zero is +0, whatever was rounded to it
}

// One node over the k in [first, last) that the step selects.
std::uint64_t node(const Fused& step, const Problem& p, std::size_t first, std::size_t last,
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

// ---- Scaled groups (NUMERICS.md, "Block scaling").

// The exact sum of a group of products, times the significands of its two scales, is
//     sum * 2^(exponent - fraction_bits),
// with the exponent of the scales alone. It raises E unless all its products or one of its scales are zero; a
// group whose products cancel does raise it.
struct Group {
  std::int64_t sum = 0;
  int exponent = 0, fraction_bits = 0;
  bool raises = false;
  bool negative = true;      // all products are
  std::int64_t largest = 0;  // the maximum magnitude of a product
  int raw = kNoFloor;        // the largest raw exponent of a nonzero product, those of its scales included
  int unit = 0;              // unit of the products: 2^unit

  Value value() const {
    const auto magnitude = static_cast<u128>(sum < 0 ? -sum : sum);
    return {sum == 0 ? Class::zero : Class::finite, {sum < 0, magnitude, exponent - fraction_bits}};
  }
  // The exponent that counts for E.
  int counted(Exponents which) const {
    const auto magnitude = static_cast<std::uint64_t>(largest);
    return which == Exponents::of_products ? exponent + bit_length(magnitude) - 1 + unit : exponent;
  }
};

Group group_of(const Problem& p, std::size_t first, std::size_t last) {
  const Elements &a = p.a, &b = p.b;
  const Decoded &scale_a = scale_of(a, first), &scale_b = scale_of(b, first);
  const int least = a.format->min_exponent() + b.format->min_exponent();
  Group out;
  out.exponent = scale_a.exponent + scale_b.exponent;
  out.fraction_bits = a.format->fraction_bits + b.format->fraction_bits + a.scale_format->fraction_bits +
                      b.scale_format->fraction_bits - least;
  out.unit = least - a.format->fraction_bits - b.format->fraction_bits;
  for (std::size_t k = first; k < last; ++k) {
    const Decoded &x = a.values[k], &y = b.values[k];
    const auto product =
        static_cast<std::int64_t>(x.significand * y.significand << (x.exponent + y.exponent - least));
    out.sum += x.negative != y.negative ? -product : product;
    out.raises = out.raises || product != 0;
    if (product != 0) out.raw = std::max(out.raw, out.exponent + x.exponent + y.exponent);
    out.negative = out.negative && x.negative != y.negative;
    out.largest = std::max(out.largest, product);
  }
  const std::uint64_t significands = scale_a.significand * scale_b.significand;
  out.sum *= static_cast<std::int64_t>(significands);
  out.raises = out.raises && significands != 0;
  if (!out.raises) out.raw = kNoFloor;
  return out;
}

// A product of two e2m1 is at most 12 * 12 quarters. Sums of 16, times two significands of ue4m3, are largest
// in units of 2^(exponent - 8), hence in units of 2^(E - 35). Some hundred thousand of them fit.
static_assert(std::int64_t{16} * 12 * 12 * 15 * 15 << (35 - 8) < std::int64_t{1} << 46);

// ---- The steps. Each takes the running value and returns the next one.

Running run(const Fused& step, const Problem& p, Running running) {
  const Format& result = format(step.result);
  if (step.start == Start::zero) running = {&result, 0};
  std::size_t first = 0;
  int taken = 0;
  for (std::size_t k = 0; k < p.size(); ++k) {
    taken += step.k.contains(k) ? 1 : 0;
    if (taken == step.products || (taken > 0 && k + 1 == p.size())) {
      running = {&result, node(step, p, first, k + 1, running)};
      first = k + 1;
      taken = 0;
    }
  }
  return running;
}

// A group, and the part of it that is kept, in units of 2^(e - window).
struct CutGroup {
  Group group;
  std::int64_t units = 0;
};
std::vector<CutGroup> cut_groups(const Problem& p, int length, int e, int window) {
  const auto count = static_cast<std::size_t>(length);
  std::vector<CutGroup> out;
  for (std::size_t k = 0; k < p.size(); k += count) {
    const Group group = group_of(p, k, k + count);
    const auto magnitude = static_cast<std::uint64_t>(group.sum < 0 ? -group.sum : group.sum);
    out.push_back({group, cut(group.sum < 0, magnitude, group.exponent, group.fraction_bits, e, window)});
  }
  return out;
}

std::int64_t cut(const Running& c, int e, int window) {
  const Decoded d = c.decoded();
  return cut(d.negative, d.significand, d.exponent, c.format->fraction_bits, e, window);
}

std::int64_t sum_of(std::int64_t c, std::span<const CutGroup> groups) {
  for (const CutGroup& x : groups) c += x.units;
  return c;
}

// Leaves out the groups below 2^bits units whose scales are not the largest.
void leave_out_lesser(std::span<CutGroup> groups, int bits) {
  int largest = kNoFloor;
  for (const CutGroup& x : groups)
    if (x.group.raises) largest = std::max(largest, x.group.exponent);
  for (CutGroup& x : groups)
    if (x.group.exponent < largest && bit_length(static_cast<u128>(x.units < 0 ? -x.units : x.units)) <= bits)
      x.units = 0;
}

bool is_subnormal(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  return d.cls == Class::finite && d.significand >> f.fraction_bits == 0;
}

void add_groups(Tracer& tracer, std::span<const CutGroup> groups, int length) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::size_t first = i * static_cast<std::size_t>(length);
    const Group& group = groups[i].group;
    tracer.add_products(first, first + static_cast<std::size_t>(length) - 1, group.value(), group.exponent,
                        groups[i].units);
  }
}

// The NaN or infinity that scales, products or C make, if any does. Elements are e2m1, which has none.
std::optional<Running> special_result(const Problem& p, const Running& c, const Format& result) {
  SpecialSum specials;
  specials.add_scales(p);
  specials.add(c.decoded());
  if (!specials.any()) return std::nullopt;
  Tracer tracer(p, result);
  tracer.add(c);
  for (std::size_t k = 0; k < p.size(); ++k) tracer.add_product(k);
  return Running{&result, tracer.result(specials.code(result))};
}

Running run(const GroupScaled& step, const Problem& p, Running running) {
  const Format& result = format(step.result);
  const Decoded c = running.decoded();
  const auto length = static_cast<std::size_t>(step.group);
  if (const auto special = special_result(p, running, result)) return *special;

  const SumRules& rules = step.rules;
  int e = c.cls == Class::finite ? std::max(step.floor, c.exponent) : step.floor;
  bool negative = c.negative;
  for (std::size_t k = 0; k < p.size(); k += length) {
    const Group group = group_of(p, k, k + length);
    if (group.raises) e = std::max(e, group.counted(rules.exponents));
    if (!group.raises && rules.zeros_raise) e = std::max(e, group.exponent);
    negative = negative && group.negative;
  }
  Tracer tracer(p, result);
  tracer.cut(e, step.window);
  const std::int64_t of_c = tracer.add(running, cut(running, e, step.window));
  std::vector<CutGroup> groups = cut_groups(p, step.group, e, step.window);
  const int unit = e - step.window;
  const auto code = [&] {
    return convert_sum(sum_of(of_c, groups), negative, unit, result, step.rounding, result.fraction_bits,
                       rules);
  };
  if (step.least != kNoFloor && is_subnormal(result, code())) leave_out_lesser(groups, step.least - unit);
  add_groups(tracer, groups, step.group);
  return {&result, tracer.result(code())};
}

// NUMERICS.md, "Block scaling of tcgen05". Of e2m1 a product's raw exponent is at most 4 above that of its
// scales, so that a product or C is below 2^(S + 6):
//
//     S + 4 ...  S  ...                S - 35
//       |........|........................|xxx    x is lost
Running run(const WindowedGroups& step, const Problem& p, Running running) {
  const Format& result = format(step.result);
  const Decoded c = running.decoded();
  if (const auto special = special_result(p, running, result)) return *special;

  int of_scales = kNoFloor, of_products = kNoFloor;  // S, R
  for (std::size_t k = 0; k < p.size(); k += static_cast<std::size_t>(step.group)) {
    const Group group = group_of(p, k, k + static_cast<std::size_t>(step.group));
    if (!group.raises) continue;
    of_scales = std::max(of_scales, group.exponent);
    of_products = std::max(of_products, group.raw);
  }
  const bool c_is_above = c.cls == Class::finite && c.exponent >= of_products;
  const int e = c_is_above ? c.exponent : of_scales, length = c_is_above ? step.group_below_c : step.group;
  Tracer tracer(p, result);
  tracer.cut(e, step.window);
  const std::int64_t of_c = tracer.add(running, cut(running, e, step.window));
  const std::vector<CutGroup> groups = cut_groups(p, length, e, step.window);
  add_groups(tracer, groups, length);
  return {&result, tracer.result(convert_sum(sum_of(of_c, groups), false, e - step.window, result,
                                             step.rounding, result.fraction_bits, SumRules{}))};
}

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

std::int64_t integer(const Decoded& d) {
  const auto magnitude = static_cast<std::int64_t>(d.significand);
  return d.negative ? -magnitude : magnitude;
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

}  // namespace

std::uint64_t evaluate(const Plan& plan, Elements a, Elements b, const Format& c, std::uint64_t c_code,
                       Trace* trace, int c_scale) {
  const Problem problem{a, b, {&c, c_code & c.mask(), Addend::What::accumulator, c_scale}, trace};
  Running running = problem.c;
  for (const Step& step : plan) {
    const std::size_t traced = trace != nullptr ? trace->size() : 0;
    running = std::visit([&](const auto& s) { return run(s, problem, running); }, step);
    for (std::size_t i = traced; trace != nullptr && i < trace->size(); ++i)
      (*trace)[i].step = static_cast<std::size_t>(&step - plan.begin());
  }
  return running.code;
}

Decoded convert_operand(const Decoded& element, const Format& from, const Format& to) {
  return decode(to, round(to, value_of(element, from), Rounding::nearest_even));
}

}  // namespace warpbit
