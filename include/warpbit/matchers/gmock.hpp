// SPDX-License-Identifier: Apache-2.0
// A matcher for GoogleTest (GoogleMock). Header only; requires GoogleMock.
//
//     EXPECT_THAT(d, EqualBits(instruction->operands()[0], expected));  // registers: [lane][register]
//     EXPECT_THAT(d, EqualBits(*instruction, a, b, c));                 // what it makes of a, b and c
//     EXPECT_THAT(d, EqualBits(expected, {.shape = {64, 32}}));         // a whole array
#pragma once

#include <gmock/gmock.h>

#include <ostream>

#include "warpbit/matchers/vectors.hpp"

namespace warpbit::gmock {

/// Whether nothing differs; else says what. An assertion asks without a stream first, so one with a stream has failed.
inline bool explain(const matchers::Mismatch& mismatch, device::Place at, std::ostream* out) {
  if (out != nullptr && !mismatch.text.empty()) {
    *out << "\n" << mismatch.text;
    matchers::tell(mismatch, at);
  }
  return mismatch.text.empty();
}

/// Matches registers with the expected elements; on failure it prints ExpectedBits::mismatch.
template <class Word>
class EqualBitsMatcher {
 public:
  using is_gtest_matcher = void;
  explicit EqualBitsMatcher(Result<ExpectedBits> expected) : expected_(std::move(expected)) {}

  bool MatchAndExplain(const std::vector<Word>& got, std::ostream* out) const {
    return explain(matchers::mismatch(expected_, got), {}, out);
  }
  void DescribeTo(std::ostream* out) const { *out << "has the expected bits"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "has other bits than expected"; }

 private:
  Result<ExpectedBits> expected_;
};

/// EqualBits(operand, expected): these registers of a warp; a third argument gives another number of lanes.
/// EqualBits(instruction, sources...): its result for these sources, in the order of the statement.
template <class What, class Word, class... Others>
EqualBitsMatcher<Word> EqualBits(const What& what, const std::vector<Word>& first, const Others&... others) {
  return EqualBitsMatcher<Word>(matchers::expected_bits(what, first, others...));
}

/// Matches an array with the expected one; on failure it prints BitsComparison::text.
template <class T>
class EqualArrayMatcher {
 public:
  using is_gtest_matcher = void;
  EqualArrayMatcher(matchers::ExpectedArray<T> expected, device::Place at)
      : expected_(std::move(expected)), at_(at) {}

  bool MatchAndExplain(std::span<const T> got, std::ostream* out) const {
    return explain(matchers::mismatch(expected_, got), at_, out);
  }
  void DescribeTo(std::ostream* out) const { *out << "has the expected bits"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "has other bits than expected"; }

 private:
  matchers::ExpectedArray<T> expected_;
  device::Place at_;
};

using matchers::product_of;
/// EqualBits(expected): the items of a vector, a span or an array, which the matcher keeps. With product_of(instruction, a, b) behind
/// the shape the message also says which mistake in a kernel gives exactly the wrong array.
template <std::ranges::contiguous_range Range>
EqualArrayMatcher<std::ranges::range_value_t<Range>> EqualBits(
    const Range& expected, const ArrayShape& how = {}, std::optional<matchers::ArrayProduct> product = {},
    device::Place at = device::Place::here()) {
  return EqualArrayMatcher<std::ranges::range_value_t<Range>>(
      matchers::expected_array(expected, how, std::move(product)), at);
}

}  // namespace warpbit::gmock
