// SPDX-License-Identifier: Apache-2.0
#include "numeric/plan.hpp"

#include <fmt/format.h>

namespace warpbit {
namespace {

std::string start(Start s) {
  return s == Start::zero ? " from zero" : "";
}

std::string floor_text(int floor) {
  return floor == kNoFloor ? "no floor" : fmt::format("floor {}", floor);
}

std::string text(const Fused& s) {
  const Format& result = format(s.result);
  std::string out =
      fmt::format("fused L {}, F {}, {}{}", s.products, s.window, floor_text(s.floor), start(s.start));
  if (s.k != KSet{}) {
    out += fmt::format(", k % {} in {{", s.k.period);
    bool first = true;
    for (int k = 0; k < s.k.period; ++k) {
      if (!s.k.contains(static_cast<std::size_t>(k))) continue;
      out += fmt::format("{}{}", first ? "" : ",", k);
      first = false;
    }
    out += "}";
  }
  out += fmt::format(" -> {} {}", result.name, name(s.rounding));
  if (s.kept_fraction_bits < result.fraction_bits)
    out += fmt::format(", {} fraction bits", s.kept_fraction_bits);
  return out;
}
std::string text(const GroupScaled& s) {
  std::string out = fmt::format("scaled groups of {}, F {}, {}", s.group, s.window, floor_text(s.floor));
  if (s.least != kNoFloor) out += fmt::format(", lesser ones from 2^{}", s.least);
  return out + fmt::format(" -> {} {}", format(s.result).name, name(s.rounding));
}
std::string text(const WindowedGroups& s) {
  return fmt::format("scaled groups of {}, of {} below C, F {} -> {} {}", s.group, s.group_below_c, s.window,
                     format(s.result).name, name(s.rounding));
}
std::string text(const FmaChain& s) {
  return fmt::format("{}{} in {} {}{}", s.fused ? "fma chain" : "chain of mul and add", start(s.start),
                     format(s.format).name, name(s.rounding),
                     s.nan == NanRule::first_of_b_sum_a ? ", first NaN of b, sum, a" : "");
}
std::string text(const PairSums& s) {
  return fmt::format("add sums of two products in {} {}", format(s.format).name, name(s.rounding));
}
std::string text(const Add& s) {
  return fmt::format("add C in {} {}", format(s.format).name, name(s.rounding));
}
std::string text(const Convert& s) {
  return fmt::format("convert to {} {}", format(s.format).name, name(s.rounding));
}
std::string text(const IntegerSum& s) {
  if (s.overflow != Overflow::saturate) return "integer sum, wrapped";
  return s.products == kWholeDepth ? "integer sum, clamped"
                                   : fmt::format("integer sums of {}, each clamped", s.products);
}
std::string text(const BitCount& s) {
  return s.operation == BitOperation::and_ ? "popcount of and, wrapped" : "popcount of xor, wrapped";
}

}  // namespace

std::string describe(const Step& step) {
  return std::visit([](const auto& s) { return text(s); }, step);
}

std::string describe(const Plan& plan) {
  std::string out = plan.operands ? fmt::format("operands to {}", format(*plan.operands).name) : "";
  for (const Step& step : plan) {
    if (!out.empty()) out += "; ";
    out += describe(step);
  }
  return out;
}

std::string_view name(Rounding rounding) {
  switch (rounding) {
    case Rounding::nearest_even: return "rn";
    case Rounding::toward_zero: return "rz";
    case Rounding::down: return "rm";
    case Rounding::up: return "rp";
    case Rounding::nearest_away: return "rna";
  }
  return "";
}

}  // namespace warpbit
