// SPDX-License-Identifier: Apache-2.0
#include "layout/linear.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace warpbit {
namespace {

std::int64_t sum(const std::vector<CuteMode>& modes, int value) {
  std::int64_t out = 0;
  for (const CuteMode& mode : modes) {
    out += value % mode.size * mode.stride;
    value /= mode.size;
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  return words.size() == 1 ? words[0] : fmt::format("({})", fmt::join(words, ","));
}

// "i / 8 % 2 * 8", "i % 8".
std::string term(const std::string& name, int below, const CuteMode& mode, bool is_top) {
  std::string out = name;
  if (below > 1) out += fmt::format(" / {}", below);
  if (!is_top) out += fmt::format(" % {}", mode.size);
  if (mode.stride != 1) out += fmt::format(" * {}", mode.stride);
  return out;
}

}  // namespace

std::optional<std::vector<CuteMode>> modes_of(int size, const std::function<std::int64_t(int)>& f) {
  std::vector<CuteMode> out;
  const std::int64_t origin = f(0);
  for (int below = 1; below < size;) {
    const int left = size / below;
    const std::int64_t stride = f(below) - origin;
    int longest = 1;
    while (longest < left && f(below * longest) - origin == longest * stride) ++longest;
    while (left % longest != 0) --longest;  // digits of a mixed radix divide what is left
    if (longest == 1) return std::nullopt;
    out.push_back({longest, stride});
    below *= longest;
  }
  for (int x = 0; x < size; ++x)
    if (f(x) - origin != sum(out, x)) return std::nullopt;
  return out;
}

std::string cute_text(const std::vector<std::vector<CuteMode>>& variables) {
  std::vector<std::string> shapes, strides;
  for (const std::vector<CuteMode>& modes : variables) {
    std::vector<std::string> sizes, steps;
    for (const CuteMode& mode : modes) {
      sizes.push_back(fmt::format("{}", mode.size));
      steps.push_back(fmt::format("{}", mode.stride));
    }
    shapes.push_back(modes.empty() ? "1" : joined(sizes));
    strides.push_back(modes.empty() ? "0" : joined(steps));
  }
  return fmt::format("({}):({})", fmt::join(shapes, ","), fmt::join(strides, ","));
}

std::string linear_text(const std::vector<LinearVariable>& variables,
                        const std::function<std::int64_t(std::span<const int>)>& f) {
  std::vector<int> index(variables.size());
  const std::int64_t origin = f(index);
  std::vector<std::vector<CuteMode>> modes;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const auto found = modes_of(variables[v].size, [&](int value) {
      std::vector<int> at(variables.size());
      at[v] = value;
      return f(at);
    });
    if (!found) return "";
    modes.push_back(*found);
  }
  for (bool more = true; more;) {  // all combinations
    std::int64_t expected = origin;
    for (std::size_t v = 0; v < variables.size(); ++v) expected += sum(modes[v], index[v]);
    if (f(index) != expected) return "";
    more = false;
    for (std::size_t v = 0; v < variables.size() && !more; ++v) {
      more = ++index[v] < variables[v].size;
      if (!more) index[v] = 0;
    }
  }
  std::vector<std::string> terms;
  if (origin != 0) terms.push_back(fmt::format("{}", origin));
  for (std::size_t v = 0; v < variables.size(); ++v) {
    int below = 1;
    for (const CuteMode& mode : modes[v]) {
      if (mode.stride != 0)
        terms.push_back(term(variables[v].name, below, mode, below * mode.size == variables[v].size));
      below *= mode.size;
    }
  }
  return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}

}  // namespace warpbit
