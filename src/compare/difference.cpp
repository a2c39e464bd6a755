// SPDX-License-Identifier: Apache-2.0
// Why two results differ, in words. Each addend and each sum is used once on the way to D, so what all cuts and
// roundings take away is exactly what the result is off by: the cause is in those that only one side has.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "explain/dyadic.hpp"
#include "explain/words.hpp"
#include "numeric/formats.hpp"
#include "warpbit/explain.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

// ---- What is lost

// A number that does not stay what it was: an addend that is cut, or a sum that is rounded.
struct Loss {
  const ExplainedSum* sum;
  const ExplainedAddend* cut;  // null: the sum is rounded

  const ExactNumber& before() const { return cut != nullptr ? cut->value : sum->total; }
  const ExactNumber& after() const { return cut != nullptr ? cut->kept : sum->result; }
  Dyadic amount() const { return Dyadic(before()) + -Dyadic(after()); }
};

// All cuts of a sum, or its rounding.
struct Group {
  std::vector<Loss> losses;
  Dyadic amount{0, 0};
};

struct Side {
  const Explanation& e;
  std::vector<Loss> losses;
  bool lost_more;  // what the other side has lost as well is not among them
};

bool is_finite(const ExactNumber& x) {
  return x.kind == ExactNumber::Kind::finite;
}

bool is_larger(const Dyadic& x, const Dyadic& y) {
  return (x.magnitude() + -y.magnitude()).number > 0;
}

// A NaN or Inf decides a sum alone: nothing is lost there.
std::vector<Loss> losses_of(std::span<const ExplainedSum> sums) {
  std::vector<Loss> out;
  for (const ExplainedSum& sum : sums) {
    if (!std::ranges::all_of(sum.addends, is_finite, &ExplainedAddend::value)) continue;
    for (const ExplainedAddend& addend : sum.addends)
      if (addend.value != addend.kept) out.push_back({&sum, &addend});
    if (sum.total != sum.result) out.push_back({&sum, nullptr});
  }
  return out;
}

// Removes what both sides lose of equal numbers.
void remove_common(Side& x, Side& y) {
  const auto key = [](const Loss& loss) {
    return std::tuple(loss.cut != nullptr, loss.before().ratio(), loss.after().ratio());
  };
  using Keys = std::multiset<decltype(key(x.losses[0]))>;
  const auto keys = [&](const Side& side) {
    Keys out;
    for (const Loss& loss : side.losses) out.insert(key(loss));
    return out;
  };
  Keys common;
  std::ranges::set_intersection(keys(x), keys(y), std::inserter(common, common.end()));
  for (Side* side : {&x, &y}) {
    side->lost_more = side->lost_more || !common.empty();
    Keys left = common;
    std::erase_if(side->losses, [&](const Loss& loss) { return !left.extract(key(loss)).empty(); });
  }
}

std::vector<Group> groups_of(const std::vector<Loss>& losses) {
  std::vector<Group> out;
  for (const Loss& loss : losses) {
    const Loss* last = out.empty() ? nullptr : &out.back().losses[0];
    if (last == nullptr || last->sum != loss.sum || !last->cut || !loss.cut) out.emplace_back();
    out.back().losses.push_back(loss);
    out.back().amount = out.back().amount + loss.amount();
  }
  return out;
}

// How many sums each has made where both last had added the same with the same result.
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

// " 0.5 ulp"; of integers the number.
std::string amount_text(const Explanation& e, const Dyadic& amount) {
  const Format* f = find_format(e.format);
  if (f == nullptr || f->is_integer) return short_text(amount.magnitude().exact_number());
  return fmt::format("{:.4g} ulp", approximate(ulps(*f, Dyadic(e.exact), amount)));
}

std::string multiples(const ExplainedSum& sum) {
  return fmt::format("multiples of 2^{} (F {})", sum.window->e - sum.window->f, sum.window->f);
}

// "cuts c = 0.1 to 0 in sum 1, to multiples of 2^-3 (F 25)"
std::string cut_text(const Explanation& e, const Group& group) {
  const Loss* most = &group.losses[0];
  for (const Loss& loss : group.losses)
    if (is_larger(loss.amount(), most->amount())) most = &loss;
  const std::string what =
      fmt::format("{} = {} to {}", most->cut->name, short_text(most->before()), short_text(most->after()));
  const std::string where = fmt::format("{}{}", most->sum->name, instruction_text(e, *most->sum));
  if (group.losses.size() == 1) return fmt::format("cuts {} in {}, to {}", what, where, multiples(*most->sum));
  return fmt::format("cuts {} addends of {} to {}, most of all {}", group.losses.size(), where,
                     multiples(*most->sum), what);
}

// "rounds 16777217 to 0x4b800000 (16777216) after k = 8, in sum 1 (instruction 1 of 2)"
std::string round_text(const Explanation& e, const ExplainedSum& sum) {
  const Format* f = find_format(sum.format);
  const bool is_integer = f != nullptr && f->is_integer;
  const bool wraps = is_integer && (Dyadic(sum.total) + -Dyadic(sum.result)).exact_number().exponent >= f->bits;
  const std::string_view verb = !is_integer ? "rounds" : wraps ? "wraps" : "clamps";
  const bool is_last = &sum == &e.sums.back();
  return fmt::format("{} {} to {}{} in {}{}", verb, short_text(sum.total), code_text(sum.format, sum.code),
                     sum.after && !is_last ? fmt::format(" after k = {},", *sum.after) : "", sum.name,
                     instruction_text(e, sum));
}

std::string losses_text(const Side& side) {
  const std::vector<Group> groups = groups_of(side.losses);
  const Group* most = &groups[0];
  Dyadic all(0, 0);
  for (const Group& group : groups) {
    all = all + group.amount;
    if (!group.amount.is_finite() || (most->amount.is_finite() && is_larger(group.amount, most->amount)))
      most = &group;
    if (!all.is_finite()) break;  // an overflow decides
  }
  const Loss& first = most->losses[0];
  const std::string what = first.cut != nullptr ? cut_text(side.e, *most) : round_text(side.e, *first.sum);
  if (!all.is_finite()) return fmt::format("{} {}", side.e.name, what);
  std::string out = fmt::format("{} is {}{} off: it {}", side.e.name, side.lost_more ? "another " : "",
                                amount_text(side.e, all), what);
  if (const std::size_t others = groups.size() - 1; others > 0)
    out += fmt::format(", and loses as much or less in {} other place{}", others, others == 1 ? "" : "s");
  return out;
}

// Nothing is lost that the other side does not lose, too. Its sum that has what the other one cuts.
std::string exact_text(const Side& side, const Side& other) {
  const ExplainedAddend* cut = other.losses[0].cut;
  for (const ExplainedSum& sum : side.e.sums)
    for (const ExplainedAddend& addend : sum.addends)
      if (cut != nullptr && sum.window && addend.name == cut->name)
        return fmt::format("{} keeps {} and loses nothing{}", side.e.name, multiples(sum),
                           side.lost_more ? " else" : "");
  return fmt::format("{} loses nothing{}", side.e.name, side.lost_more ? " else" : "");
}

// Results that no cut and no rounding made different.
std::string special_text(const Explanation& x, const Explanation& y) {
  const auto are = [&](ExactNumber::Kind kind) { return x.result.kind == kind && y.result.kind == kind; };
  const std::string_view what = x.exact != y.exact                         ? "they do not add the same"
                                : x.result.is_zero() && y.result.is_zero() ? "the signs of zero differ"
                                : are(ExactNumber::Kind::nan)              ? "the NaNs differ"
                                                                           : "a NaN or Inf decides";
  return fmt::format("{}: {} returns {}, {} {}", what, x.name, code_text(x.format, x.code), y.name,
                     code_text(y.format, y.code));
}

}  // namespace

std::string difference(const Explanation& x, const Explanation& y) {
  if (x.code == y.code && x.format == y.format) return "";
  const auto [of_x, of_y] = last_equal_sums(x, y);
  const auto side = [](const Explanation& e, std::size_t equal) {
    const std::span sums(e.sums);
    return Side{e, losses_of(sums.subspan(equal)), !losses_of(sums.first(equal)).empty()};
  };
  Side p = side(x, of_x), q = side(y, of_y);
  remove_common(p, q);
  if (x.exact != y.exact || (p.losses.empty() && q.losses.empty())) return special_text(x, y);
  const auto text = [](const Side& one, const Side& other) {
    return one.losses.empty() ? exact_text(one, other) : losses_text(one);
  };
  // The one that loses nothing comes last.
  const auto& [first, second] = p.losses.empty() ? std::tie(q, p) : std::tie(p, q);
  return fmt::format("{}; {}", text(first, second), text(second, first));
}

}  // namespace warpbit
