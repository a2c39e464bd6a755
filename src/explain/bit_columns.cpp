// SPDX-License-Identifier: Apache-2.0
#include "explain/bit_columns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace warpbit {
namespace {

// Exponent of the highest bit. Precondition: it has one.
int top_of(const ExactNumber& x) {
  return x.exponent + static_cast<int>(x.bits.size()) - 1;
}

}  // namespace

bool has_columns(const ExplainedSum& sum) {
  return sum.window && !std::ranges::all_of(sum.addends, &ExactNumber::is_zero, &ExplainedAddend::value);
}

BitColumns::BitColumns(const ExplainedSum& sum)
    : top_(sum.window->e - sum.window->f), low_(sum.window->e - sum.window->f) {
  const auto include = [this](const ExactNumber& x) {
    if (x.bits.empty()) return;
    top_ = std::max(top_, top_of(x));
    lost_ = std::max(lost_, low_ - x.exponent);
  };
  for (const ExplainedAddend& addend : sum.addends) include(addend.value);
  include(sum.total);
  include(sum.result);
}

std::pair<std::string, std::string> BitColumns::headings(std::size_t width) const {
  const std::string first = fmt::format("2^{}", top_), last = fmt::format("2^{}", low_);
  if (top_ == low_) return {last, ""};
  if (first.size() + 1 + last.size() <= width) return {first, last};
  return {fmt::format("{} to {}", first, last), ""};
}

// Zeros between the lowest bit and the end of the columns that are kept are written, not those in front.
std::string BitColumns::columns(const ExactNumber& x, int from, int to) const {
  std::string out;
  for (int at = from; at >= to; --at) {
    const int index = x.bits.empty() ? -1 : top_of(x) - at;
    if (index < 0)
      out += x.bits.empty() && at == low_ ? '0' : ' ';
    else
      out += index < static_cast<int>(x.bits.size()) ? x.bits[static_cast<std::size_t>(index)] : '0';
  }
  return out;
}

std::string BitColumns::kept(const ExactNumber& x) const {
  return columns(x, top_, low_);
}

std::string BitColumns::cut(const ExactNumber& x) const {
  return x.bits.empty() ? "" : columns(x, low_ - 1, x.exponent);
}

}  // namespace warpbit
