// SPDX-License-Identifier: Apache-2.0
#include "explain/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "explain/dyadic.hpp"
#include "warpbit/format.hpp"

namespace warpbit {

std::string short_text(const ExactNumber& x) {
  if (x.kind != ExactNumber::Kind::finite || x.bits.empty()) return x.decimal();
  constexpr std::size_t kDoubleBits = 53, kDigits = 18;
  const double value = approximate(x);
  if (std::isnormal(value)) return fmt::format("{}{}", x.bits.size() <= kDoubleBits ? "" : "~", value);
  const std::string all = x.decimal();
  const std::size_t exponent = std::min(all.find('e'), all.size());
  return exponent <= kDigits ? all : fmt::format("~{}{}", all.substr(0, kDigits), all.substr(exponent));
}

std::string instruction_text(const Explanation& e, const ExplainedSum& sum) {
  if (e.instructions == 1) return "";
  if (sum.instruction == 0) return " (of two runs)";
  return fmt::format(" (instruction {} of {})", sum.instruction, e.instructions);
}

std::string error_text(const Explanation& e) {
  return fmt::format(
      "{} ulp of {}; {}", short_text(*e.ulps), e.format,
      e.code == *e.nearest ? "it is the nearest" : "the nearest is " + code_text(e.format, *e.nearest));
}

}  // namespace warpbit
