// SPDX-License-Identifier: Apache-2.0
// A sum in an order: of numbers, or of Tree, which remembers what was added to what.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "warpbit/inputs.hpp"
#include "warpbit/reduction.hpp"

namespace warpbit::reduction {

using inputs::mix;

/// A node of a tree of sums; equal trees have equal numbers, and in all likelihood no others do. Addition commutes.
struct Tree {
  std::uint64_t node = 0;  ///< 0: nothing was added
};
inline Tree operator+(Tree a, Tree b) {
  if (a.node == 0 || b.node == 0) return {a.node | b.node};
  const auto [low, high] = std::minmax(a.node, b.node);
  return {mix(low, high) | 1};
}

/// Adds in halves, each with the one a power of two further on, until at most so many are left: how many that are.
template <class Value>
std::size_t add_halves(std::span<Value> of, std::size_t left) {
  std::size_t n = of.size();
  for (std::size_t half = std::bit_ceil(n) / 2; half >= left; half /= 2) {
    for (std::size_t i = 0; i + half < n; ++i) of[i] = of[i] + of[i + half];
    n = std::min(n, half);
  }
  return n;
}

/// Adds all to the first one.
template <class Value>
Value add_together(std::span<Value> of, Together how) {
  std::size_t n = of.size();
  if (how == Together::halves) {
    add_halves(of, 1);
  } else if (how == Together::ascending) {
    for (std::size_t i = 1; i < n; ++i) of[0] = of[0] + of[i];
  } else {
    for (; n > 1; n = (n + 1) / 2)
      for (std::size_t i = 0; i < n; i += 2) of[i / 2] = i + 1 < n ? of[i] + of[i + 1] : of[i];
  }
  return of.empty() ? Value{} : of[0];
}

/// The sums of threads become one: `threads` is used up.
template <class Value>
Value add_threads(std::span<Value> threads, const ReductionOrder& order) {
  constexpr std::size_t kLanes = 32;
  const std::size_t n = order.shared ? add_halves(threads, kLanes) : threads.size();
  std::size_t warps = 0;
  for (std::size_t i = 0; i < n; i += kLanes)
    threads[warps++] = add_together(threads.subspan(i, std::min(kLanes, n - i)), order.lanes);
  return add_together(threads.first(warps), order.warps);
}

/// What threads add up of the values [first, last). A source has add(Value sum, std::size_t i) and value(std::size_t i).
template <class Source>
class ThreadSums {
 public:
  using Value = typename Source::Value;
  using Accumulators = ReductionOrder::Accumulators;

  ThreadSums(const Source& source, const ReductionOrder& order, std::size_t threads)
      : source_(source),
        how_(order.accumulators),
        threads_(threads),
        vector_(static_cast<std::size_t>(order.vector)),
        in_step_(static_cast<std::size_t>(order.vector) * static_cast<std::size_t>(order.unroll)) {}

  std::vector<Value> of(std::size_t first, std::size_t last) {
    const bool has_each = how_ == Accumulators::each || how_ == Accumulators::each_pairs;
    std::vector<Value> sums(has_each ? threads_ * in_step_ : threads_);
    for (std::size_t step = first; step < last; step += threads_ * in_step_) {
      const std::size_t end = std::min(last, step + threads_ * in_step_);
      if (has_each)
        for (std::size_t i = step; i < end; ++i) sums[i - step] = source_.add(sums[i - step], i);
      else if (how_ == Accumulators::one)
        for (std::size_t i = step; i < end; ++i) add_to(sums[(i - step) / vector_ % threads_], i);
      else
        add_steps(sums, step, end);
    }
    return has_each ? combined(sums) : sums;
  }

 private:
  void add_to(Value& sum, std::size_t i) const { sum = source_.add(sum, i); }
  // The place in a step of a thread's k-th value.
  std::size_t place(std::size_t thread, std::size_t k) const {
    return (k / vector_ * threads_ + thread) * vector_ + k % vector_;
  }
  void add_steps(std::vector<Value>& sums, std::size_t step, std::size_t end) {
    const Together how = how_ == Accumulators::step ? Together::ascending : Together::pairs;
    for (std::size_t thread = 0; thread < threads_; ++thread) {
      parts_.clear();
      for (std::size_t k = 0; k < in_step_; ++k)
        if (const std::size_t i = step + place(thread, k); i < end) parts_.push_back(source_.value(i));
      if (!parts_.empty()) sums[thread] = sums[thread] + add_together(std::span(parts_), how);
    }
  }
  std::vector<Value> combined(const std::vector<Value>& sums) {
    const Together how = how_ == Accumulators::each ? Together::ascending : Together::pairs;
    std::vector<Value> out(threads_);
    for (std::size_t thread = 0; thread < threads_; ++thread) {
      parts_.clear();
      for (std::size_t k = 0; k < in_step_; ++k) parts_.push_back(sums[place(thread, k)]);
      out[thread] = add_together(std::span(parts_), how);
    }
    return out;
  }

  const Source& source_;
  Accumulators how_;
  std::size_t threads_, vector_, in_step_;
  std::vector<Value> parts_;
};

/// Values [first, last) that a block sums to one before it goes on.
struct BlockPart {
  std::size_t first, last, block;
};
/// Of runs of a block each (Spread::up), in their order.
inline std::vector<BlockPart> parts_of(std::size_t n, const ReductionOrder& order) {
  const auto blocks = static_cast<std::size_t>(order.blocks);
  const std::size_t run = (n + blocks - 1) / blocks,
                    loop = order.loop == 0 ? run : static_cast<std::size_t>(order.loop);
  std::vector<BlockPart> out;
  for (std::size_t block = 0; block < blocks; ++block)
    for (std::size_t at = block * run, end = std::min(n, at + run); at < end; at += loop)
      out.push_back({at, std::min(end, at + loop), block});
  return out;
}

/// What threads have added up: their sums, part after part, and of each part the block that it belongs to.
template <class Value>
struct Begun {
  std::vector<Value> threads;
  std::vector<std::size_t> block;  // by part
};

/// The first half of an order, which takes the time; `finish` is the second.
template <class Source>
Begun<typename Source::Value> begin(const Source& source, std::size_t n, const ReductionOrder& order) {
  const auto blocks = static_cast<std::size_t>(order.blocks), threads = static_cast<std::size_t>(order.threads);
  Begun<typename Source::Value> out;
  if (order.spread == ReductionOrder::Spread::turns) {
    out.threads = ThreadSums<Source>(source, order, blocks * threads).of(0, n);
    for (std::size_t block = 0; block < blocks; ++block) out.block.push_back(block);
    return out;
  }
  ThreadSums<Source> sums(source, order, threads);
  for (const BlockPart& part : parts_of(n, order)) {
    const auto of = sums.of(part.first, part.last);
    out.threads.insert(out.threads.end(), of.begin(), of.end());
    out.block.push_back(part.block);
  }
  return out;
}

/// The sum. `threads` is used up.
template <class Value>
Value finish(Begun<Value> begun, const ReductionOrder& order) {
  const auto of_block = static_cast<std::size_t>(order.threads);
  std::vector<Value> sums(static_cast<std::size_t>(order.blocks));
  for (std::size_t part = 0; part < begun.block.size(); ++part) {
    Value& sum = sums[begun.block[part]];
    const Value more = add_threads(std::span(begun.threads).subspan(part * of_block, of_block), order);
    sum = part == 0 || begun.block[part] != begun.block[part - 1] ? more : sum + more;
  }
  const auto mergers = static_cast<std::size_t>(order.merge_threads);
  for (std::size_t i = mergers; mergers != 0 && i < sums.size(); ++i)
    sums[i % mergers] = sums[i % mergers] + sums[i];
  const std::size_t left = mergers == 0 ? sums.size() : std::min(mergers, sums.size());
  return add_together(std::span(sums).first(left), order.merge_order);
}

}  // namespace warpbit::reduction
