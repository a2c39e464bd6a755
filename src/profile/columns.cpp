// SPDX-License-Identifier: Apache-2.0
#include "profile/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "profile/drawing.hpp"

namespace warpbit::profile {
namespace {

using ptx::Counts, ptx::LineCounts;

constexpr Column kColumns[] = {
    {"steps", "by warps", &Counts::warps},
    {"conflicts", "more passes", &Counts::conflicts, nullptr, true},
    {"sectors", "/least", &Counts::sectors, &Counts::least_sectors},
    {"global", "bytes", &Counts::bytes},
    {"shared", "bytes", &Counts::shared_bytes},
    {"tensor", "bytes", &Counts::tensor_bytes},
    {"local", "bytes", &Counts::local_bytes},
    {"const", "bytes", &Counts::constant_bytes},
    {"products", "multiply-adds", &Counts::products},
};

Counts sum_of(std::span<const LineCounts> lines) {
  Counts out;
  for (const LineCounts& one : lines) out += one;
  return out;
}

}  // namespace

std::vector<Column> columns_of(std::span<const LineCounts> lines) {
  const Counts all = sum_of(lines);
  std::vector<Column> out;
  std::ranges::copy_if(kColumns, std::back_inserter(out), [&](const Column& c) { return all.*c.count != 0; });
  return out;
}

std::string cell_text(const Column& column, const Counts& of) {
  if (of.*column.count == 0) return "-";
  const std::string out = number_text(of.*column.count);
  return column.least == nullptr ? out : out + "/" + number_text(of.*column.least);
}

std::string lanes_text(const Counts& of) {
  if (of.warps == 0) return "-";
  if (of.lanes % of.warps == 0) return std::to_string(of.lanes / of.warps);
  return fmt::format("{:.1f}", static_cast<double>(of.lanes) / static_cast<double>(of.warps));
}

std::vector<LineCounts> largest(std::span<const LineCounts> lines, std::span<const Column> columns,
                                std::size_t most) {
  std::vector<LineCounts> out(lines.begin(), lines.end());
  if (out.size() <= most) return out;
  const Counts all = sum_of(lines);
  const auto share = [&](const LineCounts& one) {
    double greatest = 0;
    for (const Column& c : columns)
      greatest = std::max(greatest, static_cast<double>(one.*c.count) / static_cast<double>(all.*c.count));
    return greatest;
  };
  std::ranges::stable_sort(out, std::greater(), share);
  out.resize(most);
  std::ranges::stable_sort(out, {}, &LineCounts::line);
  return out;
}

}  // namespace warpbit::profile
