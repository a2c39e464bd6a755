// SPDX-License-Identifier: Apache-2.0
// Which online orders explain D. What threads add is the same for many of them: sums are made once, and all pairs of a sum of
// e and a sum of e v go through the merge of blocks together.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "reduction/candidates.hpp"
#include "reduction/online.hpp"
#include "reduction/problem.hpp"
#include "threads.hpp"

namespace warpbit::reduction {
namespace {

constexpr int kLoops[] = {128, 64, 32, 256, 512, 16, 1024, 2048, 0};
constexpr int kOnlineThreads[] = {128, 256, 64, 32, 512};
constexpr int kOnlineVectors[] = {1, 2, 4, 8};
constexpr int kValueLanes[] = {8, 4, 16, 2, 32, 1};
constexpr Together kOnlineMerges[] = {Together::ascending, Together::pairs, Together::halves};
constexpr std::size_t kOfExponential = 50;  // additions take as long as one
constexpr std::size_t kMostOnline = 300;    // more fit by chance

/// An order without what is on the way back, and how its exponentials are made.
std::vector<ReductionOrder> splits(const ReductionProblem& problem, const ReductionHints& hints) {
  std::vector<int> blocks{hints.blocks};
  if (hints.blocks == 0) {
    blocks = {1, 2, 4, 8, 3, 5, 6, 7, 16, 12, 10, 24, 32, 64};
  }
  std::vector<ReductionOrder> out;
  for (const int count : blocks)
    for (const int loop : kLoops)
      for (const std::string_view function : {"ex2", "expf"}) {
        const std::size_t run =
            (problem.columns + static_cast<std::size_t>(count) - 1) / static_cast<std::size_t>(count);
        if (static_cast<std::size_t>(count) > problem.columns ||
            (loop != 0 && static_cast<std::size_t>(loop) >= run))
          continue;
        if (loop == 0 && count == 1 && problem.reduction == Reduction::logsumexp) continue;  // not online
        ReductionOrder& order = out.emplace_back();
        order.online = true;
        order.blocks = count;
        order.loop = loop;
        order.function = function;
      }
  return out;
}

using Sums =
    std::map<std::vector<float>, std::vector<ReductionOrder>>;  // of blocks, by the orders that have them

class OnlineSearch {
 public:
  OnlineSearch(const ReductionProblem& problem, const ReductionOptions& options)
      : problem_(problem), options_(options), rows_(problem) {}

  Found run() {
    const std::vector<ReductionOrder> all = splits(problem_, options_.hints);
    std::vector<std::vector<ReductionOrder>> found(all.size());
    for_each_piece(0, all.size(), [&](std::size_t i) {
      if (additions_ < options_.most_additions && found_ < kMostOnline)
        found[i] = tried(all[i]);
      else
        complete_ = false;
    });
    Found out{{}, tried_, complete_, nearest_, nearest_rows_};
    for (const std::vector<ReductionOrder>& some : found)
      out.orders.insert(out.orders.end(), some.begin(), some.end());
    return out;
  }

 private:
  bool has_products() const { return problem_.reduction == Reduction::attention; }

  Sums totals(const Tiles& tiles, const ReductionOrder& split) {
    Sums out;
    const Terms<float> terms{tiles.e};
    for (const int threads : kOnlineThreads)
      for (const int vector : kOnlineVectors) {
        ReductionOrder order = split;
        order.threads = options_.hints.threads != 0 ? options_.hints.threads : threads;
        order.vector = vector;
        if (order_refusal(order) || (options_.hints.threads != 0 && threads != kOnlineThreads[0])) continue;
        const Begun<float> begun = begin(terms, problem_.columns, order);
        additions_ += static_cast<double>(problem_.columns);
        std::set<std::pair<int, int>> trees;
        for (const ReductionOrder& one : endings(order))
          if (!one.shared && one.merge_threads == 0 &&
              trees.insert({static_cast<int>(one.lanes), static_cast<int>(one.warps)}).second)
            out[totals_of(tiles, begun, one)].push_back(one);
      }
    return out;
  }

  // Of the first column, by orders that have their threads in common with `of`.
  Sums products(const Tiles& tiles, const ReductionOrder& of) {
    Sums out;
    if (!has_products()) {
      out[{}].push_back(of);
      return out;
    }
    for (const int lanes : kValueLanes) {
      ReductionOrder order = of;
      order.value_lanes = lanes;
      if (order_refusal(order)) continue;
      out[products_of(tiles, rows_.v(0), order)].push_back(order);
      additions_ += static_cast<double>(problem_.columns);
    }
    return out;
  }

  // Each pair of sums: what is merged, and the orders that it has.
  struct Pairs {
    std::vector<Online> blocks;
    std::vector<std::vector<ReductionOrder>> orders;
  };
  Pairs pairs_of(const Tiles& tiles, const ReductionOrder& split) {
    Pairs out{std::vector<Online>(tiles.greatest.size()), {}};
    std::map<std::array<int, 3>, Sums> known;  // by threads, lanes and warps
    for (const auto& [total, orders] : totals(tiles, split))
      for (const ReductionOrder& order : orders) {
        const std::array key{order.threads, static_cast<int>(order.lanes), static_cast<int>(order.warps)};
        if (!known.contains(key)) known[key] = products(tiles, order);
        for (const auto& [product, with] : known[key]) {
          for (std::size_t block = 0; block < total.size(); ++block) {
            Online& to = out.blocks[block];
            to.function = split.function;
            to.greatest.push_back(tiles.greatest[block]);
            to.total.push_back(total[block]);
            if (has_products()) to.products.push_back(product[block]);
          }
          out.orders.emplace_back();
          for (ReductionOrder one : with) {
            one.vector = order.vector;
            out.orders.back().push_back(one);
          }
        }
      }
    return out;
  }

  std::vector<ReductionOrder> tried(const ReductionOrder& split) {
    std::vector<Tiles> tiles{tiles_of(rows_.x(0), split)};  // of rows, as they are needed
    const Pairs pairs = pairs_of(tiles[0], split);
    std::vector<ReductionOrder> out;
    for (const Variant& variant : row_of(problem_.reduction).variants) {
      if (exponential_of(variant.function) != split.function || has(variant.function, "steps")) continue;
      for (const Together merge : kOnlineMerges) {
        if (split.blocks <= 2 && merge != Together::halves) continue;
        ReductionOrder how = split;
        how.function = variant.function;
        how.merge_order = merge;
        const std::vector<std::uint64_t> got = codes_of(merged(pairs.blocks, how), problem_.d_format);
        additions_ += static_cast<double>(2 * got.size() * pairs.blocks.size() * kOfExponential);
        std::vector<ReductionOrder> fit;
        for (std::size_t i = 0; i < got.size(); ++i) {
          tried_ += pairs.orders[i].size();
          for (ReductionOrder one : pairs.orders[i]) {
            one.function = variant.function;
            one.merge_order = merge;
            if (got[i] == problem_.d[0]) fit.push_back(one);
          }
        }
        keep_explaining(fit, tiles);
        found_ += fit.size();
        out.insert(out.end(), fit.begin(), fit.end());
      }
    }
    return out;
  }

  // Row by row, all orders together; they differ in their threads.
  void keep_explaining(std::vector<ReductionOrder>& orders, std::vector<Tiles>& tiles) {
    const std::size_t each = std::max<std::size_t>(problem_.v_columns, 1);
    for (std::size_t row = 0; row < problem_.rows && !orders.empty(); ++row) {
      if (row == tiles.size()) tiles.push_back(tiles_of(rows_.x(row), orders[0]));
      additions_ += static_cast<double>((orders.size() * each + kOfExponential) * problem_.columns);
      std::vector<Online> blocks;
      for (const ReductionOrder& one : orders) rows_.add_blocks(tiles[row], one, blocks);
      const std::vector<std::uint64_t> got = codes_of(merged(std::move(blocks), orders[0]), problem_.d_format);
      std::vector<ReductionOrder> left;
      for (std::size_t i = 0; i < orders.size(); ++i)
        if (std::ranges::equal(std::span(got).subspan(i * each, each), problem_.d.subspan(row * each, each)))
          left.push_back(orders[i]);
        else
          note_nearest(orders[i], row);
      orders = std::move(left);
    }
  }
  void note_nearest(const ReductionOrder& order, std::size_t rows) {
    const std::scoped_lock lock(mutex_);
    if (rows < nearest_rows_ || (rows == nearest_rows_ && (rows == 0 || order.text() >= nearest_.text())))
      return;
    nearest_ = order;
    nearest_rows_ = rows;
  }

  const ReductionProblem& problem_;
  const ReductionOptions& options_;
  OnlineRows rows_;
  std::atomic<double> additions_ = 0;
  std::atomic<std::size_t> found_ = 0, tried_ = 0;
  std::atomic<bool> complete_ = true;
  std::mutex mutex_;
  ReductionOrder nearest_;
  std::size_t nearest_rows_ = 0;
};

}  // namespace

Found find_online(const ReductionProblem& problem, const ReductionOptions& options) {
  return OnlineSearch(problem, options).run();
}

}  // namespace warpbit::reduction
