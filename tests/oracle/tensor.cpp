// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma, as the facts of tcgen05, section 5, have it, formula by formula.
#include <algorithm>
#include <cstdlib>  // abs
#include <optional>
#include <stdexcept>
#include <vector>

#include "arithmetic.hpp"
#include "formats.hpp"

namespace oracle {
namespace {

using Codes = std::span<const std::uint64_t>;

// 5.2: no floor.
constexpr int no_floor = -100000;
constexpr Node tensor_node{25, no_floor, 23};

// A product times its scales, +-magnitude * 2^exponent.
struct Product {
  cpp_int number;  // with its sign
  int exponent = 0;
  int raw = 0, of_scales = 0;  // R_k, s_k
};

struct ScaleCodes {
  const Format& format;
  Codes codes;

  Value of(std::size_t k, std::size_t products) const {
    return decode(format, codes[k / (products / codes.size())]);
  }
};

// NaN and Inf, before any arithmetic.
struct Seen {
  bool nan = false, plus = false, minus = false;

  void see(const Value& v) {
    if (v.kind == Value::nan) nan = true;
    if (v.kind == Value::infinity) (v.negative ? minus : plus) = true;
  }
  std::optional<std::uint64_t> code(const Format& d) const {
    if (nan || (plus && minus)) return d.canonical_nan;
    if (plus || minus) return d.infinity(minus);
    return std::nullopt;
  }
};

cpp_int signed_magnitude(const Value& v) {
  return v.negative ? cpp_int(-v.magnitude) : v.magnitude;
}

// number * 2^n, toward zero
cpp_int cut(const cpp_int& number, int n) {
  const cpp_int magnitude = scale_and_cut(abs(number), n);
  return number < 0 ? cpp_int(-magnitude) : magnitude;
}

// 5.2, and 5.4: a product's exponents include those of its scales.
std::uint64_t one_node(const Format& d, const std::vector<Value>& products, const Value& c) {
  return fused_sum(tensor_node, d, products, c);
}

std::uint64_t to_f32(const cpp_int& units, int q) {
  static const Format& f32 = find_format("f32");
  if (units == 0) return 0;
  const cpp_int magnitude = abs(units);
  if (floor_log2(magnitude, q) >= 128) return f32.infinity(units < 0);
  const std::uint64_t code = encode(f32, units < 0, magnitude, q, Round::toward_zero, false);
  return code == f32.sign_bit() ? 0 : code;
}

// A sum of neighbours, exactly: number * 2^exponent.
struct Sum {
  cpp_int number;
  int exponent = 0;
  int raw = no_floor, of_scales = no_floor;  // the largest of its nonzero products
};
std::vector<Sum> sums_of(const std::vector<Product>& products, std::size_t length) {
  std::vector<Sum> out;
  for (std::size_t first = 0; first < products.size(); first += length) {
    Sum sum;
    for (std::size_t k = first; k < first + length; ++k) {
      sum.exponent = std::min(k == first ? products[k].exponent : sum.exponent, products[k].exponent);
      if (products[k].number == 0) continue;
      sum.raw = std::max(sum.raw, products[k].raw);
      sum.of_scales = std::max(sum.of_scales, products[k].of_scales);
    }
    for (std::size_t k = first; k < first + length; ++k)
      sum.number += products[k].number << (products[k].exponent - sum.exponent);
    out.push_back(std::move(sum));
  }
  return out;
}

// 5.5, and 5.6 unless `of_powers`: the scales are ue8m0.
std::uint64_t grouped(const std::vector<Product>& products, const Value& c, bool of_powers) {
  int R = no_floor, S = no_floor;
  for (const Product& p : products) {
    if (p.number == 0) continue;
    R = std::max(R, p.raw);
    S = std::max(S, p.of_scales);
  }
  const bool has_c = c.kind == Value::finite;
  if (R == no_floor) return has_c ? c.code : 0;

  const cpp_int number_c = has_c ? signed_magnitude(c) : cpp_int(0);
  if (has_c && c.raw_exponent >= R) {
    const int q = c.raw_exponent - 35;
    cpp_int u = cut(number_c, c.exponent - q);
    for (const Sum& g : sums_of(products, 16)) u += cut(g.number, g.exponent - q);
    return to_f32(u, q);
  }

  const int q = std::max((has_c ? std::max(R, c.raw_exponent) : R) - 39, S - 35);
  const std::vector<Sum> groups = sums_of(products, of_powers ? 16 : 4);
  const cpp_int from_c = has_c ? cut(number_c, c.exponent - q) : cpp_int(0);
  std::vector<cpp_int> units;
  cpp_int u = from_c;
  for (const Sum& g : groups) {
    const bool below_c = of_powers && has_c && g.raw != no_floor && c.raw_exponent >= g.raw;
    const int of_group = below_c ? std::max(q, c.raw_exponent - 35) : q;
    units.push_back(cut(g.number, g.exponent - of_group) << (of_group - q));
    u += units.back();
  }
  const std::uint64_t code = to_f32(u, q);
  const std::uint64_t magnitude = code & 0x7FFFFFFF;
  if (!of_powers || magnitude == 0 || magnitude >= 0x00800000) return code;
  const cpp_int least = -174 > q ? cpp_int(1) << (-174 - q) : cpp_int(1);
  u = from_c;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (groups[i].raw == no_floor || groups[i].of_scales >= S || abs(units[i]) >= least) u += units[i];
  return to_f32(u, q);
}

// 5.3
std::uint64_t integers(const TensorProblem& p, Codes a, Codes b, std::uint64_t c) {
  cpp_int sum = signed_magnitude(decode(p.d, c));
  for (std::size_t k = 0; k < a.size(); ++k)
    sum += signed_magnitude(decode(p.a, a[k])) * signed_magnitude(decode(p.b, b[k]));
  return encode(p.d, sum < 0, abs(sum), 0, Round::toward_zero, p.saturates);
}

}  // namespace

TensorDot::TensorDot(const TensorProblem& p) : problem_(p) {
  for (const std::string& name : {p.d, p.a, p.b}) find_format(name);
  if (!p.scale.empty()) find_format(p.scale);
}

std::uint64_t TensorDot::operator()(Codes a, Codes b, std::uint64_t c, Codes scale_a, Codes scale_b) const {
  const TensorProblem& p = problem_;
  if (p.kind == "i8") return integers(p, a, b, c);
  const Format &d = find_format(p.d), &of_a = find_format(p.a), &of_b = find_format(p.b);
  const bool scaled = !p.scale.empty();
  const Format& of_scale = find_format(scaled ? p.scale : "ue8m0");
  const ScaleCodes scales_a{of_scale, scale_a}, scales_b{of_scale, scale_b};

  Seen seen;
  std::vector<Value> values;
  std::vector<Product> products;
  const Value value_c = decode(d, c);
  seen.see(value_c);
  for (std::size_t k = 0; k < a.size(); ++k) {
    Value x = product(decode(of_a, a[k]), decode(of_b, b[k]));
    Product y;
    if (scaled) {
      const Value s = scales_a.of(k, a.size()), t = scales_b.of(k, a.size());
      if (s.kind == Value::nan || t.kind == Value::nan) seen.nan = true;
      x.raw_exponent += s.raw_exponent + t.raw_exponent;
      x.exponent += s.exponent + t.exponent;
      x.magnitude *= s.magnitude * t.magnitude;
      y.of_scales = s.raw_exponent + t.raw_exponent;
    }
    seen.see(x);
    y.number = signed_magnitude(x);
    y.exponent = x.exponent;
    y.raw = x.raw_exponent;
    values.push_back(std::move(x));
    products.push_back(std::move(y));
  }
  if (const auto special = seen.code(d)) return *special;
  if (p.kind == "mxf4" || p.kind == "mxf4nvf4") return grouped(products, value_c, p.scale == "ue8m0");
  return one_node(d, values, value_c);
}

}  // namespace oracle
