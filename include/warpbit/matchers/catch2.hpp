// SPDX-License-Identifier: Apache-2.0
// A matcher for Catch2, version 2. Header only; include it where Catch2 is at hand.
//
//     CHECK_THAT(d, EqualBits(instruction->operands()[0], expected));  // registers: [lane][register]
//     CHECK_THAT(d, EqualBits(*instruction, a, b, c));                 // what it makes of a, b and c
#pragma once

#include <catch2/catch.hpp>

#include "warpbit/matchers/vectors.hpp"

namespace warpbit::catch2 {

/// Matches registers with the expected elements; on failure it says what ExpectedBits::mismatch does.
template <class Word>
class EqualBitsMatcher : public Catch::MatcherBase<std::vector<Word>> {
 public:
  explicit EqualBitsMatcher(Result<ExpectedBits> expected) : expected_(std::move(expected)) {}

  bool match(const std::vector<Word>& got) const override {
    text_ = matchers::mismatch(expected_, got);
    return text_.empty();
  }
  std::string describe() const override { return text_.empty() ? "has the expected bits" : "\n" + text_; }

 private:
  Result<ExpectedBits> expected_;
  mutable std::string text_;
};

/// EqualBits(operand, expected): these registers of a warp; with a third argument, of so many lanes.
/// EqualBits(instruction, sources...): what it makes of its sources, in the order of the statement.
template <class What, class Word, class... Others>
EqualBitsMatcher<Word> EqualBits(const What& what, const std::vector<Word>& first, const Others&... others) {
  return EqualBitsMatcher<Word>(matchers::expected_bits(what, first, others...));
}

}  // namespace warpbit::catch2
