// SPDX-License-Identifier: Apache-2.0
// Why two results differ, in words.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "explain/wrapped.hpp"
#include "warpbit/compare.hpp"

namespace warpbit {
namespace {

std::string brief(const ExactNumber& x) {
  constexpr std::size_t kWidth = 40;
  return cut_off(x.decimal(), kWidth);
}

bool is_product(const ExplainedAddend& addend) {
  return addend.name.starts_with('a');
}

// Zeros change nothing.
std::vector<ExplainedAddend> counting(const ExplainedSum& sum) {
  std::vector<ExplainedAddend> out;
  for (const ExplainedAddend& addend : sum.addends)
    if (!addend.value.is_zero()) out.push_back(addend);
  return out;
}

// "8 products and c"
std::string contents(const ExplainedSum& sum) {
  const std::vector<ExplainedAddend> addends = counting(sum);
  const auto products = std::ranges::count_if(addends, is_product);
  std::string out = products == 0 ? "" : fmt::format("{} product{}", products, products == 1 ? "" : "s");
  for (const ExplainedAddend& addend : addends)
    if (!is_product(addend)) out += (out.empty() ? "" : " and ") + addend.name;
  return out.empty() ? "zeros" : out;
}

bool adds_the_same(const ExplainedSum& x, const ExplainedSum& y) {
  return std::ranges::equal(counting(x), counting(y), {}, &ExplainedAddend::name, &ExplainedAddend::name);
}

std::string multiples(const ExplainedSum& sum) {
  return sum.window ? fmt::format("multiples of 2^{} (F {})", sum.window->e - sum.window->f, sum.window->f)
                    : "all bits";
}

// An addend of which one keeps more than the other.
std::string cut_differently(const ExplainedSum& x, const ExplainedSum& y) {
  const std::vector<ExplainedAddend> of_x = counting(x), of_y = counting(y);
  for (std::size_t i = 0; i < of_x.size(); ++i)
    if (of_x[i].kept.ratio() != of_y[i].kept.ratio())
      return fmt::format(": of {} = {} they keep {} and {}", of_x[i].name, brief(of_x[i].value),
                         brief(of_x[i].kept), brief(of_y[i].kept));
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
      return fmt::format("in {}, {} rounds {} to {}, {} to {}", p.name, first, brief(p.total),
                         code_text(p.format, p.code), second, code_text(q.format, q.code));
  }
  return fmt::format("{} has {} sums, {} has {}", first, x.sums.size(), second, y.sums.size());
}

}  // namespace warpbit
