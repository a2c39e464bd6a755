// SPDX-License-Identifier: Apache-2.0
#include "reduction/problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>

#include "reduction/functions.hpp"

namespace warpbit::reduction {
namespace {

// Where a function has the argument or the result that belongs to f32 alone.
template <class Number>
std::vector<Number> applied(std::string_view function, const std::vector<Number>& a,
                            const std::vector<Number>& b = {}) {
  const std::vector<float> first(a.begin(), a.end()), second(b.begin(), b.end());
  const std::vector<float> out = computed(function, first, second);
  return {out.begin(), out.end()};
}

}  // namespace

std::string_view exponential_of(std::string_view function) {
  return function.substr(0, function.find(':'));
}

bool has(std::string_view function, std::string_view word) {
  return function == word || (function.size() > word.size() && function.ends_with(word) &&
                              function[function.size() - word.size() - 1] == ':');
}

namespace {

// By number.
const std::array<ReductionRow, 10> kReductions = {{
    {"sum", false, false, false, {{""}}},
    {"mean", false, false, true, {{"reciprocal"}, {""}}},
    {"norm", false, true, false, {{"", true}, {"", false}}},
    {"softmax",
     true,
     false,
     false,
     {{"expf"}, {"ex2:full"}, {"expf:full"}, {"expf:reciprocal"}, {"ex2"}, {"ex2:reciprocal"}}},
    {"layer_norm", true, false, false, {{""}}},
    {"rms_norm", true, true, true, {{"", true}, {"", false}, {"reciprocal", true}, {"reciprocal", false}}},
    {"logsumexp", false, false, false, {{"expf"}, {"ex2"}, {"expf:steps"}}},
    {"log_softmax", true, false, false, {{"expf"}, {"ex2"}}},
    {"cumsum", true, false, false, {{""}}},
    {"attention",
     false,
     false,
     false,
     {{"ex2:full"}, {"expf:full"}, {"ex2"}, {"expf"}, {"ex2:reciprocal"}, {"expf:reciprocal"}}},
}};

}  // namespace

const ReductionRow& row_of(Reduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}

template <class Number>
std::vector<std::vector<Number>> numbers_of(std::span<const std::uint64_t> codes, std::string_view format,
                                            std::size_t columns) {
  const Codec from = *Codec::find(format);
  std::vector<std::vector<Number>> out(codes.size() / columns);
  for (std::size_t i = 0; i < codes.size(); ++i)
    out[i / columns].push_back(static_cast<Number>(from.decode(codes[i])));
  return out;
}
template std::vector<std::vector<float>> numbers_of(std::span<const std::uint64_t>, std::string_view,
                                                    std::size_t);
template std::vector<std::vector<double>> numbers_of(std::span<const std::uint64_t>, std::string_view,
                                                     std::size_t);

// A GPU's NaN has all bits of its fraction but the sign; of f64 that of an operand stays (NUMERICS.md).
template <class Number>
std::vector<std::uint64_t> codes_of(const std::vector<Number>& numbers, std::string_view format) {
  const Codec to = *Codec::find(format);
  const std::uint64_t nan = format == "f32" ? 0x7FFF'FFFF : 0x7FFF;
  std::vector<std::uint64_t> out;
  for (const Number one : numbers) {
    if (format == "f64")
      out.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(one)));
    else
      out.push_back(std::isnan(one) ? nan : *to.encode(static_cast<double>(one)));
  }
  return out;
}

template std::vector<std::uint64_t> codes_of(const std::vector<float>&, std::string_view);
template std::vector<std::uint64_t> codes_of(const std::vector<double>&, std::string_view);

template <class Number>
Rows<Number>::Rows(const ReductionProblem& problem, const Variant& variant)
    : problem_(problem),
      variant_(variant),
      x_(numbers_of<Number>(problem.x, problem.x_format, problem.columns)),
      terms_(problem.rows) {
  const bool has_squares = row_of(problem.reduction).adds_squares;
  const bool has_exponentials = problem.reduction == Reduction::softmax ||
                                problem.reduction == Reduction::logsumexp ||
                                problem.reduction == Reduction::log_softmax;
  for (std::size_t row = 0; row < problem.rows; ++row) {
    terms_[row] = has_exponentials ? exponentials(row) : x_[row];
    if (has_squares && !variant.fused)
      for (Number& one : terms_[row]) one *= one;
  }
}

// Numbers as a step leaves them.
template <class Number>
std::vector<Number> Rows<Number>::stepped(std::vector<Number> x) const {
  if (!has(variant_.function, "steps")) return x;
  const Codec to = *Codec::find(problem_.x_format);
  for (Number& one : x) one = static_cast<Number>(to.decode(*to.encode(static_cast<double>(one))));
  return x;
}

template <class Number>
Number Rows<Number>::greatest(std::size_t row) const {
  return *std::ranges::max_element(x_[row]);
}

template <class Number>
std::vector<Number> Rows<Number>::exponentials(std::size_t row) const {
  std::vector<Number> out = x_[row];
  const Number most = greatest(row);
  for (Number& one : out) one -= most;
  return stepped(applied(exponential_of(variant_.function), stepped(std::move(out))));
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
    case Reduction::logsumexp: {
      const Number log = stepped(applied("logf", stepped({sum})))[0];
      return {log + greatest(row)};
    }
    case Reduction::log_softmax: {
      const Number log = applied("logf", std::vector{sum})[0], most = greatest(row);
      out = x_[row];
      for (Number& one : out) one = (one - most) - log;
      return out;
    }
    case Reduction::layer_norm: break;  // Moments
    case Reduction::attention: break;   // online
    case Reduction::cumsum: break;      // prefix
    case Reduction::rms_norm: {
      const Number root = applied("rsqrt", std::vector{mean + static_cast<Number>(problem_.epsilon)})[0];
      out = x_[row];
      for (Number& one : out) one *= root;
      return out;
    }
  }
  return out;
}

template <class Number>
std::vector<std::uint64_t> Rows<Number>::results(std::size_t row, Number sum) const {
  return codes_of(finished(row, sum), problem_.d_format);
}

template class Rows<float>;
template class Rows<double>;

// ---- Means and variances

Moments Moments::with(float value) const {
  const float more = count + 1, off = value - mean, new_mean = std::fma(off, 1 / more, mean);
  return {new_mean, std::fma(off, value - new_mean, squares), more};
}

Moments operator+(Moments to, Moments from) {
  const float count = from.count + to.count;
  if (!(count > 0)) return {};
  const float off = to.mean - from.mean, part = 1 / count, of_from = from.count * part, of_to = to.count * part;
  const float of_mean = of_to * to.mean, square = off * off, weighted = square * from.count,
              squares = from.squares + to.squares;
  return {std::fma(of_from, from.mean, of_mean), std::fma(weighted, of_to, squares), count};
}

MomentRows::MomentRows(const ReductionProblem& problem, const Variant& /*variant*/)
    : problem_(problem), x_(numbers_of<float>(problem.x, problem.x_format, problem.columns)) {}

std::vector<std::uint64_t> MomentRows::results(std::size_t row, const Moments& sum) const {
  const float variance = sum.squares / static_cast<float>(problem_.columns);
  const float root = applied("rsqrt", std::vector{variance + static_cast<float>(problem_.epsilon)})[0];
  std::vector<float> out = x_[row];
  for (float& one : out) one = root * (one - sum.mean);
  return codes_of(out, problem_.d_format);
}

}  // namespace warpbit::reduction

namespace warpbit {

using reduction::kReductions;
using reduction::ReductionRow;

Result<Reduction> find_reduction(std::string_view name) {
  const auto found = std::ranges::find(kReductions, name, &ReductionRow::name);
  if (found != kReductions.end()) return static_cast<Reduction>(found - kReductions.begin());
  std::vector<std::string_view> names;
  for (const ReductionRow& one : kReductions) names.push_back(one.name);
  return Error{Errc::usage, "the reduction", fmt::format("'{}'", name),
               fmt::format("one of {}", fmt::join(names, ", "))};
}

std::string_view name(Reduction reduction) {
  return reduction::row_of(reduction).name;
}

bool leaves_values(Reduction reduction) {
  return reduction::row_of(reduction).leaves_values;
}

}  // namespace warpbit
