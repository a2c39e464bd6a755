// SPDX-License-Identifier: Apache-2.0
// Why two results differ, in words.
#include <fmt/format.h>

#include <algorithm>

#include "warpbit/compare.hpp"

namespace warpbit {
namespace {

bool is_product(const ExplainedAddend& addend) {
  return addend.name.starts_with('a');
}

std::size_t products_in(const ExplainedSum& sum) {
  return static_cast<std::size_t>(std::ranges::count_if(sum.addends, is_product));
}

// "8 products and c"
std::string contents(const ExplainedSum& sum) {
  const std::size_t products = products_in(sum);
  std::string out = products == 0 ? "" : fmt::format("{} product{}", products, products == 1 ? "" : "s");
  for (const ExplainedAddend& addend : sum.addends)
    if (!is_product(addend)) out += (out.empty() ? "" : " and ") + addend.name;
  return out;
}

bool adds_the_same(const ExplainedSum& x, const ExplainedSum& y) {
  return std::ranges::equal(x.addends, y.addends, {}, &ExplainedAddend::name, &ExplainedAddend::name);
}

std::string multiples(const ExplainedSum& sum) {
  return sum.window ? fmt::format("multiples of 2^{} (F {})", sum.window->e - sum.window->f, sum.window->f)
                    : "all bits";
}

// An addend of which one keeps more than the other.
std::string cut_differently(const ExplainedSum& x, const ExplainedSum& y) {
  for (std::size_t i = 0; i < x.addends.size(); ++i)
    if (x.addends[i].kept.bits != y.addends[i].kept.bits ||
        (!x.addends[i].kept.bits.empty() && x.addends[i].kept.exponent != y.addends[i].kept.exponent))
      return fmt::format(": of {} = {} they keep {} and {}", x.addends[i].name, x.addends[i].value.decimal(),
                         x.addends[i].kept.decimal(), y.addends[i].kept.decimal());
  return "";
}

bool same_window(const ExplainedSum& x, const ExplainedSum& y) {
  if (x.window.has_value() != y.window.has_value()) return false;
  return !x.window || (x.window->e == y.window->e && x.window->f == y.window->f);
}

}  // namespace

std::string difference(const Explanation& x, const Explanation& y) {
  if (x.code == y.code && x.format == y.format) return "";
  const std::string first = x.form == y.form ? x.target : x.form + " on " + x.target,
                    second = x.form == y.form ? y.target : y.form + " on " + y.target;
  for (std::size_t i = 0; i < std::min(x.sums.size(), y.sums.size()); ++i) {
    const ExplainedSum &p = x.sums[i], &q = y.sums[i];
    if (!adds_the_same(p, q))
      return fmt::format("{} adds {} at once and rounds to {}; {} adds {}", first, contents(p),
                         code_text(p.format, p.code), second, contents(q));
    if (!same_window(p, q))
      return fmt::format("in {}, {} keeps {}, {} keeps {}{}", p.name, first, multiples(p), second, multiples(q),
                         cut_differently(p, q));
    if (p.code != q.code || p.format != q.format)
      return fmt::format("in {}, {} rounds {} to {}, {} to {}", p.name, first, p.total.decimal(),
                         code_text(p.format, p.code), second, code_text(q.format, q.code));
  }
  return fmt::format("{} has {} sums, {} has {}", first, x.sums.size(), second, y.sums.size());
}

}  // namespace warpbit
