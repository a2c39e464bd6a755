// SPDX-License-Identifier: Apache-2.0
#include "diagnose/verdict.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace warpbit::diagnosis {
namespace {

// More than the result as it is, and more than chance.
bool is_claim(const Candidate& c, std::uint64_t wrong) {
  return c.score.gained >= std::max(kLeastNew, wrong / 16) && c.score.values >= kLeastValues;
}

Finding finding_of(const Candidate& c, std::uint64_t elements) {
  Finding out;
  for (const Hypothesis* h : c.together) {
    const auto join = [](std::string& text, const std::string& more, std::string_view by) {
      text += (text.empty() || more.empty() ? "" : std::string(by)) + more;
    };
    join(out.kind, h->kind, "+");
    join(out.operand, h->operand, " ");
    join(out.mistake, h->mistake, "; and ");
    join(out.hint, h->hint, "; ");
  }
  out.explained = c.score.explained;
  out.contradicted = c.score.contradicted;
  out.elements = elements;
  return out;
}

}  // namespace

int Candidate::cost() const {
  int sum = together.size() > 1 ? 10 : 0;
  for (const Hypothesis* h : together) sum += h->cost;
  return sum;
}

bool is_better(const Candidate& x, const Candidate& y) {
  if (x.is_consistent() != y.is_consistent()) return x.is_consistent();
  if (x.score.explained != y.score.explained) return x.score.explained > y.score.explained;
  return x.cost() < y.cost();
}

void conclude(const std::vector<Candidate>& candidates, std::vector<Finding> orders, Diagnosis& out) {
  const std::uint64_t wrong = out.elements - out.right;
  const auto mistakes =
      std::ranges::count_if(candidates, [&](const Candidate& c) { return c.score.explained == out.elements; });
  const std::size_t full = static_cast<std::size_t>(mistakes) + orders.size();
  for (const Candidate& c : candidates)
    if (c.score.explained == out.elements || (full == 0 && is_claim(c, wrong)))
      out.findings.push_back(finding_of(c, out.elements));
  out.verdict = full > 1               ? Verdict::ambiguous
                : full == 1            ? Verdict::mistake
                : out.findings.empty() ? Verdict::none
                                       : Verdict::partial;
  if (full == 1 && mistakes == 1)
    out.findings[0].certain = candidates[0].together.size() == 1 && is_claim(candidates[0], wrong);
  for (Finding& order : orders) {
    order.certain = order.certain && full == 1;
    out.findings.push_back(std::move(order));
  }
}

}  // namespace warpbit::diagnosis
