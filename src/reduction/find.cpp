// SPDX-License-Identifier: Apache-2.0
// Which orders explain D: all are tried on the first row, those that fit on the others. Likely ones come first in the answer:
// those that libraries' kernels are known to have.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "reduction/problem.hpp"
#include "reduction/tree.hpp"
#include "threads.hpp"

namespace warpbit {
namespace reduction {
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

// Less is more likely: what libraries have, one block to a row, loads of 16 bytes.
std::size_t rank(const ReductionOrder& o) {
  const auto tree = std::ranges::find_if(kTrees, [&](const TreeShape& one) {
    return one.shared == o.shared && one.lanes == o.lanes && one.warps == o.warps;
  });
  std::size_t out = static_cast<std::size_t>(tree - std::begin(kTrees)) * 2;
  if (!is_usual(o)) out += 40;
  if (o.threads % 32 != 0) out += o.threads == 1 ? 8 : 20;
  if (o.blocks > 1) out += 12 + (std::has_single_bit(static_cast<unsigned>(o.blocks)) ? 0 : 4);
  if (o.merge_order != Together::halves) out += 6;
  if (o.loop != 0) out += 10;
  return out + (o.vector == 4 || o.unroll == 4 ? 0 : 1);
}

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

// The orders that begin like this one.
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

/// Leaves of a tree; those of squares that are rounded by themselves differ from those that are not.
struct Leaves {
  using Value = Tree;
  std::uint64_t salt;
  Tree value(std::size_t i) const { return {mixed(salt + i + 1) | 1}; }
  Tree add(Tree sum, std::size_t i) const { return sum + value(i); }
};

std::uint64_t tree_of(const ReductionOrder& order, std::size_t columns) {
  std::uint64_t salt = order.fused ? 1 : 2;
  for (const char c : order.function) salt = mixed(salt + static_cast<std::uint8_t>(c));
  return finish(begin(Leaves{salt}, columns, order), order).node;
}

template <class Number>
class Search {
 public:
  Search(const ReductionProblem& problem, const ReductionOptions& options)
      : problem_(problem), options_(options) {
    for (const Variant& variant : variants_of(problem.reduction))
      rows_.emplace_back(variant, std::make_unique<Rows<Number>>(problem, variant));
  }

  ReductionSearch run() {
    const std::vector<ReductionOrder> all = Beginnings(problem_.columns, options_.hints).all;
    std::vector<std::vector<ReductionOrder>> found(all.size());
    std::atomic<std::uint64_t> tried = 0;
    std::size_t begun = 0;
    while (begun < all.size() && additions_ < options_.most_additions && found_ < kMostFound) {
      const std::size_t first = std::exchange(begun, std::min(begun + kTogether, all.size()));
      for_each_piece(0, begun - first, [&](std::size_t i) {
        const ReductionOrder& beginning = all[first + i];
        const std::vector<ReductionOrder> orders = endings(beginning);
        tried += orders.size() * rows_.size();
        for (auto& [variant, rows] : rows_) try_out(variant, *rows, beginning, orders, found[first + i]);
      });
    }
    ReductionSearch out;
    out.tried = tried;
    out.complete = begun == all.size();
    out.rows = problem_.rows;
    std::vector<ReductionOrder> orders;
    for (const std::vector<ReductionOrder>& some : found) orders.insert(orders.end(), some.begin(), some.end());
    std::ranges::stable_sort(orders, {}, rank);
    out.classes = classes_of(orders);
    const std::size_t listed = std::min(out.classes.size(), options_.most_classes);
    out.more_classes = out.classes.size() - listed;
    out.classes.resize(listed);
    out.nearest = nearest_;
    out.nearest_rows = nearest_rows_;
    return out;
  }

 private:
  void try_out(const Variant& variant, Rows<Number>& rows, const ReductionOrder& beginning,
               const std::vector<ReductionOrder>& orders, std::vector<ReductionOrder>& found) {
    const auto begun = begun_of(rows, 0, beginning);
    additions_ += static_cast<double>(begun.threads.size() * orders.size());
    for (ReductionOrder order : orders) {
      if (!rows.explains(0, finish(begun, order))) continue;
      order.function = variant.function;
      order.fused = variant.fused;
      std::size_t row = 1;
      while (row < problem_.rows && rows.explains(row, finish(begun_of(rows, row, order), order))) ++row;
      if (row == problem_.rows)
        found.push_back(order), ++found_;
      else
        note_nearest(order, row);
    }
  }
  Begun<Number> begun_of(const Rows<Number>& rows, std::size_t row, const ReductionOrder& order) {
    additions_ += static_cast<double>(problem_.columns);
    return begin(rows.terms(row), problem_.columns, order);
  }
  void note_nearest(const ReductionOrder& order, std::size_t rows) {
    const std::scoped_lock lock(mutex_);
    if (rows < nearest_rows_ || (rows == nearest_rows_ && rank(order) >= rank(nearest_))) return;
    nearest_ = order;
    nearest_rows_ = rows;
  }
  std::vector<ReductionClass> classes_of(const std::vector<ReductionOrder>& orders) const {
    std::vector<std::uint64_t> trees(orders.size());
    for_each_piece(0, trees.size(), [&](std::size_t i) { trees[i] = tree_of(orders[i], problem_.columns); });
    std::vector<ReductionClass> out;
    std::map<std::uint64_t, std::size_t> at;
    for (std::size_t i = 0; i < trees.size(); ++i) {
      const auto [place, is_new] = at.emplace(trees[i], out.size());
      if (is_new) out.emplace_back();
      out[place->second].orders.push_back(orders[i]);
    }
    return out;
  }

  static constexpr std::size_t kMostFound = 1'000;  // more fit by chance, and tell nothing
  static constexpr std::size_t kTogether =
      128;  // beginnings that are tried before somebody looks at the limits

  const ReductionProblem& problem_;
  const ReductionOptions& options_;
  std::atomic<std::size_t> found_ = 0;
  std::atomic<double> additions_ = 0;
  std::vector<std::pair<Variant, std::unique_ptr<Rows<Number>>>> rows_;
  std::mutex mutex_;
  ReductionOrder nearest_;
  std::size_t nearest_rows_ = 0;
};

// ---- What is asked

std::optional<Error> refused(const ReductionProblem& p, bool has_d) {
  const auto error = [](std::string seen, std::string accepted) {
    return Error{Errc::usage, "a reduction", std::move(seen), std::move(accepted)};
  };
  for (const std::string& format : {p.x_format, p.d_format})
    if (format != "f16" && format != "bf16" && format != "f32" && format != "f64")
      return error(fmt::format("'{}'", format), "f16, bf16, f32 or f64");
  if (p.rows == 0 || p.columns == 0) return error("an array without values", "one with rows and columns");
  if (p.x.size() != p.rows * p.columns)
    return error(fmt::format("{} values of x", p.x.size()), fmt::format("{} x {}", p.rows, p.columns));
  const bool of_values = p.reduction == Reduction::softmax || p.reduction == Reduction::rms_norm;
  const std::size_t wanted = of_values ? p.x.size() : p.rows;
  if (has_d && p.d.size() != wanted)
    return error(fmt::format("{} values of D", p.d.size()),
                 fmt::format("{}, {}", wanted, of_values ? "as many as x has" : "one for each row"));
  if (p.x_format == "f64" && of_values)
    return error(fmt::format("{} of f64", name(p.reduction)),
                 "f16, bf16 or f32: its functions are those of f32");
  return std::nullopt;
}

template <class Number>
std::vector<std::uint64_t> reduced(const ReductionProblem& problem, const ReductionOrder& order) {
  const Rows<Number> rows(problem, {order.function, order.fused});
  std::vector<std::uint64_t> out;
  for (std::size_t row = 0; row < problem.rows; ++row) {
    const auto of_row = rows.results(row, finish(begin(rows.terms(row), problem.columns, order), order));
    out.insert(out.end(), of_row.begin(), of_row.end());
  }
  return out;
}

}  // namespace
}  // namespace reduction

Result<std::vector<std::uint64_t>> reduce(const ReductionProblem& problem, const ReductionOrder& order) {
  if (auto error = reduction::refused(problem, false)) return *std::move(error);
  const std::vector<reduction::Variant> variants = reduction::variants_of(problem.reduction);
  if (std::ranges::find(variants, order.function, &reduction::Variant::function) == variants.end()) {
    std::set<std::string_view> functions;
    for (const reduction::Variant& one : variants)
      functions.insert(one.function.empty() ? "none" : one.function);
    return Error{Errc::usage, "the order of a reduction",
                 fmt::format("function={} of {}", order.function, name(problem.reduction)),
                 fmt::format("{}", fmt::join(functions, ", "))};
  }
  return problem.x_format == "f64" ? reduction::reduced<double>(problem, order)
                                   : reduction::reduced<float>(problem, order);
}

Result<ReductionSearch> find_reduction_order(const ReductionProblem& problem, const ReductionOptions& options) {
  if (auto error = reduction::refused(problem, true)) return *std::move(error);
  return problem.x_format == "f64" ? reduction::Search<double>(problem, options).run()
                                   : reduction::Search<float>(problem, options).run();
}

std::string ReductionSearch::text() const {
  if (classes.empty())
    return fmt::format("none of {} orders explains all {} rows{}\n", tried, rows,
                       nearest_rows == 0
                           ? ""
                           : fmt::format("; {} explains the first {}", nearest.text(), nearest_rows)) +
           (complete ? "" : "not all orders were tried: there are more\n");
  const std::size_t all = classes.size() + more_classes;
  std::string out =
      all == 1 ? fmt::format("one order explains all {} rows:\n", rows)
               : fmt::format("{} orders explain all {} rows; these data cannot tell them apart:\n", all, rows);
  for (const ReductionClass& one : classes) {
    out += fmt::format("  {}\n", one.orders.front().text());
    if (one.orders.size() > 1)
      out += fmt::format("    the same sum as {}{}\n", one.orders[1].text(),
                         one.orders.size() > 2 ? fmt::format(" and {} more", one.orders.size() - 2) : "");
  }
  if (more_classes != 0) out += fmt::format("  and {} more\n", more_classes);
  if (!complete) out += "not all orders were tried: there are more\n";
  return out;
}

}  // namespace warpbit
