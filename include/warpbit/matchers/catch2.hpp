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

/// The registers of an operand of a warp.
template <class Word>
EqualBitsMatcher<Word> EqualBits(const Operand& operand, const std::vector<Word>& expected, int lanes = 32) {
  return EqualBitsMatcher<Word>(ExpectedBits::registers(operand, lanes, std::as_bytes(std::span(expected))));
}
/// What the instruction makes of its sources, in the order of the statement.
template <class Word, class... Words>
EqualBitsMatcher<Word> EqualBits(const Instruction& instruction, const std::vector<Word>& first,
                                 const std::vector<Words>&... others) {
  return EqualBitsMatcher<Word>(matchers::result_of(instruction, first, others...));
}

}  // namespace warpbit::catch2
