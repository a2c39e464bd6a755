// SPDX-License-Identifier: Apache-2.0
// Orders of all-reduces as words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "reduction/ranks.hpp"

namespace warpbit {
namespace {

constexpr SumOrderWord kRankWords[] = {
    {"ring", "0,1,2,3",
     "each rank adds its value to what the one before it has sent; the sum of range k ends at the k-th of them, by turns"},
    {"trees", "0(2(1,3)),3(1(2,0))",
     "a rank adds to its value what those in its parentheses have sent, in their order; range k has the k-th tree, by turns"},
    {"sizes", "5464,5464,5456", "how many values a range has, by turns; one range has all unless given"},
};
constexpr std::size_t kMostRanges = std::size_t{1} << 20;

Error no_rank_order(std::string_view seen, std::string accepted) {
  return {Errc::usage, "the order of an all-reduce", fmt::format("'{}'", seen), std::move(accepted)};
}

/// Reads numbers and trees, from the left.
class RankReader {
 public:
  explicit RankReader(std::string_view text) : text_(text) {}

  template <class Number>
  std::optional<Number> number() {
    Number out = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (error != std::errc{} || out < 0) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return out;
  }
  std::optional<RankTree> tree(std::size_t depth = 0) {
    const std::optional<int> rank = number<int>();
    if (!rank || depth > reduction::kMostRanks) return std::nullopt;
    RankTree out{*rank};
    if (!take('(')) return out;
    do {
      std::optional<RankTree> one = tree(depth + 1);
      if (!one) return std::nullopt;
      out.from.push_back(*std::move(one));
    } while (take(','));
    return take(')') ? std::optional(std::move(out)) : std::nullopt;
  }
  bool take(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool is_done() const { return text_.empty(); }

 private:
  std::string_view text_;
};

// read(reader), as often as there are commas.
template <class Item, class Read>
bool read_list(std::vector<Item>& to, std::string_view text, const Read& read) {
  RankReader reader(text);
  do {
    auto one = read(reader);
    if (!one) return false;
    to.push_back(*std::move(one));
  } while (reader.take(','));
  return reader.is_done();
}

bool set_rank_word(AllReduceOrder& out, std::string_view name, std::string_view value) {
  if (name == "ring") return read_list(out.ring, value, [](RankReader& r) { return r.number<int>(); });
  if (name == "trees") return read_list(out.trees, value, [](RankReader& r) { return r.tree(); });
  return read_list(out.sizes, value, [](RankReader& r) { return r.number<std::size_t>(); });
}

void collect(const RankTree& tree, std::vector<int>& to) {
  to.push_back(tree.rank);
  for (const RankTree& one : tree.from) collect(one, to);
}

// Whether ranks are 0 to n - 1, each once.
bool are_all(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] != static_cast<int>(i)) return false;
  return true;
}

}  // namespace

std::span<const SumOrderWord> all_reduce_words() {
  return kRankWords;
}

std::string RankTree::text() const {
  std::vector<std::string> parts;
  for (const RankTree& one : from) parts.push_back(one.text());
  return parts.empty() ? fmt::format("{}", rank) : fmt::format("{}({})", rank, fmt::join(parts, ","));
}

std::string RankTree::sum() const {
  std::string out = fmt::format("{}", rank);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::string more = from[i].from.empty() ? from[i].sum() : fmt::format("({})", from[i].sum());
    out = i == 0 ? fmt::format("{}+{}", more, out) : fmt::format("({})+{}", out, more);
  }
  return out;
}

RankTree AllReduceOrder::tree(std::size_t range) const {
  return ring.empty() ? trees[range % trees.size()] : reduction::chain(ring, range % ring.size());
}

std::string AllReduceOrder::text() const {
  std::string out = fmt::format("ring={}", fmt::join(ring, ","));
  if (ring.empty()) {
    std::vector<std::string> texts;
    for (const RankTree& one : trees) texts.push_back(one.text());
    out = fmt::format("trees={}", fmt::join(texts, ","));
  }
  return sizes.empty() ? out : fmt::format("{} sizes={}", out, fmt::join(sizes, ","));
}

Result<AllReduceOrder> AllReduceOrder::parse(std::string_view words) {
  AllReduceOrder out;
  std::istringstream in{std::string(words)};
  for (std::string word; in >> word;) {
    const std::size_t equals = word.find('=');
    const auto known = std::ranges::find(kRankWords, word.substr(0, equals), &SumOrderWord::name);
    if (equals == std::string::npos || known == std::end(kRankWords))
      return no_rank_order(word, "words of ring=, trees=, sizes=");
    if (!set_rank_word(out, known->name, std::string_view(word).substr(equals + 1)))
      return no_rank_order(word, fmt::format("{}= with values such as {}", known->name, known->values));
  }
  std::vector<int> ranks;
  if (!out.ring.empty())
    ranks = out.ring;
  else if (!out.trees.empty())
    collect(out.trees[0], ranks);
  if (auto error = reduction::all_reduce_refusal(out, ranks.size())) return *std::move(error);
  return out;
}

std::optional<Error> reduction::all_reduce_refusal(const AllReduceOrder& order, std::size_t ranks) {
  if (order.ring.empty() == order.trees.empty())
    return no_rank_order(order.ring.empty() ? "" : order.text(), "ring= or trees=");
  const auto is_wrong = [&](const std::vector<int>& all) { return all.size() != ranks || !are_all(all); };
  std::vector<std::vector<int>> lists;
  if (!order.ring.empty()) lists.push_back(order.ring);
  for (const RankTree& one : order.trees) collect(one, lists.emplace_back());
  if (ranks > kMostRanks || std::ranges::any_of(lists, is_wrong))
    return no_rank_order(
        order.text(), ranks > kMostRanks
                          ? fmt::format("at most {} ranks", kMostRanks)
                          : fmt::format("each of the ranks 0 to {} once{}", std::max<std::size_t>(ranks, 1) - 1,
                                        order.ring.empty() ? " in each tree" : ""));
  if (order.sizes.size() > kMostRanges || std::ranges::find(order.sizes, 0U) != order.sizes.end())
    return no_rank_order(fmt::format("sizes= with {} numbers", order.sizes.size()),
                         fmt::format("at most {}, none of them 0", kMostRanges));
  return std::nullopt;
}

}  // namespace warpbit
