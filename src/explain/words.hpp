// SPDX-License-Identifier: Apache-2.0
// What texts and pictures have in common: words, and numbers as bits under each other.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "warpbit/explain.hpp"

namespace warpbit {

/// "2 instructions, each ..., f32 rz (inferred: no result of that GPU)", with the mark where there is one.
std::string plan_text(const Explanation& e);
/// " (inferred: no result of that GPU)"
std::string marked(const Explanation& e);
/// "0.1", or "~0.1" if a double does not hold the number.
std::string short_text(const ExactNumber& x);
/// In a chain: " (instruction 1 of 2)", or " (of two runs)".
std::string instruction_text(const Explanation& e, const ExplainedSum& sum);
/// "E = 2, the largest exponent, of a[2] b[2]; F = 25: multiples of 2^-23 are kept". Precondition: a window.
std::string window_text(const ExplainedSum& sum);
/// "c + a[0] b[0] = 0.1 + 2.5", without zeros.
std::string addition_text(const ExplainedSum& sum);
/// "0.25 ulp of f32; it is the nearest". Precondition: it has a distance.
std::string error_text(const Explanation& e);

/// "a[0..15] b[0..15]: their sum 30, times the scales 0.3125 and 1". Precondition: it is a group.
std::string group_text(const ExplainedAddend& addend);

// ---- Bits

/// The exponent of the last bit that the format of the result has there. Nothing for integers, Inf and NaN.
std::optional<int> last_bit(const ExplainedSum& sum);
/// "; the last bit of f32 is 2^-20", if columns of the sum lie below it.
std::string precision_text(const ExplainedSum& sum);

/// True if addends are cut and one is not zero: there are bits to show.
bool has_columns(const ExplainedSum& sum);

/// Numbers as bits under each other, in the columns of a sum whose addends are cut: one for each power of two, from the highest bit of any number
/// down to the last that is kept, and further ones for what is cut.
class BitColumns {
 public:
  /// Precondition: the sum has a window.
  explicit BitColumns(const ExplainedSum& sum);

  /// What stands above the first and the last column that is kept, for room of `width` characters:
  /// {"2^2", "2^-23"}, or if these do not fit side by side {"2^-18 to 2^-25", ""}.
  std::pair<std::string, std::string> headings(std::size_t width) const;

  int top() const { return top_; }    ///< exponent of the first column
  int low() const { return low_; }    ///< of the last that is kept
  int lost() const { return lost_; }  ///< columns behind that
  /// A bit or a blank for each column from top() to low().
  std::string kept(const ExactNumber& x) const { return columns(x, top_, low_); }
  /// The same of a result, whose format ends with the bit `last`: a dot for each column below it.
  std::string kept(const ExactNumber& x, std::optional<int> last) const;
  /// What comes behind; empty if there is nothing.
  std::string cut(const ExactNumber& x) const { return x.bits.empty() ? "" : columns(x, low_ - 1, x.exponent); }

 private:
  std::string columns(const ExactNumber& x, int from, int to) const;
  int top_, low_, lost_ = 0;
};

}  // namespace warpbit
