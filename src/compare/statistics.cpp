// SPDX-License-Identifier: Apache-2.0
// What the errors of many elements are like, as numbers and as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>  // statistics of errors, which are exact before they are doubles
#include <string>

#include "compare/judge.hpp"
#include "text/wrapped.hpp"
#include "warpbit/explain.hpp"

namespace warpbit {
namespace {

// ---- Numbers

std::vector<double> magnitudes(const std::vector<double>& errors) {
  std::vector<double> out;
  out.reserve(errors.size());
  for (const double error : errors) out.push_back(std::abs(error));
  std::ranges::sort(out);
  return out;
}

// The element at the rank of a fraction, in thousandths.
double percentile(const std::vector<double>& sorted, std::size_t thousandths) {
  constexpr std::size_t kAll = 1000;
  const std::size_t rank = (sorted.size() * thousandths + kAll - 1) / kAll;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

double mean_of(const std::vector<double>& numbers) {
  long double sum = 0;
  for (const double x : numbers) sum += x;
  return static_cast<double>(sum / static_cast<long double>(numbers.size()));
}

// ---- Text

constexpr std::size_t kGap = 2;

// A table in lines of `columns`: where its columns do not fit side by side, some of them follow below with the headings
// again. All but the headings are of one width.
std::string in_bands(const std::vector<std::string>& headings,
                     const std::vector<std::vector<std::string>>& rest, std::size_t columns) {
  std::size_t heading = 0, cell = 0;
  for (const std::string& text : headings) heading = std::max(heading, text.size());
  for (const std::vector<std::string>& column : rest)
    for (const std::string& text : column) cell = std::max(cell, text.size());
  const std::size_t room = columns > heading ? columns - heading : 0;
  const std::size_t side_by_side = std::max<std::size_t>(1, room / (cell + kGap));
  std::string out;
  for (std::size_t first = 0; first < rest.size(); first += side_by_side) {
    if (first > 0) out += "\n";
    for (std::size_t i = 0; i < headings.size(); ++i) {
      std::string line = fmt::format("{:<{}}", headings[i], heading);
      for (std::size_t n = first; n < std::min(first + side_by_side, rest.size()); ++n)
        line += fmt::format("{:{}}{:<{}}", "", kGap, rest[n][i], cell);
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  return out;
}

std::string share_text(std::uint64_t part, std::uint64_t all) {
  return fmt::format("{} ({:.4g} %)", part, 100 * static_cast<double>(part) / static_cast<double>(all));
}

std::string table_text(const Comparison& c, std::size_t columns) {
  std::vector<std::vector<std::string>> rest;
  for (std::size_t i = 0; i < c.results.size(); ++i) {
    const ComparedResults& r = c.results[i];
    const ErrorStatistics s = statistics(r);
    rest.push_back({c.names[i]});
    for (const double x : {s.bias, s.deviation, s.mean, s.p50, s.p90, s.p99, s.p999, s.max})
      rest.back().push_back(s.elements == 0 ? "-" : fmt::format("{:.4g}", x));
    rest.back().push_back(s.elements == 0 ? "-" : share_text(r.correctly_rounded, s.elements));
    rest.back().push_back(std::to_string(r.special));
    rest.back().push_back(std::to_string(r.overflowed));
  }
  const std::vector<std::string> headings = {"error", "bias",    "deviation", "mean |error|",
                                             "50 %",  "90 %",    "99 %",      "99.9 %",
                                             "max",   "correct", "special",   "overflow"};
  return in_bands(headings, rest, columns);
}

std::string bin_text(const ErrorBin& bin) {
  if (bin.up_to == 0) return "0";
  if (std::isinf(bin.up_to)) return fmt::format("> {:g}", bin.above);
  return bin.up_to < 1 ? fmt::format("<= 1/{:g}", 1 / bin.up_to) : fmt::format("<= {:g}", bin.up_to);
}

// A bar for each bin, as long as its share of the elements, the longest of all computations `width`.
std::vector<std::string> bars(const std::vector<ErrorBin>& bins, const Comparison& c, std::size_t n,
                              std::size_t width) {
  const auto share = [&](const ErrorBin& bin, std::size_t i) {
    const std::size_t all = c.results[i].errors.size();
    return all == 0 ? 0 : static_cast<double>(bin.counts[i]) / static_cast<double>(all);
  };
  double most = 0;
  for (const ErrorBin& bin : bins)
    for (std::size_t i = 0; i < c.results.size(); ++i) most = std::max(most, share(bin, i));
  std::vector<std::string> out = {cut_off(c.names[n], width + 8)};
  for (const ErrorBin& bin : bins) {
    const double own = share(bin, n);
    const auto length = static_cast<std::size_t>(std::ceil(own / most * static_cast<double>(width)));
    out.push_back(fmt::format("{:>5.1f} % {}", 100 * own, std::string(length, '#')));
  }
  return out;
}

std::string histogram_text(const Comparison& c, std::size_t columns) {
  constexpr std::size_t kLeastBar = 10, kShare = 8;
  const std::vector<ErrorBin> bins = histogram(c);
  std::vector<std::string> headings = {"|error|"};
  for (const ErrorBin& bin : bins) headings.push_back(bin_text(bin));
  const std::size_t heading = std::ranges::max(headings, {}, &std::string::size).size();
  const std::size_t room = columns > heading ? columns - heading : 0;
  const auto width_of = [&](std::size_t side_by_side) {
    const std::size_t each = room / side_by_side;
    return each > kGap + kShare ? each - kGap - kShare : 0;
  };
  std::size_t side_by_side = c.results.size();
  while (side_by_side > 1 && width_of(side_by_side) < kLeastBar) --side_by_side;
  std::vector<std::vector<std::string>> rest;
  for (std::size_t n = 0; n < c.results.size(); ++n)
    rest.push_back(bars(bins, c, n, std::max(width_of(side_by_side), kLeastBar)));
  return in_bands(headings, rest, columns);
}

}  // namespace

bool has_errors(const Comparison& c) {
  return std::ranges::any_of(c.results, [](const ComparedResults& r) { return !r.errors.empty(); });
}

bool has_errors(const DepthStudy& study) {
  return std::ranges::any_of(study.comparisons, [](const Comparison& c) { return has_errors(c); });
}

ErrorStatistics statistics(const ComparedResults& results) {
  ErrorStatistics out;
  out.elements = results.errors.size();
  if (out.elements == 0) return out;
  const std::vector<double> sorted = magnitudes(results.errors);
  out.bias = mean_of(results.errors);
  out.mean = mean_of(sorted);
  long double squares = 0;
  for (const double error : results.errors) {
    const long double off = static_cast<long double>(error) - static_cast<long double>(out.bias);
    squares += off * off;
  }
  out.deviation = static_cast<double>(std::sqrt(squares / static_cast<long double>(out.elements)));
  out.p50 = percentile(sorted, 500);
  out.p90 = percentile(sorted, 900);
  out.p99 = percentile(sorted, 990);
  out.p999 = percentile(sorted, 999);
  out.max = sorted.back();
  return out;
}

std::vector<ErrorBin> histogram(const Comparison& comparison) {
  constexpr double kFirst = 0.125, kLast = 0x1p40;  // of those with an end
  std::vector<ErrorBin> out;
  if (!has_errors(comparison)) return out;
  const std::size_t count = comparison.results.size();
  out.push_back({0, 0, std::vector<std::uint64_t>(count)});
  for (std::size_t n = 0; n < count; ++n)
    for (const double magnitude : magnitudes(comparison.results[n].errors)) {
      while (magnitude > out.back().up_to) {
        const double last = out.back().up_to, next = last == 0 ? kFirst : last == kLast ? HUGE_VAL : 2 * last;
        out.push_back({last, next, std::vector<std::uint64_t>(count)});
      }
      const auto bin = std::ranges::lower_bound(out, magnitude, {}, &ErrorBin::up_to);
      ++bin->counts[n];
    }
  return out;
}

std::string error_definition(std::string_view format) {
  return fmt::format("result - exact sum, in ulp of {}: the distance of its numbers at the exact sum", format);
}

std::string statistics_text(const Comparison& c, int columns) {
  if (!has_errors(c)) return "";
  const auto width = static_cast<std::size_t>(std::max(columns, 40));
  return wrapped("error: " + error_definition(c.format), width) + table_text(c, width) + "\n" +
         histogram_text(c, width);
}

}  // namespace warpbit
