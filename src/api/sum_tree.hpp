// SPDX-License-Identifier: Apache-2.0
// The additions and roundings that an order asks for, whatever a sum is: codes, matrices, explanations, or the tree itself.
//
//     chain   chain        steps of the instruction, from C or +0
//       \     /
//      promotions          into an outer accumulator
//           |
//        slices            of a run
//           |
//         runs -> merge    in the format of the merge
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "api/merged_runs.hpp"
#include "api/sum_runs.hpp"
#include "numeric/formats.hpp"
#include "warpbit/gemm.hpp"

namespace warpbit {

/// The formats of a sum on its way to D.
struct SumFormats {
  const Format *accumulated = nullptr, *promoted = nullptr, *partials = nullptr, *merged = nullptr,
               *stored = nullptr;
};
/// Errors: view_mismatch, for formats that do not fit the instruction.
#pragma GCC visibility push(default)  // warpbit's other libraries use it
Result<SumFormats> find_sum_formats(const Instruction& instruction, const SumOrder& order,
                                    bool has_bias = false);
#pragma GCC visibility pop

/// The sum of all runs, in the format of the merge. Operations:
///     chain(steps, from_c)            what accumulators end in that start at C or +0
///     outer(from_c)                   what outer accumulators of promotions start at
///     promoted(outer, inner, number)  a promotion, numbered in the order of K
///     added(x, y, format)             x + y
///     converted(x, format)            x, rounded to the format if it has another
template <class Operations>
class SumTree {
 public:
  SumTree(const SumOrder& order, const SumFormats& formats, std::span<const SumRun> runs,
          Operations& operations)
      : order_(order), formats_(formats), runs_(runs), do_(operations) {}

  auto sum() {
    return do_.converted(RunMerge(
                             runs_.size(), [this](std::size_t run) { return run_sum(run); },
                             [this](auto x) { return do_.converted(std::move(x), *formats_.merged); },
                             [this](auto x, const auto& y) {
                               return do_.added(std::move(x), y, *formats_.merged);
                             })(order_.merge_order),
                         *formats_.merged);
  }

 private:
  auto run_sum(std::size_t run) {
    const Format& of_slices = order_.promote == 0 ? *formats_.accumulated : *formats_.promoted;
    promotion_ = 0;
    for (const SumRun& before : runs_.first(run))
      for (const SumSlice& slice : before) promotion_ += slice.size();
    const bool from_c = run == 0 && !order_.c_last;
    return do_.converted(merged_slices(
                             order_, runs_[run].size(),
                             [&](std::size_t i) { return slice_sum(runs_[run][i], from_c && i == 0); },
                             [&](auto x, const auto& y) { return do_.added(std::move(x), y, of_slices); }),
                         *formats_.partials);
  }
  auto slice_sum(const SumSlice& blocks, bool from_c) {
    if (order_.promote == 0) return do_.chain(blocks[0], from_c);
    auto outer = do_.outer(from_c);
    for (const SumBlock& block : blocks)
      outer = do_.promoted(std::move(outer), do_.chain(block, false), promotion_++);
    return outer;
  }

  const SumOrder& order_;
  const SumFormats& formats_;
  std::span<const SumRun> runs_;
  Operations& do_;
  std::size_t promotion_ = 0;  // the number of the next one
};

}  // namespace warpbit
