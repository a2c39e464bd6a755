// SPDX-License-Identifier: Apache-2.0
// Why two results differ, in words.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "text/wrapped.hpp"
#include "warpbit/compare.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

std::string brief(const ExactNumber& x) {
  constexpr std::size_t kWidth = 40;
  return cut_off(x.decimal(), kWidth);
}

// ---- What is looked at

// An addend that is not zero.
struct Term {
  std::string name;  ///< of a product, of C, or of a sum
  std::string key;   ///< the same in both explanations, if it stands for the same
  const ExplainedAddend* addend;

  bool is_product() const { return name.starts_with('a'); }
};

// A sum that changes something.
struct CountingSum {
  const ExplainedSum* sum;
  std::vector<Term> terms;
};

struct Side {
  const Explanation& e;
  std::vector<CountingSum> sums;
};

// The sums behind the first `skipped`, the last of which is the same in both explanations. Zeros change
// nothing, and a sum that returns the only other addend as it is stands for that one.
Side looked_at(const Explanation& e, std::size_t skipped) {
  Side out{e, {}};
  std::map<std::string, Term> sums;  // what stands for them, by their names
  if (skipped > 0) sums[e.sums[skipped - 1].name] = {e.sums[skipped - 1].name, "before", nullptr};
  for (std::size_t i = skipped; i < e.sums.size(); ++i) {
    const ExplainedSum& sum = e.sums[i];
    CountingSum counting{&sum, {}};
    for (const ExplainedAddend& addend : sum.addends) {
      if (addend.value.is_zero()) continue;
      const auto known = sums.find(addend.name);
      Term term = known != sums.end() ? known->second : Term{addend.name, addend.name, nullptr};
      term.addend = &addend;
      counting.terms.push_back(term);
    }
    const auto returns = [&](const ExactNumber& x) {
      return x.kind != ExactNumber::Kind::nan && x.ratio() == sum.result.ratio();
    };
    if (counting.terms.size() == 1 && returns(counting.terms[0].addend->value)) {
      sums[sum.name] = counting.terms[0];
      continue;
    }
    if (counting.terms.empty() && sum.result.is_zero()) continue;
    // By name, those with long numbers last: the same order in both.
    std::ranges::sort(counting.terms, {}, [](const Term& t) { return std::pair(t.key.size(), t.key); });
    out.sums.push_back(counting);
    sums[sum.name] = {sum.name, fmt::format("sum {}", out.sums.size()), nullptr};
  }
  return out;
}

// Where both have added the same with the same result, up to where they first have not: sums of each until
// then.
std::pair<std::size_t, std::size_t> last_equal_sums(const Explanation& x, const Explanation& y) {
  std::pair<std::size_t, std::size_t> out{0, 0};
  for (std::size_t i = 0, j = 0; i < x.sums.size() && j < y.sums.size();) {
    const ExplainedSum &p = x.sums[i], &q = y.sums[j];
    if (!p.after || (q.after && *p.after < *q.after)) {
      ++i;
    } else if (!q.after || *q.after < *p.after) {
      ++j;
    } else {
      if (p.code != q.code || p.format != q.format) break;
      out = {++i, ++j};
    }
  }
  return out;
}

// ---- In words

// "8 products and c", or which products these are.
std::string contents(const CountingSum& sum, bool which) {
  std::vector<std::string> others, products;
  for (const Term& term : sum.terms) (term.is_product() ? products : others).push_back(term.name);
  std::string out;
  if (products.size() == 1)
    out = which ? products[0] : "1 product";
  else if (products.size() > 1)
    out = fmt::format("{} products", products.size()) +
          (which ? fmt::format(" ({} to {})", products.front(), products.back()) : "");
  for (const std::string& other : others) out += (out.empty() ? "" : " and ") + other;
  return out.empty() ? "zeros" : out;
}

bool add_the_same(const CountingSum& x, const CountingSum& y) {
  return std::ranges::equal(x.terms, y.terms, {}, &Term::key, &Term::key);
}

// " (instruction 1 of 2)"
std::string place(const Side& side, const CountingSum& sum) {
  if (side.e.instructions == 1 || sum.sum->instruction == 0) return "";
  return fmt::format(" (instruction {} of {})", sum.sum->instruction, side.e.instructions);
}

// The one that rounds after fewer addends comes first.
std::string different_addends(const Side& x, const CountingSum& p, const Side& y, const CountingSum& q) {
  if (q.terms.size() < p.terms.size()) return different_addends(y, q, x, p);
  const bool which = contents(p, false) == contents(q, false);
  const std::string after = p.sum->after ? fmt::format(" after k = {}", *p.sum->after) : "";
  return fmt::format("{} rounds {} to {}{}{}; {} adds {} at once{}", x.e.name, contents(p, which),
                     code_text(p.sum->format, p.sum->code), after, place(x, p), y.e.name, contents(q, which),
                     place(y, q));
}

std::string multiples(const ExplainedSum& sum) {
  if (sum.window) return fmt::format("multiples of 2^{} (F {})", sum.window->e - sum.window->f, sum.window->f);
  return sum.instruction == 0 ? "all bits of the sums of two runs" : "all bits";
}

// An addend of which one keeps more than the other.
std::string cut_differently(const CountingSum& x, const CountingSum& y) {
  for (std::size_t i = 0; i < x.terms.size(); ++i) {
    const ExplainedAddend &p = *x.terms[i].addend, &q = *y.terms[i].addend;
    if (p.kept.ratio() != q.kept.ratio())
      return fmt::format(": of {} = {} they keep {} and {}", x.terms[i].name, brief(p.value), brief(p.kept),
                         brief(q.kept));
  }
  return "";
}

bool same_window(const ExplainedSum& x, const ExplainedSum& y) {
  if (x.window.has_value() != y.window.has_value()) return false;
  return !x.window || (x.window->e == y.window->e && x.window->f == y.window->f);
}

// What is not the same in two sums, if anything.
std::string different(const Side& x, const CountingSum& of_x, const Side& y, const CountingSum& of_y) {
  if (!add_the_same(of_x, of_y)) return different_addends(x, of_x, y, of_y);
  const ExplainedSum &p = *of_x.sum, &q = *of_y.sum;
  const std::string in =
      p.name == q.name ? p.name : fmt::format("{} of {} and {} of {}", p.name, x.e.name, q.name, y.e.name);
  if (!same_window(p, q))
    return fmt::format("in {}, {} keeps {}, {} keeps {}{}", in, x.e.name, multiples(p), y.e.name, multiples(q),
                       cut_differently(of_x, of_y));
  if (p.code != q.code || p.format != q.format)
    return fmt::format("in {}, {} rounds {} to {}, {} to {}", in, x.e.name, brief(p.total),
                       code_text(p.format, p.code), y.e.name, code_text(q.format, q.code));
  return "";
}

}  // namespace

std::string difference(const Explanation& x, const Explanation& y) {
  if (x.code == y.code && x.format == y.format) return "";
  const auto [of_x, of_y] = last_equal_sums(x, y);
  const Side p = looked_at(x, of_x), q = looked_at(y, of_y);
  for (std::size_t i = 0; i < std::min(p.sums.size(), q.sums.size()); ++i)
    if (std::string out = different(p, p.sums[i], q, q.sums[i]); !out.empty()) return out;
  // One has more sums, or zeros and NaNs decide.
  const Side &longer = p.sums.size() > q.sums.size() ? p : q, &shorter = &longer == &p ? q : p;
  if (longer.sums.size() == shorter.sums.size())
    return fmt::format("{} returns {}, {} {}", x.name, code_text(x.format, x.code), y.name,
                       code_text(y.format, y.code));
  const CountingSum& more = longer.sums[shorter.sums.size()];
  return fmt::format("{} also rounds {} to {}{}", longer.e.name, contents(more, true),
                     code_text(more.sum->format, more.sum->code), place(longer, more));
}

}  // namespace warpbit
