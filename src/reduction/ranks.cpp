// SPDX-License-Identifier: Apache-2.0
#include "reduction/ranks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "reduction/problem.hpp"
#include "reduction/tree.hpp"

namespace warpbit::reduction {

RankTree chain(std::span<const int> ring, std::size_t last) {
  RankTree out;
  for (std::size_t i = 1; i <= ring.size(); ++i) {
    RankTree next{ring[(last + i) % ring.size()]};
    if (i > 1) next.from.push_back(std::move(out));
    out = std::move(next);
  }
  return out;
}

namespace {

// ncclGetBtree: a rank whose lowest bit is `bit` has those half of it away below it; rank 0 the highest one.
//
//     0---------------8
//             ______/ \______
//            4               12
//          /   \           /    \      .
//         2     6        10     14
std::vector<int> below(int ranks, int rank) {
  if (rank == 0)
    return ranks == 1 ? std::vector<int>{}
                      : std::vector{static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)) / 2)};
  int half = (rank & -rank) / 2;
  if (half == 0) return {};
  std::vector<int> out{rank - half};
  while (half != 0 && rank + half >= ranks) half /= 2;
  if (half != 0) out.push_back(rank + half);
  return out;
}

template <class Place>
RankTree binary_tree(int ranks, int rank, const Place& place) {
  RankTree out{place(rank)};
  for (const int one : below(ranks, rank)) out.from.push_back(binary_tree(ranks, one, place));
  return out;
}

}  // namespace

// The second one is mirrored, or of an odd number of ranks one further on.
std::vector<RankTree> double_tree(int ranks) {
  return {binary_tree(ranks, 0, [](int rank) { return rank; }), binary_tree(ranks, 0, [&](int rank) {
            return ranks % 2 == 0 ? ranks - 1 - rank : (rank + 1) % ranks;
          })};
}

namespace {

RankTree with_ranks_of_hosts(const RankTree& hosts, int each) {
  std::vector<RankTree> others;
  for (const RankTree& one : hosts.from) others.push_back(with_ranks_of_hosts(one, each));
  const int head = hosts.rank * each;
  RankTree chain{head + each - 1};
  for (int rank = head + each - 2; rank > head; --rank) {
    RankTree next{rank};
    next.from.push_back(std::move(chain));
    chain = std::move(next);
  }
  if (others.size() == 2) {
    chain.from.push_back(std::move(others[0]));
    others.erase(others.begin());
  }
  RankTree out{head};
  out.from.push_back(std::move(chain));
  std::ranges::move(others, std::back_inserter(out.from));
  return out;
}

}  // namespace

std::vector<RankTree> double_tree_of_hosts(int hosts, int each) {
  std::vector<RankTree> out;
  for (const RankTree& one : double_tree(hosts)) out.push_back(with_ranks_of_hosts(one, each));
  return out;
}

namespace {

// Every way to deal ranks to a root and an ordered list of trees below it: the first one, and the rest of the list.
using Forests = std::vector<std::vector<RankTree>>;
std::vector<RankTree> trees_of(unsigned ranks);

Forests forests_of(unsigned ranks) {
  if (ranks == 0) return {{}};
  Forests out;
  for (unsigned first = ranks; first != 0; first = (first - 1) & ranks) {
    const Forests rest = forests_of(ranks & ~first);
    for (const RankTree& tree : trees_of(first))
      for (const std::vector<RankTree>& others : rest) {
        out.push_back({tree});
        out.back().insert(out.back().end(), others.begin(), others.end());
      }
  }
  return out;
}

std::vector<RankTree> trees_of(unsigned ranks) {
  std::vector<RankTree> out;
  for (int root = 0; ranks >> root != 0; ++root)
    if ((ranks >> root & 1) != 0)
      for (std::vector<RankTree>& from : forests_of(ranks & ~(1U << root)))
        out.push_back({root, std::move(from)});
  return out;
}

Tree added(const RankTree& tree, bool is_fused) {
  const auto rank = static_cast<std::uint64_t>(tree.rank);
  Tree out{mix(rank, is_fused && !tree.from.empty() ? 1 : 2) | 1};
  for (const RankTree& one : tree.from) out = out + added(one, is_fused);
  return out;
}

}  // namespace

std::vector<RankTree> all_trees(int ranks) {
  return trees_of((1U << ranks) - 1);
}

// Times a power of two no bit is lost, unless it is a subnormal number's.
std::uint64_t sum_of(const RankTree& tree, bool is_mean, std::size_t ranks) {
  return added(tree, is_mean && !std::has_single_bit(ranks)).node;
}

// ---- Numbers

RankValues::RankValues(const AllReduceProblem& problem)
    : problem_(problem), codec_(*Codec::find(problem.format)), scale_(1) {
  if (problem.is_mean)
    scale_ = rounded(problem.format == "f64" ? 1 / static_cast<double>(problem.ranks)
                                             : double{1 / static_cast<float>(problem.ranks)});
  x_.reserve(problem.x.size());
  for (const std::uint64_t code : problem.x) x_.push_back(codec_.decode(code));
}

double RankValues::rounded(double x) const {
  if (problem_.format == "f64" || std::isnan(x)) return x;
  if (problem_.format == "f32") return double{static_cast<float>(x)};
  return codec_.decode(*codec_.encode(x));
}

// scale * a + c, rounded once. Of 16 bits the product is exact in f64, and an inexact sum is made odd: it is then no tie.
double RankValues::fused(double a, double c) const {
  if (problem_.format == "f64") return std::fma(a, scale_, c);
  if (problem_.format == "f32")
    return double{std::fma(static_cast<float>(a), static_cast<float>(scale_), static_cast<float>(c))};
  const double product = a * scale_, sum = product + c, back = sum - product,
               lost = (product - (sum - back)) + (c - back);
  if (!std::isfinite(sum) || lost == 0 || (std::bit_cast<std::uint64_t>(sum) & 1) != 0) return rounded(sum);
  return rounded(std::nextafter(sum, lost > 0 ? INFINITY : -INFINITY));
}

std::vector<double> RankValues::numbers(const RankTree& tree, std::size_t first, std::size_t count) const {
  const auto own = std::span(x_).subspan(static_cast<std::size_t>(tree.rank) * problem_.values + first, count);
  std::vector<double> out(own.begin(), own.end());
  if (problem_.is_mean && tree.from.empty())
    for (double& one : out) one = rounded(one * scale_);
  for (std::size_t i = 0; i < tree.from.size(); ++i) {
    const std::vector<double> more = numbers(tree.from[i], first, count);
    const bool is_scaled = problem_.is_mean && i == 0;
    for (std::size_t k = 0; k < count; ++k)
      out[k] = is_scaled ? fused(out[k], more[k]) : rounded(out[k] + more[k]);
  }
  return out;
}

std::vector<std::uint64_t> RankValues::sums(const RankTree& tree, std::size_t first, std::size_t count) const {
  return codes_of(numbers(tree, first, count), problem_.format);
}

}  // namespace warpbit::reduction
