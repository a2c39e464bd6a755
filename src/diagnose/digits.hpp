// SPDX-License-Identifier: Apache-2.0
// A fragment as a kernel computes it: which element a lane reads or writes, as a sum of digits of its indices.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/hypothesis.hpp"

namespace warpbit::diagnosis {

// What a kernel may compute from an index instead of what it should.
struct Expression {
  std::string text;  // with {} for the index
  int (*value)(int index, int constant);
  int constant;
};
inline std::vector<Expression> expressions() {
  std::vector<Expression> out;
  const auto add = [&](std::string_view text, int first, int last, int (*value)(int, int)) {
    for (int n = first; n <= last; ++n) out.push_back({fmt::format(fmt::runtime(text), n), value, n});
  };
  out.push_back({"0", [](int, int) { return 0; }, 0});
  out.push_back({"{}", [](int x, int) { return x; }, 0});
  add("{{}} >> {}", 1, 5, [](int x, int n) { return x >> n; });
  add("{{}} & {}", 1, 16, [](int x, int n) { return x & n; });
  add("{{}} % {}", 3, 7, [](int x, int n) { return x % n; });
  add("{{}} / {}", 3, 7, [](int x, int n) { return x / n; });
  add("({{}} >> 2) & {}", 1, 7, [](int x, int n) { return x >> 2 & n; });
  add("({{}} >> {}) & 7", 1, 4, [](int x, int n) { return x >> n & 7; });
  return out;
}

// ---- Maps as sums of digits

// (index >> first) & (2^bits - 1), the last digit of an index unmasked, moves by `step` each.
struct Digit {
  int source;  // 0: lane, 1: register, 2: slot
  int first, bits;
  Coordinate step;

  int of(const Index& i) const { return i[source] >> first & ((1 << bits) - 1); }
  std::string text() const {
    constexpr std::array<std::string_view, 3> kNames{"lane", "register", "element"};
    const auto name = kNames[static_cast<std::size_t>(source)];
    if (first == 0) return fmt::format("{} % {}", name, 1 << bits);
    return fmt::format("{} / {}", name, 1 << first);
  }
};
inline Coordinate operator*(int n, const Coordinate& c) {
  return {n * c.row, n * c.column, n * c.product};
}
inline Coordinate operator+(const Coordinate& x, const Coordinate& y) {
  return {x.row + y.row, x.column + y.column, x.product + y.product};
}

// The digits of a fragment, each as long as it can be; empty if it is no sum of such.
inline std::vector<Digit> digits_of(const Fragment& f) {
  std::vector<Digit> out;
  for (int source = 0; source < 3; ++source)
    for (int bit = 0; 1 << bit < f.counts()[source]; ++bit) {
      const Coordinate step =
          f.at({source == 0 ? 1 << bit : 0, source == 1 ? 1 << bit : 0, source == 2 ? 1 << bit : 0});
      if (!out.empty() && out.back().source == source && (1 << out.back().bits) * out.back().step == step)
        ++out.back().bits;
      else
        out.push_back({source, bit, 1, step});
    }
  for (std::size_t slot = 0; slot < f.size(); ++slot) {
    Coordinate sum;
    for (const Digit& digit : out) sum = sum + digit.of(f.index(slot)) * digit.step;
    if (sum != f.at(f.index(slot))) return {};
  }
  return out;
}

inline std::string step_text(const Coordinate& step, Part part) {
  const auto some = [](int n, std::string_view one) {
    return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
  };
  if (step.row != 0 && step.column != 0)
    return fmt::format("{} and {}", some(step.row, "row"), some(step.column, "column"));
  if (step.row != 0) return some(step.row, "row");
  return step.column != 0 || part == Part::d ? some(step.column, "column") : "nothing";
}

}  // namespace warpbit::diagnosis
