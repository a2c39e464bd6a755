// SPDX-License-Identifier: Apache-2.0
// Which trees of ranks explain D: range after range of values, each as long as one tree explains all of it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "reduction/ranks.hpp"

namespace warpbit {
namespace reduction {
namespace {

using Range = AllReduceSearch::Range;

constexpr std::size_t kMostOfAllTrees = 6, kMostOfAllChains = 9;  // ranks
constexpr std::size_t kFewest = 4;  // values of a range that is not the last: shorter ones explain anything
constexpr std::size_t kWindow = 4096;

/// Trees that explain ranges together.
struct Family {
  std::string name;
  std::vector<int> ring;  ///< of which `trees` are the chains, by their last rank; else empty
  std::vector<RankTree> trees;
};

Family family_of_ring(std::vector<int> ring) {
  Family out{fmt::format("ring {}", fmt::join(ring, " ")), std::move(ring), {}};
  for (std::size_t i = 0; i < out.ring.size(); ++i) out.trees.push_back(chain(out.ring, i));
  return out;
}

// Each sum once.
std::vector<RankTree> distinct(std::vector<RankTree> trees, bool is_mean, std::size_t ranks) {
  std::set<std::uint64_t> seen;
  std::erase_if(trees, [&](const RankTree& one) { return !seen.insert(sum_of(one, is_mean, ranks)).second; });
  return trees;
}

// All chains of so many ranks.
std::vector<RankTree> all_chains(std::size_t ranks) {
  std::vector<int> order(ranks);
  std::iota(order.begin(), order.end(), 0);
  std::vector<RankTree> out;
  do out.push_back(chain(order, ranks - 1));
  while (std::ranges::next_permutation(order).found);
  return out;
}

/// The first and the last of some numbers.
struct Places {
  std::size_t least = 0, most = 0;

  // The one with the most zeros at its end.
  std::size_t roundest() const {
    std::size_t out = most;
    for (std::size_t step = 1; step != 0 && step <= most && most / step * step >= least; step *= 2)
      out = most / step * step;
    return out;
  }
  void meet(const Places& with) {
    least = std::max(least, with.least);
    most = std::min(most, with.most);
  }
};

// Beginnings that are regular, if there are such: n ranges of one size to a turn (the last one may be less), turns of one size.
//
//     0    s    2s   S    S+s  S+2s 2S         n = 3
std::optional<std::vector<std::size_t>> regular(const std::vector<Places>& places, std::size_t n) {
  Places turns{1, SIZE_MAX}, steps{1, SIZE_MAX};
  const auto meet = [](Places& all, const Places& one, std::size_t from, std::size_t by) {
    if (one.most < from) return all.meet({1, 0});
    all.meet({(std::max(one.least, from) - from + by - 1) / by, (one.most - from) / by});
  };
  for (std::size_t i = n; i <= places.size(); i += n) meet(turns, places[i - 1], 0, i / n);
  if (turns.least > turns.most) return std::nullopt;
  const std::size_t turn = turns.roundest();
  for (std::size_t i = 1; i <= places.size(); ++i)
    if (i % n != 0) meet(steps, places[i - 1], i < n ? 0 : i / n * turn, i % n);
  if (steps.least > steps.most) return std::nullopt;
  std::vector<std::size_t> out;
  for (std::size_t i = 1; i <= places.size(); ++i)
    out.push_back((i < n ? 0 : i / n * turn) + (i % n == 0 ? 0 : i % n * steps.roundest()));
  return out;
}

/// A range and a tree of a family that explains all of it.
struct Fit {
  std::size_t first, count, tree;
};
struct Fits {
  std::vector<Fit> ranges;
  std::size_t explained = 0;
};

class RankSearch {
 public:
  explicit RankSearch(const AllReduceProblem& problem) : problem_(problem), values_(problem) {}

  AllReduceSearch run() {
    AllReduceSearch out{.ranks = problem_.ranks, .values = problem_.values};
    std::vector<Family> families = known();
    const std::size_t usual = families.size();
    add_others(families);
    // The one with the fewest ranges; a ring of three and more has as many as ranks.
    const Family* found = nullptr;
    std::size_t least = 0;
    std::vector<Fit> best;
    for (std::size_t i = 0; i < families.size() && (i < usual || found == nullptr); ++i) {
      Fits fits = explained_by(families[i]);
      out.explained = std::max(out.explained, fits.explained);
      const std::size_t ranges = fits.ranges.size(),
                        cost = families[i].ring.empty() ? ranges : std::max(ranges, problem_.ranks);
      if (fits.explained < problem_.values || (found != nullptr && cost >= least)) continue;
      found = &families[i];
      least = cost;
      best = std::move(fits.ranges);
    }
    const Sums sums = sums_of(families);
    out.tried = sums.size();
    out.complete = problem_.ranks <= kMostOfAllTrees;
    if (found != nullptr) answer(*found, std::move(best), sums, out);
    return out;
  }

 private:
  std::uint64_t key(const RankTree& tree) const { return sum_of(tree, problem_.is_mean, problem_.ranks); }

  // Rings and trees that NCCL has of ranks that are numbered as they lie.
  std::vector<Family> known() const {
    std::vector<int> up(problem_.ranks);
    std::iota(up.begin(), up.end(), 0);
    const std::vector<int> down(up.rbegin(), up.rend());
    const auto ranks = static_cast<int>(problem_.ranks);
    std::vector<Family> out{family_of_ring(up), {"tree", {}, double_tree(ranks)}, family_of_ring(down)};
    for (int each = 2; each <= ranks / 2; ++each)
      if (ranks % each == 0)
        out.push_back(
            {fmt::format("tree of {} hosts", ranks / each), {}, double_tree_of_hosts(ranks / each, each)});
    return out;
  }
  // Of few ranks all rings and all trees; of more of them, all chains. One that explains the first values may be of a ring; which of
  // the two ranks comes first that are added first, it does not say.
  void add_others(std::vector<Family>& families) const {
    const bool has_all = problem_.ranks <= kMostOfAllTrees;
    if (!has_all && problem_.ranks > kMostOfAllChains) return;
    Family other{
        "other", {}, has_all ? all_trees(static_cast<int>(problem_.ranks)) : all_chains(problem_.ranks)};
    other.trees = distinct(std::move(other.trees), problem_.is_mean, problem_.ranks);
    const Fit first = longest(other, 0);
    if (has_all) {
      std::vector<int> ring(problem_.ranks);
      std::iota(ring.begin(), ring.end(), 0);
      while (problem_.ranks > 3 && std::ranges::next_permutation(ring.begin() + 1, ring.end()).found)
        families.push_back(family_of_ring(ring));
    } else if (first.count < problem_.values && first.count >= kFewest) {
      std::vector<int> ring;
      for (const RankTree* at = &other.trees[first.tree]; at != nullptr;
           at = at->from.empty() ? nullptr : at->from.data())
        ring.insert(ring.begin(), at->rank);
      for (int i = 0; i < 2; ++i) {
        families.push_back(family_of_ring(ring));
        std::swap(ring[0], ring[1]);
      }
    }
    families.push_back(std::move(other));
  }

  // How many values from `first` on a tree explains, at most so many.
  std::size_t run_of(const RankTree& tree, std::size_t first, std::size_t most) const {
    std::size_t done = 0;
    for (std::size_t window = 4; done < most; window = std::min(2 * window, kWindow)) {
      const std::size_t count = std::min(window, most - done);
      const std::vector<std::uint64_t> got = values_.sums(tree, first + done, count);
      const auto [end, rest] = std::ranges::mismatch(got, problem_.d.subspan(first + done, count));
      done += static_cast<std::size_t>(end - got.begin());
      if (end != got.end()) break;
    }
    return done;
  }
  Fit longest(const Family& family, std::size_t first) const {
    Fit out{first, 0, 0};
    for (std::size_t i = 0; i < family.trees.size(); ++i)
      if (const std::size_t count = run_of(family.trees[i], first, problem_.values - first); count > out.count)
        out.count = count, out.tree = i;
    return out;
  }
  Fits explained_by(const Family& family) const {
    Fits out;
    while (out.explained < problem_.values) {
      const Fit next = longest(family, out.explained);
      const bool is_last = out.explained + next.count == problem_.values;
      if (next.count == 0 || (!is_last && next.count < kFewest)) break;
      out.explained += next.count;
      out.ranges.push_back(next);
    }
    return out;
  }

  // How many values before `end`, at most so many, a tree explains.
  std::size_t run_before(const RankTree& tree, std::size_t end, std::size_t most) const {
    std::size_t done = 0;
    for (std::size_t window = 4; done < most; window = std::min(2 * window, kWindow)) {
      const std::size_t count = std::min(window, most - done), first = end - done - count;
      const std::vector<std::uint64_t> got = values_.sums(tree, first, count);
      std::size_t same = 0;
      while (same < count && got[count - 1 - same] == problem_.d[first + count - 1 - same]) ++same;
      done += same;
      if (same < count) break;
    }
    return done;
  }
  // Where each range but the first may begin: earlier ones than the longest before it leaves, if both trees explain the values.
  std::vector<Places> beginnings_of(const Family& family, const std::vector<Fit>& ranges) const {
    std::vector<Places> out;
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      const std::size_t at = ranges[i].first;
      out.push_back({at - run_before(family.trees[ranges[i].tree], at, ranges[i - 1].count - 1), at});
    }
    return out;
  }
  static void set_beginnings(const std::vector<std::size_t>& at, std::size_t end, std::vector<Fit>& ranges) {
    for (std::size_t i = 0; i < at.size(); ++i) ranges[i + 1].first = at[i];
    for (std::size_t i = 0; i < ranges.size(); ++i)
      ranges[i].count = (i + 1 < ranges.size() ? ranges[i + 1].first : end) - ranges[i].first;
  }

  // The shortest list of sizes that, by turns, are those of all ranges; the last one may be cut.
  static std::vector<std::size_t> sizes_of(const std::vector<Fit>& ranges) {
    if (ranges.size() == 1) return {};
    const std::size_t whole = ranges.size() - 1;
    std::size_t turn = 1;
    const auto fits = [&](std::size_t i) {
      return i < whole ? ranges[i].count == ranges[i % turn].count
                       : turn > whole || ranges[i].count <= ranges[i % turn].count;
    };
    const auto all_fit = [&] {
      for (std::size_t i = turn; i < ranges.size(); ++i)
        if (!fits(i)) return false;
      return true;
    };
    while (turn < ranges.size() && !all_fit()) ++turn;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < turn; ++i) out.push_back(ranges[i].count);
    return out;
  }

  // The trees of the ranges: a ring's if each ends at the next rank, else the shortest list.
  void set_trees(const Family& family, const std::vector<Fit>& ranges, AllReduceSearch& out) const {
    const std::size_t n = family.ring.size();
    const auto is_next = [&](const Fit& a, const Fit& b) { return b.tree == (a.tree + 1) % n; };
    if (n != 0 && std::ranges::adjacent_find(ranges, std::not_fn(is_next)) == ranges.end()) {
      out.order.ring = family.ring;
      std::rotate(out.order.ring.begin(), out.order.ring.begin() + static_cast<std::ptrdiff_t>(ranges[0].tree),
                  out.order.ring.end());
      return;
    }
    std::size_t turn = 1;
    const auto repeats = [&] {
      for (std::size_t i = turn; i < ranges.size(); ++i)
        if (ranges[i].tree != ranges[i % turn].tree) return false;
      return true;
    };
    while (!repeats()) ++turn;
    for (std::size_t i = 0; i < turn; ++i) out.order.trees.push_back(family.trees[ranges[i].tree]);
  }

  using Sums = std::map<std::uint64_t, const RankTree*>;
  Sums sums_of(const std::vector<Family>& families) const {
    Sums out;
    for (const Family& one : families)
      for (const RankTree& tree : one.trees) out.emplace(key(tree), &tree);
    return out;
  }

  void answer(const Family& family, std::vector<Fit> ranges, const Sums& sums, AllReduceSearch& out) const {
    const std::vector<Places> places = beginnings_of(family, ranges);
    std::vector<std::size_t> at;
    for (const Places& one : places) at.push_back(one.roundest());
    set_beginnings(regular(places, family.trees.size()).value_or(at), problem_.values, ranges);
    out.name = problem_.ranks > 2 ? family.name : "any";
    out.order.sizes = sizes_of(ranges);
    set_trees(family, ranges, out);
    if (problem_.ranks > 2 && !out.order.ring.empty())
      out.name = fmt::format("ring {}", fmt::join(out.order.ring, " "));
    out.explained = problem_.values;
    for (const Fit& one : ranges) {
      Range range{one.first, one.count, 0};
      for (const auto& [sum, tree] : sums)
        if (sum != key(family.trees[one.tree]) && run_of(*tree, one.first, one.count) == one.count)
          ++range.others;
      out.ranges.push_back(range);
    }
  }

  const AllReduceProblem& problem_;
  RankValues values_;
};

}  // namespace

std::optional<Error> all_reduce_refusal(const AllReduceProblem& p, bool has_d) {
  const auto error = [](std::string seen, std::string accepted) {
    return Error{Errc::usage, "an all-reduce", std::move(seen), std::move(accepted)};
  };
  if (p.format != "f16" && p.format != "bf16" && p.format != "f32" && p.format != "f64")
    return error(fmt::format("'{}'", p.format), "f16, bf16, f32 or f64");
  if (p.ranks == 0 || p.ranks > kMostRanks || p.values == 0)
    return error(fmt::format("{} ranks of {} values", p.ranks, p.values),
                 fmt::format("1 to {} ranks of one value or more", kMostRanks));
  if (p.x.size() / p.values != p.ranks || p.x.size() % p.values != 0)
    return error(fmt::format("{} values of x", p.x.size()), fmt::format("{} x {}", p.ranks, p.values));
  if (has_d && p.d.size() != p.values)
    return error(fmt::format("{} values of D", p.d.size()), fmt::format("{}, as many as a rank has", p.values));
  return std::nullopt;
}

}  // namespace reduction

std::optional<bool> is_all_reduce_mean(std::string_view name) {
  if (name == "all_reduce") return false;
  if (name == "all_reduce_mean") return true;
  return std::nullopt;
}

Result<std::vector<std::uint64_t>> all_reduce(const AllReduceProblem& problem, const AllReduceOrder& order) {
  if (auto error = reduction::all_reduce_refusal(problem, false)) return *std::move(error);
  if (auto error = reduction::all_reduce_refusal(order, problem.ranks)) return *std::move(error);
  const reduction::RankValues values(problem);
  std::vector<std::uint64_t> out;
  for (std::size_t range = 0; out.size() < problem.values; ++range) {
    const RankTree tree = order.tree(range);
    std::size_t left = problem.values - out.size();
    if (!order.sizes.empty()) left = std::min(left, order.sizes[range % order.sizes.size()]);
    while (left != 0) {
      const std::size_t count = std::min(left, reduction::kWindow);
      const std::vector<std::uint64_t> sums = values.sums(tree, out.size(), count);
      out.insert(out.end(), sums.begin(), sums.end());
      left -= count;
    }
  }
  return out;
}

Result<AllReduceSearch> find_all_reduce_order(const AllReduceProblem& problem) {
  if (auto error = reduction::all_reduce_refusal(problem, true)) return *std::move(error);
  return reduction::RankSearch(problem).run();
}

std::string AllReduceSearch::text() const {
  constexpr std::size_t kShown = 8;
  const std::string of = fmt::format("{} values of {} ranks", values, ranks),
                    more = complete ? "" : "not all orders were tried: rings and NCCL's trees\n";
  if (name.empty())
    return fmt::format("none of {} orders explains all {}; value {} is the first that none does\n{}", tried, of,
                       explained, more);
  if (ranks <= 2) return fmt::format("any order explains all {}: a sum of two commutes\n", of);
  std::string out = fmt::format("{} explains all {}, in {} range{}:\n", name, of, ranges.size(),
                                ranges.size() == 1 ? "" : "s");
  std::size_t unclear = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Range& one = ranges[i];
    if (one.others != 0) ++unclear;
    if (i < kShown)
      out += fmt::format("  {} to {}: {}\n", one.first, one.first + one.count - 1, order.tree(i).sum());
  }
  if (ranges.size() > kShown) out += fmt::format("  and {} more\n", ranges.size() - kShown);
  out += fmt::format("order: {}\n", order.text());
  if (unclear != 0)
    out +=
        fmt::format("other orders explain {} of the ranges, too: these data cannot tell them apart\n", unclear);
  return out + more;
}

}  // namespace warpbit
