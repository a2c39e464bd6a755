// SPDX-License-Identifier: Apache-2.0
// What is added of each row, and what becomes of the sum.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpbit/format.hpp"
#include "warpbit/reduction.hpp"

namespace warpbit::reduction {

/// A row's terms, as `begin` adds them; squares are added as x x + sum, rounded once.
template <class Number>
struct Terms {
  using Value = Number;
  const std::vector<Number>& of;
  bool are_squares = false;

  Number value(std::size_t i) const { return are_squares ? of[i] * of[i] : of[i]; }
  Number add(Number sum, std::size_t i) const {
    return are_squares ? std::fma(of[i], of[i], sum) : sum + of[i];
  }
};

/// The functions of a reduction that are not its sum: one of ReductionOrder::function, and `fused`.
struct Variant {
  std::string_view function;
  bool fused = false;
};
/// A reduction.
struct ReductionRow {
  std::string_view name;
  bool leaves_values = false, adds_squares = false, divides_by_columns = false;
  std::vector<Variant> variants;  ///< the likely one first
};
const ReductionRow& row_of(Reduction reduction);
/// Of "ex2:full": "ex2"; whether "full" is one of the words.
std::string_view exponential_of(std::string_view function);
bool has(std::string_view function, std::string_view word);

/// Rows of codes as numbers. Precondition: the format is known.
template <class Number>
std::vector<std::vector<Number>> numbers_of(std::span<const std::uint64_t> codes, std::string_view format,
                                            std::size_t columns);

/// The codes of numbers, with the NaNs of a GPU. Precondition: the format is known.
template <class Number>
std::vector<std::uint64_t> codes_of(const std::vector<Number>& numbers, std::string_view format);

/// Rows as numbers: f32, or f64 if x is.
template <class Number>
class Rows {
 public:
  using Value = Number;

  /// Preconditions: the formats are known, and the sizes fit.
  Rows(const ReductionProblem& problem, const Variant& variant);

  Terms<Number> terms(std::size_t row) const { return {terms_[row], variant_.fused}; }
  /// The codes of D for a row whose sum is that.
  std::vector<std::uint64_t> results(std::size_t row, Number sum) const;

 private:
  std::vector<Number> finished(std::size_t row, Number sum) const;
  std::vector<Number> stepped(std::vector<Number> x) const;
  Number greatest(std::size_t row) const;
  std::vector<Number> exponentials(std::size_t row) const;

  const ReductionProblem& problem_;
  Variant variant_;
  std::vector<std::vector<Number>> x_, terms_;
};

extern template class Rows<float>;
extern template class Rows<double>;

/// How many values there are, their mean, and the sum of squares of how far they are off it, as PyTorch's kernels keep and merge them
/// (cuWelfordOnlineSum and cuWelfordCombine; which products are fused an H200 has shown).
struct Moments {
  float mean = 0, squares = 0, count = 0;

  Moments with(float value) const;
  friend Moments operator+(Moments to, Moments from);
  friend auto operator<=>(const Moments&, const Moments&) = default;
};
struct MomentTerms {
  using Value = Moments;
  const std::vector<float>& of;

  Moments value(std::size_t i) const { return Moments().with(of[i]); }
  Moments add(Moments sum, std::size_t i) const { return sum.with(of[i]); }
};

/// Rows of layer_norm.
class MomentRows {
 public:
  using Value = Moments;

  MomentRows(const ReductionProblem& problem, const Variant& variant);
  MomentTerms terms(std::size_t row) const { return {x_[row]}; }
  std::vector<std::uint64_t> results(std::size_t row, const Moments& sum) const;

 private:
  const ReductionProblem& problem_;
  std::vector<std::vector<float>> x_;
};

}  // namespace warpbit::reduction
