// SPDX-License-Identifier: Apache-2.0
// Shared by the matchers of all test frameworks.
#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "warpbit/bits.hpp"
#include "warpbit/diagnose.hpp"

namespace warpbit::matchers {

/// ExpectedBits::registers of an operand of a warp, and result_of, of registers as vectors of words.
template <class Word>
Result<ExpectedBits> expected_bits(const Operand& operand, const std::vector<Word>& expected, int lanes = 32) {
  return ExpectedBits::registers(operand, lanes, std::as_bytes(std::span(expected)));
}
template <class... Words>
Result<ExpectedBits> expected_bits(const Instruction& instruction, const std::vector<Words>&... sources) {
  const std::span<const std::byte> bytes[] = {std::as_bytes(std::span(sources))...};
  return ExpectedBits::result_of(instruction, bytes);
}

/// ExpectedBits::mismatch, or why no comparison is possible.
template <class Word>
std::string mismatch(const Result<ExpectedBits>& expected, const std::vector<Word>& got) {
  return expected ? expected->mismatch(std::as_bytes(std::span(got))) : expected.error().message() + "\n";
}

// ---- Whole arrays

/// The array that is expected: items of C++, or codes.
template <class T>
struct ExpectedArray {
  std::vector<T> items;
  ArrayShape how;
};
/// A copy of a vector, a span, an array.
template <std::ranges::contiguous_range Range>
auto expected_array(const Range& items, const ArrayShape& how) {
  return ExpectedArray<std::ranges::range_value_t<Range>>{{std::ranges::begin(items), std::ranges::end(items)},
                                                          how};
}

/// BitsComparison::text, or why no comparison is possible. Items of another number have a shape of one index.
template <class T>
std::string mismatch(const ExpectedArray<T>& expected, std::span<const T> got) {
  const ArrayShape seen{got.size() == expected.items.size() ? expected.how.shape : std::vector{got.size()},
                        expected.how.format};
  const Result<BitsComparison> compared =
      compare_bits(array_bits(std::span<const T>(expected.items), expected.how), array_bits(got, seen));
  return compared ? compared->text() : compared.error().message() + "\n";
}

}  // namespace warpbit::matchers
