// SPDX-License-Identifier: Apache-2.0
// Comparison and selection (PTX manual, "Comparison and Selection Instructions", "Half Precision Comparison Instructions").
#include "scalar/floating.hpp"

namespace warpbit::scalar {
namespace {
namespace compare_family {

enum class Order : std::uint8_t { less, equal, greater, unordered };

Order order_of(const Operation& o, std::uint64_t a, std::uint64_t b) {
  const int size = ptx::bits(o.type);
  if (ptx::is_floating(o.type) || o.type == Type::bf16) {
    const Decoded x = taken(o, a, o.type), y = taken(o, b, o.type);
    if (x.cls == Class::nan || y.cls == Class::nan) return Order::unordered;
    if (x.cls == Class::zero && y.cls == Class::zero) return Order::equal;
    // Codes of one sign are ordered as their numbers; a flushed one is a zero.
    const auto rank = [&](const Decoded& d, std::uint64_t code) {
      const auto magnitude = static_cast<std::int64_t>(d.cls == Class::zero ? 0 : cut(code, size - 1));
      return d.negative ? -magnitude : magnitude;
    };
    const std::int64_t p = rank(x, a), q = rank(y, b);
    return p < q ? Order::less : p == q ? Order::equal : Order::greater;
  }
  if (ptx::is_signed(o.type)) {
    const std::int64_t p = extend(a, size), q = extend(b, size);
    return p < q ? Order::less : p == q ? Order::equal : Order::greater;
  }
  const std::uint64_t p = cut(a, size), q = cut(b, size);
  return p < q ? Order::less : p == q ? Order::equal : Order::greater;
}

bool holds(Compare compare, Order order) {
  const bool unordered = order == Order::unordered;
  switch (compare) {
    case Compare::eq: return order == Order::equal;
    case Compare::ne: return order == Order::less || order == Order::greater;
    case Compare::lt: return order == Order::less;
    case Compare::le: return order == Order::less || order == Order::equal;
    case Compare::gt: return order == Order::greater;
    case Compare::ge: return order == Order::greater || order == Order::equal;
    case Compare::equ: return order == Order::equal || unordered;
    case Compare::neu: return order != Order::equal;
    case Compare::ltu: return order == Order::less || unordered;
    case Compare::leu: return order != Order::greater;
    case Compare::gtu: return order == Order::greater || unordered;
    case Compare::geu: return order != Order::less;
    case Compare::num: return !unordered;
    case Compare::nan: return unordered;
  }
  return false;
}

bool joined(Boolean boolean, bool a, bool b) {
  switch (boolean) {
    case Boolean::conjunction: return a && b;
    case Boolean::disjunction: return a || b;
    case Boolean::exclusive: return a != b;
    case Boolean::none: return a;
  }
  return a;
}

bool compared(const Operation& o, const Sources& s) {
  return joined(o.boolean, holds(o.compare, order_of(o, s[0], s[1])), s.predicate);
}

// p is the comparison, q its opposite; both are joined with c.
Results setp(const Operation& o, const Sources& s) {
  const bool held = holds(o.compare, order_of(o, s[0], s[1]));
  return {joined(o.boolean, held, s.predicate), joined(o.boolean, !held, s.predicate)};
}
// All ones, or 1.0 of a floating-point type.
Results set(const Operation& o, const Sources& s) {
  if (!compared(o, s)) return {0};
  switch (o.to) {
    case Type::f32: return {0x3F80'0000};
    case Type::f16: return {0x3C00};
    case Type::bf16: return {0x3F80};
    default: return {ones(ptx::bits(o.to))};
  }
}
Results selp(const Operation& o, const Sources& s) {
  return {cut(s.predicate ? s[0] : s[1], ptx::bits(o.type))};
}
// a where c >= 0, b where it is negative or a NaN.
Results slct(const Operation& o, const Sources& s) {
  bool first = extend(s[2], 32) >= 0;
  if (o.third == Type::f32) {
    const Decoded c = taken(o, s[2], Type::f32);
    first = c.cls != Class::nan && (c.cls == Class::zero || !c.negative);
  }
  return {cut(first ? s[0] : s[1], ptx::bits(o.to))};
}

constexpr Row kRows[] = {
    {"set", set, Function::set, Spread::compared},
    {"setp", setp, Function::setp, Spread::compared},
    {"selp", selp, Function::selp, Spread::selected},
    {"slct", slct, Function::slct, Spread::moved, "ddc"},
};

}  // namespace compare_family
}  // namespace

std::span<const Row> compare_rows() {
  return compare_family::kRows;
}

}  // namespace warpbit::scalar
