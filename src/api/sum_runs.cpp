// SPDX-License-Identifier: Apache-2.0
#include "api/sum_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "api/checks.hpp"
#include "api/no_product.hpp"

namespace warpbit {
namespace {

std::size_t divided_up(std::size_t x, std::size_t by) {
  return x / by + (x % by != 0);
}
std::size_t unit_of(const Instruction& i, const SumOrder& order) {
  return order.unit != 0 ? order.unit : static_cast<std::size_t>(i.terms());
}
// With Spread::cut: the units of a run.
std::size_t units_of_cut(const SumOrder& order, std::size_t depth, std::size_t unit) {
  return std::max<std::size_t>(1, divided_up(depth / order.split_k, unit));
}

std::size_t omitted(const SumOrder& order, std::size_t depth) {
  return order.omit == 0 ? depth : depth - depth % order.omit;
}

class RunFinder {
 public:
  RunFinder(const Instruction& instruction, std::size_t depth, const SumOrder& order)
      : i_(instruction),
        order_(order),
        terms_(static_cast<std::size_t>(instruction.terms())),
        whole_(omitted(order, depth)),
        depth_(summed_depth(instruction, depth, order)) {}

  Result<std::vector<SumRun>> run() const {
    if (Result<void> checked = check(); !checked) return checked.error();
    if (order_.spread == Spread::turns) return runs_by_turns();
    std::vector<SumRun> out;
    const std::vector<std::size_t> lengths = order_.runs.empty() ? split() : order_.runs;
    if (is_ascending()) {
      std::size_t first = 0;
      for (const std::size_t length : lengths) {
        out.push_back(run_of(first, first + length));
        first += length;
      }
    } else {
      const Result<std::vector<SumStep>> steps = ordered();
      if (!steps) return steps.error();
      auto first = steps->begin();
      for (const std::size_t length : lengths) {
        const auto last = first + static_cast<std::ptrdiff_t>(divided_up(length, terms_));
        out.push_back({promoted({first, last})});
        first = last;
      }
    }
    if (out.empty()) out.push_back({{{}}});
    return out;
  }

 private:
  bool is_ascending() const { return order_.k_order.empty() && !order_.descending; }

  Error refused(std::string seen, std::string accepted) const {
    return mismatch(i_, std::move(seen), std::move(accepted));
  }

  Result<void> check() const {
    const SumOrder& o = order_;
    if (o.split_k == 0) return refused("split_k is 0", "at least 1");
    if (o.slices == 0 || (o.slices > 1 && o.slice_width == 0))
      return refused(fmt::format("{} slices of {}", o.slices, o.slice_width), "at least 1 slice, with a width");
    const bool is_exchange = o.slice_order != SliceOrder::ascending;
    if (is_exchange && !std::has_single_bit(o.slices))
      return refused(fmt::format("{} slices added in halves or pairs", o.slices), "a power of two");
    if (is_exchange && o.promote != 0)
      return refused("promote with slices added in halves or pairs", "one of them");
    if (o.promote % terms_ != 0)
      return refused(fmt::format("promote is {}", o.promote),
                     fmt::format("a multiple of {}, the depth of the instruction", terms_));
    if (!o.runs.empty()) {
      if (o.split_k != 1 || o.unit != 0 || o.spread != Spread::up)
        return refused("both runs and split_k", "one of them");
      // Without overflow: no length is above what is left.
      std::size_t left = depth_;
      const bool fits = std::ranges::all_of(o.runs, [&](std::size_t length) {
        if (length == 0 || length > left) return false;
        left -= length;
        return true;
      });
      if (!fits || left != 0)
        return refused(fmt::format("runs of {} values", total(o.runs)),
                       fmt::format("lengths above 0 that add up to {}, the depth of K{}", depth_,
                                   o.omit != 0 ? " without what is left out" : ""));
    }
    if (o.spread == Spread::turns && (!is_ascending() || o.short_first != 0))
      return refused(
          is_ascending() ? "short_first with runs by turns" : "runs by turns with steps that do not ascend",
          "one of them");
    return is_ascending() ? Result<void>() : check_whole_steps();
  }
  static std::string total(const std::vector<std::size_t>& runs) {
    std::string out;
    for (const std::size_t length : runs) {
      if (out.size() > 40) return out + " + ...";
      out += fmt::format("{}{}", out.empty() ? "" : " + ", length);
    }
    return out;
  }
  // Runs of steps in another order have whole ones.
  Result<void> check_whole_steps() const {
    if (order_.slices > 1 || order_.short_first != 0)
      return refused(order_.slices > 1 ? "sliced with steps that do not ascend"
                                       : "short_first with steps that do not ascend",
                     "ascending steps");
    if (order_.unit % terms_ != 0)
      return refused(fmt::format("a unit of {} with steps that do not ascend", order_.unit),
                     fmt::format("a multiple of {}, the depth of the instruction", terms_));
    for (std::size_t i = 0; i + 1 < order_.runs.size(); ++i)
      if (order_.runs[i] % terms_ != 0)
        return refused(fmt::format("a run of {} with steps that do not ascend", order_.runs[i]),
                       fmt::format("a multiple of {}, the depth of the instruction", terms_));
    return {};
  }

  // The steps in the order that is given.
  Result<std::vector<SumStep>> ordered() const {
    const std::size_t count = divided_up(depth_, terms_);
    std::vector<std::size_t> numbers = order_.k_order;
    if (order_.descending) {
      if (!numbers.empty()) return refused("both descending and k_order", "one of them");
      numbers.resize(count);
      std::iota(numbers.rbegin(), numbers.rend(), std::size_t{0});
    }
    const std::string accepted = fmt::format("each of the {} steps of K once", count);
    if (numbers.size() != count) return refused(fmt::format("{} steps in k_order", numbers.size()), accepted);
    std::vector<bool> seen(count);
    std::vector<SumStep> out;
    for (const std::size_t step : numbers) {
      if (step >= count || seen[step])
        return refused(fmt::format("step {}{} in k_order", step, step < count ? " twice" : ""), accepted);
      seen[step] = true;
      out.push_back({step * terms_, std::min(terms_, depth_ - step * terms_)});
    }
    return out;
  }

  // The lengths of the runs.
  std::vector<std::size_t> split() const {
    const std::size_t unit = unit_of(i_, order_), units = divided_up(depth_, unit);
    const std::size_t count = std::min(order_.split_k, std::max<std::size_t>(units, 1));
    std::size_t first = 0;
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < count && first < units; ++i) {
      const std::size_t last = std::min(first + units_of(i, units, count), units);
      if (last == first) continue;
      out.push_back(std::min(last * unit, depth_) - first * unit);
      first = last;
    }
    return out;
  }
  std::size_t units_of(std::size_t run, std::size_t units, std::size_t count) const {
    const std::size_t least = units / count, more = units % count;
    switch (order_.spread) {
      case Spread::up: return divided_up(units, order_.split_k);
      case Spread::first: return least + (run < more);
      case Spread::last: return least + (run >= count - more);
      case Spread::down: return run + 1 < count ? least : units;
      case Spread::cut: return units_of_cut(order_, whole_, unit_of(i_, order_));
      case Spread::turns: break;
    }
    return units;
  }

  // ---- A run of ascending values

  SumRun by_slices(std::vector<std::vector<SumStep>> slices) const {
    SumRun out;
    for (std::vector<SumStep>& steps : slices)
      if (!steps.empty()) out.push_back(promoted(std::move(steps)));
    return out;
  }
  std::vector<SumRun> runs_by_turns() const {
    const std::size_t unit = unit_of(i_, order_), units = divided_up(depth_, unit),
                      count = std::min(order_.split_k, units);
    std::vector<SumRun> out;
    for (std::size_t run = 0; run < count; ++run) {
      std::vector<std::vector<SumStep>> slices(order_.slices);
      for (std::size_t i = run; i < units; i += count)
        add_part(i * unit, i * unit + std::min(unit, depth_ - i * unit), slices);
      out.push_back(by_slices(std::move(slices)));
    }
    if (out.empty()) out.push_back({{{}}});
    return out;
  }
  SumRun run_of(std::size_t first, std::size_t last) const {
    std::vector<std::vector<SumStep>> slices(order_.slices);
    const std::size_t shorter = order_.short_first == 0 ? 0 : (last - first) % order_.short_first;
    add_part(first, first + shorter, slices);
    add_part(first + shorter, last, slices);
    return by_slices(std::move(slices));
  }
  // The values of a part to the slices by turns, each turn in steps.
  void add_part(std::size_t first, std::size_t last, std::vector<std::vector<SumStep>>& slices) const {
    const std::size_t width = order_.slices == 1 ? last - first : order_.slice_width;
    for (std::size_t turn = 0; first < last; ++turn) {
      const std::size_t end = first + std::min(width, last - first);
      for (; first < end; first += std::min(terms_, end - first))
        slices[turn % order_.slices].push_back({first, std::min(terms_, end - first)});
    }
  }
  SumSlice promoted(std::vector<SumStep> steps) const {
    const std::size_t each = order_.promote == 0 ? steps.size() : order_.promote / terms_;
    if (each >= steps.size()) return {std::move(steps)};
    SumSlice out;
    for (std::size_t first = 0; first < steps.size(); first += each)
      out.emplace_back(steps.begin() + static_cast<std::ptrdiff_t>(first),
                       steps.begin() + static_cast<std::ptrdiff_t>(std::min(first + each, steps.size())));
    return out;
  }

  const Instruction& i_;
  const SumOrder& order_;
  std::size_t terms_;
  std::size_t whole_, depth_;  // of K, before and after the cut of the runs
};

}  // namespace

std::size_t summed_depth(const Instruction& i, std::size_t given, const SumOrder& order) {
  const std::size_t depth = omitted(order, given), unit = unit_of(i, order);
  if (order.spread != Spread::cut || order.split_k == 0) return depth;
  const std::size_t units = divided_up(depth, unit), summed = units_of_cut(order, depth, unit);
  return summed >= divided_up(units, order.split_k) ? depth : summed * order.split_k * unit;
}

Result<std::vector<SumRun>> find_runs(const Instruction& instruction, std::size_t depth,
                                      const SumOrder& order) {
  if (instruction.terms() == 0)
    return no_product(instruction, "it is no product of matrices", "an instruction D = A B + C");
  return RunFinder(instruction, depth, order).run();
}

}  // namespace warpbit
