// SPDX-License-Identifier: Apache-2.0
#include "order/hypotheses.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace warpbit::order {
namespace {

constexpr std::size_t kMostRuns = 128;
constexpr std::size_t kUnits[] = {0, 64, 32, 128, 16, 256, 8, 4, 512, 1};
constexpr Spread kSpreads[] = {Spread::up, Spread::last, Spread::first, Spread::cut, Spread::down};
constexpr std::size_t kResidues[] = {32, 64, 16, 128, 8, 256};
constexpr std::size_t kPromotions[] = {128, 64, 32, 256, 512, 16, 1024};
constexpr std::size_t kWidths[] = {32, 16, 64, 8, 128};
constexpr std::size_t kOmitted[] = {64, 32, 128, 16, 8, 256};
constexpr MergeOrder kMergeOrders[] = {MergeOrder::ascending, MergeOrder::tree, MergeOrder::descending,
                                       MergeOrder::pairs, MergeOrder::halves};
// Of chains: the lanes of a sum, how many neighbours each takes, and the blocks of K of libraries for processors.
constexpr std::size_t kLanes[] = {32, 16, 8, 4, 2, 64, 128, 256}, kNeighbours[] = {1, 2, 4, 64, 8, 16, 32};
constexpr std::size_t kMostThreads = 128, kThreadBlocks[] = {16, 31, 32, 64};
constexpr std::size_t kBlocks[] = {384, 256, 320, 192, 352, 512, 240, 448, 640, 768, 1024};

/// Whether an order has all words of another one that hypotheses change.
template <class... Members>
bool has_words(const SumOrder& order, const SumOrder& of, Members... members) {
  const SumOrder plain;
  return ((of.*members == plain.*members || order.*members == of.*members) && ...);
}
bool has_words(const SumOrder& order, const SumOrder& of) {
  using O = SumOrder;
  return has_words(order, of, &O::descending, &O::omit, &O::tf32, &O::split_k, &O::unit, &O::spread, &O::runs,
                   &O::short_first, &O::slices, &O::slice_width, &O::slice_order, &O::promote,
                   &O::promote_format, &O::partials, &O::merge, &O::merge_order);
}

class Collection {
 public:
  Collection(const Question& question, int level, const std::function<bool(const SumOrder&)>& visit)
      : q_(question), level_(level), visit_(visit) {}

  void run() {
    switch (level_) {
      case 0:
        simple();
        if (is_chain()) lanes(), blocks(), pairwise();
        break;
      case 1: splits({{}}); break;
      case 2: slices(); break;
      case 3: splits(extras(1)); break;
      default: splits(extras(2)); two_runs();
    }
  }

 private:
  using Lengths = std::vector<std::size_t>;
  using Change = std::function<void(SumOrder&)>;
  using Changes = std::vector<std::vector<Change>>;

  bool is_chain() const { return q_.terms == 1; }
  std::size_t units(std::size_t unit) const { return (q_.depth + unit - 1) / unit; }

  // ---- Changes of what a run is

  std::vector<std::pair<int, Change>> changes() const {
    std::vector<std::pair<int, Change>> out;
    for (const std::size_t n : kResidues)
      if (!is_chain() && (q_.depth % n != 0 || n > q_.terms))
        out.emplace_back(0, [n](SumOrder& o) { o.short_first = n; });
    if (q_.is_number)
      for (const std::size_t n : kPromotions)
        if (n % q_.terms == 0 && n < q_.depth) out.emplace_back(1, [n](SumOrder& o) { o.promote = n; });
    for (const std::size_t n : kOmitted)
      if (q_.depth % n != 0 && n < q_.depth) out.emplace_back(2, [n](SumOrder& o) { o.omit = n; });
    out.emplace_back(3, [](SumOrder& o) { o.descending = true; });
    if (q_.rounds_tf32)
      for (const Tf32Rounding r : {Tf32Rounding::cut, Tf32Rounding::nearest_away})
        out.emplace_back(4, [r](SumOrder& o) { o.tf32 = r; });
    return out;
  }
  // Sets of so many changes of different kinds.
  Changes extras(int count) const {
    const auto all = changes();
    Changes out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (count == 1) out.push_back({all[i].second});
      for (std::size_t k = i + 1; count == 2 && k < all.size(); ++k)
        if (all[i].first != all[k].first) out.push_back({all[i].second, all[k].second});
    }
    return out;
  }

  // ---- Partitions

  void simple() {
    merges(1, q_.begin);
    for (const std::vector<Change>& change : extras(1)) {
      SumOrder order = q_.begin;
      for (const Change& c : change) c(order);
      // The same steps as without: the part that comes first is whole steps, or all of K; one step alone.
      const bool is_twin = (order.short_first != 0 &&
                            (order.short_first >= q_.depth || q_.depth % order.short_first % q_.terms == 0)) ||
                           (order.descending && q_.depth <= q_.terms);
      if (!is_twin) merges(1, order);
    }
  }

  // The lengths of runs, to see which words mean the same.
  Lengths lengths(std::size_t unit, std::size_t runs, Spread spread) const {
    const std::size_t n = units(unit), least = n / runs, more = n % runs;
    Lengths out;
    std::size_t first = 0;
    const std::size_t cut = std::max<std::size_t>(1, (q_.depth / runs + unit - 1) / unit);
    for (std::size_t i = 0; i < runs; ++i) {
      const std::size_t each = spread == Spread::up      ? (n + runs - 1) / runs
                               : spread == Spread::first ? least + (i < more)
                               : spread == Spread::last  ? least + (i >= runs - more)
                               : spread == Spread::cut   ? cut
                                                         : (i + 1 < runs ? least : n);
      const std::size_t last = std::min(first + each, n);
      if (last > first) out.push_back(std::min(last * unit, q_.depth) - first * unit);
      first = last;
    }
    return out;
  }

  void splits(const Changes& sets) {
    std::set<Lengths> seen;
    for (std::size_t runs = 2; runs <= std::min(kMostRuns, units(1)); ++runs)
      for (const std::size_t given : kUnits)
        for (const Spread spread : kSpreads) {
          const std::size_t unit = given == 0 ? q_.terms : given;
          if (given == q_.terms || units(unit) < 2 || units(unit) < runs) continue;
          Lengths partition = lengths(unit, runs, spread);
          const std::size_t count = partition.size();
          if (count < 2 || !seen.insert(std::move(partition)).second) continue;
          if (!goes_on_) return;
          for (const std::vector<Change>& set : sets) {
            SumOrder order = q_.begin;
            order.split_k = runs;
            order.unit = given;
            order.spread = spread;
            for (const Change& change : set) change(order);
            if (order.descending && (order.short_first != 0 || unit % q_.terms != 0)) continue;
            merges(count, order);
          }
        }
  }

  // Accumulators by turns.
  void slices() {
    for (std::size_t count = 2; count <= 32 && goes_on_; ++count)
      for (const std::size_t width : kWidths) {
        if (count * width >= 2 * q_.depth || width >= q_.depth) continue;
        SumOrder order = q_.begin;
        order.slices = count;
        order.slice_width = width;
        merges(1, order);
        for (const std::size_t n : kResidues) {
          if (q_.depth % n == 0) continue;
          order.short_first = n;
          merges(1, order);
        }
        order.short_first = 0;
        if (count > 4) continue;
        for (std::size_t runs = 2; runs <= 16; ++runs)
          for (const std::size_t unit : {std::size_t{0}, count * width}) {
            order.split_k = runs;
            order.unit = unit;
            if (units(unit == 0 ? q_.terms : unit) >= runs) merges(runs, order);
          }
        order.split_k = 1;
        order.unit = 0;
      }
  }

  // Threads that share a sum, and blocks of such threads.
  void lanes() {
    for (const std::size_t count : kLanes) {
      std::set<std::size_t> widths;
      const auto with = [&](std::size_t width) {
        if (width >= q_.depth || !widths.insert(width).second) return;
        SumOrder order = q_.begin;
        order.slices = count;
        order.slice_width = width;
        if (count > 2) order.slice_order = SliceOrder::halves;
        if (count > kMostThreads) order.slice_order = SliceOrder::pair_halves;
        put(order);
        order.unit = count * width;
        order.split_k = units(order.unit);
        if (order.split_k == 1) return;
        for (const MergeOrder by : {MergeOrder::ascending, MergeOrder::fours}) {
          order.merge_order = by;
          if (by == MergeOrder::ascending || order.split_k > 4) put(order);
        }
        order.spread = Spread::turns;  // of more runs than blocks, in fours
        const std::size_t runs = order.split_k;
        for (const std::size_t blocks : kThreadBlocks)
          if (order.split_k = blocks; count >= kMostThreads && blocks < runs) put(order);
      };
      with(units(count));
      for (const std::size_t width : kNeighbours) with(width);
    }
  }

  // Runs of a block each; what is left, of more than one, in two halves (OpenBLAS), or as it is.
  void blocks() {
    std::set<Lengths> seen;
    for (const std::size_t block : kBlocks)
      for (const std::size_t unroll : {std::size_t{0}, std::size_t{4}, std::size_t{8}, std::size_t{16}}) {
        SumOrder order = q_.begin;
        for (std::size_t left = q_.depth; left != 0; left -= order.runs.back()) {
          const bool halves = unroll != 0 && left > block && left < 2 * block;
          order.runs.push_back(halves ? (left / 2 + unroll - 1) / unroll * unroll : std::min(left, block));
        }
        if (order.runs.size() > 1 && seen.insert(order.runs).second) put(order);
      }
  }

  // NumPy's sum: eight accumulators, and halves of what has more than 128 values, as multiples of 8.
  void pairwise() {
    std::vector<std::size_t> runs{q_.depth};
    while (runs[0] > 128) {
      std::vector<std::size_t> halves;
      for (const std::size_t run : runs) {
        const std::size_t half = run / 2 / 8 * 8;
        halves.insert(halves.end(), {half, run - half});
      }
      runs = std::move(halves);
    }
    SumOrder order = q_.begin;
    order.slices = 8;
    order.slice_width = 1;
    order.slice_order = SliceOrder::pairs;
    order.merge_order = runs.size() > 2 ? MergeOrder::pairs : order.merge_order;
    const bool are_even = std::ranges::adjacent_find(runs, std::not_equal_to()) == runs.end();
    if (are_even)
      order.split_k = runs.size(), order.unit = runs.size() > 1 ? 8 : 0;
    else
      order.runs = runs;
    if (q_.depth % 8 == 0 && q_.depth >= 16 && std::ranges::max(runs) <= 128) put(order);
  }

  // One cut at any step.
  void two_runs() {
    const std::size_t step = std::min<std::size_t>(q_.terms, 8);
    for (std::size_t at = step; at < q_.depth && goes_on_; at += step) {
      SumOrder order = q_.begin;
      order.runs = {at, q_.depth - at};
      merges(2, order);
    }
  }

  // ---- What follows the runs

  void merges(std::size_t runs, const SumOrder& order) {
    put(order);
    if (!q_.is_number || runs == 1) return;
    const bool is_narrow = order.store == "f16" || order.store == "bf16";
    for (const std::string& partials : narrow(is_narrow, order.store))
      for (const std::string& merge : narrow(is_narrow, order.store))
        for (const MergeOrder by : kMergeOrders) {
          const bool is_first = partials.empty() && merge.empty() && by == MergeOrder::ascending;
          // Of two sums the order counts only where the first one is rounded.
          const bool is_twin =
              (runs == 2 && by != MergeOrder::ascending &&
               (by != MergeOrder::descending || merge.empty() || !partials.empty())) ||
              (runs == 3 && (by == MergeOrder::pairs || (by == MergeOrder::tree && merge.empty())));
          if (is_first || is_twin) continue;
          SumOrder other = order;
          other.partials = partials;
          other.merge = merge;
          other.merge_order = by;
          put(other);
        }
  }
  void put(const SumOrder& order) {
    const bool is_again = order == q_.begin && std::exchange(has_begun_, true);
    if (goes_on_ && !is_again && has_words(order, q_.given)) goes_on_ = visit_(order);
  }
  static std::vector<std::string> narrow(bool is_narrow, const std::string& store) {
    return is_narrow ? std::vector<std::string>{"", store} : std::vector<std::string>{""};
  }

  const Question& q_;
  int level_;
  const std::function<bool(const SumOrder&)>& visit_;
  bool goes_on_ = true, has_begun_ = false;  // with q_.begin
};

}  // namespace

bool are_narrower(const SumOrder& given) {
  return !has_words(SumOrder(), given);
}

void for_each_hypothesis(const Question& question, int level,
                         const std::function<bool(const SumOrder&)>& visit) {
  Collection(question, level, visit).run();
}

}  // namespace warpbit::order
