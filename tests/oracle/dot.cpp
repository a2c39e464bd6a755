// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "arithmetic.hpp"
#include "rules.hpp"

namespace oracle {

// A problem with its names looked up.
struct Resolved {
  const Rule& rule;
  const Format &d, &a, &b, &c;
  std::size_t k;  // products
  bool satfinite;
  Round round;
  bool exclusive_or;
  const Format* scale;  // nullptr without block scaling
  bool negate_a, negate_b;
};

namespace {

using Codes = std::span<const std::uint64_t>;

const Format& f16() {
  static const Format& format = find_format("f16");
  return format;
}

const Format& f32() {
  static const Format& format = find_format("f32");
  return format;
}

Round round_named(std::string_view name) {
  if (name == "rz") return Round::toward_zero;
  if (name == "rm") return Round::down;
  if (name == "rp") return Round::up;
  return Round::nearest_even;
}

// C as a number of D's format, so that a subnormal f16 C enters an f32 sum with its true exponent.
Value c_in(const Format& format, const Resolved& r, std::uint64_t c) {
  const Value v = decode(r.c, c);
  return &format == &r.c ? v : convert(format, v);
}

Node node_of(const Rule& rule) {
  return {rule.F, rule.floor, rule.kept};
}

// facts 1, with sums of the given format
Value chained_nodes(const Format& format, const Resolved& r, Codes a, Codes b, std::uint64_t c) {
  std::vector<Value> products;
  products.reserve(r.k);
  for (std::size_t k = 0; k < r.k; ++k) products.push_back(product(decode(r.a, a[k]), decode(r.b, b[k])));
  const std::size_t length = static_cast<std::size_t>(r.rule.L);
  Value sum = c_in(format, r, c);
  for (std::size_t k = 0; k < r.k; k += length) {
    const auto group = std::span(products).subspan(k, std::min(length, r.k - k));
    sum = decode(format, fused_sum(node_of(r.rule), format, group, sum));
  }
  return sum;
}

// facts 2, first rule
std::uint64_t lowered_fp8(const Resolved& r, Codes a, Codes b, std::uint64_t c) {
  Value sum = decode(r.d, 0);
  for (const std::size_t half : {0, 1}) {
    std::vector<Value> products;
    for (std::size_t k = 0; k < r.k; ++k) {
      if (k % 4 / 2 != half) continue;
      products.push_back(product(convert(f16(), decode(r.a, a[k])), convert(f16(), decode(r.b, b[k]))));
    }
    sum = decode(r.d, fused_sum(node_of(r.rule), r.d, products, sum));
  }
  return ieee_sum(r.d, sum, decode(r.c, c), Round::nearest_even);
}

struct Scales {
  Codes a, b;
};

// Numbers to add, and what has been seen of specials (facts 1.7).
struct ScaledSum {
  bool nan = false, plus_infinity = false, minus_infinity = false;
  std::vector<Addend> addends;

  void see(const Value& v) {
    if (v.kind == Value::nan) nan = true;
    if (v.kind == Value::infinity) (v.negative ? minus_infinity : plus_infinity) = true;
  }
  std::uint64_t code(const Resolved& r) const {
    if (nan || (plus_infinity && minus_infinity)) return r.d.canonical_nan;
    if (plus_infinity || minus_infinity) return r.d.infinity(minus_infinity);
    return fused_sum(node_of(r.rule), r.d, addends);
  }
};

ScaledSum sum_of_c(const Resolved& r, std::uint64_t c) {
  const Value v = decode(r.c, c);
  ScaledSum out;
  out.see(v);
  out.addends.push_back({rational(v), v.raw_exponent, v.kind == Value::finite});
  return out;
}

// facts 8, mxf8f6f4
std::uint64_t sum_of_scaled_products(const Resolved& r, Codes a, Codes b, std::uint64_t c,
                                     const Scales& scales) {
  ScaledSum sum = sum_of_c(r, c);
  const Value x = decode(*r.scale, scales.a[0]), y = decode(*r.scale, scales.b[0]);
  sum.see(x);
  sum.see(y);
  const Rational scale = rational(x) * rational(y);
  for (std::size_t k = 0; k < r.k; ++k) {
    const Value p = product(decode(r.a, a[k]), decode(r.b, b[k]));
    sum.see(p);
    sum.addends.push_back(
        {rational(p) * scale, p.raw_exponent + x.raw_exponent + y.raw_exponent, p.kind == Value::finite});
  }
  return sum.code(r);
}

// facts 8, mxf4 and mxf4nvf4. Which groups raise E is not said there. As in MMA-Sim (gst_fdpa): all but those
// with no other product than zeros or a scale of zero, so one whose products cancel does.
std::uint64_t sum_of_scaled_groups(const Resolved& r, Codes a, Codes b, std::uint64_t c, const Scales& scales) {
  ScaledSum sum = sum_of_c(r, c);
  const std::size_t length = static_cast<std::size_t>(r.rule.L), block = r.k / scales.a.size();
  for (std::size_t first = 0; first < r.k; first += length) {
    const Value x = decode(*r.scale, scales.a[first / block]), y = decode(*r.scale, scales.b[first / block]);
    sum.see(x);
    sum.see(y);
    Rational products = 0;
    bool any = false;
    for (std::size_t k = first; k < first + length; ++k) {
      const Value p = product(decode(r.a, a[k]), decode(r.b, b[k]));
      products += rational(p);
      any = any || p.kind != Value::zero;
    }
    const bool raises = any && x.kind != Value::zero && y.kind != Value::zero;
    sum.addends.push_back({products * rational(x) * rational(y), x.raw_exponent + y.raw_exponent, raises});
  }
  return sum.code(r);
}

// x * y + z in f32, to nearest even.
Value fma_f32(const Value& x, const Value& y, const Value& z) {
  return decode(f32(), ieee_sum(f32(), product(x, y), z, Round::nearest_even));
}

// facts 2, second rule, D f32
std::uint64_t fmas_then_c(const Resolved& r, Codes a, Codes b, std::uint64_t c) {
  Value sum = decode(f32(), 0);
  for (std::size_t k = 0; k < r.k; ++k) sum = fma_f32(decode(r.a, a[k]), decode(r.b, b[k]), sum);
  return ieee_sum(f32(), sum, c_in(f32(), r, c), Round::nearest_even);
}

// facts 2, second rule, D f16
std::uint64_t pairs_after_c(const Resolved& r, Codes a, Codes b, std::uint64_t c) {
  Value sum = c_in(f32(), r, c);
  for (std::size_t k = 0; k < r.k; k += 2) {
    const Value low = product(decode(r.a, a[k]), decode(r.b, b[k]));
    const Value pair = fma_f32(decode(r.a, a[k + 1]), decode(r.b, b[k + 1]), low);
    sum = decode(f32(), ieee_sum(f32(), sum, pair, Round::nearest_even));
  }
  return convert(f16(), sum).code;
}

cpp_int integer_of(const Value& v) {
  return v.negative ? cpp_int(-v.magnitude) : v.magnitude;
}

// facts 3, with sums that follow each other
std::uint64_t sum_of_integers(const Resolved& r, Codes a, Codes b, std::uint64_t c) {
  const std::size_t length = r.rule.L > 0 ? static_cast<std::size_t>(r.rule.L) : r.k;
  std::uint64_t code = c;
  for (std::size_t first = 0; first < r.k; first += length) {
    cpp_int sum = integer_of(decode(r.c, code));
    for (std::size_t k = first; k < std::min(first + length, r.k); ++k)
      sum += integer_of(decode(r.a, a[k])) * integer_of(decode(r.b, b[k]));
    code = encode(r.d, sum < 0, abs(sum), 0, Round::toward_zero, r.satfinite);
  }
  return code;
}

// facts 3
std::uint64_t count_of_bits(const Resolved& r, Codes a, Codes b, std::uint64_t c) {
  cpp_int sum = integer_of(decode(r.c, c));
  for (std::size_t k = 0; k < r.k; ++k) sum += (r.exclusive_or ? a[k] ^ b[k] : a[k] & b[k]) & 1;
  return encode(r.d, sum < 0, abs(sum), 0, Round::toward_zero, false);
}

// facts 3: at each step the first NaN in the order b, running sum, a wins, made quiet.
std::uint64_t chain_of_fmas(const Resolved& r, Codes a, Codes b, std::uint64_t c) {
  const std::uint64_t quiet_bit = std::uint64_t{1} << (r.d.fraction_bits - 1);
  Value sum = decode(r.c, c);
  for (std::size_t k = 0; k < r.k; ++k) {
    const Value x = decode(r.a, a[k]), y = decode(r.b, b[k]);
    const Value* winner = nullptr;
    for (const Value* v : {&y, static_cast<const Value*>(&sum), &x})
      if (winner == nullptr && v->kind == Value::nan) winner = v;
    const std::uint64_t code =
        winner != nullptr ? winner->code | quiet_bit : ieee_sum(r.d, product(x, y), sum, r.round);
    sum = decode(r.d, code);
  }
  return sum.code;
}

// facts 6: imm-scale -1 negates the operand's sign.
std::vector<std::uint64_t> negated(const Format& format, Codes codes) {
  std::vector<std::uint64_t> out(codes.begin(), codes.end());
  for (std::uint64_t& code : out) code ^= format.sign_bit();
  return out;
}

}  // namespace

Dot::Dot(const Problem& p)
    : resolved_(std::make_shared<const Resolved>(
          Resolved{find_rule(p), find_format(p.d), find_format(p.a), find_format(p.b), find_format(p.c),
                   static_cast<std::size_t>(product_count(p)), p.satfinite, round_named(p.rounding),
                   p.bit_operation == "xor", p.scale.empty() ? nullptr : &find_format(p.scale), p.negate_a,
                   p.negate_b})) {}

std::uint64_t Dot::operator()(Codes a, Codes b, std::uint64_t c) const {
  return (*this)(a, b, c, {}, {});
}

std::uint64_t Dot::operator()(Codes a, Codes b, std::uint64_t c, Codes scale_a, Codes scale_b) const {
  const Resolved& r = *resolved_;
  if (a.size() != r.k || b.size() != r.k)
    throw std::invalid_argument("oracle: a and b must hold a code for each product");
  if (scale_a.size() != static_cast<std::size_t>(r.rule.blocks) || scale_b.size() != scale_a.size())
    throw std::invalid_argument("oracle: there must be a scale for each block");
  std::vector<std::uint64_t> negative_a, negative_b;
  if (r.negate_a) a = negative_a = negated(r.a, a);
  if (r.negate_b) b = negative_b = negated(r.b, b);
  switch (r.rule.method) {
    case Method::nodes: return chained_nodes(r.d, r, a, b, c).code;
    case Method::nodes_in_f32: return convert(r.d, chained_nodes(f32(), r, a, b, c)).code;
    case Method::fp8_lowered: return lowered_fp8(r, a, b, c);
    case Method::fma_then_c: return fmas_then_c(r, a, b, c);
    case Method::pairs: return pairs_after_c(r, a, b, c);
    case Method::integer_sum: return sum_of_integers(r, a, b, c);
    case Method::bit_count: return count_of_bits(r, a, b, c);
    case Method::fma_chain: return chain_of_fmas(r, a, b, c);
    case Method::scaled_products: return sum_of_scaled_products(r, a, b, c, {scale_a, scale_b});
    case Method::scaled_groups: return sum_of_scaled_groups(r, a, b, c, {scale_a, scale_b});
  }
  throw std::logic_error("oracle: method without code");
}

std::uint64_t dot(const Problem& p, Codes a, Codes b, std::uint64_t c) {
  return Dot(p)(a, b, c);
}

}  // namespace oracle
