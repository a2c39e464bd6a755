// SPDX-License-Identifier: Apache-2.0
#include "cli/order_sum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/commands.hpp"
#include "cli/json.hpp"
#include "cli/terminal.hpp"
#include "warpbit/replay.hpp"

namespace warpbit::cli {
namespace {

using nlohmann::ordered_json;

/// An array with the rows that are summed.
struct SumFile {
  explicit SumFile(const std::string& file)
      : format(required(format_of_file(file))), dimensions(required(read_array(file)).header.shape.size()) {
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
          {"tried", search.tried},
          {"complete", search.complete},
          {"nearest", search.nearest_rows == 0
                          ? ordered_json(nullptr)
                          : ordered_json{{"order", search.nearest.text()}, {"rows", search.nearest_rows}}}};
}

// D by a known order, compared.
int compare_known(const ReductionProblem& problem, const std::string& known, bool as_json) {
  const ReductionOrder order = required(ReductionOrder::parse(known));
  const std::vector<std::uint64_t> got = required(reduce(problem, order));
  if (problem.d.size() != got.size())
    refuse("d", fmt::format("{} values", problem.d.size()), fmt::format("{}", got.size()), Errc::view_mismatch);
  std::size_t different = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;)
    if (got[i] != problem.d[i]) ++different, first = i;
  if (as_json)
    print_json("order", {{"order", order.text()}, {"values", got.size()}, {"different", different}});
  else if (different == 0)
    print_fitted(fmt::format("all {} values come out with {}", got.size(), order.text()));
  else
    print_fitted(fmt::format("{} of {} values differ; value {} is {:#x}, and by {} {:#x}", different,
                             got.size(), first, problem.d[first], order.text(), got[first]));
  return different == 0 ? kYes : kNo;
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
  if (words) return print_order_words(reduction_words(), as_json);
  ReductionProblem problem;
  problem.reduction = required(find_reduction(o.reduction));
  if (x.empty() || d.empty())
    refuse("order --sum", x.empty() ? "no array" : "no result", "X.npy and D.npy, or --words");
  SumFile of_x(x), of_d(d);
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
  if (!known.empty()) return compare_known(problem, known, as_json);
  const ReductionSearch search = required(find_reduction_order(problem, {o.hints}));
  if (as_json) {
    print_json("order", search_json(search));
  } else {
    std::istringstream lines(search.text());
    for (std::string line; std::getline(lines, line);) print_fitted(line);
  }
  return search.classes.empty() ? kNo : kYes;
}

}  // namespace warpbit::cli
