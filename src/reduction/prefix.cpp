// SPDX-License-Identifier: Apache-2.0
#include "reduction/prefix.hpp"

#include <fmt/format.h>

#include <bit>

#include "reduction/problem.hpp"
#include "reduction/tree.hpp"

namespace warpbit::reduction {
namespace {

constexpr int kMostScanThreads = 1024;

template <class Number>
std::vector<std::uint64_t> sums_of_row(const ReductionProblem& problem, std::size_t row, int threads) {
  std::vector<Number> numbers = numbers_of<Number>(problem.x.subspan(row * problem.columns, problem.columns),
                                                   problem.x_format, problem.columns)[0];
  add_prefixes(std::span(numbers), static_cast<std::size_t>(threads));
  return codes_of(numbers, problem.d_format);
}
std::vector<std::uint64_t> sums_of(const ReductionProblem& problem, std::size_t row, int threads) {
  return problem.x_format == "f64" ? sums_of_row<double>(problem, row, threads)
                                   : sums_of_row<float>(problem, row, threads);
}

}  // namespace

std::uint64_t prefix_identity(const ReductionOrder& order, std::size_t columns) {
  std::vector<Tree> row(columns);
  for (std::size_t i = 0; i < columns; ++i) row[i] = {mix(i, 1) | 1};
  add_prefixes(std::span(row), static_cast<std::size_t>(order.threads));
  std::uint64_t out = 0;
  for (const Tree& one : row) out = mix(one.node, out);
  return out;
}

std::vector<std::uint64_t> prefix_sums(const ReductionProblem& problem, const ReductionOrder& order) {
  std::vector<std::uint64_t> out;
  for (std::size_t row = 0; row < problem.rows; ++row) {
    const std::vector<std::uint64_t> of_row = sums_of(problem, row, order.threads);
    out.insert(out.end(), of_row.begin(), of_row.end());
  }
  return out;
}

std::optional<Error> prefix_refusal(const ReductionOrder& order) {
  ReductionOrder alone;
  alone.threads = order.threads;
  if (order == alone && std::has_single_bit(static_cast<unsigned>(order.threads))) return std::nullopt;
  return Error{Errc::usage, "the order of a reduction", fmt::format("{} of cumsum", order.text()),
               fmt::format("threads= alone, with a power of two up to {}", kMostScanThreads)};
}

Found find_prefix_sums(const ReductionProblem& problem, const ReductionOptions& options) {
  Found out;
  for (int threads = 1; threads <= kMostScanThreads; threads *= 2) {
    if (options.hints.threads != 0 && options.hints.threads != threads) continue;
    ++out.tried;
    std::size_t row = 0;
    const auto explains = [&] {
      return std::ranges::equal(sums_of(problem, row, threads),
                                problem.d.subspan(row * problem.columns, problem.columns));
    };
    while (row < problem.rows && explains()) ++row;
    ReductionOrder order;
    order.threads = threads;
    if (row == problem.rows)
      out.orders.push_back(order);
    else if (row > out.nearest_rows)
      out.nearest = order, out.nearest_rows = row;
  }
  return out;
}

}  // namespace warpbit::reduction
