// SPDX-License-Identifier: Apache-2.0
// In which order the sums of runs are added (MergeOrder), whatever a sum is.
#pragma once

#include <cstddef>
#include <utility>

#include "warpbit/gemm.hpp"

namespace warpbit {

/// The sums of `count` runs as one, count >= 1: run(i) gives one of them, rounded(x) has the format of the running sum, as
/// has add(x, y). A sum of one run alone is not rounded by pairs, halves and tree.
template <class Run, class Rounded, class Add>
class RunMerge {
 public:
  RunMerge(std::size_t count, Run run, Rounded rounded, Add add)
      : count_(count), run_(std::move(run)), rounded_(std::move(rounded)), add_(std::move(add)) {}

  auto operator()(MergeOrder by) {
    switch (by) {
      case MergeOrder::ascending: return in_turn(0, 1);
      case MergeOrder::descending: return in_turn(count_ - 1, -1);
      case MergeOrder::tree: return tree(0, count_);
      case MergeOrder::fours: return fours();
      default: return level(levels(), 0, by == MergeOrder::halves);
    }
  }

 private:
  using Sum = decltype(std::declval<Run&>()(std::size_t{}));

  Sum in_turn(std::size_t at, std::ptrdiff_t next) {
    Sum out = rounded_(run_(at));
    for (std::size_t i = 1; i < count_; ++i) {
      at += static_cast<std::size_t>(next);
      out = add_(std::move(out), run_(at));
    }
    return out;
  }
  Sum tree(std::size_t first, std::size_t last) {
    if (last - first == 1) return run_(first);
    const std::size_t middle = first + (last - first) / 2;
    Sum out = tree(first, middle);
    return add_(std::move(out), tree(middle, last));
  }
  Sum by_turns(std::size_t first) {
    Sum out = rounded_(run_(first));
    for (std::size_t i = first + 4; i < count_; i += 4) out = add_(std::move(out), run_(i));
    return out;
  }
  Sum fours() {
    Sum out = by_turns(0);
    for (std::size_t first = 1; first < 4 && first < count_; ++first)
      out = add_(std::move(out), by_turns(first));
    return out;
  }
  // How many sums are left after so many levels of pairs or halves: half of them each time, rounded up.
  std::size_t left_after(int level) const { return (count_ + (std::size_t{1} << level) - 1) >> level; }
  int levels() const {
    int out = 0;
    while (left_after(out) > 1) ++out;
    return out;
  }
  // Sum `i` of a level: of its neighbours one level before, or of two that are half of them apart.
  Sum level(int number, std::size_t i, bool halves) {
    if (number == 0) return run_(i);
    const std::size_t left = halves ? i : 2 * i, right = halves ? i + left_after(number) : 2 * i + 1;
    Sum out = level(number - 1, left, halves);
    if (right >= left_after(number - 1)) return out;
    return add_(std::move(out), level(number - 1, right, halves));
  }

  std::size_t count_;
  Run run_;
  Rounded rounded_;
  Add add_;
};

/// Sums 0 ... count - 1 of a power of two of `lanes`, the others having no values: those that are `distance` apart, from
/// `first` on.
///
///     ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7))
template <class Lane, class Add>
auto exchanged(std::size_t lanes, std::size_t count, const Lane& lane, const Add& add, std::size_t first = 0,
               std::size_t distance = 1) -> decltype(lane(first)) {
  if (distance >= lanes) return lane(first);
  auto out = exchanged(lanes, count, lane, add, first, 2 * distance);
  if (first + distance >= count) return out;
  return add(std::move(out), exchanged(lanes, count, lane, add, first + distance, 2 * distance));
}

/// The same, neighbours first.
template <class Lane, class Add>
auto paired(std::size_t lanes, std::size_t count, const Lane& lane, const Add& add, std::size_t first = 0)
    -> decltype(lane(first)) {
  if (lanes == 1) return lane(first);
  auto out = paired(lanes / 2, count, lane, add, first);
  if (first + lanes / 2 >= count) return out;
  return add(std::move(out), paired(lanes / 2, count, lane, add, first + lanes / 2));
}

/// The sums of the `count` slices that have values as one, count >= 1: slice(i) gives one of them, add(x, y) a sum.
template <class Slice, class Add>
auto merged_slices(const SumOrder& order, std::size_t count, const Slice& slice, const Add& add)
    -> decltype(slice(count)) {
  if (order.slice_order == SliceOrder::halves) return exchanged(order.slices, count, slice, add);
  if (order.slice_order == SliceOrder::pairs) return paired(order.slices, count, slice, add);
  if (order.slice_order == SliceOrder::pair_halves)
    return exchanged(
        order.slices / 2, (count + 1) / 2,
        [&](std::size_t i) {
          auto out = slice(2 * i);
          return 2 * i + 1 < count ? add(std::move(out), slice(2 * i + 1)) : out;
        },
        add);
  auto out = slice(0);
  for (std::size_t i = 1; i < count; ++i) out = add(std::move(out), slice(i));
  return out;
}

}  // namespace warpbit
