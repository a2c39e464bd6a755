// SPDX-License-Identifier: Apache-2.0
#include "reduction/candidates.hpp"

#include <algorithm>
#include <bit>

namespace warpbit::reduction {
namespace {

using Accumulators = ReductionOrder::Accumulators;
using Spread = ReductionOrder::Spread;

/// What a thread does.
struct ThreadShape {
  int vector, unroll;
  Accumulators accumulators;
};
// As kernels are written: Triton's and plain loops, PyTorch's with vectors and with four values at a stride, CUB's.
constexpr ThreadShape kUsual[] = {
    {1, 1, Accumulators::one},  {2, 1, Accumulators::one},  {4, 1, Accumulators::one},
    {8, 1, Accumulators::one},  {4, 1, Accumulators::each}, {8, 1, Accumulators::each},
    {2, 1, Accumulators::each}, {1, 4, Accumulators::each}, {2, 4, Accumulators::each},
    {4, 4, Accumulators::each}, {1, 2, Accumulators::each}, {4, 2, Accumulators::each},
    {1, 8, Accumulators::each}, {4, 1, Accumulators::step}, {8, 1, Accumulators::step}};
/// How threads become one.
struct TreeShape {
  bool shared;
  Together lanes, warps;
};
constexpr TreeShape kTrees[] = {
    // Triton, PyTorch
    {false, Together::halves, Together::halves},
    {true, Together::halves, Together::halves},
    // CUB
    {false, Together::pairs, Together::ascending},
    {false, Together::halves, Together::ascending},
    {true, Together::pairs, Together::halves},
    {false, Together::pairs, Together::halves},
    {false, Together::pairs, Together::pairs},
    {false, Together::halves, Together::pairs},
};
constexpr Together kMerges[] = {Together::halves, Together::ascending, Together::pairs};

bool is_usual(const ReductionOrder& o) {
  return std::ranges::any_of(kUsual, [&](const ThreadShape& one) {
    return one.vector == o.vector && one.unroll == o.unroll && one.accumulators == o.accumulators;
  });
}

}  // namespace

std::size_t rank(const ReductionOrder& o) {
  const auto tree = std::ranges::find_if(kTrees, [&](const TreeShape& one) {
    return one.shared == o.shared && one.lanes == o.lanes && one.warps == o.warps;
  });
  std::size_t out = static_cast<std::size_t>(tree - std::begin(kTrees)) * 2;
  if (!is_usual(o)) out += 40;
  if (o.threads % 32 != 0) out += o.threads == 1 ? 8 : 20;
  if (o.blocks > 1) out += 12 + (std::has_single_bit(static_cast<unsigned>(o.blocks)) ? 0U : 4U);
  if (o.merge_order != Together::halves) out += 6;
  if (o.loop != 0) out += 10;
  return out + (o.vector == 4 || o.unroll == 4 ? 0 : 1);
}

namespace {

std::vector<ThreadShape> all_shapes() {
  std::vector<ThreadShape> out(std::begin(kUsual), std::end(kUsual));
  for (const int vector : {1, 2, 4, 8})
    for (const int unroll : {1, 2, 4, 8})
      for (int how = 0; how <= static_cast<int>(Accumulators::step_pairs); ++how) {
        const auto accumulators = static_cast<Accumulators>(how);
        const int together = vector * unroll;
        const bool in_pairs =
            accumulators == Accumulators::each_pairs || accumulators == Accumulators::step_pairs;
        if (accumulators == Accumulators::one ? unroll != 1 : together < (in_pairs ? 4 : 2)) continue;
        const auto is_same = [&](const ThreadShape& one) {
          return one.vector == vector && one.unroll == unroll && one.accumulators == accumulators;
        };
        if (std::ranges::none_of(out, is_same)) out.push_back({vector, unroll, accumulators});
      }
  return out;
}

ReductionOrder with(const ThreadShape& shape, int threads) {
  ReductionOrder out;
  out.threads = threads;
  out.vector = shape.vector;
  out.unroll = shape.unroll;
  out.accumulators = shape.accumulators;
  return out;
}

/// What threads do, in all the ways that are tried.
class Beginnings {
 public:
  Beginnings(std::size_t columns, const ReductionHints& hints) : columns_(columns), hints_(hints) {
    if (hints.blocks <= 1) {
      for (const ThreadShape& shape : all_shapes())
        for (const int threads : thread_counts(1)) add(with(shape, threads));
      for (const ThreadShape& shape : kUsual)
        for (const int threads : thread_counts(32)) add_loops(with(shape, threads));
    }
    for (const int blocks : block_counts())
      for (const ThreadShape& shape : kUsual)
        for (const int threads : thread_counts(4))
          for (const Spread spread : {Spread::up, Spread::turns}) {
            ReductionOrder order = with(shape, threads);
            order.blocks = blocks;
            order.spread = spread;
            add(order);
          }
  }
  std::vector<ReductionOrder> all;

 private:
  std::vector<int> thread_counts(int least) const {
    if (hints_.threads > 0) return {hints_.threads};
    std::vector<int> out;
    for (const int one : {128, 256, 512, 32, 64, 1024, 1, 2, 4, 8, 16})
      if (one >= least) out.push_back(one);
    return out;
  }
  std::vector<int> block_counts() const {
    if (hints_.blocks > 0) return hints_.blocks == 1 ? std::vector<int>{} : std::vector{hints_.blocks};
    std::vector<int> out = {2, 4, 8, 16, 32, 64, 128, 132, 264};
    for (int i = 3; i <= 264; ++i)
      if (std::ranges::find(out, i) == out.end()) out.push_back(i);
    return out;
  }
  // More threads than values do no more than fewer threads.
  void add(const ReductionOrder& order) {
    const auto step = static_cast<std::size_t>(order.threads) * static_cast<std::size_t>(order.blocks);
    const auto values = static_cast<std::size_t>(order.vector * order.unroll);
    if (hints_.threads == 0 && step * values >= 2 * std::max<std::size_t>(columns_, 32) && order.threads > 1)
      return;
    if (static_cast<std::size_t>(order.blocks) > columns_ && order.blocks > 1) return;
    all.push_back(order);
  }
  void add_loops(ReductionOrder order) {
    const auto step = static_cast<std::size_t>(order.threads * order.vector * order.unroll);
    for (std::size_t loop = step; loop < columns_ && loop <= 16 * step; loop *= 2) {
      order.loop = static_cast<int>(loop);
      add(order);
    }
  }

  std::size_t columns_;
  ReductionHints hints_;
};

}  // namespace

std::vector<ReductionOrder> beginnings(std::size_t columns, const ReductionHints& hints) {
  return Beginnings(columns, hints).all;
}

std::vector<ReductionOrder> endings(const ReductionOrder& begun) {
  std::vector<ReductionOrder> out;
  for (const TreeShape& tree : kTrees) {
    if (begun.threads <= 32 && (tree.shared || tree.warps != Together::halves)) continue;
    if (begun.threads <= 2 && tree.lanes != Together::halves) continue;
    for (const Together merge : kMerges) {
      if (begun.blocks <= 2 && merge != Together::halves) continue;
      ReductionOrder order = begun;
      order.shared = tree.shared;
      order.lanes = tree.lanes;
      order.warps = tree.warps;
      order.merge_order = merge;
      out.push_back(order);
      if (merge != Together::halves || begun.blocks <= begun.threads) continue;
      order.merge_threads = begun.threads;
      out.push_back(order);
    }
  }
  return out;
}

}  // namespace warpbit::reduction
