// SPDX-License-Identifier: Apache-2.0
#include "cli/order_sum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/all_reduce.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

constexpr std::uintmax_t kMostArrayBytes = std::uintmax_t{1} << 28;

/// An array with the rows that are summed.
struct SumFile {
  explicit SumFile(const std::string& file) : format(required(format_of_file(file))) {
    std::error_code unknown;
    const std::uintmax_t bytes = std::filesystem::file_size(file, unknown);
    if (!unknown && bytes > kMostArrayBytes)
      refuse(file, fmt::format("{} bytes", bytes),
             fmt::format("at most {}: some rows of a large array tell as much as all", kMostArrayBytes),
             Errc::usage);
    dimensions = required(read_array(file)).header.shape.size();
    std::vector<std::string> notes;
    matrix = required(read_matrix(file, format, notes));
  }
  void transpose() {
    matrix = {matrix.columns, matrix.rows, warpbit::transposed(matrix.codes, matrix.rows, matrix.columns)};
  }
  // One row of all values.
  void flatten() { matrix.columns *= std::exchange(matrix.rows, 1); }

  std::string format;
  std::size_t dimensions;
  CodeMatrix matrix;
};

ordered_json search_json(const ReductionSearch& search) {
  ordered_json classes = ordered_json::array();
  for (const ReductionClass& one : search.classes) {
    ordered_json orders = ordered_json::array();
    for (const ReductionOrder& order : one.orders) orders.push_back(order.text());
    classes.push_back(orders);
  }
  return {{"classes", classes},
          {"more_classes", search.more_classes},
          {"rows", search.rows},
          {"all_rows", search.all_rows},
          {"tried", search.tried},
          {"complete", search.complete},
          {"nearest", search.nearest_rows == 0
                          ? ordered_json(nullptr)
                          : ordered_json{{"order", search.nearest.text()}, {"rows", search.nearest_rows}}}};
}

// D by a known order, compared with what it is.
int compare_known(std::span<const std::uint64_t> d, std::span<const std::uint64_t> got,
                  const std::string& order, bool as_json) {
  if (d.size() != got.size())
    refuse("d", fmt::format("{} values", d.size()), fmt::format("{}", got.size()), Errc::view_mismatch);
  std::size_t different = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;)
    if (got[i] != d[i]) ++different, first = i;
  if (as_json)
    print_json("order", {{"order", order}, {"values", got.size()}, {"different", different}});
  else if (different == 0)
    print_fitted(fmt::format("all {} values come out with {}", got.size(), order));
  else
    print_fitted(fmt::format("{} of {} values differ; value {} is {:#x}, and by {} {:#x}", different,
                             got.size(), first, d[first], order, got[first]));
  return different == 0 ? kYes : kNo;
}

void print_lines(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) print_fitted(line);
}

ordered_json all_reduce_json(const AllReduceSearch& search) {
  ordered_json ranges = ordered_json::array();
  for (std::size_t i = 0; i < search.ranges.size(); ++i) {
    const AllReduceSearch::Range& one = search.ranges[i];
    ranges.push_back({{"first", one.first},
                      {"count", one.count},
                      {"sum", search.order.tree(i).sum()},
                      {"others", one.others}});
  }
  const bool is_found = !search.name.empty();
  return {{"name", is_found ? ordered_json(search.name) : ordered_json(nullptr)},
          {"order", is_found ? ordered_json(search.order.text()) : ordered_json(nullptr)},
          {"ranges", ranges},
          {"ranks", search.ranks},
          {"values", search.values},
          {"explained", search.explained},
          {"tried", search.tried},
          {"complete", search.complete}};
}

// x has a row for each rank.
int order_all_reduce(bool is_mean, const SumFile& x, const SumFile& d, const std::string& known, bool as_json) {
  if (d.format != x.format) refuse("d", d.format, fmt::format("{}, the type of x", x.format));
  const AllReduceProblem problem{x.matrix.rows, x.matrix.columns, x.format,
                                 is_mean,       x.matrix.codes,   d.matrix.codes};
  if (!known.empty()) {
    const AllReduceOrder order = required(AllReduceOrder::parse(known));
    return compare_known(problem.d, required(all_reduce(problem, order)), order.text(), as_json);
  }
  const AllReduceSearch search = required(find_all_reduce_order(problem));
  if (as_json)
    print_json("order", all_reduce_json(search));
  else
    print_lines(search.text());
  return search.name.empty() ? kNo : kYes;
}

}  // namespace

int print_order_words(std::span<const SumOrderWord> words, bool as_json) {
  Table table{{"word", "meaning"}};
  ordered_json list = ordered_json::array();
  for (const SumOrderWord& w : words) {
    table.push_back({w.name.empty() ? std::string(w.values) : fmt::format("{}={}", w.name, w.values),
                     std::string(w.meaning)});
    list.push_back({{"name", w.name}, {"values", w.values}, {"meaning", w.meaning}});
  }
  if (as_json)
    print_json("order", {{"words", list}});
  else
    print(table, false);
  return kYes;
}

int order_sum(const SumArguments& o, const std::string& x, const std::string& d, const std::string& known,
              bool words, bool as_json) {
  const std::optional<bool> is_mean = is_all_reduce_mean(o.reduction);
  if (words) return print_order_words(is_mean ? all_reduce_words() : reduction_words(), as_json);
  ReductionProblem problem;
  if (!is_mean) problem.reduction = required(find_reduction(o.reduction));
  if (x.empty() || d.empty())
    refuse("order --sum", x.empty() ? "no array" : "no result", "X.npy and D.npy, or --words");
  SumFile of_x(x), of_d(d);
  if (is_mean) return order_all_reduce(*is_mean, of_x, of_d, known, as_json);
  const bool has_values = leaves_values(problem.reduction);
  if (o.axis == "0" && of_x.dimensions > 1) {  // of one dimension it is the last axis, too
    of_x.transpose();
    if (has_values) of_d.transpose();
  } else if (o.axis == "all") {
    of_x.flatten();
    if (has_values) of_d.flatten();
  }
  problem.rows = of_x.matrix.rows;
  problem.columns = of_x.matrix.columns;
  problem.x_format = of_x.format;
  problem.d_format = of_d.format;
  problem.x = of_x.matrix.codes;
  problem.d = of_d.matrix.codes;
  problem.epsilon = o.epsilon;
  std::optional<SumFile> of_v;
  if (!o.v.empty()) {
    of_v.emplace(o.v);
    problem.v_format = of_v->format;
    problem.v_columns = of_v->matrix.columns;
    problem.v = of_v->matrix.codes;
  }
  if (!known.empty()) {
    const ReductionOrder order = required(ReductionOrder::parse(known));
    return compare_known(problem.d, required(reduce(problem, order)), order.text(), as_json);
  }
  const ReductionSearch search = required(find_reduction_order(problem, {o.hints}));
  if (as_json)
    print_json("order", search_json(search));
  else
    print_lines(search.text());
  return search.classes.empty() ? kNo : kYes;
}

}  // namespace warpbit::cli
