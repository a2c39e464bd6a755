// SPDX-License-Identifier: Apache-2.0
// Groups of products with scales (NUMERICS.md, "Block scaling").
#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "numeric/problem.hpp"

namespace warpbit::node {
namespace {

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

std::int64_t cut_running(const Running& c, int e, int window) {
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

}  // namespace

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
  const std::int64_t of_c = tracer.add(running, cut_running(running, e, step.window));
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
  const std::int64_t of_c = tracer.add(running, cut_running(running, e, step.window));
  const std::vector<CutGroup> groups = cut_groups(p, length, e, step.window);
  add_groups(tracer, groups, length);
  return {&result, tracer.result(convert_sum(sum_of(of_c, groups), false, e - step.window, result,
                                             step.rounding, result.fraction_bits, SumRules{}))};
}

}  // namespace warpbit::node
