// SPDX-License-Identifier: Apache-2.0
// What is added of each row, and what becomes of the sum.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
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
std::vector<Variant> variants_of(Reduction reduction);

/// Rows as numbers: f32, or f64 if x is.
template <class Number>
class Rows {
 public:
  /// Preconditions: the formats are known, and the sizes fit.
  Rows(const ReductionProblem& problem, const Variant& variant);

  Terms<Number> terms(std::size_t row) const { return {terms_[row], variant_.fused}; }
  /// The codes of D for a row whose sum is that.
  std::vector<std::uint64_t> results(std::size_t row, Number sum) const;
  /// Whether D has them. What is known of a sum is kept.
  bool explains(std::size_t row, Number sum);

 private:
  std::vector<Number> finished(std::size_t row, Number sum) const;
  std::uint64_t code(Number number) const;

  const ReductionProblem& problem_;
  Variant variant_;
  Codec format_;
  std::vector<std::vector<Number>> x_, terms_;
  std::mutex mutex_;
  std::vector<std::map<Number, bool>> known_;
};

extern template class Rows<float>;
extern template class Rows<double>;

}  // namespace warpbit::reduction
