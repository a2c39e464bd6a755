// SPDX-License-Identifier: Apache-2.0
#include "profile/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "profile/drawing.hpp"

namespace warpbit::ptx {

std::span<const CountColumn> count_columns() {
  static constexpr CountColumn kColumns[] = {
      {"executed", "executed", "by warps", &Counts::warps},
      {"bytes", "global", "bytes", &Counts::bytes},
      {"sectors", "sectors", "/ least", &Counts::sectors, &Counts::least_sectors},
      {"conflicts", "conflicts", "more passes", &Counts::conflicts, nullptr, true},
      {"shared_bytes", "shared", "bytes", &Counts::shared_bytes},
      {"tensor_bytes", "tensor", "bytes", &Counts::tensor_bytes},
      {"local_bytes", "local", "bytes", &Counts::local_bytes},
      {"constant_bytes", "const", "bytes", &Counts::constant_bytes},
      {"products", "products", "multiply-adds", &Counts::products},
  };
  return kColumns;
}

std::string text(const CountColumn& column, const Counts& of) {
  if (of.*column.count == 0) return "-";
  const std::string out = profile::number_text(of.*column.count);
  return column.least == nullptr ? out : out + "/" + profile::number_text(of.*column.least);
}

std::string lanes_text(const Counts& of) {
  if (of.warps == 0) return "-";
  return fmt::format("{:.1f}", static_cast<double>(of.lanes) / static_cast<double>(of.warps));
}

}  // namespace warpbit::ptx

namespace warpbit::profile {

using ptx::CountColumn, ptx::Counts, ptx::LineCounts;

Counts sum_of(std::span<const LineCounts> lines) {
  Counts out;
  for (const LineCounts& one : lines) out += one;
  return out;
}

std::vector<CountColumn> columns_of(std::span<const LineCounts> lines) {
  const Counts all = sum_of(lines);
  std::vector<CountColumn> out;
  std::ranges::copy_if(ptx::count_columns(), std::back_inserter(out),
                       [&](const CountColumn& c) { return all.*c.count != 0; });
  return out;
}

std::vector<LineCounts> largest(std::span<const LineCounts> lines, std::span<const CountColumn> columns,
                                std::size_t most, int kept) {
  std::vector<LineCounts> out(lines.begin(), lines.end());
  if (out.size() <= most) return out;
  const Counts all = sum_of(lines);
  const auto share = [&](const LineCounts& one) {
    double greatest = one.line == kept ? 1 : 0;
    for (const CountColumn& c : columns)
      greatest = std::max(greatest, static_cast<double>(one.*c.count) / static_cast<double>(all.*c.count));
    return greatest;
  };
  constexpr double kLeast = 0.01;
  std::ranges::stable_sort(out, std::greater(), share);
  out.resize(most);
  std::erase_if(out, [&](const LineCounts& one) { return share(one) < kLeast; });
  std::ranges::stable_sort(out, {}, &LineCounts::line);
  return out;
}

}  // namespace warpbit::profile
