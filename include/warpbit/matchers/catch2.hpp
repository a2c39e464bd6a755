// SPDX-License-Identifier: Apache-2.0
// A matcher for Catch2, versions 2 and 3. Header only; requires Catch2.
//
//     CHECK_THAT(d, EqualBits(instruction->operands()[0], expected));  // registers: [lane][register]
//     CHECK_THAT(d, EqualBits(*instruction, a, b, c));                 // what it makes of a, b and c
//     CHECK_THAT(d, EqualBits(expected, {.shape = {64, 32}}));         // a whole array
//     CHECK_THAT(d, EqualBits(expected, {.shape = {64, 32}}, product_of(*instruction, a, b)));  // and the mistake that explains it
#pragma once

#if __has_include(<catch2/matchers/catch_matchers.hpp>)  // version 3
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <ostream>

#include "warpbit/matchers/vectors.hpp"

namespace warpbit::catch2 {

#if __has_include(<catch2/matchers/catch_matchers.hpp>)
template <class T>
using MatcherBase = Catch::Matchers::MatcherBase<T>;
#else
template <class T>
using MatcherBase = Catch::MatcherBase<T>;
#endif

/// Matches registers with the expected elements; on failure it prints ExpectedBits::mismatch.
template <class Word>
class EqualBitsMatcher : public MatcherBase<std::vector<Word>> {
 public:
  explicit EqualBitsMatcher(Result<ExpectedBits> expected) : expected_(std::move(expected)) {}

  bool match(const std::vector<Word>& got) const override {
    mismatch_ = matchers::mismatch(expected_, got);
    return mismatch_.text.empty();
  }
  std::string describe() const override {
    return mismatch_.text.empty() ? "has the expected bits" : "\n" + mismatch_.text;
  }
  /// That the assertion has failed.
  void tell() const { matchers::tell(mismatch_, {}); }

 private:
  Result<ExpectedBits> expected_;
  mutable matchers::Mismatch mismatch_;
};

/// EqualBits(operand, expected): these registers of a warp; a third argument gives another number of lanes.
/// EqualBits(instruction, sources...): its result for these sources, in the order of the statement.
template <class What, class Word, class... Others>
EqualBitsMatcher<Word> EqualBits(const What& what, const std::vector<Word>& first, const Others&... others) {
  return EqualBitsMatcher<Word>(matchers::expected_bits(what, first, others...));
}

/// Matches an array with the expected one; on failure it prints BitsComparison::text.
template <class T>
class EqualArrayMatcher : public MatcherBase<std::span<const T>> {
 public:
  EqualArrayMatcher(matchers::ExpectedArray<T> expected, device::Place at)
      : expected_(std::move(expected)), at_(at) {}

  bool match(const std::span<const T>& got) const override {
    mismatch_ = matchers::mismatch(expected_, got);
    return mismatch_.text.empty();
  }
  std::string describe() const override {
    return mismatch_.text.empty() ? "has the expected bits" : "\n" + mismatch_.text;
  }
  /// That the assertion has failed, at its line.
  void tell() const { matchers::tell(mismatch_, at_); }

 private:
  matchers::ExpectedArray<T> expected_;
  device::Place at_;
  mutable matchers::Mismatch mismatch_;
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

}  // namespace warpbit::catch2

namespace Catch {

/// On failure prints only the matcher's message, not all registers before it as Catch2 would, and tells it to `warpbit findings`.
class BitsExpression : public ITransientExpression {
 public:
  template <class Items, class Matcher>
  BitsExpression(const Items& got, const Matcher& matcher)
      : ITransientExpression(true, matcher.match(got)), text_(matcher.describe()) {
    if (!getResult()) matcher.tell();
  }

  void streamReconstructedExpression(std::ostream& out) const override {
    out << text_.substr(text_.find_first_not_of('\n'));
  }

 private:
  std::string text_;
};

/// Version 2 also passes the source text of the matcher.
template <class Registers, class Word>
class MatchExpr<Registers, warpbit::catch2::EqualBitsMatcher<Word>> : public BitsExpression {
 public:
  template <class... SourceText>
  MatchExpr(const std::vector<Word>& got, const warpbit::catch2::EqualBitsMatcher<Word>& matcher,
            const SourceText&...)
      : BitsExpression(got, matcher) {}
};
/// The same of whole arrays.
template <class Items, class T>
class MatchExpr<Items, warpbit::catch2::EqualArrayMatcher<T>> : public BitsExpression {
 public:
  template <class... SourceText>
  MatchExpr(const std::span<const T>& got, const warpbit::catch2::EqualArrayMatcher<T>& matcher,
            const SourceText&...)
      : BitsExpression(got, matcher) {}
};

}  // namespace Catch
