// SPDX-License-Identifier: Apache-2.0
// Which orders explain D: all are tried on the first row, those that fit on the others. Likely ones come first in the answer:
// those that libraries' kernels are known to have.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "reduction/candidates.hpp"
#include "reduction/online.hpp"
#include "reduction/prefix.hpp"
#include "reduction/problem.hpp"
#include "reduction/tree.hpp"
#include "threads.hpp"

namespace warpbit {
namespace reduction {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 20;  // that are compared, if several rows have them

/// Leaves of a tree; those of squares that are rounded by themselves differ from those that are not.
struct Leaves {
  using Value = Tree;
  std::uint64_t salt;
  Tree value(std::size_t i) const { return {mix(i, salt) | 1}; }
  Tree add(Tree sum, std::size_t i) const { return sum + value(i); }
};

// Online sums depend on where tiles begin, and on who adds the products.
std::uint64_t tree_of(const ReductionOrder& order, Reduction reduction, std::size_t columns) {
  if (reduction == Reduction::cumsum) return prefix_identity(order, columns);
  std::uint64_t salt = order.fused ? 1 : 2;
  for (const char c : order.function) salt = mix(static_cast<std::uint8_t>(c), salt);
  if (order.online) {
    salt = mix(static_cast<std::uint64_t>(order.loop), mix(static_cast<std::uint64_t>(order.blocks), salt));
    salt = mix(static_cast<std::uint64_t>(order.value_lanes), salt);
    if (order.value_lanes != 0) salt = mix(static_cast<std::uint64_t>(order.threads), salt);
  }
  return finish(begin(Leaves{salt}, columns, order), order).node;
}

std::vector<ReductionClass> classes_of(const std::vector<ReductionOrder>& orders, Reduction reduction,
                                       std::size_t columns) {
  std::vector<std::uint64_t> trees(orders.size());
  for_each_piece(0, trees.size(), [&](std::size_t i) { trees[i] = tree_of(orders[i], reduction, columns); });
  std::vector<ReductionClass> out;
  std::map<std::uint64_t, std::size_t> at;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const auto [place, is_new] = at.emplace(trees[i], out.size());
    if (is_new) out.emplace_back();
    out[place->second].orders.push_back(orders[i]);
  }
  return out;
}

/// Rows, and what is known of their sums.
template <class Of>
class Known {
 public:
  using Value = typename Of::Value;
  Known(const ReductionProblem& problem, const Variant& variant)
      : of(problem, variant), problem_(problem), known_(problem.rows) {}

  /// Whether D is what becomes of the sum of a row.
  bool explains(std::size_t row, const Value& sum) {
    const std::scoped_lock lock(mutex_);
    const auto [place, is_new] = known_[row].try_emplace(sum);
    if (is_new) {
      const std::vector<std::uint64_t> got = of.results(row, sum);
      place->second = std::ranges::equal(got, problem_.d.subspan(row * got.size(), got.size()));
    }
    return place->second;
  }
  const Of of;

 private:
  // NaNs come last, all of them alike.
  struct Less {
    static bool is_nan(double x) { return x != x; }
    static bool is_nan(const Moments& x) { return is_nan(x.mean) || is_nan(x.squares); }
    bool operator()(const Value& a, const Value& b) const {
      return is_nan(a) || is_nan(b) ? !is_nan(a) && is_nan(b) : a < b;
    }
  };
  const ReductionProblem& problem_;
  std::mutex mutex_;
  std::vector<std::map<Value, bool, Less>> known_;
};

// Those that some data can tell apart: by a power of two, a quotient is a product; squares of 11 bits are exact.
std::vector<Variant> told_apart(const ReductionProblem& problem) {
  const ReductionRow& row = row_of(problem.reduction);
  std::vector<Variant> out = row.variants;
  std::erase_if(out, [&](const Variant& one) {
    return (row.divides_by_columns && std::has_single_bit(problem.columns) && one.function == "reciprocal") ||
           (row.adds_squares && problem.x_format == "f16" && !one.fused) ||
           (has(one.function, "steps") && problem.x_format != "f16" && problem.x_format != "bf16");
  });
  return out;
}

template <class Of>
class Search {
  using Value = typename Of::Value;

 public:
  Search(const ReductionProblem& problem, const ReductionOptions& options)
      : problem_(problem), options_(options) {
    for (const Variant& variant : told_apart(problem))
      rows_.emplace_back(variant, std::make_unique<Known<Of>>(problem, variant));
  }

  Found run() {
    const std::vector<ReductionOrder> all = beginnings(problem_.columns, options_.hints);
    std::vector<std::vector<ReductionOrder>> found(all.size());
    std::atomic<std::uint64_t> tried = 0;
    std::size_t begun = 0;
    while (begun < all.size() && additions_ < options_.most_additions && found_ < kMostFound) {
      const std::size_t first = std::exchange(begun, std::min(begun + kTogether, all.size()));
      for_each_piece(0, begun - first, [&](std::size_t i) {
        const ReductionOrder& beginning = all[first + i];
        const std::vector<ReductionOrder> orders = endings(beginning);
        tried += orders.size() * rows_.size();
        for (auto& [variant, rows] : rows_)
          if (!variant.fused || !adds_steps(beginning))
            try_out(variant, *rows, beginning, orders, found[first + i]);
      });
    }
    Found out{{}, tried, begun == all.size(), nearest_, nearest_rows_};
    for (const std::vector<ReductionOrder>& some : found)
      out.orders.insert(out.orders.end(), some.begin(), some.end());
    return out;
  }

 private:
  // The values of a step are added by themselves, so that squares are rounded.
  static bool adds_steps(const ReductionOrder& order) {
    return order.accumulators >= ReductionOrder::Accumulators::step;
  }
  void try_out(const Variant& variant, Known<Of>& rows, const ReductionOrder& beginning,
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
  Begun<Value> begun_of(const Known<Of>& rows, std::size_t row, const ReductionOrder& order) {
    additions_ += static_cast<double>(problem_.columns);
    return begin(rows.of.terms(row), problem_.columns, order);
  }
  void note_nearest(const ReductionOrder& order, std::size_t rows) {
    const std::scoped_lock lock(mutex_);
    const auto key = [](const ReductionOrder& o) { return std::pair(rank(o), o.text()); };
    if (rows < nearest_rows_ || (rows == nearest_rows_ && key(order) >= key(nearest_))) return;
    nearest_ = order;
    nearest_rows_ = rows;
  }
  static constexpr std::size_t kMostFound = 1'000;  // more fit by chance, and tell nothing
  static constexpr std::size_t kTogether =
      128;  // beginnings that are tried before somebody looks at the limits

  const ReductionProblem& problem_;
  const ReductionOptions& options_;
  std::atomic<std::size_t> found_ = 0;
  std::atomic<double> additions_ = 0;
  std::vector<std::pair<Variant, std::unique_ptr<Known<Of>>>> rows_;
  std::mutex mutex_;
  ReductionOrder nearest_;
  std::size_t nearest_rows_ = 0;
};

// ---- What is asked

// Values of D that a row without as many as x has.
std::size_t each_row(const ReductionProblem& p) {
  return p.reduction == Reduction::attention ? p.v_columns : 1;
}

// The first rows, which are compared: about a million values.
ReductionProblem first_rows(const ReductionProblem& p) {
  ReductionProblem out = p;
  out.rows = std::clamp<std::size_t>(kMostValues / (p.columns * each_row(p)), 1, p.rows);
  out.x = p.x.first(out.rows * p.columns);
  out.d = p.d.first(leaves_values(p.reduction) ? out.x.size() : out.rows * each_row(p));
  return out;
}

std::optional<Error> refused(const ReductionProblem& p, bool has_d) {
  const auto error = [](std::string seen, std::string accepted) {
    return Error{Errc::usage, "a reduction", std::move(seen), std::move(accepted)};
  };
  for (const std::string& format : {p.x_format, p.d_format, p.v_format})
    if (format != "f16" && format != "bf16" && format != "f32" && format != "f64")
      return error(fmt::format("'{}'", format), "f16, bf16, f32 or f64");
  if (p.rows == 0 || p.columns == 0) return error("an array without values", "one with rows and columns");
  if (p.x.size() / p.columns != p.rows || p.x.size() % p.columns != 0)
    return error(fmt::format("{} values of x", p.x.size()), fmt::format("{} x {}", p.rows, p.columns));
  const bool of_values = leaves_values(p.reduction), has_v = p.reduction == Reduction::attention;
  if (has_v ? p.v_columns == 0 || p.v.size() / p.v_columns != p.columns || p.v.size() % p.v_columns != 0
            : !p.v.empty() || p.v_columns != 0)
    return error(
        fmt::format("{} values of v in {} columns", p.v.size(), p.v_columns),
        has_v ? fmt::format("{} rows, as many as x has columns", p.columns) : "no v, which attention has");
  const std::size_t wanted = of_values ? p.x.size() : p.rows * each_row(p);
  if (has_d && p.d.size() != wanted)
    return error(fmt::format("{} values of D", p.d.size()),
                 fmt::format("{}, {}", wanted,
                             of_values ? "as many as x has"
                             : has_v   ? "the columns of v for each row"
                                       : "one for each row"));
  if (p.x_format == "f64" && p.reduction != Reduction::cumsum &&
      (of_values || has_v || p.reduction == Reduction::logsumexp))
    return error(fmt::format("{} of f64", name(p.reduction)),
                 "f16, bf16 or f32: its functions are those of f32");
  return std::nullopt;
}

// work.operator()<the rows of the problem>()
template <class Work>
auto with_rows(const ReductionProblem& problem, const Work& work) {
  if (problem.reduction == Reduction::layer_norm) return work.template operator()<MomentRows>();
  if (problem.x_format == "f64") return work.template operator()<Rows<double>>();
  return work.template operator()<Rows<float>>();
}

// A row of a problem without D.
ReductionProblem row_alone(const ReductionProblem& problem, std::size_t row) {
  ReductionProblem out = problem;
  out.rows = 1;
  out.x = problem.x.subspan(row * problem.columns, problem.columns);
  return out;
}

template <class Of>
std::vector<std::uint64_t> reduced(const ReductionProblem& problem, const ReductionOrder& order) {
  std::vector<std::uint64_t> out;
  for (std::size_t row = 0; row < problem.rows; ++row) {
    const ReductionProblem one = row_alone(problem, row);
    const Of rows(one, {order.function, order.fused});
    const auto of_row = rows.results(0, finish(begin(rows.terms(0), one.columns, order), order));
    out.insert(out.end(), of_row.begin(), of_row.end());
  }
  return out;
}

std::vector<std::uint64_t> reduced_online(const ReductionProblem& problem, const ReductionOrder& order) {
  const OnlineRows rows(problem);
  std::vector<std::uint64_t> out;
  for (std::size_t row = 0; row < problem.rows; ++row) {
    std::vector<Online> blocks;
    rows.add_blocks(tiles_of(rows.x(row), order), order, blocks);
    const std::vector<std::uint64_t> of_row = codes_of(merged(std::move(blocks), order), problem.d_format);
    out.insert(out.end(), of_row.begin(), of_row.end());
  }
  return out;
}

// Why a reduction has no such order.
std::optional<Error> refused(const ReductionProblem& problem, const ReductionOrder& order) {
  const bool has_v = problem.reduction == Reduction::attention,
             may_be_online = has_v || problem.reduction == Reduction::logsumexp;
  const auto error = [&](std::string seen, std::string accepted) {
    return Error{Errc::usage, "the order of a reduction",
                 fmt::format("{} of {}", seen, name(problem.reduction)), std::move(accepted)};
  };
  if (order.online ? !may_be_online : has_v)
    return error(order.text(), has_v ? "an online order" : "an order that is not online");
  if ((order.value_lanes != 0) != has_v)
    return error(order.text(), has_v ? "value_lanes=" : "an order without value_lanes=");
  if (order.online && has(order.function, "steps")) return error(order.text(), "online without steps");
  if (problem.reduction == Reduction::cumsum) return prefix_refusal(order);
  const std::vector<Variant>& variants = row_of(problem.reduction).variants;
  const auto is_same = [&](const Variant& one) {
    return one.function == order.function && one.fused == order.fused;
  };
  if (std::ranges::any_of(variants, is_same)) return std::nullopt;
  std::vector<std::string> words;
  for (const Variant& one : variants) {
    ReductionOrder with;
    with.function = one.function;
    with.fused = one.fused;
    words.push_back(with.function.empty() && !with.fused ? "none of these words" : with.text());
  }
  return error(fmt::format("function={}{}", order.function, order.fused ? " fused" : ""),
               fmt::format("{}", fmt::join(words, ", ")));
}

ReductionSearch answer(Found found, Reduction reduction, std::size_t columns, std::size_t most_classes) {
  std::ranges::stable_sort(found.orders, {}, rank);
  ReductionSearch out;
  out.classes = classes_of(found.orders, reduction, columns);
  const std::size_t listed = std::min(out.classes.size(), most_classes);
  out.more_classes = out.classes.size() - listed;
  out.classes.resize(listed);
  out.tried = found.tried;
  out.complete = found.complete;
  out.nearest = found.nearest;
  out.nearest_rows = found.nearest_rows;
  return out;
}

Found searched(const ReductionProblem& problem, const ReductionOptions& options) {
  if (problem.reduction == Reduction::attention) return find_online(problem, options);
  if (problem.reduction == Reduction::cumsum) return find_prefix_sums(problem, options);
  Found out = with_rows(problem, [&]<class Of>() { return Search<Of>(problem, options).run(); });
  if (problem.reduction != Reduction::logsumexp) return out;
  const Found online = find_online(problem, options);
  out.orders.insert(out.orders.end(), online.orders.begin(), online.orders.end());
  out.tried += online.tried;
  out.complete = out.complete && online.complete;
  if (online.nearest_rows > out.nearest_rows) out.nearest = online.nearest;
  out.nearest_rows = std::max(out.nearest_rows, online.nearest_rows);
  return out;
}

}  // namespace
}  // namespace reduction

std::vector<std::uint64_t> transposed(std::span<const std::uint64_t> codes, std::size_t rows,
                                      std::size_t columns) {
  std::vector<std::uint64_t> out;
  for (std::size_t column = 0; column < columns; ++column)
    for (std::size_t row = 0; row < rows; ++row) out.push_back(codes[row * columns + column]);
  return out;
}

Result<std::vector<std::uint64_t>> reduce(const ReductionProblem& problem, const ReductionOrder& order) {
  if (auto error = reduction::refused(problem, false)) return *std::move(error);
  if (auto error = reduction::order_refusal(order)) return *std::move(error);
  if (auto error = reduction::refused(problem, order)) return *std::move(error);
  if (order.online) return reduction::reduced_online(problem, order);
  if (problem.reduction == Reduction::cumsum) return reduction::prefix_sums(problem, order);
  return reduction::with_rows(problem, [&]<class Of>() { return reduction::reduced<Of>(problem, order); });
}

Result<ReductionSearch> find_reduction_order(const ReductionProblem& problem, const ReductionOptions& options) {
  if (auto error = reduction::refused(problem, true)) return *std::move(error);
  ReductionOrder hinted;
  if (options.hints.threads != 0) hinted.threads = options.hints.threads;
  if (options.hints.blocks != 0) hinted.blocks = options.hints.blocks;
  if (auto error = reduction::order_refusal(hinted)) return *std::move(error);
  const ReductionProblem compared = reduction::first_rows(problem);
  ReductionSearch out = reduction::answer(reduction::searched(compared, options), problem.reduction,
                                          problem.columns, options.most_classes);
  out.rows = compared.rows;
  out.all_rows = problem.rows;
  return out;
}

std::string ReductionSearch::text() const {
  const std::string all_of = rows == all_rows ? fmt::format("all {} rows", rows)
                                              : fmt::format("the first {} of {} rows", rows, all_rows);
  if (classes.empty())
    return fmt::format("none of {} orders explains {}{}\n", tried, all_of,
                       nearest_rows == 0
                           ? ""
                           : fmt::format("; {} explains the first {}", nearest.text(), nearest_rows)) +
           (complete ? "" : "not all orders were tried: there are more\n");
  const std::size_t all = classes.size() + more_classes;
  std::string out =
      all == 1 ? fmt::format("one order explains {}:\n", all_of)
               : fmt::format("{} orders explain {}; these data cannot tell them apart:\n", all, all_of);
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
