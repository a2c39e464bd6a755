// SPDX-License-Identifier: Apache-2.0
#include "explain/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "explain/dyadic.hpp"
#include "warpbit/format.hpp"

namespace warpbit {
namespace {

// Exponent of the highest bit. Precondition: it has one.
int top_of(const ExactNumber& x) {
  return x.exponent + static_cast<int>(x.bits.size()) - 1;
}

constexpr std::string_view kInferred = "inferred: no result of that GPU";

// Which addend E is from. Its exponent is raw (NUMERICS.md, "The node"), or that of a group's scales.
std::string source_of_e(const ExplainedSum& sum) {
  const auto found = std::ranges::find_if(sum.addends, &ExplainedAddend::sets_e);
  if (found == sum.addends.end()) return "the floor";
  if (found->name.find("..") != found->name.npos)
    return fmt::format("the largest exponent, of the scales of {}", found->name);
  const int top = top_of(found->value);
  if (top == sum.window->e) return fmt::format("the largest exponent, of {}", found->name);
  return fmt::format("the largest raw exponent, of {}, whose first bit is 2^{}", found->name, top);
}

}  // namespace

std::string mark(const Explanation& e) {
  if (e.inferred) return std::string(kInferred);
  return e.assumed.empty() ? "" : fmt::format("inferred: {}", fmt::join(e.assumed, ", "));
}

std::string mark(const Instruction& i) {
  if (i.inferred()) return std::string(kInferred);
  const Evidence& e = i.evidence();
  if (e.overall() == Basis::inferred) return "";  // by definition
  std::string out;
  // That no sum can reach the floor is proved where the rest is captured.
  const bool has_floor = e.order.basis != Basis::captured;
  for (const auto& [name, ground] : {std::pair("floor", &e.floor), std::pair("specials", &e.specials)})
    if (ground->basis >= Basis::value_only && (has_floor || ground != &e.floor))
      out += fmt::format("{}{} ({})", out.empty() ? "inferred: " : ", ", name, ground->from);
  return out;
}

std::string marked(const Explanation& e) {
  const std::string text = mark(e);
  return text.empty() ? "" : fmt::format(" ({})", text);
}

std::string plan_text(const Explanation& e) {
  return fmt::format("{}{}{}", e.instructions > 1 ? fmt::format("{} instructions, each ", e.instructions) : "",
                     e.plan, marked(e));
}

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

std::string window_text(const ExplainedSum& sum) {
  return fmt::format("E = {}, {}; F = {}: multiples of 2^{} are kept", sum.window->e, source_of_e(sum),
                     sum.window->f, sum.window->e - sum.window->f);
}

std::string addition_text(const ExplainedSum& sum) {
  std::vector<std::string> names, values;
  for (const ExplainedAddend& addend : sum.addends)
    if (!addend.value.is_zero()) {
      names.push_back(addend.name);
      values.push_back(short_text(addend.value));
    }
  if (names.empty()) return "only zeros are added";
  return fmt::format("{} = {}", fmt::join(names, " + "), fmt::join(values, " + "));
}

std::string error_text(const Explanation& e) {
  return fmt::format(
      "{} ulp of {}; {}", short_text(*e.ulps), e.format,
      e.code == *e.nearest ? "it is the nearest" : "the nearest is " + code_text(e.format, *e.nearest));
}

std::string group_text(const ExplainedAddend& addend) {
  const ScaledGroup& group = *addend.group;
  return fmt::format("{}: their sum {}, times the scales {} and {}", addend.name, short_text(group.sum),
                     short_text(group.a_scale), short_text(group.b_scale));
}

// ---- Bits

std::optional<int> last_bit(const ExplainedSum& sum) {
  const Format& f = *find_format(sum.format);
  if (f.is_integer || sum.result.kind != ExactNumber::Kind::finite) return std::nullopt;
  return (sum.result.is_zero() ? f.min_exponent() : std::max(top_of(sum.result), f.min_exponent())) -
         f.fraction_bits;
}

std::string precision_text(const ExplainedSum& sum) {
  const std::optional<int> last = last_bit(sum);
  if (!has_columns(sum) || !last || sum.result.is_zero() || BitColumns(sum).low() >= *last) return "";
  return fmt::format("; the last bit of {} is 2^{}", sum.format, *last);
}

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

std::string BitColumns::kept(const ExactNumber& x, std::optional<int> last) const {
  std::string out = kept(x);
  if (!last || x.bits.empty()) return out;
  for (int at = std::min(top_, *last - 1); at >= low_; --at) out[static_cast<std::size_t>(top_ - at)] = '.';
  return out;
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

}  // namespace warpbit
