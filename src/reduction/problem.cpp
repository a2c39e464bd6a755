// SPDX-License-Identifier: Apache-2.0
#include "reduction/problem.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "reduction/functions.hpp"

namespace warpbit::reduction {
namespace {

// Where a function has the argument or the result that belongs to f32 alone.
template <class Number>
std::vector<Number> applied(std::string_view function, const std::vector<Number>& a,
                            const std::vector<Number>& b = {}) {
  const std::vector<float> first(a.begin(), a.end()), second(b.begin(), b.end());
  const std::vector<float> out = apply(function, first, second);
  return {out.begin(), out.end()};
}

template <class Number>
std::vector<Number> exponentials(const std::vector<Number>& x, std::string_view function) {
  std::vector<Number> out = x;
  const Number greatest = x.empty() ? Number{} : *std::ranges::max_element(x);
  for (Number& one : out) one -= greatest;
  return applied(function.substr(0, function.find(':')), out);
}

bool has(std::string_view function, std::string_view word) {
  return function == word || (function.size() > word.size() && function.ends_with(word) &&
                              function[function.size() - word.size() - 1] == ':');
}

}  // namespace

std::vector<Variant> variants_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum: return {{""}};
    case Reduction::mean: return {{"reciprocal"}, {""}};
    case Reduction::norm: return {{"", true}, {"", false}};
    case Reduction::softmax:
      return {{"expf"}, {"ex2:full"}, {"expf:full"}, {"expf:reciprocal"}, {"ex2"}, {"ex2:reciprocal"}};
    case Reduction::rms_norm: return {{"", true}, {"", false}, {"reciprocal", true}, {"reciprocal", false}};
  }
  return {};
}

template <class Number>
Rows<Number>::Rows(const ReductionProblem& problem, const Variant& variant)
    : problem_(problem),
      variant_(variant),
      format_(*Codec::find(problem.d_format)),
      x_(problem.rows),
      terms_(problem.rows),
      known_(problem.rows) {
  const Codec from = *Codec::find(problem.x_format);
  const bool has_squares = problem.reduction == Reduction::norm || problem.reduction == Reduction::rms_norm;
  for (std::size_t row = 0; row < problem.rows; ++row) {
    for (const std::uint64_t code : problem.x.subspan(row * problem.columns, problem.columns))
      x_[row].push_back(static_cast<Number>(from.decode(code)));
    terms_[row] = problem.reduction == Reduction::softmax ? exponentials(x_[row], variant.function) : x_[row];
    if (has_squares && !variant.fused)
      for (Number& one : terms_[row]) one *= one;
  }
}

template <class Number>
std::vector<Number> Rows<Number>::finished(std::size_t row, Number sum) const {
  const auto n = static_cast<Number>(problem_.columns);
  const bool by_reciprocal = has(variant_.function, "reciprocal");
  const Number mean = by_reciprocal ? sum * (Number{1} / n) : sum / n;
  std::vector<Number> out;
  switch (problem_.reduction) {
    case Reduction::sum: return {sum};
    case Reduction::mean: return {mean};
    case Reduction::norm: return {std::sqrt(sum)};
    case Reduction::softmax:
      out = terms_[row];
      if (has(variant_.function, "full")) return applied("div_full", out, std::vector<Number>(out.size(), sum));
      for (Number& one : out) one = by_reciprocal ? one * (Number{1} / sum) : one / sum;
      return out;
    case Reduction::rms_norm: {
      const Number root = applied("rsqrt", std::vector{mean + static_cast<Number>(problem_.epsilon)})[0];
      out = x_[row];
      for (Number& one : out) one *= root;
      return out;
    }
  }
  return out;
}

// A GPU's NaN has all bits of its fraction but the sign.
template <class Number>
std::uint64_t Rows<Number>::code(Number number) const {
  if (std::isnan(number))
    return problem_.d_format == "f64"   ? 0x7FFF'FFFF'FFFF'FFFF
           : problem_.d_format == "f32" ? 0x7FFF'FFFF
                                        : 0x7FFF;
  if constexpr (std::is_same_v<Number, float>)
    if (problem_.d_format == "f32") return std::bit_cast<std::uint32_t>(number);
  return *format_.encode(static_cast<double>(number));
}

template <class Number>
std::vector<std::uint64_t> Rows<Number>::results(std::size_t row, Number sum) const {
  std::vector<std::uint64_t> out;
  for (const Number one : finished(row, sum)) out.push_back(code(one));
  return out;
}

template <class Number>
bool Rows<Number>::explains(std::size_t row, Number sum) {
  const std::scoped_lock lock(mutex_);
  const auto found = known_[row].find(sum);
  if (found != known_[row].end()) return found->second;
  const std::vector<std::uint64_t> got = results(row, sum);
  const bool out = std::ranges::equal(got, problem_.d.subspan(row * got.size(), got.size()));
  if (!std::isnan(sum)) known_[row].emplace(sum, out);
  return out;
}

template class Rows<float>;
template class Rows<double>;

}  // namespace warpbit::reduction
